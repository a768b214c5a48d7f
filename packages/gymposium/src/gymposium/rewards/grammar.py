"""Making rewards from their names, which have one grammar in configs and commands."""

from __future__ import annotations

from gymposium.errors import BadOption, WrongType
from gymposium.plugins.allowed import check_allowed
from gymposium.plugins.first_party import unknown_name
from gymposium.plugins.host import host
from gymposium.plugins.specs import RewardSpec
from gymposium.rewards.protocol import CheckedReward


def make_reward(text: str) -> CheckedReward:
    """The reward written as `text`: `returns`, `score`, `weighted(accuracy=1,efficiency=0.2)`, or any other that a
    plugin offers. Raises `UnknownName` with the nearest names, `MissingExtra` for a reward of another distribution
    of gymposium, `BadOption` if the text in the brackets is wrong, and
    `WrongType` if `text` is not text."""
    if not isinstance(text, str):
        raise WrongType("A reward", "written as text such as 'returns' or 'clipped(1)'", text)
    text = text.strip()
    rewards = host().rewards
    spec = find_reward(text)
    groups = None if spec is None else spec.parse(text)
    if spec is not None and groups is not None:
        return CheckedReward(text, host().implementation(spec)(**groups))
    name = text.partition("(")[0].strip()
    if name in rewards:
        raise BadOption(f"reward={text!r}: write {rewards[name].form}.")
    raise unknown_name("reward", name, rewards, host().plugins)


def find_reward(text: str) -> RewardSpec | None:
    """Return the kind of reward that `text` names; None if there is no such kind. Nothing is made or loaded."""
    return next((spec for spec in host().rewards.values() if spec.parse(text.strip()) is not None), None)


def check_named_reward(text: str) -> None:
    """Check the name of a reward in a file. Raises `NotAllowed` if it opens something that the user has not allowed."""
    spec = find_reward(text)
    if spec is not None and (opened := spec.opened(text)):
        check_allowed(text, f"it opens {opened}", spec.variables(text))
