"""The player `random`."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.plugins.command_line import format_command_line
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks.tools import format_calls, list_tools
from gymposium.tasks.tools.random_calls import make_random_call

PHRASES = ("Hello.", "I agree.", "No.", "Let us work together.", "I do not believe you.", "What do you want?")
"""What a random player says."""


class RandomPlayer:
    """A player that draws uniformly random legal moves from the seat's random stream.

    In a game with tools, it calls a random tool with random arguments, using words from its prompt. Where seats speak,
    it says one of `PHRASES`."""

    name = "random"
    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` if the game takes only free text."""
        if not game.spec.plays_at_random:
            raise _make_free_text_error(game)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return distributions with equal probability for each legal move."""
        return [
            MoveDistribution(tuple(moves), (1.0 / len(moves),) * len(moves), legal_mass=1.0, samples=None)
            for moves in map(_list_legal_moves, asks)
        ]

    def _choose(self, ask: Ask) -> str:
        if tools := list_tools(ask.game):
            return format_calls([make_random_call(tools, ask.observe("compact").text, ask.rng)])
        moves: Sequence[str] = PHRASES if ask.game.spec.talk and ask.legal_moves is None else _list_legal_moves(ask)
        return moves[int(ask.rng.random() * len(moves))]


def _list_legal_moves(ask: Ask) -> list[str]:
    moves = ask.legal_moves
    if moves is None:
        raise _make_free_text_error(ask.game)
    return moves


def _make_free_text_error(game: Game) -> BadOption:
    return BadOption(
        f"{game.name} takes free text, so the random player cannot play it. A person can "
        f"({format_command_line('play', game.name)}), or a language model (lm:MODEL)."
    )
