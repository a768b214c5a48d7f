"""The part of the viewer in which a person plays against players."""

from gymposium_viewer.playing.pages import make

__all__ = ["make"]
