"""Nothing that a player sees reveals the seed of the match."""

from __future__ import annotations

import re
from collections.abc import Sequence

import gymnasium

from gymposium import load_game, make_player
from gymposium.games.protocol import Style
from gymposium.match import MatchJob, play
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS, Reader


class DealGuesser:
    """A player that guesses the deal from everything in an ask: its seed and the id of its match."""

    name = "rebuilds"
    reader: Reader = READERS["move"]
    style: Style = "compact"

    def __init__(self) -> None:
        self.guesses: list[set[tuple[str, ...]]] = []

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        for ask in asks:
            if ask.turn == 0:
                numbers = [ask.seed, *map(int, re.findall(r"\d+", ask.key))]
                deals = [ask.game.new(number).events for number in numbers]
                self.guesses.append({tuple(event.move for event in deal) for deal in deals})
        return [Reply(ask.legal_moves[0]) for ask in asks if ask.legal_moves]


def test_deal_cannot_be_reconstructed_from_an_ask() -> None:
    """In environments, and in matches without a separate seed for the players."""
    game, spy = load_game("kuhn_poker"), DealGuesser()
    env = gymnasium.make("TextKuhnPoker-v0", opponent=spy, seat=1)
    deals = []
    for seed in range(1000, 1030):
        env.reset(seed=seed)
        deals.append(tuple(event.move for event in game.new(seed).events))
    env.close()
    assert sum(deal in guess for deal, guess in zip(deals, spy.guesses, strict=True)) < 15

    spy = DealGuesser()
    played = list(play(MatchJob(f"m-{chr(97 + i)}", game, [spy, make_player("random")], i) for i in range(25)))
    deals = [tuple(event.move for event in game.new(one.job.seed).events) for one in played]
    assert sum(deal in guess for deal, guess in zip(deals, spy.guesses, strict=True)) < 15
