"""Whether Habakkuk can listen where it is told to."""

from __future__ import annotations

import errno
import socket

from habakkuk.core.errors import ConfigurationError


def check_port(listen: tuple[str, int]) -> None:
    """Raise ConfigurationError, in one sentence, when nothing can listen there."""
    host, port = listen
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except OSError as error:
        raise ConfigurationError(
            f"HABAKKUK_LISTEN: {host!r} is no address of this machine"
        ) from error
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        # As the web server does: a port whose last connections linger is free.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
            trial.listen(1)
        except OSError as error:
            raise ConfigurationError(_explain(host, port, error)) from error


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


def _explain(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        other = port + 1 if port < 65535 else port - 1  # noqa: PLR2004 - the highest port
        return (
            f"port {port} on {host} is used by another program; end that one, or choose another"
            f" port: HABAKKUK_LISTEN={host}:{other} ./scripts/up"
        )
    if error.errno == errno.EACCES:
        return (
            f"only root may listen on port {port}; choose one above 1023 with HABAKKUK_LISTEN,"
            f" such as {host}:8484"
        )
    return f"HABAKKUK_LISTEN: cannot listen on {host}:{port}: {error.strerror}"
