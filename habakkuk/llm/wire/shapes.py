"""Reading what services send as leniently as they write it.

A field of the wrong type counts as absent: one odd value of one service must not lose an answer.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

T = TypeVar("T")


def _or_none(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return None


def _dicts(value: Any) -> Any:
    """Keep the objects of a list, and take one that stands alone as a list of one."""
    if isinstance(value, dict):
        return [value]
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


Lenient = Annotated[T | None, WrapValidator(_or_none)]
Objects = Annotated[list[T], BeforeValidator(_dicts)]
# No call reads or writes more; what says so counts as unsaid, and fits the ledger's columns.
_MOST = 500_000_000
Count = Lenient[Annotated[int, Field(ge=0, le=_MOST)]]


class Shape(BaseModel):
    """A part of an answer; fields that nobody asked for are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)
