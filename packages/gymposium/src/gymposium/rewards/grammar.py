"""Making rewards from their names, which have one grammar in configs and commands."""

from __future__ import annotations

from gymposium.errors import BadOption, WrongType
from gymposium.plugins.first_party import unknown_name
from gymposium.plugins.host import host
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
    for spec in rewards.values():
        groups = spec.parse(text)
        if groups is not None:
            return CheckedReward(text, host().implementation(spec)(**groups))
    name = text.partition("(")[0].strip()
    if name in rewards:
        raise BadOption(f"reward={text!r}: write {rewards[name].form}.")
    raise unknown_name("reward", name, rewards)
