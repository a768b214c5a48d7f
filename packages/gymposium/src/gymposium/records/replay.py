"""Replay of records: the driver replays a recorded match with scripted players.

A record is correct if the driver (`gymposium.match`) writes the same record for the replay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, cast

from gymposium.errors import BadRecord
from gymposium.games.protocol import CHANCE, Event, Game, Match, Style, make_replay_game
from gymposium.games.registry import load_recorded_game
from gymposium.match import Answer, Guard, MatchJob, MatchResult, PlayerFailure, open_match, play
from gymposium.match.ending import Ending
from gymposium.match.failures import FailurePolicy, compute_forfeit_returns
from gymposium.match.watchdog import Watchdog
from gymposium.players.protocol import Ask, Player, Reply, Usage
from gymposium.records.record import Record
from gymposium.replies.prompt import PROMPT_VERSION
from gymposium.replies.reading import Reader, get_reader
from gymposium.util.visible import quantity

_NOT_COMPARED = frozenset(["events", "turns", "versions", "format"])
"""Record fields that are compared separately or may differ between machines."""


@dataclass(slots=True, eq=False)
class ScriptedPlayer:
    """A player in a replay. A `Scripts` guard takes its replies from the record."""

    name: str
    style: Style
    reader: Reader

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        """Raise an error, because the guard answers instead."""
        raise TypeError(f"the replies of {self.name} are in the record")


class Script:
    """One match's recorded answers, in order per seat."""

    __slots__ = ("_answers", "_broken_off")

    def __init__(self, record: Record) -> None:
        self._broken_off = record.ending.detail if record.ending.broke_off else None
        self._answers: dict[int, deque[Answer]] = {seat: deque() for seat in range(len(record.players))}
        replies = ((turn["seat"], _make_reply(turn)) for turn in record.turns)
        for seat, answer in (*replies, *list_unanswered(record)):
            if seat in self._answers:  # a reply from any other seat is never requested, and found as a difference
                self._answers[seat].append(answer)

    def next(self, seat: int) -> Answer:
        """Return the seat's next answer.

        After the last answer, the match breaks off, as recorded or because replies are missing."""
        if self._answers[seat]:
            return self._answers[seat].popleft()
        why = f"the replies end where seat {seat} is to give one" if self._broken_off is None else self._broken_off
        return PlayerFailure(why, own=False)


@dataclass(slots=True)
class Scripts(Guard):
    """A guard that answers from records instead of asking the players."""

    scripts: Mapping[str, Script]
    """Scripts by match id."""

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        return [self.scripts[ask.key].next(ask.seat) for ask in asks]


def list_unanswered(record: Record) -> list[tuple[int, Answer]]:
    """Return the seats without a reply to their last ask, each with the answer that the driver saw."""
    answers: list[tuple[int, Answer]] = []
    for failure in record.ending.failures:
        assert failure.seat is not None, "failures have a seat"
        if failure.kind == "timed out":
            answers.append((failure.seat, None))
        elif failure.kind == "out of context":
            answers.append((failure.seat, Reply("", "context")))
        elif failure.kind == "crashed":
            answers.append((failure.seat, PlayerFailure(failure.detail, own=True)))
    return answers


def _make_reply(turn: Mapping[str, Any]) -> Reply:
    prompt, reply = turn.get("tokens", (None, None))
    measured = turn.keys() & {"tokens", "seconds", "cost"}
    usage = Usage(prompt, reply, turn.get("seconds", 0.0), turn.get("cost")) if measured else None
    return Reply(turn["text"], "length" if turn["reading"] == "cut off" else "stop", None, turn.get("action"), usage)


def results_are_checked(game: Game) -> bool:
    """Return whether a replay calls a world's tools, or a server, again.

    It does not if their answers may have changed. Then only a manifest's digest reveals a modified result."""
    return not game.spec.results_are_recorded


def load_record_game(record: Record) -> Game:
    """Return a record's game (`load_recorded_game`).

    Raises `PermissionRequired` if a replay opens something that the user has not allowed."""
    return load_recorded_game(record.game, record.events)


def prepare_replay(game: Game, record: Record) -> Game:
    """Return the game for replaying a match. It uses the recorded results if they are not checked."""
    return game if results_are_checked(game) else make_replay_game(game, record.events)


def make_replay_job(game: Game, record: Record) -> MatchJob:
    """Return the job that replays a match in its game from `prepare_replay`, with a `ScriptedPlayer` in each seat.

    Raises `GymposiumError` if the record's players, prompts or failure policy do not fit the game."""
    ended = 0 if record.ending.broke_off else game.seats
    reported = ended if record.reports else 0
    counts = {"players": game.seats, "prompts": game.seats, "returns": ended, "results": ended, "reports": reported}
    for name, expected in counts.items():
        if (count := len(getattr(record, name))) != expected:
            raise BadRecord(
                f"{game.name} has {quantity(game.seats, 'seat')}, but the record has {quantity(count, name[:-1], name)}"
            )
    players = [
        _make_scripted_player(name, cast(Style, prompt["style"]), prompt["reader"])
        for name, prompt in zip(record.players, record.prompts)
    ]
    return MatchJob(
        id=record.id,
        game=prepare_replay(game, record),
        players=players,
        seed=record.seed,
        player_seed=record.player_seed,
        on_illegal=FailurePolicy.parse(record.on_illegal),
        opening=record.opening,
        number=record.number,
    )


@lru_cache(maxsize=256)
def _make_scripted_player(name: str, style: Style, reader: str) -> ScriptedPlayer:
    """Return a scripted player. Matches share equal ones, so a guard gets all their asks in one call."""
    return ScriptedPlayer(name, style, get_reader(reader))


def find_replay_difference(game: Game, record: Record, played: MatchResult | None = None) -> str | None:
    """Return the first part of a record that does not follow from its replies and seeds, or None.

    Two conditions are checked. The driver must write the same record when it replays the recorded replies from the
    recorded seeds. The game's `load` must turn the events into a legal match with the same utilities. `played` is the
    replay, if it was already made.

    Raises `GymposiumError` if the match cannot be played with these fields, and any error from the game's engine."""
    if record.ending.broke_off and not record.events and not results_are_checked(game):
        return record.ending.describe()  # the world did not open, so it must not be asked now
    loaded = game.load(record.events, record.seed)
    if played is None:
        [played] = play([make_replay_job(game, record)], guard=Scripts({record.id: Script(record)}))
    if not record.ending.broke_off:
        return compare_records(record, Record.from_match(played)) or _compare_load(loaded, played)
    # the match broke off: compare only what came before, because the next step may fail again
    return _compare_play(record, Record.from_match(played), whole=False) or record.ending.describe()


def compare_records(record: Record, again: Record) -> str | None:
    """Return the first difference between a record and its replay's record, or None.

    Times, token counts, costs and software versions are not compared."""
    if why := _compare_play(record, again, whole=True):
        return why
    for name in (field.name for field in fields(Record) if field.name not in _NOT_COMPARED):
        was, now = getattr(record, name), getattr(again, name)
        if name == "prompts":
            for seat, (mine, theirs) in enumerate(zip(now, was)):
                if theirs["version"] == PROMPT_VERSION and mine != theirs:
                    read, own = _describe_prompt(theirs), _describe_prompt(mine)
                    return f"prompt differs: seat {seat} read {read}, but the game's is {own}"
        elif was != now:
            if isinstance(now, Ending):
                return describe_wrong_ending(record, now)
            return f"{name}: {was!r} is recorded, but the replay gives {now!r}"
    return None


def describe_wrong_ending(record: Record, now: Ending) -> str:
    """Return a message that the recorded ending differs from the replay's."""
    return f"ending: {record.ending.describe()!r} is recorded, but the replay gives {now.describe()!r}"


def _describe_prompt(prompt: Mapping[str, Any]) -> str:
    return f"one of digest {prompt['hash']!r} ({prompt['style']}, {prompt['reader']})"


def _compare_play(record: Record, again: Record, *, whole: bool) -> str | None:
    """Return the first difference between the events and replies of a record and its replay.

    Unless `whole`, the record may stop earlier than the replay."""
    if again.opening != record.opening:
        return describe_wrong_opening(record, again.opening)
    differing = (place for place, (was, now) in enumerate(zip(record.events, again.events)) if was != now)
    event = None
    if (number := next(differing, None)) is not None:
        event = describe_wrong_event(record, number, again.events[number])
        if CHANCE in (record.events[number].seat, again.events[number].seat) or number < _count_opening_events(record):
            return event  # no reply led to it, and later events may be illegal
    return (
        _compare_turns(record, again)
        or event
        or (again.ending.detail if whole and again.ending.broke_off else None)
        or _compare_lengths(record, again, whole=whole)
    )


def describe_wrong_opening(record: Record, plies: int) -> str:
    """Return a message that the recorded opening exceeds the maximum of `plies`."""
    return (
        f"the opening has {quantity(record.opening, 'ply', 'plies')}, but the match would be "
        f"over by then: it can have {plies}"
    )


def describe_wrong_event(record: Record, number: int, now: Event) -> str:
    """Return a message that this recorded event differs from the replay's."""
    was = record.events[number]
    if CHANCE in (was.seat, now.seat):
        return f"event {number} is {was.move!r}, but seed {record.seed} gives {now.move!r}"
    if number < _count_opening_events(record):
        return f"event {number} is {was.move!r}, but the opening of seed {record.seed} has {now.move!r}"
    return f"event {number} is {was.move!r} of seat {was.seat}, but the replay gives {now.move!r} of seat {now.seat}"


def _count_opening_events(record: Record) -> int:
    """Return the number of events before the first reply."""
    game = prepare_replay(load_record_game(record), record)
    return len(open_match(game, record.seed, record.opening)[0].events)


def describe_late_event(record: Record, number: int) -> str:
    """Return a message that this recorded event comes after the end of the replay."""
    return f"event {number} ({record.events[number].move!r}) comes after the end of the match"


def _compare_turns(record: Record, again: Record) -> str | None:
    for number, (was, now) in enumerate(zip(record.turns, again.turns)):
        if was["seat"] != now["seat"]:
            return f"reply {number} is of seat {was['seat']}, but seat {now['seat']} is asked"
        if was["reading"] != now["reading"]:
            return f"reply {number} ({was['text']!r}) is called {was['reading']}, but it is {now['reading']}"
        for name in ("text", "action"):
            if was.get(name) != now.get(name):
                return f"reply {number}: its {name} is {was.get(name)!r}, but seat {now['seat']} gave {now.get(name)!r}"
        if was.get("repaired") != now.get("repaired"):
            repairs = [", ".join(turn.get("repaired", ["nothing"])) or "[]" for turn in (was, now)]
            return f"reply {number} is recorded with {repairs[0]} repaired, but its reader repairs {repairs[1]}"
    return None


def _compare_lengths(record: Record, again: Record, *, whole: bool) -> str | None:
    """Return the first event or reply recorded after the replay's end.

    With `whole`, also return the first missing one."""
    if len(record.turns) > len(again.turns):
        return f"reply {len(again.turns)} comes after the end of the match"
    if len(record.events) > len(again.events):
        return describe_late_event(record, len(again.events))
    if whole and len(record.events) < len(again.events):
        number = len(record.events)
        what = "a chance outcome" if again.events[number].seat == CHANCE else f"seat {again.events[number].seat}'s move"
        return f"the record stops before {what} ({number} of {quantity(len(again.events), 'event')})"
    if whole and len(record.turns) < len(again.turns):
        return f"the replies end where seat {again.turns[len(record.turns)]['seat']} is to give one"
    return None


def _compare_load(loaded: Match, played: MatchResult) -> str | None:
    """Return a message if the loaded match ends with different utilities than the played match.

    Then the game's `load` and `apply` are inconsistent."""
    utilities = tuple(loaded.returns())
    if played.ending.seat is not None:
        utilities = compute_forfeit_returns(loaded.game, played.ending.seat, utilities)
    if utilities != tuple(played.utilities):
        return f"the events, loaded, pay {list(utilities)}, but played again they pay {list(played.utilities)}"
    return None
