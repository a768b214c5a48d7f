"""The command `gymposium review`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.progress import Progress, TaskID
from rich.table import Column, Table

from gymposium.analysis.review import (
    ComparedMatch,
    LossSummary,
    LossTally,
    UnjudgeableGame,
    compare_with_teacher,
    compute_agreement,
    get_review_path,
)
from gymposium.analysis.review.match import Drop
from gymposium.analysis.review.update import ReviewedMatches, review_file
from gymposium.cli.executors import AddressOption, ExecutorOption, JobsOption, open_chosen_executor
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import ShowOption, show_match_bar
from gymposium.cli.text import make_stdout_console, print_error, print_note, print_text
from gymposium.errors import BadOption
from gymposium.games.registry import load_named_game
from gymposium.players.distribution import MoveDistribution
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.players.teaching import CachedTeacher, check_teacher_name, check_teaches
from gymposium.records import Record, drop_duplicate_files, find_board_files, find_match_files, replay_decisions
from gymposium.runs.links import check_contained
from gymposium.util.visible import quantity, visible

SHOWN_MOVES = 3
"""Maximum number of a teacher's moves shown per decision."""
LEAST_SHOWN = 0.01
"""Minimum probability of a teacher's move to show it."""


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
    teacher: Annotated[
        str | None,
        typer.Option(metavar="PLAYER", help="Compare the moves with this player's recommendations"),
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

    With --teacher, the table adds the share of each player's moves that are among the teacher's likeliest, and each
    shown move has the teacher's likeliest moves with their probabilities. The teacher sees what the seat saw. Its
    recommendations are not stored.

    Reviews are stored next to the matches, as matches.review.json, and shown by gymposium view and on boards (gymposium
    leaderboard rate). Reviewed matches are not judged again.

    Examples:

        gymposium review gymposium-runs/2026-11-23-run-1
        gymposium review matches.jsonl --judge search-20000 --show 20
        gymposium review matches.jsonl --teacher mcts-1000
        gymposium review boards/quick --jobs 4 --json
    """
    if teacher is not None:
        check_teacher_name("--teacher", teacher)
    player = None if teacher is None else make_player(teacher)
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
    compared = _Compared() if player is None else _ask_teacher(found, player)
    if as_json:
        print_json(_as_data(found, shown, compared))
    else:
        _print_reviews(found, shown, compared)
    if any(one.problems for one in found):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Compared:
    """The recorded decisions with a teacher's recommendations, if there is a teacher."""

    teacher: str | None = None
    files: dict[Path, dict[str, ComparedMatch]] = field(default_factory=dict)

    def compute_agreement(self, files: Sequence[ReviewedMatches]) -> dict[str, float]:
        """Return the agreement of each player in these files with the teacher."""
        matches = [match for one in files for match in self.files.get(one.matches, {}).values()]
        return compute_agreement([decision for match in matches for decision in match.values()])

    def find_recommendation(self, drop: _FoundDrop) -> MoveDistribution | None:
        """Return the teacher's recommendation at this decision, or None without a teacher."""
        if self.teacher is None:
            return None
        decision = drop.drop.decision
        return self.files[drop.matches][drop.record.id][decision.step, decision.seat].recommended


def _ask_teacher(found: Sequence[ReviewedMatches], player: Player) -> _Compared:
    """Ask a teacher about all reviewed matches. Raises `GymposiumError` if it cannot teach one of the games."""
    for game in dict.fromkeys(one.reviews.game for one in found):
        check_teaches(player, load_named_game(game))
    compared, teacher = _Compared(player.name), CachedTeacher(player)
    with show_match_bar() as bar:
        for one in found:
            task = bar.add_task(f"{one.matches.name}, {player.name}", total=len(one.records))
            compared.files[one.matches] = compare_with_teacher(teacher, one.records, partial(bar.advance, task))
            bar.remove_task(task)
    return compared


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


class _FoundDrop(NamedTuple):
    """A decision with a large loss, and its match."""

    matches: Path
    record: Record
    drop: Drop


def _list_largest_drops(files: list[ReviewedMatches], most: int) -> list[_FoundDrop]:
    """Return the decisions with the largest losses, the largest first."""
    every = [
        _FoundDrop(one.matches, record, drop)
        for one in files
        for record in one.records
        for drop in one.reviews.matches[record.id].find_drops(*one.reviews.returns)
    ]
    return sorted(every, key=lambda found: -found.drop.share)[:most]


def _print_reviews(found: list[ReviewedMatches], shown: int, compared: _Compared) -> None:
    console = make_stdout_console()
    for (game, judge), files in _group_by_game(found).items():
        matches = sum(len(one.records) for one in files)
        estimate = "" if files[0].reviews.exact else ", which estimates"
        beside = "" if compared.teacher is None else f", beside {compared.teacher}"
        print_text(
            console,
            f"{game}: {quantity(matches, 'match')}, judged by {judge}{estimate}{beside}",
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
        if compared.teacher is not None:
            table.add_column("agrees", justify="right")
        agreement = compared.compute_agreement(files)
        for lost in _list_losses(files):
            interval = "" if lost.low is None or lost.high is None else f" [{lost.low:.3f}, {lost.high:.3f}]"
            failure = "" if lost.per_failure is None else f"{lost.per_failure:.3f}"
            share = agreement.get(lost.player)
            table.add_row(
                visible(lost.player),
                f"{lost.moves:,}",
                f"{lost.per_move:.3f}{interval}",
                str(lost.failures),
                failure,
                *([] if compared.teacher is None else ["" if share is None else f"{share:.3f}"]),
            )
        console.print(table)
        for one in _list_largest_drops(files, shown):
            advice = compared.find_recommendation(one)
            better = "" if advice is None else f"; {compared.teacher}: {_describe_recommendation(advice)}"
            print_text(console, f"  {_describe_drop(one.record, one.drop)}{better}")
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


def _describe_recommendation(recommended: MoveDistribution) -> str:
    """Return the likeliest moves with their probabilities."""
    moves = sorted(zip(recommended.moves, recommended.probabilities, strict=True), key=lambda move: -move[1])
    return ", ".join(f"{move} {p:.2f}" for move, p in moves[:SHOWN_MOVES] if p >= LEAST_SHOWN) or "no recommendation"


def _as_data(found: list[ReviewedMatches], shown: int, compared: _Compared) -> dict[str, Any]:
    return {
        "games": [
            {
                "game": game,
                "judge": judge,
                "exact": files[0].reviews.exact,
                "table": files[0].reviews.table,
                "teacher": compared.teacher,
                "players": [{**asdict(lost), "agreement": agreement.get(lost.player)} for lost in _list_losses(files)],
                "drops": [
                    {
                        "match": one.record.id,
                        "share": one.drop.share,
                        **one.drop.decision._asdict(),
                        "recommended": None if advice is None else dict(zip(advice.moves, advice.probabilities)),
                    }
                    for one in _list_largest_drops(files, shown)
                    for advice in [compared.find_recommendation(one)]
                ],
            }
            for (game, judge), files in _group_by_game(found).items()
            for agreement in [compared.compute_agreement(files)]
        ],
        "files": [str(get_review_path(one.matches)) for one in found],
        "problems": [f"{one.matches}: {problem}" for one in found for problem in one.problems],
    }
