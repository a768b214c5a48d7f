"""The protocol of publishers, which bring the learner's weights to the engines that sample.

A policy is a version of the weights, named by its number of optimizer steps. A name never stands for other weights: a
match ends under the policy that it began with, whatever is published meanwhile.
"""

from __future__ import annotations

from typing import Protocol

from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.protocol import TokenEngine


class Publisher(Protocol):
    """Publishes the learner's weights to engines, and keeps past versions. Its methods may be called while matches are
    played in another thread."""

    @property
    def context(self) -> int:
        """The largest number of tokens of a prompt and its completion together."""

    def publish(self, policy: Policy) -> TokenEngine:
        """Let an engine play the learner's weights as they are now, as `policy`, and return it. It keeps the versions
        that rollouts may still play. Older versions are removed, and so are versions above this one, which an
        interrupted run had learned. Publishing a version again changes nothing."""

    def keep(self, policy: Policy) -> None:
        """Keep the version that was published last on disk, for as long as the run's directory exists. Keeping it again
        changes nothing."""

    def past(self, policy: Policy) -> TokenEngine:
        """Return an engine that plays a kept version, until `let_go`. Raises `GymposiumError` if the version was not
        kept."""

    def let_go(self, policy: Policy) -> None:
        """End the use of a past version. Its files stay, because records name it and a run that resumes from an earlier
        checkpoint plays it again."""
