"""The HTTP application of the service."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

import gymposium.http.numbers  # noqa: F401 (adds the convertor "number" of paths)
from gymposium.http.bodies import read_json_object
from gymposium.http.client import KEY
from gymposium.http.requests import RequestRefusal
from gymposium.runs.sessions import GroupRow, JobRow, SessionRow
from gymposium.util.strict_json import is_number
from gymposium.util.visible import shorten
from gymposium_agents.serving.session import Session
from gymposium_train.serving.bodies import BeginRequest, EndRequest, read_group, read_train
from gymposium_train.serving.checkpoints import ServedCheckpoints
from gymposium_train.serving.completions import COUNT, DIALECTS, make_completion_routes, make_stream_response
from gymposium_train.serving.errors import WrongField, WrongMethod
from gymposium_train.serving.learner import ServedLearner
from gymposium_train.serving.service import Service

SESSION = re.compile(r"/s/[\w-]+/v1/")
"""Prefix of the paths that a session's secret opens without the server's token."""
LONGEST_WAIT = 60.0
"""Maximum number of seconds that a request for a job waits until the job is done."""
BEATS = 15.0
"""Seconds of silence before an event stream sends a comment, which reveals lost connections."""
LONGEST_CLIENT = 200
"""Maximum length of a client's name, in characters."""
SPACING = 0.25
"""Minimum number of seconds between two events."""


def needs_token(scope: Scope) -> bool:
    """Return False for paths that a session's secret opens, and for the health check."""
    path = str(scope["path"])
    return SESSION.match(path) is None and path != "/health"


class Api:
    """The endpoints of the service. `address` is the prefix of its sessions' addresses."""

    def __init__(self, service: Service, checkpoints: ServedCheckpoints, address: str) -> None:
        self._service, self._sessions, self._jobs = service, service.sessions, service.jobs
        self._checkpoints, self._address = checkpoints, address

    def routes(self) -> list[BaseRoute]:
        """Return the routes of the service."""
        return [
            Route("/health", self._report_health),
            *make_completion_routes("/s/{secret}/v1", self._find_session, strict=self._sessions.settings.strict),
            Route("/v1/sessions", self._begin_session, methods=["POST"]),
            Route("/v1/sessions/{name}", self._drop_session, methods=["DELETE"]),
            Route("/v1/sessions/{name}/end", self._end_session, methods=["POST"]),
            Route("/v1/groups", self._add_group, methods=["POST"]),
            Route("/v1/train", self._request_training, methods=["POST"]),
            Route("/v1/jobs/{number:number}", self._report_job),
            Route("/v1/checkpoints", self._list_checkpoints),
            Route("/v1/checkpoints/{step:number}/promote", self._promote_checkpoint, methods=["POST"]),
            Route("/v1/status", self._report_status),
            Route("/v1/events", self._stream_status),
            make_catch_all_route("Completions are at the base_url of a session. Begin one with POST /v1/sessions."),
        ]

    # -- sessions

    async def _begin_session(self, request: Request) -> Response:
        begun = self._sessions.begin(BeginRequest.read(read_json_object(request)), _read_client(request))
        row = begun.row
        session = {
            "id": row.id,
            "base_url": f"{self._address}/s/{begun.secret}/v1",
            "key": begun.key,
            "group": row.group,
            "member": row.member,
            "seed": begun.seed,
            "policy": {"name": row.policy, "version": row.version},
            "expires": row.seen + self._sessions.settings.expires,
        }
        return JSONResponse(session, 201)

    async def _end_session(self, request: Request) -> Response:
        name, asked = request.path_params["name"], EndRequest.read(read_json_object(request))
        self._sessions.check_key(name, request.headers.get(KEY, ""))
        row = self._sessions.end(name, asked)
        return JSONResponse(self._describe_session(row))

    async def _drop_session(self, request: Request) -> Response:
        name = request.path_params["name"]
        self._sessions.check_key(name, request.headers.get(KEY, ""))
        return JSONResponse(self._describe_session(self._sessions.drop(name)))

    def _describe_session(self, row: SessionRow) -> dict[str, Any]:
        group = self._jobs.group(row.group)
        return {"id": row.id, "state": row.state, "why": row.why, "group": _describe_group(group)}

    def _find_session(self, request: Request) -> Session:
        return self._sessions.answering(request.path_params["secret"], _read_client(request))

    # -- training

    async def _add_group(self, request: Request) -> Response:
        key, size = read_group(read_json_object(request), self._sessions.group_size, self._sessions.least_members)
        return JSONResponse(_describe_group(self._jobs.add_group(key, size)), 201)

    async def _request_training(self, request: Request) -> Response:
        return JSONResponse(_describe_job(self._jobs.train(read_train(read_json_object(request, empty=True)))), 202)

    async def _report_job(self, request: Request) -> Response:
        number = request.path_params["number"]
        wait = request.query_params.get("wait", "0")
        if not re.fullmatch(r"\d{1,4}", wait):
            raise WrongField("wait", f"give a number of seconds from 0 to {LONGEST_WAIT:.0f}, not {shorten(wait)}.")
        with _ChangeNotifier(self._service.learner) as changes:
            try:
                async with asyncio.timeout(min(float(wait), LONGEST_WAIT)):
                    while self._jobs.job(number).state != "done":
                        await changes.wait()
            except TimeoutError:
                pass
        return JSONResponse(_describe_job(self._jobs.report_job(number), self._jobs.left_out(number)))

    async def _list_checkpoints(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._checkpoints.listed))

    async def _promote_checkpoint(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self._checkpoints.promote, request.path_params["step"]))

    # -- status

    async def _report_health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _report_status(self, request: Request) -> Response:
        return JSONResponse(self._service.status())

    async def _stream_status(self, request: Request) -> Response:
        return make_stream_response(stream_status_events(self._service))


def make_catch_all_route(advice: str) -> BaseRoute:
    """Return a catch-all route for unknown paths, and for other methods than those of known paths. Its error says what
    to change in the client, or gives `advice`."""

    async def refuse_request(request: Request) -> Response:
        path = request.url.path
        routes = (route for route in request.app.routes if route.matches(request.scope)[0] is Match.PARTIAL)
        if allowed := sorted({method for route in routes for method in route.methods}):
            raise WrongMethod(request.method, path, allowed)
        fix = _suggest_path(path) or advice
        raise RequestRefusal(404, "no_such_route", f"{request.method} {path}: Not Found. {fix}")

    return Route("/{path:path}", refuse_request, methods=["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])


def _suggest_path(path: str) -> str | None:
    """Return the fix for a path that a client of the served protocols asks for by mistake."""
    if "/v1/v1/" in path:
        return "Anthropic's clients add /v1 themselves. Give them the base_url without its /v1."
    if path.endswith("/completions") and not path.endswith("/chat/completions"):
        return (
            "Text completions are not served. Use chat completions: POST /chat/completions at the base_url (in the "
            "openai library: client.chat.completions.create)."
        )
    if path.endswith((*DIALECTS, COUNT, "/models")) and "/v1/" not in path:
        return "The base_url must end in /v1. Pass it to the library unchanged. Only Anthropic's clients add /v1."
    return None


async def stream_status_events(service: Service) -> AsyncGenerator[str, None]:
    """Yield server-sent events of the status: one immediately, and one after each change."""
    with _ChangeNotifier(service.learner) as changes:
        while True:
            yield f"event: status\ndata: {json.dumps(service.status())}\n\n"
            while not await changes.wait(BEATS):
                yield ":\n\n"
            await asyncio.sleep(SPACING)


class _ChangeNotifier:
    """A notifier that wakes a coroutine when the service changes."""

    def __init__(self, learner: ServedLearner) -> None:
        self._learner = learner
        self._event, self._loop = asyncio.Event(), asyncio.get_running_loop()

    def _notify(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._event.set)

    def __enter__(self) -> _ChangeNotifier:
        self._learner.listeners.add(self._notify)
        return self

    def __exit__(self, *error: object) -> None:
        self._learner.listeners.discard(self._notify)

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait up to `seconds` for a change since the last call. Returns False if nothing changed."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


def _read_client(request: Request) -> str:
    """Return the client's name."""
    return request.headers.get("user-agent", "unknown")[:LONGEST_CLIENT]


def _describe_group(row: GroupRow) -> dict[str, Any]:
    return {"key": row.key, "size": row.size, "split": row.split, "state": row.state, "why": row.why, "job": row.job}


def _describe_job(row: JobRow, left_out: Mapping[str, str] | None = None) -> dict[str, Any]:
    metrics = {name: value for name, value in row.metrics.items() if is_number(value)}  # JSON has no NaN
    told = {"id": row.id, "state": row.state, "step": row.step, "metrics": metrics}
    return {**told, "left_out": dict(left_out)} if left_out else told
