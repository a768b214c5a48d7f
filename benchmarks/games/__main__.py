"""How long and how wide each game is, how random play ends, and a ladder of opponents.

Everything is played through the one driver, with the default parameters. Lengths and widths are of uniformly random
play. A rung of the ladder is measured against random play and against the rung below, seats changed from match to
match with equal deals; the intervals are over such rounds. A score is 1 for a win, 0.5 for a draw, 0 for a loss; of
more seats, the share of the others that did worse; of one seat, or where all win together, the place of the return in
the game's range. Equal seeds give equal figures, times apart.

Results are merged into those that are published already, game by game; the pages of the games show them.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.games.ladder import ladder
from benchmarks.games.shape import shape
from benchmarks.report import RESULTS, about, table, write
from gymposium import load_game
from gymposium.plugins.host import host

LADDERS = tomllib.loads((Path(__file__).parent / "ladders.toml").read_text(encoding="utf-8"))


def measure(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """Return all figures of one game."""
    game, start = load_game(name), time.process_time()
    rungs = LADDERS["games"].get(name, LADDERS["rungs"])
    return {
        "game": game.name,
        "version": game.spec.version,
        "seed": given.seed,
        "random": None if game.spec.free_text else shape(game, given.random, given.seed),
        "ladder": ladder(game, rungs, given.matches, given.seed),
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def row(found: dict[str, Any]) -> list[str]:
    """Return one game's row of the table."""
    random = found["random"]
    top = next((rung for rung in reversed(found["ladder"]) if "refused" not in rung), None)
    last = "" if top is None else top["player"]
    if top is not None and "against" in top:
        last += " {:.3f} [{:.3f}, {:.3f}]".format(*top["against"]["random"]["score"])
    elif top is not None:
        last += " {:.1f} [{:.1f}, {:.1f}]".format(*top["alone"]["return"])
    if random is None:
        return [found["game"], "", "", "", last]
    return [
        found["game"],
        f"{random['decisions']['mean'][0]:.1f}",
        f"{random['decisions']['least']} to {random['decisions']['most']}",
        f"{random['legal_moves']['mean']:.1f}",
        last,
    ]


def publish(folder: Path, games: dict[str, dict[str, Any]]) -> None:
    """Write the results after each game, because the whole takes hours."""
    head = ["game", "decisions, mean", "least to most", "legal moves, mean", "last rung, its score against random"]
    versions = about("gymposium", "gymposium-2048", "gymposium-trace", "open_spiel")
    text = table(head, [row(one) for one in games.values()])
    write(folder, "games", {"about": versions, "games": games}, text, quiet=True)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.games", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("games", nargs="*", metavar="GAME", help="by name; all that are on offer by default")
    parser.add_argument("--random", type=int, default=1_000, help="random matches of each game (default: 1000)")
    parser.add_argument("--matches", type=int, default=60, help="matches of each rung and opponent (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the deals and the players (default: 1)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    path = given.out / "games.json"
    games = json.loads(path.read_text(encoding="utf-8"))["games"] if path.exists() else {}
    for name in given.games or host().games:
        games[name] = measure(name, given)
        print(*row(games[name]), f"{games[name]['cpu_seconds']} CPU s", sep="  ", flush=True)
        publish(given.out, {name: games[name] for name in sorted(games)})


if __name__ == "__main__":
    main()
