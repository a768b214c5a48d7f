"""The games and players offered by the form for a new match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.games.registry import is_registered
from gymposium.plugins.host import host
from gymposium.plugins.names import parse_name
from gymposium.plugins.specs import DISGUISE, GameSpec, OpponentSpec, Parameter
from gymposium_viewer.playing.choice import PARAMETER_PREFIX
from gymposium_viewer.playing.forms import Form


@dataclass(frozen=True, slots=True)
class ParameterField:
    """A game parameter as a form field."""

    parameter: Parameter
    value: str

    @property
    def name(self) -> str:
        """The field's name in the form."""
        return PARAMETER_PREFIX + self.parameter.name

    @property
    def is_minor(self) -> bool:
        """True for the disguise, a rarely used parameter that the form shows last."""
        return self.parameter.name == DISGUISE.name

    @property
    def is_changed(self) -> bool:
        """True if the value is not the default."""
        return self.value != _format_value(self.parameter.default)

    @property
    def options(self) -> Sequence[str]:
        """The values to choose from; () if the value is typed."""
        if self.parameter.choices is not None:
            return [str(choice) for choice in self.parameter.choices]
        return ["true", "false"] if isinstance(self.parameter.default, bool) else ()

    @property
    def kind(self) -> str:
        """The HTML input type, if the value is typed."""
        return "number" if isinstance(self.parameter.default, int | float) else "text"


def find_games(text: str) -> list[GameSpec]:
    """Return the games that have every word of `text` in their name, title or summary."""
    words = text.lower().split()
    return [spec for spec in host().games.values() if all(word in search_text(spec) for word in words)]


def search_text(spec: GameSpec) -> str:
    """Return the lower-case text that `find_games` searches."""
    hidden = "hidden" if spec.information == "imperfect" else ""
    return f"{spec.name} {spec.title} {spec.summary} {hidden}".lower()


def find_spec(name: str) -> GameSpec | None:
    """Return the spec of a game, given its name with or without parameters, or None if the game comes from an engine.

    No code is loaded, because anyone can send a link to this page. Raises `BadParameter`, and the errors of
    `Host.game`."""
    base = parse_name(name)[0]
    if not is_registered(base):
        return None
    return host().game(base)


def make_fields(spec: GameSpec, form: Form) -> list[ParameterField]:
    """Return the fields for a game's parameters, with values from a form or defaults."""
    values = {**parse_name(form.get_text("game"))[1], **form.get_prefixed(PARAMETER_PREFIX)}
    return [
        ParameterField(parameter, values.get(parameter.name) or _format_value(parameter.default))
        for parameter in spec.parameters
    ]


def count_opponents(spec: GameSpec | None) -> tuple[int, int]:
    """Return the minimum and maximum number of opponents; (0, 9) without a spec."""
    if spec is None:
        return 0, 9
    players = next((parameter for parameter in spec.parameters if parameter.name == "players"), None)
    if players is None:
        return spec.seats - 1, spec.seats - 1
    return int(players.low or 1) - 1, int(players.high or spec.seats) - 1


def list_opponents() -> list[OpponentSpec]:
    """Return the specs of possible opponents: all players except a person at a terminal."""
    return [spec for spec in host().opponents.values() if spec.name != "human"]


def suggest_opponents(spec: GameSpec | None) -> dict[str, str]:
    """Return the names and descriptions of suggested opponents for a game. Without a spec, return opponents for any
    game."""
    kinds = [one for one in list_opponents() if not one.games or (spec is not None and spec.name in one.games)]
    if spec is not None and (spec.unsearchable or spec.free_text):
        kinds = [one for one in kinds if one.name != "mcts"]
    return {text: sentence for one in kinds for text, sentence in one.offers().items()}


def _format_value(value: bool | int | float | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
