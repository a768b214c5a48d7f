"""The application of servers for programs: routes behind the guard, with uniform errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Scope

from gymposium.errors import GymposiumError
from gymposium.http.guard import ApiGuard
from gymposium.http.requests import RequestRefusal


def build_api(
    routes: Sequence[BaseRoute],
    *,
    names: Iterable[str] = (),
    token: str | None = None,
    needs_token: Callable[[Scope], bool] = lambda scope: True,
) -> ASGIApp:
    """Build an application with these routes behind an `ApiGuard` with `names`, `token` and `needs_token`.

    `RequestRefusal` and other errors become responses in OpenAI's error format. Unexpected exceptions from a route are
    logged, but not shown to the client."""
    handlers: dict[Any, Any] = dict.fromkeys((RequestRefusal, HTTPException, GymposiumError, Exception), _handle_error)
    app = Starlette(routes=routes, exception_handlers=handlers)
    return ApiGuard(app, names=names, token=token, needs_token=needs_token)


def _handle_error(request: Request, error: Exception) -> Response:
    match error:
        case RequestRefusal():
            return error.response()
        case HTTPException():
            why = f"{request.method} {request.url.path}: {error.detail}."
            code = "bad_request" if error.status_code == 400 else "no_such_route"
            return RequestRefusal(error.status_code, code, why).response()
        case GymposiumError() if error.is_actionable:
            return RequestRefusal(400, "bad_request", str(error)).response()
    return RequestRefusal(500, "failed", "The server failed at this request; its log says why.").response()
