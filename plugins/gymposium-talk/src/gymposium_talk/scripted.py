"""Players that talk and decide by a script."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Ask, Repeats, Reply
from gymposium.plugins.specs import DISGUISE
from gymposium.replies.reading import READERS, Reader
from gymposium_talk.dilemmas import COOPERATE, DEFECT, HARE, STAG, PublicGoods

Script = Callable[[Ask], str]
"""A function that returns what a seat says or decides. It reads the compact prompt, as any player could."""


@dataclass(frozen=True, slots=True)
class ScriptedPlayer:
    """A player with one script per game."""

    name: str
    scripts: Mapping[str, Script]
    reader: Reader = READERS["move"]
    style: Style = "compact"
    deterministic: bool = True
    repeats: Repeats = "quickly"

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` for a game without a script. A disguised version is rejected too."""
        if game.spec.name not in self.scripts or game.params.get(DISGUISE.name):
            games = ", ".join(self.scripts)
            raise BadOption(f"{self.name} plays {games}, not {game.name}. Choose another player.")

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose(ask)) for ask in asks]

    def _choose(self, ask: Ask) -> str:
        self.check_game(ask.game)
        return self.scripts[ask.game.spec.name](ask)


_CHOICE = re.compile(r"(?m)^Player \d+ chose (\S+) and got")
"""Another player's choice. A speech never looks like this, because its line continues with a colon."""


def make_tit_for_tat() -> ScriptedPlayer:
    """Return a player that begins kindly and then answers in kind. It announces its next choice and keeps its word.

    With several others, it cooperates only after a round in which all others did. In public goods, it gives the others'
    mean gift, rounded down to a gift that is allowed."""
    return ScriptedPlayer(
        "tit-for-tat",
        {
            "prisoners_dilemma": _answer_in_kind(_cooperate_with_cooperators),
            "three_player_dilemma": _answer_in_kind(_cooperate_with_cooperators),
            "stag_hunt": _answer_in_kind(lambda last: STAG if set(last) <= {STAG} else HARE),
            "public_goods": _answer_in_kind(_match_gifts),
        },
    )


def _answer_in_kind(rule: Callable[[Sequence[str]], str]) -> Script:
    def script(ask: Ask) -> str:
        choice = rule(_CHOICE.findall(ask.observe("compact").text)[1 - ask.game.seats :])
        return f"I will choose {choice}. I answer others in kind." if ask.legal_moves is None else choice

    return script


def _cooperate_with_cooperators(last: Sequence[str]) -> str:
    return COOPERATE if set(last) <= {COOPERATE} else DEFECT


def _match_gifts(last: Sequence[str]) -> str:
    gifts = [int(gift) for gift in last]
    mean = sum(gifts) / len(gifts) if gifts else PublicGoods.endowment
    return max((gift for gift in PublicGoods.options if int(gift) <= mean), key=int)
