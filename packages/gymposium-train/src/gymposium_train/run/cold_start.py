"""The first stage of a run: the cold start, which teaches the model the format of replies."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice

from gymposium.match import MatchResult
from gymposium.util.durable import remove_directory
from gymposium.util.streams import stream
from gymposium_agents.chat.settings import find_reply_form
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.models.small import make_small_model
from gymposium_train.backends.protocol import LearningModel
from gymposium_train.config import Prompting
from gymposium_train.config.directory import is_complete, stage_directory
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.run.distillation import TaughtLots, distill
from gymposium_train.run.fine_tuning import fine_tune
from gymposium_train.run.imitating import (
    ImitationStage,
    Lots,
    iterate_batches,
    report_problems,
    save_results,
    tokenize_lots,
)
from gymposium_train.run.lessons import (
    ColdStartProgress,
    Lessons,
    RandomPlay,
    answer_lessons,
    list_moves,
    list_texts,
    mix_batches,
    read_files,
)
from gymposium_train.run.live import StageBar
from gymposium_train.run.under_way import RunContext

TOKENIZER_LESSONS = 10_000
"""Maximum number of lessons used to train a small model's tokenizer, shared between the games."""
LOT_STEPS = 64
"""Number of steps with the lessons of one lot."""
PASSES = 2
"""Average number of times that each lesson of a lot is imitated."""
TRIED = 256
"""Number of new lessons whose prompts the model answers after each lot."""
BUDGET_SHARE = 0.25
"""Maximum share of the run's budget before the end of the cold start is decided."""
SECONDS = "Cold start, CPU seconds"


def run_cold_start(run: RunContext) -> None:
    """Make the small model if the config names none, and do the cold start."""
    config, directory = run.config, run.directory
    settings, makes = config.cold_start, config.model.name is None
    if (not settings.is_used or is_complete(directory.cold_start)) and (not makes or is_complete(directory.base)):
        return
    began = time.process_time()
    if config.teaches_moves and settings.is_used:
        _run_distillation(run, began)
        return
    with run.view.stage("Cold start", settings.epochs or settings.steps, lines=6) as bar:
        lots = iterate_lots(run, "cold_start", "cold-start", lambda: bar.advance("random matches", 0))
        first = next(lots)
        _make_base(run, first)
        if settings.is_used:
            with run.backend.imitation_model(run.start) as model:
                if settings.epochs is None:
                    _teach_lots(run, model, chain([first], lots), bar, began)
                else:
                    _teach_epochs(run, model, first, bar, began)


def _run_distillation(run: RunContext, began: float) -> None:
    """Do the cold start with a teacher. `began` is the CPU time of the process at the start."""
    seconds = run.config.cold_start_budget
    name, total = ("Cold start", run.config.cold_start.steps) if seconds is None else (SECONDS, round(seconds))
    run.directory.drop_matches("cold_start", ("",))  # an interrupted cold start begins again, at another pace
    with run.view.stage(name, total, lines=6) as bar, run.open_stoppable_recorder("cold_start") as record:
        lots = TaughtLots(run, record)
        first = lots.first()
        _make_base(run, first)
        run.directory.add_results(teacher=run.config.teacher)
        with run.backend.imitation_model(run.start) as model:
            distill(run, model, lots, first, bar, began)


def _make_base(run: RunContext, first: Lots) -> None:
    """Make the small model, with a tokenizer of the first lot, if the run has one that is not made yet."""
    config, directory = run.config, run.directory
    if config.model.name is not None or is_complete(directory.base):
        return
    share = TOKENIZER_LESSONS // len(first)
    some = [lesson for lot in first for lesson in islice(lot, share)]
    texts, moves, size = list_texts(some), list_moves(some), config.model.small
    with stage_directory(directory.base) as staging:
        make_small_model(staging, texts, seed=config.seed, size=size, moves=moves)
        config.evaluated_player.save(staging)


def iterate_lots(run: RunContext, file: str, tag: str, progress: Callable[[], object] = lambda: None) -> Iterator[Lots]:
    """Yield an endless stream of lessons in lots. The lots repeat the config's files, or come from new random matches
    recorded in `file`. `progress` is called after each match."""
    config, settings, games = run.config, run.config.cold_start, len(run.games)
    if settings.data:
        chats = [read_files(config)]
        while True:
            yield chats
    with run.open_stoppable_recorder(file) as record:

        def note_played(played: MatchResult) -> None:
            record(played)
            progress()

        plays = [
            RandomPlay(
                game,
                config.prompting.style,
                find_reply_form(config.prompting.reply),
                seed=config.seed,
                tag=f"{tag}-{game.name}" if games > 1 else tag,
                each=note_played,
                context=config.prompting.context,
                pictures=config.prompting.pictures,
                keep=settings.kept,
                matches=_divide_matches(settings.matches, number, games),
            )
            for number, game in enumerate(run.games)
        ]
        wanted = math.ceil(LOT_STEPS * settings.batch / PASSES / games)
        while True:
            yield [play.lot(wanted) for play in plays]


def _divide_matches(matches: int | None, number: int, games: int) -> int | None:
    """Return this game's share of `matches`, which all games share evenly."""
    return None if matches is None else matches // games + (number < matches % games)


def iterate_tokenized_lots(
    run: RunContext, lots: Iterable[Lots], model: LearningModel
) -> Iterator[tuple[Lots, list[Lessons]]]:
    """Yield the lots with their tokens. Lots that the files repeat are tokenized only once."""
    before: Lots | None = None
    tokens: list[Lessons] = []
    for lot in lots:
        if lot is not before:
            before, tokens = lot, tokenize_lots(run, lot, model)
        yield lot, tokens


def make_auxiliary_sft(run: RunContext, model: LearningModel) -> Callable[[int], Iterator[list[Demonstration]]] | None:
    """Return a function that maps each step of reinforcement learning to batches of lessons for its optimizer steps.
    The lessons are those of the cold start's first lot. Returns None without `sft`."""
    settings = run.config.sft
    if settings is None:
        return None
    lots = [
        lot.demonstrations for lot in tokenize_lots(run, next(iterate_lots(run, "cold_start", "cold-start")), model)
    ]
    return partial(mix_batches, lots, settings.batch, run.config.seed, "beside")


def _teach_lots(run: RunContext, model: LearningModel, lots: Iterator[Lots], bar: StageBar, began: float) -> None:
    """Imitate the lots and save the model. Before each lot, the model answers some of its prompts. The cold start ends
    soon after few enough of these replies fail, or once its share of the budget is used."""
    config, settings = run.config, run.config.cold_start
    ending, stage = ColdStartProgress(settings.steps), ImitationStage(run, model, bar, began)

    def iterate_material() -> Iterator[list[Demonstration]]:
        for number, (lot, tokens) in enumerate(iterate_tokenized_lots(run, lots, model)):
            step = number * LOT_STEPS
            if number and settings.failed:
                failed = measure_failed_share(model, config.prompting, lot, config.seed, step)
                stage.measured["train/sft_failed"] = failed
                # random players teach only the format of replies, but players in files also teach what to reply
                formed = failed <= settings.failed and not settings.data
                if formed or run.budget_used(stage.began) >= BUDGET_SHARE:
                    ending.soon(step)
            if not ending.known:
                stage.measure_curve(step)
            for one in tokens if not number or not settings.data else ():  # files repeat the same lot
                stage.counts.update(one.count())
            if not number:
                report_problems(run, stage.counts)
            yield from islice(iterate_batches(tokens, run, first=step), LOT_STEPS)

    stage.take_steps(iterate_material(), ending)


def _teach_epochs(run: RunContext, model: LearningModel, lots: Lots, bar: StageBar, began: float) -> None:
    """Imitate the files in epochs, and save the model."""
    [lessons] = tokenize_lots(run, lots, model)
    counts = Counter(lessons.count())
    report_problems(run, counts)
    progress = fine_tune(run, model.learner, lessons.demonstrations, bar)
    if progress.best_step:
        run.directory.add_results(validation={"loss": progress.best_loss, "token_accuracy": progress.accuracy})
    save_results(run, model, counts, began)
    remove_directory(run.directory.fine_tuning)


def measure_failed_share(
    model: LearningModel | LoadedModel, prompting: Prompting, lots: Lots, seed: int, step: int
) -> float:
    """Return the share of illegal moves among the model's replies to the prompts of at most `TRIED` lessons
    (`answer_lessons`)."""
    rng = stream(seed, "tried", step)
    drawn = [lesson for lot in lots for lesson in rng.sample(lot, min(len(lot), max(1, TRIED // len(lots))))]
    answered = answer_lessons(model, prompting, drawn, (stream(seed, "tried", step, n) for n in itertools.count()))
    readings = [reading for reading in answered if reading is not None]
    return sum(reading.kind != "move" for reading in readings) / max(1, len(readings))
