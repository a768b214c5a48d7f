"""The HTTP application of a model, without sessions and training."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from gymposium.http.bodies import read_json_object
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_agents.serving.batching import RequestBatcher
from gymposium_agents.serving.requests import CompletionRequest
from gymposium_agents.serving.session import Session
from gymposium_train.serving.app import answer_completion, list_models, make_catch_all_route


class ModelApi:
    """The endpoints of a model: OpenAI's chat completions and list of models. Nothing is stored."""

    def __init__(self, player: LanguageModelPlayer, name: str, seed: int, *, strict: bool) -> None:
        """`name` is the model's name for clients. `seed` is the seed of its replies. `strict` is
        that of `CompletionRequest.read`."""
        self._player, self._name, self._seed, self._strict = player, name, seed, strict
        self._batches = RequestBatcher(player.engine)
        self._requests = 0

    def routes(self) -> Sequence[BaseRoute]:
        """Return the routes of the model."""
        return [
            Route("/health", self._report_health),
            Route("/v1/models", self._list_models),
            Route("/v1/chat/completions", self._complete_chat, methods=["POST"]),
            make_catch_all_route("Completions are at /v1/chat/completions. Use a base_url that ends in /v1."),
        ]

    async def _report_health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _list_models(self, request: Request) -> Response:
        return list_models(self._name)

    async def _complete_chat(self, request: Request) -> Response:
        asked = await run_in_threadpool(CompletionRequest.read, read_json_object(request), strict=self._strict)
        self._requests += 1
        session = Session(self._player, self._batches.submit, self._seed + self._requests, model=self._name)
        return await answer_completion(session, asked, request)
