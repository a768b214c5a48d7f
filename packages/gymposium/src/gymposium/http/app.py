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
from gymposium.http.requests import ErrorFormat, RequestRefusal, format_openai_error


def build_api(
    routes: Sequence[BaseRoute],
    *,
    names: Iterable[str] = (),
    token: str | None = None,
    needs_token: Callable[[Scope], bool] = lambda scope: True,
    any_integer: bool = False,
    format_error: ErrorFormat = lambda path, refusal: format_openai_error(refusal),
) -> ASGIApp:
    """Build an application with these routes behind an `ApiGuard` with `names`, `token`, `needs_token` and
    `any_integer`.

    `RequestRefusal` and other errors become responses in OpenAI's error format, or that of `format_error`. Unexpected
    exceptions from a route are logged, but not shown to the client."""

    def handle_error(request: Request, error: Exception) -> Response:
        refusal = _make_refusal(request, error)
        return refusal.response(format_error(request.url.path, refusal))

    handlers: dict[Any, Any] = dict.fromkeys((RequestRefusal, HTTPException, GymposiumError, Exception), handle_error)
    app = Starlette(routes=routes, exception_handlers=handlers)
    return ApiGuard(
        app, names=names, token=token, needs_token=needs_token, any_integer=any_integer, format_error=format_error
    )


def _make_refusal(request: Request, error: Exception) -> RequestRefusal:
    match error:
        case RequestRefusal():
            return error
        case HTTPException():
            why = f"{request.method} {request.url.path}: {error.detail}."
            code = "bad_request" if error.status_code == 400 else "no_such_route"
            return RequestRefusal(error.status_code, code, why)
        case GymposiumError() if error.is_actionable:
            return RequestRefusal(400, "bad_request", str(error))
    return make_failure()


def make_failure() -> RequestRefusal:
    """Return the refusal for an unexpected exception."""
    return RequestRefusal(500, "failed", "The server failed at this request; its log says why.")
