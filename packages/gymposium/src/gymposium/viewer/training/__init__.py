"""Training runs in the viewer: their curves as they grow, what they learned from token by token, what they measured."""

from gymposium.viewer.training.pages import make

__all__ = ["make"]
