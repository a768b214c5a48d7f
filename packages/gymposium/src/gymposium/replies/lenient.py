"""Finding moves in replies that lack the form requested by the prompt.

The *answer* is the reply without its thoughts (`gymposium.replies.thoughts`). A *mark* is a place in the answer where a
move is marked, in one of these ways:

- `<move>b2</move>` in any case, or an unclosed `<move>b2`.
- `{"move": "b2"}` in any case, possibly with other keys, in a code fence or in text. The move may be a tool call.

Only marks count: prose neither makes nor withdraws a move. An unclosed mark counts only if it is the last mark. If any
mark holds a move of the game, marks with other text, such as `<move>your move</move>`, are ignored. If two counted
marks hold different moves, the reply has no move.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from gymposium.replies.delimiters import strip_turn_tokens, unwrap_answer
from gymposium.replies.thoughts import SplitReply, remove_thoughts
from gymposium.util.strict_json import parse_strict_json

Repair = Literal["thoughts", "text", "fence", "json", "tags"]
"""What was wrong with a reply.

`thoughts`, `text` or a code `fence` surround the move, or the move is in `json` or `tags` that were not requested or
are malformed."""
REPAIRS: tuple[Repair, ...] = get_args(Repair)

_TAG = re.compile(r"<[ \t]*+(?P<slash>/?)[ \t]*+move[ \t]*+>", re.IGNORECASE)
_BEGINNING = re.compile(rf"(?P<tag>{_TAG.pattern})|(?P<object>\{{(?=\s*+\"))", re.IGNORECASE)
"""Pattern for the possible beginnings of a mark."""
_MOST_BROKEN = 100
"""Maximum number of malformed objects to try. Each takes time proportional to the answer's length."""
_EXAMPLE = re.compile(r"[\s.…]*")
_QUOTED_TAG = re.compile(r"`</?move[ \t]*>`(?!\w)", re.IGNORECASE)
"""A tag that is only mentioned: "the `<move>` tag"."""
_JSON = json.JSONDecoder(parse_int=str, parse_float=str)
"""A decoder that finds the end of a value."""
_TOLERANT_JSON = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)
_ESCAPE = re.compile(r'(\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_BACKSLASH = "\ufdd0"
"""Placeholder for a backslash that escapes nothing. It is a single noncharacter, so positions do not change."""

_FENCE = re.compile(r"(?:`{3,}|~{3,})[\w.+-]*")
_INFO = re.compile(r"[^\S\n]*+[\w.+-]*+[^\S\n]*+\n")
"""The rest of a fence's opening line, such as `json`."""

_LONGEST_DECORATED = 1000
_MOST_LAYERS = 5
"""Maximum number of nested fences, tags and boxes to remove from a move."""
_TWINS = str.maketrans({**dict.fromkeys("‐‑‒–—−", "-"), "⁄": "/", "×": "x"})
"""Typographic variants that models write in moves, such as `all‑in` or `2×3`, with their replacements."""
_SPACING = re.compile(r"(?<!\d) | (?!\d)")
"""A space without meaning: `e2 e4` is `e2e4`, but `bid 1 2` is not `bid 12`."""
_INVISIBLE = "\ufeff\u200b\u2060"
_DECORATION = re.compile(
    r"""(?P<quote>\*\*|__|\$\$?|["'`*_])(?P<quoted>.+)(?P=quote)|(?P<sentence>.+)[.。]"""
    r"""|(?:\[(?=.+\])|\((?=.+\))|[“„«‘「『【《](?=.+[”“»’」』】》])|\\\((?=.+\\\))|\\(?:text|math)\w{0,4}\{(?=.+\}))(?P<enclosed>.+?)(?:\]|\)|[”“»’」』】》]|\\\)|\})"""
    r"|[*_#\s]*(?:(?:my|the|final|best) )*(?:move|answer)[*_]*(?:\s*[:：][*_]*|[ \t\r]*\n)(?P<named>.+)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class MoveMark:
    """A mark in an answer."""

    start: int
    end: int
    form: Literal["tags", "json"]
    text: str
    """The move, with its whitespace."""
    is_complete: bool = True
    is_exact: bool = False
    """Whether the mark has exactly the form that a prompt requests."""

    @property
    def is_example(self) -> bool:
        """Whether the mark only shows the form, with a blank or an ellipsis for the move."""
        return _EXAMPLE.fullmatch(self.text) is not None


def find_marks(answer: str) -> Iterator[MoveMark]:
    """Yield the marks in an answer, in order, in linear time."""
    at = broken = 0
    masked = cache(lambda: mask_stray_backslashes(answer))
    while beginning := _BEGINNING.search(answer, at):
        start, at = beginning.span()
        if beginning["tag"]:
            is_quoted = start > 0 and _QUOTED_TAG.match(answer, start - 1) is not None
            mark = None if beginning["slash"] or is_quoted else _parse_tag(answer, beginning)
            at = mark.end if mark is not None and mark.is_complete else at
        elif broken < _MOST_BROKEN:
            mark, end = _parse_object(answer, start, masked)
            broken += end is None
            at = end or at
        else:
            mark = None
        if mark is not None:
            yield mark


def find_final_mark(answer: str, move: Callable[[str], str | None] = str.strip) -> MoveMark | None:
    """Return the mark that holds an answer's move, or None if the answer has no move.

    `move` is a function that returns the move for a mark's text, or None if the text is not a move."""
    marks = [mark for mark in find_marks(answer) if not mark.is_example]
    counted = [mark for mark in marks if mark.is_complete or mark is marks[-1]]
    moves = [(mark, found) for mark in counted if (found := move(mark.text)) is not None]
    moves = moves or [(mark, mark.text.strip()) for mark in counted]
    return moves[-1][0] if len({found for _, found in moves}) == 1 else None


@dataclass(frozen=True, slots=True)
class FoundMove:
    """A move found in a reply that lacks the requested form."""

    move: str
    """The move's text, with whitespace."""
    repairs: set[Repair]


def find_move(
    answer: SplitReply, form: str, move: Callable[[str], str | None] = str.strip, *, is_free_text: bool = False
) -> FoundMove | None:
    """Return an answer's marked move with the repairs other than `thoughts`, or None if there is no move.

    `form` is the form that the prompt requests, and `move` is as in `find_final_mark`. Free text must be read
    completely."""
    text = answer.text
    mark = find_final_mark(text, move)
    if mark is None or mark.start < answer.certain or (is_free_text and not _is_whole(text, mark)):
        return None
    is_fenced, is_alone = _inspect_surroundings(text, mark)
    if answer.ends_with_closing and not is_alone:
        return None
    needed: dict[Repair, bool] = {
        "text": not is_alone,
        "fence": is_fenced,
        mark.form: mark.form != form or not mark.is_exact,
    }
    return FoundMove(mark.text, {name for name, is_needed in needed.items() if is_needed})


def index_moves(legal: Sequence[str]) -> dict[str, list[str]]:
    """Group the legal moves by normalized text (case, spacing and typography removed), for `find_legal`."""
    moves = defaultdict[str, list[str]](list)
    for move in legal:
        moves[_fold(move)].append(move)
    return moves


def find_legal(text: str, moves: Mapping[str, Sequence[str]]) -> str | None:
    """Return the legal move that equals a text, or else the only legal move that differs just in case, spacing or
    typography."""
    equal = moves.get(_fold(text), ())
    return text if text in equal else equal[0] if len(equal) == 1 else None


def _fold(text: str) -> str:
    if len(text) > _LONGEST_DECORATED:  # no move, and the time to normalize it may grow with the square
        return text
    spaced = " ".join(unicodedata.normalize("NFKC", text).translate(_TWINS).split())
    return _SPACING.sub("", spaced).casefold()


def _is_whole(answer: str, final: MoveMark) -> bool:
    """Return whether all marks are complete and the final mark is neither inside nor before a thought."""
    marks = [*find_marks(answer)]
    before, after = answer[: final.start].strip(), answer[final.end :].strip()
    if not all(mark.is_complete for mark in marks) or _TAG.search(after) or remove_thoughts(after) != after:
        return False
    return remove_thoughts(before) == before or (len(marks) == 1 and remove_thoughts(f"{before}\n.").endswith("."))


def unwrap_fence(text: str) -> str:
    """Return the content of a text that is a single code fence, or else the text."""
    fence = re.match("`{3,}|~{3,}", text)
    inside = text[fence.end() :].removesuffix(fence[0]) if fence else text
    if fence is None or len(text) - len(inside) < 2 * len(fence[0]) or fence[0][:3] in inside:
        return text
    info = _INFO.match(inside)
    return inside[info.end() if info else 0 :].strip()


def strip_decoration(text: str) -> tuple[str, set[Repair]]:
    """Strip the decoration that models write around a move, and return the move and the repairs.

    Decoration is a code fence, tags, a box, control tokens, emphasis, quotation marks, a period, `Move:` or invisible
    characters. Line breaks within a call's JSON are also removed."""
    bare, repairs = text.strip(), set[Repair]()
    for _ in range(_MOST_LAYERS):
        outer = bare
        if (unfenced := unwrap_fence(outer)) != outer:
            repairs.add("fence")
        if (bare := unwrap_answer(strip_turn_tokens(unfenced))) != unfenced:
            repairs.add("text")
        mark = next(find_marks(bare), None)
        if mark is not None and mark.is_complete and (mark.start, mark.end) == (0, len(bare)):
            bare = mark.text.strip()
            repairs.add(mark.form)
        if bare == outer:
            break
    joined = _put_objects_on_lines(bare)
    if joined is not None:
        return joined, {*repairs, "json"}
    if len(bare) > _LONGEST_DECORATED:
        return bare, repairs
    plain = bare.strip(_INVISIBLE).strip()
    while decoration := _DECORATION.fullmatch(plain):
        inside = decoration["quoted"] or decoration["sentence"] or decoration["enclosed"] or decoration["named"]
        plain = unwrap_answer(inside.strip())
    return plain, {*repairs, "text"} if plain != bare else repairs


def _parse_tag(answer: str, tag: re.Match[str]) -> MoveMark:
    """Return the mark that starts with this tag."""
    following = _TAG.search(answer, tag.end())
    is_complete = following is not None and following["slash"] == "/"
    text = answer[tag.end() : following.start() if following else None]
    end = following.end() if following and is_complete else tag.end() + len(text)
    is_exact = is_complete and tag[0] == "<move>" and answer.startswith("</move>", tag.end() + len(text))
    return MoveMark(tag.start(), end, "tags", text, is_complete, is_exact)


def _find_object_end(answer: str, start: int, masked: Callable[[], str]) -> tuple[int, bool]:
    """Return the end of an object, and whether it is valid JSON without the repair of `mask_stray_backslashes`.

    Raises `json.JSONDecodeError`, or `RecursionError` for objects that are nested too deeply."""
    try:
        return _JSON.raw_decode(answer, start)[1], True
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Invalid"):
            raise
    return _TOLERANT_JSON.raw_decode(masked(), start)[1], False


def mask_stray_backslashes(text: str) -> str:
    """Replace backslashes that escape nothing in JSON, such as those in LaTeX, with placeholders of the same length.

    `load_object` restores the backslashes."""
    return text if _BACKSLASH in text else _ESCAPE.sub(lambda escape: escape[1] or _BACKSLASH, text)


def load_object(text: str) -> dict[str, Any]:
    """Parse a JSON object whose strings may contain line breaks. Raises `ValueError` for other text."""
    value: dict[str, Any] = parse_strict_json(text, any_integer=True, raw_lines=True)
    return {key: move.replace(_BACKSLASH, "\\") if isinstance(move, str) else move for key, move in value.items()}


def _parse_object(answer: str, start: int, masked: Callable[[], str]) -> tuple[MoveMark | None, int | None]:
    """Return the mark for the object that starts at a brace, and the object's end.

    The mark is None for an object without a move. The end is None without an object."""
    try:
        end, is_valid = _find_object_end(answer, start, masked)
        value = load_object((answer if is_valid else masked())[start:end])
    except (ValueError, RecursionError):
        return None, None
    match [move for key, move in value.items() if key.lower() == "move"]:
        case [int(move)] if not isinstance(move, bool):
            return MoveMark(start, end, "json", str(move)), end
        case [str(move)]:
            is_exact = is_valid and len(value) == 1 and "move" in value
            return MoveMark(start, end, "json", move, is_exact=is_exact), end
        case [{"name": str(), "arguments": dict()} as call]:
            return MoveMark(start, end, "json", json.dumps(call, ensure_ascii=False)), end
    return None, end


def _inspect_surroundings(answer: str, mark: MoveMark) -> tuple[bool, bool]:
    """Return whether a mark fills a code fence, and whether the answer contains nothing else."""
    before, after = answer[: mark.start].strip(), answer[mark.end :].strip()
    head, _, line = before.rpartition("\n")
    is_fenced = _FENCE.fullmatch(line) is not None and after.startswith(("```", "~~~"))
    if is_fenced:
        before, after = head.strip(), after.lstrip("`~").strip()
    return is_fenced, not before and not after


def _put_objects_on_lines(text: str) -> str | None:
    """Rewrite each JSON object in a text as one line. Returns None for other text, and if nothing changes."""
    lines, at = [], 0
    while text.startswith("{", at):
        try:
            _, end = _JSON.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            return None
        lines.append(text[at:end].replace("\r", "").replace("\n", " "))
        while text[end : end + 1].isspace():
            end += 1
        at = end
    joined = "\n".join(lines)
    return joined if at == len(text) and joined != text else None
