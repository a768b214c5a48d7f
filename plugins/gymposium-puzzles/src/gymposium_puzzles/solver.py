"""The player `solver`, which plays every puzzle with the puzzle's own solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Style
from gymposium.games.rules import RulesGame, RulesMatch
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.replies.reading import READERS, Reader


class HasSolver(Protocol):
    """Rules with a solver."""

    def solve(self, state: object, /) -> str:
        """Return the solver's move. It depends only on what the seat may know."""


class Solver:
    """A player that solves the puzzles of this plugin.

    It never sees the match. It gets a world that its seat cannot distinguish from it, so a hidden secret stays hidden.
    """

    name = "solver"
    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "slowly"

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` for a game without a solver."""
        if not (isinstance(game, RulesGame) and hasattr(game.author, "solve")):
            raise BadOption(f"solver plays the games of gymposium-puzzles, not {game.name}. Choose another player.")

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def _choose(self, ask: Ask) -> str:
        self.check_game(ask.game)
        _, (world, *_) = ask.sampler.worlds(1, ask.rng)
        match = cast("RulesMatch[object]", world)
        return cast(HasSolver, match.game.author).solve(match.state)
