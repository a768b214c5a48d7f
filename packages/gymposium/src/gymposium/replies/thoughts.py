"""Finding thoughts in language models' replies, which chat templates or the models' habits delimit."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from gymposium.replies.delimiters import (
    ASSISTANT_TURN,
    BRACKET_CLOSING,
    BRACKET_TOKENS,
    FIRST,
    HEADINGS,
    LONGEST_FIRST,
    LONGEST_THOUGHT_DELIMITER,
    PAIRS,
    PLAIN_TURN,
    THOUGHT,
    THOUGHT_NAME,
    TOKEN_STYLES,
    TURN_END,
    USER_TURN,
)

_UNSTRAY = ("fence", "details", "turn", "granite")
"""Styles whose closing delimiters are ignored without an opening delimiter."""
_FINAL = ("gpt_oss", "message")
"""Styles whose closing delimiters start the answer, even without thoughts."""
_NAMED_STYLES = ("tag", "bracket", "details", "fence")
"""Styles whose delimiters contain a name."""
_BLANK = re.compile(r"[\s.…]*")
_BLANK_INLINE = re.compile(r"[ \t.…]*")
_VISIBLE = re.compile(r"\S")
_SPACE = re.compile(r"\s*+")
_LINE_END = re.compile(r"[ \t\r]*+(?:\n|\Z)")


class _OpenThoughts:
    """A stack of the thoughts that are open at one point in a reply."""

    def __init__(self, reply: str) -> None:
        self._reply = reply
        self._open: list[tuple[str, str]] = []
        self._counts: Counter[str | tuple[str, str]] = Counter()
        closings = BRACKET_CLOSING.finditer(reply) if "[" in reply else ()
        self._last_closing = {_normalize_name(closing["name"]): closing.start() for closing in closings}

    def __bool__(self) -> bool:
        return bool(self._open)

    def has(self, style: str) -> bool:
        return self._counts[style] > 0

    def push(self, style: str, name: str) -> None:
        self._open.append((style, name))
        self._counts.update([style, (style, name)])

    def pop(self, style: str, name: str, *, outermost: bool = False) -> None:
        """Close the innermost or outermost thought with this style and name, or else with this style, and all thoughts
        inside it.

        The style `message` closes all thoughts."""
        if style == "message":
            self._open.clear()
            self._counts.clear()
        wanted = (style, name) if self._counts[style, name] else style
        while self._counts[wanted] and self._open:
            last = self._open.pop()
            self._counts.subtract([last[0], last])
            if wanted in (last, last[0]) and not outermost:
                return

    def parse(self, delimiter: re.Match[str]) -> tuple[str, str, bool] | None:
        """Return a delimiter's style and name, and whether it closes.

        Returns None if it does not delimit thoughts, for example if it is a fence around something else."""
        style = delimiter.lastgroup or ""
        if style == "turn":
            return ("clova", "", True) if self.has("clova") else None
        if style == "fence":
            if not self.has(style) and not THOUGHT_NAME.fullmatch(delimiter["info"]):
                return None
            return style, "", not delimiter["info"]
        closes = delimiter[f"{style}_closes"] is not None
        if style in HEADINGS and not closes and HEADINGS[style].search(self._reply) is None:
            return None
        if style == "granite" and closes and not self.has(style):
            return None
        if style == "details":
            return (style, "", closes) if self.has(style) or delimiter["details_thinks"] is not None else None
        name = "" if style in PAIRS else _normalize_name(delimiter[f"{style}_name"])
        if style == "bracket" and not closes and delimiter[0] not in BRACKET_TOKENS:
            return (style, name, closes) if self._last_closing.get(name, -1) > delimiter.start() else None
        return style, name, closes


def _normalize_name(name: str) -> str:
    return name.rpartition("|")[2].lower()


@dataclass(frozen=True, slots=True)
class SplitReply:
    """A reply, split into thoughts and answer."""

    text: str
    """The answer, stripped; empty if a thought is unclosed or nothing follows the last thought."""
    thoughts: str = ""
    """The thoughts, without delimiters."""
    certain: int = 0
    """Index in `text` where the last thought or turn ends. A move before it is uncertain."""
    ends_with_closing: bool = False
    """Whether a closing delimiter was removed from the end."""


def find_answer(reply: str) -> SplitReply:
    """Split a reply into thoughts and answer.

    Models quote delimiters in their thoughts, and servers without a reasoning parser drop the first delimiter. So
    thoughts nest, and a delimiter closes the innermost thought with its name, or else with its style. At the end of a
    line it closes the outermost one, because the others were only named, unless it ends a quotation such as
    `<think></think>`. If a delimiter closes nothing, or the first thought, all earlier text is part of the thought.
    Text stays in the answer if it comes before a blank thought, between later thoughts, or before another assistant
    turn."""
    reply = reply.strip()
    open_thoughts, kept, thoughts = _OpenThoughts(reply), list[str](), list[str]()
    lost = at = start = inside = innermost = 0
    has_thoughts = False
    for delimiter in THOUGHT.finditer(reply):
        if delimiter.lastgroup == "turn" and not open_thoughts:
            kept.append(reply[at : delimiter.start()])
            has_thoughts, at = True, delimiter.end()
            continue
        if (parsed := open_thoughts.parse(delimiter)) is None:
            continue
        style, name, closes = parsed
        if not closes:
            innermost = delimiter.end()
            if not open_thoughts:
                start, inside = delimiter.span()
            if style not in PAIRS or not open_thoughts.has(style):
                open_thoughts.push(style, name)
            continue
        if not open_thoughts:
            kept.clear()
            thoughts.clear()
            lost = delimiter.start()
        else:
            ends_line = name != "" and _LINE_END.match(reply, delimiter.end()) is not None
            is_quoted = _BLANK_INLINE.fullmatch(reply, innermost, delimiter.start()) is not None
            open_thoughts.pop(style, name, outermost=ends_line and not is_quoted)
            if open_thoughts:
                continue
            if has_thoughts or _BLANK.fullmatch(reply, inside, delimiter.start()):
                kept.append(reply[at:start])
            else:
                thoughts.append(reply[at:start])
            thoughts.append(reply[inside : delimiter.start()])
        has_thoughts, at = True, delimiter.end()
    thoughts.insert(0, reply[:lost])
    rest = "" if open_thoughts else reply[at:].strip()
    if not rest:
        opened = [reply[at:start], reply[inside:]] if open_thoughts else []
        return SplitReply("", _join_thoughts([*thoughts, *kept, *opened]))
    between = "\n".join([*kept, ""]).lstrip()  # line breaks, so that no new delimiter forms
    return SplitReply(between + rest, _join_thoughts(thoughts), len(between))


def _join_thoughts(thoughts: list[str]) -> str:
    return "\n\n".join(filter(None, map(str.strip, thoughts)))


def remove_thoughts(reply: str) -> str:
    """Return a reply without thoughts or surrounding whitespace (see `find_answer`)."""
    return find_answer(reply).text


def find_text(reply: str, *, is_marked: bool) -> SplitReply:
    """Split free text from the thoughts before it.

    Free text may mention delimiters, but must not include thoughts. Leading thoughts are removed. So is all text up to
    a control token that closes thoughts or begins another assistant turn.

    Any other delimiter that closes nothing removes the text before it, under two conditions. It must end a line. It
    must also be the only delimiter, or marks must show where the text is (`is_marked`).

    The answer is empty if a thought is unclosed. Without marks, it is also empty if a delimiter in it closes thoughts,
    or opens them at the start of a line."""
    reply = reply.strip()
    start = _find_text_start(reply, is_marked=is_marked)
    thoughts = reply[:start]
    return SplitReply(reply[len(thoughts) :], find_answer(thoughts).thoughts)


def _find_text_start(reply: str, *, is_marked: bool) -> int | None:
    """Return the index where free text begins, or None without free text."""
    open_thoughts, start, has_delimiters, is_single = _OpenThoughts(reply), 0, False, False
    for delimiter in THOUGHT.finditer(reply):
        if delimiter.lastgroup == "turn" and not open_thoughts:
            start = _skip_delimiter(reply, delimiter)
            continue
        if (parsed := open_thoughts.parse(delimiter)) is None:
            continue
        style, name, closes = parsed
        is_leading = delimiter.start() == start
        is_first, has_delimiters = not has_delimiters, True
        if is_single:
            return None
        if not closes:
            if is_leading or open_thoughts or (style in TOKEN_STYLES and not is_marked):
                if style not in PAIRS or not open_thoughts.has(style):
                    open_thoughts.push(style, name)
            elif not is_marked and _begins_line(reply, delimiter.start()):
                return None
            continue
        if open_thoughts:
            open_thoughts.pop(style, name)
            if open_thoughts:
                continue
        elif not is_leading and style not in TOKEN_STYLES:
            ends_line = _LINE_END.match(reply, delimiter.end()) is not None
            if not is_marked and not (is_first and ends_line):
                return None
            if not ends_line:
                continue
            is_single = not is_marked
        start = _skip_delimiter(reply, delimiter)
    return None if open_thoughts else start


def _skip_delimiter(reply: str, delimiter: re.Match[str]) -> int:
    """Return the index of the text after a delimiter."""
    space = _SPACE.match(reply, delimiter.end())
    return space.end() if space else delimiter.end()


def _begins_line(reply: str, at: int) -> bool:
    """Return whether only spaces precede an index in its line, looking back 100 characters."""
    before = reply[max(0, at - 100) : at]
    return not before.rpartition("\n")[2].strip() and ("\n" in before or at <= 100)


def find_leading_thoughts(reply: str, searched: int = 0) -> tuple[int, int, int] | None:
    """Return the start and end of a reply's leading thoughts, without delimiters, and the index after them.

    Returns None without leading thoughts. Thoughts end at the first closing delimiter of their style, or else at the
    end of the reply. The caller knows that the text before `searched` has no such delimiter."""
    text = reply.lstrip()
    blank = len(reply) - len(text)
    if (opening := THOUGHT.match(text)) is None:
        return None
    open_thoughts = _OpenThoughts(text if opening.lastgroup in ("bracket", *HEADINGS) else "")
    if (parsed := open_thoughts.parse(opening)) is None or parsed[2]:
        return None
    open_thoughts.push(*parsed[:2])
    for delimiter in THOUGHT.finditer(text, max(opening.end(), searched - blank)):
        closing = open_thoughts.parse(delimiter)
        if closing is not None and closing[0] == parsed[0] and closing[2]:
            return blank + opening.end(), blank + delimiter.start(), blank + delimiter.end()
    return blank + opening.end(), len(reply), len(reply)


def may_begin_thoughts(reply: str) -> bool:
    """Return whether a growing reply begins with a thought delimiter, or may do so once it is longer."""
    text = reply.lstrip()
    if len(text) < LONGEST_FIRST or THOUGHT.match(text) is not None:
        return True
    return len(text) < LONGEST_THOUGHT_DELIMITER and FIRST.match(text) is not None


def find_trailing_thoughts(reply: str) -> int | None:
    """Return the index of the first thought if all thoughts are named and closed.

    Returns None if there are other delimiters of thoughts or turns, or if the thought starts within a line of text."""
    open_thoughts, first = _OpenThoughts(reply), None
    for delimiter in THOUGHT.finditer(reply):
        if (parsed := open_thoughts.parse(delimiter)) is None:
            if delimiter.lastgroup == "turn":
                return None
            continue
        style, name, closes = parsed
        if style not in _NAMED_STYLES or (closes and not open_thoughts):
            return None
        if closes:
            open_thoughts.pop(style, name)
        else:
            open_thoughts.push(style, name)
            first = delimiter.start() if first is None else first
    if open_thoughts or first is None:
        return None
    is_set_off = _begins_line(reply, first) or reply[:first].rstrip(" ")[-1:] in (">", "}", "`", "*")
    return first if is_set_off else None


def remove_stray_closing(reply: str) -> str:
    """Remove a closing thought delimiter from the end of a reply."""
    stripped = reply.rstrip()
    for delimiter in THOUGHT.finditer(stripped, max(0, len(stripped) - LONGEST_THOUGHT_DELIMITER)):
        style = delimiter.lastgroup
        if delimiter.end() == len(stripped) and style not in _UNSTRAY and delimiter[f"{style}_closes"] is not None:
            return stripped[: delimiter.start()]
    return reply


def cut_to_first_turn(reply: str) -> str:
    """Return the first turn of a reply that continues with invented turns, or "" if it may be part of a thought.

    A turn begins with a control token. Within a thought, such a token counts as quoted unless an assistant turn
    follows."""
    user = USER_TURN.search(reply)
    if user is None:
        return reply
    first, rest = reply[: user.start()], reply[user.start() :]
    if _check_balance(first)[0]:
        return "" if ASSISTANT_TURN.search(rest) else reply
    return "" if _check_balance(rest)[1] else first


def find_plain_turn(reply: str, marks: Iterable[tuple[int, int]] | None) -> int | None:
    """Return the index of the first line outside thoughts that begins an invented turn, such as `User:`, or None.

    The line must come after a mark outside thoughts. `marks` are (start, end) pairs. If they are None, the line must
    come after any text outside thoughts."""
    turns = [turn.start() for turn in PLAIN_TURN.finditer(reply)]
    spans = _find_answer_spans(reply) if turns else []
    if marks is None:
        begin = next((text.start() for span in spans if (text := _VISIBLE.search(reply, *span))), None)
    else:
        begin = next((end for start, end in marks if _is_within(start, spans)), None)
    return next((turn for turn in turns if begin is not None and turn > begin and _is_within(turn, spans)), None)


def _find_answer_spans(reply: str) -> list[tuple[int, int]]:
    """Return the (start, end) spans of a reply outside thoughts."""
    open_thoughts, spans, at = _OpenThoughts(reply), list[tuple[int, int]](), 0
    for delimiter in THOUGHT.finditer(reply):
        if (parsed := open_thoughts.parse(delimiter)) is None:
            continue
        style, name, closes = parsed
        if not closes:
            if not open_thoughts:
                spans.append((at, delimiter.start()))
            open_thoughts.push(style, name)
            continue
        if open_thoughts:
            open_thoughts.pop(style, name)
        elif style not in _FINAL:
            spans.clear()
        if not open_thoughts:
            at = delimiter.end()
    return spans if open_thoughts else [*spans, (at, len(reply))]


def _is_within(index: int, spans: Sequence[tuple[int, int]]) -> bool:
    at = bisect(spans, index, key=itemgetter(0))
    return at > 0 and index < spans[at - 1][1]


def has_invented_turn(reply: str) -> bool:
    """Return whether a reply's turn ends within its leading thoughts and an invented turn follows."""
    thoughts = split_leading_thoughts(reply.strip())[0]
    ended = TURN_END.search(thoughts)
    return ended is not None and (
        "<think>" in thoughts[ended.end() :] or ASSISTANT_TURN.search(thoughts, ended.end()) is not None
    )


def _check_balance(text: str) -> tuple[bool, bool]:
    """Return whether a text ends within a thought, and whether it closes a thought that began before it."""
    open_thoughts, closes_earlier = _OpenThoughts(text), False
    for delimiter in THOUGHT.finditer(text):
        if (parsed := open_thoughts.parse(delimiter)) is None:
            continue
        style, name, closes = parsed
        if not closes:
            open_thoughts.push(style, name)
        elif open_thoughts:
            open_thoughts.pop(style, name)
        else:
            closes_earlier |= style not in _FINAL
    return bool(open_thoughts), closes_earlier


def split_leading_thoughts(reply: str) -> tuple[str, str]:
    """Split a stripped reply into the thoughts in its leading `<think>` tags, and the text after them.

    The text is empty if the tags are unclosed. Without such tags, it is the whole reply."""
    if not reply.startswith("<think>"):
        return "", reply
    thoughts, _, rest = reply.removeprefix("<think>").partition("</think>")
    return thoughts, rest
