"""The part of the viewer that shows training runs: curves, rollouts token by token, evaluations."""

from gymposium.viewer.training.pages import make

__all__ = ["make"]
