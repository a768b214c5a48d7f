"""The endpoints for completions, in all dialects, which sessions and served models share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from gymposium.errors import GymposiumError
from gymposium.http.app import make_failure
from gymposium.http.bodies import read_json_object
from gymposium.http.requests import RequestRefusal
from gymposium.util.visible import shorten
from gymposium_agents.serving.dialects import CHAT, Dialect
from gymposium_agents.serving.messages import MESSAGES
from gymposium_agents.serving.replies import StreamPart
from gymposium_agents.serving.requests import BadRequest, CompletionRequest
from gymposium_agents.serving.responses import RESPONSES
from gymposium_agents.serving.session import OVERRIDDEN, Session
from gymposium_train.serving.errors import NotFound, NotReady

DIALECTS: Mapping[str, Dialect] = {"/chat/completions": CHAT, "/messages": MESSAGES, "/responses": RESPONSES}
"""The dialects by the end of their paths."""
COUNT = "/messages/count_tokens"
"""The end of the path that counts the tokens of a message's prompt."""
RETRY = "x-stainless-retry-count"
"""The header with the number of times that the clients of OpenAI and Anthropic have retried a request."""


def make_completion_routes(prefix: str, find_session: Callable[[Request], Session], *, strict: bool) -> list[BaseRoute]:
    """Return the routes for completions under a prefix. `find_session` returns the session that answers a request.
    `strict` is that of `CompletionRequest.read`."""

    def make_route(path: str, dialect: Dialect) -> BaseRoute:
        async def complete(request: Request) -> Response:
            asked = await run_in_threadpool(dialect.read, read_json_object(request), strict=strict)
            try:
                return await _answer(dialect, find_session(request), asked, request)
            except BadRequest as error:
                raise error.rename_field(dialect.names) from None

        return Route(f"{prefix}{path}", complete, methods=["POST"])

    async def count_tokens(request: Request) -> Response:
        asked = await run_in_threadpool(MESSAGES.read, read_json_object(request), strict=strict)
        return JSONResponse({"input_tokens": await find_session(request).count_tokens(asked)})

    async def list_models(request: Request) -> Response:
        model = _describe_model(find_session(request).model)
        ends = {"first_id": model["id"], "last_id": model["id"], "has_more": False}
        return JSONResponse({"object": "list", "data": [model], **ends})

    async def show_model(request: Request) -> Response:
        name, model = request.path_params["name"], _describe_model(find_session(request).model)
        if name != model["id"]:
            raise NotFound(f"Unknown model {shorten(name)}. The model is {model['id']!r}.", "model")
        return JSONResponse(model)

    return [
        *(make_route(path, dialect) for path, dialect in DIALECTS.items()),
        Route(f"{prefix}{COUNT}", count_tokens, methods=["POST"]),
        Route(f"{prefix}/models", list_models),
        Route(f"{prefix}/models/{{name:path}}", show_model),
    ]


def _describe_model(name: str) -> dict[str, Any]:
    """Return the description of a model for the clients of OpenAI and of Anthropic, whose fields differ."""
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "gymposium",
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    }


def format_error(path: str, refusal: RequestRefusal) -> Mapping[str, Any]:
    """Return the body of the response to a rejected request, in the dialect of its path."""
    return DIALECTS["/messages" if "/messages" in path else "/responses"].format_error(refusal)


async def _answer(dialect: Dialect, session: Session, asked: CompletionRequest, request: Request) -> Response:
    """Return the response to a completion request, whole or as a stream. Raises `RequestRefusal`."""
    again = request.headers.get(RETRY, "0") != "0"
    headers = {OVERRIDDEN: ", ".join(asked.overridden)} if asked.overridden else {}
    try:
        if not asked.stream:
            turn = await session.complete(asked, again=again)
            return JSONResponse(dict(dialect.make_answer(asked, turn.answer)), headers=headers)
        parts = session.stream(asked, again=again)
        first = await anext(parts)  # so that an earlier error gets its own status
    except BadRequest:
        raise
    except GymposiumError as error:  # the engine is gone
        raise NotReady(str(error)) from error
    return make_stream_response(_write_events(dialect, asked, first, parts), headers)


async def _write_events(
    dialect: Dialect, asked: CompletionRequest, first: StreamPart, parts: AsyncIterator[StreamPart]
) -> AsyncIterator[str]:
    stream = dialect.make_stream(asked)
    for event in stream.write(first):
        yield event
    try:
        async for part in parts:
            for event in stream.write(part):
                yield event
    except GymposiumError as error:  # it is too late for a status, and clients look for this
        yield stream.fail(NotReady(str(error)))
    except Exception:  # without this event, clients would take the part for the whole
        yield stream.fail(make_failure())
        raise


def make_stream_response(events: AsyncIterator[str], headers: Mapping[str, str] | None = None) -> Response:
    """Return a response of server-sent events."""
    return StreamingResponse(
        events, media_type="text/event-stream", headers={"Cache-Control": "no-cache", **(headers or {})}
    )
