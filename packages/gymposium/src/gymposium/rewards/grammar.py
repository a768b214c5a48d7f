"""Creation of rewards from their names, with one grammar for configs and commands."""

from __future__ import annotations

from gymposium.errors import BadOption, WrongType
from gymposium.plugins.allowed import check_allowed
from gymposium.plugins.first_party import make_unknown_name
from gymposium.plugins.host import host
from gymposium.plugins.specs import RewardSpec
from gymposium.rewards.protocol import CheckedReward


def make_reward(text: str) -> CheckedReward:
    """Make a reward from its name: `returns`, `score`, `weighted(accuracy=1,efficiency=0.2)`, or a plugin's reward.

    Raises `UnknownName` with the nearest names, and `MissingExtra` for a reward in another gymposium distribution.
    Raises `BadOption` if the text in the parentheses is invalid, and `WrongType` if `text` is not a string."""
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
        raise BadOption(f"Invalid reward={text!r}. Use {rewards[name].form}.")
    raise make_unknown_name("reward", name, rewards, host().plugins)


def find_reward(text: str) -> RewardSpec | None:
    """Return the kind of reward that `text` names, or None. Nothing is created or loaded."""
    return next((spec for spec in host().rewards.values() if spec.parse(text.strip()) is not None), None)


def check_named_reward(text: str) -> None:
    """Check a reward's name in a file. Raises `PermissionRequired` if it opens something that the user has not
    allowed."""
    text = text.strip()  # as `make_reward` reads it
    spec = find_reward(text)
    if spec is not None and (opened := spec.find_opened(text)):
        check_allowed(text, f"it opens {opened}", spec.find_variables(text))
