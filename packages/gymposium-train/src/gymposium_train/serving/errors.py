"""Service errors that a client caused or can act upon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gymposium.http.requests import RequestRefusal


class ServiceError(RequestRefusal):
    """Base class of service errors, and the error for a request with an invalid value."""

    says: ClassVar[tuple[int, str]] = (400, "invalid_field")
    """The response status, and the machine-readable reason."""

    def __init__(self, why: str, param: str | None = None) -> None:
        """`why` is a sentence for the user. `param` is the offending field of the request, if any."""
        super().__init__(*self.says, why, param)


class WrongField(ServiceError):
    """Error for a field that is invalid, missing or unknown."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}", field)


class NotFound(ServiceError):
    """Error for a session, group, job or checkpoint that does not exist."""

    says = (404, "not_found")


class WrongKey(ServiceError):
    """Error for ending a session with a missing or wrong key."""

    says = (403, "wrong_key")


class WrongMethod(ServiceError):
    """Error for a method that the path does not allow."""

    says = (405, "wrong_method")

    def __init__(self, method: str, path: str, allowed: Sequence[str]) -> None:
        super().__init__(f"{method} {path}: Method Not Allowed. Use {' or '.join(allowed)}.")
        self.allowed_methods = allowed


class Conflict(ServiceError):
    """Error for a request that contradicts earlier requests."""

    says = (409, "conflict")


class Gone(ServiceError):
    """Error for a request to a session that is over."""

    says = (410, "session_over")


class RunOver(ServiceError):
    """Error for a request to a run that has done its last step."""

    says = (410, "run_over")


class Busy(ServiceError):
    """Error for a request during too much load. The client should wait and retry."""

    says = (429, "busy")
    retry_after = 2


class NotReady(ServiceError):
    """Error for a policy that is not ready, or an engine that is temporarily unavailable."""

    says = (503, "not_ready")
    retry_after = 1
