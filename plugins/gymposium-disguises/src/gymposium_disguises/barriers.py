"""The Game of the Amazons, told as moving and putting up barriers."""

from __future__ import annotations

import pyspiel

from gymposium.games.territory.amazons import Amazons, get_chosen_squares
from gymposium_disguises.places import BoardDisguise
from gymposium_disguises.speech import Speech


class Barriers(BoardDisguise):
    """`amazons` on a board of any size."""

    def __init__(self, speech: Speech, plain: Amazons, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, plain.names)
        places, (one, other) = self.places, self.sides
        place, token = places.place, places.token
        self.names = [places.name[square] for square in plain.names]
        self.story = (
            f"{places.naming} {places.straight}\n"
            f"{one} and {other} take turns. A turn has three steps, each a move of its own. Step 1: choose one {token} "
            f"of yours that can move. Step 2: move it along a straight path, as far as you like; every {place} on the "
            f"way and the last one must be free. Step 3: from where it now stands, choose a {place} that it could "
            f"reach in the same way (the one that it has just left is free too). That {place} is closed for the rest "
            f"of the match: nothing goes there or across. Nothing is ever taken away. Whoever is to begin a turn and "
            f"has no {token} that can move loses. A move is one {place}: where the {token} stands, then where it goes, "
            f"then which one is closed.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        cells: str = state.observation_string(seat).replace("\n", "")
        player, chosen = state.current_player(), get_chosen_squares(state)
        if len(chosen) == 1:  # the engine already shows the place of the chosen piece as free
            cells = f"{cells[: chosen[0]]}{'XO'[player]}{cells[chosen[0] + 1 :]}"
        closed = [square for square, cell in zip(self._squares, cells) if cell == "#"]
        lines = [*self.list_held(cells, "XO"), f"closed: {self.places.group_places(closed)}"]
        if player >= 0:
            so_far = " ".join([(self.names or ())[action] for action in chosen])
            lines.append(f"step {len(chosen) + 1} of {self.sides[player]}; chosen in this turn: {so_far or 'none'}")
        return lines
