"""The settings table of a channel's page, from the model that reads them."""

from __future__ import annotations

from pydantic import BaseModel
from pydantic.fields import FieldInfo

_HEAD = ("| key | what | default |", "|---|---|---|")


def settings_table(settings: type[BaseModel]) -> str:
    """Return the table as Markdown; what a field is for is its description, else left open."""
    rows = [
        f"| `{name}` | {field.description or '…'} | {_default(field)} |"
        for name, field in settings.model_fields.items()
    ]
    return "\n".join([*_HEAD, *rows])


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return "none"
    written = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{written}`" if written else "empty"
