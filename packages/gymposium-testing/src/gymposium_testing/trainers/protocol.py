"""The protocols that a trainer's adapter implements, and the data that it exchanges with the kit.

Level (a), `Trainer`, is one method: `train`. Level (b), `RowTrainer`, also gives rows of tokens and single steps, so
that a fault can be named.
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
"""Function from an ask to the probability of each of `ask.legal_moves`. What is missing to 1 is the probability of a
reply that is no legal move. `ask.observe().text` is the position in words."""

Opponent = Literal["random", "self"]


@dataclass(frozen=True, slots=True)
class TrainerTask:
    """A game to learn, with two seats. The trainer learns both of them."""

    game: Game
    opponent: Opponent
    """Who has the other seat: uniformly random play, or the policy itself, which then learns from both seats."""


@dataclass(frozen=True, slots=True)
class TrainingBudget:
    """What a training may cost."""

    matches: int
    """Most matches that may be played. The trainer may stop earlier."""
    seed: int
    """Seed of everything that is drawn."""


class Trainer(Protocol):
    """Level (a): a trainer as a whole."""

    self_play: bool
    """Whether one policy can learn from both seats of the same match. If not, the other seat plays at random."""

    def train(self, task: TrainerTask, budget: TrainingBudget) -> MovePolicy:
        """Train a new policy from scratch and return it."""
        ...


@dataclass(frozen=True, slots=True)
class SampledReply:
    """A reply of the model, as the sampler gave it."""

    seat: int
    tokens: TokenIds
    """All sampled tokens, with the token that ends the reply."""
    move: str | None
    """The move that was played; None if the reply is no legal move, so that its seat forfeits the match."""


@dataclass(frozen=True, slots=True)
class TrainedMatch:
    """A match that was played for learning."""

    events: tuple[Event, ...]
    """All events, as in `Match.events`: deals and moves of both seats."""
    replies: tuple[SampledReply, ...]
    """The replies of the model, in order: one for each event of a seat that it played, and one that forfeits."""


@dataclass(frozen=True, slots=True)
class TrainedRow:
    """A stream of tokens of one seat in one match, as the learner gets it. `mask`, `log_probs` and `tokens` are equally
    long."""

    match: int
    """Index in `RolledOut.matches`."""
    seat: int
    group: int | None
    """Rows of the same seat and group are compared with each other; None in trainers without groups. The kit never
    splits a group."""
    tokens: TokenIds
    mask: tuple[int, ...]
    """1 for each token that is learned from, else 0."""
    log_probs: tuple[float, ...]
    """Log-probabilities of the tokens as the sampler reported them, at the sampling temperature; 0.0 where `mask` is
    0."""
    reward: float
    version: int
    """The policy version that sampled the row: the number of steps that made its weights."""


@dataclass(frozen=True, slots=True)
class RolledOut:
    """Matches and their rows. A seat has one row for each match, or one for each turn whose prompt does not begin with
    the tokens before it. A seat whose opponent forfeited may have no row."""

    matches: tuple[TrainedMatch, ...]
    rows: tuple[TrainedRow, ...]


class ReadingModel(Protocol):
    """What a model reads and how it writes moves, which no step changes."""

    def read(self, match: Match, seat: int, before: TokenIds) -> TokenIds:
        """Return the tokens that a seat reads before its reply. `before` are the prompts and replies of its earlier
        turns; a conversation that grows begins with them."""
        ...

    def replies(self, move: str) -> Sequence[TokenIds]:
        """Return every reply that plays this move and has a noteworthy probability, each with its end: one for each
        way to write the move in tokens. `spellings` finds them."""
        ...


class TrainingModel(ReadingModel, Protocol):
    """Level (b): a model that learns `kuhn_poker`, with the trainer's own sampler, learner and optimizer."""

    def roll_out(self, matches: int, seed: int) -> RolledOut:
        """Play matches with the weights that the sampler holds now. Both seats are played about equally often."""
        ...

    def step(self, rows: Sequence[TrainedRow], kl_weight: float = 0.0) -> Vector:
        """Do one step of the trainer on these rows with their rewards, which the kit may have changed, and publish the
        new weights to the sampler.

        Returns the direction in which the step went before an optimizer scales it: minus the gradient of the loss by
        all weights, flat and in the order of `gradient`. All zeros if there is nothing to learn."""
        ...

    def log_probs(self, rows: Sequence[TokenIds]) -> Sequence[Sequence[float]]:
        """Return the log-probability of each token given those before it, by the weights that learn, as the loss
        computes them. The first of each row is not looked at."""
        ...

    def gradient(self, prompt: TokenIds, reply: TokenIds) -> Vector:
        """Return the gradient of the log-probability of a reply by all weights, flat."""
        ...

    def save(self) -> Any:
        """Return the state of weights, sampler and optimizer."""
        ...

    def restore(self, state: Any) -> None:
        """Go back to a state that `save` returned."""
        ...


@runtime_checkable
class RowTrainer(Protocol):
    """Level (b): a trainer that shows its rows and steps."""

    self_play: bool
    seat_baseline: bool
    """Whether a reward counts relative to others of the same seat, so that rewards that depend on the seat alone teach
    nothing."""
    kl: bool
    """Whether a step can have a KL term (`kl_weight`) towards the weights with which the model began."""

    def train(self, task: TrainerTask, budget: TrainingBudget) -> MovePolicy:
        """Level (a), as in `Trainer`."""
        ...

    def begin(self, task: TrainerTask, seed: int) -> TrainingModel:
        """Return a new model that plays legal moves mostly and has learned nothing else, at policy version 0."""
        ...


def spellings(text: str, vocabulary: Sequence[str], end: int | None) -> list[TokenIds]:
    """Return all token sequences that spell a text, followed by `end` unless it is None. `vocabulary` holds the text of
    each token."""
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
