"""The taskset: an endless series of matches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf
from pydantic import Field

from gymposium_verifiers.config import MatchesConfig


class MatchData(vf.TaskData):
    """A match to play. The task has no prompt, because the match generates the prompts."""

    game: str
    """The game's full name."""
    seed: int
    """Seed of the match's chance outcomes and of the opponents' random streams."""
    seats: tuple[int, ...]
    """The seats that agents play."""
    tools: list[dict[str, Any]] = Field(default_factory=list)
    """The tools that requests list, in OpenAI's form; the environment adds them when it plays."""


class MatchTask(vf.Task[MatchData, vf.State, vf.TaskConfig]):
    """A match. The environment scores it."""

    @property
    def key(self) -> str:
        """The game, seed and seats, which identify the task."""
        return f"{self.data.game} seed={self.data.seed} seats={','.join(map(str, self.data.seats))}"


class MatchTaskset(vf.Taskset[MatchTask, MatchesConfig]):
    """The matches of a game. Seeds count up from `seed`; with `seats="each"` every seat plays each seed in turn."""

    INFINITE = True

    def __init__(self, config: MatchesConfig) -> None:
        super().__init__(config)
        self.matches = config.matches()

    def load(self) -> Iterator[MatchTask]:
        """Yield the tasks in order."""
        name = self.matches.game.name
        for row in self.matches.rows():
            task = MatchTask(MatchData(game=name, seed=row.seed, seats=row.seats), self.config.task)
            yield task.with_data(name=task.key)
