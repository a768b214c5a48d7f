"""How well search plays games with hidden information against uniformly random play, with swapped seats.

`mcts-N` plays through gymposium's driver, and pairs of matches share a deal. The mean return and the mean of wins less
losses (`lead`) have Student's t interval; search is better than random play if the lower ends are above 0. The ceiling
is the mean return of the best response to random play over all seats, computed by traversal with OpenSpiel if the game
is small enough. Milliseconds are CPU time for a move that was searched. `no world` is the share of these moves for
which no world was found that agrees with what the seat saw: such moves are random.

Matches and search are seeded: equal arguments give equal results, except times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspiel

from benchmarks.report import RESULTS, about, table, write
from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import plan_jobs
from gymposium.players.mcts import MctsPlayer
from gymposium.players.protocol import Player
from gymposium.players.random import RandomPlayer
from gymposium.records.scores import Estimate, Score, estimate_mean

CEILINGS = ("kuhn_poker", "leduc_poker", "liars_dice", "goofspiel(num_cards=4,points_order=descending)")
"""Games that are traversed in seconds."""


@dataclass(frozen=True, slots=True)
class Contest:
    """One row of the result: a game, a number of simulations and a number of matches."""

    game: str
    simulations: int
    matches: int

    @classmethod
    def parse(cls, text: str) -> Contest:
        """Read a contest from `GAME:SIMULATIONS:MATCHES`."""
        game, simulations, matches = text.rsplit(":", 2)
        return cls(game, int(simulations), int(matches))


CONTESTS = (
    Contest("kuhn_poker", 200, 2000),
    Contest("leduc_poker", 200, 1000),
    Contest("liars_dice", 200, 600),
    Contest("liars_dice(numdice=5)", 100, 100),
    Contest("goofspiel(num_cards=4,points_order=descending)", 200, 600),
    Contest("goofspiel", 100, 200),
    Contest("phantom_ttt", 200, 300),
    Contest("gin_rummy", 40, 100),
)


def contest(one: Contest, seed: int) -> dict[str, Any]:
    game = load_game(one.game)
    search, score, leads = MctsPlayer(one.simulations), Score(), list[float]()
    seats: dict[str, int] = {}

    def jobs() -> Iterator[MatchJob]:
        players: list[Player] = [search, *[RandomPlayer()] * (game.seats - 1)]
        policy = FailurePolicy("forfeit")
        for job, order in plan_jobs(game, players, one.matches, seed=seed, swap=True, tag="m", on_illegal=policy):
            seats[job.id] = order.index(0)
            yield job

    start = time.process_time()
    for played in play(jobs()):
        seat = seats.pop(played.job.id)
        score.add(played, seat)
        leads.append({"win": 1.0, "draw": 0.0, "loss": -1.0}[played.result(seat)])
    seconds = time.process_time() - start
    searched = search.counts["moves"] - search.counts["forced"]
    return {
        "game": game.name,
        "player": search.name,
        "matches": score.matches,
        "mean_return": _plain(score.mean_return()),
        "results": {kind: score.results.get(kind, 0) for kind in ("win", "draw", "loss")},
        "lead": _plain(estimate_mean(leads)),
        "ceiling": round(ceiling(game), 3) if one.game in CEILINGS and isinstance(game, OpenSpielGame) else None,
        "ms_per_move": round(1000 * seconds / searched, 2),
        "moves": searched,
        "no_world": round(search.counts["no world"] / searched, 4),
    }


def ceiling(game: OpenSpielGame) -> float:
    """Return the mean return of the best response to uniformly random play over all seats."""
    engine = game.engine
    if engine.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        engine = pyspiel.convert_to_turn_based(engine)  # the second seat is not told what the first chose
    policy = pyspiel.UniformRandomPolicy(engine)
    values = [
        pyspiel.TabularBestResponse(engine, seat, policy).value_from_state(engine.new_initial_state())
        for seat in range(engine.num_players())
    ]
    return float(sum(values) / len(values))


def _plain(found: Estimate) -> list[float]:
    return [round(found.value, 4), round(found.low, 4), round(found.high, 4)]


def _row(row: dict[str, Any]) -> list[str]:
    won, drawn, lost = row["results"].values()
    return [
        row["game"],
        row["player"],
        str(row["matches"]),
        "{:+.3f} [{:+.3f}, {:+.3f}]".format(*row["mean_return"]),
        "" if row["ceiling"] is None else f"{row['ceiling']:+.3f}",
        f"{won} / {drawn} / {lost}",
        "{:+.3f} [{:+.3f}, {:+.3f}]".format(*row["lead"]),
        f"{row['ms_per_move']:.1f}",
        f"{row['no_world']:.1%}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "contests",
        nargs="*",
        type=Contest.parse,
        metavar="GAME:SIMULATIONS:MATCHES",
        help=f"contests to play (default: {len(CONTESTS)} contests in games with hidden information)",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the deals and the players (default: 1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    found = []
    for one in given.contests or CONTESTS:
        found.append(contest(one, given.seed))
        print(*_row(found[-1]), sep="  ", flush=True)
    head = [
        "game",
        "player",
        "matches",
        "mean return",
        "ceiling",
        "won / drawn / lost",
        "lead",
        "ms a move",
        "no world",
    ]
    text = table(head, [_row(row) for row in found])
    write(given.out, "search_strength", {"about": about("gymposium", "open_spiel"), "games": found}, text)


if __name__ == "__main__":
    main()
