"""Everything that speaks HTTP or is typed at a shell.

The command line lives in this package too and must start without Flask, so nothing is imported
here before an application is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from habakkuk.core.config.settings import Settings


def create_app(settings: Settings | None = None) -> Flask:
    """Return the web application; without `settings` it reads its own, as its process's owner.

    Raises ConfigurationError.
    """
    from web.application import make_application  # noqa: PLC0415 - see the module's docstring

    return make_application(settings)
