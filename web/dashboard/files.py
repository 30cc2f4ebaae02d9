"""Serve the pages' files. They are the same for everybody, so they need no token."""

from __future__ import annotations

from flask import Blueprint, Response, abort, request

from web.dashboard.assets import Asset, Assets
from web.guards import open_to_all

_FOREVER = "public, max-age=31536000, immutable"


def files(assets: Assets) -> Blueprint:
    """Return the one route of `assets`."""
    page = Blueprint("files", __name__)

    @page.get("/static/<path:name>")
    @open_to_all
    def file(name: str) -> Response:
        """Return one file."""
        found = assets.find(name)
        if found is None:
            abort(404)
        asset, lasting = found
        response = _answer(asset)
        response.headers["Cache-Control"] = _FOREVER if lasting else "no-cache"
        return response

    return page


def _answer(asset: Asset) -> Response:
    packs = request.accept_encodings.quality("gzip") > 0
    packed = packs and len(asset.packed) < len(asset.body)
    response = Response(asset.packed if packed else asset.body, content_type=asset.type)
    response.headers["Vary"] = "Accept-Encoding"
    if packed:
        response.headers["Content-Encoding"] = "gzip"
    response.set_etag(asset.etag, weak=True)
    response.make_conditional(request)
    return response
