"""A one-file plugin whose games misdescribe themselves: each is Kuhn poker or goofspiel with a defect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gymposium import GameSpec, Parameter, hookimpl
from gymposium.errors import BadParameter
from gymposium.games.cards.goofspiel import game as goofspiel
from gymposium.games.openspiel.adapter import OpenSpielGame


def fragile(spec: GameSpec, params: Mapping[str, Any]) -> OpenSpielGame:
    """Cannot be made with the greatest value that its parameter allows."""
    if params["num_cards"] == 9:
        raise IndexError("there is no ninth card")
    return sized(spec, params)


OF_GOOFSPIEL = {"imp_info": True, "points_order": "descending"}


def quiet(spec: GameSpec, params: Mapping[str, Any]) -> OpenSpielGame:
    """Does not tell, nor heed, how many cards there are."""
    return _named(goofspiel(spec, {**OF_GOOFSPIEL, "num_cards": 4}), spec, params)


def sized(spec: GameSpec, params: Mapping[str, Any]) -> OpenSpielGame:
    """Goofspiel with so many cards."""
    return _named(goofspiel(spec, {**OF_GOOFSPIEL, "num_cards": params["num_cards"]}), spec, params)


def overdue(spec: GameSpec, params: Mapping[str, Any]) -> OpenSpielGame:
    """Promises too short a match, but where its parameter is at an end of its range."""
    game = sized(spec, params)
    if params["num_cards"] not in (2, 9):
        game.max_decisions = 1
    return game


def _named(game: OpenSpielGame, spec: GameSpec, params: Mapping[str, Any]) -> OpenSpielGame:
    game.params, game.name = dict(params), spec.full_name(params)
    return game


@dataclass(frozen=True, slots=True, kw_only=True)
class Obliging(Parameter):
    """Takes any number and makes it fit."""

    def check(self, value: Any) -> Any:
        try:
            return Parameter.check(self, value)
        except BadParameter:
            return self.default


def _spec(name: str, factory: str, title: str = "A game", parameter: type[Parameter] = Parameter) -> GameSpec:
    return GameSpec(
        name=name,
        title=title,
        summary="Goofspiel, bent.",
        entry_point=f"faulty_games:{factory}",
        parameters=(parameter(name="num_cards", default=4, low=2, high=9, help="Cards in each hand."),),
        examples=({}, {"num_cards": 3}),
        information="imperfect",
        dynamics="simultaneous",
        namespace="faulty",
    )


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    yield _spec("sound", "sized")
    yield _spec("two_lines", "sized", title="A game\nof two lines")
    yield _spec("obliging", "sized", parameter=Obliging)
    yield _spec("fragile", "fragile")
    yield _spec("quiet", "quiet")
    yield _spec("overdue", "overdue")
