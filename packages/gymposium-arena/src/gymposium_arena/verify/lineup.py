"""Verify a lineup's match file: it must hold each scheduled match once, and they must replay as recorded."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any

from gymposium.errors import BadRecord
from gymposium.match import MatchJob, play
from gymposium.players.protocol import Repeats
from gymposium.records import Problem, Record, Script, compare_records, list_unanswered, parse_records
from gymposium.util.streams import stream
from gymposium.util.visible import plural
from gymposium_arena.entries import Entry
from gymposium_arena.schedule import Lineup, make_job_factory
from gymposium_arena.verify.findings import Finding
from gymposium_arena.verify.replay import PlayerPool, RecordedPlayer, RerunScripts, needs_process

MAX_FINDINGS = 1000
"""After this many problems in a file, the rest is not checked."""
_MAX_NAMED = 3
"""Maximum number of missing matches that are named."""


@dataclass(frozen=True, slots=True)
class LineupCheck:
    """A lineup to verify."""

    lineup: Lineup
    entries: Mapping[str, Entry]
    """The lineup's entries by player."""
    where: str
    """The lineup's match file, relative to the board's folder."""
    samples: Mapping[Repeats, int]
    """Number of matches for rerunning players that repeat `slowly` or `up_to_rounding`."""
    seed: int
    """The seed that draws the matches to rerun."""
    content: bytes = b""
    """The file's content; empty if the file is missing."""
    unreadable: str = ""
    """Why the file cannot be read; empty if it can be."""

    def records(self) -> Iterator[tuple[int, Record | Problem]]:
        """Yield the lines of the file like `read_records`."""
        text = io.TextIOWrapper(io.BytesIO(self.content), encoding="utf-8", errors="replace")
        return parse_records(text, self.where)


@dataclass(slots=True)
class LineupVerification:
    """The verification of one or more match files. Counters are by player, as in `PlayerVerification`."""

    matches: int = 0
    """Number of scheduled matches with a result."""
    broken: int = 0
    """Number of matches that broke off."""
    findings: list[Finding] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    tied: Counter[str] = field(default_factory=Counter)
    unchecked_failures: Counter[str] = field(default_factory=Counter)
    why_not: dict[str, str] = field(default_factory=dict)
    no_answer_claims: list[tuple[str, int, str]] = field(default_factory=list)
    """Match, seat and player of claims that a player did not answer. Only a separate process can check these claims."""
    other_versions: Counter[str] = field(default_factory=Counter)
    """Number of matches played with other software versions than in the last player's entry, by versions."""

    def add(self, other: LineupVerification) -> None:
        """Add another verification's figures, without its findings and claims."""
        self.matches += other.matches
        self.broken += other.broken
        self.replies.update(other.replies)
        self.asked.update(other.asked)
        self.same.update(other.same)
        self.tied.update(other.tied)
        self.unchecked_failures.update(other.unchecked_failures)
        self.why_not.update(other.why_not)
        self.other_versions.update(other.other_versions)


def check_lineup(check: LineupCheck, pool: PlayerPool) -> LineupVerification:
    """Verify a lineup's matches with the players in `pool`."""
    result = LineupVerification()
    planned = make_job_finder(check, pool)
    matches = _find_matches(check, planned, result)
    result.matches = len(matches)
    selection = _RerunSelection(check, pool)
    scripts = RerunScripts({name: Script(record) for name, (_, record) in matches.items()})
    ready = (replace(job, players=selection.seat_players(job)) for job in map(planned, matches) if job is not None)
    for played in play(ready, at_once=check.lineup.suite.at_once, guard=scripts):
        where, record = matches[played.job.id]
        if why := compare_records(record, Record.from_match(played)):
            result.findings.append(Finding("record", where, why))
        for seat in range(len(record.players)):
            if how := scripts.differences.get((record.id, seat)):
                result.findings.append(Finding("reply", where, how))
        _count_replies(record, selection, result)
    result.asked, result.same, result.tied = scripts.asked, scripts.same, scripts.tied
    result.why_not = {**pool.why_not, **scripts.unreachable}
    result.findings += pool.findings
    return result


def make_job_finder(check: LineupCheck, pool: PlayerPool) -> Callable[[str], MatchJob | None]:
    """Return a function that maps a match id to the scheduled match, or to None. The match's players are recorded and
    not rerun."""
    seats = [pool.seat(check.entries[player], asked=False) for player in check.lineup.players]
    job, numbers = make_job_factory(check.lineup, seats), check.lineup.numbers()

    def find_job(match_id: str) -> MatchJob | None:
        number = numbers.get(match_id)
        return None if number is None else job(number)

    return find_job


class _RerunSelection:
    """The players to rerun in each match."""

    def __init__(self, check: LineupCheck, pool: PlayerPool) -> None:
        self._entries, self._pool = check.entries, pool
        numbers = range(check.lineup.matches)
        self._chosen = {
            repeats: frozenset(
                map(
                    check.lineup.match_id,
                    stream(check.seed, repeats, check.lineup.id).sample(numbers, min(count, len(numbers))),
                )
            )
            for repeats, count in check.samples.items()
        }

    def seat_players(self, job: MatchJob) -> list[RecordedPlayer]:
        """Return a match's recorded players, including those to rerun."""
        return [
            self._pool.seat(self._entries[player.name], asked=self.is_selected(job.id, player.name))
            for player in job.players
        ]

    def is_selected(self, match: str, player: str) -> bool:
        """Return whether to rerun a player in a match, if it can be created."""
        repeats = self._entries[player].repeats
        return repeats == "quickly" or (repeats is not None and match in self._chosen[repeats])

    def can_ask(self, player: str) -> bool:
        """Return whether a player could be rerun in any match."""
        return self._entries[player].repeats in ("quickly", "slowly") and player not in self._pool.why_not


def _find_matches(
    check: LineupCheck, planned: Callable[[str], MatchJob | None], result: LineupVerification
) -> dict[str, tuple[str, Record]]:
    """Return the finished scheduled matches by id, each with its location. Everything else in the file, and every
    missing match, becomes a finding."""
    matches: dict[str, tuple[str, Record]] = {}
    lines: dict[str, int] = {}
    broken: set[str] = set()
    versions = check.entries[check.lineup.players[-1]].versions
    if check.unreadable:
        result.findings.append(Finding("file", check.where, f"it cannot be read ({check.unreadable})"))
    for number, line in enumerate(io.BytesIO(check.content), start=1):
        where = f"{check.where}:{number}"
        if len(result.findings) >= MAX_FINDINGS:
            result.findings.append(Finding("file", where, "too many problems before this line: the rest is unchecked"))
            break
        is_complete = line.endswith(b"\n")
        if not line.strip():
            if is_complete:
                result.findings.append(Finding("file", where, "the line is empty"))
            continue
        try:
            record = Record.parse(line.decode("utf-8", "replace"))
        except BadRecord as error:
            torn = (
                f"the last line is truncated; the {number - 1} before it are complete. The next tournament run removes "
                f"it and plays that match again"
            )
            result.findings.append(Finding("file", where, str(error) if is_complete else torn))
            continue
        where = f"{where} (match {record.id})"
        if line.removesuffix(b"\n") != record.line().encode():
            result.findings.append(Finding("file", where, "the line is not in gymposium's format"))
        job = planned(record.id)
        if job is None:
            result.findings.append(Finding("schedule", where, "the schedule has no such match"))
        elif not record.ending.broke_off and record.id in lines:
            result.findings.append(Finding("schedule", where, f"duplicate match, first in line {lines[record.id]}"))
        elif why := _compare_with_schedule(record, job, check.entries):
            result.findings.append(Finding("record", where, why))
            lines[record.id] = number
        elif record.ending.broke_off:
            result.broken += 1
            broken.add(record.id)
        else:
            lines[record.id] = number
            matches[record.id] = where, record
            result.other_versions.update(
                f"{name} {version}, not {versions.get(name)}"
                for name, version in record.versions.items()
                if versions.get(name) != version
            )
    numbers = check.lineup.numbers()
    result.findings += _check_order(check, [name for name in lines if name not in broken], numbers)
    if missing := numbers.count_missing(lines.keys()):
        named = map(check.lineup.match_id, islice(numbers.find_missing(lines.keys()), _MAX_NAMED))
        are = plural(len(numbers), "match is", "matches are")
        what = f"{missing} of {len(numbers)} {are} missing: {', '.join(named)}"
        more = ", …" if missing > _MAX_NAMED else ""
        again = "; some broke off and will be played again" if broken - lines.keys() else ""
        result.findings.append(Finding("schedule", check.where, f"{what}{more}{again}"))
    return matches


def _check_order(check: LineupCheck, played: Sequence[str], numbers: Mapping[str, int]) -> list[Finding]:
    """Return a finding for the first match out of order. Matches that broke off are left out, since they are replayed
    later."""
    for one, other in pairwise(name for name in played if name in numbers):
        if numbers[other] < numbers[one]:
            return [Finding("schedule", check.where, f"match {other} comes after {one}, but is planned before it")]
    return []


def _count_replies(record: Record, selection: _RerunSelection, result: LineupVerification) -> None:
    """Count each player's replies, and collect claims that a player did not answer."""
    players = record.players
    result.replies.update(players[turn["seat"]] for turn in record.turns if turn["seat"] < len(players))
    for seat, answer in list_unanswered(record):
        if seat >= len(players):
            continue
        unasked = needs_process(answer) or not selection.is_selected(record.id, players[seat])
        if not selection.can_ask(players[seat]):
            result.unchecked_failures[players[seat]] += unasked
        elif unasked:
            result.no_answer_claims.append((record.id, seat, players[seat]))


def _compare_with_schedule(record: Record, job: MatchJob, entries: Mapping[str, Entry]) -> str | None:
    """Return the first difference between a record and its scheduled match, or None. `entries` is by player."""
    game = job.game.name
    if record.game == game and record.game_version != job.game.spec.version:
        return (
            f"made with version {record.game_version} of {record.game}, but here it has version "
            f"{job.game.spec.version}: its rules or rewards differ"
        )
    prompts = [_make_prompt(entries[player.name], game) for player in job.players]
    heads = {
        "game": (record.game, game),
        "players": (record.players, [player.name for player in job.players]),
        "number": (record.number, job.number),
        "seed": (record.seed, job.seed),
        "player_seed": (record.player_seed, job.player_seed),
        "on_illegal": (record.on_illegal, str(job.on_illegal)),
        "prompts": (record.prompts, prompts),
    }
    for name, (recorded, planned) in heads.items():
        if recorded != planned:
            return f"{name} is {recorded!r}, but the schedule has {planned!r}"
    versions = entries[job.players[-1].name].versions
    if record.versions.keys() != versions.keys():
        return f"the record has versions of {', '.join(record.versions)}, but the entry of {', '.join(versions)}"
    if record.opening > job.opening:
        return f"opening is {record.opening}, but the schedule has {job.opening}"
    return None


def _make_prompt(entry: Entry, game: str) -> dict[str, Any]:
    """Return an entry's prompt in the form of records."""
    prompt = entry.prompt
    return {"style": prompt.style, "reader": prompt.reader, "version": prompt.version, "hash": prompt.digests.get(game)}
