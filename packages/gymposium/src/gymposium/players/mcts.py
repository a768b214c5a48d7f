"""The player `mcts-N`: Monte Carlo tree search over worlds that the seat's own view allows.

Perfect information in an OpenSpiel game: the engine's C++ search, several positions at once. Everything else,
a stranger's game that only forks included: our own tree over worlds from the game's sampler or from what the
seat saw. It refuses where it would play badly, and says why; where it finds no world it makes a random legal
move and counts it. Strength is bounded by simulations, never by time, and a move depends on what the seat saw,
the players' seed and the seat's earlier decisions alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Repeats, Reply, Source
from gymposium.players.search import engine
from gymposium.players.search.refusal import refuse
from gymposium.players.search.tree import search
from gymposium.reading import READERS, Reader

LEAST_WORLDS, MOST_WORLDS = 10, 50
"""One for every four simulations, but no fewer than the one and no more than the other."""


@dataclass(frozen=True, slots=True)
class Thought:
    """What stood behind a move."""

    source: Source | None
    """Where the worlds came from; None where there was but one legal move."""
    worlds: int
    """How many different samples the search began in; 0: none was found, and the move is random."""
    simulations: int


class MctsPlayer:
    """Tree search with a fixed number of simulations a move."""

    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "slowly"

    def __init__(self, simulations: str | int) -> None:
        self.simulations = int(simulations)
        self.name = f"mcts-{self.simulations}"
        self.counts: Counter[str] = Counter()
        """Of the moves so far: `moves`, `forced` (there was no other), and `no world` (random, for want of one)."""

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies: list[Reply | None] = []
        waiting: list[engine.EngineSearch] = []
        for ask in asks:
            prepared = self._prepare(ask)
            if isinstance(prepared, engine.EngineSearch):
                waiting.append(prepared)
                replies.append(None)
            else:
                replies.append(prepared)
        thought = Thought("position", 1, self.simulations)
        found = iter([Reply(move, trace=thought) for move in engine.moves(waiting)])
        return [next(found) if reply is None else reply for reply in replies]

    def remarks(self) -> list[str]:
        """How many moves were random for want of a world, where some were."""
        lost, searched = self.counts["no world"], self.counts["moves"] - self.counts["forced"]
        return [f"{lost} of {searched} moves were random, for want of a world to search."] if lost else []

    def _prepare(self, ask: Ask) -> Reply | engine.EngineSearch:
        """The reply, or the search by OpenSpiel that will give it."""
        refuse(ask.game, self.name)
        self.counts["moves"] += 1
        legal = ask.legal_moves or []
        if len(legal) == 1:
            self.counts["forced"] += 1
            return Reply(legal[0], trace=Thought(None, 0, 0))
        count = min(self.simulations, MOST_WORLDS, max(LEAST_WORLDS, self.simulations // 4))
        source, worlds = ask.sampler.worlds(count, ask.rng)
        if not worlds:
            self.counts["no world"] += 1
            return Reply(legal[int(ask.rng.random() * len(legal))], trace=Thought(source, 0, 0))
        if source == "position" and engine.is_searched(worlds[0]):
            return engine.EngineSearch(worlds[0], ask.seat, self.simulations, ask.rng)
        bare = engine.bare_worlds(worlds)
        if bare:
            move = legal[ask.legal_actions.index(search(bare, ask.seat, self.simulations, ask.rng))]
        else:
            move = search(worlds, ask.seat, self.simulations, ask.rng)
        return Reply(move, trace=Thought(source, len(worlds), self.simulations))
