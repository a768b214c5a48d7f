"""`gymposium leaderboard verify`."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from gymposium.arena.results import words
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import match_bar
from gymposium.cli.resume import plugin_files
from gymposium.cli.text import note, out
from gymposium.extras import needs_extra
from gymposium.visible import visible

if TYPE_CHECKING:
    from gymposium.arena.suite import Suite
    from gymposium.arena.verify import BoardVerification

_SHOWN = 12
"""Findings of each kind that are printed."""


def _print_schema(wanted: bool) -> None:
    if not wanted:
        return
    with needs_extra("Verifying", "arena", "pydantic"):
        from gymposium.arena.entries import Entry
    print(json.dumps(Entry.model_json_schema(), indent=2))
    raise typer.Exit


def verify(
    board: Annotated[Path, typer.Argument(metavar="BOARD", help="A board's directory, as leaderboard run makes it.")],
    entry: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Only the matches of this entry, by the name of its folder.")
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            min=0,
            metavar="N",
            help="In how many matches of each lineup players that search are asked again (8 by default).",
        ),
    ] = None,
    rerun: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="In how many matches of each lineup open-weight models are asked again."),
    ] = 0,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, help="Worker processes; as many as there are cores by default.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="What samples are drawn from. From the operating system where it is left out."),
    ] = None,
    as_json: JsonOption = False,
    schema: Annotated[
        bool,
        typer.Option("--schema", is_eager=True, callback=_print_schema, help="Print the JSON schema of entry.json."),
    ] = False,
) -> None:
    """Check a board: does everything on it follow from its suite, its entries and their seeds?

    Every match is played again along its record: whatever does not follow from the rules, the seeds and the replies is
    named, with its file and line. The matches must be those of the schedule, each once and none besides, with the
    players, seats, seeds and openings that follow from suite and entries. Entries must be what they were when they were
    made, weights included where they lie here. results.json is made again and every figure compared.

    Players whose moves follow from their seeds are asked again. Random play, rules of thumb and solvers in every match;
    search in a sample, drawn anew each time; open-weight models with --rerun, where a difference may also come from
    rounding on another machine. Claims that one of them did not answer are looked at in a process of their own. What
    nobody can ask for again, the replies of a model behind a service, say, is called attested: it fits the rules, but
    stands on the word of whoever let it play. Players that open files or servers (lm:, sb3:) are asked only where you
    allow it: gymposium --allow 'lm:*' leaderboard verify BOARD.

    Ends with 0 where all agrees, else 1.

    Examples:

        gymposium leaderboard verify boards/quick
        gymposium leaderboard verify boards/quick --sample 80 --jobs 8
        gymposium leaderboard verify boards/quick --entry mcts-1000
        gymposium leaderboard verify boards/classic --rerun 2
        gymposium leaderboard verify boards/quick --json > verified.json
    """
    with needs_extra("Verifying", "arena", "pydantic"):
        from gymposium.arena.board import Board
        from gymposium.arena.verify import verify_board
        from gymposium.arena.verify.board import SAMPLE

    opened = Board(board)
    with match_bar() as bar:
        task = bar.add_task(opened.suite.name, total=None)
        found = verify_board(
            opened,
            only=entry,
            sample=SAMPLE if sample is None else sample,
            rerun=rerun,
            workers=jobs or os.cpu_count() or 1,
            seed=seed,
            plugins=plugin_files(),
            watch=lambda done, planned: bar.update(task, total=planned, completed=done),
        )
    if as_json:
        print_json(_as_data(opened.suite, found))
    else:
        _print(opened.suite, found)
    if found.findings:
        raise typer.Exit(1)


def _print(suite: Suite, found: BoardVerification) -> None:
    console = out()
    console.print(visible(f"{suite.title or suite.name} (suite {suite.digest})"), soft_wrap=True)
    table = Table(box=None)
    for head in ("player", "replies", "asked again", "the same", ""):
        table.add_column(head, justify="left" if head in ("player", "") else "right")
    names = words.names({player.player: player.label for player in found.players})
    for player in found.players:
        word = f"; {player.on_its_word} failures on its word" if player.on_its_word else ""
        table.add_row(
            visible(names[player.player]),
            str(player.replies),
            str(player.asked),
            str(player.same),
            visible(player.behind() + word),
        )
    console.print(table)
    for about, count in Counter(one.about for one in found.findings).items():
        for one in [one for one in found.findings if one.about == about][:_SHOWN]:
            console.print(visible(str(one)), style="red", soft_wrap=True)
        if count > _SHOWN:
            console.print(f"… and {count - _SHOWN} more like that (--json has all)", style="red")
    for told in found.notes:
        note(told)
    results = {
        "agree": "results.json follows from them",
        "differ": "results.json does not follow from them",
        "absent": "there is no results.json (gymposium leaderboard rate makes it)",
        "not compared": "results.json was not compared",
    }[found.results]
    broken = f", {found.broken} more broke off" if found.broken else ""
    bad = len(found.findings)
    verdict = "all agrees" if not bad else f"{bad} {'thing does' if bad == 1 else 'things do'} not agree"
    console.print(
        f"{found.matches} of {found.planned} matches played again{broken}; {results}; {verdict}.", soft_wrap=True
    )


def _as_data(suite: Suite, found: BoardVerification) -> dict[str, Any]:
    return {
        "suite": suite.name,
        "digest": suite.digest,
        "matches": {"planned": found.planned, "played_again": found.matches, "broke_off": found.broken},
        "players": [
            {
                "player": one.player,
                "slug": one.slug,
                "replies": one.replies,
                "asked": one.asked,
                "same": one.same,
                "failures_on_its_word": one.on_its_word,
                "evidence": one.behind(),
            }
            for one in found.players
        ],
        "results": found.results,
        "problems": [{"about": one.about, "where": one.where, "what": one.what} for one in found.findings],
        "notes": found.notes,
    }
