"""Errors of the service, each with the HTTP status that says it."""

from __future__ import annotations

from typing import ClassVar

from gymposium.errors import GymposiumError


class ServiceError(GymposiumError):
    """Base class of the errors that a client caused or can act upon."""

    status: ClassVar[int] = 400
    retry_after: int | None = None
    """Number of seconds after which the client may try again; None if that would not help."""


class NotFound(ServiceError):
    """There is no such session, group, job or checkpoint."""

    status = 404


class Conflict(ServiceError):
    """The request contradicts what happened before."""

    status = 409


class Gone(ServiceError):
    """The session is over, so that it answers no more."""

    status = 410


class Busy(ServiceError):
    """There is too much to do; the client has to wait."""

    status = 429
    retry_after = 2


class NotReady(ServiceError):
    """The policy is not there yet, or the engine is gone for now."""

    status = 503
    retry_after = 1
