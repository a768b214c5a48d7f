"""Random texts that match a regular expression.

The library `rstr` does this too, but draws from sets of characters, so the same seed gives different texts in different
processes.
"""

from __future__ import annotations

import random
import string
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "
_CATEGORIES = {
    "CATEGORY_DIGIT": string.digits,
    "CATEGORY_WORD": string.ascii_letters + string.digits + "_",
    "CATEGORY_SPACE": " ",
}
REPEATS = 4
"""Default maximum number of repetitions beyond the minimum, for unbounded repeats."""
_LONGEST = 10_000


class NoText(Exception):
    """Raised if no text was found for a pattern."""


def generate_text(pattern: str, rng: random.Random, repeats: int = REPEATS) -> str:
    """Return a random text that matches a regular expression in most cases. Lookaround assertions are ignored.

    `repeats` is the maximum number of repetitions beyond the minimum, for unbounded repeats.

    Raises `NoText` if the text would be too long, and `re.error` for an invalid pattern."""
    return _TextGenerator(rng, repeats).write(_parser.parse(pattern))


class _TextGenerator:
    def __init__(self, rng: random.Random, repeats: int) -> None:
        self._rng, self._repeats = rng, repeats
        self._groups: dict[int, str] = {}
        self._left = _LONGEST

    def write(self, parsed: Any) -> str:
        return "".join(self._write_part(operator.name, argument) for operator, argument in parsed)

    def _write_part(self, operator: str, argument: Any) -> str:
        match operator:
            case "LITERAL":
                return self._spend_budget(chr(argument))
            case "NOT_LITERAL" | "ANY" | "IN":
                return self._spend_budget(self._pick(_list_characters(operator, argument)))
            case "BRANCH":
                return self.write(self._pick(argument[1]))
            case "SUBPATTERN":
                text = self.write(argument[-1])
                if argument[0] is not None:
                    self._groups[argument[0]] = text
                return text
            case "ATOMIC_GROUP":
                return self.write(argument)
            case "GROUPREF":
                return self._groups.get(argument, "")
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, repeated = argument
                if least > self._left:
                    raise NoText
                count = least + int(self._rng.random() * (min(int(most) - least, self._repeats) + 1))
                return "".join(self.write(repeated) for _ in range(count))
        return ""  # anchors and assertions

    def _spend_budget(self, text: str) -> str:
        self._left -= 1
        if self._left < 0:
            raise NoText
        return text

    def _pick(self, choices: Any) -> Any:
        if not choices:
            raise NoText
        return choices[int(self._rng.random() * len(choices))]


def _list_characters(operator: str, argument: Any) -> str:
    """Return the characters of a class, in a fixed order."""
    if operator == "ANY":
        return _PRINTABLE
    if operator == "NOT_LITERAL":
        return _PRINTABLE.replace(chr(argument), "")
    parts = [(kind.name, value) for kind, value in argument]
    negated = parts[0][0] == "NEGATE"
    within = "".join(_list_category_characters(kind, value) for kind, value in parts if kind != "NEGATE")
    return "".join(one for one in _PRINTABLE if one not in within) if negated else within


def _list_category_characters(kind: str, value: Any) -> str:
    match kind:
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return "".join(map(chr, range(value[0], min(value[1], value[0] + 0x3FF) + 1)))
        case "CATEGORY":
            name = value.name
            if name in _CATEGORIES:
                return _CATEGORIES[name]
            but = _CATEGORIES.get(name.replace("_NOT", ""), "")
            return "".join(one for one in _PRINTABLE if one not in but)
    return ""
