"""Protocols for trainer adapters, and the data that they exchange with the kit.

Level (a), `Trainer`, has one method, `train`. Level (b), `RowTrainer`, also exposes rows of tokens and single steps, so
checks can say what is wrong.
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
"""A function that returns the probability of each of `ask.legal_moves`.

The rest, up to 1, is the probability of an illegal reply. `ask.observe().text` describes the position."""

Opponent = Literal["random", "self"]


@dataclass(frozen=True, slots=True)
class TrainerTask:
    """A two-seat game to learn. The trainer learns both seats."""

    game: Game
    opponent: Opponent
    """The other seat's player: uniformly random play, or the policy itself, which then learns from both seats."""


@dataclass(frozen=True, slots=True)
class TrainingBudget:
    """The budget of a training run."""

    matches: int
    """Maximum number of matches. The trainer may stop earlier."""
    seed: int
    """Seed of all random draws."""


class Trainer(Protocol):
    """Level (a): a trainer that returns a trained policy."""

    self_play: bool
    """Whether one policy can learn from both seats of a match. If not, the other seat plays at random."""

    def train(self, task: TrainerTask, budget: TrainingBudget) -> MovePolicy:
        """Train a policy from scratch and return it."""
        ...


@dataclass(frozen=True, slots=True)
class SampledReply:
    """A model's reply from the sampler."""

    seat: int
    tokens: TokenIds
    """All sampled tokens, including the reply's end token."""
    move: str | None
    """The move that the reply plays; None for an illegal reply, which forfeits the match."""


@dataclass(frozen=True, slots=True)
class TrainedMatch:
    """A match played for training."""

    events: tuple[Event, ...]
    """All events, as in `Match.events`: chance outcomes and both seats' moves."""
    replies: tuple[SampledReply, ...]
    """The model's replies in order: one per move, and possibly one that forfeits."""


@dataclass(frozen=True, slots=True)
class TrainedRow:
    """A seat's token stream in a match, as given to the learner. `tokens`, `mask` and `log_probs` have equal length."""

    match: int
    """Index in `RolledOut.matches`."""
    seat: int
    group: int | None
    """Group of rows that share a baseline with the same seat; None without groups. The kit never splits a group."""
    tokens: TokenIds
    mask: tuple[int, ...]
    """1 for each token that is trained, 0 for all others."""
    log_probs: tuple[float, ...]
    """The sampler's log-probabilities of the tokens, at the sampling temperature; 0.0 where `mask` is 0."""
    reward: float
    version: int
    """The policy version that sampled the row: the number of steps taken before it."""


@dataclass(frozen=True, slots=True)
class RolledOut:
    """Matches and their rows.

    A seat has one row per match, plus one for each turn whose prompt does not extend the earlier tokens. If its
    opponent forfeited, a seat may have no row."""

    matches: tuple[TrainedMatch, ...]
    rows: tuple[TrainedRow, ...]


class ReadingModel(Protocol):
    """A model's prompts and its spellings of moves. Training does not change them."""

    def read(self, match: Match, seat: int, before: TokenIds) -> TokenIds:
        """Return a seat's prompt tokens.

        `before` holds the prompts and replies of the seat's earlier turns, which come first in a growing
        conversation."""
        ...

    def replies(self, move: str) -> Sequence[TokenIds]:
        """Return every likely reply that plays this move, each with its end token.

        There is one reply for each way to spell the move in tokens, as returned by `find_spellings`."""
        ...


class TrainingModel(ReadingModel, Protocol):
    """Level (b): a model that learns `kuhn_poker` with the trainer's sampler, learner and optimizer."""

    def roll_out(self, matches: int, seed: int) -> RolledOut:
        """Play matches with the sampler's current weights, about equally often in both seats."""
        ...

    def step(self, rows: Sequence[TrainedRow], kl_weight: float = 0.0) -> Vector:
        """Run one training step on rows whose rewards the kit may have changed, and publish the new weights to the
        sampler.

        Returns the step's direction before an optimizer scales it: the negative flat gradient of the loss, in the order
        of `gradient`. It is all zeros if there is nothing to learn."""
        ...

    def log_probs(self, rows: Sequence[TokenIds]) -> Sequence[Sequence[float]]:
        """Return each token's log-probability given the tokens before it, as the loss computes it at the current
        weights.

        The first value in each row is ignored."""
        ...

    def gradient(self, prompt: TokenIds, reply: TokenIds) -> Vector:
        """Return the flat gradient of a reply's log-probability with respect to all weights."""
        ...

    def save(self) -> Any:
        """Save the state of weights, sampler and optimizer."""
        ...

    def restore(self, state: Any) -> None:
        """Restore a state from `save`."""
        ...


@runtime_checkable
class RowTrainer(Protocol):
    """Level (b): a trainer that exposes its rows and steps."""

    self_play: bool
    seat_baseline: bool
    """Whether rewards have a baseline per seat. Then rewards that depend only on the seat teach nothing."""
    kl: bool
    """Whether a step can have a KL term (`kl_weight`) towards the model's initial weights."""

    def train(self, task: TrainerTask, budget: TrainingBudget) -> MovePolicy:
        """Train a policy from scratch and return it, as in `Trainer`."""
        ...

    def begin(self, task: TrainerTask, seed: int) -> TrainingModel:
        """Return a new model at policy version 0, trained only to play mostly legal moves."""
        ...


def find_spellings(text: str, vocabulary: Sequence[str], end: int | None) -> list[TokenIds]:
    """Return all token sequences that spell a text, each followed by `end` if given. `vocabulary` holds the tokens'
    texts."""
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
