"""Readers of replies, which classify a reply's text as *move*, *illegal*, *unparsable* or *cut off*.

A reader also writes the answer instructions for the prompt. Strict readers accept a reply only if it has exactly the
requested form. Lenient readers also find a marked move in other replies, and report what they repaired
(`gymposium.replies.lenient`). Prose is never searched for a move. *Cut off* depends only on the player's finish reason.
Replies over `MAX_REPLY` characters are *unparsable*.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol

from gymposium.errors import BadOption, UnknownName
from gymposium.replies.delimiters import ASSISTANT_TURN, PLAIN_TURN, strip_turn_tokens
from gymposium.replies.lenient import (
    REPAIRS,
    FoundMove,
    Repair,
    find_final_mark,
    find_legal,
    find_marks,
    find_move,
    index_moves,
    load_object,
    mask_stray_backslashes,
    strip_decoration,
    unwrap_fence,
)
from gymposium.replies.thoughts import (
    SplitReply,
    cut_to_first_turn,
    find_answer,
    find_plain_turn,
    find_text,
    find_trailing_thoughts,
    has_invented_turn,
    remove_stray_closing,
    split_leading_thoughts,
)
from gymposium.tasks.tools.calls import format_calls, parse_calls
from gymposium.tasks.tools.reader import ToolsReader, list_tools_readers
from gymposium.tasks.tools.tool import Tool
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import is_encodable

MAX_REPLY = 1_000_000
"""Maximum length of a reply in characters, including thoughts."""

MAX_LISTED = 500
"""Maximum number of legal moves that a rejection lists."""

Kind = Literal["move", "illegal", "unparsable", "cut off"]
KINDS: tuple[Kind, ...] = ("move", "illegal", "unparsable", "cut off")

Wanted = Literal["one legal move", "your text", "one call"]
"""The kind of reply that a game expects: a listed move, free text, or a tool call."""


@dataclass(slots=True)
class Reading:
    """The classification of a reply, with its move."""

    kind: Kind
    move: str | None = None
    """The legal or illegal move; None for other kinds."""
    detail: str = ""
    """Short reason why the reply is not a tool call; empty in games without tools."""
    repaired: tuple[Repair, ...] = ()
    """Repairs by a lenient reader; () if the reply has the requested form or no move."""

    def reason(self, legal: Sequence[str] | None, move_form: str = "") -> str:
        """Return a message that tells the player why the reply was rejected.

        It lists the legal moves, or describes them by `move_form` (`Observation.move_form`)."""
        allowed = f" Legal moves: {move_form}." if move_form else ""
        if legal and not move_form:
            more = f", … ({len(legal):,} in all)" if len(legal) > MAX_LISTED else ""
            allowed = f" Legal moves: {', '.join(legal[:MAX_LISTED])}{more}."
        if self.kind == "illegal":
            return f"{self.move!r} is not legal now.{allowed}"
        if self.kind == "cut off":
            return f"The reply was cut off before it ended.{allowed}"
        if self.detail:
            return f"The reply is not a call of a tool: {self.detail}."
        return f"The reply could not be read.{allowed}"


class Reader(Protocol):
    """Protocol of readers. A reader defines the form of replies and extracts the move."""

    @property
    def name(self) -> str: ...

    def __hash__(self) -> int: ...

    def instructions(self, style: str, *, wanted: Wanted = "one legal move") -> str:
        """Return the prompt lines that say how to answer."""

    def extract_move(self, reply: str) -> str | None:
        """Return the move's text with its whitespace, or None if the reply lacks the required form."""

    def answer(self, move: str) -> str:
        """Return the canonical reply with this move."""


class MoveReader:
    """A reader for replies that consist of the move only."""

    name = "move"

    def instructions(self, style: str, *, wanted: Wanted = "one legal move") -> str:
        if style == "compact":
            return {"one legal move": "move:", "your text": "answer:", "one call": "call:"}[wanted]
        return f"Answer with {wanted} and nothing else.\n"

    def extract_move(self, reply: str) -> str | None:
        return reply

    def answer(self, move: str) -> str:
        return move


class TagsReader:
    """A reader for replies such as `<think>…</think><move>…</move>`. Thoughts are optional and ignored."""

    name = "tags"

    def instructions(self, style: str, *, wanted: Wanted = "one legal move") -> str:
        if style == "compact":
            return "<think>...</think><move>...</move>"
        return (
            f"Think first if you like, inside <think></think>. Then answer with {wanted} inside <move></move>, and "
            f"nothing else.\n"
        )

    def extract_move(self, reply: str) -> str | None:
        rest = split_leading_thoughts(reply.strip())[1].lstrip()
        if not rest.startswith("<move>") or not rest.endswith("</move>"):
            return None
        move = rest[len("<move>") : -len("</move>")]
        return None if "<move>" in move or "</move>" in move else move

    def answer(self, move: str) -> str:
        return f"<move>{move}</move>"


class JsonReader:
    """A reader for replies that are a JSON object with one key: `{"move": "…"}`."""

    name = "json"

    def instructions(self, style: str, *, wanted: Wanted = "one legal move") -> str:
        form = self.answer('{"name": "...", "arguments": {...}}' if wanted == "one call" else "...")
        noted = ", with the call as text in it" if wanted == "one call" else ""
        return form if style == "compact" else f"Answer with a JSON object and nothing else{noted}: {form}\n"

    def extract_move(self, reply: str) -> str | None:
        try:
            value = parse_strict_json(reply)
        except ValueError:
            return None
        match value:
            case {"move": str(move)} if len(value) == 1:
                return move
        return None

    def answer(self, move: str) -> str:
        return json.dumps({"move": move}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class LenientReader:
    """A reader that requests a strict reader's form, but also finds the move in other replies."""

    strict: Reader

    @property
    def name(self) -> str:
        """The strict reader's name plus `-lenient`."""
        return f"{self.strict.name}-lenient"

    def instructions(self, style: str, *, wanted: Wanted = "one legal move") -> str:
        return self.strict.instructions(style, wanted=wanted)

    def extract_move(self, reply: str) -> str | None:
        submission = self.strict.extract_move(reply)
        found = self.repair(reply) if submission is None else None
        return submission if found is None else found.move

    def answer(self, move: str) -> str:
        return self.strict.answer(move)

    def find_answer(self, reply: str, *, is_free_text: bool) -> SplitReply:
        """Split a reply into answer and thoughts, dropping surrounding control tokens and later turns."""
        reply = self._cut_to_first_turn(reply, is_free_text)
        if not is_free_text and (_is_marked_object(reply) or _has_thoughts_behind_mark(reply)):
            return SplitReply(reply)
        answer = self._split(reply, is_free_text=is_free_text)
        if not answer.text and (ended := remove_stray_closing(reply)) != reply and self._has_marks(is_free_text):
            answer = replace(self._split(ended, is_free_text=is_free_text), ends_with_closing=True)
        return replace(answer, text=strip_turn_tokens(answer.text)) if answer.certain == 0 else answer

    def repair(
        self, reply: str, move: Callable[[str], str | None] = str.strip, *, is_free_text: bool = False
    ) -> FoundMove | None:
        """Return the move in a reply that lacks the strict form, with the repairs.

        Returns None if there is nothing to repair or no move. `move` is as in `find_final_mark`. If free text is
        requested without a mark, marks in it are ignored."""
        answer = self.find_answer(reply, is_free_text=is_free_text)
        bare = self._cut_to_first_turn(reply, is_free_text)
        allowed = split_leading_thoughts(bare)[1].strip() if isinstance(self.strict, TagsReader) else bare
        repairs: set[Repair] = set()
        if strip_turn_tokens(allowed) != answer.text:
            repairs.add("thoughts")
        if bare != reply.strip() or strip_turn_tokens(allowed) != allowed:
            repairs.add("text")
        if self._has_marks(is_free_text):
            found = find_move(answer, self.strict.name, move, is_free_text=is_free_text)
            if found is not None:
                return replace(found, repairs=repairs | found.repairs)
        if answer.ends_with_closing:
            return None
        content = self.strict.extract_move(unwrapped := unwrap_fence(answer.text))
        if unwrapped != answer.text:
            repairs.add("fence")
        return FoundMove(content, repairs) if content is not None and repairs else None

    def _cut_to_first_turn(self, reply: str, is_free_text: bool) -> str:
        """Return the first turn of a reply, without surrounding control tokens.

        Free text may mention such tokens. So all turns are returned unless the first turn has a complete mark, or bare
        text is followed by another assistant turn."""
        reply = self._cut_plain_turn(strip_turn_tokens(reply), is_free_text)
        first = strip_turn_tokens(cut_to_first_turn(reply))
        if not is_free_text or first == reply:
            return first
        if not self._has_marks(is_free_text):
            return first if ASSISTANT_TURN.search(reply, len(first)) else reply
        mark = find_final_mark(first)
        return first if mark is not None and mark.is_complete else reply

    def _cut_plain_turn(self, reply: str, is_free_text: bool) -> str:
        """Cut a reply after its answer, at the first line such as `User:`.

        The answer is a complete mark. If the move is requested without a mark and the reply has no mark, any text
        counts as an answer."""
        if PLAIN_TURN.search(reply) is None or not self._has_marks(is_free_text):
            return reply
        marks = [(mark.start, mark.end) for mark in find_marks(reply) if mark.is_complete and not mark.is_example]
        if not marks and not isinstance(self.strict, MoveReader):
            return reply
        return reply[: find_plain_turn(reply, marks or None)].rstrip()

    def _split(self, reply: str, *, is_free_text: bool) -> SplitReply:
        if is_free_text:
            return find_text(reply, is_marked=self._has_marks(is_free_text))
        return find_answer(reply)

    def _has_marks(self, is_free_text: bool) -> bool:
        """Return whether moves may be marked. In free text that is requested without a mark, they may not."""
        return not (is_free_text and isinstance(self.strict, MoveReader))


def _is_marked_object(reply: str) -> bool:
    """Return whether a reply is a JSON object with the key `move`, ignoring a code fence around it."""
    text = unwrap_fence(reply)
    if not text.startswith("{"):
        return False
    try:
        value = load_object(mask_stray_backslashes(text))
    except ValueError:
        return False
    return any(key.lower() == "move" for key in value)


def _has_thoughts_behind_mark(reply: str) -> bool:
    """Return whether a reply's thoughts only explain its move.

    Such thoughts are named and closed, they follow a complete mark, and no mark comes after they begin."""
    reply = reply.strip()
    if (start := find_trailing_thoughts(reply)) is None:
        return False
    mark = find_final_mark(reply[:start])
    return mark is not None and mark.is_complete and next(find_marks(reply[start:]), None) is None


READERS: dict[str, Reader] = {r.name: r for r in (MoveReader(), TagsReader(), JsonReader())}
"""Strict readers that work in every game, by name."""
LENIENT: dict[str, LenientReader] = {r.name: r for r in map(LenientReader, READERS.values())}
"""Lenient readers that work in every game, by name."""
GENERAL: dict[str, Reader] = READERS | LENIENT
"""All readers that work in every game, by name."""
_ALL = GENERAL | {r.name: r for r in list_tools_readers()}


def get_reader(name: str) -> Reader:
    """Return the reader with this name. Raises `UnknownName`, or `BadOption` if `name` is not text."""
    if not isinstance(name, str):
        raise BadOption(f"Unknown reply={name!r}. Use {', '.join(map(repr, READERS))}.")
    try:
        return _ALL[name]
    except KeyError:
        raise UnknownName("reply form", name, _ALL) from None


def get_lenient_reader(how: Reader) -> LenientReader:
    """Return the lenient version of a strict reader. Raises `BadOption` for a `ToolsReader`."""
    for one in LENIENT.values():
        if how in (one, one.strict):
            return one
    raise BadOption(f"reading=lenient: tool calls ({how.name}) are read strictly. Use reading=strict.")


def bind_reader(how: Reader, tools: tuple[Tool, ...], game: str) -> Reader:
    """Return the reader for a game with these tools. Raises `BadOption` for a `ToolsReader` without tools."""
    if not isinstance(how, ToolsReader):
        return how
    if not tools:
        raise BadOption(f"reply={how.name}: {game} has no tools. Use {', '.join(map(repr, READERS))}.")
    return how.bind(tools)


def split_thoughts(reply: str, how: Reader, *, is_free_text: bool) -> tuple[str, str]:
    """Split a reply into the thoughts that its reader ignores and the answer.

    If the reader finds no thoughts, the answer is the whole reply."""
    thoughts, answer = "", reply
    if len(reply) <= MAX_REPLY and isinstance(how, LenientReader):
        found = how.find_answer(reply, is_free_text=is_free_text)
        thoughts, answer = found.thoughts, found.text
    elif isinstance(how, TagsReader | ToolsReader):
        thoughts, answer = map(str.strip, split_leading_thoughts(reply.strip()))
    return (thoughts, answer) if thoughts else ("", reply)


def read_reply(
    text: str,
    legal: Sequence[str] | None,
    how: Reader,
    pattern: re.Pattern[str] | None,
    *,
    cut_off: bool = False,
    calls: bool = False,
) -> Reading:
    """Read a reply.

    With listed moves, whitespace around the move is ignored. Text that is not a legal move is *illegal* if it matches
    `pattern`, the game's move pattern, or if `pattern` is None.

    Otherwise it is *unparsable*. In free text (`legal` is None), whitespace counts, and every text that is not blank is
    a move. Text with a lone surrogate cannot be encoded and is *unparsable*. With `calls`, only tool calls are moves,
    in canonical form (`gymposium.tasks.tools.format_calls`)."""
    if type(how) is LenientReader:
        return _read_leniently(text, legal, how, pattern, cut_off=cut_off, calls=calls)
    if cut_off:
        return Reading("cut off")
    submission = how.extract_move(text) if len(text) <= MAX_REPLY else None
    if submission is None or not (move := submission.strip()):
        return Reading("unparsable")
    if legal is None:
        if calls:
            try:
                submission = format_calls(parse_calls(submission))
            except ValueError as error:
                return Reading("unparsable", detail=str(error))
        return Reading("move", submission) if is_encodable(submission) else Reading("unparsable")
    if move in legal:
        return Reading("move", move)
    if pattern is None or pattern.fullmatch(move):
        return Reading("illegal", move)
    return Reading("unparsable")


def _read_leniently(
    text: str,
    legal: Sequence[str] | None,
    how: LenientReader,
    pattern: re.Pattern[str] | None,
    *,
    cut_off: bool,
    calls: bool,
) -> Reading:
    """Read a reply strictly. If it has no move, or its move may contain thoughts, repair it."""
    reading = read_reply(text, legal, how.strict, pattern, cut_off=cut_off, calls=calls)
    is_free_text = legal is None and not calls
    if isinstance(how.strict, TagsReader) and reading.kind in ("move", "illegal") and has_invented_turn(text):
        return Reading("unparsable")
    is_anything = is_free_text and isinstance(how.strict, MoveReader)
    if cut_off or len(text) > MAX_REPLY or (_is_certain(reading, pattern) and not is_anything):
        return reading
    undressed = partial(_read_decorated, legal=legal, moves=index_moves(legal or ()), pattern=pattern, calls=calls)

    def read_mark(mark: str) -> str | None:
        reading = undressed(mark)[0]
        return reading.move if _is_certain(reading, pattern) else None

    found = how.repair(text, is_free_text=True) if is_free_text else how.repair(text, read_mark)
    submission = how.strict.extract_move(text) if found is None else found.move
    if submission is None:
        return reading
    reading, repairs = undressed(submission)
    if reading.kind != "unparsable":
        repairs = repairs if found is None else repairs | found.repairs
        reading.repaired = tuple(repair for repair in REPAIRS if repair in repairs)
    return reading


def _read_decorated(
    text: str,
    legal: Sequence[str] | None,
    moves: Mapping[str, Sequence[str]],
    pattern: re.Pattern[str] | None,
    *,
    calls: bool,
) -> tuple[Reading, set[Repair]]:
    """Read a move's text and return the reading with the repairs: removed decoration, or changed case or whitespace.

    `moves` are the legal moves from `index_moves`."""
    reading = read_reply(text, legal, READERS["move"], pattern, calls=calls)
    if _is_certain(reading, pattern):
        return reading, set()
    bare, repairs = strip_decoration(text)
    again = read_reply(bare, legal, READERS["move"], pattern, calls=calls)
    if _is_certain(again, pattern):
        return again, repairs
    if folded := find_legal(text, moves) or find_legal(bare, moves):
        return Reading("move", folded), {*repairs, "text"}
    return reading, set()


def _is_certain(reading: Reading, pattern: re.Pattern[str] | None) -> bool:
    """Return whether a reading is a legal move, or an illegal text that looks like a move."""
    return reading.kind == "move" or (reading.kind == "illegal" and pattern is not None)


def read_action(action: int, actions: Sequence[int], legal: Sequence[str] | None) -> Reading:
    """Read a reply that is an index into the game's action space.

    `actions` are the indices of the legal moves, in the order of `legal`."""
    if legal is not None and action in actions:
        return Reading("move", legal[actions.index(action)])
    return Reading("illegal", f"action {action}")
