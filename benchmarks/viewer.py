"""How long `gymposium view` takes to open many recorded matches and show the first page of the list.

A few hundred matches of each game are played at random, and written repeatedly with other ids and seeds until there are
enough; a repeated line costs as much to read as the first. The target is for CPU time, all of one thread; wall time,
which depends on other load, is given too. For comparison within the run, the same lines are read with `json.loads`
alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from starlette.testclient import TestClient

from benchmarks.report import RESULTS, about, table, write
from gymposium import load_game, make_player
from gymposium.match import MatchJob, play
from gymposium.records import Record
from gymposium_viewer.app import make_app, make_viewer

GAMES = ("tic_tac_toe", "connect_four", "kuhn_poker", "goofspiel(num_cards=5)")
MOST = 2.0
"""Most CPU seconds to open 100,000 matches."""


def write_records(file: Path, count: int, distinct: int) -> None:
    player, lines = make_player("random"), []
    for name in GAMES:
        game = load_game(name)
        jobs = (MatchJob(f"{name}-{i}", game, [player] * game.seats, i) for i in range(distinct // len(GAMES)))
        lines += [json.loads(Record.from_match(played).line()) for played in play(jobs)]
    with open(file, "w", encoding="utf-8") as out:
        for number in range(count):
            record = lines[number % len(lines)] | {"id": f"bench/{number}", "seed": number}
            out.write(json.dumps(record, separators=(",", ":")) + "\n")


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Return the CPU time and the wall time of some work, in seconds."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return {"cpu": round(time.process_time() - cpu, 3), "clock": round(time.perf_counter() - clock, 3)}


def parse_all(folder: Path) -> None:
    with open(folder / "matches.jsonl", "rb") as file:
        for line in file:
            json.loads(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=100_000, help="number of matches (default: 100,000)")
    parser.add_argument(
        "--distinct", type=int, default=2000, help="number of different matches to play (default: 2,000)"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_records(folder / "matches.jsonl", given.matches, given.distinct)
        size = (folder / "matches.jsonl").stat().st_size
        client = TestClient(make_app(make_viewer(folder)), base_url="http://127.0.0.1")

        def get(path: str) -> Callable[[], object]:
            def ask() -> None:
                answer = client.get(path)
                if answer.status_code != 200:
                    raise SystemExit(f"{path}: {answer.status_code} {answer.text}")

            return ask

        get("/static/base.css")()  # the first request imports modules
        work = {
            "opened: the first page of the list": get("/matches.html"),
            "the first page again": get("/matches.html"),
            "filtered: lost by a player, longest first": get("/matches.html?player=random&ended=lost&sort=longest"),
            "most tokens first": get("/matches.html?sort=tokens"),
            "search in replies: a move that stands in many": get("/matches.html?said=b2"),
            "search in replies: a text that stands in none": get("/matches.html?said=pineapple"),
            "a match in the middle, with its neighbours": get(f"/matches/matches.jsonl/{given.matches // 2}.html"),
            "every line by `json.loads`, nothing else": lambda: parse_all(folder),
        }
        seconds = {name: timed(doing) for name, doing in work.items()}
    opened = seconds["opened: the first page of the list"]
    limit = MOST * max(1.0, given.matches / 100_000)
    data = {
        "about": about("gymposium", "starlette"),
        "matches": given.matches,
        "bytes": size,
        "seconds": seconds,
        "must_be_at_most": limit,
    }
    rows = [[name, f"{found['cpu']:.2f}", f"{found['clock']:.2f}"] for name, found in seconds.items()]
    verdict = "within" if opened["cpu"] <= limit else "ABOVE"
    held = f"{opened['cpu']:.2f} s, {verdict} the {limit:g} that it may be"
    end = f"\n{given.matches:,} matches, {size / 1e6:.0f} MB; {held}.\n"
    write(given.out, "viewer", data, table(["", "CPU s", "clock s"], rows) + end)
    sys.exit(opened["cpu"] > limit)


if __name__ == "__main__":
    main()
