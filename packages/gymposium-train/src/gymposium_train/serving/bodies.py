"""Request bodies of the service other than completions, read from JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gymposium.util.visible import shorten
from gymposium_train.serving.errors import ServiceError, WrongField

LONGEST = 200
"""Maximum length of names given by clients, in characters."""
TRAIN = "train"
"""The data split that the run learns from."""
LARGEST_REWARD = 1e9
"""The largest absolute reward. Sums of its squares stay finite in single precision."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class BeginRequest:
    """The body of a request for a session."""

    group: str | None
    member: int | None
    seed: int | None
    split: str
    metadata: Mapping[str, Any]

    @classmethod
    def read(cls, body: Any) -> BeginRequest:
        """Read the body. Raises `WrongField` for an invalid field."""
        fields = _read_fields(body, "group", "member", "seed", "split", "metadata")
        metadata = fields.get("metadata", {})
        if not isinstance(metadata, Mapping):
            raise WrongField("metadata", f"give an object, not {shorten(metadata)}.")
        return cls(
            None if "group" not in fields else check_name("group", fields["group"]),
            None if "member" not in fields else check_integer("member", fields["member"], 0, 2**31),
            None if "seed" not in fields else check_integer("seed", fields["seed"], 0, 2**63),
            check_name("split", fields.get("split", TRAIN)),
            metadata,
        )


@dataclass(frozen=True, slots=True)
class EndRequest:
    """The body of a request to end a session."""

    reward: float
    parts: Mapping[str, float]
    truncated: bool
    turn_rewards: tuple[float, ...] | None

    @classmethod
    def read(cls, body: Any) -> EndRequest:
        """Read the body. Raises `WrongField` for a missing or invalid field."""
        fields = _read_fields(body, "reward", "parts", "truncated", "turn_rewards")
        if "reward" not in fields:
            raise WrongField("reward", "missing. Give the session's reward, a number.")
        parts, truncated = fields.get("parts", {}), fields.get("truncated", False)
        if not isinstance(parts, Mapping):
            raise WrongField("parts", f"give an object of numbers, not {shorten(parts)}.")
        if not isinstance(truncated, bool):
            raise WrongField("truncated", f"give true or false, not {shorten(truncated)}.")
        turns, reward = fields.get("turn_rewards"), _check_number("reward", fields["reward"])
        if turns is not None:
            if not isinstance(turns, list):
                raise WrongField("turn_rewards", f"give a list of numbers, one per reply, not {type(turns).__name__}.")
            turns = tuple(_check_number(f"turn_rewards[{n}]", value) for n, value in enumerate(turns))
            total = math.fsum(turns)
            if not math.isclose(total, reward, abs_tol=_ROUNDING * max([1.0, *map(abs, turns)])):
                raise WrongField("turn_rewards", f"they add up to {total}, but reward is {reward}. Make both equal.")
        return cls(
            reward,
            {check_name("parts", key): _check_number(f"parts.{key}", value) for key, value in parts.items()},
            truncated,
            turns,
        )

    def as_data(self) -> dict[str, Any]:
        """Return the body as plain data, with all fields."""
        turns = None if self.turn_rewards is None else [*self.turn_rewards]
        return {
            "reward": self.reward,
            "parts": dict(self.parts),
            "truncated": self.truncated,
            "turn_rewards": turns,
        }


def read_group(body: Any, default: int, least: int) -> tuple[str | None, int]:
    """Return the key and the size of a group, which is at least `least`. Raises `WrongField` for an invalid field."""
    fields = _read_fields(body, "key", "size")
    key = None if "key" not in fields else check_name("key", fields["key"])
    return key, check_integer("size", fields.get("size", default), least, 10_000)


def read_train(body: Any) -> tuple[str, ...] | None:
    """Return the keys of the groups to learn from, or None for all complete groups. Raises `WrongField`."""
    fields = _read_fields(body, "groups")
    if "groups" not in fields:
        return None
    keys = fields["groups"]
    if not isinstance(keys, list) or not keys:
        raise WrongField("groups", f"give a list of group keys, not {shorten(keys)}. Omit it for all complete groups.")
    return tuple(dict.fromkeys(check_name(f"groups[{n}]", key) for n, key in enumerate(keys)))


def check_name(field: str, value: Any) -> str:
    """Check and return a name given by a client. Raises `WrongField` if it is empty, too long or not printable."""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST or not value.isprintable():
        raise WrongField(field, f"give text of 1 to {LONGEST} printable characters, not {shorten(value)}.")
    return value


def check_integer(field: str, value: Any, low: int, end: int) -> int:
    """Return an integer from `low` up to but not including `end`. Raises `WrongField` for other values."""
    if type(value) is not int or not low <= value < end:
        raise WrongField(field, f"give a whole number from {low} to {end - 1}, not {shorten(value)}.")
    return value


def _check_number(field: str, value: Any) -> float:
    if type(value) not in (int, float) or not -LARGEST_REWARD <= value <= LARGEST_REWARD:
        raise WrongField(
            field, f"give a number from -{LARGEST_REWARD:.0e} to {LARGEST_REWARD:.0e}, not {shorten(value)}."
        )
    return float(value)


def _read_fields(body: Any, *known: str) -> dict[str, Any]:
    """Return the non-null fields of a body."""
    if not isinstance(body, Mapping):
        raise ServiceError(f"body: give a JSON object, not {shorten(body)}.")
    if unknown := [key for key in body if key not in known]:
        raise WrongField(unknown[0][:80], f"unknown field. Known fields: {', '.join(known)}.")
    return {key: value for key, value in body.items() if value is not None}
