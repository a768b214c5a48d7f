"""Matches in the viewer: the list of all that are recorded, and each move by move."""

from gymposium.viewer.replays.pages import make

__all__ = ["make"]
