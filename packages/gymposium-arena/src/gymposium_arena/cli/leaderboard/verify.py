"""The command `gymposium leaderboard verify`."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from gymposium.cli.executors import AddressOption, ExecutorOption, JobsOption, open_chosen_executor
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import show_match_bar
from gymposium.cli.text import make_stdout_console, print_error, print_note
from gymposium.util.visible import quantity, visible
from gymposium_arena.results import words
from gymposium_arena.results.file import rate_command

if TYPE_CHECKING:
    from gymposium_arena.suite import Suite
    from gymposium_arena.verify import BoardVerification

_MAX_SHOWN = 12
"""Maximum number of printed findings per kind."""


def _print_schema(wanted: bool) -> None:
    if not wanted:
        return
    from gymposium_arena.entries import Entry

    print(json.dumps(Entry.model_json_schema(), indent=2))
    raise typer.Exit


def verify(
    board: Annotated[Path, typer.Argument(metavar="BOARD", help="The board's folder, made by leaderboard run")],
    entry: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Check only this entry's matches, named by its folder")
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            min=0,
            metavar="N",
            help="Rerun search players in this many matches per lineup; default: 8",
        ),
    ] = None,
    rerun: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Rerun open-weight models in this many matches per lineup"),
    ] = 0,
    executor: ExecutorOption = None,
    jobs: JobsOption = None,
    address: AddressOption = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Set the seed of the samples; default: drawn from the operating system"),
    ] = None,
    as_json: JsonOption = False,
    schema: Annotated[
        bool,
        typer.Option("--schema", is_eager=True, callback=_print_schema, help="Print the JSON schema of entry.json"),
    ] = False,
) -> None:
    """Verify that a board follows from its suite, entries and seeds.

    Every match is replayed with its recorded replies, and mismatches are reported with file and line. The matches must
    be those of the schedule, with the players, seats, seeds and openings from the suite and the entries. Entries must
    be unchanged, including weights on this machine. results.json is recomputed and compared.

    Players whose moves follow from their seeds are rerun: random play, heuristics and solvers in every match, search
    in a random sample, and open-weight models with --rerun. Models may also differ by rounding on another machine.
    Claims that such a player did not answer are checked in separate processes. Replies that cannot be repeated, such
    as those of a hosted model, are attested: only the person who ran the player vouches for them. Players that open
    files or servers (lm:, sb3:) are rerun only if you allow it: gymposium --allow 'lm:*' leaderboard verify BOARD.

    The exit code is 0 if everything matches, else 1. A board that plans no match gives 1.

    Examples:

        gymposium leaderboard verify boards/quick
        gymposium leaderboard verify boards/quick --sample 80 --jobs 8
        gymposium leaderboard verify boards/quick --entry mcts-1000
        gymposium leaderboard verify boards/classic --rerun 2
        gymposium leaderboard verify boards/quick --json > verified.json
    """
    from gymposium_arena.board import Board
    from gymposium_arena.verify import verify_board
    from gymposium_arena.verify.board import SAMPLE

    opened = Board(board)
    with open_chosen_executor(executor, jobs, address) as chosen, show_match_bar() as bar:
        task = bar.add_task(opened.suite.name, total=None)
        verification = verify_board(
            opened,
            only=entry,
            sample=SAMPLE if sample is None else sample,
            rerun=rerun,
            executor=chosen,
            seed=seed,
            watch=lambda done, planned: bar.update(task, total=planned, completed=done),
        )
    if as_json:
        print_json(_to_json(opened.suite, verification))
    else:
        _print_verification(opened.suite, verification)
    if verification.results == "absent":
        print_note(f"To make results.json:  {rate_command(opened.path)}")
    if verification.findings:
        raise typer.Exit(1)
    if entry is None and not verification.planned:  # an entry may have no match: the later player holds them
        print_error(
            f"{opened.path}: the suite and the entries plan no match. Add players with: gymposium leaderboard run --add"
        )
        raise typer.Exit(1)


def _print_verification(suite: Suite, verification: BoardVerification) -> None:
    console = make_stdout_console()
    console.print(visible(f"{suite.title or suite.name} (suite {suite.digest})"), soft_wrap=True)
    table = Table(box=None)
    for head in ("player", "replies", "asked again", "the same", ""):
        table.add_column(head, justify="left" if head in ("player", "") else "right")
    names = words.make_display_names({player.player: player.label for player in verification.players})
    for player in verification.players:
        ties = f"; {player.tied} {'tie' if player.tied == 1 else 'ties'}" if player.tied else ""
        attested = (
            f"; {quantity(player.unchecked_failures, 'failure')} not checked" if player.unchecked_failures else ""
        )
        table.add_row(
            visible(names[player.player]),
            str(player.replies),
            str(player.asked),
            str(player.same),
            visible(player.describe_evidence() + ties + attested),
        )
    console.print(table)
    for about, count in Counter(finding.about for finding in verification.findings).items():
        for finding in [finding for finding in verification.findings if finding.about == about][:_MAX_SHOWN]:
            console.print(visible(str(finding)), style="red", soft_wrap=True)
        if count > _MAX_SHOWN:
            console.print(f"… and {count - _MAX_SHOWN} more of this kind (--json prints all)", style="red")
    for remark in verification.notes:
        print_note(remark)
    results = {
        "agree": "results.json follows from them",
        "differ": "results.json does not follow from them",
        "absent": "there is no results.json",
        "not compared": "results.json was not compared",
    }[verification.results]
    played = f"{verification.matches} of {quantity(verification.planned, 'match')} replayed"
    broken = f", {verification.broken} more broke off" if verification.broken else ""
    bad = len(verification.findings)
    agreed = "no mismatches" if verification.matches else "no match to verify"
    verdict = agreed if not bad else f"{bad} {'mismatch' if bad == 1 else 'mismatches'}"
    console.print(f"{played}{broken}; {results}; {verdict}.", soft_wrap=True)


def _to_json(suite: Suite, verification: BoardVerification) -> dict[str, Any]:
    return {
        "suite": suite.name,
        "digest": suite.digest,
        "matches": {
            "planned": verification.planned,
            "played_again": verification.matches,
            "broke_off": verification.broken,
        },
        "players": [
            {
                "player": player.player,
                "slug": player.slug,
                "replies": player.replies,
                "asked": player.asked,
                "same": player.same,
                "tied": player.tied,
                "failures_on_its_word": player.unchecked_failures,
                "evidence": player.describe_evidence(),
            }
            for player in verification.players
        ],
        "results": verification.results,
        "problems": [asdict(finding) for finding in verification.findings],
        "notes": verification.notes,
    }
