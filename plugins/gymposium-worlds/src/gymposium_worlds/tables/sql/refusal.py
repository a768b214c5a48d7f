"""The error of queries that are not carried out."""

from __future__ import annotations

from gymposium.errors import GymposiumError


class Refused(GymposiumError):
    """The query was refused or stopped; the message tells the player why."""
