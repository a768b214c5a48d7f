"""The game of questions: one question and one answer, scored as right or wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from gymposium.errors import BadParameter, BadRecord, MissingExtra
from gymposium.games.one_reply import OneReplyGame, OneReplyMatch
from gymposium.games.pictures import Picture, draw_note
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.tasks.questions import Question, QuestionFile
from gymposium_worlds.qa.arithmetic import Arithmetic

if TYPE_CHECKING:
    from gymposium import GameSpec

_LOADERS = {".parquet": "parquet", ".csv": "csv", ".arrow": "arrow", ".json": "json"}
"""Loaders of the library `datasets`, by file name extension. All other files are read as JSONL."""


class DataFile(QuestionFile):
    """Questions from a file in any of these formats."""

    about = ""

    def rows(self) -> Sequence[Any]:
        loader = _LOADERS.get(self.path.suffix)
        if loader is None:
            return super().rows()
        try:
            import datasets  # type: ignore[import-untyped]
        except ImportError as error:
            raise MissingExtra(
                f"The library for data sets, which reads {self.path.suffix} files,", '"gymposium-worlds[datasets]"'
            ) from error
        if not self.path.is_file():
            raise FileNotFoundError(2, "No such file")
        try:
            rows = datasets.load_dataset(loader, data_files=str(self.path), split="train")
        except (ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            raise BadParameter(f"file={self.path} cannot be loaded as {loader} ({error}). Check its format.") from error
        return [{key: value for key, value in row.items() if value is not None} for row in rows]


_RULES = (
    "You are asked a question that has one right answer. Your move is the answer alone: the text, the number, or the "
    "letter of your choice. You score 1 if it is right, else 0.\n"
)
_RULES_COMPACT = "question\n"


class Source(Protocol):
    """Protocol of a source of questions."""

    @property
    def about(self) -> str:
        """Return a line that describes all questions; empty if nothing is known."""

    def draw(self, seed: int) -> Question:
        """Return the question for a seed. Equal seeds give equal questions."""


class QuestionsGame(OneReplyGame):
    """The game with its source of questions."""

    task_noun = "question"

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        super().__init__(spec, params)
        self.source = _make_source(spec.drop_defaults(params), **params)
        self._draw = lru_cache(maxsize=1024)(self.source.draw)  # the matches of a group share their seed

    def rules(self, seat: int, style: Style = "full") -> str:
        return _RULES + self.source.about if style == "full" else _RULES_COMPACT

    def new(self, seed: int) -> QuestionMatch:
        return self.make_match(Event(CHANCE, self._draw(seed).dump()), seed)

    def make_match(self, drawn: Event, seed: int | None) -> QuestionMatch:
        try:
            question = Question.load(drawn.move)
        except ValueError as error:
            raise BadRecord(f"Event 0 is not a valid question: {error}.") from error
        return QuestionMatch(self, question, drawn, seed)


def _make_source(given: Mapping[str, Any], *, file: str, **made_up: Any) -> Source:
    """Return the file's questions, or arithmetic. Raises `BadParameter` if a file is combined with parameters of
    arithmetic."""
    if not file:
        return Arithmetic(**made_up)
    if changed := [name for name in given if name in made_up]:
        raise BadParameter(f"{changed[0]} applies only to arithmetic questions. Omit it when you name a file.")
    return DataFile(file)


class QuestionMatch(OneReplyMatch):
    """One question and the answer to it, if any."""

    def __init__(self, game: QuestionsGame, question: Question, drawn: Event, seed: int | None) -> None:
        super().__init__(game, drawn, seed)
        self.question = question

    def observe(self, seat: int, style: Style = "full") -> Observation:
        """Return the question. After the end, also return the given answer and the right one."""
        text = self.question.text
        if self.answer is not None:
            verdict = "right" if self.returns()[0] else f"wrong: the right answer is {self.question.answer!r}"
            text += f"You answered {self.answer!r}, which is {verdict}.\n"
        return Observation(seat, text, None)

    def draw_picture(self, seat: int) -> Picture:
        """Return the question. After the end, also return the given answer and the right one."""
        text = self.observe(seat).text.strip()
        return Picture.from_parts(draw_note(text[:2000]), told=text[:200])

    def view(self, seat: int) -> str:
        """Return the question, and after the answer also the answer and whether it is right."""
        told = None if self.answer is None else self.question.answer
        return repr((self.question.question, self.question.choices, self.answer, told))

    def returns(self) -> tuple[float, ...]:
        return (float(self.answer is not None and self.question.is_right(self.answer)),)
