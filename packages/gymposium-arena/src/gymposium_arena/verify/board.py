"""Verify a whole board with an executor."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from os.path import realpath
from pathlib import Path

from gymposium.analysis.review import get_review_path
from gymposium.errors import UnknownName, describe_cause
from gymposium.runs.executors.protocol import Executor
from gymposium.runs.executors.starting import delay_ctrl_c, init_worker
from gymposium.util.child_process import spawn_context
from gymposium.util.plain_file import read_content
from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_arena.board import SITE, Board
from gymposium_arena.entries import Entry
from gymposium_arena.schedule import make_lineups
from gymposium_arena.verify.derived import check_exact, check_results, check_reviews
from gymposium_arena.verify.entries import check_entries
from gymposium_arena.verify.files import check_files
from gymposium_arena.verify.findings import BoardVerification, Finding, PlayerVerification, ResultsState
from gymposium_arena.verify.lineup import LineupCheck, LineupVerification, check_lineup
from gymposium_arena.verify.no_answer_claims import check_claim
from gymposium_arena.verify.replay import PlayerPool
from gymposium_arena.yardsticks import exact_path

SAMPLE = 8
"""Default number of matches per lineup for rerunning search players."""


def verify_board(
    board: Board,
    *,
    only: str | None = None,
    sample: int = SAMPLE,
    rerun: int = 0,
    executor: Executor | None = None,
    seed: int | None = None,
    watch: Callable[[int, int], None] = lambda done, planned: None,
) -> BoardVerification:
    """Verify a board.

    With `only`, an entry's slug, only this entry's matches are checked, and no results. Search players are rerun in
    `sample` matches per lineup, open-weight models in `rerun`. Claims that a player did not answer are checked in
    `sample` matches per lineup. `seed` draws these matches; by default it comes from the operating system, so the
    board's author cannot predict them. `executor` replays the lineups, by default in this process. `watch` is called
    with the numbers of checked and planned matches."""
    entries, findings = check_entries(board)
    if only is not None and only not in {entry.slug for entry in entries}:
        if not board.entry_file(only).exists():
            raise UnknownName("entry", only, [entry.slug for entry in entries])
        findings = [one for one in findings if one.where.startswith(f"entries/{only}/") or one.where == "entries"]
    checks = [
        LineupCheck(
            lineup,
            {entry.player: entry for entry in entries if entry.player in lineup.players},
            str(board.matches_file(lineup).relative_to(board.path)),
            {"slowly": sample, "up_to_rounding": rerun},
            secrets.randbits(48) if seed is None else seed,
        )
        for lineup in make_lineups(board.suite, entries)
        if only is None or lineup.slugs[-1] == only
    ]
    verification = BoardVerification(planned=sum(check.lineup.matches for check in checks))
    verification.add(findings)
    checked: dict[int, LineupVerification] = {}
    with ExitStack() as stack:
        results: Callable[[], tuple[ResultsState, list[Finding]]] = partial(check_results, board)
        if executor is not None and only is None:
            beside = stack.enter_context(ProcessPoolExecutor(1, spawn_context(), init_worker))
            with delay_ctrl_c():
                results = beside.submit(check_results, board).result
        for number, one in _check_lineups(board, checks, executor):
            checked[number] = one
            watch(sum(done.matches for done in checked.values()), verification.planned)
        if only is None:
            verification.results, differing = results()
            verification.add(differing)
    total = LineupVerification()
    for number, check in enumerate(checks):
        total.add(checked[number])
        verification.add(checked[number].findings)
        claims = checked[number].no_answer_claims
        chosen = stream(check.seed, "claims", check.lineup.id).sample(claims, min(sample, len(claims)))
        total.unchecked_failures.update(player for match, seat, player in claims if (match, seat, player) not in chosen)
        for match, seat, _ in chosen:
            if how := check_claim(_read_content(board, check), match, seat):
                verification.add([Finding("reply", f"{check.where} (match {match})", how)])
    verification.matches, verification.broken = total.matches, total.broken
    verification.players = [
        PlayerVerification(
            entry.player,
            entry.label,
            entry.slug,
            entry.repeats,
            replies=total.replies[entry.player],
            asked=total.asked[entry.player],
            same=total.same[entry.player],
            tied=total.tied[entry.player],
            unchecked_failures=total.unchecked_failures[entry.player],
            why_not=total.why_not.get(entry.player, ""),
        )
        for entry in entries
    ]
    verification.notes += [f"{entry.player} has not been played yet." for entry in entries if entry.seed is None]
    verification.notes += [
        f"{quantity(count, 'match was', 'matches were')} played with {versions}, the version at entry."
        for versions, count in total.other_versions.items()
    ]
    if only is None and (board.path / SITE).is_dir():
        verification.notes.append(f"The pages in {SITE}/ are not checked. Build them again from this board.")
    affected = [entry for entry in entries if only in (None, entry.slug)]
    verification.add(_check_attested(affected))
    verification.add(check_files(board, entries, {board.path / check.where for check in checks}, only))
    _check_exact(verification, board, affected, rerun)
    for check in checks:
        if get_review_path(board.path / check.where).exists():
            verification.add(check_reviews(board, board.path / check.where, sample, check.seed))
    return verification


def _check_lineups(
    board: Board, checks: Sequence[LineupCheck], executor: Executor | None
) -> Iterator[tuple[int, LineupVerification]]:
    """Verify lineups and yield each finished result with its lineup's index."""
    if executor is None:
        players = PlayerPool()
        yield from ((number, check_lineup(_read_content(board, check), players)) for number, check in enumerate(checks))
        return
    # start with the slowest lineups, since players are usually listed from weak to strong
    last = len(checks) - 1
    for place, one in executor.map(_check_in_worker, (_read_content(board, check) for check in reversed(checks))):
        yield last - place, one


_MAX_BYTES = 2**30
"""Maximum unpacked size of a match file."""


def _read_content(board: Board, check: LineupCheck) -> LineupCheck:
    """Return the check with its file's content. Returns it unchanged if the file is missing or behind a link."""
    file = board.path / check.where
    if not (file.is_file() and Path(realpath(file)) == Path(realpath(board.path)) / check.where):
        return check
    try:
        return replace(check, content=read_content(file, _MAX_BYTES))
    except OSError as error:
        return replace(check, unreadable=describe_cause(error))


def _check_in_worker(check: LineupCheck) -> LineupVerification:
    return check_lineup(check, _get_player_pool())


@cache
def _get_player_pool() -> PlayerPool:
    """Return this process's player pool."""
    return PlayerPool()


def _check_attested(entries: Sequence[Entry]) -> list[Finding]:
    """Return findings about attested entries: a player that could be rerun must not be entered as attested.

    Their players are created if that needs no permission, but they are not asked."""
    pool = PlayerPool()
    for entry in entries:
        if entry.repeats is None:
            pool.seat(entry, asked=True)
    return pool.findings


def _check_exact(verification: BoardVerification, board: Board, entries: Sequence[Entry], rerun: int) -> None:
    """Check the `exact.json` files of players that can be rerun."""
    pool = PlayerPool()
    for entry in entries:
        if not exact_path(board, entry).exists():
            continue
        again, findings = False, list[Finding]()
        if entry.repeats in ("quickly", "slowly") or (entry.repeats == "up_to_rounding" and rerun):
            again, findings = check_exact(board, entry, pool)
        verification.add([*findings, *pool.findings])
        if not again and not findings:
            verification.notes.append(f"The exact figures of {entry.player} were not measured again.")
