"""Rules of thumb for single games: what a person who has played a little does. Each says what it knows, and reads it
off the compact prompt that anybody in its seat gets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.reading import READERS, Reader


@dataclass(frozen=True, slots=True)
class ThumbPlayer:
    """Plays one game by one rule."""

    name: str
    game: str
    """The one game that it plays, by name."""
    rule: Callable[[Mapping[str, int]], str]
    """From the numbers in the compact prompt, by the words before them, to the move it would like best."""
    reader: Reader = READERS["move"]
    style: Style = "compact"
    deterministic: bool = True
    repeats: Repeats = "quickly"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def _choose(self, ask: Ask) -> str:
        if ask.game.spec.name != self.game:
            raise GymposiumError(f"{self.name} plays {self.game} and nothing else, so not {ask.game.name}.")
        told = re.findall(r"(?m)^([a-z ]+) (\d+)$", ask.observe("compact").text)
        move = self.rule({words: int(number) for words, number in told})
        legal = ask.legal_moves or []
        return move if move in legal else legal[-1]  # in pig, whoever has enough can only stop


def hold(total: str) -> ThumbPlayer:
    """Pig: roll until the turn is worth so much, then stop. Knows neither the scores nor how near the end is. With a
    die of 6, hold-20 makes most of a turn (Neller and Presser, 2004, Optimal Play of the Dice Game Pig)."""
    most = int(total)
    return ThumbPlayer(f"hold-{most}", "pig", lambda told: "roll" if told["turn total"] < most else "stop")


def match_prize() -> ThumbPlayer:
    """Goofspiel: bid what the prize is worth. It is the best answer to random bids (Ross, 1971, Goofspiel: The Game of
    Pure Strategy), and loses all but one prize to whoever bids one more."""
    return ThumbPlayer("match-prize", "goofspiel", lambda told: f"bid {told['prize']}")


def stand(total: str) -> ThumbPlayer:
    """Blackjack: draw below so much, then stand. stand-17 is what the dealer does; of the dealer's card it knows
    nothing."""
    most = int(total)
    return ThumbPlayer(f"stand-{most}", "blackjack", lambda told: "hit" if told["total"] < most else "stand")
