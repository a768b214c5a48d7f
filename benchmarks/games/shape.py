"""A game's length, width and results under uniformly random play."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from gymposium.games.protocol import Game
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import plan_jobs
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer
from gymposium.records.scores import Estimate, Score, estimate_mean


class Counting(RandomPlayer):
    """Random play that counts the legal moves of each of its decisions."""

    def __init__(self) -> None:
        self.widths: list[int] = []

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        self.widths += [len(ask.legal_moves or ()) for ask in asks]
        return super().act(asks)


def shape(game: Game, matches: int, seed: int) -> dict[str, Any]:
    """Return statistics of this many random matches, and each seat's results and mean return."""
    counting, scores, lengths = Counting(), [Score() for _ in range(game.seats)], list[int]()

    def jobs() -> Sequence[MatchJob]:
        players = [counting] * game.seats
        found = plan_jobs(game, players, matches, seed=seed, swap=False, tag="m", on_illegal=FailurePolicy("forfeit"))
        return [job for job, _ in found]

    for played in play(jobs()):
        lengths.append(len(played.turns))
        for seat, score in enumerate(scores):
            score.add(played, seat)
    return {
        "matches": matches,
        "decisions": {"mean": plain(estimate_mean(lengths)), "least": min(lengths), "most": max(lengths)},
        "legal_moves": {
            "mean": round(sum(counting.widths) / len(counting.widths), 2),
            "median": median(counting.widths),
            "most": max(counting.widths),
        },
        "seats": [{"return": plain(s.mean_return()), "results": s.as_dict()["results"]} for s in scores],
    }


def plain(found: Estimate) -> list[float]:
    """Return a value and the ends of its interval."""
    return [round(found.value, 4), round(found.low, 4), round(found.high, 4)]
