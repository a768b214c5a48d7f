"""Request checks shared by all servers: host, origin and token."""

from __future__ import annotations

import ipaddress
import json
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from gymposium.errors import GymposiumError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_WEB = {"ws": "http", "wss": "https"}
_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class RequestRefusal(GymposiumError):
    """A rejected request, with the response status."""

    retry_after: int | None = None
    """Number of seconds before the client may retry; None if retrying does not help."""
    allowed_methods: Iterable[str] = ()
    """The methods that the path allows, if the request has another."""

    def __init__(self, status: int, code: str, why: str, param: str | None = None) -> None:
        """`code` is a machine-readable reason, `why` is a sentence for people, and `param` is the invalid field."""
        super().__init__(why)
        self.status, self.code, self.param = status, code, param

    def response(self, body: Mapping[str, Any] | None = None) -> Response:
        """Return the response with this body, by default in OpenAI's error format."""
        headers = {"WWW-Authenticate": "Bearer"} if self.status == 401 else {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        if self.allowed_methods:
            headers["Allow"] = ", ".join(self.allowed_methods)
        if self.status in (408, 413):
            headers["Connection"] = "close"  # the rest of the body is not read
        # in ASCII: the message may name a field with a lone surrogate, which UTF-8 cannot encode
        return Response(json.dumps(body or format_openai_error(self)), self.status, headers, "application/json")


ErrorFormat = Callable[[str, RequestRefusal], Mapping[str, Any]]
"""Returns the body of the response to a rejected request, given the request's path."""


def format_openai_error(refusal: RequestRefusal) -> dict[str, Any]:
    """Return the body of a refusal in OpenAI's error format."""
    kind = _TYPES.get(refusal.status, "server_error" if refusal.status >= 500 else "invalid_request_error")
    return {"error": {"message": str(refusal), "type": kind, "param": refusal.param, "code": refusal.code}}


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on this host."""
    if host in _LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def list_allowed_hosts(names: Iterable[str]) -> frozenset[str]:
    """Return the hosts that a server answers to: these names, plus loopback."""
    return _LOOPBACK.union(name.lower() for name in names)


def check_host(headers: Headers, hosts: Collection[str]) -> None:
    """Raise `RequestRefusal` unless the request names exactly one host and `hosts` contains it.

    This rejects foreign names that point at this machine (DNS rebinding)."""
    named = headers.getlist("host")
    name = _strip_port(named[0]) if named else ""
    if len(named) != 1 or name not in hosts:
        raise RequestRefusal(421, "unknown_host", f"Unknown host {name[:80]!r}. Use the printed address.")


def check_origin(scope: Scope, headers: Headers) -> None:
    """Raise `RequestRefusal` if the request comes from a page with another origin."""
    origins = headers.getlist("origin")
    own = f"{_WEB.get(scope['scheme'], scope['scheme'])}://{headers.get('host', '')}"
    if origins and origins != [own]:
        raise RequestRefusal(
            403,
            "foreign_origin",
            f"This request comes from another site, {origins[0][:80]!r}. Open the printed address.",
        )


def read_client_token(headers: Headers) -> str:
    """Return the token that a client sends as `Authorization: Bearer …`, or as `X-Api-Key` like Anthropic's, or ""."""
    return read_bearer_token(headers) or headers.get("x-api-key", "")


def read_bearer_token(headers: Headers) -> str:
    """Return the token in the header `Authorization: Bearer …`, or ""."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def is_same_token(given: str, token: str) -> bool:
    """Compare two tokens in constant time."""
    return secrets.compare_digest(given.encode(), token.encode())


def _strip_port(host: str) -> str:
    """Return the Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
