"""Thoughts in the replies of language models, as their chat templates and habits delimit them."""

from __future__ import annotations

import re

_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad")
"""Names of tags around thoughts, written `<think>`, `<|think|>`, `<think kind="x">` or `<seed:think>`."""


def _tag(slash: str, name: str) -> str:
    return rf"(?:<\|{slash}|(?:<|&lt;){slash}(?:[\w.-]*[:_])?){name}(?:[ \t][^<>&\n]*)?(?:\|?>|&gt;)"


_DELIMITERS: tuple[tuple[str, str], ...] = (
    *((_tag("", name), _tag("/", name)) for name in _NAMES),
    (r"\[think\]", r"\[/think\]"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),  # Command A
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),  # Sky-T1, OpenThinker
    ("<unused94>", "<unused95>"),  # MedGemma
    (r"<\|channel>thought", r"<channel\|>"),  # Gemma
    # gpt-oss; servers that drop its control tokens leave `assistantfinal`
    (r"<\|channel\|>(?:analysis|commentary)", r"<\|channel\|>final[^\n]{0,40}?<\|message\|>|assistantfinal"),
)
"""What opens a thought and what closes it, as patterns that ignore case and match no line break."""

_FIRST = r"(?=[<&\[◁a])"
"""A look at the first character, which makes the search several times faster."""
_OPENINGS = re.compile(_FIRST + "(?:" + "|".join(f"({opening})" for opening, _ in _DELIMITERS) + ")", re.IGNORECASE)
_CLOSINGS = [re.compile(closing, re.IGNORECASE) for _, closing in _DELIMITERS]
_ANY_CLOSING = re.compile(_FIRST + "(?:" + "|".join(closing for _, closing in _DELIMITERS) + ")", re.IGNORECASE)
_STRAY = re.compile(rf"{_ANY_CLOSING.pattern}\s*\Z", re.IGNORECASE)


def remove_thoughts(reply: str) -> str:
    """Return a reply without its thoughts and the white space around the rest.

    A thought ends at the first delimiter that closes its kind, or else at the end of the reply. All text before a
    delimiter that closes nothing is a thought too, because servers without a reasoning parser drop what opens it."""
    parts, at = [], 0
    while opening := _OPENINGS.search(reply, at):
        parts.append(reply[at : opening.start()])
        closing = _CLOSINGS[(opening.lastindex or 1) - 1].search(reply, opening.end())
        at = len(reply) if closing is None else closing.end()
    parts.append(reply[at:])
    rest = "\n".join(parts)  # joined by a line break, so that no new delimiter forms
    return _ANY_CLOSING.split(rest)[-1].strip()


def remove_stray_closing(reply: str) -> str:
    """Return a reply without a delimiter at its end that closes thoughts."""
    return _STRAY.sub("", reply)
