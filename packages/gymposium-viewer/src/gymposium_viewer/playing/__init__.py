"""The viewer part for playing against players."""

from gymposium_viewer.playing.pages import make

__all__ = ["make"]
