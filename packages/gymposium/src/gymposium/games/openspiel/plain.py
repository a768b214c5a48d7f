"""OpenSpiel games with the engine's own plain text: `openspiel:NAME`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspiel

from gymposium.errors import BadParameter, UnknownName
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Style
from gymposium.plugins.names import parse_name
from gymposium.plugins.specs import GameSpec


class PlainWording:
    """The engine's own text. The compact style adds the legal moves."""

    move_pattern = re.compile(r"[^\n]{1,120}")
    names = None

    def __init__(self, title: str, seats: int, use_board: bool) -> None:
        self._title, self._seats, self._use_board = title, seats, use_board

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        # parsers strip whitespace around a move, and names in morpion_solitaire begin with it
        return [str(state.action_to_string(seat, action)).strip() for action in actions]

    def rules(self, seat: int, style: Style) -> str:
        # the first player is not named; in chess, for example, it is the engine's player 1
        return f"{self._title}. You are player {seat} of {self._seats} (players are numbered from 0).\n"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        text = state.observation_string(seat) if self._use_board else state.information_state_string(seat)
        shown = str(text).rstrip("\n") + "\n"
        if style == "compact":  # the engine's text seldom lists the legal moves
            return f"{shown}legal {', '.join(self.moves(state, seat, state.legal_actions(seat)))}\n"
        return shown


def make_plain_game(name: str) -> OpenSpielGame:
    """Make the OpenSpiel game with this name and parameters."""
    short, _ = parse_name(name)
    known = pyspiel.registered_names()
    if short not in known:
        raise UnknownName("OpenSpiel game", short, known)
    try:
        engine = pyspiel.load_game(name)
    except (pyspiel.SpielError, RuntimeError, IndexError) as error:
        raise BadParameter(f"OpenSpiel rejected {name!r}: {str(error).rstrip('.')}. Check its parameters.") from error
    kind = engine.get_type()  # the registered type ignores parameters and a wrapped game
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise BadParameter(
            f"OpenSpiel's {short} is a mean-field game with populations instead of players, which is not supported. "
            "Choose another game."
        )
    hides = kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION
    use_board = kind.provides_observation_string and not (hides and kind.provides_information_state_string)
    if not use_board and not kind.provides_information_state_string:
        raise BadParameter(f"OpenSpiel's {short} has no text observation, so it is not supported. Choose another game.")
    spec = GameSpec(
        name=re.sub(r"[^a-z0-9_]", "_", short.lower()),
        title=kind.long_name,
        summary="An OpenSpiel game with the engine's plain text.",
        entry_point="gymposium.games.openspiel.plain:make_plain_game",
        seats=engine.num_players(),
        information="imperfect" if hides else "perfect",
        dynamics="simultaneous" if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS else "sequential",
        chance=kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC,
        utility="zero_sum" if kind.utility == pyspiel.GameType.Utility.ZERO_SUM else "general_sum",
    )
    try:
        game = OpenSpielGame(spec, {}, engine, PlainWording(kind.long_name, engine.num_players(), use_board))
    except pyspiel.SpielError as error:  # crossword declares a tensor without a shape
        raise BadParameter(
            f"OpenSpiel's {short} is not supported: {str(error).rstrip('.')}. Choose another game."
        ) from error
    game.name = f"openspiel:{name}"
    return game
