"""Players that follow a rule of thumb in one game, like a person with little experience.

They read the numbers they need from the compact prompt, as any player in the seat could.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.plugins.specs import DISGUISE
from gymposium.replies.reading import READERS, Reader


@dataclass(frozen=True, slots=True)
class ThumbPlayer:
    """A player that follows one rule in one game."""

    name: str
    game: str
    """Name of the game."""
    rule: Callable[[Mapping[str, int]], str]
    """Function that returns the preferred move.

    Its argument holds the compact prompt's numbers, keyed by the word before each."""
    reader: Reader = READERS["move"]
    style: Style = "compact"
    deterministic: bool = True
    repeats: Repeats = "quickly"

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` unless this is the player's game. A disguised version is rejected too."""
        if game.spec.name != self.game or game.params.get(DISGUISE.name):
            raise BadOption(f"{self.name} plays only {self.game}, not {game.name}. Choose another player.")

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def _choose(self, ask: Ask) -> str:
        self.check_game(ask.game)
        numbers = re.findall(r"(?m)^([a-z ]+) (\d+)$", ask.observe("compact").text)
        move = self.rule({words: int(number) for words, number in numbers})
        legal = ask.legal_moves or []
        return move if move in legal else legal[-1]  # in pig, a player with enough points can only stop


def make_hold_player(total: str) -> ThumbPlayer:
    """Return a pig player that rolls until its turn is worth `total`, then stops.

    It ignores the scores. With a six-sided die, hold-20 has the highest mean turn score (Neller and Presser, 2004,
    Optimal Play of the Dice Game Pig)."""
    most = int(total)
    return ThumbPlayer(f"hold-{most}", "pig", lambda numbers: "roll" if numbers["turn total"] < most else "stop")


def match_prize() -> ThumbPlayer:
    """Return a goofspiel player that bids the prize's value.

    This is the best response to random bids (Ross, 1971, Goofspiel: The Game of Pure Strategy). It loses all prizes but
    one to a player that always bids one more."""
    return ThumbPlayer("match-prize", "goofspiel", lambda numbers: f"bid {numbers['prize']}")


def make_stand_player(total: str) -> ThumbPlayer:
    """Return a blackjack player that draws below `total`, then stands.

    It ignores the dealer's card. The dealer plays like stand-17."""
    most = int(total)
    return ThumbPlayer(f"stand-{most}", "blackjack", lambda numbers: "hit" if numbers["total"] < most else "stand")
