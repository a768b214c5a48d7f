"""The mail world passes the conformance kit."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium.games.protocol import Game
from gymposium_testing import QUICK, GameConformance


class TestMail(GameConformance):
    game = "mail"
    effort = QUICK

    def facts(self, game: Game, seat: int) -> Iterable[str]:
        yield f"{game.params['max_calls']} calls"
        yield "I don't know"
