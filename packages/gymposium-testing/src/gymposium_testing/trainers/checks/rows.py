"""Rows: their tokens, masks and rewards are those of the match that was played."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gymposium_testing.contract import CheckFailed, NotApplicable, events_in_words, require
from gymposium_testing.trainers.evidence import TrainerEvidence
from gymposium_testing.trainers.row_faults import RowFault


def tokens(evidence: TrainerEvidence) -> None:
    """A row holds what its seat read and replied, in order, and nothing else."""
    _refuse(evidence, "tokens", "build a row from the prompts that read() gives and the tokens that were sampled.")


def mask(evidence: TrainerEvidence) -> None:
    """The mask covers the sampled tokens and no others."""
    _refuse(evidence, "mask", "look at where a reply begins in its row, and at shifts between tokens and log_probs.")


def cut_replies(evidence: TrainerEvidence) -> None:
    """Replies are learned from whole, with the token that ends them."""
    _refuse(evidence, "cut replies", "keep the token that ends a reply in the row, and in the mask.")


def retokenised_turns(evidence: TrainerEvidence) -> None:
    """Replies stand in their rows as they were sampled. Text that is encoded anew may have other tokens."""
    _refuse(
        evidence, "retokenised turns", "keep the token ids that the sampler gave, and encode no reply a second time."
    )


def last_step(evidence: TrainerEvidence) -> None:
    """Every decision of a seat is learned from, the last one too."""
    _refuse(evidence, "last step", "look at how turns are counted, and at the reward of the turn that ends a match.")
    found = evidence.explanations[0]
    require(
        found.kind != "without last steps",
        f"A step goes where it would without the last turn of each row (cosine {found.cosine:.3f})",
        do="look at how the loss counts turns: the turn that ends a match is learned from, too.",
    )


def reward_of_the_seat(evidence: TrainerEvidence) -> None:
    """The reward of a row is the return of its seat, and the step learns from it."""
    matches = evidence.matches
    for row in evidence.rolled.rows:
        returns = matches[row.match].returns
        require(
            math.isclose(row.reward, returns[row.seat], abs_tol=1e-6),
            f"The reward of seat {row.seat} is {row.reward:g}, and the returns are {[*returns]}",
            do="take the return of the row's own seat, counted from 0.",
            where=f"match {row.match}: {events_in_words(evidence.rolled.matches[row.match].events)}",
        )
    found = evidence.explanations[0]
    require(
        found.kind != "the other seat's rewards",
        f"A step goes where the other seat's rewards lead (cosine {found.cosine:.3f})",
        do="look at which seat's reward becomes the advantage of a row.",
    )


def baseline_of_each_seat(evidence: TrainerEvidence) -> None:
    """Rewards that depend on the seat alone teach nothing: each seat, or each group, has a baseline of its own."""
    if not evidence.trainer.seat_baseline:
        raise NotApplicable("the trainer declares no baseline for each seat")
    _, usual = evidence.drawn
    fixed = [replace(row, reward=1.0 if row.seat == 0 else -1.0) for row in evidence.rolled.rows]
    size, compared = float(np.linalg.norm(evidence.step(fixed))), float(np.linalg.norm(usual))
    require(
        size <= 0.05 * compared,
        f"Rewards of +1 for every row of seat 0 and -1 for every row of seat 1 make a step of {size / compared:.0%} of "
        f"the usual size, though no reply could have changed them",
        do="subtract from each reward the mean of its own seat: with one baseline for both, a seat that wins more "
        "often learns to repeat whatever it did.",
    )


def _refuse(evidence: TrainerEvidence, kind: RowFault, do: str) -> None:
    if kind in evidence.row_faults:
        what, where = evidence.row_faults[kind]
        raise CheckFailed(f"{what}.", where=where, do=do)
