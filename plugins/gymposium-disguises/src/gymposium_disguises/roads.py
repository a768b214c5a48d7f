"""Nine men's morris, told as places on roads."""

from __future__ import annotations

import re

import pyspiel

from gymposium.games.lines.nine_mens_morris import FLYING, MEN, TURNS, NineMensMorris, parse_view
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import Speech, join_words

_ROADS = (
    "a1 d1 g1, b2 d2 f2, c3 d3 e3, a4 b4 c4, e4 f4 g4, c5 d5 e5, b6 d6 f6, a7 d7 g7, "
    "a1 a4 a7, b2 b4 b6, c3 c4 c5, d1 d2 d3, d5 d6 d7, e3 e4 e5, f2 f4 f6, g1 g4 g7"
).split(", ")
"""Lines of the board, each with its three points in order."""


class Roads(Disguise):
    """The disguise of `nine_mens_morris`."""

    def __init__(self, speech: Speech, plain: NineMensMorris, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        self._morris = plain
        words = speech.draw_plants(len(plain.points))
        self._name = name = dict(zip(plain.points, words))
        pairs = [f"{start} to {end}" for start in words for end in words]
        self.names = [*words, *pairs]
        any_word = "|".join(words)
        self.move_pattern = re.compile(f"(?:{any_word})(?: to (?:{any_word}))?")
        roads = speech.draw.some(_ROADS, len(_ROADS))
        told = [road.split()[:: -1 if speech.draw.chance(0.5) else 1] for road in roads]
        drawn = join_words(["-".join([name[point] for point in road]) for road in told])
        (one, other), place, token = self.sides, speech.place, speech.token
        self.story = (
            f"There are {len(words)} {place}s on {len(roads)} roads, each road with three of them, one after the "
            f"other: {drawn}. Two {place}s that follow each other on a road are neighbours.\n"
            f"{one} and {other} have {MEN} {token}s each and take turns. First each side puts all its {token}s, one a "
            f"turn, on free {place}s. After that a turn moves one {token} of your own to a free neighbour of its "
            f"{place}; with only {FLYING} {token}s left, to any free {place}.\n"
            f"Whoever puts or moves a {token} so that all three {place}s of a road with that {token} hold their own, "
            f"then takes away one {token} of the other from the {place}s, as a second move of the same turn: one that "
            f"is not on a road full of its own side, or any if all are. Two roads filled at once take away one only.\n"
            f"Whoever has only two {token}s left, counting those still to be put, loses; so does whoever must move and "
            f"cannot. After {TURNS} turns, counting those of both, nobody wins, unless the last one decides it.\n"
            f"To put or to take away a {token} is written as its {place}: {words[0]}. A move is written as the {place} "
            f"that it leaves and the {place} that it reaches: {words[0]} to {words[1]}.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        view, player = parse_view(state.observation_string(seat)), state.current_player()
        lines = []
        for side, mark, hand in zip(self.sides, "WB", view.hand):
            places = zip(self._morris.points, self._morris.places)
            held = [self._name[point] for point, (y, x) in places if view.lines[y][x] == mark]
            lines.append(f"{side}: {join_words(held)}; to put: {hand}")
        lines.append(f"turns so far: {view.turns}")
        if player >= 0:
            task = "take one away" if view.removing else "put one" if view.hand[player] else "move one"
            lines.append(f"{self.sides[player]} must {task}.")
        return lines
