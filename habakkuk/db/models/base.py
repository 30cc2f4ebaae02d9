"""The declarative base and the column types that every table shares."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import BigInteger, DateTime, MetaData, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

_NAMING = {
    "ix": "%(table_name)s_%(column_0_N_name)s",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ck": "%(table_name)s_%(constraint_name)s",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}


class Base(DeclarativeBase):
    """Every table of Habakkuk. The models state the schema; the stores hold the SQL."""

    metadata = MetaData(naming_convention=_NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy's own form
        str: Text,
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB,
        list[Any]: JSONB,
    }


Key = Annotated[str, mapped_column(Text, primary_key=True)]
Big = Annotated[int, mapped_column(BigInteger)]
Created = Annotated[datetime, mapped_column(DateTime(timezone=True), server_default=func.now())]
