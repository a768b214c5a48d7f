"""Check that rows have the tokens, masks and rewards of their matches."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gymposium_testing.contract import CheckFailed, NotApplicable, format_events, require
from gymposium_testing.trainers.evidence import TrainerEvidence
from gymposium_testing.trainers.row_faults import RowFault


def tokens(evidence: TrainerEvidence) -> None:
    """A row holds exactly what its seat read and replied, in order."""
    _raise_fault(evidence, "tokens", "build a row from the prompts of read() and the sampled tokens.")


def mask(evidence: TrainerEvidence) -> None:
    """The mask covers exactly the sampled tokens."""
    _raise_fault(evidence, "mask", "check where a reply begins in its row, and shifts between tokens and log_probs.")


def cut_replies(evidence: TrainerEvidence) -> None:
    """Replies are trained in full, including their end token."""
    _raise_fault(evidence, "cut replies", "keep a reply's end token in the row and in the mask.")


def retokenized_turns(evidence: TrainerEvidence) -> None:
    """Rows hold replies exactly as sampled, since re-encoded text may have other tokens."""
    _raise_fault(evidence, "retokenized turns", "keep the sampler's token ids, and never re-encode a reply.")


def last_step(evidence: TrainerEvidence) -> None:
    """Every decision of a seat is trained, including the last."""
    _raise_fault(evidence, "last step", "check how turns are counted, and the reward of the turn that ends a match.")
    found = evidence.explanations[0]
    require(
        found.kind != "without last steps",
        f"A step goes the same way as without the last turn of each row (cosine {found.cosine:.3f})",
        fix="check how the loss counts turns: the turn that ends a match counts, too.",
    )


def seat_reward(evidence: TrainerEvidence) -> None:
    """A row's reward is its seat's return, and the step learns from it."""
    matches = evidence.matches
    for row in evidence.rollout.rows:
        returns = matches[row.match].returns
        require(
            math.isclose(row.reward, returns[row.seat], abs_tol=1e-6),
            f"The reward of seat {row.seat} is {row.reward:g}, and the returns are {[*returns]}",
            fix="use the return of the row's own seat, counted from 0.",
            where=f"match {row.match}: {format_events(evidence.rollout.matches[row.match].events)}",
        )
    found = evidence.explanations[0]
    require(
        found.kind != "the other seat's rewards",
        f"A step goes where the other seat's rewards lead (cosine {found.cosine:.3f})",
        fix="check which seat's reward becomes a row's advantage.",
    )


def seat_baseline(evidence: TrainerEvidence) -> None:
    """Rewards that depend only on the seat teach nothing, since each seat or group has its own baseline."""
    if not evidence.trainer.seat_baseline:
        raise NotApplicable("the trainer declares no baseline for each seat")
    _, usual = evidence.random_step
    fixed = [replace(row, reward=1.0 if row.seat == 0 else -1.0) for row in evidence.rollout.rows]
    size, compared = float(np.linalg.norm(evidence.step(fixed))), float(np.linalg.norm(usual))
    require(
        size <= 0.05 * compared,
        f"Rewards of +1 for every row of seat 0 and -1 for every row of seat 1 make a step of {size / compared:.0%} of "
        f"the usual size, although no reply could have changed them",
        fix="subtract from each reward its own seat's mean: with one baseline for both, a seat that wins more "
        "often learns to repeat whatever it did.",
    )


def _raise_fault(evidence: TrainerEvidence, kind: RowFault, fix: str) -> None:
    if kind in evidence.row_faults:
        what, where = evidence.row_faults[kind]
        raise CheckFailed(f"{what}.", where=where, fix=fix)
