"""The accounts on chat platforms, who may write there, and what did not arrive; for the owner."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag
from pydantic import BaseModel, Field

from habakkuk.accounts.types import Principal, Scope
from habakkuk.channels.contract import Withheld
from habakkuk.core.errors import Forbidden
from habakkuk.delivery.reports import TROUBLED, DeliveryReport
from habakkuk.delivery.types import DeliveryState
from habakkuk.gateway.health import AccountHealth, State
from habakkuk.gateway.store.pairings import Pairing
from web.answers import json_answer
from web.api.bodies import Body, ErrorBody, IdPath, Query
from web.api.shown import DoneBody
from web.guards import needs
from web.site import container, principal

api = APIBlueprint(
    "channels",
    __name__,
    url_prefix="/api",
    abp_tags=[Tag(name="channels")],
    abp_security=[{"token": []}],
    abp_responses={400: ErrorBody, 401: ErrorBody, 403: ErrorBody, 404: ErrorBody, 503: ErrorBody},
)


class WithheldBody(BaseModel):
    """Something that a platform does not give out, and what becomes of it or what to do."""

    what: str
    since: datetime
    why: str
    advice: str

    @classmethod
    def of(cls, withheld: Withheld) -> WithheldBody:
        """Make it of what was found."""
        since = datetime.fromtimestamp(withheld.since, UTC)
        return cls(what=withheld.what, since=since, why=withheld.why, advice=withheld.advice)


class AccountBody(BaseModel):
    """An account: when its platform was `heard`, in seconds ago, and for what `reason` it is so.

    `withheld` is what the platform does not give out, the latest first; `withheld_more` counts the
    rest.
    """

    name: str
    channel: str
    state: State
    reason: str
    heard: float | None
    allow_from: int
    withheld: list[WithheldBody]
    withheld_more: int

    @classmethod
    def of(cls, account: AccountHealth) -> AccountBody:
        """Make it of what was found."""
        return cls(
            name=account.name,
            channel=account.channel,
            state=account.state,
            reason=account.reason,
            heard=account.heard,
            allow_from=account.allowed,
            withheld=[WithheldBody.of(one) for one in account.withheld],
            withheld_more=account.more,
        )


class PairingBody(BaseModel):
    """Somebody who asks to come in by `code`, or who was let in (`code` null) as `user`."""

    channel: str
    account: str
    sender: str
    name: str
    code: str | None
    created: datetime
    approved: datetime | None
    user: str | None

    @classmethod
    def of(cls, pairing: Pairing) -> PairingBody:
        """Make it of what was found."""
        return cls(
            channel=pairing.channel,
            account=pairing.account,
            sender=pairing.sender,
            name=pairing.name,
            code=pairing.code,
            created=pairing.created,
            approved=pairing.approved,
            user=pairing.person,
        )


class DeliveryBody(BaseModel):
    """One delivery: `sent` of its `parts` arrived; `uncertain` were sent again, seen or unseen."""

    id: str
    account: str
    chat: str
    state: DeliveryState
    parts: int
    sent: int
    unknown: int
    uncertain: int
    error: str | None
    created: datetime

    @classmethod
    def of(cls, report: DeliveryReport) -> DeliveryBody:
        """Make it of what was found."""
        return cls.model_validate(report, from_attributes=True)


class ChannelsBody(BaseModel):
    """Every account, in the order of config.yaml."""

    channels: list[AccountBody]


class PairingsBody(BaseModel):
    """Who asks, and who was let in."""

    pairings: list[PairingBody]


class DeliveriesBody(BaseModel):
    """Deliveries, the latest first."""

    deliveries: list[DeliveryBody]


class DeliveriesQuery(Query):
    """Which: those that somebody should look at, or all."""

    which: Literal["troubled", "all"] = "troubled"
    limit: int = Field(default=50, ge=1, le=500)


class LetInBody(Body):
    """The code that somebody was told, and who they are; without a name somebody new."""

    code: str = Field(min_length=1, max_length=40)
    user: str | None = Field(default=None, max_length=200)


class SenderBody(Body):
    """Whose code or pairing is taken back."""

    account: str = Field(min_length=1, max_length=200)
    sender: str = Field(min_length=1, max_length=500)


@api.get("/channels", responses={200: ChannelsBody})
@needs(Scope.READ)
def listed() -> Response:
    """List the accounts and how they are; for the owner."""
    return json_answer(ChannelsBody(channels=accounts(principal())))


@api.post("/channels/<id>/restart", responses={200: DoneBody})
@needs(Scope.ADMIN)
def restart(path: IdPath) -> Response:
    """Have an account's poller begin anew; nothing is lost; for the owner."""
    _require_owner(principal())
    container().channel_health.restart(path.id)
    return json_answer(DoneBody(done="begins anew within a few seconds"))


@api.get("/pairings", responses={200: PairingsBody})
@needs(Scope.READ)
def paired() -> Response:
    """List the open codes, and who was let in; for the owner."""
    return json_answer(PairingsBody(pairings=pairings(principal())))


@api.post("/pairings/approve", responses={200: PairingBody})
@needs(Scope.ADMIN)
def let_in(body: LetInBody) -> Response:
    """Let in who was told a code; for the owner."""
    _require_owner(principal())
    pairing, _ = container().pairings.let_in(body.code, body.user or None)
    return json_answer(PairingBody.of(pairing))


@api.post("/pairings/revoke", responses={200: DoneBody})
@needs(Scope.ADMIN)
def revoke(body: SenderBody) -> Response:
    """Take a code or a pairing back; for the owner."""
    _require_owner(principal())
    container().pairings.revoke(body.account, body.sender)
    return json_answer(DoneBody(done="is a stranger again"))


@api.get("/deliveries", responses={200: DeliveriesBody})
@needs(Scope.READ)
def delivered(query: DeliveriesQuery) -> Response:
    """List what did not arrive or may have twice, or everything; for the owner."""
    return json_answer(DeliveriesBody(deliveries=deliveries(principal(), query)))


def accounts(own: Principal) -> list[AccountBody]:
    """Return the accounts. Raises Forbidden for everybody but the owner."""
    _require_owner(own)
    return [AccountBody.of(one) for one in container().channel_health.all()]


def pairings(own: Principal) -> list[PairingBody]:
    """Return the pairings. Raises Forbidden for everybody but the owner."""
    _require_owner(own)
    return [PairingBody.of(one) for one in container().pairings.listed()]


def deliveries(own: Principal, query: DeliveriesQuery) -> list[DeliveryBody]:
    """Return deliveries. Raises Forbidden for everybody but the owner."""
    _require_owner(own)
    states = list(DeliveryState) if query.which == "all" else TROUBLED
    found = container().deliveries.listed(states, limit=query.limit)
    return [DeliveryBody.of(one) for one in found]


def _require_owner(own: Principal) -> None:
    if not own.sees(None):
        raise Forbidden("the channels of this server are for its owner")
