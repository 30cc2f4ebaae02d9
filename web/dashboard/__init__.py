"""The pages for a browser, one package a page."""

from __future__ import annotations

from flask import Flask

from web.dashboard.assets import Assets
from web.dashboard.channels import views as channels
from web.dashboard.chat import views as chat
from web.dashboard.files import files
from web.dashboard.inspect import views as inspect
from web.dashboard.jobs import views as jobs
from web.dashboard.overview import views as overview
from web.dashboard.shell import Shell
from web.dashboard.usage import views as usage


def add_dashboard(app: Flask) -> None:
    """Add the pages and their files to the application."""
    assets = Assets()
    Shell(assets).add_to(app)
    app.register_blueprint(files(assets))
    views = (chat, inspect, overview, channels, jobs, usage)
    for page in (view.page for view in views):
        app.register_blueprint(page)
