"""Matches with a teacher that labels the decisions of some seats. Their moves are a mixture of a student's, the
teacher's and random ones."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game, Style
from gymposium.match import MatchJob, MatchResult, play
from gymposium.players.distribution import MoveDistribution
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.players.teaching import AskTeacher
from gymposium.records import record_matches
from gymposium.replies.reading import READERS, Reader, Reading
from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_agents.chat.context import Exchange, Pictures
from gymposium_train.config.stages import PAST, SELF
from gymposium_train.run.lessons.lessons import Lesson
from gymposium_train.run.lessons.writing import LessonWriter

LEAST = 4
"""Number of matches played before the lessons and the time per match are known."""
SILENT = 64
"""Number of consecutive matches without a lesson after which a teacher is refused."""
Student = Callable[[Sequence[Lesson], Iterator[random.Random]], list[Reading | None]]
"""Answers the prompts of lessons (`gymposium_train.run.lessons.answering`)."""


class Mix(NamedTuple):
    """The shares of the moves that the student, the teacher and a random player choose."""

    student: float
    teacher: float
    random: float


WARM_UP = Mix(0.0, 0.5, 0.5)
"""The moves before the student can play."""
ON_POLICY = Mix(0.9, 0.0, 0.1)
"""The moves of a learning seat, against the opponents of the run."""
ALL_STATES = Mix(0.3, 0.3, 0.4)
"""The moves of all seats with hidden information. An equilibrium needs states that the student's own moves avoid."""


class TaughtCounts(NamedTuple):
    """How a student answered during some matches."""

    answers: int = 0
    failed: int = 0
    """Number of answers that are not legal moves."""
    agreed: int = 0
    """Number of answers that are among the teacher's likeliest moves."""


class TaughtAuthor:
    """A player that records its decisions as lessons. The trace of each reply is a lesson with the teacher's
    distribution, or None if the teacher recommends nothing."""

    name = "student"
    reader: Reader = READERS["move"]

    def __init__(self, teacher: AskTeacher, style: Style, writer: LessonWriter) -> None:
        self._ask_teacher, self._writer = teacher, writer
        self.style: Style = style
        self.mix = WARM_UP
        self.student: Student | None = None
        """Plays the student's share of the moves."""
        self.counts = TaughtCounts()

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        shown = [self._writer.show(ask) for ask in asks]
        labels = self._ask_teacher(asks)
        drawn = [label.draw(ask.rng) for ask, label in zip(asks, labels, strict=True)]
        lessons = [
            self._write_lesson(ask, now, move, label)
            for ask, now, move, label in zip(asks, shown, drawn, labels, strict=True)
        ]
        moves = self._choose_moves(asks, labels, drawn, lessons)
        for ask, now, move in zip(asks, shown, moves, strict=True):
            self._writer.remember(ask, now, move)
        return [
            Reply(move, trace=None if taught is None else lesson)
            for move, taught, lesson in zip(moves, drawn, lessons, strict=True)
        ]

    def _write_lesson(self, ask: Ask, now: Exchange, drawn: str | None, label: MoveDistribution) -> Lesson:
        if ask.legal_moves is None:
            return self._writer.write(ask, now, drawn or "")
        return self._writer.write(ask, now, drawn or ask.legal_moves[0], label.probabilities)

    def _choose_moves(
        self,
        asks: Sequence[Ask],
        labels: Sequence[MoveDistribution],
        drawn: Sequence[str | None],
        lessons: Sequence[Lesson],
    ) -> list[str]:
        """Return the move to play at each ask. A random move replaces an answer that is not a legal move, or the
        teacher's if the game does not list the legal ones."""
        movers = [ask.rng.choices(Mix._fields, self.mix)[0] for ask in asks]
        mine = [number for number, mover in enumerate(movers) if mover == "student"]
        moves = [move if mover == "teacher" else None for move, mover in zip(drawn, movers, strict=True)]
        if mine:
            assert self.student is not None, "the mix has no student's moves before there is a student"
            streams = (stream(asks[n].seed, "student", asks[n].seat, asks[n].turn) for n in mine)
            for number, reading in zip(mine, self.student([lessons[n] for n in mine], streams), strict=True):
                moves[number] = reading.move if reading is not None and reading.kind == "move" else None
                self._count_answer(moves[number], labels[number])
        return [
            move or ask.rng.choice(ask.legal_moves or [recommended or ""])
            for ask, move, recommended in zip(asks, moves, drawn, strict=True)
        ]

    def _count_answer(self, move: str | None, label: MoveDistribution) -> None:
        answers, failed, before = self.counts
        agreed = move is not None and move in label.likeliest
        self.counts = TaughtCounts(answers + 1, failed + (move is None), before + agreed)


class TaughtPlay:
    """Matches of one game with labels of a teacher, lot by lot. Match seeds follow from the seed, the tag, and the
    match number."""

    def __init__(
        self,
        game: Game,
        teacher: AskTeacher,
        style: Style,
        reader: Reader,
        opponents: Mapping[str, float],
        *,
        seed: int,
        tag: str,
        context: str = "state",
        pictures: Pictures = "none",
        each: Callable[[MatchResult], object] = lambda played: None,
    ) -> None:
        """`opponents` are the players of the other seats, with their shares. Versions of the learner's own model are
        replaced by the student. With hidden information, the student plays all seats. `each` is called with every
        finished match."""
        self._game, self._seed, self._tag, self._each = game, seed, tag, each
        self._author = TaughtAuthor(teacher, style, LessonWriter(style, reader, context, pictures))
        names = {name: None if name in (SELF, PAST) else make_player(name) for name in opponents}
        self._opponents = [player or self._author for player in names.values()] if game.seats > 1 else []
        self._shares = [*opponents.values()]
        self._played = self._lessons = 0
        self._pace = 0.0
        """CPU seconds per match when matches were last played."""

    def lot(
        self, lessons: int, student: Student | None, seconds: float = math.inf
    ) -> tuple[list[Lesson], TaughtCounts]:
        """Play matches until they yield at least this many lessons, or for about this many CPU seconds. Returns the
        lessons, and how the student answered. Without a student, the teacher and a random player choose all moves.

        Raises `GymposiumError` if the teacher recommends nothing in many matches."""
        hides = self._game.spec.information == "imperfect" and self._game.seats > 1
        self._author.mix = WARM_UP if student is None else ALL_STATES if hides else ON_POLICY
        self._author.student, self._author.counts = student, TaughtCounts()
        found: list[Lesson] = []
        end, silent = time.process_time() + seconds, 0
        while len(found) < lessons and not (found and time.process_time() >= end):
            matches = self._choose_number(lessons - len(found), end - time.process_time())
            more = self._play(matches, alone=hides or student is None)
            silent = 0 if more else silent + matches
            if silent >= SILENT:
                raise GymposiumError(
                    f"The teacher recommends no move in {quantity(silent, 'match')} of {self._game.name}. Choose "
                    f"another teacher."
                )
            found += more
        return found, self._author.counts

    def _choose_number(self, lessons: int, seconds: float) -> int:
        """Return how many matches yield this many lessons, or as many as fit into the CPU seconds."""
        if not self._lessons:
            return LEAST
        fitting = seconds / self._pace if self._pace else math.inf
        return max(1, math.ceil(min(lessons * self._played / self._lessons, fitting)))

    def _play(self, matches: int, *, alone: bool) -> list[Lesson]:
        """Play this many matches, and return their lessons. With `alone`, all seats are the author's."""
        began = time.process_time()
        numbers = range(self._played, self._played + matches)
        jobs = (self._make_job(number, alone=alone) for number in numbers)
        finished = list(record_matches(play(jobs), self._each))
        found = [turn.trace for played in finished for turn in played.turns if isinstance(turn.trace, Lesson)]
        self._played += matches
        self._lessons += len(found)
        self._pace = (time.process_time() - began) / matches
        return found

    def _make_job(self, number: int, *, alone: bool) -> MatchJob:
        rng = stream(self._seed, self._tag, number)
        seed, learning = rng.getrandbits(48), number % self._game.seats
        players: list[Player] = [
            self._author if alone or seat == learning else rng.choices(self._opponents, self._shares)[0]
            for seat in range(self._game.seats)
        ]
        return MatchJob(f"{self._tag}-{number}", self._game, players, seed, player_seed=rng.getrandbits(48))
