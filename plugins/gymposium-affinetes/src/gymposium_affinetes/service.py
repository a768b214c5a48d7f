"""affinetes' calls over HTTP: `POST /evaluate`, and `reset`, `step`, `state` and `stop` for training."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from gymposium.http.app import build_api
from gymposium.http.bodies import read_json_object
from gymposium.http.environments.session import GREATEST_SEED
from gymposium.http.environments.wire import LONGEST_REPLY, WireError
from gymposium.http.requests import RequestRefusal
from gymposium.match import MatchResult
from gymposium.util.visible import shorten
from gymposium_affinetes.episodes import EpisodeError, Episodes
from gymposium_affinetes.evaluation import evaluate
from gymposium_agents.engines.api_settings import ApiSettings

LONGEST_MATCH = 7200.0
"""Maximum `timeout` of an evaluation, in seconds."""
_NUMBER = (int, float)
_EVALUATE: Mapping[str, Any] = {
    "task_id": int,
    "seed": int,
    "model": str,
    "base_url": str,
    "opponent": str,
    "timeout": _NUMBER,
    "temperature": _NUMBER,
    "key": str,
    "reply": str,
    "context": str,
    "max_tokens": int,
}
_RESET: Mapping[str, Any] = {"task_id": int, "seed": int, "opponent": str}
_STEP: Mapping[str, Any] = {"action": str, "episode_id": str}
_EPISODE: Mapping[str, Any] = {"episode_id": str}


def make_affinetes_app(
    write: Callable[[MatchResult], object],
    *,
    base_urls: Collection[str] = (),
    keys: Collection[str] = (),
    opponents: Collection[str] = ("mcts", "random"),
    names: Iterable[str] = (),
    token: str | None = None,
) -> ASGIApp:
    """Return the application that answers affinetes' calls.

    Requests may use only the services `base_urls`, the environment variables `keys`, and the opponents `opponents`.
    `write` records training matches. `names` and `token` are those of the request guard."""
    service = _Service(write, base_urls, keys, opponents)
    routes = [
        Route("/health", _get_health),
        Route("/evaluate", service.evaluate, methods=["POST"]),
        Route("/reset", service.reset, methods=["POST"]),
        Route("/step", service.step, methods=["POST"]),
        Route("/state", service.state, methods=["POST"]),
        Route("/stop", service.stop, methods=["POST"]),
    ]
    return build_api(routes, names=names, token=token, needs_token=lambda scope: scope["path"] != "/health")


async def _get_health(request: Request) -> Response:
    return JSONResponse({"status": "healthy"})


class _Service:
    """The routes, and the services, keys and opponents that a request may name."""

    def __init__(
        self,
        write: Callable[[MatchResult], object],
        base_urls: Collection[str],
        keys: Collection[str],
        opponents: Collection[str],
    ) -> None:
        self._base_urls = {url.rstrip("/") for url in base_urls}
        self._keys, self._opponents = frozenset(keys), frozenset(opponents)
        self._episodes = Episodes(write)

    async def evaluate(self, request: Request) -> Response:
        """Play one match with a model behind a service."""
        given = _read_fields(request, _EVALUATE, "task_id", "seed", "model", "base_url")
        self._check_opponent(given)
        base_url = given["base_url"].rstrip("/")
        if base_url not in self._base_urls:
            why = f"This server does not allow {base_url[:200]!r}. Its owner can allow it with --allow-base-url."
            raise RequestRefusal(403, "base_url_not_allowed", why)
        settings = ApiSettings(given["model"], base_url, given.get("key"))  # other services have a default
        if denied := [key for key in settings.variables if key not in self._keys]:
            why = f"This server does not allow the key {denied[0][:80]!r}. Its owner can allow it with --key."
            raise RequestRefusal(403, "key_not_allowed", why)
        if not 0 < given.get("timeout", 1) <= LONGEST_MATCH:
            raise RequestRefusal(
                400, "wrong_field", f"timeout={given['timeout']}: use a number above 0 and at most {LONGEST_MATCH:g}."
            )
        return JSONResponse(await evaluate(**{**given, "base_url": base_url}))

    async def reset(self, request: Request) -> Response:
        """Start an episode."""
        given = _read_fields(request, _RESET, "task_id", "seed")
        self._check_opponent(given)
        if not 0 <= given["seed"] <= GREATEST_SEED:
            raise RequestRefusal(
                400, "wrong_field", f"seed={shorten(given['seed'])}: use a number from 0 to {GREATEST_SEED}."
            )
        opponent = given.get("opponent", "mcts")
        return await _respond(lambda: self._episodes.reset(given["task_id"], given["seed"], opponent))

    async def step(self, request: Request) -> Response:
        """Play one action in an episode."""
        given = _read_fields(request, _STEP, "action", "episode_id")
        if len(given["action"]) > LONGEST_REPLY:
            raise RequestRefusal(
                400, "wrong_field", f"action has {len(given['action']):,} characters: use at most {LONGEST_REPLY:,}."
            )

        def play() -> dict[str, Any]:
            episode = self._episodes.episode(given["episode_id"])
            with episode.lock:
                return episode.step(given["action"])

        return await _respond(play)

    async def state(self, request: Request) -> Response:
        """Return an episode's last answer again."""
        given = _read_fields(request, _EPISODE, "episode_id")
        return await _respond(lambda: self._episodes.episode(given["episode_id"]).state())

    async def stop(self, request: Request) -> Response:
        """Drop an episode."""
        episode_id = _read_fields(request, _EPISODE, "episode_id")["episode_id"]

        def drop() -> dict[str, Any]:
            self._episodes.stop(episode_id)
            return {"stopped": True, "episode_id": episode_id}

        return await _respond(drop)

    def _check_opponent(self, given: Mapping[str, Any]) -> None:
        opponent = given.get("opponent", "mcts")
        if opponent not in self._opponents:
            known = ", ".join(sorted(self._opponents))
            raise RequestRefusal(
                403, "opponent_not_allowed", f"The opponent {opponent[:80]!r} is not allowed (allowed: {known})."
            )


def _read_fields(request: Request, known: Mapping[str, Any], *needed: str) -> dict[str, Any]:
    """Return the fields in a request's body. Null fields are left out. Raises `RequestRefusal`."""
    given = {name: value for name, value in read_json_object(request).items() if value is not None}
    for name, value in given.items():
        if name == "api_key":
            raise RequestRefusal(
                400, "key_in_request", "api_key is not supported. Name an environment variable with key."
            )
        if name not in known:
            raise RequestRefusal(400, "unknown_field", f"Unknown field {name[:80]!r}. Known: {', '.join(known)}.")
        if isinstance(value, bool) or not isinstance(value, known[name]):
            raise RequestRefusal(400, "wrong_field", f"{name}: {str(value)[:80]!r} has the wrong type.")
        if isinstance(value, float) and not math.isfinite(value):
            raise RequestRefusal(400, "wrong_field", f"{name}={value}: use a finite number.")
    for name in needed:
        if name not in given:
            raise RequestRefusal(400, "missing_field", f"The field {name} is missing. Add it to the body.")
    return given


async def _respond(call: Callable[[], dict[str, Any]]) -> Response:
    """Run a call in a thread and return its response."""
    try:
        return JSONResponse(await to_thread.run_sync(call))
    except EpisodeError as error:
        raise RequestRefusal(404, "no_episode", str(error)) from None
    except WireError as error:
        raise RequestRefusal(409, "no_match_under_way", str(error)) from None
