"""Check of OpenSpiel game parameters that come from files.

It allows flags, bounded numbers and some short texts. OpenSpiel itself checks few parameters. Some parameters name
files that it reads, and an excessive size kills the process.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import pyspiel

from gymposium.errors import BadParameter
from gymposium.plugins.names import parse_name

_BOARD, _SEATS, _COUNT, _LENGTH, _POINTS = 25, 10, 20, 1000, 10_000

_MAXIMA: Mapping[str, int] = {
    **dict.fromkeys(
        "board_height board_size board_width columns height m n num_cols num_rows rows size width".split(), _BOARD
    ),
    **dict.fromkeys(["numPlayers", "num_players", "players"], _SEATS),
    **dict.fromkeys(
        "coins colors connect dealer dice_sides diceoutcomes dims fields fixed_player hand_size handicap imposters "
        "initial_cards insanity k knock_card max_bribe max_information_tokens max_items max_life_tokens max_value "
        "min_bid numHoleCards numRanks numRounds numSuits num_actions num_cards num_cards_per_suit num_chance "
        "num_coins_per_color num_colors num_dice num_extra_coin_colors num_hands num_houses_per_player num_items "
        "num_messages num_ranks num_redeals num_rounds num_seeds_per_house num_states num_suits num_symbols num_tricks "
        "num_tricks_fixed num_tricks_in_observation num_turns numdice obs_back obs_front obs_side ranks recall "
        "recall_length rolls_per_turn sense_size starting_player suits utterance_dim wall_count x_in_row".split(),
        _COUNT,
    ),
    **dict.fromkeys(
        "depth_limit episode_length horizon max_cursor_moves max_draw_cards max_game_length max_moves max_no_progress "
        "max_num_hands max_player_turns max_rounds max_turns num_repetitions num_shots score_limit".split(),
        _LENGTH,
    ),
    **dict.fromkeys(
        "gin_bonus max_tile mercy_threshold points_per_trick potSize undercut_bonus win_or_loss_bonus win_threshold "
        "winscore".split(),
        _POINTS,
    ),
    **dict.fromkeys(["rng_seed", "seed"], 2**31 - 1),
}
"""Maximum absolute value that a file may set, for each integer parameter."""

_WORDS = frozenset(
    "betting bettingAbstraction bidding_rule gameversion observation_type obstype points_order returns_type "
    "scoring_type string_rep".split()
)
"""Parameters whose value is a single word."""

_LISTS = frozenset(
    "blind boardCards firstPlayer maxRaises numBoardCards payoff payoffs pile_sizes raiseSize ship_sizes ship_values "
    "stack".split()
)
"""Parameters whose value is a list of numbers as text."""

_POSITIONS = frozenset(["fen"])

_SHAPES = {name: re.compile(r"[A-Za-z0-9_-]{0,40}") for name in _WORDS}
_SHAPES |= {name: re.compile(r"[\[\]0-9 .;,-]{0,100}") for name in _LISTS}
_SHAPES |= {name: re.compile(r"[A-Za-z0-9/ -]{0,120}") for name in _POSITIONS}


def explain_harm(name: str, params: Mapping[str, str], depth: int = 0) -> str:
    """Return a clause that says why a file must not name this game with these parameters.

    Returns "" if it may, or if OpenSpiel has no such game. `depth` is the number of enclosing games."""
    kinds = _list_parameter_types().get(name)
    if kinds is None:
        return ""
    for key, text in params.items():
        kind = kinds.get(key)
        if kind is bool or kind is float or kind is None:  # None: OpenSpiel rejects unknown parameters
            continue
        if kind is dict:
            if why := _explain_inner_harm(text, depth):
                return why
        elif kind is int:
            if key not in _MAXIMA:
                return f"its parameter {key} may not be given in a file"
            if re.fullmatch(r"-?[0-9]{1,10}", text) is None or abs(int(text)) > _MAXIMA[key]:
                return f"its parameter {key}={text[:40]} is not a whole number up to {_MAXIMA[key]}"
        elif key not in _SHAPES or _SHAPES[key].fullmatch(text) is None:
            return f"its parameter {key} is text, which a file may not give"
    return ""


def _explain_inner_harm(text: str, depth: int) -> str:
    """Apply `explain_harm` to a game that is a parameter of another game."""
    if depth == 2:
        return "it has games within games within games"
    try:
        name, params = parse_name(text)
    except BadParameter:
        return "the game within it cannot be read"
    return explain_harm(name, params, depth + 1)


@cache
def _list_parameter_types() -> Mapping[str, Mapping[str, Any]]:
    """Return the type of each parameter of every game."""
    return {
        game.short_name: {key: type(default) for key, default in game.parameter_specification.items()}
        for game in pyspiel.registered_games()
    }
