"""Disguises: other words, names and layouts over the same games, drawn from the seed `disguise`.

A disguised game has the engine, the actions, the views, the chance and the returns of the plain one. Only its texts
differ: the rules, the positions and the names of moves. `DISGUISES` lists the games that have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gymposium.plugins.specs import GameSpec, Parameter

DISGUISE = Parameter(
    name="disguise",
    default=0,
    low=0,
    high=999_999,
    help="Seed of other words, names and layout over the same game; 0 for the usual ones.",
)

DISGUISES: Mapping[str, str] = {
    "amazons": "barriers:Barriers",
    "bargaining": "sharing:Sharing",
    "blackjack": "limits:Limit",
    "breakthrough": "crossing:Crossing",
    "checkers": "leaps:Leaps",
    "clobber": "evictions:Evictions",
    "connect_four": "poles:Poles",
    "dark_hex": "unseen_chains:UnseenChains",
    "dots_and_boxes": "ropes:Ropes",
    "go": "enclosures:Enclosures",
    "gomoku": "rows:Rows",
    "goofspiel": "offers:Offers",
    "havannah": "chains:LoopsAndChains",
    "hex": "chains:TwoEnds",
    "kuhn_poker": "stakes:ThreeSigns",
    "leduc_poker": "stakes:TwoRounds",
    "liars_dice": "claims:Claims",
    "lines_of_action": "gathering:Gathering",
    "mancala": "sowing:TwoBarns",
    "nine_mens_morris": "roads:Roads",
    "othello": "turncoats:Turncoats",
    "oware": "sowing:TwosAndThrees",
    "phantom_ttt": "sums:UnseenSums",
    "pig": "digging:Digging",
    "tic_tac_toe": "sums:Sums",
    "ultimate_tic_tac_toe": "sums:SumsOfSums",
    "y": "chains:ThreeEdges",
}
"""Where the words of each disguise stand, by the name of the game: the module in this folder, and the class."""

_SMALL: Mapping[str, Mapping[str, Any]] = {
    "amazons": {"board_size": 6},
    "bargaining": {"max_turns": 6},
    "breakthrough": {"rows": 5, "columns": 5},
    "clobber": {"rows": 3, "columns": 4},
    "connect_four": {"rows": 5, "columns": 4, "x_in_row": 3},
    "dots_and_boxes": {"num_rows": 2, "num_cols": 2},
    "go": {"board_size": 4},
    "gomoku": {"size": 5, "connect": 4},
    "goofspiel": {"num_cards": 5},
    "havannah": {"board_size": 3},
    "hex": {"board_size": 4},
    "lines_of_action": {"max_game_length": 40},
    "oware": {"num_seeds_per_house": 3},
    "pig": {"winscore": 20, "horizon": 30},
    "y": {"board_size": 5},
}
"""Parameters beside the disguise in the example of a game, so that it is small."""


def with_disguises(*specs: GameSpec) -> tuple[GameSpec, ...]:
    """Return the specs, with the parameter `disguise` and an example of it for each game that has one."""
    return tuple([_disguisable(spec) if spec.name in DISGUISES else spec for spec in specs])


def _disguisable(spec: GameSpec) -> GameSpec:
    example = {**_SMALL.get(spec.name, {}), DISGUISE.name: 7}
    return replace(spec, parameters=(*spec.parameters, DISGUISE), examples=(*spec.examples, example))


def without_disguise(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the game itself, without the seed of its disguise."""
    return {name: value for name, value in params.items() if name != DISGUISE.name}
