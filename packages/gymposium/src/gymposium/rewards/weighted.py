"""The sum of weighted criteria: `weighted(accuracy=1,efficiency=0.2,report.sources=0.1,my_module:brevity=0.1)`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from gymposium.errors import BadOption, BadReward, UnknownName
from gymposium.plugins.specs import resolve_entry_point
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.criteria import CRITERIA, Criterion, rate_report
from gymposium.rewards.match import subtract_penalties
from gymposium.rewards.protocol import Reward
from gymposium.util.visible import quantity

FORM = "weighted(CRITERION=WEIGHT,...)"
REPORT = "report."
"""Prefix of criteria that are reported figures: `report.sources`."""
_HELP = (
    f"Write {FORM} with {', '.join(CRITERIA)}, {REPORT}FIGURE for a figure that the match reports, or MODULE:FUNCTION "
    f"for a function of your own."
)


class WeightedCriteria:
    """The weighted sum of criteria, minus penalties. Each criterion is reported without its weight. A criterion with
    weight 0 is only reported."""

    def __init__(self, weights: str | None) -> None:
        """`weights` is the text in the parentheses. Raises the errors of `parse_weights` and `find_criterion`."""
        self.weights: Mapping[str, float] = parse_weights(weights or "")
        self._criteria = {name: find_criterion(name) for name in self.weights}

    def __call__(self, group: Sequence[Trajectory]) -> list[Reward]:
        columns = {name: self._rate_criterion(name, group) for name in self._criteria}
        return [
            self._compute_reward(t, {name: column[n] for name, column in columns.items()}) for n, t in enumerate(group)
        ]

    def _compute_reward(self, trajectory: Trajectory, values: dict[str, float]) -> Reward:
        total = math.fsum(self.weights[name] * value for name, value in values.items())
        return subtract_penalties(trajectory, total, values)

    def _rate_criterion(self, name: str, group: Sequence[Trajectory]) -> list[float]:
        values = [float(value) for value in self._criteria[name](group)]
        if len(values) != len(group):
            raise BadReward(
                f"Criterion {name}: got {quantity(len(values), 'value')} for a group of "
                f"{quantity(len(group), 'trajectory', 'trajectories')}. Return one per "
                "trajectory."
            )
        return values


def parse_weights(text: str) -> dict[str, float]:
    """Parse weights by criterion from a text such as `accuracy=1,efficiency=0.2`.

    Raises `BadOption` for invalid text."""
    weights: dict[str, float] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not (name and equals and value):
            raise BadOption(f"reward: {item!r} must have the form CRITERION=WEIGHT. {_HELP}")
        if name in weights:
            raise BadOption(f"reward: duplicate weight for {name}. {_HELP}")
        weights[name] = _parse_weight(name, value)
    if not any(weights.values()):
        raise BadOption(f"reward: no criterion has a weight, so all rewards would be equal. {_HELP}")
    return weights


def _parse_weight(name: str, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0.0 <= weight < math.inf:
        raise BadOption(
            f"reward: {name}={text}: a weight must be a number, 0 or more. To lower the reward, use a criterion with "
            f"negative values."
        )
    return weight


def find_criterion(name: str) -> Criterion:
    """Return the criterion with this name: a built-in one, a figure (`report.FIGURE`) or a function
    (`module:function`).

    Raises `UnknownName` and `BadOption`."""
    if name in CRITERIA:
        return CRITERIA[name]
    if name.startswith(REPORT):
        return partial(rate_report, name.removeprefix(REPORT))
    if ":" not in name:
        raise UnknownName("criterion", name, CRITERIA)
    try:
        criterion: Criterion = resolve_entry_point(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadOption(
            f"reward: the criterion {name!r} could not be loaded: {error}. Install its module, or add its folder to "
            f"PYTHONPATH."
        ) from error
    if not callable(criterion):
        raise BadOption(
            f"reward: the criterion {name!r} must be a function that takes a trajectory group, not {criterion!r}."
        )
    return criterion
