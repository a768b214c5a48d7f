"""The protocols that a trainer's adapter implements, and the data that it exchanges with the kit.

Level (a), `Trainer`, is one method: `train`. Level (b), `RowTrainer`, also exposes rows of tokens and single steps, so
that faults can be named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gymposium.games.protocol import Event, Game, Match
from gymposium.players.protocol import Ask

TokenIds = tuple[int, ...]
Vector = NDArray[np.float64]
MovePolicy = Callable[[Ask], Sequence[float]]
"""Function from an ask to the probability of each of `ask.legal_moves`. The rest to 1 is the probability of an
illegal reply. `ask.observe().text` is the position in words."""

Opponent = Literal["random", "self"]


@dataclass(frozen=True, slots=True)
class TrainerTask:
    """A game to learn, with two seats. The trainer learns both of them."""

    game: Game
    opponent: Opponent
    """Who has the other seat: uniformly random play, or the policy, which then learns from both seats."""


@dataclass(frozen=True, slots=True)
class TrainingBudget:
    """The cost limit of a training run."""

    matches: int
    """Maximum number of matches. The trainer may stop earlier."""
    seed: int
    """Seed for all random draws."""


class Trainer(Protocol):
    """Level (a): a trainer as a whole."""

    self_play: bool
    """Whether one policy can learn from both seats of the same match. If not, the other seat plays at random."""

    def train(self, task: TrainerTask, budget: TrainingBudget) -> MovePolicy:
        """Train a new policy from scratch and return it."""
        ...


@dataclass(frozen=True, slots=True)
class SampledReply:
    """A reply of the model, as returned by the sampler."""

    seat: int
    tokens: TokenIds
    """All sampled tokens, including the reply's end token."""
    move: str | None
    """The played move; None for an illegal reply, which makes its seat forfeit the match."""


@dataclass(frozen=True, slots=True)
class TrainedMatch:
    """A match played for learning."""

    events: tuple[Event, ...]
    """All events, as in `Match.events`: deals and moves of both seats."""
    replies: tuple[SampledReply, ...]
    """The model's replies, in order: one for each event of a seat that it played, and one that forfeits."""


@dataclass(frozen=True, slots=True)
class TrainedRow:
    """A stream of tokens of one seat in one match, as given to the learner. `mask`, `log_probs` and `tokens` have equal
    length."""

    match: int
    """Index in `RolledOut.matches`."""
    seat: int
    group: int | None
    """Rows with the same seat and group are compared with each other; None in trainers without groups. The kit never
    splits a group."""
    tokens: TokenIds
    mask: tuple[int, ...]
    """1 for each trained token, else 0."""
    log_probs: tuple[float, ...]
    """The tokens' log-probabilities as reported by the sampler, at the sampling temperature; 0.0 where `mask` is
    0."""
    reward: float
    version: int
    """The policy version that sampled the row: the number of steps behind its weights."""


@dataclass(frozen=True, slots=True)
class RolledOut:
    """Matches and their rows. A seat has one row per match, or one per turn whose prompt does not extend the earlier
    tokens. A seat whose opponent forfeited may have no row."""

    matches: tuple[TrainedMatch, ...]
    rows: tuple[TrainedRow, ...]


class ReadingModel(Protocol):
    """What a model reads and how it writes moves, unaffected by steps."""

    def read(self, match: Match, seat: int, before: TokenIds) -> TokenIds:
        """Return the tokens that a seat reads before its reply. `before` holds the prompts and replies of its earlier
        turns; a growing conversation begins with them."""
        ...

    def replies(self, move: str) -> Sequence[TokenIds]:
        """Return every reply that plays this move and has a noteworthy probability, each with its end: one for each
        way to write the move in tokens. `spellings` finds them."""
        ...


class TrainingModel(ReadingModel, Protocol):
    """Level (b): a model that learns `kuhn_poker`, with the trainer's own sampler, learner and optimizer."""

    def roll_out(self, matches: int, seed: int) -> RolledOut:
        """Play matches with the sampler's current weights. Both seats are played about equally often."""
        ...

    def step(self, rows: Sequence[TrainedRow], kl_weight: float = 0.0) -> Vector:
        """Run one training step on these rows with their rewards, which the kit may have changed, and publish the
        new weights to the sampler.

        Returns the direction of the step before an optimizer scales it: minus the gradient of the loss by
        all weights, flat and in the order of `gradient`. All zeros if there is nothing to learn."""
        ...

    def log_probs(self, rows: Sequence[TokenIds]) -> Sequence[Sequence[float]]:
        """Return each token's log-probability given the tokens before it, at the trained weights, as the loss
        computes them. The first in each row is ignored."""
        ...

    def gradient(self, prompt: TokenIds, reply: TokenIds) -> Vector:
        """Return the gradient of a reply's log-probability by all weights, flat."""
        ...

    def save(self) -> Any:
        """Return the state of weights, sampler and optimizer."""
        ...

    def restore(self, state: Any) -> None:
        """Restore a state that `save` returned."""
        ...


@runtime_checkable
class RowTrainer(Protocol):
    """Level (b): a trainer that exposes its rows and steps."""

    self_play: bool
    seat_baseline: bool
    """Whether a reward counts relative to others of the same seat, so that rewards that depend only on the seat teach
    nothing."""
    kl: bool
    """Whether a step can have a KL term (`kl_weight`) towards the model's initial weights."""

    def train(self, task: TrainerTask, budget: TrainingBudget) -> MovePolicy:
        """Train as in `Trainer`, level (a)."""
        ...

    def begin(self, task: TrainerTask, seed: int) -> TrainingModel:
        """Return a new model that mostly plays legal moves and has learned nothing else, at policy version 0."""
        ...


def spellings(text: str, vocabulary: Sequence[str], end: int | None) -> list[TokenIds]:
    """Return all token sequences that spell a text, followed by `end` unless it is None. `vocabulary` holds each
    token's text."""
    pieces = [(number, piece) for number, piece in enumerate(vocabulary) if piece and piece in text and number != end]
    tail = () if end is None else (end,)
    begun: list[tuple[TokenIds, str]] = [((), text)]
    found = []
    while begun:
        tokens, rest = begun.pop()
        if not rest:
            found.append((*tokens, *tail))
        begun += [((*tokens, number), rest[len(piece) :]) for number, piece in pieces if rest.startswith(piece)]
    return sorted(found, key=lambda reply: (len(reply), reply))
