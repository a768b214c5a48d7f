"""Error of rejected queries."""

from __future__ import annotations

from gymposium.errors import GymposiumError


class QueryRefusal(GymposiumError):
    """Rejected or stopped query. The message tells the player why."""
