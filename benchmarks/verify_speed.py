"""Speed of verifying a board as a share of the speed of playing it, with cheap players, for which playing costs least.

A tournament and a full verification (`gymposium leaderboard run` and `verify`) of the same board are run one after the
other, with the same number of worker processes. Both are measured in wall time and in CPU seconds of all processes; the
ratio of CPU seconds hardly depends on other load. Search players verify even faster, as only a sample of their matches
is searched again and the others are only replayed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.cpu_time import cpu_seconds
from benchmarks.report import RESULTS, about, table, write
from gymposium.runs.executors.local import LocalExecutor
from gymposium_arena.board import Board
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.suite import parse_suite
from gymposium_arena.tournament import run_tournament
from gymposium_arena.verify import verify_board

LEAST = 0.7
"""Least speed of verification, as a share of that of play."""
GAMES = ("tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "goofspiel(num_cards=5)")
PLAYERS = ("random", "greedy", "mcts-10")
LINEUPS = len(GAMES) * 3


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall time and the CPU time of some work, in seconds."""
    clock, cpu = time.perf_counter(), cpu_seconds()
    work()
    return time.perf_counter() - clock, cpu_seconds() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000, help="approximate number of matches (default: 100,000)")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes for both (default: 2)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    groups = max(1, round(given.records / LINEUPS / 2))
    names = ", ".join(f'"{player}"' for player in PLAYERS)
    games = "".join(f'[[games]]\nname = "{game}"\n' for game in GAMES)
    suite = parse_suite(f'name = "speed"\ngroups = {groups}\nplayers = [{names}]\n{games}')
    with tempfile.TemporaryDirectory() as folder:
        board = Board.open_or_create(Path(folder) / "board", suite)
        with closing(LocalExecutor(given.jobs)) as executor:
            play = timed(lambda: run_tournament(board, executor))
        write_results(board, compute_results(board))
        found = []
        with closing(LocalExecutor(given.jobs)) as executor:
            check = timed(lambda: found.append(verify_board(board, executor=executor)))
    [verified] = found
    if verified.findings or verified.matches != verified.planned:
        sys.exit(f"The board does not verify: {verified.findings[:3]}")
    clock, cpu = play[0] / check[0], play[1] / check[1]
    asked, replies = (sum(getattr(one, name) for one in verified.players) for name in ("asked", "replies"))
    data = {
        "about": about("gymposium", "open_spiel"),
        "games": GAMES,
        "players": PLAYERS,
        "matches": verified.matches,
        "jobs": given.jobs,
        "replies": replies,
        "replies_asked_again": asked,
        "play": {"seconds": round(play[0], 1), "cpu_seconds": round(play[1], 1)},
        "verify": {"seconds": round(check[0], 1), "cpu_seconds": round(check[1], 1)},
        "speed_by_the_clock": round(clock, 2),
        "speed_in_cpu_seconds": round(cpu, 2),
        "must_be_at_least": LEAST,
    }
    rows = [
        [name, *(f"{verified.matches / seconds:,.0f}" for seconds in both)]
        for name, both in (("played", play), ("verified", check))
    ]
    rows.append(["verified : played", f"{clock:.2f}", f"{cpu:.2f}"])
    verdict = "not below" if cpu >= LEAST else "BELOW"
    head = f"{verified.matches:,} matches, {given.jobs} workers"
    end = f"\n{asked:,} of {replies:,} replies were asked for again. {cpu:.2f} is {verdict} {LEAST}.\n"
    write(given.out, "verify_speed", data, table([head, "a second", "a CPU second"], rows) + end)
    sys.exit(cpu < LEAST)


if __name__ == "__main__":
    main()
