"""The player `greedy`: one move of foresight. Whatever it loses to, looking further ahead is good for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gymposium.games.protocol import Match, Style
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.players.search.refusal import refuse
from gymposium.reading import READERS, Reader

WORLDS = 10
"""That a move is tried in, where something is hidden or left to chance."""


class GreedyPlayer:
    """The move that is paid best at once, on average over up to 10 worlds that the seat's own view allows; of equal
    ones any, each as likely. It wins where one move wins and takes the points that lie there. Of what its opponent
    does next it knows nothing. Where all move at once, it takes the others to move at random."""

    name = "greedy"
    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """Of the moves so far: `moves`, and `no world` (random, for want of one)."""

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def remarks(self) -> list[str]:
        """How many moves were random for want of a world, where some were."""
        lost, moves = self.counts["no world"], self.counts["moves"]
        return [f"{lost} of {moves} moves were random, for want of a world to try them in."] if lost else []

    def _choose(self, ask: Ask) -> str:
        refuse(ask.game, self.name)
        self.counts["moves"] += 1
        legal = ask.legal_moves or []
        if len(legal) > 1:
            worlds = self._worlds(ask)
            if worlds:
                paid = [sum([_paid(world, ask, move) for world in worlds]) for move in legal]
                legal = [move for move, gain in zip(legal, paid, strict=True) if gain == max(paid)]
            else:
                self.counts["no world"] += 1
        return legal[int(ask.rng.random() * len(legal))]

    def _worlds(self, ask: Ask) -> list[Match]:
        source, worlds = ask.sampler.worlds(WORLDS, ask.rng)
        if source == "position" and ask.game.spec.chance:  # one position, and as many futures
            return [worlds[0].fork(ask.rng) for _ in range(WORLDS)]
        return worlds


def _paid(world: Match, ask: Ask, move: str) -> float:
    """What a move is paid at once."""
    then = world.fork(ask.rng)
    moves = {ask.seat: move}
    for seat in then.to_move():
        if seat != ask.seat:
            moves[seat] = ask.rng.choice(then.legal_moves(seat) or [])
    then.apply(moves)
    return then.returns()[ask.seat] - world.returns()[ask.seat]
