"""The game of code tracing: one program and one reply, scored as right or wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gymposium.errors import BadParameter
from gymposium.games.one_reply import OneReplyGame, OneReplyMatch
from gymposium.games.pictures import Picture, draw_code, draw_note
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.plugins.names import format_name, parse_name
from gymposium_trace.sources import open_source
from gymposium_trace.tasks import Task

if TYPE_CHECKING:
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


class Trace(OneReplyGame):
    """The game with its source of programs."""

    task_noun = "program"

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        """Open the source of programs. Raises `BadParameter` if the source cannot be part of a game's name, or if it is
        combined with a difficulty.
        """
        super().__init__(spec, params)
        _check_source(params["source"])
        default = next(p.default for p in spec.parameters if p.name == "difficulty")
        if params["source"] != "generated" and params["difficulty"] != default:
            raise BadParameter("difficulty applies only to generated programs. Omit it when you name a source.")
        self.source = open_source(**params)
        self._task = lru_cache(maxsize=1024)(self.source.draw)  # the matches of a group share their seed

    def rules(self, seat: int, style: Style = "full") -> str:
        return _RULES_COMPACT if style == "compact" else _RULES

    def new(self, seed: int) -> TraceMatch:
        """Draw a program and run it. Raises `NoIsolation` if this machine lacks the isolation that the source needs."""
        task = self._task(seed)
        return TraceMatch(self, task, Event(CHANCE, task.dump()), seed)

    def make_match(self, drawn: Event, seed: int | None) -> TraceMatch:
        return TraceMatch(self, Task.load(drawn.move), drawn, seed)


class TraceMatch(OneReplyMatch):
    """A program and its answer, if any."""

    def __init__(self, game: Trace, task: Task, drawn: Event, seed: int | None) -> None:
        super().__init__(game, drawn, seed)
        self.task = task

    def observe(self, seat: int, style: Style = "full") -> Observation:
        """Return the program and its input. After the end, also return its output and whether the answer is right."""
        if style == "compact":
            text = self.task.program + (f"stdin:\n{_end_line(self.task.inputs)}" if self.task.inputs else "")
        else:
            text = f"The program:\n{_EDGE}\n{_end_line(self.task.program)}{_EDGE}\n"
            if self.task.inputs:
                text += f"Its standard input:\n{_EDGE}\n{_end_line(self.task.inputs)}{_EDGE}\n"
        return Observation(seat, text + self._describe_outcome(), None)

    def draw_picture(self, seat: int) -> Picture:
        """Return the program and its input. After the end, also return its output and the answer up to the first
        difference, and mark the debug print where they diverge.
        """
        lines = self.task.program.rstrip("\n").split("\n")
        parts = [draw_code(lines, current=() if self.answer is None else self._find_divergence(lines))]
        if self.task.inputs:
            parts += [draw_note("Its standard input:"), draw_code(self.task.inputs.rstrip("\n").split("\n"))]
        if self.answer is not None:
            right = "right" if self.returns()[0] else "wrong"
            parts += [
                draw_note(f"The answer given, which is {right}:"),
                draw_code(self.answer.rstrip("\n").split("\n")),
            ]
            parts += [draw_note("The program prints:"), draw_code(self.task.truth.rstrip("\n").split("\n"))]
        return Picture.from_parts(*parts, told=f"A program of {len(lines)} lines")

    def _find_divergence(self, lines: Sequence[str]) -> list[int]:
        """Return the line numbers of the last debug print before answer and output diverge."""
        given, printed = (self.answer or "").rstrip("\n").split("\n"), self.task.truth.rstrip("\n").split("\n")
        same = next(
            (n for n, pair in enumerate(zip(given, printed)) if pair[0] != pair[1]), min(len(given), len(printed))
        )
        if given == printed:
            return []
        marks = [line.split(" ")[0] for line in printed[: same + 1] if line.startswith("__DBG_")]
        return [n for n, line in enumerate(lines, start=1) if marks and f'"{marks[-1]}"' in line]

    def _describe_outcome(self) -> str:
        if self.answer is None:
            return ""
        nearly = is_equal_ignoring_space(self.answer, self.task.truth)
        verdict = "right" if self.returns()[0] else "right but for white space" if nearly else "wrong"
        return (
            f"The answer given:\n{_EDGE}\n{_end_line(self.answer)}{_EDGE}\n"
            f"It is {verdict}. The program prints:\n{_EDGE}\n{_end_line(self.task.truth)}{_EDGE}\n"
        )

    def view(self, seat: int) -> str:
        """Return the program, its input and the answer. The output follows from the program and its input."""
        return repr((self.task.program, self.task.inputs, self.answer))

    def returns(self) -> tuple[float, ...]:
        return (float(self.answer is not None and is_exact(self.answer, self.task.truth)),)

    def report(self, seat: int) -> dict[str, float]:
        """Return `is_exact`, which equals the return, and `is_equal_ignoring_space`: 1 if the answer is right, else 0.

        Both are 0 before the answer.
        """
        nearly = is_equal_ignoring_space(self.answer or "", self.task.truth)
        return {"exact": self.returns()[0], "ignoring_white_space": float(nearly)}


def _end_line(text: str) -> str:
    """Return the text with a trailing line break."""
    return text if text.endswith("\n") else f"{text}\n"


def _check_source(source: str) -> None:
    """Raise `BadParameter` unless the source survives a round trip through the game's name."""
    name = format_name("trace", {"source": source})
    try:
        kept = parse_name(name)[1]["source"] == source
    except (BadParameter, KeyError):
        kept = False
    if not kept:
        raise BadParameter(
            f"source={source!r} cannot be part of a game's name, because the path has commas, line breaks, unmatched "
            "brackets or spaces at its ends. Rename the file, or link to it."
        )


def is_exact(answer: str, truth: str) -> bool:
    """Return whether the answer equals the program's output, apart from a trailing line break. A blank answer is never
    right.
    """
    return answer.removesuffix("\n") == truth.removesuffix("\n") and bool(answer.strip())


def is_equal_ignoring_space(answer: str, truth: str) -> bool:
    """Return whether the answer equals the program's output, ignoring all white space. An empty answer is never
    right."""
    return "".join(answer.split()) == "".join(truth.split()) and bool(answer.strip())
