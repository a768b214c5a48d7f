"""Social dilemmas with talk: the prisoner's dilemma for two and three players, the stag hunt and public goods."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.games.rules import make_game_factory
from gymposium_talk.rounds import RepeatedGame

COOPERATE, DEFECT = "cooperate", "defect"
_PAYOFFS = {(COOPERATE, COOPERATE): 3.0, (COOPERATE, DEFECT): 0.0, (DEFECT, COOPERATE): 5.0, (DEFECT, DEFECT): 1.0}
STAG, HARE = "stag", "hare"


class PrisonersDilemma(RepeatedGame):
    """Rules of the iterated prisoner's dilemma."""

    name = "prisoner's dilemma"
    options = (COOPERATE, DEFECT)
    lowest, highest = 0.0, 5.0

    def __init__(self, rounds: int, messages: int) -> None:
        super().__init__(2, rounds, messages)

    def pay(self, choices: Sequence[str]) -> tuple[float, ...]:
        one, other = choices
        return _PAYOFFS[one, other], _PAYOFFS[other, one]

    def explain(self) -> str:
        return (
            f"The prisoner's dilemma. If both cooperate, each gets {_PAYOFFS[COOPERATE, COOPERATE]:g}. If both defect, "
            f"each gets {_PAYOFFS[DEFECT, DEFECT]:g}. If one defects, that player gets {_PAYOFFS[DEFECT, COOPERATE]:g} "
            f"and the other {_PAYOFFS[COOPERATE, DEFECT]:g}."
        )


class ThreePlayerDilemma(RepeatedGame):
    """Rules of the prisoner's dilemma for three: one choice holds against both others."""

    name = "three-player dilemma"
    options = (COOPERATE, DEFECT)
    lowest, highest = 0.0, 10.0

    def __init__(self, rounds: int, messages: int) -> None:
        super().__init__(3, rounds, messages)

    def pay(self, choices: Sequence[str]) -> tuple[float, ...]:
        return tuple(
            sum(_PAYOFFS[one, other] for place, other in enumerate(choices) if place != seat)
            for seat, one in enumerate(choices)
        )

    def explain(self) -> str:
        return (
            f"The prisoner's dilemma for three players. Your choice holds against both others, and your payoff is the "
            f"sum over both. Against one of them: if both of you cooperate, each gets "
            f"{_PAYOFFS[COOPERATE, COOPERATE]:g}. If both defect, each gets {_PAYOFFS[DEFECT, DEFECT]:g}. If one "
            f"defects, that player gets {_PAYOFFS[DEFECT, COOPERATE]:g} and the other "
            f"{_PAYOFFS[COOPERATE, DEFECT]:g}."
        )


class StagHunt(RepeatedGame):
    """Rules of the stag hunt: everybody is needed for the stag, and nobody for a hare."""

    name = "stag hunt"
    options = (STAG, HARE)
    lowest, highest = 0.0, 4.0

    def pay(self, choices: Sequence[str]) -> tuple[float, ...]:
        caught = 4.0 if all(choice == STAG for choice in choices) else 0.0
        return tuple(caught if choice == STAG else 2.0 for choice in choices)

    def explain(self) -> str:
        return "The stag hunt. If all hunt the stag, each gets 4, otherwise hunting it pays 0. Hunting a hare pays 2."


class PublicGoods(RepeatedGame):
    """Rules of the public goods game: contributions grow and are shared equally."""

    name = "public goods"
    endowment = 10
    options = tuple(str(amount) for amount in range(0, endowment + 1, 2))

    def __init__(self, players: int, rounds: int, messages: int, factor: float) -> None:
        self.factor = factor
        self.lowest = factor * self.endowment / players
        self.highest = self.endowment + factor * self.endowment * (players - 1) / players
        self.lowest, self.highest = min(self.lowest, self.endowment), max(self.highest, factor * self.endowment)
        super().__init__(players, rounds, messages)

    def pay(self, choices: Sequence[str]) -> tuple[float, ...]:
        given = [int(choice) for choice in choices]
        share = self.factor * sum(given) / len(given)
        return tuple(self.endowment - one + share for one in given)

    def explain(self) -> str:
        return (
            f"Public goods. Each player gets {self.endowment} coins per round and gives some of them to the public. "
            f"All that is given is multiplied by {self.factor:g} and shared equally. Your payoff is what you keep and "
            "your share."
        )


prisoners_dilemma = make_game_factory(PrisonersDilemma)
three_player_dilemma = make_game_factory(ThreePlayerDilemma)
stag_hunt = make_game_factory(StagHunt)
public_goods = make_game_factory(PublicGoods)
