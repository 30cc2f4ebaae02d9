"""All tables, one module an area. Importing this package completes the metadata."""

from habakkuk.db.models import accounts, blobs, conversations, deliveries, jobs, processes, spending
from habakkuk.db.models.base import Base

__all__ = [
    "Base",
    "accounts",
    "blobs",
    "conversations",
    "deliveries",
    "jobs",
    "processes",
    "spending",
]
