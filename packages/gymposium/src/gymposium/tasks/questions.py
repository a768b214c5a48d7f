"""Questions with one correct answer each, answer checks, and question files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from gymposium.errors import BadParameter, describe_cause
from gymposium.util.plain_file import read_plain_text
from gymposium.util.streams import stream
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import is_encodable, quantity, shorten

Check = Literal["exact", "numeric", "choice"]
"""How answers are compared.

- `exact`: equal texts, ignoring leading and trailing whitespace.
- `numeric`: equal numbers in any notation: `0.50` is `.5` and `1,000` is `1000`.
- `choice`: the correct choice, by its text or its letter, in either case: `B`, `b.` or `(b)`.
"""

_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?([eE][+-]?\d{1,3})?", re.ASCII)
_LETTER = re.compile(r"\(?([A-Za-z])[.):]?")
_LONGEST = 20_000
"""Maximum number of characters in a question, an answer or a choice."""
_MOST_CHOICES = 26


@dataclass(frozen=True, slots=True)
class Question:
    """A question with one correct answer. Raises `ValueError` if the answer cannot be checked."""

    question: str
    answer: str
    check: Check = "exact"
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.question.strip() or not self.answer.strip():
            raise ValueError("the question and answer must not be empty")
        for name, text in (
            ("question", self.question),
            ("answer", self.answer),
            *(("choice", c) for c in self.choices),
        ):
            if len(text) > _LONGEST:
                raise ValueError(f"the {name} has {len(text):,} characters, more than {_LONGEST:,}")
            if "\0" in text or not is_encodable(text):
                raise ValueError(f"the {name} contains a NUL character or a lone surrogate")
        if self.check not in get_args(Check):
            raise ValueError(f"check {shorten(self.check)} must be one of {', '.join(get_args(Check))}")
        if self.check == "numeric" and _parse_number(self.answer) is None:
            raise ValueError(f"the answer {shorten(self.answer)} is not a number")
        if (self.check == "choice") != bool(self.choices):
            raise ValueError(
                f"check is {self.check!r} with {quantity(len(self.choices), 'choice')}; choices need check 'choice', "
                "which needs choices"
            )
        if self.choices:
            if len({*self.choices}) != len(self.choices) or not 2 <= len(self.choices) <= _MOST_CHOICES:
                raise ValueError(f"there must be 2 to {_MOST_CHOICES} different choices, not {len({*self.choices})}")
            if self.answer not in self.choices:
                raise ValueError(f"the answer {shorten(self.answer)} is not one of the choices")

    @classmethod
    def parse(cls, value: Any) -> Question:
        """Parse a JSON object with the keys `question` and `answer`, and optionally `check` and `choices`.

        The default check is `numeric` for a number and `choice` if there are choices. Raises `ValueError` for an
        invalid question."""
        match value:
            case {"question": str(question), "answer": str() | int() | float() as answer} if type(answer) is not bool:
                pass
            case _:
                raise ValueError(
                    'it must be an object with a string "question" and a string or number "answer", not '
                    f"{shorten(value)}"
                )
        if unknown := value.keys() - {"question", "answer", "check", "choices"}:
            raise ValueError(
                f"unknown keys: {', '.join(shorten(key) for key in sorted(unknown)[:3])}; use question, answer, check "
                "and choices"
            )
        choices = value.get("choices", [])
        if not isinstance(choices, list) or any(not isinstance(choice, str) for choice in choices):
            raise ValueError(f'"choices" must be a list of strings, not {shorten(choices)}')
        usual = "choice" if choices else "exact" if isinstance(answer, str) else "numeric"
        return cls(question, str(answer), value.get("check", usual), tuple(choices))

    @classmethod
    def load(cls, text: str) -> Question:
        """Load a question written by `dump`. Raises `ValueError` for other text."""
        return cls.parse(parse_strict_json(text))

    def dump(self) -> str:
        """Return the question as one line of JSON, for a match's first event."""
        fields: Mapping[str, Any] = {name: value for name, value in asdict(self).items() if value != ()}
        return json.dumps(fields, ensure_ascii=False, sort_keys=True)

    def is_right(self, given: str) -> bool:
        """Return whether this answer is correct."""
        given = given.strip()
        match self.check:
            case "exact":
                return given == self.answer.strip()
            case "numeric":
                number = _parse_number(given)
                return number is not None and number == _parse_number(self.answer)
            case "choice":
                return self._find_choice(given) == self.answer

    def _find_choice(self, given: str) -> str | None:
        if given in self.choices:
            return given
        letter = _LETTER.fullmatch(given)
        place = ord(letter[1].upper()) - ord("A") if letter else len(self.choices)
        return self.choices[place] if place < len(self.choices) else None

    @property
    def text(self) -> str:
        """Return the question with its choices, as lines of text shown to players."""
        lettered = [f"{chr(ord('A') + place)}. {choice}" for place, choice in enumerate(self.choices)]
        return "\n".join([self.question.rstrip("\n"), *lettered]) + "\n"


class QuestionFile:
    """The questions in a JSONL file, in file order.

    The file is read when the first question is drawn, so replays of records do not need it."""

    def __init__(self, file: str | Path) -> None:
        self.path = Path(file)

    @cached_property
    def questions(self) -> Sequence[Question]:
        """All questions.

        Raises `BadParameter` if the file cannot be read, has no questions, or has a line that is not a question with a
        checkable answer."""
        questions = []
        try:
            rows = self.rows()
        except (OSError, UnicodeDecodeError) as error:
            raise BadParameter(
                f"file={self.path} cannot be read ({describe_cause(error)}). The file must have one question per line."
            ) from error
        for number, row in enumerate(rows, start=1):
            if isinstance(row, str) and not row.strip():
                continue
            try:
                questions.append(Question.parse(parse_strict_json(row) if isinstance(row, str) else row))
            except ValueError as error:
                raise BadParameter(f"file={self.path}: line {number} is not a valid question: {error}.") from error
        if not questions:
            raise BadParameter(f"file={self.path} contains no questions. Write one per line.")
        return questions

    def draw(self, seed: int) -> Question:
        """Return the question drawn with a seed. All questions are equally likely."""
        return self.questions[int(stream(seed, "question").random() * len(self.questions))]

    def rows(self) -> Sequence[Any]:
        """Return the file's rows, as lines of JSON or as objects. May raise `OSError` and `UnicodeDecodeError`."""
        return read_plain_text(self.path).split("\n")


def _parse_number(text: str) -> Decimal | None:
    if not _NUMBER.fullmatch(text.strip()):
        return None
    try:
        return Decimal(text.strip().replace(",", ""))
    except InvalidOperation:  # such as "." or "e5"
        return None
