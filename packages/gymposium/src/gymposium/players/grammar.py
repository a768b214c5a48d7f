"""Players by name: one grammar for every command, keyword and record."""

from __future__ import annotations

from typing import cast

from gymposium.errors import MissingExtra, UnknownName, WrongType
from gymposium.players.protocol import Player
from gymposium.plugins.host import host
from gymposium.plugins.specs import OpponentSpec

_ELSEWHERE = {
    "lm:": ("The language-model player", "gymposium-agents"),
    "api:": ("The player over an OpenAI-compatible API", "gymposium-agents[api]"),
    "sb3:": ("The stable-baselines3 player", "gymposium-sb3"),
}
"""Forms that first-party distributions add, for an error that says what to install."""


def make_player(text: str) -> Player:
    """The player written as `text`: `random`, `mcts-100`, `human`, `lm:MODEL@ADAPTER`, … Raises
    `UnknownName` with the nearest forms, `MissingExtra` where a first-party part is not installed, and `WrongType`
    where `text` is not text."""
    spec, groups = check_player(text)
    return cast(Player, host().implementation(spec)(**groups))


def check_player(text: str) -> tuple[OpponentSpec, dict[str, str | None]]:
    """What kind of player is written so, and the parts of the text; nothing is made or loaded. Raises as `make_player`
    does where there is no such kind."""
    if not isinstance(text, str):
        raise WrongType("A player", "written as text such as 'random' or 'mcts-100'", text)
    known = host().opponents.values()
    for spec in known:
        groups = spec.parse(text)
        if groups is not None:
            return spec, groups
    for prefix, (what, distribution) in _ELSEWHERE.items():
        if text.startswith(prefix) and not any(spec.form.startswith(prefix) for spec in known):
            raise MissingExtra(what, distribution)
    meant = next((spec for spec in known if spec.fixed_part and text.startswith(spec.fixed_part)), None)
    raise UnknownName("player", text, (spec.form for spec in known), None if meant is None else _how_to_write(meant))


def _how_to_write(spec: OpponentSpec) -> str:
    return f"Write {spec.form}{f', {spec.placeholders}' if spec.placeholders else ''}."
