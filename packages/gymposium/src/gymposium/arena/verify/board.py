"""A whole board verified, by as many processes as are wanted."""

from __future__ import annotations

import secrets
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from gymposium.arena.board import Board
from gymposium.arena.entries import Entry
from gymposium.arena.exact_file import exact_path
from gymposium.arena.schedule import lineups
from gymposium.arena.verify.entries import check_entries
from gymposium.arena.verify.exact import check_exact
from gymposium.arena.verify.files import check_files
from gymposium.arena.verify.findings import BoardVerification, Finding, PlayerVerified
from gymposium.arena.verify.lineup import Checked, LineupCheck, check_lineup
from gymposium.arena.verify.no_answer_claims import check_claim
from gymposium.arena.verify.player_pool import PlayerPool
from gymposium.arena.verify.results import check_results
from gymposium.errors import GymposiumError, UnknownName
from gymposium.plugins.host import host
from gymposium.streams import stream

SAMPLE = 8


def verify_board(
    board: Board,
    *,
    only: str | None = None,
    sample: int = SAMPLE,
    rerun: int = 0,
    workers: int = 1,
    seed: int | None = None,
    plugins: Sequence[Path] = (),
    watch: Callable[[int, int], None] = lambda done, planned: None,
) -> BoardVerification:
    """Check everything that can be.

    `only` is the slug of one entry; its matches alone are checked then, and the results are not. Players that search
    are asked again in `sample` matches of each lineup, open-weight models in `rerun`, and claims that somebody did not
    answer are looked at in `sample` matches of each lineup. Which ones is drawn from `seed`, by default from the
    operating system, so that nobody who made the board could know. With one worker everything happens in this process.
    `plugins` are one-file plugins that other processes load. `watch` is told how many matches of how many are done."""
    found = BoardVerification()
    entries, findings = check_entries(board)
    if only is not None and only not in {entry.slug for entry in entries}:
        if not board.entry_file(only).exists():
            raise UnknownName("entry", only, [entry.slug for entry in entries])
        findings = [one for one in findings if one.where.startswith(f"entries/{only}/") or one.where == "entries"]
    found.add(findings)
    checks = [
        LineupCheck(
            lineup,
            {entry.player: entry for entry in entries if entry.player in lineup.players},
            board.path,
            board.matches_file(lineup),
            board.suite.at_once,
            {"slowly": sample, "up_to_rounding": rerun},
            secrets.randbits(48) if seed is None else seed,
        )
        for lineup in lineups(board.suite, entries)
        if only is None or lineup.slugs[-1] == only
    ]
    found.planned = sum(check.lineup.matches for check in checks)
    players = {entry.player: PlayerVerified(entry.player, entry.label, entry.slug, entry.repeats) for entry in entries}
    found.players = [*players.values()]
    crew = _Crew(workers, plugins)
    try:
        results = crew.begin(check_results, board) if only is None else None
        checked: dict[int, Checked] = {}
        for number, one in crew.check(checks):
            checked[number] = one
            watch(sum(done.matches for done in checked.values()), found.planned)
        if results is not None:
            found.results, differing = results()
            found.add(differing)
    except BrokenProcessPool as error:
        raise GymposiumError(
            "A process of the verification ended at once: a player that was asked again took it down. With --jobs 1 "
            "it is seen where."
        ) from error
    finally:
        crew.end()
    for number, check in enumerate(checks):
        _add(found, players, checked[number])
        for match, seat, _ in _claims(check, checked[number], sample, players):
            if how := check_claim(check, match, seat, board.suite.watchdog, plugins):
                found.add([Finding("reply", f"{check.where} (match {match})", how)])
    found.add(_attested(entry for entry in entries if only in (None, entry.slug)))
    found.add(check_files(board, entries, {check.file for check in checks}, only))
    found.notes += _notes(entries, [*checked.values()])
    _check_exact(found, board, [entry for entry in entries if only in (None, entry.slug)], rerun)
    return found


T = TypeVar("T")


class _Crew:
    """Whoever does the work: some processes, or this one."""

    def __init__(self, workers: int, plugins: Sequence[Path]) -> None:
        self._pool: ProcessPoolExecutor | None = None
        if workers > 1:
            context = get_context("spawn")  # a fork of a process with threads, or with torch, is not sound
            self._pool = ProcessPoolExecutor(workers, context, _begin, ([*plugins],))

    def begin(self, work: Callable[[Board], T], board: Board) -> Callable[[], T]:
        """Have something done; what is returned waits for it."""
        return partial(work, board) if self._pool is None else self._pool.submit(work, board).result

    def check(self, checks: Sequence[LineupCheck]) -> Iterator[tuple[int, Checked]]:
        """Verify these lineups; each comes with its number as soon as it is done."""
        if self._pool is None:
            pool = PlayerPool()
            yield from ((number, check_lineup(check, pool)) for number, check in enumerate(checks))
            return
        # players mostly stand from the weakest to the strongest: what takes longest begins first
        numbers = {self._pool.submit(_check, check): number for number, check in reversed([*enumerate(checks)])}
        for done in as_completed(numbers):
            yield numbers[done], done.result()

    def end(self) -> None:
        """Nothing more is begun."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _begin(plugins: Sequence[Path]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever waits gets it as well, and ends this process
    for file in plugins:
        host().load_file(file)


def _check(check: LineupCheck) -> Checked:
    return check_lineup(check, _pool())


@cache
def _pool() -> PlayerPool:
    """The players of a worker process."""
    return PlayerPool()


def _add(found: BoardVerification, players: Mapping[str, PlayerVerified], checked: Checked) -> None:
    found.matches += checked.matches
    found.broken += checked.broken
    found.add(checked.findings)
    for name in {*checked.replies, *checked.asked, *checked.on_their_word}:
        player = players[name]
        player.replies += checked.replies[name]
        player.asked += checked.asked[name]
        player.same += checked.same[name]
        player.on_its_word += checked.on_their_word[name]
    for name, why in checked.why_not.items():
        players[name].why_not = why


def _claims(
    check: LineupCheck, checked: Checked, sample: int, players: Mapping[str, PlayerVerified]
) -> Sequence[tuple[str, int, str]]:
    """Those that are looked at; the others stand on somebody's word."""
    claims = checked.claims
    chosen = stream(check.seed, "claims", check.lineup.id).sample(claims, min(sample, len(claims)))
    for claim in claims:
        players[claim[2]].on_its_word += claim not in chosen
    return chosen


def _attested(entries: Iterable[Entry]) -> list[Finding]:
    """What is wrong with entries whose replies are said to stand on somebody's word. Their players are not asked again,
    but made, where that needs no permission: one that could be asked must not say otherwise."""
    pool = PlayerPool()
    for entry in entries:
        if entry.repeats is None:
            pool.seat(entry, asked=True)
    return pool.findings


def _notes(entries: Sequence[Entry], checked: Sequence[Checked]) -> list[str]:
    notes = [f"{entry.player} has not been played yet." for entry in entries if entry.seed is None]
    others = sum((one.other_versions for one in checked), Counter[str]())
    notes += [f"{count} matches were played with {what}, which it was entered with." for what, count in others.items()]
    return notes


def _check_exact(found: BoardVerification, board: Board, entries: Sequence[Entry], rerun: int) -> None:
    """Measure again what stands beside entries, as far as their players can be asked at all."""
    pool = PlayerPool()
    for entry in entries:
        if not exact_path(board, entry).exists():
            continue
        again, findings = False, list[Finding]()
        if entry.repeats in ("quickly", "slowly") or (entry.repeats == "up_to_rounding" and rerun):
            again, findings = check_exact(board, entry, pool)
        found.add([*findings, *pool.findings])
        if not again and not findings:
            found.notes.append(f"The exact figures of {entry.player} were not measured again: they are its word.")
