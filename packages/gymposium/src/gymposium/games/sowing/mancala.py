"""Mancala as a text game: the engine plays kalah with six houses and four seeds. Houses are named as in oware."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, make_openspiel_factory
from gymposium.games.openspiel.boards import describe_turn, format_legal
from gymposium.games.pictures import Picture, draw_note, draw_pits, find_last_turn
from gymposium.games.protocol import Event, Style
from gymposium.games.sowing.houses import SEATS, make_compact_template, make_full_template, name_houses
from gymposium.plugins.specs import GameSpec

_HOUSES = 6
_SOUTH, _NORTH = name_houses(_HOUSES)


_SIDES = ("the lower row", "the upper row")


class Mancala:
    """Wording for `mancala`."""

    move_pattern = re.compile(f"[{_SOUTH}{_NORTH}]")

    def __init__(self, engine: pyspiel.Game) -> None:
        self._full, self._compact = make_full_template(_HOUSES), make_compact_template(_HOUSES)
        self.limit: int = engine.max_game_length() + 1
        """The engine's move limit. The longest match that a search has found has 516 moves."""
        # the engine numbers places around the board, starting at North's store
        self.names = ["North's store", *_SOUTH, "South's store", *_NORTH]
        [each] = {seeds for row in parse_board(engine.new_initial_state().observation_string(0))[:2] for seeds in row}
        facing = ", ".join([f"{one} and {other}" for one, other in zip(_SOUTH, reversed(_NORTH))])
        self._rules = (
            f"Mancala, as kalah: {_HOUSES} houses and a store for each player, {each} seeds in every house and none in "
            f"the stores at the start. South owns the houses {_SOUTH[0]} to {_SOUTH[-1]}, North {_NORTH[0]} to "
            f"{_NORTH[-1]}. South moves first. A move takes all seeds from one of your own houses and sows them, one "
            f"into each place that follows, round the board in the order {' '.join(_SOUTH)}, South's store, "
            f"{' '.join(_NORTH)}, North's store, and then {_SOUTH[0]} again; only the opponent's store is left out.\n"
            f"If the last seed falls into your store, you move again; if not, it is your opponent's turn. If the last "
            f"seed falls into one of your own houses that was empty (as the house that was sown now is) and the house "
            f"facing it holds any seeds, you capture these and that last seed: they go into your store. Facing each "
            f"other are {facing}.\n"
            f"The game ends as soon as all houses of one player, whichever, are empty, or after {self.limit} moves of "
            f"both players together. Then each player also takes the seeds that are left in their own houses. More "
            f"seeds win; equal numbers are a draw.\n"
        )

    def rules(self, seat: int, style: Style) -> str:
        mine, theirs = (_SOUTH, _NORTH) if seat == 0 else (_NORTH, _SOUTH)
        if style == "compact":
            return (
                f"mancala (kalah), sown {_SOUTH}, South's store, {_NORTH}, North's store and round, {_SOUTH[0]} faces "
                f"{_NORTH[-1]}, you are {SEATS[seat]} and own {mine}\n"
            )
        return (
            f"{self._rules}A move is written as the house that is sown. You are {SEATS[seat]}, own {' '.join(mine)}, "
            f"and move {'first' if seat == 0 else 'second'}; your opponent owns {' '.join(theirs)}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        north, south, stores = parse_board(state.observation_string(seat))
        moves = state.move_number()
        if style == "compact":
            return (
                f"{self._compact % (*north, *south)}\nstores South {stores[0]} North {stores[1]}\n"
                f"moves {moves} of {self.limit}\n{format_legal(state, seat, self.names)}"
            )
        head = f"You are {SEATS[seat]}{describe_turn(state, seat)}. {moves} of at most {self.limit} moves are played."
        if state.is_terminal():
            head += " The game is over, and each player takes the seeds in their own houses."
        return (
            f"{head} Stores: you {stores[seat]}, your opponent {stores[1 - seat]}. The houses:\n"
            f"{self._full % (*north, *south)}\n"
        )

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        north, south, stores = parse_board(state.observation_string(seat))
        upper, lower = zip(_NORTH[::-1], map(int, north)), zip(_SOUTH, map(int, south))
        drawn = draw_pits([*upper], [*lower], (int(stores[1]), int(stores[0])), last=find_last_turn(events)[-1:])
        told = f"Seeds: North {' '.join(north)}, South {' '.join(south)}; stores: South {stores[0]}, North {stores[1]}"
        return Picture.from_parts(drawn, draw_note(f"You are {SEATS[seat]}, {_SIDES[seat]}."), told=told)


def parse_board(board: str) -> tuple[list[str], list[str], tuple[str, str]]:
    """Return the seeds in North's houses (last first), in South's houses, and in South's and North's stores.

    The engine writes `-4-4-4-4-4-4-` for North's row, `0-----------0` for the stores of North and South, and a row for
    South's."""
    upper, stores, lower = board.split("\n", 3)[:3]
    north, *_, south = stores.split("-")
    return upper[1:-1].split("-"), lower[1:-1].split("-"), (south, north)


class MancalaGame(OpenSpielGame):
    """Mancala with the true move limit.

    The engine ends matches one move after the limit that it reports (mancala.cc)."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, words: Mancala) -> None:
        super().__init__(spec, params, engine, words)
        self.max_decisions = words.limit


game = make_openspiel_factory("mancala", Mancala, MancalaGame)
