"""Bandits: pull arms whose payoffs are unknown, for the highest sum."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from gymposium.errors import BadParameter
from gymposium.games.pictures import Picture, draw_note, draw_table
from gymposium.games.rules import CHANCE, Event, Style, make_game_factory
from gymposium.util.streams import Draw, draw_outcome
from gymposium.util.visible import quantity

ARMS = "abcdefghij"
SURE, RISKY = 0.1, 0.25
"""What the sure arm pays, and the probability that the risky arm pays 1."""
CHANCES = tuple(percent / 100 for percent in range(10, 100, 10))
"""The equally likely probabilities that a drawn arm pays 1."""

NO_PULL = "No pull yet.\n"


class Pulls(NamedTuple):
    """A position."""

    hidden: tuple[float, ...]
    """Probability that each drawn arm pays 1; with a sure arm, 1 for it."""
    made: tuple[tuple[int, float], ...]
    """The arm of each pull, and what it paid."""
    pulled: int | None
    """The arm whose payoff chance decides."""


class Bandit:
    """Rules of bandits. The kind `sure` has an arm that always pays 0.1 and one that pays 1 with probability 0.25."""

    def __init__(self, kind: Literal["drawn", "sure"], arms: int, pulls: int) -> None:
        if kind == "sure" and arms != 2:
            raise BadParameter(f"arms={arms}: kind=sure has 2 arms.")
        self.kind, self.arms = kind, arms
        self.turns = self.max_decisions = pulls
        self.moves = tuple(f"pull {arm}" for arm in ARMS[:arms])
        self.utility_range = (0.0, float(pulls))

    def start(self) -> Pulls:
        return Pulls((), (), None)

    def to_move(self, pulls: Pulls) -> tuple[int, ...]:
        if len(pulls.hidden) < self.arms or pulls.pulled is not None:
            return (CHANCE,)
        return () if len(pulls.made) >= self.turns else (0,)

    def chance(self, pulls: Pulls) -> Mapping[str, float]:
        if pulls.pulled is not None:
            chance = pulls.hidden[pulls.pulled]
            return {"1": chance, "0": 1.0 - chance}
        if self.kind == "sure":
            return dict.fromkeys((f"{arm} is sure" for arm in ARMS[: self.arms]), 1.0)
        return {f"{chance:g}": 1.0 for chance in CHANCES}

    def legal_moves(self, pulls: Pulls, seat: int) -> Sequence[str]:
        return self.moves

    def play(self, pulls: Pulls, moves: Mapping[int, str]) -> Pulls:
        if CHANCE not in moves:
            arm = self.moves.index(moves[0])
            if self._is_sure(pulls.hidden, arm):
                return pulls._replace(made=(*pulls.made, (arm, SURE)))
            return pulls._replace(pulled=arm)
        outcome = moves[CHANCE]
        if pulls.pulled is not None:
            return pulls._replace(made=(*pulls.made, (pulls.pulled, float(outcome))), pulled=None)
        if self.kind == "sure":
            return pulls._replace(hidden=tuple(1.0 if arm == outcome[0] else RISKY for arm in ARMS[: self.arms]))
        return pulls._replace(hidden=(*pulls.hidden, float(outcome)))

    def returns(self, pulls: Pulls) -> tuple[float, ...]:
        return (sum(paid for _, paid in pulls.made),)

    def solve(self, pulls: Pulls) -> str:
        """Return the pull with the best sum of its mean and, for all later pulls, the best mean after it."""
        later = self.turns - len(pulls.made) - 1
        return self.moves[max(range(self.arms), key=lambda arm: self._value_pull(pulls.made, arm, later))]

    def rules(self, seat: int, style: Style) -> str:
        many = quantity(self.turns, "pull")
        if style == "compact":
            return f"bandit of the kind {self.kind}, {self.arms} arms, {many}\n"
        payoffs = (
            f"One of them always pays {SURE:g}. The other pays 1 with probability {RISKY:g}, otherwise 0. You do not "
            "know which is which."
            if self.kind == "sure"
            else f"Each pays 1 with its own probability, otherwise 0. The probabilities are unknown: each is one of "
            f"{CHANCES[0]:g}, {CHANCES[1]:g}, … {CHANCES[-1]:g}, all equally likely."
        )
        return f"A slot machine with {self.arms} arms. {payoffs} Your score is the sum of {many}.\n"

    def position(self, pulls: Pulls, seat: int, style: Style) -> str:
        left = self.turns - len(pulls.made)
        paid = "".join(f"{ARMS[arm]} paid {paid:g}\n" for arm, paid in pulls.made)
        if style == "compact":
            return f"{paid}left {left}\n"
        return f"{paid or NO_PULL}Pulls left: {left}.\n"

    def view(self, pulls: Pulls, seat: int) -> str:
        return repr(pulls.made)

    def resample(self, events: Sequence[Event], seat: int, rng: random.Random) -> Sequence[Event]:
        pulls = self.start()
        for event in events:
            pulls = self.play(pulls, {event.seat: event.move})
        draw = Draw(rng)
        if self.kind == "sure":
            if pulls.made:  # one pull shows which arm is sure
                return events
            return (Event(CHANCE, f"{draw.pick(ARMS[: self.arms])} is sure"),)
        drawn = [draw_outcome(list(enumerate(_weigh_chances(pulls.made, arm))), rng) for arm in range(self.arms)]
        return (*(Event(CHANCE, f"{CHANCES[one]:g}") for one in drawn), *events[self.arms :])

    def draw_picture(self, pulls: Pulls, seat: int, events: Sequence[Event]) -> Picture:
        rows = []
        for arm in range(self.arms):
            paid = [one for which, one in pulls.made if which == arm]
            rows.append([ARMS[arm], str(len(paid)), f"{sum(paid):g}"])
        told = "; ".join(f"arm {arm}: {count} pulls, {paid} in all" for arm, count, paid in rows)
        note = draw_note(f"Pulls left: {self.turns - len(pulls.made)}")
        return Picture.from_parts(draw_table(rows, head=("arm", "pulls", "paid")), note, told=told)

    def _is_sure(self, hidden: Sequence[float], arm: int) -> bool:
        return self.kind == "sure" and hidden[arm] == 1.0

    def _list_means(self, made: Sequence[tuple[int, float]]) -> list[float]:
        """Return the mean payoff of each arm, given these pulls."""
        if self.kind == "drawn":
            return [
                sum(weight * chance for weight, chance in zip(_weigh_chances(made, arm), CHANCES, strict=True))
                for arm in range(self.arms)
            ]
        if not made:
            return [(SURE + RISKY) / 2] * self.arms
        arm, paid = made[0]
        sure = arm if paid == SURE else 1 - arm
        return [SURE if one == sure else RISKY for one in range(self.arms)]

    def _value_pull(self, made: tuple[tuple[int, float], ...], arm: int, later: int) -> float:
        mean = self._list_means(made)[arm]
        if self.kind == "sure":
            return mean + later * RISKY  # any pull shows which arm is which
        after = [max(self._list_means((*made, (arm, paid)))) for paid in (0.0, 1.0)]
        return mean + later * ((1.0 - mean) * after[0] + mean * after[1])


def _weigh_chances(made: Sequence[tuple[int, float]], arm: int) -> list[float]:
    """Return the posterior probability of each of `CHANCES` for a drawn arm."""
    paid = [one for which, one in made if which == arm]
    weights = [chance ** sum(paid) * (1.0 - chance) ** (len(paid) - sum(paid)) for chance in CHANCES]
    return [weight / sum(weights) for weight in weights]


game = make_game_factory(Bandit)
