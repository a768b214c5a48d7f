"""Match records: append-only JSONL, one finished match a line, enough to play it again on any machine.

A line holds the game's full name, the seeds, the players, every event (chance included), every reply
with its reading, and the returns. `replay` shows them, `verify` plays them again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from gymposium.driver import Played, prompt_hash
from gymposium.errors import BadRecord, GymposiumError
from gymposium.failures import FailurePolicy, forfeit_returns
from gymposium.games.protocol import CHANCE, Event, Match, seat_result
from gymposium.games.registry import load_game
from gymposium.prompt import PROMPT_VERSION

FORMAT = "gymposium-match-1"


@dataclass(slots=True)
class Record:
    """One finished match as it stands in a file."""

    id: str
    game: str
    game_version: int
    players: list[str]
    seed: int
    player_seed: int
    on_illegal: str
    events: list[Event]
    turns: list[dict[str, Any]]
    """`seat`, `reading`, and `text` where it says more than the event does."""
    returns: list[float]
    results: list[str]
    forfeit: int | None
    penalties: dict[str, float]
    prompts: list[dict[str, Any]]
    """For each seat: prompt style, reader, prompt version and the digest of the prompt's fixed parts."""
    versions: dict[str, str]
    format: str = FORMAT

    @classmethod
    def of(cls, played: Played) -> Record:
        """The record of a match that the driver played."""
        job = played.job
        return cls(
            id=job.id,
            game=job.game.name,
            game_version=job.game.spec.version,
            players=[p.name for p in job.players],
            seed=job.seed,
            player_seed=job.seed if job.player_seed is None else job.player_seed,
            on_illegal=str(job.on_illegal),
            events=list(played.events),
            turns=[{"seat": t.seat, "reading": t.reading, "text": t.text} for t in played.turns],
            returns=list(played.returns),
            results=[played.result(seat) for seat in range(job.game.seats)],
            forfeit=played.forfeit,
            penalties={str(seat): cost for seat, cost in played.penalties.items()},
            prompts=[
                {
                    "style": p.style,
                    "reader": p.reader.name,
                    "version": PROMPT_VERSION,
                    "hash": prompt_hash(job, seat),
                }
                for seat, p in enumerate(job.players)
            ],
            versions=dict(_versions()),
        )

    @classmethod
    def parse(cls, line: str) -> Record:
        """Read one line. Raises `BadRecord` with what is wrong with it."""
        try:
            data = json.loads(line)
        except ValueError as error:
            raise BadRecord(f"not JSON ({error})") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise BadRecord(f"not a match record of format {FORMAT!r}")
        try:
            record = cls(**data)
            record.events = [Event(int(seat), str(move)) for seat, move in record.events]
        except (TypeError, ValueError) as error:
            raise BadRecord(f"fields are missing or wrong ({error})") from error
        return record

    def line(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"), ensure_ascii=False)


@cache
def _versions() -> Mapping[str, str]:
    found = {}
    for name in ("gymposium", "open_spiel"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a source tree on the path, not installed
            found[name] = "unknown"
    return found


class RecordWriter:
    """Appends records to a file, each line whole and flushed. Where an earlier writer was cut off in the
    middle of a line, the new records start on a line of their own and the broken one is kept."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = open(self.path, "a", encoding="utf-8")  # noqa: SIM115
        if self.path.stat().st_size and not _ends_line(self.path):
            self._file.write("\n")

    def write(self, played: Played) -> Record:
        record = Record.of(played)
        self._file.write(record.line() + "\n")
        self._file.flush()
        return record

    def close(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _ends_line(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


@dataclass(slots=True)
class Problem:
    """Something in a record file that is not as it should be."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def read_records(path: str | Path) -> Iterator[tuple[int, Record | Problem]]:
    """Every line of a file with its number: a record, or what is wrong with the line. Nothing is skipped
    silently; a half-written last line is a `Problem` like any other."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield number, Record.parse(line)
            except BadRecord as error:
                yield number, Problem(f"{path}:{number}", str(error))


@dataclass(slots=True)
class Verification:
    """What `verify` found in a file."""

    matches: int = 0
    problems: list[Problem] = field(default_factory=list)


def verify_file(path: str | Path) -> Verification:
    """Play every record again; each broken or differing one gives one problem, its first difference."""
    found = Verification()
    for number, record in read_records(path):
        if isinstance(record, Problem):
            found.problems.append(record)
            continue
        found.matches += 1
        difference = first_difference(record)
        if difference is not None:
            found.problems.append(Problem(f"{path}:{number} (match {record.id})", difference))
    return found


def first_difference(record: Record) -> str | None:
    """The first thing in a record that does not follow from its events and seeds, or None.

    Two facts are checked apart: that the events make a legal match with these returns, and that the
    seed draws the same chance."""
    try:
        game = load_game(record.game)
        if game.spec.version != record.game_version:
            return f"made with version {record.game_version} of the game; this is version {game.spec.version}"
        match = game.load(record.events, record.seed)
    except GymposiumError as error:
        return str(error)
    return (
        _extra_event(match, record)
        or _wrong_end(match, record)
        or _wrong_turns(match, record)
        or _wrong_returns(match, record)
        or _wrong_chance(record)
    )


def _extra_event(match: Match, record: Record) -> str | None:
    if len(match.events) != len(record.events):
        return f"the record stops before a chance outcome ({len(record.events)} of {len(match.events)} events)"
    return None


def _wrong_end(match: Match, record: Record) -> str | None:
    if record.forfeit is None and match.to_move():
        return f"the record ends, but seats {list(match.to_move())} are to move"
    if record.forfeit is not None and record.forfeit not in match.to_move():
        return f"seat {record.forfeit} forfeits, but it is not to move"
    return None


def _wrong_turns(match: Match, record: Record) -> str | None:
    """Readings and moves must tell the same story, seat by seat."""
    policy = FailurePolicy.parse(record.on_illegal)
    for seat in range(match.game.seats):
        mine = [t for t in record.turns if t["seat"] == seat]
        taken = sum(t["reading"] == "move" for t in mine)
        moved = sum(event.seat == seat for event in record.events)
        failed = len(mine) - taken
        if policy.kind == "random":
            taken, failed = taken + failed, 0
        pending = 0
        if record.forfeit is not None:  # others may have answered a joint decision that never took place
            pending = taken - moved if seat in match.to_move() and seat != record.forfeit else 0
        if taken - pending != moved or pending not in (0, 1):
            return f"seat {seat} has {taken} accepted replies but {moved} moves"
        if record.forfeit == seat and not failed:
            return f"seat {seat} forfeits without a reply that failed"
    return None


def _wrong_returns(match: Match, record: Record) -> str | None:
    returns: Sequence[float] = match.returns()
    if record.forfeit is not None:
        returns = forfeit_returns(match.game, record.forfeit, returns)
    returns = [r - record.penalties.get(str(seat), 0.0) for seat, r in enumerate(returns)]
    if returns != list(record.returns):
        return f"returns are {list(record.returns)}, but the events give {returns}"
    results = [seat_result(returns, seat) for seat in range(match.game.seats)]
    if results != record.results:
        return f"results are {record.results}, but the events give {results}"
    return None


def _wrong_chance(record: Record) -> str | None:
    """Play the seats' moves again from the seed and compare what chance does."""
    match = load_game(record.game).new(record.seed)
    moves = [event for event in record.events if event.seat != CHANCE]
    while moves and (seats := match.to_move()):
        now, moves = moves[: len(seats)], moves[len(seats) :]
        match.apply({event.seat: event.move for event in now})
    for number, (mine, theirs) in enumerate(zip(match.events, record.events)):
        if mine != theirs:
            return f"event {number} is {theirs.move!r}, but seed {record.seed} gives {mine.move!r}"
    return None
