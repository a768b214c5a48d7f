"""Private-use characters that serve as marks in a text while a template renders it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from gymposium.errors import GymposiumError
from gymposium_agents.chat.controls import Encoder

_PLANES = ((0xE000, 0xF900), (0xF0000, 0xFFFFE), (0x100000, 0x10FFFE))
_PRIVATE = re.compile("[" + "".join(f"{chr(start)}-{chr(stop - 1)}" for start, stop in _PLANES) + "]")


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Private-use characters that do not occur in a conversation's texts, and the encoder that uses them."""

    control: str
    """The mark before each control token of the template."""
    reply: str
    """A placeholder for a reply or a call's argument, used to find the template's text after it."""
    probe: str
    """A placeholder for a message, used to find the template's text around it."""
    stand_ins: Mapping[str, str]
    """The characters that replace control tokens' characters in messages while the template renders them."""
    encoder: Encoder

    def restored(self, text: str) -> str:
        """Return `text` with the original characters in place of their stand-ins."""
        for character, stand_in in self.stand_ins.items():
            text = text.replace(stand_in, character)
        return text


def find_private_characters(texts: Iterable[str]) -> frozenset[str]:
    """Return the private-use characters in these texts."""
    return frozenset(chain.from_iterable(_PRIVATE.findall(text) for text in texts if not text.isascii()))


def choose_free_characters(taken: frozenset[str], count: int) -> Sequence[str]:
    """Return the first `count` private-use characters that are not in `taken`.

    Raises `GymposiumError` if there are not enough."""
    every = map(chr, chain.from_iterable(range(*plane) for plane in _PLANES))
    marks = tuple(islice((mark for mark in every if mark not in taken), count))
    if len(marks) < count:
        raise GymposiumError(
            "The messages use every private-use character of Unicode, but one is needed to distinguish their text "
            "from the chat template's. Shorten them."
        )
    return marks
