"""Error of rejected queries."""

from __future__ import annotations

from gymposium.errors import GymposiumError


class QueryRefusal(GymposiumError):
    """A rejected or stopped query. The message tells the player why."""
