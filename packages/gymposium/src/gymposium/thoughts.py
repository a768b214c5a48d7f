"""Thoughts in the replies of language models, as their chat templates and habits delimit them."""

from __future__ import annotations

import re
from collections import Counter

_WORDS = "(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflect(?:ion)?|scratch[_-]?pad|analysis|rationale|monologue|cot)"
_NAME = rf"(?:[\w.-]*[:_.-]|ant)?{_WORDS}(?:[_-]?process)?"
"""Names of thoughts, such as `think`, `seed:cot`, `internal_monologue` or `thought_process`."""
_CLOSES = r"/[ \t]*|end_(?:of_)?"
_ATTRIBUTES = r"(?:\s[^<>&]{0,200})?(?<!/)"
_OPENS = "(?:(?:begin|start)_(?:of_)?)?"

_NAMED = (
    rf"(?P<tag>(?:<|&lt;)\|?(?P<tag_closes>{_CLOSES})?{_OPENS}(?P<tag_name>{_NAME}){_ATTRIBUTES}\|?(?:>|&gt;))",
    rf"(?P<bracket>\[(?P<bracket_closes>{_CLOSES})?{_OPENS}(?P<bracket_name>{_NAME})\s*\])",
)
"""Delimiters with a name: `<think>`, `<think kind="x">`, `<|begin_of_thought|>`, `[THINK]`."""

_PAIRS = {
    "kimi": ("◁think▷", "◁/think▷"),
    "medgemma": ("<unused94>", "<unused95>"),
    "gemma": (r"<\|channel>thought", r"<channel\|>"),
    # servers that drop the control tokens leave `analysis` and `assistantfinal`
    "gpt_oss": (
        r"<\|channel\|>(?:analysis|commentary)|(?-i:\A(?:analysis|commentary)(?=[A-Z]))",
        r"<\|channel\|>\s*final[^\n]{0,40}?<\|message\|>|assistantfinal",
    ),
    "granite": (r"\AHere is my thought process:", "Here is my response:"),
    "apriel": (r"\AHere are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]"),
}
"""What opens a thought and what closes it, in the styles of some families of models. These do not nest."""
_TOKENS = _PAIRS.keys() - {"granite"}
"""The styles whose delimiters are control tokens, which text does not hold by chance."""
_PAIRED = [f"(?P<{style}>{opens}|(?P<{style}_closes>{closes}))" for style, (opens, closes) in _PAIRS.items()]

_FENCE = r"(?P<fence>^(?:`{3,}+|~{3,}+)[ \t]*+(?P<info>[\w.+-]*+)[ \t\r]*+$)"
"""A line that opens or closes a fence. A fence whose info is a name of thoughts holds thoughts."""

_DELIMITER = re.compile(
    r"(?=[<&\[◁ah`~])(?:"  # a look at the first character makes the search several times faster
    + "|".join((*_NAMED, *_PAIRED, _FENCE))
    + ")",
    re.IGNORECASE | re.MULTILINE,
)
_NAME_ALONE = re.compile(_NAME, re.IGNORECASE)
_BLANK = re.compile(r"[\s.…]*")
_SPACE = re.compile(r"\s*+")
_LINE_END = re.compile(r"[ \t\r]*+(?:\n|\Z)")
_LONGEST_DELIMITER = 300


class _OpenThoughts:
    """The thoughts that are open at a place in a reply, from the outermost to the innermost."""

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []
        self._counts: Counter[str | tuple[str, str]] = Counter()

    def __bool__(self) -> bool:
        return bool(self._open)

    def has(self, style: str) -> bool:
        return self._counts[style] > 0

    def push(self, style: str, name: str) -> None:
        self._open.append((style, name))
        self._counts.update([style, (style, name)])

    def pop(self, style: str, name: str) -> None:
        """Close the innermost thought with this style and name, or else with this style, and all thoughts in it."""
        wanted = (style, name) if self._counts[style, name] else style
        while self._counts[wanted] and self._open:
            last = self._open.pop()
            self._counts.subtract([last[0], last])
            if wanted in (last, last[0]):
                return


def _parse(delimiter: re.Match[str], open_thoughts: _OpenThoughts) -> tuple[str, str, bool] | None:
    """Return the style and the name of a delimiter, and whether it closes; None for a fence around something else."""
    style = delimiter.lastgroup or ""
    if style == "fence":
        if not open_thoughts.has(style) and not _NAME_ALONE.fullmatch(delimiter["info"]):
            return None
        return style, "", not delimiter["info"]
    name = "" if style in _PAIRS else delimiter[f"{style}_name"].lower()
    return style, name, delimiter[f"{style}_closes"] is not None


def find_answer(reply: str) -> tuple[str, int]:
    """Return a reply without its thoughts and the white space around the rest, and the index in it at which the text
    after the last thought begins. A move before that index is in doubt.

    The rest is empty if a thought is not closed or nothing follows the last thought. Models quote delimiters in their
    thoughts, and servers without a reasoning parser drop the first one. So thoughts nest, a delimiter closes the
    innermost thought of its name or else of its style, and one that closes nothing makes a thought of all text before
    it. So does one that closes the first thought, because text before that thought may have lost its delimiter. Text
    before a blank thought and between later thoughts remains."""
    reply = reply.strip()
    open_thoughts, kept, at, start, inside = _OpenThoughts(), list[str](), 0, 0, 0
    has_thoughts = False
    for delimiter in _DELIMITER.finditer(reply):
        if (parsed := _parse(delimiter, open_thoughts)) is None:
            continue
        style, name, closes = parsed
        if not closes:
            if not open_thoughts:
                start, inside = delimiter.span()
            if style not in _PAIRS or not open_thoughts.has(style):
                open_thoughts.push(style, name)
            continue
        if not open_thoughts:
            kept.clear()
        else:
            open_thoughts.pop(style, name)
            if open_thoughts:
                continue
            if has_thoughts or _BLANK.fullmatch(reply, inside, delimiter.start()):
                kept.append(reply[at:start])
        has_thoughts, at = True, delimiter.end()
    rest = "" if open_thoughts else reply[at:].strip()
    if not rest:
        return "", 0
    between = "\n".join([*kept, ""]).lstrip()  # line breaks, so that no new delimiter forms
    return between + rest, len(between)


def remove_thoughts(reply: str) -> str:
    """Return a reply without its thoughts and the white space around the rest (see `find_answer`)."""
    return find_answer(reply)[0]


def remove_leading_thoughts(reply: str, *, is_marked: bool) -> str:
    """Return free text without the thoughts before it and the white space around the rest.

    Free text may name delimiters, and thoughts must not become part of it. Removed are thoughts with which the reply
    begins, and all text up to a control token that closes thoughts. So is all text up to another delimiter that closes
    nothing, at the end of a line, if marks tell where the text is (`is_marked`) or it is the only delimiter.

    The rest is empty if a thought is not closed. Without marks it is empty too if a delimiter in it closes thoughts, or
    opens them at the beginning of a line."""
    reply = reply.strip()
    open_thoughts, start, has_delimiters, is_single = _OpenThoughts(), 0, False, False
    for delimiter in _DELIMITER.finditer(reply):
        if (parsed := _parse(delimiter, open_thoughts)) is None:
            continue
        style, name, closes = parsed
        is_leading = delimiter.start() == start
        is_first, has_delimiters = not has_delimiters, True
        if is_single:
            return ""
        if not closes:
            if is_leading or open_thoughts or (style in _TOKENS and not is_marked):
                if style not in _PAIRS or not open_thoughts.has(style):
                    open_thoughts.push(style, name)
            elif not is_marked and _begins_line(reply, delimiter.start()):
                return ""
            continue
        if open_thoughts:
            open_thoughts.pop(style, name)
            if open_thoughts:
                continue
        elif not is_leading and style not in _TOKENS:
            ends_line = _LINE_END.match(reply, delimiter.end()) is not None
            if not is_marked and not (is_first and ends_line):
                return ""
            if not ends_line:
                continue
            is_single = not is_marked
        space = _SPACE.match(reply, delimiter.end())
        start = space.end() if space else delimiter.end()
    return "" if open_thoughts else reply[start:]


def _begins_line(reply: str, at: int) -> bool:
    """Return whether only spaces stand before an index in its line; the last 100 characters are read."""
    before = reply[max(0, at - 100) : at]
    return not before.rpartition("\n")[2].strip() and ("\n" in before or at <= 100)


def remove_stray_closing(reply: str) -> str:
    """Return a reply without a delimiter at its end that closes thoughts."""
    stripped = reply.rstrip()
    for delimiter in _DELIMITER.finditer(stripped, max(0, len(stripped) - _LONGEST_DELIMITER)):
        style = delimiter.lastgroup
        if delimiter.end() == len(stripped) and style != "fence" and delimiter[f"{style}_closes"] is not None:
            return stripped[: delimiter.start()]
    return reply
