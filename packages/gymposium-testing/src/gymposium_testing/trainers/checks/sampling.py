"""Check that rows report correct log-probabilities and weight versions."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from gymposium.util.visible import quantity
from gymposium_testing.contract import NotApplicable, require
from gymposium_testing.trainers.evidence import TrainerEvidence
from gymposium_testing.trainers.protocol import RolledOut, TokenIds, TrainedRow
from gymposium_testing.trainers.row_faults import replay_match

TOLERANCE = 0.005
"""Maximum difference between two float32 computations of a log-probability, in nats."""
SIGMAS = 5.5
"""Number of standard deviations beyond which a deviation is not due to chance (probability 1 in 26 million)."""


def temperature(evidence: TrainerEvidence) -> None:
    """The sampler draws from the distribution that the learner computes, and reports its log-probabilities."""
    model, rolled = evidence.model, evidence.rollout
    evidence.reset()
    where, off = _find_largest_difference(rolled, model.log_probs([row.tokens for row in rolled.rows]))
    require(
        off <= TOLERANCE,
        f"Before the first step, a sampler log-probability is {off:.3f} nats away from the learner's",
        fix="divide logits by the same temperature in sampler and loss, and read both at the same positions in a row.",
        where=where,
    )
    off, of_spellings = _measure_surprise(evidence)
    require(
        abs(off) <= SIGMAS,
        f"After some steps, the sampled replies are {'more' if off < 0 else 'less'} likely than the learner says, by "
        f"{abs(off):.0f} standard deviations",
        fix="sample at the temperature used for log-probabilities, with the weights being trained, and "
        "without top-k or top-p.",
    )
    require(
        of_spellings <= SIGMAS,
        f"After some steps, the spellings of moves differ in frequency from the learner's by {of_spellings:.0f} "
        f"standard deviations",
        fix="keep the sampler's token ids, and never re-encode a reply.",
    )


def versions(evidence: TrainerEvidence) -> None:
    """A row's version is the number of steps taken before its weights sampled it."""
    for row, given, fits in _match_versions(evidence):
        require(
            given in fits or not fits or _is_stale(evidence, given, fits),
            f"After {quantity(len(evidence.moved_model.states) - 1, 'step')} a row "
            f"says version {given}, and its log-probabilities are "
            f"those of version {_format_versions(fits)}",
            fix="record the version of the sampling weights at sampling time. Version 0 is the model before its first "
            "step.",
            where=f"match {row.match}, seat {row.seat}",
        )
    first = {row.version for row in evidence.rollout.rows}
    require(
        first == {0},
        f"Before the first step rows say version {_format_versions(sorted(first))}",
        fix="count steps from 0.",
    )


def staleness(evidence: TrainerEvidence) -> None:
    """The sampler uses the weights of the version that it reports. Rows may be old if they say so."""
    evidence.reset()
    rolled = evidence.rollout
    if _find_largest_difference(rolled, evidence.model.log_probs([row.tokens for row in rolled.rows]))[1] > TOLERANCE:
        raise NotApplicable("sampler and learner already differ before the first step")
    newest = len(evidence.moved_model.states) - 1
    for row, given, fits in _match_versions(evidence):
        require(
            not _is_stale(evidence, given, fits),
            f"After {quantity(newest, 'step')} a row says version {given}, and its log-probabilities are "
            "those of version "
            f"{_format_versions(fits)}",
            fix="publish the weights to the sampler after each step, and make sure that it uses them.",
            where=f"match {row.match}, seat {row.seat}",
        )
        require(
            bool(fits),
            f"After {quantity(newest, 'step')} a row's log-probabilities match no version",
            fix="publish all weights to the sampler after each step, and none during a rollout.",
            where=f"match {row.match}, seat {row.seat}",
        )


def _is_stale(evidence: TrainerEvidence, given: int, fits: Sequence[int]) -> bool:
    """Return whether a row claims the newest version, but comes from an older one."""
    newest = len(evidence.moved_model.states) - 1
    return given == newest and bool(fits) and newest not in fits


def _match_versions(evidence: TrainerEvidence) -> list[tuple[TrainedRow, int, list[int]]]:
    """Return the rows that distinguish versions.

    Each comes with its reported version and the versions that fit its log-probabilities."""
    moved = evidence.moved_model
    rows = [row for row in moved.rollout.rows if any(row.mask)]
    computed: list[Sequence[Sequence[float]]] = []
    for state in moved.states:
        evidence.model.restore(state)
        computed.append(evidence.model.log_probs([row.tokens for row in rows]))
    evidence.reset()
    found = []
    for number, row in enumerate(rows):
        off = [_compute_difference(row, of_version[number]) for of_version in computed]
        found.append((row, row.version, [version for version, one in enumerate(off) if one <= TOLERANCE]))
    # rows whose replies hardly changed fit all versions and tell nothing
    return [one for one in found if len(one[2]) < len(moved.states)]


def _compute_difference(row: TrainedRow, computed: Sequence[float]) -> float:
    return max(abs(a - b) for a, b, on in zip(row.log_probs, computed, row.mask, strict=True) if on)


def _find_largest_difference(rolled: RolledOut, computed: Sequence[Sequence[float]]) -> tuple[str, float]:
    """Return the largest difference between reported and computed log-probabilities, with its location."""
    worst: tuple[str, float] = ("", 0.0)
    for row, found in zip(rolled.rows, computed, strict=True):
        for place, (a, b, on) in enumerate(zip(row.log_probs, found, row.mask, strict=True)):
            if on and not abs(a - b) <= worst[1]:
                token = f"match {row.match}, seat {row.seat}, token {row.tokens[place]} at place {place}"
                worst = f"{token}: {a:.3f} by the sampler, {b:.3f} by the learner", abs(a - b)
    return worst


def _measure_surprise(evidence: TrainerEvidence) -> tuple[float, float]:
    """Return two deviations, in standard deviations.

    They are how much less likely than expected the sampled replies are, and the largest deviation of a spelling's
    frequency."""
    evidence.model.restore(evidence.moved_model.states[-1])
    odds: defaultdict[TokenIds, dict[TokenIds, float]] = defaultdict(dict)
    for (prompt, reply), p in evidence.tree.compute_probabilities(evidence.model).items():
        odds[prompt][reply] = p
    seen: defaultdict[TokenIds, Counter[TokenIds]] = defaultdict(Counter)
    for match in evidence.large_rollout.matches:
        for turn in replay_match(evidence.task.game, evidence.model, match).turns:
            seen[turn.prompt][turn.reply] += 1
    evidence.reset()
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


def _format_versions(versions: Sequence[int]) -> str:
    return " or ".join(map(str, versions)) or "no step"
