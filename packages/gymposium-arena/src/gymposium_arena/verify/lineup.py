"""Verify a lineup's match file: it holds the scheduled matches, each once, and they replay as recorded."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise

from gymposium.errors import BadRecord
from gymposium.match import MatchJob, play
from gymposium.players.protocol import Repeats
from gymposium.records import Problem, Record, Script, difference, parse_records, silences
from gymposium.util.streams import stream
from gymposium.util.visible import plural
from gymposium_arena.entries import Entry
from gymposium_arena.schedule import Lineup, job_maker
from gymposium_arena.verify.compare import unplanned
from gymposium_arena.verify.findings import Finding
from gymposium_arena.verify.player_pool import PlayerPool
from gymposium_arena.verify.replay import AskingScripts, RecordedPlayer, needs_a_process

MOST_FINDINGS = 1000
"""Maximum number of problems found in a file before the rest of it is left unchecked."""
_NAMED = 3
"""Maximum number of missing matches that are named."""


@dataclass(frozen=True, slots=True)
class LineupCheck:
    """A lineup to verify."""

    lineup: Lineup
    entries: Mapping[str, Entry]
    """The entries of its players, by player."""
    where: str
    """The file of its matches, relative to the board's folder."""
    samples: Mapping[Repeats, int]
    """Number of matches that ask players that repeat `slowly` or `up_to_rounding` again."""
    seed: int
    """The seed that draws these matches."""
    content: bytes = b""
    """The file's content; empty if the file is missing."""
    unreadable: str = ""
    """Why the file cannot be read; empty if it can."""

    def records(self) -> Iterator[tuple[int, Record | Problem]]:
        """Yield the lines of the file, as `read_records` reads them."""
        text = io.TextIOWrapper(io.BytesIO(self.content), encoding="utf-8", errors="replace")
        return parse_records(text, self.where)


@dataclass(slots=True)
class LineupVerification:
    """The verification of one or more match files. Counters are by player."""

    matches: int = 0
    """Number of scheduled matches with a result."""
    broken: int = 0
    """Number of matches that broke off."""
    findings: list[Finding] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    tied: Counter[str] = field(default_factory=Counter)
    on_its_word: Counter[str] = field(default_factory=Counter)
    why_not: dict[str, str] = field(default_factory=dict)
    no_answer_claims: list[tuple[str, int, str]] = field(default_factory=list)
    """Match, seat and player of claims that the player did not answer; only a separate process can check them."""
    other_versions: Counter[str] = field(default_factory=Counter)
    """Number of matches played with software of another version than at the entry of the lineup's last player."""

    def add(self, other: LineupVerification) -> None:
        """Add the figures of another verification, except its findings and claims."""
        self.matches += other.matches
        self.broken += other.broken
        self.replies.update(other.replies)
        self.asked.update(other.asked)
        self.same.update(other.same)
        self.tied.update(other.tied)
        self.on_its_word.update(other.on_its_word)
        self.why_not.update(other.why_not)
        self.other_versions.update(other.other_versions)


def check_lineup(check: LineupCheck, pool: PlayerPool) -> LineupVerification:
    """Verify a lineup's matches with this process's players."""
    result = LineupVerification()
    planned = planned_jobs(check, pool)
    matches = _matches(check, planned, result)
    result.matches = len(matches)
    again = _AskedAgain(check, pool)
    scripts = AskingScripts({name: Script(record) for name, (_, record) in matches.items()})
    ready = (replace(job, players=again.seats(job)) for job in map(planned, matches) if job is not None)
    for played in play(ready, at_once=check.lineup.suite.at_once, guard=scripts):
        where, record = matches[played.job.id]
        if why := difference(record, Record.from_match(played)):
            result.findings.append(Finding("record", where, why))
        for seat in range(len(record.players)):
            if how := scripts.differences.get((record.id, seat)):
                result.findings.append(Finding("reply", where, how))
        _count(record, again, result)
    result.asked, result.same, result.tied = scripts.asked, scripts.same, scripts.tied
    result.why_not = {**pool.why_not, **scripts.unreachable}
    result.findings += pool.findings
    return result


def planned_jobs(check: LineupCheck, pool: PlayerPool) -> Callable[[str], MatchJob | None]:
    """Return a function from an id to the lineup's match, or to None for an id that is not planned. All seats hold
    recorded players, and none is asked again."""
    seats = [pool.seat(check.entries[player], asked=False) for player in check.lineup.players]
    job, numbers = job_maker(check.lineup, seats), check.lineup.numbers()

    def planned(match_id: str) -> MatchJob | None:
        number = numbers.get(match_id)
        return None if number is None else job(number)

    return planned


class _AskedAgain:
    """Chooses the players to ask again in each match."""

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

    def seats(self, job: MatchJob) -> list[RecordedPlayer]:
        """Return the recorded players of a match, with the players to be asked again."""
        return [
            self._pool.seat(self._entries[player.name], asked=self.wanted(job.id, player.name))
            for player in job.players
        ]

    def wanted(self, match: str, player: str) -> bool:
        """Return whether a player is to be asked again in a match, if it can be created."""
        repeats = self._entries[player].repeats
        return repeats == "quickly" or (repeats is not None and match in self._chosen[repeats])

    def possible(self, player: str) -> bool:
        """Return whether a player could be asked again in any match."""
        return self._entries[player].repeats in ("quickly", "slowly") and player not in self._pool.why_not


def _matches(
    check: LineupCheck, planned: Callable[[str], MatchJob | None], result: LineupVerification
) -> dict[str, tuple[str, Record]]:
    """Return the finished matches that are as planned, each with its place in the file. Everything else in the file,
    and everything missing, becomes a finding."""
    matches: dict[str, tuple[str, Record]] = {}
    lines: dict[str, int] = {}
    broken: set[str] = set()
    versions = check.entries[check.lineup.players[-1]].versions
    if check.unreadable:
        result.findings.append(Finding("file", check.where, f"it cannot be read ({check.unreadable})"))
    for number, line in enumerate(io.BytesIO(check.content), start=1):
        where = f"{check.where}:{number}"
        if len(result.findings) >= MOST_FINDINGS:
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
        elif why := unplanned(record, job, check.entries):
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
    result.findings += _out_of_order(check, [name for name in lines if name not in broken], numbers)
    if missing := numbers.count_missing(lines.keys()):
        named = map(check.lineup.match_id, islice(numbers.missing(lines.keys()), _NAMED))
        are = plural(len(numbers), "match is", "matches are")
        what = f"{missing} of {len(numbers)} {are} missing: {', '.join(named)}"
        more = ", …" if missing > _NAMED else ""
        again = "; some broke off and will be played again" if broken - lines.keys() else ""
        result.findings.append(Finding("schedule", check.where, f"{what}{more}{again}"))
    return matches


def _out_of_order(check: LineupCheck, played: Sequence[str], numbers: Mapping[str, int]) -> list[Finding]:
    """Return a finding for the first match that precedes one planned earlier. Matches that broke off are
    left out, since they are played again later."""
    for one, other in pairwise(name for name in played if name in numbers):
        if numbers[other] < numbers[one]:
            return [Finding("schedule", check.where, f"match {other} comes after {one}, but is planned before it")]
    return []


def _count(record: Record, again: _AskedAgain, result: LineupVerification) -> None:
    """Count each player's replies, and note claims that a player did not answer."""
    players = record.players
    result.replies.update(players[turn["seat"]] for turn in record.turns if turn["seat"] < len(players))
    for seat, answer in silences(record):
        if seat >= len(players):
            continue
        unasked = needs_a_process(answer) or not again.wanted(record.id, players[seat])
        if not again.possible(players[seat]):
            result.on_its_word[players[seat]] += unasked
        elif unasked:
            result.no_answer_claims.append((record.id, seat, players[seat]))
