"""The game of questions: one question and one answer, which is right or wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from gymposium.errors import BadRecord, GymposiumError, IllegalMove, NoSampler, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Observation, Style
from gymposium.games.registry import load_game
from gymposium_worlds.qa.arithmetic import Arithmetic
from gymposium_worlds.qa.files import QuestionFile
from gymposium_worlds.qa.question import Question

if TYPE_CHECKING:
    import numpy as np

    from gymposium import GameSpec

_RULES = (
    "You are asked a question that has one right answer. Your move is the answer alone: the text, the number, or the "
    "letter of your choice. You score 1 if it is right, else 0.\n"
)
_RULES_COMPACT = "question\n"


class Source(Protocol):
    """A source of questions."""

    @property
    def about(self) -> str:
        """What all questions are about, as a line of text; empty if that is not known."""
        ...

    def draw(self, seed: int) -> Question:
        """The question of a seed, the same each time."""
        ...


class QuestionsGame:
    """The game with its source of questions."""

    seats = 1
    utility_range = (0.0, 1.0)
    max_decisions = 1
    num_actions = 0
    tensor_shape: tuple[int, ...] | None = None
    move_pattern: re.Pattern[str] | None = None

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        self.spec = spec
        self.params: Mapping[str, Any] = MappingProxyType(dict(params))
        self.name = spec.full_name(params)
        file = params["file"]
        made_up = {name: params[name] for name in ("digits", "operations", "split")}
        self.source: Source = QuestionFile(file) if file else Arithmetic(**made_up)
        self._draw = lru_cache(maxsize=1024)(self.source.draw)  # the matches of a group share their seed

    def __reduce__(self) -> tuple[Any, ...]:
        return load_game, (self.name,)

    def __deepcopy__(self, memo: dict[int, Any]) -> QuestionsGame:
        return self  # it never changes

    def rules(self, seat: int, style: Style = "full") -> str:
        return _RULES + self.source.about if style == "full" else _RULES_COMPACT

    def new(self, seed: int) -> QuestionMatch:
        return QuestionMatch(self, self._draw(seed), seed)

    def load(self, events: Sequence[Event], seed: int | None = None) -> QuestionMatch:
        """Load a match; its first event holds the question and the answer, so no file is read."""
        if not events or events[0].seat != CHANCE:
            raise BadRecord("Event 0: the first event must be the question, drawn by chance.")
        try:
            question = Question.load(events[0].move)
        except ValueError as error:
            raise BadRecord(f"Event 0 is no question: {error}.") from error
        match = QuestionMatch(self, question, seed)
        for number, (seat, move) in enumerate(events[1:], start=1):
            try:
                match.apply({seat: move})
            except GymposiumError as error:
                raise BadRecord(f"Event {number}: {error}") from error
        return match


class QuestionMatch:
    """One question and the answer to it, if any."""

    def __init__(self, game: QuestionsGame, question: Question, seed: int | None) -> None:
        self.game, self.question, self.seed = game, question, seed
        self.events: list[Event] = [Event(CHANCE, question.dump())]

    @property
    def answer(self) -> str | None:
        """The answer given, or None."""
        return self.events[1].move if len(self.events) > 1 else None

    def to_move(self) -> tuple[int, ...]:
        return (0,) if self.answer is None else ()

    def legal_moves(self, seat: int) -> None:
        return None

    def legal_actions(self, seat: int) -> list[int]:
        return []

    def observe(self, seat: int, style: Style = "full") -> Observation:
        """Return the question; after the end also the answer given and the right one."""
        text = self.question.text
        if self.answer is not None:
            verdict = "right" if self.returns()[0] else f"wrong: the right answer is {self.question.answer!r}"
            text += f"You answered {self.answer!r}, which is {verdict}.\n"
        return Observation(seat, text, None)

    def view(self, seat: int) -> str:
        """Return the question and the answer given, and after it whether it is right."""
        told = None if self.answer is None else self.question.answer
        return repr((self.question.question, self.question.choices, self.answer, told))

    def tensor(self, seat: int) -> np.ndarray:
        raise ValueError(f"{self.game.name} has no tensor observation; use observation='text'.")

    def apply(self, moves: Mapping[int, str]) -> None:
        if set(moves) != set(self.to_move()):
            raise WrongSeat(moves, self.to_move())
        if not isinstance(moves[0], str):
            raise IllegalMove(0, moves[0], None)
        self.events.append(Event(0, moves[0]))

    def returns(self) -> tuple[float, ...]:
        return (float(self.answer is not None and self.question.is_right(self.answer)),)

    def fork(self, rng: random.Random) -> QuestionMatch:
        return self.game.load(self.events)  # no chance is left to draw from rng

    def resample(self, seat: int, rng: random.Random) -> QuestionMatch:
        raise NoSampler("Questions have no worlds to search, because they would reveal the answer.")
