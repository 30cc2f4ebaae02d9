"""The bundled local model as a process: llama.cpp's own OpenAI-compatible server on loopback.

`python -m habakkuk.ops.local_model --port N --model FILE.gguf`. It ends with its parent.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path

_CONTEXT = 8192
_ANSWERS_AT_ONCE = 2


def main() -> None:
    """Load the model, listen on 127.0.0.1, stay until SIGTERM or SIGINT."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--model", type=Path, required=True)
    chosen = options.parse_args()
    # It holds nothing, so the signals' own effect, an immediate end, is the right one.
    server = _serve(chosen.port, chosen.model)
    sys.stdout.write(f"the local model listens on {server}\n")
    sys.stdout.flush()
    threading.Event().wait()


def _threads() -> int:
    return max(1, min(4, (os.cpu_count() or 1) // 2))


def _serve(port: int, model: Path) -> object:
    """Return the server; it answers as long as this object lives."""
    # Installed on demand, and the only module that knows it.
    import xllamacpp  # noqa: PLC0415 - as the comment says

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.port = port
    params.n_ctx = _CONTEXT * _ANSWERS_AT_ONCE
    params.n_parallel = _ANSWERS_AT_ONCE
    params.warmup = False
    # Its threads wait for each other by spinning: on a busy machine two of them on two cores
    # were measured a hundred times slower than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _threads()
    # No web page may talk to it, and there is nothing else to see.
    params.cors_origins = "http://127.0.0.1"
    params.ui = False
    params.endpoint_slots = False
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
