"""Sampling: rows correctly report how likely their replies were, and which weights sampled them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from gymposium.util.visible import quantity
from gymposium_testing.contract import NotApplicable, require
from gymposium_testing.trainers.evidence import TrainerEvidence
from gymposium_testing.trainers.protocol import RolledOut, TokenIds, TrainedRow
from gymposium_testing.trainers.row_faults import replayed

NEAR = 0.005
"""Maximum difference, in nats, between two float32 computations of the same log-probability."""
SIGMAS = 5.5
"""Standard deviations beyond which a count cannot be chance: 1 in 26 million."""


def temperature(evidence: TrainerEvidence) -> None:
    """The sampler draws from the distribution that the learner computes, and reports its log-probabilities."""
    model, rolled = evidence.model, evidence.rolled
    evidence.at_start()
    where, off = _farthest(rolled, model.log_probs([row.tokens for row in rolled.rows]))
    require(
        off <= NEAR,
        f"Before the first step, a sampler log-probability is {off:.3f} nats away from the learner's",
        do="divide logits by the same temperature in sampler and loss, and read both at the same positions in a row.",
        where=where,
    )
    off, of_spellings = _surprise(evidence)
    require(
        abs(off) <= SIGMAS,
        f"After some steps, the sampled replies are {'more' if off < 0 else 'less'} likely than the learner says, by "
        f"{abs(off):.0f} standard deviations",
        do="sample at the temperature used for log-probabilities, with the weights being trained, and "
        "without top-k or top-p.",
    )
    require(
        of_spellings <= SIGMAS,
        f"After some steps, the spellings of moves differ in frequency from the learner's by {of_spellings:.0f} "
        f"standard deviations",
        do="keep the sampler's token ids, and never re-encode a reply.",
    )


def versions(evidence: TrainerEvidence) -> None:
    """A row's version is the number of steps behind the weights that sampled it."""
    for row, given, fits in _by_version(evidence):
        require(
            given in fits or not fits or _is_stale(evidence, given, fits),
            f"After {quantity(len(evidence.moved.states) - 1, 'step')} a row "
            f"says version {given}, and its log-probabilities are "
            f"those of version {_named(fits)}",
            do="record the version of the sampling weights at sampling time. Version 0 is the model before its first "
            "step.",
            where=f"match {row.match}, seat {row.seat}",
        )
    first = {row.version for row in evidence.rolled.rows}
    require(
        first == {0},
        f"Before the first step rows say version {_named(sorted(first))}",
        do="count steps from 0.",
    )


def staleness(evidence: TrainerEvidence) -> None:
    """The sampler holds the weights of the version that it reports. Rows may be old if they say so."""
    evidence.at_start()
    rolled = evidence.rolled
    if _farthest(rolled, evidence.model.log_probs([row.tokens for row in rolled.rows]))[1] > NEAR:
        raise NotApplicable("sampler and learner already differ before the first step")
    newest = len(evidence.moved.states) - 1
    for row, given, fits in _by_version(evidence):
        require(
            not _is_stale(evidence, given, fits),
            f"After {quantity(newest, 'step')} a row says version {given}, and its log-probabilities are "
            "those of version "
            f"{_named(fits)}",
            do="publish the weights to the sampler after each step, and make sure that it uses them.",
            where=f"match {row.match}, seat {row.seat}",
        )
        require(
            bool(fits),
            f"After {quantity(newest, 'step')} a row's log-probabilities match no version",
            do="publish all weights to the sampler after each step, and none during a rollout.",
            where=f"match {row.match}, seat {row.seat}",
        )


def _is_stale(evidence: TrainerEvidence, given: int, fits: Sequence[int]) -> bool:
    """Return whether a row claims the newest version but comes from an older one."""
    newest = len(evidence.moved.states) - 1
    return given == newest and bool(fits) and newest not in fits


def _by_version(evidence: TrainerEvidence) -> list[tuple[TrainedRow, int, list[int]]]:
    """Return the rows of the moved model that distinguish versions, with the version that they report and those whose
    weights give their log-probabilities."""
    moved = evidence.moved
    rows = [row for row in moved.rolled.rows if any(row.mask)]
    computed: list[Sequence[Sequence[float]]] = []
    for state in moved.states:
        evidence.model.restore(state)
        computed.append(evidence.model.log_probs([row.tokens for row in rows]))
    evidence.at_start()
    found = []
    for number, row in enumerate(rows):
        off = [_difference(row, of_version[number]) for of_version in computed]
        found.append((row, row.version, [version for version, one in enumerate(off) if one <= NEAR]))
    # rows that fit all versions, as their replies hardly changed, tell nothing
    return [one for one in found if len(one[2]) < len(moved.states)]


def _difference(row: TrainedRow, computed: Sequence[float]) -> float:
    return max(abs(a - b) for a, b, on in zip(row.log_probs, computed, row.mask, strict=True) if on)


def _farthest(rolled: RolledOut, computed: Sequence[Sequence[float]]) -> tuple[str, float]:
    """Return the largest difference between reported and computed log-probabilities, and where it is."""
    worst: tuple[str, float] = ("", 0.0)
    for row, found in zip(rolled.rows, computed, strict=True):
        for place, (a, b, on) in enumerate(zip(row.log_probs, found, row.mask, strict=True)):
            if on and not abs(a - b) <= worst[1]:
                token = f"match {row.match}, seat {row.seat}, token {row.tokens[place]} at place {place}"
                worst = f"{token}: {a:.3f} by the sampler, {b:.3f} by the learner", abs(a - b)
    return worst


def _surprise(evidence: TrainerEvidence) -> tuple[float, float]:
    """Return by how many standard deviations the sampled replies are less likely than expected, and by how many the
    most deviant spelling frequency is off."""
    evidence.model.restore(evidence.moved.states[-1])
    odds: defaultdict[TokenIds, dict[TokenIds, float]] = defaultdict(dict)
    for (prompt, reply), p in evidence.tree.probabilities(evidence.model).items():
        odds[prompt][reply] = p
    seen: defaultdict[TokenIds, Counter[TokenIds]] = defaultdict(Counter)
    for match in evidence.counted.matches:
        for turn in replayed(evidence.task.game, evidence.model, match).turns:
            seen[turn.prompt][turn.reply] += 1
    evidence.at_start()
    excess, variance = 0.0, 0.0
    expected: defaultdict[TokenIds, float] = defaultdict(float)
    noise: defaultdict[TokenIds, float] = defaultdict(float)
    counted: Counter[TokenIds] = Counter()
    for prompt, replies in seen.items():
        if prompt not in odds:
            continue  # after an unlisted spelling
        of_prompt = odds[prompt]
        total = replies.total()
        rest = max(1e-9, 1.0 - math.fsum(of_prompt.values()))
        surprise = {reply: -math.log(max(p, 1e-300)) for reply, p in of_prompt.items()}
        mean = math.fsum(p * surprise[reply] for reply, p in of_prompt.items()) - rest * math.log(rest)
        square = math.fsum(p * surprise[reply] ** 2 for reply, p in of_prompt.items()) + rest * math.log(rest) ** 2
        variance += total * (square - mean**2)
        excess += math.fsum(n * surprise.get(reply, -math.log(rest)) for reply, n in replies.items()) - total * mean
        for reply, p in of_prompt.items():
            expected[reply] += total * p
            noise[reply] += total * p * (1.0 - p)
            counted[reply] += replies[reply]
    deviant = max(abs(counted[reply] - expected[reply]) / math.sqrt(noise[reply] + 1.0) for reply in expected)
    return excess / math.sqrt(variance + 1.0), deviant


def _named(versions: Sequence[int]) -> str:
    return " or ".join(map(str, versions)) or "no step"
