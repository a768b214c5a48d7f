"""The protocol of publishers, which bring the learner's weights to the engines that sample.

A policy is a version of the weights, named by its optimizer steps. It never comes to stand for other weights: a match
ends under the policy that it began with, whatever is published meanwhile.
"""

from __future__ import annotations

from typing import Protocol

from gymposium_agents.engines.protocol import TokenEngine
from gymposium_agents.tokens import Policy


class Publisher(Protocol):
    """Publishes the learner's weights to engines, and keeps past versions. Its methods may be called while matches are
    played in another thread."""

    @property
    def context(self) -> int:
        """The largest number of tokens of a prompt and its completion together."""
        ...

    def publish(self, policy: Policy) -> TokenEngine:
        """Let an engine play the learner's weights as they are now, as `policy`, and return it. The versions that were
        published last, as many as rollouts may be behind, stay with it; older ones go, and so do versions above this
        one, which a run learned that was then interrupted. To publish a version again changes nothing."""
        ...

    def keep(self, policy: Policy) -> None:
        """The version that was published last stays on disk, for as long as the run's directory does. To keep it again
        changes nothing."""
        ...

    def past(self, policy: Policy) -> TokenEngine:
        """An engine that plays a kept version, until it is let go. Raises `GymposiumError` if it was not kept."""
        ...

    def let_go(self, policy: Policy) -> None:
        """Nobody plays this version of the past any more. Its files stay: records name it, and a run that goes on from
        an earlier checkpoint plays it again."""
        ...
