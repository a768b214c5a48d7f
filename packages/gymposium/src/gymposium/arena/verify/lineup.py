"""One lineup's file of matches: are they those of the schedule, each once, and do they come out again?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from gymposium.arena.entries import Entry
from gymposium.arena.schedule import Lineup, jobs
from gymposium.arena.verify.compare import unplanned
from gymposium.arena.verify.findings import Finding
from gymposium.arena.verify.player_pool import PlayerPool
from gymposium.arena.verify.replay import AskingScripts, RecordedPlayer, needs_a_process
from gymposium.driver import MatchJob, play
from gymposium.players.protocol import Repeats
from gymposium.records import Problem, Record, Script, difference, ends_line, read_records, silences
from gymposium.streams import stream

_NAMED = 3
"""Missing matches that are named."""


@dataclass(frozen=True, slots=True)
class LineupCheck:
    """A lineup to be verified."""

    lineup: Lineup
    entries: Mapping[str, Entry]
    """By player."""
    board: Path
    file: Path
    at_once: int
    samples: Mapping[Repeats, int]
    """How many matches players are asked again in that do so `slowly` or `up_to_rounding`."""
    seed: int
    """What those are drawn from."""

    @property
    def where(self) -> str:
        """The file as it is called in findings."""
        return str(self.file.relative_to(self.board))


@dataclass(slots=True)
class Checked:
    """What was found in a lineup's file."""

    matches: int = 0
    broken: int = 0
    findings: list[Finding] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)
    """By player, as are the next ones."""
    asked: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    on_their_word: Counter[str] = field(default_factory=Counter)
    why_not: dict[str, str] = field(default_factory=dict)
    claims: list[tuple[str, int, str]] = field(default_factory=list)
    """Match, seat and player where only a process of its own can tell what the player does."""
    other_versions: Counter[str] = field(default_factory=Counter)
    """Matches that something else played than what was there when the last of its players was entered."""


def check_lineup(check: LineupCheck, pool: PlayerPool) -> Checked:
    """Verify a lineup's matches, with the players of this process."""
    found = Checked()
    planned = {job.id: job for job in planned_jobs(check, pool)}
    matches = _matches(check, planned, found)
    found.matches = len(matches)
    asking = _Asking(check, pool, [*planned])
    scripts = AskingScripts({name: Script(record) for name, (_, record) in matches.items()})
    ready = (replace(planned[name], players=asking.seats(planned[name])) for name in matches)
    for played in play(ready, at_once=check.at_once, guard=scripts):
        where, record = matches[played.job.id]
        if why := difference(record, Record.of(played)):
            found.findings.append(Finding("record", where, why))
        for seat in range(len(record.players)):
            if how := scripts.differences.get((record.id, seat)):
                found.findings.append(Finding("reply", where, how))
        _count(record, asking, found)
    found.asked, found.same = scripts.asked, scripts.same
    found.why_not = {**pool.why_not, **scripts.unreachable}
    found.findings += pool.findings
    return found


def planned_jobs(check: LineupCheck, pool: PlayerPool) -> list[MatchJob]:
    """The lineup's matches, with seats in which nobody is asked again."""
    seats = [pool.seat(check.entries[player], asked=False) for player in check.lineup.players]
    return jobs(check.lineup, seats)


class _Asking:
    """Who is asked again in which match."""

    def __init__(self, check: LineupCheck, pool: PlayerPool, ids: Sequence[str]) -> None:
        self._entries, self._pool = check.entries, pool
        self._chosen = {
            repeats: frozenset(stream(check.seed, repeats, check.lineup.id).sample(ids, min(count, len(ids))))
            for repeats, count in check.samples.items()
        }

    def seats(self, job: MatchJob) -> list[RecordedPlayer]:
        return [
            self._pool.seat(self._entries[player.name], asked=self.is_asked(job.id, player.name))
            for player in job.players
        ]

    def is_asked(self, match: str, player: str) -> bool:
        """Whether it is, if it can be."""
        repeats = self._entries[player].repeats
        return repeats == "quickly" or (repeats is not None and match in self._chosen[repeats])

    def can_be(self, player: str) -> bool:
        """Whether it could be asked in any match at all."""
        return self._entries[player].repeats in ("quickly", "slowly") and player not in self._pool.why_not


def _matches(check: LineupCheck, planned: Mapping[str, MatchJob], found: Checked) -> dict[str, tuple[str, Record]]:
    """Where they stand, and the records of those that came to an end as the schedule has them. What else there is, and
    what there is not, is told."""
    matches: dict[str, tuple[str, Record]] = {}
    lines: dict[str, int] = {}
    broken: set[str] = set()
    raw = check.file.read_bytes().split(b"\n") if _is_its_own(check) else []
    found.findings += _empty_lines(check, raw)
    for number, record in read_records(check.file) if raw else ():
        if isinstance(record, Problem):
            found.findings.append(_unreadable(check, number, record))
            continue
        if raw[number - 1] != record.line().encode():
            where = f"{check.where}:{number} (match {record.id})"
            found.findings.append(Finding("file", where, "the line is not as gymposium writes it"))
        where = f"{check.where}:{number} (match {record.id})"
        job = planned.get(record.id)
        if job is None:
            found.findings.append(Finding("schedule", where, "the schedule has no such match"))
        elif not record.ending.broke_off and record.id in lines:
            what = f"the match stands in line {lines[record.id]} already"
            found.findings.append(Finding("schedule", where, what))
        elif why := unplanned(record, job, check.entries):
            found.findings.append(Finding("record", where, why))
            lines[record.id] = number
        elif record.ending.broke_off:
            found.broken += 1
            broken.add(record.id)
        else:
            lines[record.id] = number
            matches[record.id] = where, record
            _note_versions(check, record, found)
    found.findings += _out_of_order(check, [name for name in lines if name not in broken], [*planned])
    if missing := [name for name in planned if name not in lines]:
        what = f"{len(missing)} of {len(planned)} matches are not there: {', '.join(missing[:_NAMED])}"
        more = ", …" if len(missing) > _NAMED else ""
        again = "; some broke off and are to be played again" if broken.intersection(missing) else ""
        found.findings.append(Finding("schedule", check.where, f"{what}{more}{again}"))
    return matches


def _is_its_own(check: LineupCheck) -> bool:
    """Whether the file is there, and on the board itself: no link leads to it or to one of its folders."""
    return check.file.is_file() and check.file.resolve() == check.board.resolve() / check.where


def _empty_lines(check: LineupCheck, raw: Sequence[bytes]) -> list[Finding]:
    """Lines that hold nothing; the last one ends the file."""
    empty = [number for number, line in enumerate(raw[:-1], start=1) if not line.strip()]
    return [Finding("file", f"{check.where}:{number}", "the line is empty") for number in empty]


def _out_of_order(check: LineupCheck, played: Sequence[str], planned: Sequence[str]) -> list[Finding]:
    """The first match that stands before one that was played earlier. Those that had broken off were played again, and
    may stand anywhere behind."""
    places = {name: place for place, name in enumerate(planned)}
    for one, other in pairwise(name for name in played if name in places):
        if places[other] < places[one]:
            what = f"match {other} stands behind {one}, which is played after it"
            return [Finding("schedule", check.where, what)]
    return []


def _note_versions(check: LineupCheck, record: Record, found: Checked) -> None:
    then = check.entries[check.lineup.players[-1]].versions
    for name, version in record.versions.items():
        if then.get(name) != version:
            found.other_versions[f"{name} {version}, not {then.get(name)}"] += 1


def _unreadable(check: LineupCheck, number: int, problem: Problem) -> Finding:
    where = f"{check.where}:{number}"
    if ends_line(check.file) or number < _lines(check.file):
        return Finding("file", where, problem.what)
    what = (
        f"the last line is torn; the {number - 1} before it are whole. The next run of the tournament cuts it off and "
        f"plays that match again"
    )
    return Finding("file", where, what)


def _lines(file: Path) -> int:
    with open(file, "rb") as lines:
        return sum(1 for _ in lines)


def _count(record: Record, asking: _Asking, found: Checked) -> None:
    """How much each player replied, and who is said not to have."""
    for turn in record.turns:
        if turn["seat"] < len(record.players):
            found.replies[record.players[turn["seat"]]] += 1
    for seat, answer in silences(record):
        if seat >= len(record.players):
            continue
        player = record.players[seat]
        if not asking.can_be(player):
            found.on_their_word[player] += not asking.is_asked(record.id, player) or needs_a_process(answer)
        elif needs_a_process(answer) or not asking.is_asked(record.id, player):
            found.claims.append((record.id, seat, player))
