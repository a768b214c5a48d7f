"""Check that steps follow the policy gradient on their rows, and the KL term."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_testing.contract import NotApplicable, require
from gymposium_testing.trainers.evidence import TrainerEvidence, compute_cosine, measure_residual
from gymposium_testing.trainers.protocol import TrainedRow, Vector

MAX_RESIDUAL = 0.02
"""Maximum share of a step that the sampled replies' gradients do not explain."""
MIN_SIGN_COSINE = -0.5
MIN_REWARD_COSINE = 0.97
"""Minimum cosine between a step and the direction of the rewards."""
MIN_WEIGHT_COSINE = 0.1
MIN_ERRORS = 4.0
"""Minimum projection of the mean step onto the exact gradient, in standard errors."""
MAX_SIDEWAYS = 0.35
"""Maximum component of the mean step orthogonal to the exact gradient, per unit along it.

It allows about 20 degrees."""
KL_WEIGHT = 1.0


def sign(evidence: TrainerEvidence) -> None:
    """Replies with above-average rewards become more likely."""
    found = evidence.explanations[0]
    require(
        found.kind != "the rewards" or found.cosine > MIN_SIGN_COSINE,
        f"A step goes against the rewards (cosine {found.cosine:.3f}): replies with a greater reward "
        f"become less likely",
        fix="check the sign of the loss: it is minus advantage times log-probability.",
    )


def rewards(evidence: TrainerEvidence) -> None:
    """A step follows its rows' rewards: each row counts by its reward minus a baseline."""
    found = evidence.explanations[0]
    require(
        abs(found.cosine) >= MIN_REWARD_COSINE,
        f"A step does not follow the rewards with any usual baseline, scale or weight of long rows. The nearest is "
        f"{found.kind!r}, with a cosine of {found.cosine:.3f}",
        fix="give each row its own advantage, the same for all its turns, without discount or clipping.",
    )


def fresh_gradient(evidence: TrainerEvidence) -> None:
    """Repeating a step from the same state gives the same direction."""
    rows, step = evidence.random_step
    again = evidence.step(rows)
    off = float(np.linalg.norm(again - step) / np.linalg.norm(step))
    require(
        off <= MAX_RESIDUAL,
        f"The same step from the same state differs by {off:.0%} the second time",
        fix="clear gradients before each step, and disable dropout. save() and restore() must cover all state.",
    )


def weights_follow(evidence: TrainerEvidence) -> None:
    """The weights follow the gradient: replies with greater rewards become more likely."""
    given, direction = evidence.random_step
    rows = [row.tokens for row in given]
    evidence.reset()
    before = evidence.model.log_probs(rows)
    evidence.model.step(given)
    after = evidence.model.log_probs(rows)
    evidence.reset()
    changes = [
        math.fsum(b - a for a, b, on in zip(of_row, now, row.mask, strict=True) if on)
        for row, of_row, now in zip(given, before, after, strict=True)
    ]
    expected = [float(direction @ sum(evidence.gradients(evidence.collect_answers(row)))) for row in given]
    follows = compute_cosine(np.array(changes), np.array(expected))
    require(
        follows > MIN_WEIGHT_COSINE,
        f"A step's changes of log-probabilities contradict its gradient (correlation {follows:.2f})",
        fix="check how the optimizer uses the gradient: its sign, and which weights it holds.",
    )


def loss_tokens(evidence: TrainerEvidence) -> None:
    """A step on rows without padding is a linear combination of the sampled replies' gradients."""
    rows, _ = evidence.random_step
    alike = _keep_equal_lengths(rows)
    outside = measure_residual(evidence.step(alike), _collect_gradients(evidence, alike))
    require(
        outside <= MAX_RESIDUAL,
        f"{outside:.0%} of a step on {quantity(len(alike), 'row')} of {quantity(len(alike[0].tokens), 'token')} is "
        f"explained by no reply",
        fix="compare the loss with the mask: its log-probabilities may be those of other tokens (a shift by one), or "
        "at another temperature. Disable everything except the policy gradient, such as an entropy bonus.",
    )


def padding(evidence: TrainerEvidence) -> None:
    """Padding has no gradient: rows of different lengths teach the same together as alone."""
    rows, step = evidence.random_step
    alike = _keep_equal_lengths(rows)
    if measure_residual(evidence.step(alike), _collect_gradients(evidence, alike)) > MAX_RESIDUAL:
        raise NotApplicable("rows of equal length, which need no padding, have the same fault")
    outside = measure_residual(step, _collect_gradients(evidence, rows))
    require(
        outside <= MAX_RESIDUAL,
        f"{outside:.0%} of a step on rows of different lengths is explained by no sampled reply; rows of equal length "
        f"are learned from correctly",
        fix="multiply the loss by the mask, which is 0 on padding and on the prompts between a row's turns.",
    )


def exact_gradient(evidence: TrainerEvidence) -> None:
    """The mean of independent steps from the same weights points along the exact policy gradient."""
    exact = evidence.exact_gradient / np.linalg.norm(evidence.exact_gradient)
    steps = np.array(evidence.directions)
    along = steps @ exact
    mean, error = float(along.mean()), float(along.std(ddof=1)) / math.sqrt(len(along))
    require(
        mean > MIN_ERRORS * error,
        f"The mean of {quantity(len(along), 'step')} does not follow the exact policy gradient: "
        f"{mean:.3g}, with a standard "
        f"error of {error:.3g} (cosine {compute_cosine(steps.mean(axis=0), exact):.3f})",
        fix="fix any other failed checks first, then check how rewards become advantages.",
    )
    beside = _estimate_square(steps - np.outer(along, exact))
    without = np.array([_estimate_square(rest - np.outer(rest @ exact, exact)) for rest in _leave_one_out(steps)])
    doubt = float(np.sqrt((len(without) - 1) * without.var()))
    sideways = math.sqrt(max(0.0, beside)) / mean
    require(
        beside <= (MAX_SIDEWAYS * mean) ** 2 + MIN_ERRORS * doubt,
        f"The mean of {quantity(len(along), 'step')} goes {sideways:.2f} beside the exact policy "
        "gradient for each unit along it, "
        f"beyond what noise explains",
        fix="check what weights rows or turns differently: means over tokens, group standard deviations, clipping.",
    )


def kl(evidence: TrainerEvidence) -> None:
    """The KL term of a step leads towards the model's initial weights."""
    if not evidence.trainer.kl:
        raise NotApplicable("the trainer declares no KL term")
    moved, model = evidence.moved_model, evidence.model
    rng = stream(evidence.seed, "trainers", "kl")
    rows = [replace(row, reward=rng.choice((-1.0, 1.0))) for row in moved.rollout.rows]
    state = moved.states[-1]
    term = evidence.step(rows, KL_WEIGHT, state) - evidence.step(rows, 0.0, state)
    evidence.reset()
    reference = evidence.tree.compute_probabilities(model)
    model.restore(state)
    odds = evidence.tree.compute_probabilities(model)
    reach = evidence.tree.compute_reach(odds)
    growth = np.zeros_like(term)
    for (prompt, reply), p in odds.items():
        factor = reach[prompt] * p * math.log(p / reference[prompt, reply])
        if abs(factor) > 1e-6:
            growth += factor * np.asarray(model.gradient(prompt, reply), dtype=np.float64)
    evidence.reset()
    towards = -compute_cosine(term, growth)
    require(
        towards > 0.1,
        f"With a KL weight of {KL_WEIGHT:g}, a step changes by what "
        + (f"increases the KL divergence (cosine {-towards:.2f})" if towards < -0.1 else "hardly changes it"),
        fix="check the sign of the KL term, and which policy is the reference: its weights are fixed.",
    )


def _keep_equal_lengths(rows: Sequence[TrainedRow]) -> list[TrainedRow]:
    """Return the rows with the most common seat and length, omitting groups of mixed lengths."""
    groups: defaultdict[tuple[int, int | str], list[TrainedRow]] = defaultdict(list)
    for number, row in enumerate(rows):
        groups[row.seat, f"row {number}" if row.group is None else row.group].append(row)
    found: defaultdict[tuple[int, int], list[TrainedRow]] = defaultdict(list)
    for (seat, _), group in groups.items():
        lengths = {len(row.tokens) for row in group}
        if len(lengths) == 1:
            found[seat, lengths.pop()] += group
    return max(found.values(), key=len, default=[])


def _collect_gradients(evidence: TrainerEvidence, rows: Sequence[TrainedRow]) -> list[Vector]:
    answers = dict.fromkeys(answer for row in rows for answer in evidence.collect_answers(row))
    return evidence.gradients(answers)


def _estimate_square(steps: Vector) -> float:
    """Return an unbiased estimate of the mean step's squared length, from products of different steps."""
    total, count = steps.sum(axis=0), len(steps)
    return float(total @ total - (steps * steps).sum()) / (count * (count - 1))


def _leave_one_out(steps: Vector) -> list[Vector]:
    return [np.delete(steps, number, axis=0) for number in range(len(steps))]
