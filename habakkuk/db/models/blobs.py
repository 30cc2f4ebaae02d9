"""Content-addressed files: the row says that the file is complete."""

from __future__ import annotations

from sqlalchemy.orm import Mapped

from habakkuk.db.models.base import Base, Big, Created, Key


class Blob(Base):
    """One file; the id is the SHA-256 of its bytes in hex."""

    __tablename__ = "blobs"

    id: Mapped[Key]
    size: Mapped[Big]
    mime: Mapped[str]
    # Its last time: the same bytes may come again.
    stored: Mapped[Created]
    # Of a tool's output, which texts of that session name.
    session_id: Mapped[str | None]
