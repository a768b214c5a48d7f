"""The HTTP application of a model, without sessions and training."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_agents.serving.batching import RequestBatcher
from gymposium_agents.serving.session import Session
from gymposium_train.serving.app import make_catch_all_route
from gymposium_train.serving.completions import make_completion_routes


class ModelApi:
    """The endpoints of a model: completions in all dialects, and the list of models. Nothing is stored."""

    def __init__(self, player: LanguageModelPlayer, name: str, seed: int, *, strict: bool) -> None:
        """`name` is the model's name for clients. `seed` is the seed of its replies. `strict` is that of
        `CompletionRequest.read`."""
        self._player, self._name, self._seed, self._strict = player, name, seed, strict
        self._batches = RequestBatcher(player.engine)
        self._requests = 0

    def routes(self) -> Sequence[BaseRoute]:
        """Return the routes of the model."""
        return [
            Route("/health", self._report_health),
            *make_completion_routes("/v1", self._make_session, strict=self._strict),
            make_catch_all_route("Completions are at /v1/chat/completions. Use a base_url that ends in /v1."),
        ]

    async def _report_health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    def _make_session(self, request: Request) -> Session:
        self._requests += 1
        return Session(self._player, self._batches.submit, self._seed + self._requests, model=self._name)
