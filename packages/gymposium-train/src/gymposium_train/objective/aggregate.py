"""Aggregation: what each token weighs in a step's loss, settled before the step is cut into micro-batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from gymposium.errors import BadOption

Aggregation = Literal["token", "turn", "sequence", "constant"]


def turn_weights(turns: Sequence[tuple[int, int]], how: Aggregation, *, constant: float | None = None) -> list[float]:
    """What every token of each turn weighs, so that the sum of weight times loss over a whole optimizer step is the
    mean asked for. A turn is given as its trajectory (any number that tells them apart) and its count of sampled
    tokens; all turns of the step and of all ranks are given at once, since the denominators are theirs together.

    - `token`: mean over all tokens (Yu et al., 2025, DAPO): a long reply counts for more.
    - `turn`: mean over turns of the mean over their tokens. With `gspo` this is the paper's objective.
    - `sequence`: mean over trajectories of the mean over all their tokens (Shao et al., 2024, GRPO). A token of a long
      trajectory counts for less, so what is won is won shorter and what is lost is lost longer.
    - `constant`: sum over tokens, over the number of trajectories times `constant`, such as the longest reply allowed
      (Liu et al., 2025, Dr. GRPO): no token's weight depends on how long anything came out.

    Groups that were dropped are not given, so they are in no denominator. In the first three, weights add up to 1
    over what is left, and a step is as large with few groups as with many. That holds for `constant` too, whose
    count of trajectories is of those left: the paper, where tied groups stay in the count with a loss of 0, takes
    smaller steps as more groups are tied; here the step's size says nothing of how many were.

    Raises `BadOption` for a turn without tokens, or a `constant` that is missing or not wanted."""
    if (how == "constant") != (constant is not None):
        raise BadOption(
            "The aggregation `constant` needs the number to divide by: set it, for instance to the longest reply."
            if constant is None
            else f"The aggregation `{how}` divides by what it counts: leave the constant out, or choose `constant`."
        )
    if constant is not None and constant <= 0.0:
        raise BadOption(f"The aggregation's constant is {constant}: set it above 0.")
    if any(tokens < 1 for _, tokens in turns):
        raise BadOption("A turn without sampled tokens has nothing to weigh: leave it out.")
    trajectories: Counter[int] = Counter()
    for trajectory, tokens in turns:
        trajectories[trajectory] += tokens
    match how:
        case "token":
            return [1.0 / trajectories.total() for _ in turns]
        case "turn":
            return [1.0 / (len(turns) * tokens) for _, tokens in turns]
        case "sequence":
            return [1.0 / (len(trajectories) * trajectories[trajectory]) for trajectory, _ in turns]
        case "constant":
            assert constant is not None
            return [1.0 / (len(trajectories) * constant) for _ in turns]
