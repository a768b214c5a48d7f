"""The protocol of publishers, which bring the learner's weights to the sampling engines.

A policy is a version of the weights, named by its number of optimizer steps. A name always refers to the same weights.
A match ends under the policy it began with, even if others are published meanwhile.
"""

from __future__ import annotations

from typing import Protocol

from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.protocol import TokenEngine


class Publisher(Protocol):
    """A publisher, which sends the learner's weights to engines and keeps past versions. Its methods may be called
    while another thread plays matches."""

    @property
    def context(self) -> int:
        """The context length in tokens: prompt plus completion."""

    def publish(self, policy: Policy) -> TokenEngine:
        """Let an engine play the learner's current weights as `policy`, and return it. Keeps the versions that rollouts
        may still play. Removes older versions, and newer ones that an interrupted run left. Idempotent."""

    def keep(self, policy: Policy) -> None:
        """Keep the latest published version on disk as long as the run's directory exists. Idempotent."""

    def past(self, policy: Policy) -> TokenEngine:
        """Return an engine that plays a kept version until `let_go`. Raises `GymposiumError` if the version was not
        kept."""

    def let_go(self, policy: Policy) -> None:
        """Release a past version. Its files stay, because records name it and a run resumed from an earlier checkpoint
        plays it again."""
