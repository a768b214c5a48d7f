"""The first stage of a run: the cold start, which teaches the model the format of replies."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice

from gymposium.match import MatchResult
from gymposium.replies.reading import read_reply
from gymposium.runs.curves import COLD_START
from gymposium.tasks.tools.reader import ToolsReader
from gymposium.util.durable import remove_directory
from gymposium.util.streams import stream
from gymposium.util.visible import plural, quantity
from gymposium_agents.chat.settings import find_reply_form
from gymposium_agents.chat.tokens import Sampling, TokenRequest
from gymposium_agents.models.loading import LoadedModel
from gymposium_agents.models.small import make_small_model
from gymposium_agents.players.player import choose_reader, make_engine_player
from gymposium_train.backends.protocol import LearningModel
from gymposium_train.config import Prompting
from gymposium_train.config.directory import is_complete, stage_directory
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.run.fine_tuning import fine_tune
from gymposium_train.run.lessons import (
    ColdStartProgress,
    Lesson,
    Lessons,
    RandomPlay,
    encode_prompt,
    exceeds_characters,
    imitate_batches,
    list_moves,
    list_texts,
    mix_batches,
    read_files,
    tokenize_lessons,
)
from gymposium_train.run.live import StageBar, summarize_metrics
from gymposium_train.run.measures import measure_curve_point
from gymposium_train.run.under_way import RunContext
from gymposium_train.util.progress import print_message

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

POINT_SECONDS = 20.0
"""CPU seconds between two points of the learning curve. A point is taken between two lots."""

Lots = list[list[Lesson]]
"""The lessons to imitate, in lots: one per game for random matches, or one for all files."""


def run_cold_start(run: RunContext) -> None:
    """Make the small model if the config names none, and do the cold start."""
    config, directory = run.config, run.directory
    settings, makes = config.cold_start, config.model.name is None
    if (not settings.is_used or is_complete(directory.cold_start)) and (not makes or is_complete(directory.base)):
        return
    began = time.process_time()
    with run.view.stage("Cold start", settings.epochs or settings.steps, lines=6) as bar:
        lots = iterate_lots(run, "cold_start", "cold-start", lambda: bar.advance("random matches", 0))
        first = next(lots)
        if makes and not is_complete(directory.base):
            share = TOKENIZER_LESSONS // len(first)
            some = [lesson for lot in first for lesson in islice(lot, share)]
            texts, moves, size = list_texts(some), list_moves(some), config.model.small
            with stage_directory(directory.base) as staging:
                make_small_model(staging, texts, seed=config.seed, size=size, moves=moves)
                config.evaluated_player.save(staging)
        if settings.is_used:
            with run.backend.imitation_model(run.start) as model:
                if settings.epochs is None:
                    _teach_lots(run, model, chain([first], lots), bar, began)
                else:
                    _teach_epochs(run, model, first, bar, began)


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
                config.prompting.prompt,
                find_reply_form(config.prompting.reply),
                seed=config.seed,
                tag=f"{tag}-{game.name}" if games > 1 else tag,
                each=note_played,
                context=config.prompting.context,
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


def tokenize_lots(run: RunContext, lots: Lots, model: LearningModel) -> list[Lessons]:
    """Return the lots as the model's tokens."""
    config, chat = run.config, model.chat
    room = min(config.optimizer.max_row or model.context, model.context)
    form = choose_reader(config.prompting.reply, chat)
    return [tokenize_lessons(lot, chat, room=room, max_tokens=config.prompting.room, form=form) for lot in lots]


def iterate_batches(
    tokens: Sequence[Lessons], run: RunContext, *key: str | int, first: int = 0
) -> Iterator[list[Demonstration]]:
    """Yield endless batches of the cold start's size from tokenized lots. `key` and `first` are as in `mix_batches`."""
    size, seed = run.config.cold_start.batch, run.config.seed
    return mix_batches([lot.demonstrations for lot in tokens], size, seed, *key, first=first)


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
    config, settings, directory = run.config, run.config.cold_start, run.directory
    directory.remove_later_metrics(COLD_START, 0)
    ending, counts, measured = ColdStartProgress(settings.steps), Counter[str](), dict[str, float]()
    last_point, points = began, dict[str, float]()

    def measure_curve(step: int) -> None:
        """Measure a point of the learning curve. Its time does not count toward the cold start."""
        nonlocal began, last_point
        before = time.process_time()
        player = make_engine_player("lm:cold_start", model.engine(), model.chat, config.evaluated_player)
        points.update(measure_curve_point(run, f"curve-cold-{step}", player)[0])
        last_point = time.process_time()
        began += last_point - before

    def iterate_material() -> Iterator[list[Demonstration]]:
        for number, (lot, tokens) in enumerate(iterate_tokenized_lots(run, lots, model)):
            step = number * LOT_STEPS
            if number and settings.failed:
                measured["train/sft_failed"] = measure_failed_share(model, config.prompting, lot, config.seed, step)
                # random players teach only the format of replies, but players in files also teach what to reply
                formed = measured["train/sft_failed"] <= settings.failed and not settings.data
                if formed or run.budget_used(began) >= BUDGET_SHARE:
                    ending.soon(step)
            if config.evaluation.every != 0 and time.process_time() - last_point >= POINT_SECONDS and not ending.known:
                measure_curve(step)
            for one in tokens if not number or not settings.data else ():  # files repeat the same lot
                counts.update(one.count())
            if not number:
                _report_problems(run, counts)
            yield from islice(iterate_batches(tokens, run, first=step), LOT_STEPS)

    for metrics in imitate_batches(model.learner, iterate_material(), settings, progress=ending):
        found = metrics | measured | points
        run.watchers.stepped(COLD_START, int(found.pop("step")), found)
        points.clear()
        bar.advance(summarize_metrics(found))
        run.interruption.stop_here()
    _save_results(run, model, counts, began)


def _teach_epochs(run: RunContext, model: LearningModel, lots: Lots, bar: StageBar, began: float) -> None:
    """Imitate the files in epochs, and save the model."""
    [lessons] = tokenize_lots(run, lots, model)
    counts = Counter(lessons.count())
    _report_problems(run, counts)
    progress = fine_tune(run, model.learner, lessons.demonstrations, bar)
    if progress.best_step:
        run.directory.add_results(validation={"loss": progress.best_loss, "token_accuracy": progress.accuracy})
    _save_results(run, model, counts, began)
    remove_directory(run.directory.fine_tuning)


def _save_results(run: RunContext, model: LearningModel, counts: Counter[str], began: float) -> None:
    """Write the counts of lessons and the CPU time since `began` to the results, and save the model."""
    run.directory.add_results(
        cold_start={name: counts[name] for name in ("replies", "too_long", "cut_off")},
        cold_start_cpu_seconds=time.process_time() - began,
    )
    model.save(run.directory.cold_start)


def measure_failed_share(
    model: LearningModel | LoadedModel, prompting: Prompting, lots: Lots, seed: int, step: int
) -> float:
    """Return the share of illegal moves among the model's replies to the lessons' prompts. Samples at most `TRIED`
    replies at temperature 1. If the lesson's reply is a tool call, any call counts as legal."""
    rng, engine = stream(seed, "tried", step), model.engine()
    drawn = [lesson for lot in lots for lesson in rng.sample(lot, min(len(lot), max(1, TRIED // len(lots))))]
    short = [lesson for lesson in drawn if not exceeds_characters(lesson, engine.context)]
    prompts = [(lesson, encode_prompt(lesson, model.chat)) for lesson in short]
    tried = [(lesson, prompt) for lesson, prompt in prompts if len(prompt) < engine.context]
    requests = [TokenRequest(prompt, stream(seed, "tried", step, n)) for n, (_, prompt) in enumerate(tried)]
    completions = engine.generate(requests, Sampling(1.0, prompting.room))
    form = choose_reader(prompting.reply, model.chat)
    readings = (
        read_reply(
            model.chat.read(completion.ids),
            lesson.legal,
            form.bind(lesson.tools) if isinstance(form, ToolsReader) else form,
            None,
            cut_off=completion.finish_reason == "length",
            calls=lesson.legal is None and read_reply(lesson.reply, None, form, None, calls=True).kind == "move",
        )
        for (lesson, _), completion in zip(tried, completions, strict=True)
    )
    return sum(reading.kind != "move" for reading in readings) / max(1, len(tried))


def _report_problems(run: RunContext, counts: Counter[str]) -> None:
    """Report the first lot's numbers of lessons that do not fit, and of those that do not teach a new model what is
    legal."""
    config = run.config
    listed = all(game.num_actions and not game.spec.tools for game in run.games)
    if counts["unguided"] and listed and run.games and config.model.name is None:
        print_message(
            f"{counts['unguided']} of {quantity(counts['replies'], 'reply', 'replies')} to "
            f"imitate {plural(counts['unguided'], 'does', 'do')} not teach the model what is legal, so "
            f"many of its moves may fail. Their lines name no legal moves, or the replies do not follow "
            f"prompting.reply={config.prompting.reply}. To get lines with legal moves, use gymposium synth.",
            style="yellow",
        )
    if counts["too_long"]:
        print_message(
            f"{counts['too_long']} of the first {quantity(counts['replies'] + counts['too_long'], 'lesson')} of the "
            f"cold start {plural(counts['too_long'], 'is', 'are')} left out, because they exceed the model's context.",
            style="yellow",
        )
    if counts["cut_off"]:
        print_message(
            f"{counts['cut_off']} of the first {quantity(counts['replies'], 'reply', 'replies')} to imitate "
            f"{plural(counts['cut_off'], 'is', 'are')} longer than "
            f"prompting.max_tokens = {config.prompting.room}, so the model would be cut off. Raise "
            f"prompting.max_tokens.",
            style="yellow",
        )
