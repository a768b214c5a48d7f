"""The protocol of a learner: rows of tokens in, optimizer steps out.

A learner knows no games, matches or episodes. `LocalLearner` learns in this process. `DistributedLearner` is split over
several processes. Other backends have their own learners (`gymposium_train.backends`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from gymposium_train.learner.rows import Row, Tokens

Pair = tuple[Tokens, Tokens]
"""A prompt and a completion."""


class Demonstration(NamedTuple):
    """A completion to imitate."""

    prompt: Tokens
    completion: Tokens
    legal: tuple[Tokens, ...] = ()
    """The ids that would continue a legal reply at each token of the completion. Empty if unknown."""
    taught: tuple[tuple[float, ...], ...] = ()
    """A teacher's probabilities of the ids in `legal`, given the completion's tokens before them. The learner then
    imitates these distributions instead of the completion's tokens. Empty without a teacher."""


class ImitationScore(NamedTuple):
    """How well a model imitates demonstrations."""

    loss: float
    """The mean negative log-probability of the completions' tokens, in nats."""
    accuracy: float | None
    """The share of the completions' tokens that the model finds most likely. None if the learner does not measure
    it."""


def group_conversations(demonstrations: Sequence[Demonstration]) -> list[list[Demonstration]]:
    """Group the demonstrations by conversation, in order. In a conversation, each prompt begins with the previous
    prompt and completion."""
    found: list[list[Demonstration]] = []
    for one in demonstrations:
        read = found[-1][-1].prompt + found[-1][-1].completion if found else None
        if read is not None and one.prompt[: len(read)] == read:
            found[-1].append(one)
        else:
            found.append([one])
    return found


AuxiliarySft = Iterator[tuple[float, Sequence[Demonstration | Pair]]]
"""For each optimizer step: the weight of the imitation term in the loss, and the demonstrations to imitate."""


class Learner(Protocol):
    """A trainer of a model on rows of tokens."""

    policy_version: int
    """The number of optimizer steps so far. A run that rolls back to earlier weights sets it to an unused number."""

    @property
    def critic(self) -> object | None:
        """The critic, or None if the learner has none. Callers only test whether it is None."""
        ...

    @property
    def tolerance(self) -> float:
        """The largest rounding difference, in nats, between a log-probability of this learner and one from an engine
        with the same weights."""
        ...

    def annotate(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows, in order, with the turn fields that the loss needs: the critic's value, and the
        log-probabilities under the current policy and the reference."""
        ...

    def values_after(self, prompts: Sequence[Tokens]) -> list[float]:
        """Return the critic's values of unanswered prompts. Call it only if the learner has a critic."""
        ...

    def score(self, pairs: Sequence[Pair], temperature: float = 1.0) -> list[tuple[float, ...]]:
        """Return the log-probabilities at this temperature of each pair's completion tokens, in order, computed as in
        an update."""
        ...

    def update(
        self,
        rows: Sequence[Row],
        *,
        learning_rate: float,
        entropy_weight: float = 0.0,
        kl_weight: float | None = None,
        distillation_weight: float = 0.0,
        seed: int = 0,
        policy_learns: bool = True,
        auxiliary_sft: AuxiliarySft | None = None,
    ) -> dict[str, float]:
        """Do one step of reinforcement learning: one or more passes over the rows, each with one or more optimizer
        steps.

        Rows carry their advantages, and weights that make the loss over all rows a mean. The loss of an optimizer step
        is its minibatch's part of that mean times the number of minibatches. The mean gradient over a pass is therefore
        that of all rows. `entropy_weight` applies to the entropy among tokens that continue a legal reply
        (`Span.legal`). `kl_weight` defaults to the weight in the loss. `distillation_weight` applies to the
        cross-entropy with a teacher's probabilities (`Span.taught`). With `policy_learns=False`, only the critic is
        trained, and `auxiliary_sft` is not used. Returns metrics by name.

        Raises `BadOption` for an `entropy_weight` above 0 if a turn has no `legal`."""
        ...

    def imitate(self, demonstrations: Sequence[Demonstration | Pair], learning_rate: float) -> dict[str, float]:
        """Do one SFT step: maximize the mean log-probability of the completions' tokens, or its mean over a teacher's
        distributions if a demonstration has them. With a legality weight, also maximize that of the tokens that
        continue a legal reply, if a demonstration names them. Demonstrations that continue the previous one are
        computed together with it. Returns metrics by name."""
        ...

    def validate(self, demonstrations: Sequence[Demonstration]) -> ImitationScore:
        """Measure how well the model imitates demonstrations, without learning from them."""
        ...

    def refresh_reference(self, share: float = 1.0) -> None:
        """Replace the reference policy, if any, with the current policy. A `share` below 1 moves its weights toward the
        current ones by this share of the way."""
        ...

    def save_state(self, directory: Path, *, weights_only: bool = False) -> None:
        """Write the learner's state for a checkpoint into an existing directory. With `weights_only`, the state of the
        optimizer and the reference policy may be left out."""
        ...

    def load_state(self, directory: Path, *, weights_only: bool = False) -> None:
        """Restore the state written by `save_state` with the same `weights_only`. What it left out stays unchanged.
        Raises `GymposiumError` if the learner's settings differ."""
        ...
