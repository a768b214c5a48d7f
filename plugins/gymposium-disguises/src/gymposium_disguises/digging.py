"""Pig, told as digging in a shaft that may fall in."""

from __future__ import annotations

import pyspiel

from gymposium.games.dice.pig import VIEW, Pig, count_decisions
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import Speech, join_words

_MORE = ("dig", "dive", "fish")
_HOME = ("leave", "rest", "return")


class Digging(Disguise):
    """`pig` with two players."""

    def __init__(self, speech: Speech, plain: Pig, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        more, home = speech.draw.pick(_MORE), speech.draw.pick(_HOME)
        self.set_moves((more, home))
        self._last = plain.horizon
        self._token = token = speech.token
        (one, other), sides = self.sides, plain.diceoutcomes
        found = "2" if sides == 2 else f"from 2 to {sides}"
        self.story = (
            f"{one} and {other} collect {token}s; whoever first has {plain.winscore} in store wins. In your turn you "
            f"{more} as often as you like. Each time, with probability 1/{sides}, all {token}s of this turn are lost "
            f"and the turn ends; otherwise you find {found} {token}s, each number equally likely. {home} ends the turn "
            f"and brings its {token}s into your store. As soon as both together are {plain.winscore} or more, {home} "
            f"is the only move. After {self._last} moves, counting both sides', nobody wins.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        view = VIEW.match(state.observation_string(seat))
        assert view is not None, "the engine's view of pig has changed"
        player = state.current_player()
        store = join_words([f"{side} {number}" for side, number in zip(self.sides, (view[1], view[2]))])
        lines = [f"{self._token}s in store: {store}", f"moves made: {count_decisions(state)} of {self._last}"]
        turn = "the last turn" if player < 0 else f"the turn of {self.sides[player]}"
        return [*lines, f"{self._token}s of {turn}: {view[3]}"]
