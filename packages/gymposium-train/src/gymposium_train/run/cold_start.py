"""The first stage of a run: the cold start, which teaches the model the form of replies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice

from gymposium.driver import MatchResult
from gymposium.reading import reader
from gymposium_agents.loading import LoadedModel
from gymposium_agents.small import make_small_model
from gymposium_train.cold_start import (
    Lesson,
    Pair,
    all_moves,
    batches,
    imitate,
    paid_moves,
    random_games,
    read_chats,
    texts_of,
    tokenized,
    winners_moves,
)
from gymposium_train.config import Keep
from gymposium_train.directory import is_whole, written_whole
from gymposium_train.learner import LocalLearner
from gymposium_train.progress import say
from gymposium_train.run.models import load, untaught
from gymposium_train.run.under_way import UnderWay
from gymposium_train.run.watching import COLD_START

TOKENIZER_LESSONS = 10_000
"""Number of lessons, shared between the games, that a small model's tokenizer is trained on."""

KEPT: Mapping[Keep, Callable[[Sequence[MatchResult]], list[Lesson]]] = {
    "winners": winners_moves,
    "all": all_moves,
    "paid": paid_moves,
}
"""The function that selects moves of finished matches, for each value of `cold_start.keep`."""

Lots = list[list[Lesson]]
"""The lessons to imitate, in lots: one for each game of random matches, or one for all files."""


def start(run: UnderWay) -> None:
    """Make the small model if none is named, and do the cold start."""
    config, directory = run.config, run.directory
    teaches, makes = config.cold_start.steps > 0, config.model.name is None
    if (not teaches or is_whole(directory.cold_start)) and (not makes or is_whole(directory.base)):
        return
    began = time.process_time()
    lots = lessons(run)
    if makes and not is_whole(directory.base):
        share = TOKENIZER_LESSONS // len(lots)
        texts = chain.from_iterable(texts_of(islice(lot, share)) for lot in lots)
        with written_whole(directory.base) as staging:
            make_small_model(staging, texts, seed=config.seed, size=config.model.small)
            config.prompting.player_settings().save(staging)
    if teaches:
        loaded = load(config, untaught(directory, config), whole=True)
        learner = _teach(run, loaded, pairs_of(run, lots, loaded, aloud=True))
        with learner.in_float32(), written_whole(directory.cold_start) as staging:
            loaded.save(staging)
            config.prompting.player_settings().save(staging)
            directory.add_results(cold_start_cpu_seconds=time.process_time() - began)


def lessons(run: UnderWay) -> Lots:
    """The lessons of the cold start: from the files that the config names, or from random matches, which are
    recorded."""
    settings = run.config.cold_start
    if settings.data:
        return [read_chats(settings.data, thinking=run.config.prompting.thinking)]
    with (
        run.view.stage("Random matches", settings.games, lines=2) as bar,
        run.stoppable_recorder("cold_start", bar) as record,
    ):
        return play_at_random(run, settings.games, "cold-start", record)


def play_at_random(run: UnderWay, matches: int, tag: str, each: Callable[[MatchResult], object]) -> Lots:
    """The moves to imitate in `matches` random matches, which are shared evenly between the run's games. `each` is
    called with every match."""
    config, several = run.config, len(run.games) > 1
    keep = config.cold_start.keep
    return [
        KEPT[keep](
            random_games(
                game,
                config.prompting.prompt,
                reader(config.prompting.reply),
                matches=matches // len(run.games) + (number < matches % len(run.games)),
                seed=config.seed,
                tag=f"{tag}-{game.name}" if several else tag,
                each=each,
                context=config.prompting.context,
                note_pay=keep == "paid",
            )
        )
        for number, game in enumerate(run.games)
    ]


def pairs_of(run: UnderWay, lots: Lots, loaded: LoadedModel, *, aloud: bool = False) -> list[list[Pair]]:
    """The lots as tokens. With `aloud`, lessons that are too long are counted in the results and reported."""
    config = run.config
    context = int(loaded.model.config.get_text_config(decoder=True).max_position_embeddings)
    room = min(config.optimizer.max_row or context, context)
    results = [tokenized(lot, loaded.chat, room=room, max_tokens=config.prompting.max_tokens) for lot in lots]
    if aloud:
        too_long, cut_off = sum(lot.too_long for lot in results), sum(lot.cut_off for lot in results)
        kept = sum(len(lot.pairs) for lot in results)
        run.directory.add_results(cold_start={"replies": kept, "too_long": too_long, "cut_off": cut_off})
        if too_long:
            say(f"Left out of the cold start: {too_long} replies that fill more than {room} tokens.", style="yellow")
        if cut_off:
            say(
                f"{cut_off} of {kept} replies to be imitated are longer than prompting.max_tokens = "
                f"{config.prompting.max_tokens}: the model would be cut off where it says them.",
                style="yellow",
            )
    return [lot.pairs for lot in results]


def auxiliary_sft(run: UnderWay, loaded: LoadedModel) -> Callable[[int], Iterator[list[Pair]]] | None:
    """For each step of reinforcement learning, batches of the cold start to imitate in its optimizer steps; None
    without `sft`."""
    settings = run.config.sft
    if settings is None:
        return None
    pairs = pairs_of(run, lessons(run), loaded)
    return partial(batches, pairs, settings.batch, run.config.seed, "beside")


def _teach(run: UnderWay, loaded: LoadedModel, pairs: Sequence[Sequence[Pair]]) -> LocalLearner:
    config, settings = run.config, run.config.cold_start
    learner = LocalLearner(loaded.model, loaded.pad, config.optimizer, dumps=run.directory.dumps)
    run.directory.forget(COLD_START, 0)
    pairs_by_step = batches(pairs, settings.batch, config.seed)
    with run.view.stage("Cold start (SFT)", settings.steps, lines=6) as bar:
        for metrics in imitate(learner, pairs_by_step, settings, progress=lambda step: step / settings.steps):
            run.watchers.stepped(COLD_START, int(metrics.pop("step")), metrics)
            bar.advance(f"loss {metrics['train/sft_loss']:.3f}")
            run.interruption.stop_here()
    return learner
