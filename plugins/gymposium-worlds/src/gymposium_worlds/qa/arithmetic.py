"""Arithmetic questions, and the player that answers them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Literal

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Ask, Repeats, Reply, check_only_game
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks.questions import Question
from gymposium.util.streams import stream

Split = Literal["train", "test"]

OPERATIONS: dict[str, tuple[str, ...]] = {
    "add": ("+",),
    "add_subtract": ("+", "-"),
    "add_subtract_multiply": ("+", "-", "*"),
}
_COMPUTE: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_TEST_SHARE = 0.1
"""Share of number pairs reserved for the split `test`."""
_SUM = re.compile(r"(\d+) ([-+*]) (\d+) =")


class Arithmetic:
    """Questions such as `17 + 25 =`. A question's text determines its split, so the splits have no question in
    common."""

    def __init__(self, digits: int, operations: str, split: str) -> None:
        """Prepare the questions of a split. `digits` is the maximum number of digits per number."""
        self._limit, self._signs, self._split = 10**digits, OPERATIONS[operations], split
        signs = " or ".join(self._signs)
        self.about = f"It is arithmetic: two numbers from 0 to {self._limit - 1}, with {signs} ({split} questions).\n"

    def draw(self, seed: int) -> Question:
        """Return the question for a seed."""
        rng = stream(seed, "arithmetic")
        while True:
            one, other = (int(rng.random() * self._limit) for _ in range(2))
            sign = self._signs[int(rng.random() * len(self._signs))]
            question = f"{one} {sign} {other} ="
            if find_split(question) == self._split:
                return Question(question, str(_COMPUTE[sign](one, other)), "numeric")


def find_split(question: str) -> Split:
    """Return the split of a question."""
    digest = int.from_bytes(blake2b(question.encode(), digest_size=4).digest())
    return "test" if digest < _TEST_SHARE * 2**32 else "train"


class ArithmeticPlayer:
    """A player that computes the answers to the arithmetic questions in `qa`."""

    name = "arithmetic"
    reader: Reader = READERS["move"]
    style: Style = "compact"
    repeats: Repeats = "quickly"
    deterministic = True

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` for any game but `qa`."""
        check_only_game(self.name, "qa", game)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._answer(ask)) for ask in asks]

    def _answer(self, ask: Ask) -> str:
        found = _SUM.search(ask.observe("compact").text)
        if found is None:
            raise GymposiumError(
                f"{self.name} answers only arithmetic questions, so it cannot play {ask.game.name}. Choose another "
                "player."
            )
        return str(_COMPUTE[found[2]](int(found[1]), int(found[3])))
