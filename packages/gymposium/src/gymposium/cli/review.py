"""The command `gymposium review`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress, TaskID
from rich.table import Column, Table

from gymposium.analysis.review import LossSummary, LossTally, ReviewFile, UnjudgeableGame, get_review_path
from gymposium.analysis.review.match import Drop
from gymposium.analysis.review.update import ReviewedMatches, review_file
from gymposium.cli.executors import AddressOption, ExecutorOption, JobsOption, open_chosen_executor
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import ShowOption, show_match_bar
from gymposium.cli.text import make_stdout_console, print_error, print_note, print_text
from gymposium.errors import BadOption
from gymposium.records import Record, drop_duplicate_files, find_board_files, find_match_files, replay_decisions
from gymposium.runs.links import check_contained
from gymposium.util.visible import quantity, visible


def command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            exists=True,
            readable=True,
            help="Record files (.jsonl, .jsonl.gz), folders of runs, or boards.",
        ),
    ],
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="exact|cfr-N|search-N",
            help="Use this judge (default: the first that the game allows)",
        ),
    ] = None,
    shown: ShowOption = 5,
    executor: ExecutorOption = None,
    jobs: JobsOption = None,
    address: AddressOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge each move of recorded matches: how much worse it was than the best one.

    Reviews need two-seat zero-sum games. With perfect information and at most 400,000 positions to come, the judge is
    `exact` (minimax). With hidden information it is `cfr-N` (the best response to a fixed near-equilibrium table). In
    larger games it is `search-N`, which only estimates. A move is judged by what its seat knew.

    A move's loss is a share of the game's range of returns. If a win is +1 and a loss -1, turning a win into a draw
    loses 0.5. An illegal reply loses everything still possible, and is counted separately.

    Reviews are stored next to the matches, as matches.review.json, and shown by gymposium view and on boards (gymposium
    leaderboard rate). Reviewed matches are not judged again.

    Examples:

        gymposium review gymposium-runs/2026-11-23-run-1
        gymposium review matches.jsonl --judge search-20000 --show 20
        gymposium review boards/quick --jobs 4 --json
    """
    found: list[ReviewedMatches] = []
    reasons: set[str] = set()
    with open_chosen_executor(executor, jobs, address) as chosen, show_match_bar() as bar:
        for file in drop_duplicate_files(file for path in paths for file in _find_files(path)):
            task = bar.add_task(file.name, total=None)
            try:
                found.append(
                    review_file(
                        file,
                        judge,
                        chosen,
                        partial(_show_progress, bar, task),
                    )
                )
            except UnjudgeableGame as error:
                if judge is not None or (len(paths) == 1 and not _is_board(paths[0])):
                    raise
                if str(error) not in reasons:
                    print_note(str(error))
                reasons.add(str(error))
            bar.remove_task(task)
    if not found:
        raise BadOption(
            f"{', '.join(map(str, paths))}: no match can be judged. Name matches of zero-sum games with two seats."
        )
    for one in found:
        for problem in one.problems:
            print_error(f"{one.matches}: {problem}")
    if as_json:
        print_json(_as_data(found, shown))
    else:
        _print_reviews(found, shown)
    if any(one.problems for one in found):
        raise typer.Exit(1)


def _show_progress(bar: Progress, task: TaskID, done: int, planned: int) -> None:
    bar.update(task, total=planned, completed=done)


def _is_board(path: Path) -> bool:
    return (path / "suite.toml").is_file()


def _find_files(path: Path) -> list[Path]:
    if _is_board(path):
        check_contained(path, "entries")
        return find_board_files(path)
    check_contained(path, "matches")
    return find_match_files(path)


def _group_by_game(found: list[ReviewedMatches]) -> dict[tuple[str, str], list[ReviewedMatches]]:
    """Group the files by game and judge."""
    groups: defaultdict[tuple[str, str], list[ReviewedMatches]] = defaultdict(list)
    for one in found:
        groups[one.reviews.game, one.reviews.judge].append(one)
    return groups


def _list_losses(files: list[ReviewedMatches]) -> list[LossSummary]:
    """Return each player's losses, the lowest first."""
    tally = LossTally()
    for one in files:
        for record in one.records:
            tally.add(record.players, record.seed, one.reviews.matches[record.id], *one.reviews.returns)
    return tally.players()


def _list_largest_drops(files: list[ReviewedMatches], most: int) -> list[tuple[Record, ReviewFile, Drop]]:
    """Return the decisions with the largest losses, the largest first."""
    every = [
        (record, one.reviews, drop)
        for one in files
        for record in one.records
        for drop in one.reviews.matches[record.id].find_drops(*one.reviews.returns)
    ]
    return sorted(every, key=lambda found: -found[2].share)[:most]


def _print_reviews(found: list[ReviewedMatches], shown: int) -> None:
    console = make_stdout_console()
    for (game, judge), files in _group_by_game(found).items():
        matches = sum(len(one.records) for one in files)
        estimate = "" if files[0].reviews.exact else ", which estimates"
        print_text(
            console,
            f"{game}: {quantity(matches, 'match')}, judged by {judge}{estimate}",
            "bold",
        )
        table = Table(
            Column("player", overflow="fold"),
            Column("moves", justify="right", no_wrap=True),
            Column("lost per move", justify="right", no_wrap=True),
            Column("failures", justify="right"),
            Column("lost each", justify="right"),
            box=None,
        )
        for lost in _list_losses(files):
            interval = "" if lost.low is None or lost.high is None else f" [{lost.low:.3f}, {lost.high:.3f}]"
            failure = "" if lost.per_failure is None else f"{lost.per_failure:.3f}"
            table.add_row(
                visible(lost.player), f"{lost.moves:,}", f"{lost.per_move:.3f}{interval}", str(lost.failures), failure
            )
        console.print(table)
        for record, _, drop in _list_largest_drops(files, shown):
            print_text(console, f"  {_describe_drop(record, drop)}")
        if unjudged := sum(review.unjudged for one in files for review in one.reviews.matches.values()):
            print_note(
                f"{quantity(unjudged, 'decision')} could not be judged: search found no position that "
                "matches what the seat saw."
            )
        print_text(console, "")
    new = sum(one.new for one in found)
    where = (
        str(get_review_path(found[0].matches))
        if len(found) == 1
        else f"{len(found)} files like {get_review_path(found[0].matches)}"
    )
    print_note(f"{quantity(new, 'match')} reviewed now. Saved in {where}")


def _describe_drop(record: Record, drop: Drop) -> str:
    """Describe a costly decision in one line."""
    decision = drop.decision
    step = [*replay_decisions(record, lambda match: None)][decision.step]
    move = step.moves.get(decision.seat)
    did = "made no legal move" if decision.failed else f"played {move}"
    better = f"; better: {decision.best}" if decision.best is not None else ""
    return f"{drop.share:.2f}  {record.id}, step {decision.step}: {record.players[decision.seat]} {did}{better}"


def _as_data(found: list[ReviewedMatches], shown: int) -> dict[str, Any]:
    return {
        "games": [
            {
                "game": game,
                "judge": judge,
                "exact": files[0].reviews.exact,
                "table": files[0].reviews.table,
                "players": [asdict(lost) for lost in _list_losses(files)],
                "drops": [
                    {"match": record.id, "share": drop.share, **drop.decision._asdict()}
                    for record, _, drop in _list_largest_drops(files, shown)
                ],
            }
            for (game, judge), files in _group_by_game(found).items()
        ],
        "files": [str(get_review_path(one.matches)) for one in found],
        "problems": [f"{one.matches}: {problem}" for one in found for problem in one.problems],
    }
