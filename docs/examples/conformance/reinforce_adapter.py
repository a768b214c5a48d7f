"""The adapter for the trainer in `reinforce.py`, for both levels of the kit."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch
from reinforce import END, Loop, Row, padded

from gymposium.games.protocol import Match
from gymposium.players.protocol import Ask
from gymposium.util.streams import derive_seed
from gymposium_testing.trainers import (
    MovePolicy,
    RolledOut,
    SampledReply,
    TokenIds,
    TrainedMatch,
    TrainedRow,
    TrainerTask,
    TrainingBudget,
    Vector,
    find_spellings,
)

MATCHES_OF_A_STEP = 128


class LoopTrainer:
    """The loop as a `RowTrainer`."""

    self_play = True
    seat_baseline = True
    kl = True

    def __init__(self, loop: type[Loop] = Loop) -> None:
        self._loop = loop

    def train(self, task: TrainerTask, budget: TrainingBudget) -> MovePolicy:
        loop = self._loop(task.game, self_play=task.opponent == "self", remembers=False, seed=budget.seed)
        for step in range(budget.matches // MATCHES_OF_A_STEP):
            loop.step(loop.rows(loop.play(MATCHES_OF_A_STEP, derive_seed(budget.seed, step))))
        model = LoopModel(loop)

        def policy(ask: Ask) -> list[float]:
            prompt = loop.vocabulary.question(ask.observe("compact").text)
            return [sum(model.probability(prompt, reply) for reply in model.replies(m)) for m in ask.legal_moves or ()]

        return policy

    def begin(self, task: TrainerTask, seed: int) -> LoopModel:
        return LoopModel(self._loop(task.game, self_play=task.opponent == "self", remembers=True, seed=seed))


class LoopModel:
    """The loop as a `TrainingModel`."""

    def __init__(self, loop: Loop) -> None:
        self._loop, self._weights = loop, loop.policy.table

    def roll_out(self, matches: int, seed: int) -> RolledOut:
        episodes = self._loop.play(matches, seed)
        played = [
            TrainedMatch(
                tuple(one.match.events), tuple(SampledReply(t.seat, tuple(t.reply), t.move) for t in one.turns)
            )
            for one in episodes
        ]
        rows = [
            TrainedRow(
                row.match,
                row.seat,
                None,
                tuple(row.tokens),
                tuple(row.mask),
                tuple(row.log_probs),
                row.reward,
                row.version,
            )
            for row in self._loop.rows(episodes)
        ]
        return RolledOut(tuple(played), tuple(rows))

    def step(self, rows: Sequence[TrainedRow], kl_weight: float = 0.0) -> Vector:
        theirs = [
            Row(row.match, row.seat, [*row.tokens], [*row.mask], [*row.log_probs], row.reward, row.version)
            for row in rows
        ]
        self._loop.step(theirs, kl_weight)
        assert self._weights.grad is not None
        return flat(-self._weights.grad)

    def read(self, match: Match, seat: int, before: TokenIds) -> TokenIds:
        return tuple(self._loop.read(match, seat, before))

    def replies(self, move: str) -> list[TokenIds]:
        return find_spellings(move, self._loop.vocabulary.pieces, END)

    def log_probs(self, rows: Sequence[TokenIds]) -> list[list[float]]:
        with torch.no_grad():
            found = self._loop.log_probs(self._loop.policy, padded(rows)).tolist()
        return [of_row[: len(row)] for of_row, row in zip(found, rows, strict=True)]

    def probability(self, prompt: TokenIds, reply: TokenIds) -> float:
        """Return the probability of a reply."""
        return math.exp(sum(self.log_probs([prompt + reply])[0][len(prompt) :]))

    def gradient(self, prompt: TokenIds, reply: TokenIds) -> Vector:
        found = self._loop.log_probs(self._loop.policy, padded([prompt + reply]))[0, len(prompt) :].sum()
        return flat(torch.autograd.grad(found, self._weights)[0])

    def save(self) -> Any:
        loop = self._loop
        return copy.deepcopy(
            (loop.policy.state_dict(), loop.sampler.state_dict(), loop.optimizer.state_dict(), loop.version)
        )

    def restore(self, state: Any) -> None:
        policy, sampler, optimizer, self._loop.version = copy.deepcopy(state)
        self._loop.policy.load_state_dict(policy)
        self._loop.sampler.load_state_dict(sampler)
        self._loop.optimizer.load_state_dict(optimizer)


def flat(tensor: torch.Tensor) -> Vector:
    """Return a gradient as a vector."""
    return tensor.detach().flatten().double().numpy().copy()
