"""The data of a task, and the match that it describes, which the tool server plays and the task scores."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any, Literal

import verifiers.v1 as vf
from pydantic import Field

from gymposium.envs.tool_table import ToolTable
from gymposium.games.registry import load_named_game
from gymposium.match import MatchResult
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import check_named_player, make_opponents
from gymposium.tasks.tools import Call


class ToolMatchData(vf.TaskData):
    """A match to play by calling tools."""

    game: str
    """The game's full name."""
    seed: int
    """Seed of the match's chance outcomes and of the opponents' random streams."""
    seat: int
    """The agent's seat."""
    opponents: tuple[str, ...]
    """The players of the other seats in order, or one for all."""
    style: Literal["full", "compact"]
    """The prompt style."""
    on_illegal: str
    """The policy for failed calls."""

    def open_table(self, name: str) -> ToolTable:
        """Return the table of a new match. `name` is the agent's name in the record.

        Raises `PermissionRequired` for a game or an opponent that opens a model, a path or an address without the
        user's permission, because the data may come from a file."""
        game = load_named_game(self.game)
        for opponent in self.opponents:
            check_named_player(opponent)
        named = self.opponents[0] if len(self.opponents) == 1 else self.opponents
        return ToolTable(
            game,
            self.seat,
            make_opponents(named, game.seats - 1),
            match_id=f"verifiers-{secrets.token_hex(8)}",
            name=name,
            seed=self.seed,
            player_seed=self.seed,
            prompt=self.style,
            on_illegal=FailurePolicy.parse(self.on_illegal),
        )

    def play(self, calls: Iterable[dict[str, Any]], name: str) -> MatchResult:
        """Play a match with these calls of the agent called `name`. Raises the errors of `open_table`."""
        table = self.open_table(name)
        for call in calls:
            table.call(Call.parse(call))
        return table.finish()


class ToolMatchState(vf.State):
    """The calls of a match so far, shared by the tool server and the task."""

    calls: list[dict[str, Any]] = Field(default_factory=list)
