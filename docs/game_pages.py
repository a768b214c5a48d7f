"""Pages of the games, generated from each game and its measurements when the site is built."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gymposium.cli.info import make_example_prompts
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.plugins.host import host

MEASURED = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "games.json"
"""Measurements, written by `python -m benchmarks.games`."""
RETURNS = {
    "zero_sum": "zero-sum: one seat wins what the others lose",
    "general_sum": "each seat has its own return",
    "cooperative": "all seats have the same return",
    "score": "a score of the only seat",
}


def write_pages(folder: Path) -> None:
    """Write the pages of all games and their index."""
    folder.mkdir(exist_ok=True)
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))["games"] if MEASURED.exists() else {}
    games = [load_game(name) for name in sorted(host().games)]
    for game in games:
        _write(folder / f"{game.spec.name}.md", "\n".join(_page(game, measured.get(game.spec.name))))
    _write(folder / "index.md", "\n".join(_index(games, measured)))


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # an unchanged file is not rebuilt
        path.write_text(text, encoding="utf-8")


def _index(games: list[Game], measured: dict[str, Any]) -> Iterator[str]:
    yield "# The games\n"
    yield (
        "The page of a game has its rules, its parameters, a turn of each seat as a player reads it, and measurements. "
        "Any other game of OpenSpiel is `openspiel:NAME`.\n"
    )
    yield "| game | seats | hidden | chance | returns | decisions | legal moves | |"
    yield "|---|---|---|---|---|---|---|---|"
    yield from (_row(game, measured.get(game.spec.name) or {}) for game in games)
    yield "\nDecisions (of all seats, in a match) and legal moves (at a decision) are means of uniformly random play.\n"


def _row(game: Game, measured: dict[str, Any]) -> str:
    spec, random = game.spec, measured.get("random")
    cells = [
        f"[{spec.title}]({spec.name}.md)",
        spec.describe_seats,
        "yes" if spec.information == "imperfect" else "",
        "yes" if spec.chance else "",
        spec.utility.replace("_", "-"),
        f"{random['decisions']['mean'][0]:.0f}" if random else "",
        f"{random['legal_moves']['mean']:.0f}" if random else "",
        spec.summary,
    ]
    return f"| {' | '.join(cells)} |"


def _page(game: Game, measured: dict[str, Any] | None) -> Iterator[str]:
    spec = game.spec
    yield f"# {spec.title}\n"
    yield f"{spec.summary}\n"
    least, greatest = game.utility_range
    yield "| | |\n|---|---|"
    yield f"| name | `{spec.name}` |"
    yield f"| id in Gymnasium and PettingZoo | `{spec.env_id}` |"
    yield f"| seats | {spec.describe_seats} |"
    yield f"| moves | {'all at once' if spec.dynamics == 'simultaneous' else 'in turn'} |"
    yield f"| hidden information | {'yes' if spec.information == 'imperfect' else 'no'} |"
    yield f"| chance | {'yes' if spec.chance else 'no'} |"
    yield f"| returns | {RETURNS[spec.utility]}; from {least:g} to {greatest:g} |"
    yield f"| decisions in a match | at most {game.max_decisions} |"
    yield f"| actions | {game.num_actions or 'free text'} |\n"
    yield "```console"
    yield f"gymposium play {spec.name}"
    if not spec.free_text:
        yield f"gymposium run {spec.name} --players {','.join(['random'] * game.seats)} -n 100"
    yield "```\n"
    yield from _parameters(game)
    yield "## Rules\n"
    yield f"For seat 0, in a full prompt:\n\n{_verbatim(game.rules(0))}"
    yield f"In a compact prompt:\n\n{_verbatim(game.rules(0, 'compact'))}"
    yield "## A turn\n"
    yield "From a match of random moves: the exact text that a player reads after the rules.\n"
    for seat, (full, compact) in enumerate(
        zip(make_example_prompts(game, "full", "move"), make_example_prompts(game, "compact", "move"), strict=True)
    ):
        yield f"### Seat {seat}\n\n{_verbatim(full.removeprefix(game.rules(seat)))}"
        if seat == 0:
            yield f"Compact:\n\n{_verbatim(compact.removeprefix(game.rules(seat, 'compact')))}"
    if measured is not None:
        yield from _measured(measured)
    if spec.best_play:
        yield f"## Best play\n\n{spec.best_play}\n"


def _parameters(game: Game) -> Iterator[str]:
    if not game.spec.parameters:
        return
    yield "## Parameters\n"
    yield "| name | default | allowed values | meaning |\n|---|---|---|---|"
    for p in game.spec.parameters:
        yield f"| `{p.name}` | `{p.default}` | {p.describe_allowed()} | {p.help} |"
    example = next((dict(example) for example in game.spec.examples if example), None)
    if example is not None:
        written = ",".join(f"{key}={value}" for key, value in example.items())
        yield f"\nFor example `{game.spec.name}({written})`.\n"
    yield ""


def _measured(measured: dict[str, Any]) -> Iterator[str]:
    random = measured["random"]
    if random is not None:
        decisions, legal = random["decisions"], random["legal_moves"]
        yield "## Length and number of moves\n"
        yield (
            f"In {random['matches']} matches of uniformly random play, a match has {_mean(decisions['mean'], 1)} "
            f"decisions on average, from {decisions['least']} to {decisions['most']}. A decision has "
            f"{legal['mean']:.1f} legal moves on average, with a median of {legal['median']:g} and a maximum of "
            f"{legal['most']}.\n"
        )
        won = all("win" in seat["results"] for seat in random["seats"])
        yield f"| seat | mean return |{' won | drawn | lost |' if won else ''}"
        yield f"|---|---:|{'---:|---:|---:|' if won else ''}"
        for number, seat in enumerate(random["seats"]):
            rates = "".join(f" {_mean(seat['results'][kind], 3)} |" for kind in ("win", "draw", "loss")) if won else ""
            yield f"| {number} | {_mean(seat['return'], 2)} |{rates}"
        yield ""
    if measured["ladder"]:
        yield "## Opponents\n"
        yield from _ladder(measured["ladder"])


def _ladder(rungs: list[dict[str, Any]]) -> Iterator[str]:
    played = [rung for rung in rungs if "refused" not in rung]
    if any("against" in rung for rung in played):
        yield (
            "The score of a match is 1 for a win, 0.5 for a draw and 0 for a loss. With more than two seats it is the "
            "share of the other seats that did worse. Players play all seats, from the same deals.\n"
        )
        yield "| player | score against random | score against the one above | mean return | CPU s per match |"
        yield "|---|---:|---:|---:|---:|"
        for rung in played:
            first, *rest = rung["against"].values()
            below = _mean(rest[0]["score"], 3) if rest else ""
            random = (_mean(first["score"], 3), _mean(first["return"], 2))
            yield f"| `{rung['player']}` | {random[0]} | {below} | {random[1]} | {first['cpu_seconds_a_match']:.3g} |"
    elif played:
        yield "| player | mean return | CPU s per match |\n|---|---:|---:|"
        for rung in played:
            alone = rung["alone"]
            yield f"| `{rung['player']}` | {_mean(alone['return'], 2)} | {alone['cpu_seconds_a_match']:.3g} |"
    yield ""
    for rung in rungs:
        if "refused" in rung:
            yield f"{rung['refused']}\n"
    yield "Measured by `python -m benchmarks.games`, with 95% intervals.\n"


def _mean(interval: list[float], digits: int) -> str:
    value, low, high = interval
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _verbatim(text: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text.strip(chr(10))}\n{fence}\n"
