"""Moves in replies that do not have the form that the prompt asks for.

The *answer* is the reply without its thoughts: without `<think>…</think>`, without all text before a `</think>` that
nothing opens, and without all text behind a `<think>` that nothing closes.

The *final moves* are all moves that the answer marks: the text of each complete `<move>…</move>`, and the text under
`move` of each JSON object that fills a code fence. Blank ones do not count. If the final moves differ in more than the
white space around them, the reply has no move; otherwise the last one is taken. Prose is never searched.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from gymposium.strict_json import strict_json

Repair = Literal["thoughts", "text", "fence", "json", "tags"]
"""What was wrong with a reply: `thoughts` before the move, `text` around it, a code `fence` around it, or `json` or
`tags` that were not asked for."""
REPAIRS: tuple[Repair, ...] = get_args(Repair)

_OPEN, _CLOSE = "<move>", "</move>"
_THINK, _THOUGHT = "<think>", "</think>"
_FENCE = re.compile("`{3,}")
_INFO = re.compile(r"[^\S\n]*+([\w+.-]*+)[^\S\n]*+\n")
"""The rest of the line that opens a fence, such as `json`."""


@dataclass(frozen=True, slots=True)
class _Fence:
    """The place of a closed code fence, and of its content."""

    start: int
    end: int
    content: slice
    innermost: bool
    """True if it holds no other fence."""


@dataclass(frozen=True, slots=True)
class FoundMove:
    """A move in an answer."""

    text: str
    """The move, with its white space."""
    mark: Literal["tags", "json"]
    fenced: bool
    """True if it stands in a code fence."""
    alone: bool
    """True if the answer holds nothing else."""


def remove_thoughts(reply: str) -> str:
    """Return the answer of a reply, without white space around it."""
    parts, at = [], 0
    while (start := reply.find(_THINK, at)) >= 0:
        parts.append(reply[at:start])
        end = reply.find(_THOUGHT, start)
        at = len(reply) if end < 0 else end + len(_THOUGHT)
    parts.append(reply[at:])
    return "\n".join(parts).rpartition(_THOUGHT)[2].strip()  # joined by a line break, so that no new tag forms


def find_moves(answer: str) -> list[FoundMove]:
    """Return the final moves of an answer, in order. The time grows with the length of the answer."""
    fences, tagged = _fences(answer), [*_tagged(answer)]
    outer = _outermost(fences)
    fence_starts, tag_starts = [fence.start for fence in outer], [tag[0] for tag in tagged]
    found = []
    for start, end, text in tagged:
        if text.strip():
            at = bisect_left(fence_starts, start) - 1
            around = outer[at] if at >= 0 and end < outer[at].end else None
            alone = len(tagged) == 1 and _is_alone(answer, start, end, around)
            found.append((end, FoundMove(text, "tags", fenced=around is not None, alone=alone)))
    for fence in fences:
        at = bisect_right(tag_starts, fence.start) - 1
        if fence.innermost and not (at >= 0 and fence.end <= tagged[at][1]):
            move = _move_in_json(answer[fence.content])
            if move is not None and move.strip():
                alone = _is_whole(answer, fence.start, fence.end)
                found.append((fence.end, FoundMove(move, "json", fenced=True, alone=alone)))
    return [move for _, move in sorted(found, key=lambda one: one[0])]


def find_final_move(answer: str) -> FoundMove | None:
    """Return the move of an answer, or None if it has none or several different ones."""
    moves = find_moves(answer)
    return moves[-1] if len({move.text.strip() for move in moves}) == 1 else None


def unwrap_fence(answer: str) -> str:
    """Return the content of the code fence that an answer consists of, or the answer if it is none."""
    whole = next((fence for fence in _fences(answer) if _is_whole(answer, fence.start, fence.end)), None)
    return answer if whole is None else answer[whole.content].strip()


def _tagged(answer: str) -> Iterator[tuple[int, int, str]]:
    """The place and text of each complete tagged move. The innermost pair of tags counts."""
    begin = 0
    while (end := answer.find(_CLOSE, begin)) >= 0:
        start = answer.rfind(_OPEN, begin, end)
        begin = end + len(_CLOSE)
        if start >= 0:
            yield start, begin, answer[start + len(_OPEN) : end]


def _fences(answer: str) -> list[_Fence]:
    """The closed code fences, each behind those inside it. A mark with a word such as `json` opens a fence, any other
    one closes the last open fence, if there is one."""
    closed: list[_Fence] = []
    opened: list[tuple[int, int]] = []
    just_opened = False
    for mark in _FENCE.finditer(answer):
        info = _INFO.match(answer, mark.end())
        if opened and (info is None or not info[1]):
            start, begin = opened.pop()
            closed.append(_Fence(start, mark.end(), slice(begin, mark.start()), just_opened))
            just_opened = False
        else:
            opened.append((mark.start(), mark.end() if info is None else info.end()))
            just_opened = True
    return closed


def _outermost(fences: list[_Fence]) -> list[_Fence]:
    """The fences that no other one holds, in order."""
    outer: list[_Fence] = []
    for fence in sorted(fences, key=lambda fence: fence.start):
        if not outer or fence.start >= outer[-1].end:
            outer.append(fence)
    return outer


def _is_alone(answer: str, start: int, end: int, fence: _Fence | None) -> bool:
    """Whether an answer is one tagged move, or one code fence around it."""
    if fence is None:
        return _is_whole(answer, start, end)
    return _is_whole(answer, fence.start, fence.end) and answer[fence.content].strip() == answer[start:end]


def _is_whole(answer: str, start: int, end: int) -> bool:
    return start == 0 and end == len(answer)


def _move_in_json(text: str) -> str | None:
    if '"move"' not in text:
        return None
    try:
        value = strict_json(text)
    except ValueError:
        return None
    move = value.get("move") if isinstance(value, dict) else None
    return move if isinstance(move, str) else None
