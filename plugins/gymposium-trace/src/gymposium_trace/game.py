"""The game of code tracing: one program and one reply, which is right or wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gymposium.errors import BadParameter, BadRecord, GymposiumError, IllegalMove, NoSampler, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.games.registry import load_game
from gymposium.plugins.names import format_name, parse_name
from gymposium_trace.sources import open_source
from gymposium_trace.tasks import Task

if TYPE_CHECKING:
    import numpy as np

    from gymposium import GameSpec

_RULES = (
    "Code tracing. You are shown a Python 3 program. Work out what it prints to standard output. Your move is exactly "
    "that output, all of it: every line in order, without comments, quotation marks or a code block around it.\n"
    "Debug prints stand between the lines of the program. dbg(mark, a, b) prints one line: the mark, then the values, "
    "parted by single spaces. Values of the types int, float, str, bool and NoneType are printed as repr() writes "
    "them, and so are lists, tuples and dicts that hold nothing else, up to four inside one another. Any other value, "
    "and one whose repr() is longer than 200 characters, is printed as the name of its type.\n"
    "You score 1 if your answer is right, else 0. Every space, every line break and upper and lower case count, from "
    "the first character of your answer to its last; only the line break at the very end may be left out. An empty "
    "answer scores 0.\n"
)
_RULES_COMPACT = (
    "trace: write this program's exact stdout, nothing else\n"
    "dbg(mark, a, b) prints: mark a b, with repr of int float str bool NoneType and of list tuple dict of these, else "
    "the type's name\n"
)
_EDGE = "-" * 40


class Trace:
    """The game with its source of programs."""

    seats = 1
    utility_range = (0.0, 1.0)
    max_decisions = 1
    num_actions = 0
    tensor_shape: tuple[int, ...] | None = None
    move_pattern: re.Pattern[str] | None = None

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        """Raises `BadParameter` if the source cannot be written in the game's name, or is given with a difficulty."""
        self.spec = spec
        self.params: Mapping[str, Any] = MappingProxyType(dict(params))
        self.name = spec.full_name(params)
        _check_source(params["source"])
        default = next(p.default for p in spec.parameters if p.name == "difficulty")
        if params["source"] != "generated" and params["difficulty"] != default:
            raise BadParameter("difficulty is for generated programs: leave it out if you name a source.")
        self.source = open_source(**params)
        self._task = lru_cache(maxsize=1024)(self.source.draw)  # the matches of a group share their seed

    def rules(self, seat: int, style: Style = "full") -> str:
        return _RULES_COMPACT if style == "compact" else _RULES

    def new(self, seed: int) -> TraceMatch:
        """Draw a program and run it. Raises `NoIsolation` if the source needs isolation that this machine lacks."""
        return TraceMatch(self, self._task(seed), seed)

    def __reduce__(self) -> tuple[Any, ...]:
        return load_game, (self.name,)

    def load(self, events: Sequence[Event], seed: int | None = None) -> TraceMatch:
        """Load a match without running a program: the first event holds the program and its output."""
        if not events:
            if seed is None:
                raise BadRecord("There is no event: the first one must hold the program.")
            return self.new(seed)
        if events[0].seat != CHANCE:
            raise BadRecord("Event 0: the first event must be the program, drawn by chance.")
        match = TraceMatch(self, Task.load(events[0].move), seed, events[0])
        for number, (seat, move) in enumerate(events[1:], start=1):
            try:
                match.apply({seat: move})
            except GymposiumError as error:
                raise BadRecord(f"Event {number}: {error}") from error
        return match


class TraceMatch:
    """One program and the answer to it, if any."""

    def __init__(self, game: Trace, task: Task, seed: int | None, drawn: Event | None = None) -> None:
        self.game, self.task, self.seed = game, task, seed
        self.events: list[Event] = [drawn or Event(CHANCE, task.dump())]

    @property
    def _answer(self) -> str | None:
        return self.events[1].move if len(self.events) > 1 else None

    def to_move(self) -> tuple[int, ...]:
        return (0,) if self._answer is None else ()

    def legal_moves(self, seat: int) -> None:
        return None

    def legal_actions(self, seat: int) -> list[int]:
        return []

    def observe(self, seat: int, style: Style = "full") -> Observation:
        """Return the program and its input; after the end also its output and whether the answer is right."""
        if style == "compact":
            text = self.task.program + (f"stdin:\n{_line(self.task.inputs)}" if self.task.inputs else "")
        else:
            text = f"The program:\n{_EDGE}\n{_line(self.task.program)}{_EDGE}\n"
            if self.task.inputs:
                text += f"Its standard input:\n{_EDGE}\n{_line(self.task.inputs)}{_EDGE}\n"
        return Observation(seat, text + self._outcome(), None)

    def _outcome(self) -> str:
        if self._answer is None:
            return ""
        nearly = ignoring_white_space(self._answer, self.task.truth)
        verdict = "right" if self.returns()[0] else "right but for white space" if nearly else "wrong"
        return (
            f"The answer given:\n{_EDGE}\n{_line(self._answer)}{_EDGE}\n"
            f"It is {verdict}. The program prints:\n{_EDGE}\n{_line(self.task.truth)}{_EDGE}\n"
        )

    def view(self, seat: int) -> str:
        """Return the program, its input and the answer. The output follows from the program and its input."""
        return repr((self.task.program, self.task.inputs, self._answer))

    def tensor(self, seat: int) -> np.ndarray:
        raise GymposiumError("Code tracing has no tensor observation, because a program is text.")

    def apply(self, moves: Mapping[int, str]) -> None:
        if set(moves) != set(self.to_move()):
            raise WrongSeat(moves, self.to_move())
        if not isinstance(moves[0], str):
            raise IllegalMove(0, moves[0], None)
        self.events.append(Event(0, moves[0]))

    def returns(self) -> tuple[float, ...]:
        return (float(self._answer is not None and exact(self._answer, self.task.truth)),)

    def report(self, seat: int) -> dict[str, float]:
        """Return `exact`, which is the return, and `ignoring_white_space`: 1 if the answer is right, else 0.

        Both are 0 before the answer."""
        nearly = ignoring_white_space(self._answer or "", self.task.truth)
        return {"exact": self.returns()[0], "ignoring_white_space": float(nearly)}

    def fork(self, rng: random.Random) -> TraceMatch:
        return self.game.load(self.events)  # no chance is left to draw from rng

    def resample(self, seat: int, rng: random.Random) -> TraceMatch:
        raise NoSampler("Code tracing has no worlds to search, because they would reveal the answer.")


def _line(text: str) -> str:
    """Return the text with a line break at its end."""
    return text if text.endswith("\n") else f"{text}\n"


def _check_source(source: str) -> None:
    """Raise `BadParameter` unless the source can be written in a game's name and read back."""
    name = format_name("trace", {"source": source})
    try:
        kept = parse_name(name)[1]["source"] == source
    except (BadParameter, KeyError):
        kept = False
    if not kept:
        raise BadParameter(
            f"source={source!r} cannot be written in the name of a game, which records need: a path with commas, line "
            "breaks, brackets that do not match or spaces at its ends. Rename the file, or make a link to it."
        )


def exact(answer: str, truth: str) -> bool:
    """Return whether the answer equals the truth, except for a line break at the very end of either.

    An answer of only white space is never right."""
    return answer.removesuffix("\n") == truth.removesuffix("\n") and bool(answer.strip())


def ignoring_white_space(answer: str, truth: str) -> bool:
    """Return whether the answer equals the truth without any white space. An empty answer is never right."""
    return "".join(answer.split()) == "".join(truth.split()) and bool(answer.strip())
