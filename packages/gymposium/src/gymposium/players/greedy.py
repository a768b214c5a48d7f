"""The player `greedy`, which looks one move ahead. It is a baseline for stronger players."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gymposium.games.protocol import Game, Match, Style
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.players.search.refusal import check_searchable, remark_on_random_moves
from gymposium.replies.reading import READERS, Reader

WORLDS = 10
"""Number of sampled worlds per move, if there is hidden information or chance."""


class GreedyPlayer:
    """A player that takes the highest immediate reward, averaged over up to 10 worlds that match the seat's view.

    It breaks ties at random. It finds moves that win or score at once, but ignores the opponent's next move. In
    simultaneous moves, it assumes that the other seats move at random."""

    name = "greedy"
    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """Number of moves so far (`moves`), and how many were random because no world was found (`no world`)."""

    def check_game(self, game: Game) -> None:
        """Raise `NoSampler` with the reason if search would play this game badly."""
        check_searchable(game, self.name)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def remarks(self) -> list[str]:
        """Return how many moves were random because no world was found, if any."""
        return remark_on_random_moves(self.counts["no world"], self.counts["moves"])

    def _choose(self, ask: Ask) -> str:
        check_searchable(ask.game, self.name)
        self.counts["moves"] += 1
        legal = ask.legal_moves or []
        if len(legal) > 1:
            source, worlds = ask.sampler.worlds(WORLDS, ask.rng)
            if source == "position" and ask.game.spec.chance:  # one position has that many futures
                worlds = [worlds[0].fork(ask.rng) for _ in range(WORLDS)]
            if worlds:
                rewards = [sum([_compute_immediate_reward(world, ask, move) for world in worlds]) for move in legal]
                legal = [move for move, reward in zip(legal, rewards, strict=True) if reward == max(rewards)]
            else:
                self.counts["no world"] += 1
        return legal[int(ask.rng.random() * len(legal))]


def _compute_immediate_reward(world: Match, ask: Ask, move: str) -> float:
    """Return a move's immediate reward in a world."""
    after = world.fork(ask.rng)
    others = [seat for seat in after.to_move() if seat != ask.seat]
    after.apply({ask.seat: move, **{seat: ask.rng.choice(after.legal_moves(seat) or []) for seat in others}})
    return after.returns()[ask.seat] - world.returns()[ask.seat]
