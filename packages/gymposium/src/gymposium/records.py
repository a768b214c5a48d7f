"""Match records: append-only JSONL, one finished match a line, enough to play it again on any machine.

A line holds the game's full name, the seeds, the players, every event (chance included), every reply
with its reading, and the returns. `replay` shows them, `verify` plays them again.
"""

from __future__ import annotations

import json
import math
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from gymposium.driver import Played, Turn, prompt_hash
from gymposium.errors import BadRecord, EngineError, GymposiumError
from gymposium.failures import FailurePolicy, Tally, forfeit_returns, who_forfeits
from gymposium.games.protocol import CHANCE, Event, Game, Match, Reports, seat_result
from gymposium.games.registry import load_game
from gymposium.prompt import PROMPT_VERSION, prompt_for
from gymposium.reading import KINDS, read, read_action, reader

FORMAT = "gymposium-match-2"

_SILENT = ("timed_out", "out_of_context")
"""The fields that name seats that gave no reply when they were asked last."""


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
    """Every reply: `seat`, `reading` and `text`; `action` where it was an index into the action space; where its
    player counts them `tokens`, of the prompt and of the reply, and `seconds`."""
    returns: list[float]
    results: list[str]
    forfeit: int | None
    timed_out: list[int]
    """The seats whose players had not answered when the watchdog fired."""
    out_of_context: list[int]
    """The seats whose players could not reply, since the prompt fills all that they can read."""
    error: str | None
    """What the game's engine raised, where the match broke off; there are no returns then."""
    reports: list[dict[str, float]]
    """What the match itself reports of each seat beside its return; [] where it reports nothing."""
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
            turns=[_turn(turn) for turn in played.turns],
            returns=list(played.returns),
            results=[played.result(seat) for seat in range(len(played.utilities))],
            forfeit=played.forfeit,
            timed_out=list(played.timed_out),
            out_of_context=list(played.out_of_context),
            error=played.error,
            reports=list(played.reports),
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
        except (ValueError, RecursionError) as error:
            raise BadRecord(f"not JSON ({error})") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise BadRecord(f"not a match record of format {FORMAT!r}")
        try:
            record = cls(**data)
            _check_types(data)
            record.events = [Event(seat, move) for seat, move in record.events]
        except (TypeError, ValueError) as error:
            raise BadRecord(f"fields are missing or wrong ({error})") from error
        return record

    def line(self) -> str:
        # ASCII only: a reply may hold half a surrogate pair, which no file can
        return json.dumps(asdict(self), separators=(",", ":"))


def _turn(turn: Turn) -> dict[str, Any]:
    said: dict[str, Any] = {"seat": turn.seat, "reading": turn.reading, "text": turn.text}
    if turn.action is not None:
        said["action"] = turn.action
    if (usage := turn.usage) is not None:
        if usage.prompt_tokens is not None or usage.completion_tokens is not None:
            said["tokens"] = [usage.prompt_tokens, usage.completion_tokens]
        said["seconds"] = round(usage.seconds, 6)
    return said


def _check_types(data: Mapping[str, Any]) -> None:
    """TypeError or ValueError where a field that is relied on is not what a writer would have written."""
    for name in ("id", "game", "on_illegal"):
        _need(isinstance(data[name], str), name)
    for name in ("seed", "player_seed"):
        _need(type(data[name]) is int, name)
    _need(_is_count(data["game_version"]), "game_version")
    for name in ("players", "events", "turns", "returns", "results", "prompts", *_SILENT, "reports"):
        _need(isinstance(data[name], list), name)
    for name in ("players", "results"):
        _need(all(isinstance(one, str) for one in data[name]), name)
    for name in ("penalties", "versions"):
        _need(isinstance(data[name], dict), name)
    _need(all(isinstance(one, str) for one in data["versions"].values()), "versions")
    _need(all(_is_number(cost) and cost >= 0 for cost in data["penalties"].values()), "penalties")
    _need(data["forfeit"] is None or _is_count(data["forfeit"]), "forfeit")
    for name in _SILENT:
        _need(all(_is_count(seat) for seat in data[name]), name)
    _need(data["error"] is None or isinstance(data["error"], str), "error")
    for report in data["reports"]:
        _need(isinstance(report, dict) and all(map(_is_number, report.values())), "reports")
    _need(all(type(seat) is int and isinstance(move, str) for seat, move in data["events"]), "events")
    _need(all(_is_number(value) for value in data["returns"]), "returns")
    for turn in data["turns"]:
        _need(isinstance(turn, dict) and _is_count(turn.get("seat")), "turns")
        _need(turn.get("reading") in KINDS and isinstance(turn.get("text"), str), "turns")
        _need(type(turn.get("action", 0)) is int, "turns")
        tokens, seconds = turn.get("tokens", [None, None]), turn.get("seconds", 0.0)
        _need(isinstance(tokens, list) and len(tokens) == 2, "turns")
        _need(all(count is None or _is_count(count) for count in tokens), "turns")
        _need(_is_number(seconds) and 0 <= seconds < math.inf, "turns")
    for prompt in data["prompts"]:
        _need(isinstance(prompt, dict) and _is_count(prompt.get("version")), "prompts")
        _need(all(isinstance(prompt.get(name), str) for name in ("style", "reader", "hash")), "prompts")


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _need(holds: bool, name: str) -> None:
    if not holds:
        raise ValueError(f"{name} is not of the right form")


@cache
def _versions() -> Mapping[str, str]:
    found = {"python": platform.python_version()}
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
        if self.path.stat().st_size and not ends_line(self.path):
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


def recorded(matches: Iterator[Played], write: Callable[[Played], object]) -> Iterator[Played]:
    """The matches, each written as it ends. Where one breaks off since its engine fails, what there is of it
    is written before the error goes on."""
    try:
        for played in matches:
            write(played)
            yield played
    except EngineError as error:
        write(error.played)
        raise


def ends_line(path: Path) -> bool:
    """Whether a file's last line is whole."""
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
    """Records that were played again."""
    not_played: int = 0
    """Records that could not be: their game is not there, or not in their version."""
    problems: list[Problem] = field(default_factory=list)


def verify_file(path: str | Path) -> Verification:
    """Play every record again; each broken or differing one gives one problem, its first difference."""
    found = Verification()
    for number, record in read_records(path):
        if isinstance(record, Problem):
            found.problems.append(record)
            continue
        difference: str | None
        try:
            game = _same_game(record)
        except GymposiumError as error:
            found.not_played += 1
            difference = str(error)
        else:
            found.matches += 1
            difference = _difference(game, record)
        if difference is not None:
            found.problems.append(Problem(f"{path}:{number} (match {record.id})", difference))
    return found


def first_difference(record: Record) -> str | None:
    """The first thing in a record that does not follow from its events and seeds, or None.

    Two facts are checked apart: that the events make a legal match with these returns, and that the
    seed draws the same chance."""
    try:
        game = _same_game(record)
    except GymposiumError as error:
        return str(error)
    return _difference(game, record)


def _same_game(record: Record) -> Game:
    """The game that the record is of. Raises `BadRecord` where only another version is here."""
    game = load_game(record.game)
    if game.spec.version != record.game_version:
        raise BadRecord(f"made with version {record.game_version} of the game; this is version {game.spec.version}")
    return game


def _difference(game: Game, record: Record) -> str | None:
    try:
        match = game.load(record.events, record.seed)
        wrong = (
            _wrong_seats(game, record)
            or _wrong_prompts(game, record)
            or _extra_event(match, record)
            or _wrong_chance(game, record)
        )
        if record.error is not None:
            # only what came before can be held against the rules: the next step may fail again
            return wrong or f"the match broke off: {record.error}"
        return (
            wrong
            or _wrong_end(match, record)
            or _wrong_turns(game, record)
            or _wrong_returns(match, record)
            or _wrong_reports(match, record)
        )
    except GymposiumError as error:
        return str(error)


def _wrong_seats(game: Game, record: Record) -> str | None:
    ended = ("returns", "results") if record.error is None else ()
    for name in ("players", "prompts", *ended):
        count = len(getattr(record, name))
        if count != game.seats:
            return f"{game.name} has {game.seats} seats, but there are {count} {name}"
    return None


def _wrong_prompts(game: Game, record: Record) -> str | None:
    """Make the fixed parts of the prompts again, where the wording is of the version that is here."""
    for seat, prompt in enumerate(record.prompts):
        if prompt["version"] == PROMPT_VERSION:
            made = prompt_for(game, prompt["style"], reader(prompt["reader"])).hash
            if made != prompt["hash"]:
                return f"prompt differs: seat {seat} read one of digest {prompt['hash']!r}, but the game's is {made!r}"
    return None


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


def _wrong_turns(game: Game, record: Record) -> str | None:
    """Hold every reply against what the driver does with it: who is asked, how the reply reads, what a
    failure costs, and which event comes of it. The seed is known by now to draw the record's chance."""
    match, tally = game.new(record.seed), Tally(FailurePolicy.parse(record.on_illegal))
    readers = [reader(prompt["reader"]) for prompt in record.prompts]
    events = iter([event for event in record.events if event.seat != CHANCE])
    turns = iter(enumerate(record.turns))
    left = Counter(turn["seat"] for turn in record.turns)
    silent = [*record.timed_out, *record.out_of_context]
    unheard: list[int] = []
    forfeit: int | None = None
    while forfeit is None and (seats := match.to_move()):
        tally.next_decision()
        moves: dict[int, str | None] = {}  # None: drawn at random by the policy
        asked: Sequence[int] = seats
        while asked and forfeit is None:
            again, failed = [], []
            for seat in asked:
                if seat in silent and not left[seat]:
                    failed.append(seat)
                    unheard.append(seat)
                    continue
                number, turn = next(turns, (-1, None))
                if turn is None:
                    return f"the replies end where seat {seat} is to give one"
                if turn["seat"] != seat:
                    return f"reply {number} is of seat {turn['seat']}, but seat {seat} is asked"
                left[seat] -= 1
                legal = match.legal_moves(seat)
                if (action := turn.get("action")) is not None:
                    reading = read_action(action, match.legal_actions(seat), legal)
                else:
                    cut_off = turn["reading"] == "cut off"
                    reading = read(turn["text"], legal, readers[seat], game.move_pattern, cut_off=cut_off)
                if reading.kind != turn["reading"]:
                    return f"reply {number} ({turn['text']!r}) is called {turn['reading']}, but it is {reading.kind}"
                if reading.kind == "move":
                    moves[seat] = reading.move
                    continue
                outcome = tally.failed(seat, can_draw=bool(legal))
                if outcome == "random":
                    moves[seat] = None
                elif outcome == "again":
                    again.append(seat)
                else:
                    failed.append(seat)
            if failed:
                forfeit = who_forfeits(failed, record.player_seed)
            asked = again
        if forfeit is None:
            joint = {}
            for seat in seats:
                event = next(events, None)
                if event is None:
                    return f"seat {seat} replied with a move, but the events end before it"
                if moves[seat] is not None and event.move != moves[seat]:
                    return f"seat {seat} replied {moves[seat]!r}, but its event is {event.move!r}"
                joint[seat] = event.move
            match.apply(joint)
    if (extra := next(turns, None)) is not None:
        return f"reply {extra[0]} comes after the end of the match"
    if (late := next(events, None)) is not None:
        return f"seat {late.seat} moves {late.move!r} after the replies that ended the match"
    if silent and forfeit is None:
        return f"seats {silent} gave no reply, but the match goes on to its end"
    if sorted(silent) != sorted(unheard):
        return f"seats {silent} are said to have given no reply, but it is seats {unheard} that gave none"
    if forfeit != record.forfeit:
        return f"forfeit is {record.forfeit}, but the replies make it {forfeit}"
    penalties = {str(seat): cost for seat, cost in tally.penalties.items()}
    if penalties != record.penalties:
        return f"penalties are {record.penalties}, but the replies cost {penalties}"
    return None


def _wrong_returns(match: Match, record: Record) -> str | None:
    utilities: Sequence[float] = match.returns()
    if record.forfeit is not None:
        utilities = forfeit_returns(match.game, record.forfeit, utilities)
    returns = [u - record.penalties.get(str(seat), 0.0) for seat, u in enumerate(utilities)]
    if returns != list(record.returns):
        return f"returns are {list(record.returns)}, but the events give {returns}"
    results = [seat_result(utilities, seat, record.forfeit) for seat in range(match.game.seats)]
    if results != record.results:
        return f"results are {record.results}, but the events give {results}"
    return None


def _wrong_reports(match: Match, record: Record) -> str | None:
    reports = []
    if isinstance(match, Reports) and record.forfeit is None:
        reports = [dict(match.report(seat)) for seat in range(match.game.seats)]
    if reports != record.reports:
        return f"reports are {record.reports}, but the events give {reports}"
    return None


def _wrong_chance(game: Game, record: Record) -> str | None:
    """Play the seats' moves again from the seed and compare what chance does."""
    match = game.new(record.seed)
    moves = [event for event in record.events if event.seat != CHANCE]
    compared = 0
    while True:
        # before the next move, which may not even be legal where chance came out otherwise
        for number, (mine, theirs) in enumerate(zip(match.events[compared:], record.events[compared:]), compared):
            if mine != theirs:
                return f"event {number} is {theirs.move!r}, but seed {record.seed} gives {mine.move!r}"
        compared = len(match.events)
        seats = match.to_move()
        if not moves or not seats:
            return None
        now, moves = moves[: len(seats)], moves[len(seats) :]
        match.apply({event.seat: event.move for event in now})
