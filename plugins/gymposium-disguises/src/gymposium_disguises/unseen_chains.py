"""Dark hex, told as chains of places. Each side sees only its own places."""

from __future__ import annotations

import pyspiel

from gymposium.games.hidden_boards.dark_hex import DarkHex
from gymposium_disguises.chains import explain_ends
from gymposium_disguises.places import BoardDisguise
from gymposium_disguises.speech import Speech, join_words


class UnseenChains(BoardDisguise):
    """`dark_hex` in all its variants."""

    def __init__(self, speech: Speech, plain: DarkHex, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain, plain.names, mirrored=False)
        places, (one, other) = self.places, self.sides
        self._rows = plain.num_rows
        self.names = [places.name[square] for square in plain.names]
        again, counted = plain.gameversion == "cdh", plain.obstype == "reveal-numturns"
        after = "tries another one, until one is free" if again else "has lost this turn"
        told = "You are told each time that the other tries one, not which one." if counted else ""
        if again and not counted:
            told = "You are not told how often the other tries."
        self.story = (
            f"{places.naming} {places.explain_touching(other_way=True)}\n"
            f"{one} and {other} take turns to try a {places.place}. If it is free, they put a {places.token} of their "
            f"own there, which stays. If the other has it, the one who tried is told so, and {after}; the other is "
            f"told nothing. You do not see where the other's {places.token}s are. {told}\n"
            f"{places.token.capitalize()}s of one side on {places.place}s that touch, one after the other, are a "
            f"chain. {explain_ends(places, self.sides)} One of the two always succeeds. A move is the {places.place}. "
            f"In the list of tries, ! means that the other had it{', ? is a try of the other' if counted else ''}.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        view: list[str] = state.information_state_string(seat).split("\n")
        cells, mark = "".join(view[: self._rows]), "xo"[seat]
        tries = [turn.partition(",")[2] for turn in view[-1].split()]
        names = self.names or ()
        tried = [t if t == "?" else names[int(t)] + "!" * (cells[int(t)] != mark) for t in tries]
        return [*self.list_held(cells, "xo"), f"tried: {join_words(tried)}"]
