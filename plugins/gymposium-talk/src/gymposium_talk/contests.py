"""Zero-sum contests with talk: rock, paper, scissors and Colonel Blotto. Words can only mislead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gymposium.games.rules import make_game_factory
from gymposium_talk.rounds import RepeatedGame, Round

_BEATS = {"rock": "scissors", "paper": "rock", "scissors": "paper"}


class RockPaperScissors(RepeatedGame):
    """Rules of repeated rock, paper, scissors."""

    name = "rock, paper, scissors"
    options = tuple(_BEATS)
    lowest, highest = -1.0, 1.0

    def __init__(self, rounds: int, messages: int) -> None:
        super().__init__(2, rounds, messages)

    def pay(self, choices: Sequence[str]) -> tuple[float, ...]:
        one, other = choices
        won = float((_BEATS[one] == other) - (_BEATS[other] == one))
        return won, -won

    def explain(self) -> str:
        beats = ", ".join(f"{one} beats {other}" for one, other in _BEATS.items())
        return f"Rock, paper, scissors: {beats}. The winner of a round gets 1 and the loser -1. Equal choices get 0."


class Blotto(RepeatedGame):
    """Rules of Colonel Blotto: whoever sends more soldiers to a field wins it, and most fields win the round."""

    name = "Colonel Blotto"
    lowest, highest = -1.0, 1.0

    def __init__(self, coins: int, fields: int, rounds: int, messages: int) -> None:
        self.coins, self.fields = coins, fields
        self.options = tuple(" ".join(map(str, split)) for split in _list_splits(coins, fields))
        super().__init__(2, rounds, messages)

    def pay(self, choices: Sequence[str]) -> tuple[float, ...]:
        pairs = zip(*[map(int, choice.split()) for choice in choices], strict=True)
        ahead = sum((one > other) - (one < other) for one, other in pairs)
        won = float((ahead > 0) - (ahead < 0))
        return won, -won

    def explain(self) -> str:
        return (
            f"Colonel Blotto. Each player divides {self.coins} soldiers among {self.fields} fields. A field falls to "
            f"the player who sends more soldiers there, and to nobody if both send as many. The player with more "
            f"fields wins the round and gets 1, and the other gets -1. With as many fields, both get 0."
        )

    def move_form(self, rounds: tuple[Round, ...], seat: int) -> str:
        """Return what an allocation looks like. There are too many to list."""
        share, rest = divmod(self.coins, self.fields)
        example = " ".join(str(share + (field < rest)) for field in range(self.fields))
        return f"{self.fields} numbers that add up to {self.coins}, the soldiers on each field, like {example}"


def _list_splits(coins: int, fields: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to divide the coins among the fields, in ascending order."""
    if fields == 1:
        yield (coins,)
        return
    for first in range(coins + 1):
        for rest in _list_splits(coins - first, fields - 1):
            yield (first, *rest)


rock_paper_scissors = make_game_factory(RockPaperScissors)
blotto = make_game_factory(Blotto)
