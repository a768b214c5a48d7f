"""Aggregation: the weight of each token in a step's loss, computed before the step is split into micro-batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gymposium.errors import BadOption
from gymposium_train.objective.protocol import Aggregation


def compute_turn_weights(turns: Sequence[tuple[int, int]], how: Aggregation) -> list[float]:
    """Return the token weight of each turn. Summed over an optimizer step, weight times loss is the chosen mean. A turn
    is a pair: its trajectory's number, and its number of sampled tokens. `turns` holds all turns of the step in all
    processes, because they share the denominators.

    - `token`: mean over all tokens (Yu et al., 2025, DAPO). Long replies have more weight.
    - `turn`: mean over turns of the mean over their tokens. With `gspo`, this is the paper's objective.
    - `sequence`: mean over trajectories of the mean over all their tokens (Shao et al., 2024, GRPO). A token of a long
      trajectory has less weight, so wins become shorter and losses longer.
    - a number, such as the longest reply allowed: sum over tokens, divided by the number of trajectories times that
      number (Liu et al., 2025, Dr. GRPO). No token's weight depends on a length.

    Dropped groups are not in `turns`, so no denominator counts them. In the first three cases, the weights of the
    remaining groups add up to 1, so steps are equally large with few groups and with many. The same holds for a number,
    because only the remaining trajectories count. In the paper, tied groups count with a loss of 0, so steps become
    smaller as more groups are tied.

    Raises `BadOption` for a turn without tokens, or a number that is not positive."""
    if not isinstance(how, str) and how <= 0.0:
        raise BadOption(f"Aggregation cannot divide by {how}. Set a number above 0.")
    if any(tokens < 1 for _, tokens in turns):
        raise BadOption(
            "A turn without sampled tokens cannot be weighted (tokens per turn: "
            f"{[tokens for _, tokens in turns][:8]}). Leave it out."
        )
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
        case number:
            return [1.0 / (len(trajectories) * number) for _ in turns]
