"""The first schema."""

from __future__ import annotations

from pathlib import Path

from alembic import op
from sqlalchemy import text

revision = "0001"
down_revision = None

_UP = Path(__file__).with_suffix(".sql")
_DOWN = Path(__file__).with_suffix(".down.sql")


def _statements(path: Path) -> str:
    """Return the file's SQL with its colons escaped: none of them marks a parameter."""
    return path.read_text(encoding="utf-8").replace(":", "\\:")


def upgrade() -> None:
    """Create everything."""
    op.execute(text(_statements(_UP)))


def downgrade() -> None:
    """Drop everything."""
    op.execute(text(_statements(_DOWN)))
