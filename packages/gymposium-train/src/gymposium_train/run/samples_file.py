"""The file of rollout samples for inspection, `samples.jsonl`: one line per group of the kept steps.

Learning does not depend on it. docs/reference/samples.md describes every field of a line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.cli.text import replace_nonfinite
from gymposium.rewards.protocol import split_reward
from gymposium.runs.samples import pick_first_replies, pick_spread
from gymposium.util.lines import LineWriter
from gymposium_agents.chat.tokens import TurnTokens
from gymposium_train.config import Samples
from gymposium_train.credit.protocol import Episode, is_tied
from gymposium_train.learner.rows import Row

FORMAT = "gymposium-samples-1"
DIGITS = 6
"""Decimal places of log-probabilities, rewards and advantages in the file. The rounded values are not used in
computations."""


@dataclass(frozen=True, slots=True)
class SamplesFile:
    """The file of sampled groups, appended line by line."""

    file: Path
    settings: Samples
    steps: int | None
    """Number of steps of the run, or None if unknown. The last step is always kept."""
    pieces: Callable[[Sequence[int]], Sequence[str]]
    """Returns the text of each token of a stream."""
    critic: bool = False
    """Whether turns have values and targets of a critic."""
    show: Callable[[str], object] = lambda text: None
    """Called with a text that shows some replies of each kept step."""

    def keep(self, step: int, groups: Sequence[Sequence[Episode]]) -> None:
        """Write the groups of a step if its samples are kept. Steps count from 1."""
        if not self.settings.keeps(step, self.steps):
            return
        kept = [
            self._describe_group(step, number, group) for number, group in enumerate(groups[: self.settings.groups])
        ]
        with LineWriter(self.file, sync=False) as file:
            # ASCII only, like records: a token may be part of a character
            file.append_lines(*(json.dumps(data, separators=(",", ":"), allow_nan=False) for data in kept))
        if replies := pick_first_replies(kept[0]) if kept else []:
            words = ", ".join(f"{reply!r} ({reward:+.2f})" for reply, reward in replies)
            self.show(f"Replies at step {step}, with the rewards of their trajectories: {words}")

    def _describe_group(self, step: int, number: int, episodes: Sequence[Episode]) -> dict[str, Any]:
        group, shown = episodes[0].group, pick_spread([one.reward.total for one in episodes], self.settings.tokens)
        data = {
            "format": FORMAT,
            "step": step,
            "group": number,
            **group.facts(),
            "tied": is_tied(episodes),
            "trajectories": [
                group.trajectory_facts(n)
                | _describe_episode(episode, critic=self.critic)
                | ({"rows": [self._describe_row(row) for row in episode.rows]} if n in shown else {})
                for n, episode in enumerate(episodes)
            ],
        }
        kept: dict[str, Any] = replace_nonfinite(data)
        return kept

    def _describe_row(self, row: Row) -> dict[str, Any]:
        return {
            "ids": row.ids,
            "pieces": self.pieces(row.ids),
            "turns": [
                {
                    "start": span.start,
                    "stop": span.stop,
                    "engine": _round_values(span.engine),
                    "old": _round_values(span.old),
                    "reference": _round_values(span.reference),
                    "weight": span.weight,
                }
                for span in row.spans
            ],
        }


def _describe_episode(episode: Episode, *, critic: bool) -> dict[str, Any]:
    """Return the rewards and the credit of a trajectory, without its tokens."""
    spans = episode.spans
    tokens: TurnTokens = episode.trajectory.turns[-1].trace
    return {
        "policy": tokens.completion.policy.version,
        "reward": episode.reward.total,
        "parts": episode.reward.parts,
        "rewards": _round_values(split_reward(episode.reward, episode.trajectory)),
        "advantages": _round_values([span.advantage for span in spans]),
        "values": _round_values([span.value for span in spans]) if critic else [],
        "targets": _round_values([span.target for span in spans]) if critic else [],
    }


def _round_values(values: Sequence[float]) -> list[float]:
    return [round(value, DIGITS) for value in values]
