"""The ultimatum game with talk: one offer, or haggling over a pie that shrinks with each refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gymposium.games.pictures import Picture, draw_note, draw_table
from gymposium.games.rules import Event, Style, make_game_factory
from gymposium.util.visible import quantity
from gymposium_talk.speech import NOTE, clean_speech, name_seat, quote_speech

ACCEPT, REJECT = "accept", "reject"


class Offer(NamedTuple):
    """One offer with what was said before it."""

    speeches: tuple[str, ...] = ()
    """What was said, by the proposer and the other in turn."""
    given: int | None = None
    """The coins for the other player; None before the offer."""
    answer: str = ""
    """`accept`, `reject` or "" before the answer."""


class Ultimatum:
    """Rules of the ultimatum game. The proposer is player 1 in the first round, then player 2, and so on in turn."""

    moves = None

    def __init__(self, pie: int, rounds: int, shrink: float, messages: int) -> None:
        self.pie, self.rounds_in_all, self.shrink, self.messages = pie, rounds, shrink, messages
        self.max_decisions = rounds * (2 * messages + 2)
        self.utility_range = (0.0, float(pie))
        self.offers = tuple(f"give {coins}" for coins in range(pie + 1))

    def start(self) -> tuple[Offer, ...]:
        return (Offer(),)

    def to_move(self, offers: tuple[Offer, ...]) -> tuple[int, ...]:
        proposer, now = (len(offers) - 1) % 2, offers[-1]
        if now.answer:
            return ()
        if now.given is not None:
            return (1 - proposer,)
        return (proposer,) if len(now.speeches) % 2 == 0 else (1 - proposer,)

    def legal_moves(self, offers: tuple[Offer, ...], seat: int) -> Sequence[str] | None:
        now = offers[-1]
        if len(now.speeches) < 2 * self.messages:
            return None
        return self.offers if now.given is None else (ACCEPT, REJECT)

    def play(self, offers: tuple[Offer, ...], moves: Mapping[int, str]) -> tuple[Offer, ...]:
        now, [move] = offers[-1], moves.values()
        if len(now.speeches) < 2 * self.messages:
            return (*offers[:-1], now._replace(speeches=(*now.speeches, clean_speech(move))))
        if now.given is None:
            return (*offers[:-1], now._replace(given=int(move.removeprefix("give "))))
        after = (*offers[:-1], now._replace(answer=move))
        return after if move == ACCEPT or len(after) == self.rounds_in_all else (*after, Offer())

    def returns(self, offers: tuple[Offer, ...]) -> tuple[float, ...]:
        now, number = offers[-1], len(offers) - 1
        if now.answer != ACCEPT or now.given is None:
            return (0.0, 0.0)
        worth = self.shrink**number
        shares = ((self.pie - now.given) * worth, now.given * worth)
        return shares if number % 2 == 0 else shares[::-1]

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            return (
                f"ultimatum, pie {self.pie}, {quantity(self.rounds_in_all, 'round')}, shrinks to {self.shrink:g}, "
                f"{quantity(self.messages, 'message')} each, you are player {seat + 1}\n"
            )
        half = self.pie // 2
        talk = (
            f"Before each offer, the players speak in turn, the proposer first, "
            f"{quantity(self.messages, 'message')} each. "
            if self.messages
            else ""
        )
        return (
            f"The ultimatum game. Player 1 proposes how to divide {quantity(self.pie, 'coin')}: give {half} offers "
            f"{half} to the other player and keeps the rest. The other player accepts, and both get their coins, or "
            "rejects. "
            f"{self._describe_rejection()} {talk}Your return is what your coins are worth.\n"
            f"{NOTE if self.messages else ''}You are player {seat + 1}.\n"
        )

    def _describe_rejection(self) -> str:
        if self.rounds_in_all == 1:
            return "After a rejection, both get nothing."
        shrinks = "" if self.shrink == 1 else f" Each rejection multiplies the worth of a coin by {self.shrink:g}."
        return (
            f"After a rejection, the other player proposes a division of the same coins, in up to "
            f"{self.rounds_in_all} rounds. After the last rejection, both get nothing.{shrinks}"
        )

    def position(self, offers: tuple[Offer, ...], seat: int, style: Style) -> str:
        lines: list[str] = []
        for number, one in enumerate(offers):
            proposer = number % 2
            worth = f" A coin is worth {self.shrink**number:.4g}." if self.shrink != 1 and number else ""
            lines.append(f"Round {number + 1} of {self.rounds_in_all}.{worth}\n")
            for place, text in enumerate(one.speeches):
                lines.append(quote_speech(name_seat((proposer + place) % 2, seat), text))
            if one.given is not None:
                kept = self.pie - one.given
                lines.append(f"{name_seat(proposer, seat)} offered to give {one.given} and keep {kept}.\n")
            if one.answer:
                lines.append(f"{name_seat(1 - proposer, seat)} {one.answer}ed.\n")
        if not (seats := self.to_move(offers)):
            return f"{''.join(lines)}You get {self.returns(offers)[seat]:.4g}.\n"
        if seat in seats:
            talking = len(offers[-1].speeches) < 2 * self.messages
            lines.append("Now speak.\n" if talking else "Now decide.\n")
        return "".join(lines)

    def draw_picture(self, offers: tuple[Offer, ...], seat: int, events: Sequence[Event]) -> Picture:
        parts, told = [], []
        for number, one in enumerate(offers):
            proposer = number % 2
            cells = [f"“{text}”" for text in one.speeches]
            if one.given is not None:
                cells += [f"{self.pie - one.given} coins", f"{one.given} coins"]
            pairs = [[*cells[start : start + 2], ""][:2] for start in range(0, len(cells), 2)]
            rows = [pair if proposer == 0 else pair[::-1] for pair in pairs]
            title = f"Round {number + 1}: player {proposer + 1} proposes{f', {one.answer}ed' if one.answer else ''}"
            parts += [draw_note(title), draw_table(rows, head=["player 1", "player 2"])]
            told.append(f"{title}. {'; '.join(', '.join(row) for row in rows)}")
        return Picture.from_parts(*parts, told=". ".join(told))


game = make_game_factory(Ultimatum)
