"""`python -m web.cli`, which scripts/habakkuk runs."""

from __future__ import annotations

import sys

from web.cli import group

try:
    group()(prog_name="habakkuk")
except KeyboardInterrupt:
    sys.exit(130)
