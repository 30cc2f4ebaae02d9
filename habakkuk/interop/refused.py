"""Requests that ask for what is not offered."""

from __future__ import annotations

from habakkuk.core.errors import Invalid


class RefusedParameter(Invalid):
    """A request asks for something that is not offered; `param` names where."""

    def __init__(self, message: str, param: str) -> None:
        """Keep the parameter for the error's shape."""
        super().__init__(message)
        self.param = param
