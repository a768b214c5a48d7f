"""The task set: an endless series of matches, each with a prompt and tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Self

import verifiers.v1 as vf
from pydantic import Field, model_validator

from gymposium.match.ending import Ending
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.grammar import make_reward
from gymposium_verifiers.config import MatchesConfig
from gymposium_verifiers.conversation import SeatStopped
from gymposium_verifiers.scores import compute_metrics, record_match
from gymposium_verifiers_tools.matches import ToolMatchData, ToolMatchState
from gymposium_verifiers_tools.server import MatchToolset


class ToolMatchTaskConfig(vf.TaskConfig):
    """The settings of a task."""

    tools: vf.ToolsetConfig = Field(default_factory=vf.ToolsetConfig)
    """Where the tool server runs."""
    reward: str = "returns"
    """The reward. The task set's setting replaces it."""


class ToolMatchesConfig(MatchesConfig):
    """The settings of matches with tools, `--env.taskset.*`: those of `gymposium-verifiers` without `reply`."""

    task: ToolMatchTaskConfig = Field(default_factory=ToolMatchTaskConfig)

    @model_validator(mode="after")
    def _check_tools(self) -> Self:
        if self.reply is not None:
            raise ValueError("reply: every reply is a tool call here. Omit it, or use the taskset gymposium-verifiers.")
        if any(len(lineup) > 1 for lineup in self.matches().lineups):
            raise ValueError(
                f"seats={self.seats!r}: one agent plays one seat here. Use each, or a seat; for self-play, use the "
                "taskset gymposium-verifiers."
            )
        return self


class ToolMatchTask(vf.Task[ToolMatchData, ToolMatchState, ToolMatchTaskConfig]):
    """A match. It is scored by playing the calls again that the tool server received."""

    @property
    def key(self) -> str:
        """The game, seed and seat, which identify the task."""
        return f"{self.data.game} seed={self.data.seed} seats={self.data.seat}"

    @classmethod
    def toolsets(cls, config: ToolMatchTaskConfig) -> list[vf.Toolset]:
        """Return the tool server of each rollout."""
        return [MatchToolset(config.tools)]

    @vf.reward(weight=1.0)
    async def match(self, trace: vf.Trace) -> Mapping[str, float]:
        """Return the match's reward under its name, and note metrics and record on the trace. Raises `SeatStopped` for
        a match that broke off."""
        name = trace.agent.config.model or trace.agent.name
        played = await asyncio.to_thread(self.data.play, trace.state.calls, name)
        record_match(trace, played, self.data.seat, record=True)
        ending: Ending = played.ending
        if ending.broke_off:
            raise SeatStopped(f"The match broke off: {ending.detail}")
        trajectory, reward = Trajectory.from_match(played, self.data.seat), make_reward(self.config.reward)
        [given] = reward([trajectory])
        trace.record_metrics(compute_metrics(trajectory, given))
        return {reward.name: given.total}


class ToolMatchTaskset(vf.Taskset[ToolMatchTask, ToolMatchesConfig]):
    """The matches of a game. Seeds count up from `seed`; with `seats="each"` every seat plays each seed in turn."""

    INFINITE = True

    def load(self) -> Iterator[ToolMatchTask]:
        """Yield the tasks in order. Raises the errors of `ToolMatchData.open_table`."""
        matches = self.config.matches()
        config = self.config.task.model_copy(update={"reward": self.config.reward})
        for row in matches.rows():
            data = ToolMatchData(
                game=matches.game.name,
                seed=row.seed,
                seat=row.seats[0],
                opponents=matches.opponents,
                style=matches.style,
                on_illegal=str(matches.on_illegal),
            )
            table = data.open_table("agent")
            prompt = table.show()
            table.close()
            task = ToolMatchTask(data.model_copy(update={"prompt": prompt}), config)
            yield task.with_data(name=task.key)
