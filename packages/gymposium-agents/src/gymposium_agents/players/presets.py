"""Published evaluation protocols, with every setting needed for comparable results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gymposium.errors import UnknownName
from gymposium.match import FORFEIT
from gymposium.match.failures import FailurePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One published evaluation protocol."""

    name: str
    source: str
    """The publication."""
    game: str
    opponents: tuple[str, ...]
    matches: int
    """Matches against each opponent, shared evenly by the seats."""
    seed: int
    on_illegal: FailurePolicy
    player: Mapping[str, str]
    """Options of the player, as written after `lm:MODEL?`."""


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            Preset(
                name="ludic",
                source="hallerite/ludic, examples/tic_tac_toe/eval_tic_tac_toe_vllm.py",
                game="tic_tac_toe",
                opponents=("random",),
                matches=200,
                seed=0,
                on_illegal=FORFEIT,
                player={
                    "context": "full",
                    "max_tokens": "250",
                    "prompt": "full",
                    "reading": "strict",
                    "reply": "tags",
                    "temperature": "0.6",
                    "thinking": "false",
                },
            ),
        )
    }
)
"""All presets by name."""


def get_preset(name: str) -> Preset:
    """Return the preset called `name`. Raises `UnknownName`, which lists the presets."""
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return PRESETS[name]


def has_options(player: str) -> bool:
    """Return True if the player is a language model, which has options."""
    return player.startswith(("lm:", "api:"))


def add_defaults(player: str, defaults: Mapping[str, str]) -> str:
    """Return the player's text with these options added. Options already in the text keep their values:
    `lm:M?temperature=0` stays at temperature 0."""
    name, _, text = player.partition("?")
    own = {item.partition("=")[0] for item in text.split("&")}
    options = [text, *(f"{option}={value}" for option, value in defaults.items() if option not in own)]
    return f"{name}?{'&'.join(filter(None, options))}".removesuffix("?")
