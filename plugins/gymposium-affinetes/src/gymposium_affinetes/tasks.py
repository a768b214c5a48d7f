"""affinetes' task ids, `GGGGCCCCCCCC`: the number of a game and the number of its configuration.

Games are ordered as in affinetes' code; its README has an older order. Each game has a few variants, repeated
over the configurations. A variant sets the same OpenSpiel parameters as in affinetes. For bridge and oware,
affinetes uses parameters that OpenSpiel does not have; comments in the table name the replacements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from gymposium.errors import BadOption, MissingExtra, UnknownName
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match import MatchResult
from gymposium.plugins.names import format_name, parse_name
from gymposium_affinetes.scores import compute_score

if TYPE_CHECKING:
    from gymposium.games.openspiel.adapter import OpenSpielGame

CONFIGS = 100_000_000
"""Configurations per game, most of them equal."""

Params = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Family:
    """A game of affinetes."""

    name: str
    """The name in affinetes and OpenSpiel."""
    variants: tuple[Params, ...] = ({},)
    """The parameters of configurations 0, 1, …. They repeat after the last variant."""
    simulations: int | None = None
    """The simulations of the opponent `mcts`: affinetes' number, except in bridge. None for the random player, as in
    affinetes."""

    def game(self, config: int) -> str:
        """Return gymposium's name for the game in a configuration."""
        return format_name(self.name, self.variants[config % len(self.variants)])


def _list_variants(name: str, *values: object) -> tuple[Params, ...]:
    return tuple({name: value} for value in values)


def _combine_flags(*names: str) -> tuple[Params, ...]:
    """Return all combinations of some flags; the first flag is the lowest bit of the configuration."""
    return tuple({name: bool(c >> bit & 1) for bit, name in enumerate(names)} for c in range(2 ** len(names)))


FAMILIES = (
    Family("goofspiel", tuple({"imp_info": False, "num_cards": cards} for cards in (8, 10, 12, 14, 16))),
    Family("liars_dice", _list_variants("numdice", 5), simulations=3000),
    Family("leduc_poker", simulations=3000),
    Family(
        "gin_rummy",
        tuple({"hand_size": size, "knock_card": card} for size in (7, 8, 9) for card in (10, 9, 8)),
        simulations=500,
    ),
    Family("othello", simulations=1000),
    Family("backgammon", simulations=600),
    Family("hex", _list_variants("board_size", 5, 7, 9, 11), simulations=1000),
    Family("clobber", tuple({"rows": size, "columns": size} for size in (5, 6, 7)), simulations=1500),
    Family("hearts", _combine_flags("pass_cards", "jd_bonus", "avoid_all_tricks_bonus"), simulations=500),
    Family("euchre", _combine_flags("allow_lone_defender", "stick_the_dealer"), simulations=1000),
    Family("dots_and_boxes", tuple({"num_rows": size, "num_cols": size} for size in (3, 4, 5)), simulations=1200),
    Family("go", tuple({"board_size": size, "komi": 7.5} for size in (5, 7)), simulations=300),
    Family("chess", simulations=200),
    Family("checkers", simulations=500),
    Family(
        "quoridor",
        tuple({"board_size": size, "wall_count": walls} for size in (7, 9) for walls in (8, 10)),
        simulations=800,
    ),
    Family("blackjack"),
    Family("phantom_ttt", _list_variants("obstype", "reveal-nothing", "reveal-numturns"), simulations=3000),
    Family("2048"),
    Family("solitaire"),
    # affinetes uses 200 simulations, which would take minutes per move: the engine needs a tenth of a second to compute
    # the result of a contract. affinetes never plays contracts out; gymposium's bridge does so by default.
    # is_chicago and is_duplicate are not parameters of OpenSpiel; the deals of such variants differ in vulnerability
    Family(
        "bridge",
        tuple(
            {"use_double_dummy_result": True, "dealer_vul": dealer, "non_dealer_vul": other}
            for dealer, other in ((False, False), (True, False), (True, True))
        ),
        simulations=20,
    ),
    Family("amazons", _list_variants("board_size", 6, 8, 10), simulations=200),
    # affinetes writes seeds_per_house, which OpenSpiel calls num_seeds_per_house
    Family("oware", _list_variants("num_seeds_per_house", 4, 3, 5), simulations=300),
)
"""affinetes' games in the order of its code."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task of affinetes."""

    game: str
    """The game with its parameters, as `gymposium.games.registry.load_game` takes it."""
    index: int
    """The number of the game, GGGG."""
    config: int
    """The number of the configuration, CCCCCCCC."""

    @property
    def family(self) -> Family:
        """The game without its parameters."""
        return FAMILIES[self.index]

    @property
    def utility_range(self) -> tuple[float, float]:
        """OpenSpiel's minimum and maximum return, which scale the scores."""
        return _load_engine_game(self.family, parse_name(self.game)[1]).utility_range

    def name_player(self, opponent: str) -> str:
        """Return the name of the opponent's player. For `mcts`, it includes the task's number of simulations."""
        if opponent != "mcts":
            return opponent
        return "random" if self.family.simulations is None else f"mcts-{self.family.simulations}"

    def score(self, played: MatchResult, seat: int) -> float:
        """Return affinetes' score of a seat, from 0 to 1. A seat that forfeited after its retries gets 0."""
        if played.ending.seat == seat:
            return 0.0
        return compute_score(played.utilities, seat, played.job.game.spec.utility, *self.utility_range)

    def load(self) -> Game:
        """Load the game. Raises `MissingExtra` if it belongs to a plugin that is not installed."""
        try:
            return load_game(self.game)
        except UnknownName:
            if self.family.name == "2048":
                raise MissingExtra("The game 2048", "gymposium-2048") from None
            raise


def decode_task(task_id: int) -> Task:
    """Return the task with this id. Raises `BadOption` for an unknown id; ids do not wrap around as in affinetes."""
    if type(task_id) is not int:
        raise BadOption(f"task_id={task_id!r}: use an integer.")
    index, config = divmod(task_id, CONFIGS)
    if not 0 <= index < len(FAMILIES):
        raise BadOption(
            f"task_id={task_id}: ids go from 0 to {len(FAMILIES) * CONFIGS - 1}, {CONFIGS} for each of "
            f"{len(FAMILIES)} games."
        )
    return Task(FAMILIES[index].game(config), index, config)


def encode_game(game: str) -> int:
    """Return the smallest task id of a game, named as in gymposium or OpenSpiel: `hex(board_size=5)`,
    `openspiel:go(board_size=5,komi=7.5)`, `go(board_size=5,komi=7.5)`.

    Raises `UnknownName` for a game without tasks, and `BadOption` for parameters that no task has."""
    base, params = parse_name(game)
    name = base.removeprefix("openspiel:")
    index = next((i for i, family in enumerate(FAMILIES) if family.name == name), None)
    if index is None:
        raise UnknownName("game with affinetes tasks", game, (family.name for family in FAMILIES))
    family = FAMILIES[index]
    settings = _list_settings(family, params)
    for config, variant in enumerate(family.variants):
        if _list_settings(family, {key: str(value) for key, value in variant.items()}) == settings:
            return index * CONFIGS + config
    known = ", ".join(family.game(config) for config in range(len(family.variants)))
    raise BadOption(f"{game} is not an affinetes task. The game's tasks are {known}.")


def _list_settings(family: Family, params: Mapping[str, str]) -> dict[str, str]:
    """Return all of the engine's parameters, defaults included, as text."""
    return {key: str(value) for key, value in _load_engine_game(family, params).engine.get_parameters().items()}


def _load_engine_game(family: Family, params: Mapping[str, str]) -> OpenSpielGame:
    """Return OpenSpiel's implementation of the game."""
    return cast("OpenSpielGame", load_game(format_name(f"openspiel:{family.name}", params)))
