"""The base of games that repeat a round: all seats speak, then all decide at the same time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gymposium.games.pictures import Picture, draw_note, draw_table
from gymposium.games.rules import Event, Style
from gymposium.util.visible import quantity
from gymposium_talk.speech import NOTE, clean_speech, name_seat, quote_speech


class Round(NamedTuple):
    """One round so far."""

    speeches: tuple[tuple[str, ...], ...] = ()
    """What each seat said, message by message."""
    choices: tuple[str, ...] = ()
    """The decision of each seat; empty before it is made."""


class RepeatedGame(ABC):
    """Rules of a game of `rounds` rounds. In each, all seats speak `messages` times, then decide together.

    The return of a seat is the mean of its payoffs over the rounds."""

    moves = None
    name: str
    options: Sequence[str]
    """The decisions."""
    lowest: float
    highest: float
    """Bounds of a payoff."""

    def __init__(self, players: int, rounds: int, messages: int) -> None:
        self.players, self.rounds_in_all, self.messages = players, rounds, messages
        self.max_decisions = players * rounds * (messages + 1)
        self.utility_range = (self.lowest, self.highest)

    @abstractmethod
    def pay(self, choices: Sequence[str]) -> tuple[float, ...]:
        """Return each seat's payoff of one round."""

    @abstractmethod
    def explain(self) -> str:
        """Return the rules of one round's decisions and payoffs, as sentences."""

    def start(self) -> tuple[Round, ...]:
        return (Round(),)

    def to_move(self, rounds: tuple[Round, ...]) -> tuple[int, ...]:
        return () if rounds[-1].choices else tuple(range(self.players))

    def legal_moves(self, rounds: tuple[Round, ...], seat: int) -> Sequence[str] | None:
        return None if len(rounds[-1].speeches) < self.messages else self.options

    def play(self, rounds: tuple[Round, ...], moves: Mapping[int, str]) -> tuple[Round, ...]:
        now, said = rounds[-1], tuple(moves[seat] for seat in range(self.players))
        if len(now.speeches) < self.messages:
            return (*rounds[:-1], now._replace(speeches=(*now.speeches, tuple(map(clean_speech, said)))))
        after = (*rounds[:-1], now._replace(choices=said))
        return after if len(after) == self.rounds_in_all else (*after, Round())

    def returns(self, rounds: tuple[Round, ...]) -> tuple[float, ...]:
        paid = [self.pay(one.choices) for one in rounds if one.choices]
        return tuple(sum(some) / self.rounds_in_all for some in zip(*paid, strict=True)) or (0.0,) * self.players

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return (
                f"{self.name}, {self.players} players, {quantity(self.rounds_in_all, 'round')}, "
                f"{quantity(self.messages, 'message')} each, you are player {seat + 1}\n"
            )
        talk = f"everybody first sends {quantity(self.messages, 'message')} to all, then " if self.messages else ""
        return (
            f"{self.explain()} There are {self.players} players and {quantity(self.rounds_in_all, 'round')}. In each "
            f"round {talk}all decide at the same time. Your return is your mean payoff per round.\n"
            f"{NOTE if self.messages else ''}You are player {seat + 1}.\n"
        )

    def position(self, rounds: tuple[Round, ...], seat: int, style: Style) -> str:
        lines: list[str] = []
        for number, one in enumerate(rounds, start=1):
            lines.append(f"Round {number} of {self.rounds_in_all}.\n")
            for said in one.speeches:
                lines += [quote_speech(name_seat(other, seat), text) for other, text in enumerate(said)]
            if one.choices:
                paid = self.pay(one.choices)
                lines += [
                    f"{name_seat(other, seat)} chose {choice} and got {paid[other]:g}.\n"
                    for other, choice in enumerate(one.choices)
                ]
        if self.to_move(rounds):
            lines.append("Now speak.\n" if len(rounds[-1].speeches) < self.messages else "Now decide.\n")
        return "".join(lines)

    def draw_picture(self, rounds: tuple[Round, ...], seat: int, events: Sequence[Event]) -> Picture:
        names = [f"player {other + 1}" for other in range(self.players)]
        parts, told = [], []
        for number, one in enumerate(rounds, start=1):
            rows = [[f"“{text}”" for text in said] for said in one.speeches]
            if one.choices:
                rows.append([f"{choice}: {paid:g}" for choice, paid in zip(one.choices, self.pay(one.choices))])
            parts += [draw_note(f"Round {number}"), draw_table(rows, head=names)]
            told.append(f"round {number}: {'; '.join(', '.join(row) for row in rows) or 'begins'}")
        return Picture.from_parts(*parts, told=". ".join(told))
