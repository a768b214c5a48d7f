"""Errors of the service that a client caused or can act upon."""

from __future__ import annotations

from typing import ClassVar

from gymposium.http.requests import Refused


class ServiceError(Refused):
    """Base class of these errors, for a request with a wrong value."""

    says: ClassVar[tuple[int, str]] = (400, "invalid_field")
    """The status of the response, and the name of the reason for programs."""

    def __init__(self, why: str, param: str | None = None) -> None:
        """`why` is a sentence for people, and `param` the field of the request that is at fault, if it is one."""
        super().__init__(*self.says, why, param)


class WrongField(ServiceError):
    """A field of a request has a wrong value, is missing or is not known."""

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}", field)


class NotFound(ServiceError):
    """There is no such session, group, job or checkpoint."""

    says = (404, "not_found")


class WrongKey(ServiceError):
    """The request has no key of the session that it would end, or another one."""

    says = (403, "wrong_key")


class Conflict(ServiceError):
    """The request contradicts what happened before."""

    says = (409, "conflict")


class Gone(ServiceError):
    """The session is over, so that it answers no more."""

    says = (410, "session_over")


class RunOver(ServiceError):
    """The run has done its last step, so that it begins nothing more."""

    says = (410, "run_over")


class Busy(ServiceError):
    """There is too much to do; the client has to wait."""

    says = (429, "busy")
    retry_after = 2


class NotReady(ServiceError):
    """The policy is not there yet, or the engine is gone for now."""

    says = (503, "not_ready")
    retry_after = 1
