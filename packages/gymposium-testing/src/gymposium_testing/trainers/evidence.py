"""The evidence for a trainer's checks, computed only once: rollouts, steps and exact figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gymposium.games.registry import load_game
from gymposium.util.streams import derive_seed, stream
from gymposium.util.visible import quantity
from gymposium_testing.contract import CheckFailed
from gymposium_testing.trainers.protocol import RolledOut, RowTrainer, TrainedRow, TrainerTask, Vector
from gymposium_testing.trainers.row_faults import ReplayedMatch, RowFault, find_faults, replay_match
from gymposium_testing.trainers.traversal import GameTree, PromptedReply

MATCHES = 64
"""Number of matches in the rollout whose rows are checked one by one."""
MANY_MATCHES = 512
"""Number of matches in the rollout whose replies are counted."""
STEPS, STEP_MATCHES = 24, 64
"""Number of steps whose mean is compared with the exact gradient, and number of matches per step."""
MOST_STEPS = 40
MIN_CHANGE, MIN_LAST_CHANGE = 0.3, 0.02
"""Minimum change of a log-probability, in nats, that distinguishes versions: over all steps, and over the last step."""


@dataclass(frozen=True, slots=True)
class MovedModel:
    """A model after some steps, and a rollout with it."""

    states: tuple[Any, ...]
    """The states after 0, 1, … steps. The rollout is from the last one."""
    rollout: RolledOut


class TrainerEvidence:
    """Evidence about a trainer at level (b). Computing any property restores the model's initial state afterwards."""

    def __init__(self, trainer: RowTrainer, seed: int = 0) -> None:
        self.trainer, self.seed = trainer, seed
        self.task = TrainerTask(load_game("kuhn_poker"), "self" if trainer.self_play else "random")
        self.model = trainer.begin(self.task, seed)
        self._start = self.model.save()
        self._gradients: dict[PromptedReply, Vector] = {}

    def reset(self) -> None:
        """Reset the model to its initial state."""
        self.model.restore(self._start)

    @cached_property
    def tree(self) -> GameTree:
        """The tree of the game's positions, with the model's prompts and replies."""
        return GameTree(self.task, self.model)

    @cached_property
    def rollout(self) -> RolledOut:
        """A rollout with the initial weights."""
        self.reset()
        return _roll_out(self, MATCHES, "first")

    @cached_property
    def matches(self) -> list[ReplayedMatch]:
        """The replayed matches from `rollout`."""
        return [replay_match(self.task.game, self.model, match) for match in self.rollout.matches]

    @cached_property
    def row_faults(self) -> dict[RowFault, tuple[str, str]]:
        """Errors in the rows of `rollout`."""
        return find_faults(self.rollout, self.matches, self.model)

    @cached_property
    def moved_model(self) -> MovedModel:
        """The model after enough steps to tell its versions apart, and a rollout with it.

        The rewards favor rare moves, so any trainer changes its weights."""
        self.reset()
        states, rolled = [self._start], self.rollout
        rows = self.rollout.rows
        computed = [self.model.log_probs([row.tokens for row in rows])]
        for number in range(MOST_STEPS):
            self.model.step(_reward_rare_replies(rolled))
            states.append(self.model.save())
            computed.append(self.model.log_probs([row.tokens for row in rows]))
            rolled = _roll_out(self, MATCHES, "moved", number)
            if (
                _compute_change(rows, computed[0], computed[-1]) >= MIN_CHANGE
                and _compute_change(rows, *computed[-2:]) >= MIN_LAST_CHANGE
            ):
                break
        if _compute_change(rows, computed[0], computed[-1]) < MIN_CHANGE:
            self.reset()
            raise CheckFailed(
                f"{MOST_STEPS} steps change no log-probability by {MIN_CHANGE} nats.",
                fix="let step() update the weights with the trainer's own learning rate.",
            )
        self.reset()
        return MovedModel(tuple(states), rolled)

    @cached_property
    def large_rollout(self) -> RolledOut:
        """A large rollout with the final weights of `moved_model`."""
        self.model.restore(self.moved_model.states[-1])
        rolled = _roll_out(self, MANY_MATCHES, "counted")
        self.reset()
        return rolled

    def gradients(self, answers: Iterable[PromptedReply]) -> list[Vector]:
        """Return the gradient of each reply's log-probability at the initial weights."""
        found = []
        for answer in answers:
            if answer not in self._gradients:
                self.reset()
                self._gradients[answer] = np.asarray(self.model.gradient(*answer), dtype=np.float64)
            found.append(self._gradients[answer])
        return found

    def step(self, rows: Sequence[TrainedRow], kl_weight: float = 0.0, state: Any = None) -> Vector:
        """Return the direction of a step from a saved state, by default the initial one."""
        self.model.restore(self._start if state is None else state)
        direction = self._run_step(rows, kl_weight)
        self.reset()
        return direction

    def _run_step(self, rows: Sequence[TrainedRow], kl_weight: float) -> Vector:
        direction = np.asarray(self.model.step(rows, kl_weight), dtype=np.float64)
        if not np.isfinite(direction).all():
            raise CheckFailed("A step goes in a direction that is not finite.", fix="look for a division by zero.")
        return direction

    def collect_answers(self, row: TrainedRow) -> list[PromptedReply]:
        """Return a row's prompts and sampled replies."""
        turns = [turn for turn in self.matches[row.match].turns if turn.seat == row.seat]
        return [(turn.prompt, turn.reply) for turn in turns]

    @cached_property
    def random_step(self) -> tuple[tuple[TrainedRow, ...], Vector]:
        """The rows of `rollout` with random rewards of ±1 by match and seat, and the direction of a step on them.

        Unlike returns, the random rewards of the two seats are independent."""
        rng = stream(self.seed, "trainers", "rewards")
        seats = {(row.match, row.seat): 0.0 for row in self.rollout.rows}
        rewards = {key: rng.choice((-1.0, 1.0)) for key in seats}
        rows = tuple(replace(row, reward=rewards[row.match, row.seat]) for row in self.rollout.rows)
        return rows, self.step(rows)

    @cached_property
    def explanations(self) -> list[Explanation]:
        """Explanations of the step in `random_step`, best first."""
        rows, step = self.random_step
        gradients = [self.gradients(self.collect_answers(row)) for row in rows]
        whole = [np.asarray(sum(of_row, np.zeros_like(step))) for of_row in gradients]
        without_last = [np.asarray(sum(of_row[:-1], np.zeros_like(step))) for of_row in gradients]
        return rank_explanations(rows, step, whole, without_last)

    @cached_property
    def exact_gradient(self) -> Vector:
        """The exact policy gradient at the initial weights."""
        self.reset()
        factors = self.tree.compute_coefficients(self.tree.compute_probabilities(self.model))
        return np.asarray(np.array([*factors.values()]) @ np.array(self.gradients(factors)))

    @cached_property
    def directions(self) -> list[Vector]:
        """Directions of independent steps from the initial state."""
        found = []
        for number in range(STEPS):
            self.reset()
            found.append(self._run_step(_roll_out(self, STEP_MATCHES, "step", number).rows, 0.0))
        self.reset()
        return found


def compute_cosine(one: Vector, other: Vector) -> float:
    """Return the cosine similarity of two vectors, or 0 if one of them is 0."""
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / size if size else 0.0


def measure_residual(vector: Vector, span: Sequence[Vector]) -> float:
    """Return the share of a vector that lies outside the span of others, from 0 to 1."""
    size = float(np.linalg.norm(vector))
    if not size:
        return 0.0
    basis, sizes, _ = np.linalg.svd(np.array(span).T, full_matrices=False)
    basis = basis[:, sizes > 1e-6 * sizes[0]]
    return float(np.linalg.norm(vector - basis @ (basis.T @ vector))) / size


def _roll_out(evidence: TrainerEvidence, matches: int, *key: str | int) -> RolledOut:
    rolled = evidence.model.roll_out(matches, derive_seed(evidence.seed, "trainers", *key))
    if not rolled.rows or len(rolled.matches) != matches:
        raise CheckFailed(
            f"roll_out({matches}) gives {quantity(len(rolled.matches), 'match')} and "
            f"{quantity(len(rolled.rows), 'row')}.",
            fix="return all played matches, including lost ones, and their rows.",
        )
    return rolled


def _reward_rare_replies(rolled: RolledOut) -> list[TrainedRow]:
    """Return the rows with reward 1 if their first reply plays the rarest move, else 0."""
    moves = {
        (number, reply.seat): reply.move for number, match in enumerate(rolled.matches) for reply in match.replies[::-1]
    }
    counts = [*moves.values()]
    rare = min({*counts} - {None}, key=lambda move: (counts.count(move), move), default=None)
    return [replace(row, reward=float(moves[row.match, row.seat] == rare)) for row in rolled.rows]


def _compute_change(
    rows: Sequence[TrainedRow], one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]
) -> float:
    """Return the largest change of a trained token's log-probability."""
    return max(
        abs(a - b)
        for row, before, after in zip(rows, one, other, strict=True)
        for a, b, on in zip(before, after, row.mask, strict=True)
        if on
    )


ExplanationKind = Literal["the rewards", "the other seat's rewards", "without last steps"]
MIN_SPREAD = 1e-6
"""Minimum standard deviation of scaled rewards."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A way that a trainer may use rewards, with its similarity to a step."""

    kind: ExplanationKind
    cosine: float
    """Cosine between the step and the nearest direction of this kind. It is negative for opposite directions."""


def rank_explanations(
    rows: Sequence[TrainedRow], step: Vector, whole: Sequence[Vector], without_last: Sequence[Vector]
) -> list[Explanation]:
    """Return how well each way to use rewards explains a step, best first.

    `whole` holds the gradient of the log-probability of each row's replies, `without_last` that of all but the last
    reply. The usual baselines, scales and weights for long rows are tried, with any constant baseline per seat. The
    nearest direction of each kind counts."""
    own = [row.reward for row in rows]
    of_seat = {(row.match, row.seat): row.reward for row in rows}
    others = [of_seat.get((row.match, 1 - row.seat), 0.0) for row in rows]
    tried: list[tuple[ExplanationKind, Sequence[float], Sequence[Vector]]] = [("the rewards", own, whole)]
    if any(others):
        tried.append(("the other seat's rewards", others, whole))
    tried.append(("without last steps", own, without_last))
    found = [
        max(
            (Explanation(kind, one) for one in _compute_cosines(step, rows, rewards, np.array(gradients))),
            key=lambda explanation: abs(explanation.cosine),
        )
        for kind, rewards, gradients in tried
    ]
    return sorted(found, key=lambda one: -abs(one.cosine))


def _compute_cosines(
    step: Vector, rows: Sequence[TrainedRow], rewards: Sequence[float], gradients: Vector
) -> Iterator[float]:
    """Yield the cosine between the step and the nearest direction, for each kind of advantages."""
    seats = np.array([[row.seat == seat for row in rows] for seat in (0, 1)], dtype=float)
    for size in (np.ones(len(rows)), np.array([1.0 / max(1, sum(row.mask)) for row in rows])):
        constants = (seats * size) @ gradients
        for advantages in _compute_advantages(rows, rewards):
            directions = np.vstack([(advantages * size) @ gradients, constants])
            factors, *_ = np.linalg.lstsq(directions.T, step, rcond=None)
            nearest = factors @ directions
            yield float(np.linalg.norm(nearest) / np.linalg.norm(step)) * float(np.sign(factors[0]))


def _compute_advantages(rows: Sequence[TrainedRow], rewards: Sequence[float]) -> Iterator[Vector]:
    """Yield raw rewards, then centered and standardized rewards over all rows, by seat, and by group."""
    yield np.array(rewards)
    parts: tuple[Callable[[TrainedRow], object], ...] = (
        lambda row: 0,
        lambda row: row.seat,
        lambda row: (row.seat, row.group),
    )
    for part in parts:
        values: defaultdict[object, list[float]] = defaultdict(list)
        for row, reward in zip(rows, rewards, strict=True):
            values[part(row)].append(reward)
        means = np.array([np.mean(values[part(row)]) for row in rows])
        spreads = np.array([max(MIN_SPREAD, float(np.std(values[part(row)]))) for row in rows])
        yield np.array(rewards) - means
        yield (np.array(rewards) - means) / spreads
