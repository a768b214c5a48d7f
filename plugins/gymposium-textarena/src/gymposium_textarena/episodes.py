"""Finished episodes of TextArena's own games: their actions, and a digest of their observations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from gymposium.errors import BadRecord, GymposiumError, describe_cause
from gymposium.util.plain_file import read_lines
from gymposium.util.strict_json import parse_strict_json

FORMAT = "textarena-episode-1"
_FIELDS = ("env", "version", "seed", "num_players", "actions", "rewards", "game_info", "digest")


@dataclass(frozen=True, slots=True)
class Episode:
    """A finished episode of a TextArena game: one line of a file."""

    env: str
    """The id of the environment: `TicTacToe-v0`."""
    version: str
    """The version of TextArena."""
    seed: int
    num_players: int
    actions: tuple[tuple[int, str], ...]
    """The actions as (player, text)."""
    rewards: Mapping[str, float]
    """The rewards by player. Player ids are text, as in JSON."""
    game_info: Mapping[str, Any]
    """The environment's final info for each player."""
    digest: str
    """SHA-256, in hexadecimal, of all observations and of `rewards` and `game_info`."""

    def line(self) -> str:
        """Return the episode as a line of JSON."""
        values = {field: getattr(self, field) for field in _FIELDS}
        return json.dumps({"format": FORMAT, **values}, allow_nan=False)

    @classmethod
    def parse(cls, line: str) -> Episode:
        """Parse an episode from a line. Raises `BadRecord`."""
        try:
            data = parse_strict_json(line)
        except ValueError as error:
            raise BadRecord(f"it is not JSON: {error}") from error
        match data:
            case {
                "format": "textarena-episode-1",
                "env": str(env),
                "version": str(version),
                "seed": int(seed),
                "num_players": int(players),
                "actions": list(actions),
                "rewards": dict(rewards),
                "game_info": dict(info),
                "digest": str(digest),
            } if (
                len(data) == len(_FIELDS) + 1
                and not any(isinstance(number, bool) for number in (seed, players))
                and all(map(_is_action, actions))
                and all(map(_is_number, rewards.values()))
            ):
                done = tuple((player, text) for player, text in actions)
                return cls(env, version, seed, players, done, rewards, info, digest)
        raise BadRecord(f"it is not an object in format {FORMAT!r} with the fields {', '.join(_FIELDS)}")


def read_episodes(path: str | Path) -> Iterator[Episode]:
    """Yield the episodes of a file that `RecordedEnv` wrote.

    Raises `BadRecord` with the number of the first invalid line, and for a file that cannot be read."""
    try:
        for number, line in enumerate(read_lines(path), start=1):
            yield _parse_line(line, f"{path}, line {number}")
    except OSError as error:
        raise BadRecord(
            f"{path} cannot be read ({describe_cause(error)}). Give a file written by RecordedEnv."
        ) from error


def _parse_line(line: bytes, where: str) -> Episode:
    try:
        return Episode.parse(line.decode())
    except UnicodeDecodeError as error:
        raise BadRecord(f"{where}: it is not UTF-8 text ({error}).") from error
    except BadRecord as error:
        raise BadRecord(f"{where}: {error}.") from error


def compute_digest(shown: Sequence[Any], rewards: Any, game_info: Any) -> str:
    """Return the digest of an episode. `shown` contains the player and the observation of each turn."""
    text = json.dumps([shown, rewards, game_info], allow_nan=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def to_json(value: Any) -> Any:
    """Convert a value to plain JSON types: keys to text, tuples to lists, `Enum` members to names. Raises
    `GymposiumError` for any other type."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Enum():
            return value.name
        case Mapping():
            return {str(key): to_json(inner) for key, inner in value.items()}
        case list() | tuple():
            return [to_json(inner) for inner in value]
    raise GymposiumError(f"An episode cannot be written: JSON has no {type(value).__name__}, as in {value!r:.200}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_action(action: Any) -> bool:
    match action:
        case [int(), str()]:
            return not isinstance(action[0], bool)
    return False
