"""A ladder of opponents: each rung against random play, and against the rung below."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.games.shape import plain
from gymposium import make_player
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.match.score import match_score
from gymposium.match.seating import plan_jobs
from gymposium.players.greedy import GreedyPlayer
from gymposium.players.mcts import MctsPlayer
from gymposium.players.protocol import Player
from gymposium.records.scores import Score, estimate_mean


def ladder(game: Game, rungs: Sequence[str], matches: int, seed: int) -> list[dict[str, Any]]:
    """Return the rungs from the lowest, each with its results.

    A player that does not play the game is listed with its reason, and the next is compared with the rung before it.
    """
    found: list[dict[str, Any]] = []
    below: list[str] = []
    for name in rungs:
        make_player(name)  # who cannot even be made has refused nothing: that is an error
        rung: dict[str, Any] = {"player": name}
        try:
            if game.seats == 1 or game.spec.utility == "cooperative":
                rung["alone"] = contest(game, [name] * game.seats, matches, seed)
            else:
                for other in dict.fromkeys(["random", *below[-1:]]):
                    rung.setdefault("against", {})[other] = contest(game, _table(game, name, other), matches, seed)
            below.append(name)
        except GymposiumError as error:
            rung = {"player": name, "refused": str(error)}
        found.append(rung)
    return found


def _table(game: Game, name: str, other: str) -> list[str]:
    return [name, *[other] * (game.seats - 1)]


def contest(game: Game, names: Sequence[str], matches: int, seed: int) -> dict[str, Any]:
    """Return the first player's results.

    Seats rotate from match to match if the opponents differ from it. The matches of a round share a deal, so intervals
    are over rounds.
    """
    swap = len(set(names)) > 1
    made = {name: make_player(name) for name in names}
    players: list[Player] = [made[name] for name in names]
    score, seats = Score(), dict[str, tuple[int, int]]()
    scores: dict[int, list[float]] = defaultdict(list)
    returns: dict[int, list[float]] = defaultdict(list)
    each = game.seats if swap else 1

    def jobs() -> Iterator[MatchJob]:
        policy = FailurePolicy("forfeit")
        found = plan_jobs(game, players, matches // each * each, seed=seed, swap=swap, tag="m", on_illegal=policy)
        for number, (job, order) in enumerate(found):
            seats[job.id] = order.index(0), number // each
            yield job

    start = time.process_time()
    for played in play(jobs()):
        seat, deal = seats.pop(played.job.id)
        score.add(played, seat)
        returns[deal].append(played.utilities[seat])
        scores[deal].append(match_score(game, played.utilities, seat, played.ending.seat))
    return {
        "matches": score.matches,
        "score": plain(estimate_mean([sum(one) / len(one) for one in scores.values()])),
        "return": plain(estimate_mean([sum(one) / len(one) for one in returns.values()])),
        "results": {kind: score.results.get(kind, 0) for kind in ("win", "draw", "loss")} if game.seats > 1 else {},
        "cpu_seconds_a_match": round((time.process_time() - start) / score.matches, 4),
        "random_moves": {
            p.name: p.counts["no world"] for p in made.values() if isinstance(p, GreedyPlayer | MctsPlayer) and p.counts
        },
    }
