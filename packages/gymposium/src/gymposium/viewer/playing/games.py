"""The games that can be chosen, and what a form asks about one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gymposium.errors import UnknownName
from gymposium.games.registry import is_registered
from gymposium.plugins.host import host
from gymposium.plugins.names import parse_name
from gymposium.plugins.specs import GameSpec, OpponentSpec, Parameter
from gymposium.viewer.playing.choice import PARAMETER
from gymposium.viewer.playing.forms import Form


@dataclass(frozen=True, slots=True)
class Field:
    """One parameter of a game in a form."""

    parameter: Parameter
    value: str

    @property
    def name(self) -> str:
        return PARAMETER + self.parameter.name

    @property
    def title(self) -> str:
        return self.parameter.name.replace("_", " ")

    @property
    def options(self) -> Sequence[str]:
        """All that can be chosen; () where it is written."""
        if self.parameter.choices is not None:
            return [str(choice) for choice in self.parameter.choices]
        return ["true", "false"] if isinstance(self.parameter.default, bool) else ()

    @property
    def kind(self) -> str:
        """Of the input where it is written."""
        return "number" if isinstance(self.parameter.default, int | float) else "text"


def find_games(text: str) -> list[GameSpec]:
    """The games that hold each word of the text in their name, title or summary."""
    words = text.lower().split()
    return [spec for spec in host().games.values() if all(word in searched(spec) for word in words)]


def searched(spec: GameSpec) -> str:
    """What a search looks into."""
    hidden = "hidden" if spec.information == "imperfect" else ""
    return f"{spec.name} {spec.title} {spec.summary} {hidden}".lower()


def spec_of(name: str) -> GameSpec | None:
    """The game's spec, by its name with or without parameters; None where only its engine knows the game. Nothing is
    loaded: an address alone must not do that. Raises `BadParameter` and `UnknownName`."""
    base = parse_name(name)[0]
    if not is_registered(base):
        return None
    spec = host().games.get(base)
    if spec is None:
        raise UnknownName("game", base, host().games)
    return spec


def fields(spec: GameSpec, form: Form) -> list[Field]:
    """The game's parameters as they were written, or by default."""
    given: Mapping[str, str] = {**parse_name(form.text("game"))[1], **form.under(PARAMETER)}
    return [Field(one, given.get(one.name) or _text(one.default)) for one in spec.parameters]


def others(spec: GameSpec | None) -> tuple[int, int]:
    """The least and the greatest number of opponents; of a game without a spec nobody knows before it is loaded."""
    if spec is None:
        return 0, 9
    players = next((one for one in spec.parameters if one.name == "players"), None)
    if players is None:
        return spec.seats - 1, spec.seats - 1
    return int(players.low or 1) - 1, int(players.high or spec.seats) - 1


def opponents() -> list[OpponentSpec]:
    """Who can be asked to play, people at a terminal left out."""
    return [spec for spec in host().opponents.values() if spec.name != "human"]


def suggestions() -> list[str]:
    """Some that can be written as they are."""
    written = ["random", "greedy", "mcts-25", "mcts-100", "mcts-400", "exact", "cfr-200"]
    return [text for text in written if any(spec.parse(text) is not None for spec in opponents())]


def _text(value: bool | int | float | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
