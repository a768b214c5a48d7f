"""Kuhn and Leduc poker, told as stakes on secret signs."""

from __future__ import annotations

import pyspiel

from gymposium.games.poker.kuhn_poker import KuhnPoker
from gymposium.games.poker.leduc_poker import FIELD, START, LeducPoker
from gymposium_disguises.disguise import Disguise
from gymposium_disguises.speech import Speech, join_words

_HOLD = ("hold", "keep", "rest", "stay")
_PUSH = ("climb", "lift", "push", "step")
_LEAVE = ("drop", "leave", "quit", "yield")


class ThreeSigns(Disguise):
    """The disguise of `kuhn_poker`."""

    def __init__(self, speech: Speech, plain: KuhnPoker, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        self._signs = speech.draw_animals(3)
        hold, push = self._moves = speech.draw.pick(_HOLD), speech.draw.pick(_PUSH)
        self._token = speech.token
        self.set_moves(self._moves)
        (one, other), token, (low, middle, high) = self.sides, speech.token, self._signs
        self.story = (
            f"There are three signs: {high} beats {middle} and {low}, and {middle} beats {low}. {one} and {other} put "
            f"1 {token} each into the middle, and each gets one sign, which only they see; the third stays hidden.\n"
            f"{one} chooses {hold}, or {push}, which puts in 1 {token} more. If one side chose {push}, the other "
            f"answers: {push} puts in 1 {token} too, and the signs are compared; {hold} leaves all {token}s to the "
            f"other. If {one} chose {hold}, {other} chooses as well: {hold} compares the signs, and {push} puts in 1 "
            f"{token}, which {one} then answers in the same way. When the signs are compared, the better one takes all "
            f"{token}s. Your result is the number of {token}s that you win or lose, from -2 to 2.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        view: str = state.information_state_string(seat)
        made = [self._moves["pb".index(move)] for move in view[1:]]
        past = [f"{self.sides[turn % 2]} {move}" for turn, move in enumerate(made)]
        staked = [1 + sum(move == self._moves[1] for move in made[side::2]) for side in (0, 1)]
        middle = join_words([f"{number} of {side}" for side, number in zip(self.sides, staked)])
        return [
            f"your sign: {self._signs[int(view[0])]}",
            f"so far: {join_words(past)}",
            f"{self._token}s in the middle: {middle}",
        ]


class TwoRounds(Disguise):
    """The disguise of `leduc_poker`."""

    def __init__(self, speech: Speech, plain: LeducPoker, engine: pyspiel.Game) -> None:
        super().__init__(speech, plain)
        self._ranks = low, middle, high = speech.draw_animals(3)
        self._signs = [f"{rank}-{copy}" for rank in self._ranks for copy in (1, 2)]
        leave, hold, push = (speech.draw.pick(words) for words in (_LEAVE, _HOLD, _PUSH))
        self._moves = (leave, hold, push)
        self.set_moves(self._moves)
        self._token = token = speech.token
        one, other = self.sides
        self.story = (
            f"There are six signs, two of each kind: {join_words(self._signs)}. {one} and {other} put 1 {token} "
            f"each into "
            f"the middle, and each gets one sign, which only they see. After a first round of choices one more sign is "
            f"shown to both, and a second round follows. {one} begins each round.\n"
            f"{push} brings your {token}s in the middle to 2 more than the other's in the first round, and to 4 more "
            f"in the second; a round has at most two of these, counting both sides. {hold} brings yours to as many as "
            f"the other's, or changes nothing where they are equal. {leave} leaves all {token}s to the other, and is "
            f"allowed only in answer to {push}. A round ends when {push} is answered with {hold}, or both chose "
            f"{hold}.\n"
            f"In the end a sign of the same kind as the shown one wins, otherwise the better kind: {high} beats "
            f"{middle} and {low}, and {middle} beats {low}. Equal kinds share all {token}s. The numbers behind the "
            f"kinds do not matter. Your result is the number of {token}s that you win or lose, from -13 to 13.\n"
        )

    def lines(self, state: pyspiel.State, seat: int) -> list[str]:
        fields = dict(FIELD.findall(state.information_state_string(seat)))
        shown = self._signs[int(fields["Public"])] if "Public" in fields else "not yet"
        lines = [f"your sign: {self._signs[int(fields['Private'])]}", f"shown sign: {shown}"]
        for number in (1, 2):
            made = [self._moves[int(move)] for move in fields[f"Round{number}"].split()]
            past = [f"{self.sides[turn % 2]} {move}" for turn, move in enumerate(made)]
            lines.append(f"round {number}: {join_words(past)}")
        if fields["Pot"] != "0":  # at the end the engine shows results instead of stakes
            money = [START - int(left) for left in fields["Money"].split()]
            middle = join_words([f"{number} of {side}" for side, number in zip(self.sides, money)])
            lines.append(f"{self._token}s in the middle: {middle}")
        return lines
