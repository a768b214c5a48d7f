"""The player `mcts-N`: Monte Carlo tree search over worlds that match the seat's view.

In OpenSpiel games with perfect information, OpenSpiel's C++ search runs on several positions at once. In all other
games, a Python tree search uses worlds from the game's sampler or worlds found from the seat's observations. The player
rejects games that it would play badly, with the reason. If it finds no world, it plays a random legal move and counts
it. Strength is bounded by simulations, never by time. A move depends only on the seat's observations, the players' seed
and the seat's earlier decisions.

As a teacher, it recommends moves by their visits, sharpened by a temperature. It explores less than in play.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.games.protocol import Game, Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Repeats, Reply, Source
from gymposium.players.search import engine
from gymposium.players.search.refusal import check_searchable, remark_on_random_moves
from gymposium.players.search.tree import count_visits, search
from gymposium.players.teaching import recommend_moves
from gymposium.replies.reading import READERS, Reader
from gymposium.util.streams import stream

LEAST_WORLDS, MOST_WORLDS = 10, 50
"""Limits on the number of worlds, which is a quarter of the number of simulations."""
TEACHING_EXPLORATION = 0.5
"""Weight of exploration in teaching, as `engine.TEACHING_UCT_C` for returns scaled to [0, 1]."""
TEACHING_TEMPERATURE = 0.2
"""Temperature of recommendations, which are proportional to visits^(1 / temperature)."""


@dataclass(frozen=True, slots=True)
class Thought:
    """A report on the search for one move, stored as its reply's `trace`."""

    source: Source | None
    """Source of the worlds; None if there was only one legal move."""
    worlds: int
    """Number of worlds the search started from; 0 if none was found and the move is random."""
    simulations: int


class MctsPlayer:
    """A player that searches with a fixed number of simulations per move."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "slowly"

    def __init__(self, simulations: str | int) -> None:
        self.simulations = int(simulations)
        self.name = f"mcts-{self.simulations}"
        self.counts: Counter[str] = Counter()
        """Number of moves so far (`moves`), and how many were forced (`forced`) or random because no world was found
        (`no world`)."""

    def check_game(self, game: Game) -> None:
        """Raise `NoSampler` with the reason if search would play this game badly."""
        check_searchable(game, self.name)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        prepared = [self._prepare(ask) for ask in asks]
        searches = [reply for reply in prepared if isinstance(reply, engine.EngineSearch)]
        moves = iter(engine.run_searches(searches, engine.EngineSearch.move))
        thought = Thought("position", 1, self.simulations)
        return [reply if isinstance(reply, Reply) else Reply(next(moves), trace=thought) for reply in prepared]

    def teach(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        """Return distributions that favor the moves visited most often, or recommend nothing if no world is found.

        A recommendation depends only on the seat's observations and the players' seed."""
        prepared = [self._prepare_lesson(ask) for ask in asks]
        searches = [one for one in prepared if isinstance(one, engine.EngineSearch)]
        counted = iter(engine.run_searches(searches, engine.EngineSearch.count_visits))
        visits = [next(counted) if isinstance(one, engine.EngineSearch) else one for one in prepared]
        return [
            recommend_moves(ask.legal_moves or (), _sharpen(counts)) for ask, counts in zip(asks, visits, strict=True)
        ]

    def remarks(self) -> list[str]:
        """Return how many moves were random because no world was found, if any."""
        return remark_on_random_moves(self.counts["no world"], self.counts["moves"] - self.counts["forced"])

    def _prepare(self, ask: Ask) -> Reply | engine.EngineSearch:
        """Return the reply, or the OpenSpiel search that will produce it."""
        check_searchable(ask.game, self.name)
        self.counts["moves"] += 1
        legal = ask.legal_moves or []
        if len(legal) == 1:
            self.counts["forced"] += 1
            return Reply(legal[0], trace=Thought(None, 0, 0))
        source, worlds = ask.sampler.worlds(self._count_worlds(), ask.rng)
        if not worlds:
            self.counts["no world"] += 1
            return Reply(legal[int(ask.rng.random() * len(legal))], trace=Thought(source, 0, 0))
        if source == "position" and engine.is_searched(worlds[0]):
            return engine.EngineSearch(worlds[0], ask.seat, self.simulations, ask.rng)
        if bare := engine.convert_to_engine_worlds(worlds):
            move = legal[ask.legal_actions.index(search(bare, ask.seat, self.simulations, ask.rng))]
        else:
            move = search(worlds, ask.seat, self.simulations, ask.rng)
        return Reply(move, trace=Thought(source, len(worlds), self.simulations))

    def _prepare_lesson(self, ask: Ask) -> list[int] | engine.EngineSearch:
        """Return the visits of the legal moves, or the OpenSpiel search that will count them."""
        check_searchable(ask.game, self.name)
        legal = ask.legal_moves or []
        if len(legal) == 1:
            return [1]
        rng = stream(ask.seed, "teach", ask.seat, ask.view)
        source, worlds = ask.sampler.worlds(self._count_worlds(), rng)
        if not worlds:
            return [0] * len(legal)
        if source == "position" and engine.is_searched(worlds[0]):
            return engine.EngineSearch(worlds[0], ask.seat, self.simulations, rng)
        if bare := engine.convert_to_engine_worlds(worlds):
            by_action = count_visits(bare, ask.seat, self.simulations, rng, TEACHING_EXPLORATION)
            return [by_action[action] for action in ask.legal_actions]
        by_move = count_visits(worlds, ask.seat, self.simulations, rng, TEACHING_EXPLORATION)
        return [by_move[move] for move in legal]

    def _count_worlds(self) -> int:
        return min(self.simulations, MOST_WORLDS, max(LEAST_WORLDS, self.simulations // 4))


def _sharpen(visits: Sequence[int]) -> list[float]:
    """Return weights of moves from their visits, with 1 for the most visited one."""
    most = max(visits)
    return [(count / most) ** (1.0 / TEACHING_TEMPERATURE) if most else 0.0 for count in visits]
