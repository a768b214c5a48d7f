"""Fine-tuning in epochs: a cold start that imitates each conversation of its files once per epoch."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, GymposiumError
from gymposium.runs.curves import COLD_START
from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_train.config import ColdStart
from gymposium_train.config.directory import check_state
from gymposium_train.learner import Learner
from gymposium_train.learner.protocol import Demonstration, group_conversations
from gymposium_train.run.checkpoints import (
    STATE,
    checkpoint_path,
    list_complete_checkpoints,
    load_checkpoint,
    remove_incomplete_checkpoints,
    save_checkpoint,
)
from gymposium_train.run.lessons import compute_cosine_rate
from gymposium_train.run.live import StageBar, summarize_metrics
from gymposium_train.run.under_way import RunContext
from gymposium_train.util.progress import print_message

Conversation = Sequence[Demonstration]


@dataclass(slots=True)
class Progress:
    """The state of fine-tuning between two steps."""

    step: int = 0
    """Number of steps done."""
    best_step: int = 0
    """The last step of the epoch with the lowest validation loss."""
    best_loss: float = math.inf
    accuracy: float | None = None
    """The token accuracy at the best step."""

    def as_state(self) -> dict[str, Any]:
        """Return the state for a checkpoint as JSON data."""
        return asdict(self) | {"best_loss": None if math.isinf(self.best_loss) else self.best_loss}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Progress:
        """Restore what `as_state` returned."""
        loss, accuracy = state["best_loss"], state["accuracy"]
        return cls(
            int(state["step"]),
            int(state["best_step"]),
            math.inf if loss is None else float(loss),
            None if accuracy is None else float(accuracy),
        )


def fine_tune(run: RunContext, learner: Learner, demonstrations: Sequence[Demonstration], bar: StageBar) -> Progress:
    """Imitate the demonstrations for the epochs of the cold start, from the newest checkpoint if there is one. A
    checkpoint is written after each epoch, and when the run is stopped. With held-out conversations, the learner ends
    with the weights of the epoch with the lowest validation loss.

    Raises `BadOption` if no conversation is left to imitate, and `GymposiumError` if the checkpoint does not match the
    run or no epoch has a finite validation loss."""
    settings, folder = run.config.cold_start, run.directory.fine_tuning
    imitated, held_out = split_conversations(demonstrations, settings, run.config.seed)
    epochs = plan_epochs(imitated, settings, run.config.seed)
    ends = {step: epoch for epoch, step in enumerate(accumulate(map(len, epochs)), start=1)}
    total = max(ends)
    progress = _load_progress(folder, learner, ends)
    run.directory.remove_later_metrics(COLD_START, progress.step)
    bar.advance("", sum(end <= progress.step for end in ends))

    def save_progress() -> None:
        save_checkpoint(folder, learner, progress.as_state(), keep=1, besides=progress.best_step)

    for batch in islice(chain.from_iterable(epochs), progress.step, None):
        rate = compute_cosine_rate(progress.step / total, settings)
        metrics = {**learner.imitate(batch, rate), "train/learning_rate": rate}
        progress.step += 1
        epoch = ends.get(progress.step)
        if epoch is not None and held_out:
            loss, accuracy = learner.validate(held_out)
            metrics |= {"train/sft_validation_loss": loss}
            metrics |= {} if accuracy is None else {"train/sft_token_accuracy": accuracy}
            if loss < progress.best_loss:
                progress.best_step, progress.best_loss, progress.accuracy = progress.step, loss, accuracy
        run.watchers.stepped(COLD_START, progress.step, metrics)
        bar.advance(summarize_metrics(metrics), int(epoch is not None))
        if epoch is not None:
            save_progress()
        try:
            run.interruption.stop_here()
        except KeyboardInterrupt:
            if epoch is None:
                save_progress()
            raise
    if held_out and not progress.best_step:
        raise GymposiumError(
            "The validation loss was not finite after any epoch, so no epoch is the best. Start a new run with a lower "
            "cold_start.learning_rate."
        )
    if held_out and progress.best_step != progress.step:
        load_checkpoint(checkpoint_path(folder, progress.best_step), learner)
        print_message(
            f"The validation loss was lowest after epoch {ends[progress.best_step]}. The model has the weights of that "
            f"epoch."
        )
    return progress


def split_conversations(
    demonstrations: Sequence[Demonstration], settings: ColdStart, seed: int
) -> tuple[list[Conversation], list[Demonstration]]:
    """Return the conversations to imitate, and the demonstrations of the held-out ones. At least one conversation is
    held out if `settings.validation` is above 0.

    Raises `BadOption` if no conversation is left to imitate."""
    every: list[Conversation] = [*group_conversations(demonstrations)]
    count = max(1, round(settings.validation * len(every))) if settings.validation else 0
    if count == len(every):
        raise BadOption(
            f"cold_start.validation={settings.validation:g} holds out all of {quantity(count, 'conversation')}. Lower "
            f"it, or add data."
        )
    held_out = {*stream(seed, "validation").sample(range(len(every)), count)}
    return (
        [one for number, one in enumerate(every) if number not in held_out],
        [demonstration for number in sorted(held_out) for demonstration in every[number]],
    )


def plan_epochs(imitated: Sequence[Conversation], settings: ColdStart, seed: int) -> list[list[list[Demonstration]]]:
    """Return the batches of each epoch."""
    assert settings.epochs is not None, "the caller checked it"
    return [
        _shuffle_conversations(imitated, settings.batch, stream(seed, "epoch", epoch))
        for epoch in range(settings.epochs)
    ]


def _shuffle_conversations(
    imitated: Sequence[Conversation], size: int, rng: random.Random
) -> list[list[Demonstration]]:
    """Return all conversations in random order, in batches of at least `size` replies. Conversations are not split."""
    batches: list[list[Demonstration]] = [[]]
    for conversation in rng.sample(imitated, len(imitated)):
        if len(batches[-1]) >= size:
            batches.append([])
        batches[-1] += conversation
    return batches


def _load_progress(folder: Path, learner: Learner, ends: Collection[int]) -> Progress:
    """Restore the newest checkpoint, if any. `ends` are the last steps of the epochs."""
    remove_incomplete_checkpoints(folder)
    saved = list_complete_checkpoints(folder)
    if not saved:
        return Progress()
    with check_state(saved[-1] / STATE):
        progress = Progress.from_state(load_checkpoint(saved[-1], learner))
        if progress.step > max(ends):
            raise ValueError(f"its step is {progress.step}, but the run has {quantity(max(ends), 'step')}")
        if progress.best_step and not (
            progress.best_step in ends and checkpoint_path(folder, progress.best_step) in saved
        ):
            raise ValueError(f"best_step {progress.best_step:.9g} is not an epoch with a checkpoint")
    print_message(f"Resuming after step {progress.step} ({saved[-1]})")
    return progress
