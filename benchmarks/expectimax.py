"""How often `expectimax-D` makes the tile 2048, how long a move takes, and the least D that meets the target.

It plays the default game, which ends at that tile, through gymposium's driver. The share of matches that reach the tile
has Wilson's interval, and the mean score Student's t interval. Milliseconds are CPU time in the player for a move:
reading the board, searching, answering. The time to import and compile the search, before the first move of a process,
is given separately.

Matches are seeded: equal arguments give equal results, except times. The exit status is 1 if no D meets the target.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.games.shape import plain
from benchmarks.report import RESULTS, about, table, write
from gymposium import load_game, make_player
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import plan_jobs
from gymposium.players.protocol import Ask, Reply
from gymposium.records.scores import estimate_mean, estimate_rate

TILE = 2048
LEAST = 0.9
"""Share of matches that must reach the tile."""
MOST_MS = 5.0
"""Most CPU milliseconds of a move."""


class TimedPlayer:
    """A player that counts its CPU time and moves."""

    def __init__(self, name: str) -> None:
        self._player = make_player(name)
        self.name, self.reader, self.style = self._player.name, self._player.reader, self._player.style
        self.seconds, self.moves = 0.0, 0

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        start = time.process_time()
        replies = self._player.act(asks)
        self.seconds += time.process_time() - start
        self.moves += len(asks)
        return replies


def compiling(name: str) -> float:
    """Return the CPU seconds of the first move in this process, in a game that ends soon."""
    player = TimedPlayer(name)
    job = MatchJob("first", load_game("2048", max_tile=8), [player], 0)
    for _ in play([job]):
        return player.seconds
    raise AssertionError("a match is played to its end")


def measure(look_ahead: int, matches: int, seed: int) -> dict[str, Any]:
    """Return all figures of one look-ahead."""
    game, player = load_game("2048"), TimedPlayer(f"expectimax-{look_ahead}")
    tiles, scores, forfeits = Counter[int](), list[float](), 0
    policy = FailurePolicy("forfeit")
    jobs = plan_jobs(game, [player], matches, seed=seed, swap=False, tag="m", on_illegal=policy)
    for played in play(job for job, _ in jobs):
        tiles[int(game.load(played.events).tensor(0).max())] += 1
        scores.append(played.returns[0])
        forfeits += played.ending.seat is not None
    reached = estimate_rate(sum(count for tile, count in tiles.items() if tile >= TILE), matches)
    ms = 1000 * player.seconds / player.moves
    return {
        "player": player.name,
        "matches": matches,
        "seed": seed,
        "reached": plain(reached),
        "greatest_tiles": {str(tile): tiles[tile] for tile in sorted(tiles)},
        "score": plain(estimate_mean(scores)),
        "moves": player.moves,
        "moves_a_match": round(player.moves / matches, 1),
        "ms_per_move": round(ms, 3),
        "forfeits": forfeits,
        "held": reached.value >= LEAST and ms <= MOST_MS,
    }


def _row(found: dict[str, Any]) -> list[str]:
    return [
        found["player"],
        str(found["matches"]),
        "{:.2f} [{:.3f}, {:.3f}]".format(*found["reached"]),
        ", ".join(f"{count} × {tile}" for tile, count in found["greatest_tiles"].items()),
        "{:.0f} [{:.0f}, {:.0f}]".format(*found["score"]),
        f"{found['moves_a_match']:.0f}",
        f"{found['ms_per_move']:.3f}",
    ]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("look_ahead", nargs="*", type=int, metavar="D", help="moves of look-ahead (default: 1 2 3)")
    parser.add_argument("--matches", type=int, default=100, help="matches of each D (default: 100)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the matches (default: 1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    ahead = sorted(given.look_ahead) or [1, 2, 3]
    first = compiling(f"expectimax-{ahead[0]}")
    found = []
    for look_ahead in ahead:
        found.append(measure(look_ahead, given.matches, given.seed))
        print(*_row(found[-1]), sep="  ", flush=True)
    head = ["player", "matches", f"share that reaches {TILE}", "greatest tiles", "score", "moves a match", "ms a move"]
    least = next((one["player"] for one in found if one["held"]), None)
    data = {
        "about": about("gymposium", "gymposium-2048", "numba", "numpy", "open_spiel"),
        "must_be": {"reached_at_least": LEAST, "ms_per_move_at_most": MOST_MS},
        "first_move_cpu_seconds": round(first, 2),
        "players": found,
        "least": least,
    }
    verdict = f"{TILE} in {LEAST:.0%} or more of the matches at {MOST_MS:g} ms a move or less: {least or 'NONE'}"
    verdict += " is the least that does it.\n" if least else " does it.\n"
    end = f"\n{verdict}\nThe first move of a process takes {first:.1f} CPU seconds, to import and compile the search.\n"
    write(given.out, "expectimax", data, table(head, [_row(one) for one in found]) + end)
    sys.exit(least is None)


if __name__ == "__main__":
    main()
