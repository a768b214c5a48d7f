"""A cold start with a teacher: on-policy distillation.

The student plays, the teacher labels its decisions with distributions over the legal moves, and the student imitates
them (DAgger: Ross et al., 2011, arXiv 1011.0686; Agarwal et al., 2024, arXiv 2306.13649). The first lot is played by
the teacher and a random player, because there is no student yet. Batches are drawn from all lots so far. Each prompt
counts once, however often it occurred, because a rare state may decide a match."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from gymposium.match import MatchResult
from gymposium.players.teaching import lists_moves
from gymposium_agents.chat.settings import find_reply_form
from gymposium_train.backends.protocol import LearningModel
from gymposium_train.config import TrainConfig
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.learner.rows import Tokens
from gymposium_train.run.imitating import ImitationStage, Lots, report_problems, tokenize_lots
from gymposium_train.run.lessons import Lesson, Student, TaughtCounts, TaughtPlay, answer_lessons, mix_batches
from gymposium_train.run.live import StageBar
from gymposium_train.run.under_way import RunContext

PASSES = 3
"""Minimum number of lessons imitated per new lesson."""
FIRST_LESSONS, LESSONS = 1024, 352
"""Number of lessons in the first lot and in each later one, shared between the games."""
FIRST_TEXTS = 8192
"""Number of lessons in the first lot if a game does not list its moves. A new model's tokenizer needs many texts."""
WARM_UP_SHARE = 0.15
"""Maximum share of the cold start's steps for imitating the first lot, and of its CPU seconds for playing it."""
LOT_SHARE = 0.05
"""Maximum share of the cold start's CPU seconds for playing a later lot."""
PLAY_SHARE = 0.9
"""Share of the cold start that plays new matches."""
MOST_PROMPTS = 20_000
"""Maximum number of prompts per game to draw batches from. The least recent ones are dropped."""
_TAG = "cold-start"


class LessonPool:
    """The latest lesson of each of the most recent prompts of a game."""

    def __init__(self, most: int = MOST_PROMPTS) -> None:
        self._most = most
        self._lessons: dict[Tokens, Demonstration] = {}

    def add(self, lessons: Iterable[Demonstration]) -> None:
        """Add lessons, in order."""
        for one in lessons:
            self._lessons.pop(one.prompt, None)  # so that it becomes the most recent one
            self._lessons[one.prompt] = one
        while len(self._lessons) > self._most:
            del self._lessons[next(iter(self._lessons))]

    def get_lessons(self) -> list[Demonstration]:
        """Return the lessons, from the least to the most recent one."""
        return [*self._lessons.values()]


class TaughtLots:
    """Lots of lessons from a teacher, each with the same number of lessons for each game."""

    def __init__(self, run: RunContext, each: Callable[[MatchResult], object]) -> None:
        """`each` is called with every finished match."""
        config, games, teacher = run.config, len(run.games), run.teacher
        assert teacher is not None, "a run without a teacher has no such cold start"
        self._plays = [
            TaughtPlay(
                game,
                teacher,
                config.prompting.style,
                find_reply_form(config.prompting.reply),
                config.stages[0].opponents,
                seed=config.seed,
                tag=f"{_TAG}-{game.name}" if games > 1 else _TAG,
                context=config.prompting.context,
                pictures=config.prompting.pictures,
                each=each,
            )
            for game in run.games
        ]
        self._seconds = (math.inf if config.cold_start_budget is None else config.cold_start_budget) / games
        most = math.inf if config.cold_start_budget is not None else _count_lessons(config)
        wanted = FIRST_LESSONS if all(map(lists_moves, run.games)) else FIRST_TEXTS
        self._first = math.ceil(min(wanted, WARM_UP_SHARE * most) / games)
        self._later = math.ceil(min(LESSONS, WARM_UP_SHARE * most) / games)

    def first(self) -> Lots:
        """Return the lot that needs no student."""
        return [play.lot(self._first, None, WARM_UP_SHARE * self._seconds)[0] for play in self._plays]

    def later(self, student: Student) -> tuple[Lots, TaughtCounts]:
        """Return the next lot, and how the student answered in its matches."""
        lots: list[list[Lesson]] = []
        counts = []
        for play in self._plays:
            lessons, count = play.lot(self._later, student, LOT_SHARE * self._seconds)
            lots.append(lessons)
            counts.append(count)
        return lots, TaughtCounts(*map(sum, zip(*counts, strict=True)))


def _count_lessons(config: TrainConfig) -> int:
    """Return the number of lessons of a cold start with a fixed number of steps."""
    return config.cold_start.steps * config.cold_start.batch // PASSES


def distill(run: RunContext, model: LearningModel, lots: TaughtLots, first: Lots, bar: StageBar, began: float) -> None:
    """Imitate the teacher for the cold start's CPU seconds or steps, and save the model. `first` is the first lot, and
    `began` the CPU time of the process before it."""
    config, settings = run.config, run.config.cold_start
    stage, seconds = ImitationStage(run, model, bar, began), config.cold_start_budget
    student = partial(answer_lessons, model, config.prompting)
    pools = [LessonPool() for _ in run.games]

    def progress(step: int) -> float:
        return step / settings.steps if seconds is None else min(1.0, stage.spent / seconds)

    def iterate_material() -> Iterator[list[Demonstration]]:
        step, lot, playing = 0, first, stage.spent
        while True:
            tokens = tokenize_lots(run, lot, model)
            for new, pool in zip(tokens, pools, strict=True):
                stage.counts.update(new.count())
                pool.add(new.demonstrations)
            if not step:
                report_problems(run, stage.counts)
            batches = mix_batches([pool.get_lessons() for pool in pools], settings.batch, config.seed, first=step)
            steps, played = math.ceil(PASSES * sum(map(len, lot)) / settings.batch), stage.spent
            for batch in batches:
                yield batch
                step, steps = step + 1, steps - 1
                # imitation takes at least as long as a slow teacher's labels
                if steps <= 0 and (seconds is None or stage.spent - played >= playing):
                    break
            stage.measure_curve(step)
            if progress(step) >= PLAY_SHARE:
                break
            before = stage.spent
            lot, counts = lots.later(student)
            playing = stage.spent - before
            stage.measured.update(_describe_answers(counts))
        yield from batches

    stage.take_steps(iterate_material(), progress, None if seconds is None else lambda: int(stage.spent))


def _describe_answers(counts: TaughtCounts) -> dict[str, float]:
    """Return the metrics of a student's answers."""
    if not counts.answers:
        return {}
    return {
        "train/sft_failed": counts.failed / counts.answers,
        "train/teacher_agreement": counts.agreed / counts.answers,
    }
