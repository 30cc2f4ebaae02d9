"""The channels: how each account is, who asks to come in, what did not arrive; for the owner."""

from __future__ import annotations

from flask import Blueprint, render_template, request
from pydantic import ValidationError

from habakkuk.accounts.types import Scope
from web.api.channels import DeliveriesQuery, accounts, deliveries, pairings
from web.guards import needs
from web.site import principal

page = Blueprint("channels_page", __name__, template_folder="templates")


@page.get("/channels")
@needs(Scope.READ)
def index() -> str:
    """Show them; an address that asks for nonsense shows the deliveries to look at."""
    own = principal()
    try:
        query = DeliveriesQuery.model_validate(request.args.to_dict())
    except ValidationError:
        query = DeliveriesQuery()
    known = pairings(own)
    return render_template(
        "channels/index.html",
        accounts=accounts(own),
        asking=[one for one in known if one.approved is None],
        paired=[one for one in known if one.approved is not None],
        deliveries=deliveries(own, query),
        query=query,
    )
