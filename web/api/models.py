"""The models that a session can be answered by, for a person to choose from."""

from __future__ import annotations

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag
from pydantic import BaseModel

from habakkuk.accounts.types import Scope
from habakkuk.llm.catalogue import ListedModel, catalogue
from habakkuk.llm.types import EFFORTS
from web.answers import json_answer
from web.api.bodies import ErrorBody
from web.guards import needs
from web.site import container

api = APIBlueprint(
    "models",
    __name__,
    url_prefix="/api",
    abp_tags=[Tag(name="models")],
    abp_security=[{"token": []}],
    abp_responses={401: ErrorBody, 503: ErrorBody},
)


class ModelBody(BaseModel):
    """One model. `known` false: nothing is known of it, and the rest is the careful choice."""

    model: str
    known: bool
    context_window: int | None
    vision: bool
    documents: bool
    efforts: list[str]
    agents: list[str]

    @classmethod
    def of(cls, listed: ListedModel) -> ModelBody:
        """Return a model as clients see it."""
        profile = listed.profile
        return cls(
            model=str(listed.ref),
            known=profile.known,
            context_window=profile.context_window,
            vision=profile.vision,
            documents=listed.documents,
            efforts=list(profile.efforts),
            agents=list(listed.agents),
        )


class ModelsBody(BaseModel):
    """The models whose key is there, those of agents first, and every level of effort."""

    models: list[ModelBody]
    efforts: list[str]


@api.get("/models", responses={200: ModelsBody})
@needs(Scope.READ)
def listed() -> Response:
    """List the models that can be chosen by name; others can be, too, as provider/model."""
    found = catalogue(container().selection)
    models = [
        ModelBody.of(model)
        for provider in found
        if provider.missing_key is None
        for model in provider.models
    ]
    return json_answer(ModelsBody(models=models, efforts=list(EFFORTS)))
