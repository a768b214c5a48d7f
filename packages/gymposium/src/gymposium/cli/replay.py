"""The command `gymposium replay`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import format_return, make_stdout_console, print_error, print_text
from gymposium.errors import BadOption, describe_error
from gymposium.games.protocol import CHANCE
from gymposium.games.registry import needs_isolation
from gymposium.match import Turn
from gymposium.match.ending import OVER
from gymposium.records import (
    Problem,
    Record,
    find_match_files,
    load_record_game,
    make_no_records_problem,
    read_records,
    replay_decisions,
)
from gymposium.util.isolated import call_isolated


@dataclass(slots=True)
class ReplayedMatch:
    """A recorded match, replayed for printing."""

    steps: list[ReplayedStep]
    ends: list[str]
    """Each seat's view of the end of the match."""
    over: bool
    """True if the match was finished."""
    has_tools: bool
    """True in a game whose moves are tool calls."""


@dataclass(slots=True)
class ReplayedStep:
    """One event in a match, or the failed decision that ended it. Then `move` is None."""

    seat: int
    move: str | None
    position: str = ""
    """The seat's view of the position before its move; empty for chance."""
    turns: list[Turn] = field(default_factory=list)
    opening: bool = False
    """True if the move was drawn for the random opening."""


def command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", exists=True, readable=True, help="A record file (.jsonl, .jsonl.gz), or a run's folder."
        ),
    ],
    match: Annotated[
        str | None, typer.Option(metavar="ID|N", help="Show only the match with this id, or the N-th match")
    ] = None,
    seat: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Show only this seat (default: all seats and chance)")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show recorded matches move by move: each seat's position, replies and move.

    A rejected reply is labeled illegal, unparsable or cut off. Incomplete or invalid lines, and matches that cannot be
    replayed, are listed on stderr. The exit code is 1 if a selected match cannot be replayed, or if the file has no
    records.

    A game that imports a module or opens a file needs your permission: gymposium --allow NAME replay PATH.

    Examples:

        gymposium replay gymposium-runs/2026-11-23-run-1 --match 1
        gymposium replay matches.jsonl --match run-5a0c9b21-17 --seat 1
        gymposium replay matches.jsonl --json
    """
    items = [item for path in find_match_files(file) for _, item in read_records(path)]
    records = [item for item in items if isinstance(item, Record)]
    problems = [item for item in items if isinstance(item, Problem)]
    if not records:
        print_error(str(make_no_records_problem(file, problems)))
        raise typer.Exit(1)
    for problem in problems:
        print_error(str(problem))
    shown, failed = [], []
    for record in _select(records, match, file):
        if seat is not None and seat >= len(record.players):
            raise BadOption(
                f"--seat {seat}: match {record.id} has seats 0 to {len(record.players) - 1}. Choose one of them."
            )
        try:
            played = call_isolated(_replay, record) if needs_isolation(record.game) else _replay(record)
        except Exception as error:  # noqa: BLE001 - an engine may raise anything at an unknown record
            failed.append(Problem(f"Match {record.id}", f"cannot be replayed: {describe_error(error)}"))
            print_error(str(failed[-1]))
            continue
        if as_json:
            shown.append(_as_data(record, played, seat))
        else:
            _print_match(record, played, seat)
    if as_json:
        print_json({"matches": shown, "problems": [asdict(problem) for problem in (*problems, *failed)]})
    if failed:
        raise typer.Exit(1)


def _select(records: list[Record], match: str | None, file: Path) -> list[Record]:
    if match is None:
        return records
    named = [record for record in records if record.id == match]
    if any(record != named[0] for record in named):
        places = ", ".join(str(n) for n, record in enumerate(records, start=1) if record.id == match)
        raise BadOption(f"--match {match}: {len(named)} matches in {file} have this id. Use a number: {places}.")
    if not named and match.isdecimal() and 1 <= int(match) <= len(records):
        named = [records[int(match) - 1]]
    if not named:
        raise BadOption(
            f"--match {match}: {file} has no such match. It has {len(records)}, numbered from 1; the last is "
            f"{records[-1].id}."
        )
    return named[:1]


def _replay(record: Record) -> ReplayedMatch:
    steps: list[ReplayedStep] = []
    decisions = [
        *replay_decisions(record, lambda match: [match.observe(seat).text for seat in range(match.game.seats)])
    ]
    for decision in decisions:
        steps += [ReplayedStep(CHANCE, outcome) for outcome in decision.chance]
        for seat in decision.seats:
            move, turns = decision.moves.get(seat), [reply.turn for reply in decision.replies.get(seat, ())]
            if move is not None or turns:
                steps.append(ReplayedStep(seat, move, decision.seen[seat], turns, decision.opening))
    has_tools = bool(load_record_game(record).spec.tools)
    return ReplayedMatch(steps, decisions[-1].seen, not decisions[-1].seats, has_tools)


def _as_data(record: Record, played: ReplayedMatch, only: int | None) -> dict[str, Any]:
    seats = range(len(record.players)) if only is None else (only,)
    return {
        "id": record.id,
        "game": record.game,
        "players": record.players,
        "seed": record.seed,
        "steps": [
            {
                "seat": None if step.seat == CHANCE else step.seat,
                "move": step.move,
                "position": step.position or None,
                "opening": step.opening,
                "replies": [_get_reply_data(turn) for turn in step.turns],
            }
            for step in played.steps
            if only is None or step.seat == only
        ],
        "end": {str(seat): played.ends[seat] for seat in seats} if played.over else None,
        "ending": asdict(record.ending),
        "penalties": record.penalties,
        "returns": record.returns,
        "results": record.results,
        "reports": record.reports,
    }


def _get_reply_data(turn: Turn) -> dict[str, Any]:
    repaired = {"repaired": list(turn.repaired)} if turn.repaired else {}
    return {"reading": turn.reading, "text": turn.text, **repaired}


def _print_match(record: Record, played: ReplayedMatch, only: int | None) -> None:
    console = make_stdout_console()

    def say(text: str, style: str | None = None) -> None:
        print_text(console, text, style)

    names = ", ".join(f"seat {seat} {name}" for seat, name in enumerate(record.players))
    say(f"Match {record.id}: {record.game}, {names}, seed {record.seed}", "bold")
    for at, step in enumerate(played.steps):
        if only is not None and step.seat != only:
            continue
        if step.seat == CHANCE:
            if not played.has_tools:
                say(f"chance: {step.move}", "dim")
            elif at == 0:  # later tool results are shown as the seat's next view
                say(f"task: {step.move}", "dim")
            continue
        say(f"\nSeat {step.seat} sees:")
        say(step.position.rstrip("\n"), "dim")
        for turn in step.turns:
            if turn.reading != "move":
                say(f"Seat {step.seat} replies {turn.text!r}: {turn.reading}.", "red")
            elif turn.text != step.move:
                repaired = f" Repaired: {', '.join(turn.repaired)}." if turn.repaired else ""
                say(f"Seat {step.seat} replies {turn.text!r}.{repaired}")
        if step.opening:
            say(f"Opening, drawn at random: {step.move}", "cyan")
        elif step.move is not None:
            say(f"Seat {step.seat} ({record.players[step.seat]}) moves: {step.move}", "cyan")
    say("")
    if record.ending != OVER:
        say(record.ending.describe(lambda seat: f"Seat {seat} ({record.players[seat]})", record.cut_off), "red")
    else:
        seats = range(len(record.players)) if only is None else (only,)
        for seat in seats:
            say(f"At the end seat {seat} sees:")
            say(played.ends[seat].rstrip("\n"), "dim")
    for payer, cost in record.penalties.items():
        say(f"Seat {payer} paid {cost:g} in penalties.")
    for seat, (result, value) in enumerate(zip(record.results, record.returns, strict=True)):
        reports = record.reports[seat] if record.reports else {}
        more = "".join(f", {name.replace('_', ' ')} {figure:g}" for name, figure in reports.items())
        say(f"seat {seat} {record.players[seat]}: {result}, {format_return(value)}{more}")
    say("")
