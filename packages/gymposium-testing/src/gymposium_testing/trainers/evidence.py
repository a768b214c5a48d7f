"""The evidence for a trainer's checks, computed once: rollouts, steps and exact figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gymposium.games.registry import load_game
from gymposium.util.streams import derive_seed, stream
from gymposium.util.visible import quantity
from gymposium_testing.contract import CheckFailed
from gymposium_testing.trainers.protocol import RolledOut, RowTrainer, TrainedRow, TrainerTask, Vector
from gymposium_testing.trainers.row_faults import ReplayedMatch, RowFault, find_faults, replayed
from gymposium_testing.trainers.traversal import GameTree, PromptedReply
from gymposium_testing.trainers.updates import Explanation, explained

MATCHES = 64
"""Number of matches in a rollout whose rows are examined one by one."""
MANY_MATCHES = 512
"""Number of matches in a rollout whose replies are counted."""
STEPS, STEP_MATCHES = 24, 64
"""Number of steps whose mean is compared with the exact gradient, and the matches per step."""
MOST_STEPS = 40
MOVED, MOVED_LAST = 0.3, 0.02
"""Change of a log-probability, in nats, over all steps and over the last, so that versions differ clearly."""


@dataclass(frozen=True, slots=True)
class MovedModel:
    """A model after some steps, and a rollout with it."""

    states: tuple[Any, ...]
    """The state after 0, 1, … steps; the last one was rolled out."""
    rolled: RolledOut


class TrainerEvidence:
    """The evidence about one trainer at level (b). Every property leaves the model as it began."""

    def __init__(self, trainer: RowTrainer, seed: int = 0) -> None:
        self.trainer, self.seed = trainer, seed
        self.task = TrainerTask(load_game("kuhn_poker"), "self" if trainer.self_play else "random")
        self.model = trainer.begin(self.task, seed)
        self._start = self.model.save()
        self._gradients: dict[PromptedReply, Vector] = {}

    def derive_seed(self, *key: str | int) -> int:
        """Return a seed for one rollout."""
        return derive_seed(self.seed, "trainers", *key)

    def at_start(self) -> None:
        """Reset the model to its first weights."""
        self.model.restore(self._start)

    @cached_property
    def tree(self) -> GameTree:
        """All positions of the game, with the model's prompts and replies."""
        return GameTree(self.task, self.model)

    @cached_property
    def rolled(self) -> RolledOut:
        """A rollout with the first weights."""
        self.at_start()
        return _rolled_out(self, MATCHES, "first")

    @cached_property
    def matches(self) -> list[ReplayedMatch]:
        """The matches in `rolled`, replayed."""
        return [replayed(self.task.game, self.model, match) for match in self.rolled.matches]

    @cached_property
    def row_faults(self) -> dict[RowFault, tuple[str, str]]:
        """What is wrong with the rows of `rolled`."""
        return find_faults(self.rolled, self.matches, self.model)

    @cached_property
    def moved(self) -> MovedModel:
        """The model after enough steps that its versions differ clearly, and a rollout with it. The rewards teach it to
        choose its least likely move, so that any trainer moves."""
        self.at_start()
        states, rolled = [self._start], self.rolled
        rows = self.rolled.rows
        computed = [self.model.log_probs([row.tokens for row in rows])]
        for number in range(MOST_STEPS):
            self.model.step(_for_rare_replies(rolled))
            states.append(self.model.save())
            computed.append(self.model.log_probs([row.tokens for row in rows]))
            rolled = _rolled_out(self, MATCHES, "moved", number)
            if _change(rows, computed[0], computed[-1]) >= MOVED and _change(rows, *computed[-2:]) >= MOVED_LAST:
                break
        if _change(rows, computed[0], computed[-1]) < MOVED:
            self.at_start()
            raise CheckFailed(
                f"{MOST_STEPS} steps change no log-probability by {MOVED} nats.",
                do="let step() update the weights with the trainer's own learning rate.",
            )
        self.at_start()
        return MovedModel(tuple(states), rolled)

    @cached_property
    def counted(self) -> RolledOut:
        """A large rollout with the last weights of `moved`."""
        self.model.restore(self.moved.states[-1])
        rolled = _rolled_out(self, MANY_MATCHES, "counted")
        self.at_start()
        return rolled

    def gradients(self, answers: Iterable[PromptedReply]) -> list[Vector]:
        """Return the gradient of each reply's log-probability, at the first weights."""
        found = []
        for answer in answers:
            if answer not in self._gradients:
                self.at_start()
                self._gradients[answer] = np.asarray(self.model.gradient(*answer), dtype=np.float64)
            found.append(self._gradients[answer])
        return found

    def step(self, rows: Sequence[TrainedRow], kl_weight: float = 0.0) -> Vector:
        """Return the direction of a step from the first weights."""
        self.at_start()
        direction = self._stepped(rows, kl_weight)
        self.at_start()
        return direction

    def step_from(self, state: Any, rows: Sequence[TrainedRow], kl_weight: float) -> Vector:
        """Return the direction of a step from another state."""
        self.model.restore(state)
        direction = self._stepped(rows, kl_weight)
        self.at_start()
        return direction

    def _stepped(self, rows: Sequence[TrainedRow], kl_weight: float) -> Vector:
        direction = np.asarray(self.model.step(rows, kl_weight), dtype=np.float64)
        if not np.isfinite(direction).all():
            raise CheckFailed("A step goes in a direction that is not finite.", do="look for a division by zero.")
        return direction

    def collect_answers(self, row: TrainedRow) -> list[PromptedReply]:
        """Return a row's prompts and replies as sampled."""
        turns = [turn for turn in self.matches[row.match].turns if turn.seat == row.seat]
        return [(turn.prompt, turn.reply) for turn in turns]

    @cached_property
    def drawn(self) -> tuple[tuple[TrainedRow, ...], Vector]:
        """The rows of `rolled` with rewards of +1 and -1 drawn for each seat of each match, and the direction
        of a step on them. Random rewards tell apart what returns cannot: two seats' returns add up to 0."""
        rng = stream(self.seed, "trainers", "rewards")
        seats = {(row.match, row.seat): 0.0 for row in self.rolled.rows}
        rewards = {key: rng.choice((-1.0, 1.0)) for key in seats}
        rows = tuple(replace(row, reward=rewards[row.match, row.seat]) for row in self.rolled.rows)
        return rows, self.step(rows)

    @cached_property
    def explanations(self) -> list[Explanation]:
        """What explains the step of `drawn`, best explanation first."""
        rows, step = self.drawn
        gradients = [self.gradients(self.collect_answers(row)) for row in rows]
        whole = [np.asarray(sum(of_row, np.zeros_like(step))) for of_row in gradients]
        without_last = [np.asarray(sum(of_row[:-1], np.zeros_like(step))) for of_row in gradients]
        return explained(rows, step, whole, without_last)

    @cached_property
    def exact_gradient(self) -> Vector:
        """The exact policy gradient at the first weights."""
        self.at_start()
        factors = self.tree.coefficients(self.tree.probabilities(self.model))
        return np.asarray(np.array([*factors.values()]) @ np.array(self.gradients(factors)))

    @cached_property
    def directions(self) -> list[Vector]:
        """The directions of independent steps from the first weights."""
        found = []
        for number in range(STEPS):
            self.at_start()
            found.append(self._stepped(_rolled_out(self, STEP_MATCHES, "step", number).rows, 0.0))
        self.at_start()
        return found


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of the angle between two vectors, or 0 if one of them is 0."""
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / size if size else 0.0


def measure_residual(vector: Vector, span: Sequence[Vector]) -> float:
    """Return the share of a vector outside the linear span of `span`: from 0 to 1."""
    size = float(np.linalg.norm(vector))
    if not size:
        return 0.0
    basis, sizes, _ = np.linalg.svd(np.array(span).T, full_matrices=False)
    basis = basis[:, sizes > 1e-6 * sizes[0]]
    return float(np.linalg.norm(vector - basis @ (basis.T @ vector))) / size


def _rolled_out(evidence: TrainerEvidence, matches: int, *key: str | int) -> RolledOut:
    rolled = evidence.model.roll_out(matches, evidence.derive_seed(*key))
    if not rolled.rows or len(rolled.matches) != matches:
        raise CheckFailed(
            f"roll_out({matches}) gives {quantity(len(rolled.matches), 'match')} and "
            f"{quantity(len(rolled.rows), 'row')}.",
            do="return all played matches, including lost ones, and their rows.",
        )
    return rolled


def _for_rare_replies(rolled: RolledOut) -> list[TrainedRow]:
    """Return rows with reward 1 if their first reply plays the rarer move in the matches, else 0."""
    moves = {
        (number, reply.seat): reply.move for number, match in enumerate(rolled.matches) for reply in match.replies[::-1]
    }
    counts = [*moves.values()]
    rare = min({*counts} - {None}, key=lambda move: (counts.count(move), move), default=None)
    return [replace(row, reward=float(moves[row.match, row.seat] == rare)) for row in rolled.rows]


def _change(rows: Sequence[TrainedRow], one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> float:
    """Return the largest change of a trained log-probability."""
    return max(
        abs(a - b)
        for row, before, after in zip(rows, one, other, strict=True)
        for a, b, on in zip(before, after, row.mask, strict=True)
        if on
    )
