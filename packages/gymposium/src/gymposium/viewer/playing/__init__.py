"""Playing in the viewer: a person takes a seat, and any players the others."""

from gymposium.viewer.playing.pages import make

__all__ = ["make"]
