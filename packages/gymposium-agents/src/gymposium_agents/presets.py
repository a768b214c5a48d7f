"""Published evaluation protocols, whole: every setting that a comparison with their figures needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gymposium.errors import UnknownName


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One protocol."""

    name: str
    source: str
    """Where it was published."""
    game: str
    opponents: tuple[str, ...]
    matches: int
    """Against each opponent; the seats share them evenly."""
    seed: int
    on_illegal: str
    player: Mapping[str, str]
    """Options of the player, as they are written behind `lm:MODEL?`."""

    def as_dict(self) -> dict[str, Any]:
        """Every setting as plain data."""
        return {
            "name": self.name,
            "source": self.source,
            "game": self.game,
            "opponents": list(self.opponents),
            "matches": self.matches,
            "seed": self.seed,
            "on_illegal": self.on_illegal,
            "player": dict(self.player),
        }


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
                on_illegal="forfeit",
                player=MappingProxyType(
                    {
                        "context": "full",
                        "max_tokens": "250",
                        "prompt": "full",
                        "reply": "tags",
                        "temperature": "0.6",
                        "thinking": "false",
                    }
                ),
            ),
        )
    }
)
"""All presets by name."""


def preset(name: str) -> Preset:
    """The preset called `name`. Raises `UnknownName` with those that there are."""
    try:
        return PRESETS[name]
    except KeyError:
        raise UnknownName("preset", name, PRESETS) from None


def takes_options(player: str) -> bool:
    """Whether the player is a language model, which is asked as its options say."""
    return player.startswith(("lm:", "api:"))


def with_defaults(player: str, defaults: Mapping[str, str]) -> str:
    """The player's text with these options, its own ones before them: `lm:M?temperature=0` stays at temperature 0."""
    name, _, written = player.partition("?")
    own = {item.partition("=")[0] for item in written.split("&") if item}
    added = [f"{option}={value}" for option, value in defaults.items() if option not in own]
    options = "&".join([*([written] if written else []), *added])
    return f"{name}?{options}" if options else name
