"""Negotiation: two players divide a pool by proposals, each with an optional message.

The rules are those of OpenSpiel's `negotiation`, after Cao et al., Emergent Communication through Negotiation (2018).
They are reimplemented because the engine's matches can be neither recorded nor replayed. The engine draws the pool and
the values within one action from its own generator (`negotiation.cc`, DetermineItemPoolAndUtilities). One bug is fixed:
if all of a player's values are 0, the engine draws new values but keeps the zeros.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from itertools import product
from operator import mul
from typing import NamedTuple

from gymposium.games.openspiel.boards import list_letters
from gymposium.games.pictures import Picture, draw_table
from gymposium.games.rules import CHANCE, Event, Style, make_game_factory

AGREE = "agree"
_MOST_OF_A_KIND, _MOST_WORTH = 5, 10
_TURNS, _MEAN_TURNS = range(4, 11), 7.0
"""Possible numbers of turns, and the mean of the Poisson distribution that is truncated to them."""


class NegotiationState(NamedTuple):
    """A position: the chance outcomes and the players' moves so far."""

    drawn: tuple[int, ...] = ()
    """The chance outcomes, in order: number of turns, count of each kind of item, values for seat 0, values for seat
    1."""
    offers: tuple[tuple[int, ...], ...] = ()
    messages: tuple[str, ...] = ()
    agreed: bool = False


class Negotiation:
    """Rules of negotiation with `num_items` kinds of items and messages of `utterance_dim` symbols."""

    def __init__(self, num_items: int, enable_utterances: bool, num_symbols: int, utterance_dim: int) -> None:
        self.kinds, self.has_messages = num_items, enable_utterances
        self.symbols, self.length = list_letters(num_symbols), utterance_dim
        offers = product(range(_MOST_OF_A_KIND + 1), repeat=num_items)
        self._takes = {f"take {_join_numbers(offer)}": offer for offer in offers}
        self._says = [f"say {''.join(word)}" for word in product(self.symbols, repeat=utterance_dim)]
        self.moves = [*self._takes, AGREE, *(self._says if enable_utterances else [])]
        self.utility_range = (0.0, float(num_items * _MOST_OF_A_KIND * _MOST_WORTH))
        self.max_decisions = _TURNS[-1] * (2 if enable_utterances else 1)
        self._draws = 1 + 3 * num_items

    # -- parts of a position

    def turns(self, talk: NegotiationState) -> int:
        return talk.drawn[0]

    def pool(self, talk: NegotiationState) -> tuple[int, ...]:
        return talk.drawn[1 : 1 + self.kinds]

    def values(self, talk: NegotiationState, seat: int) -> tuple[int, ...]:
        begin = 1 + self.kinds * (1 + seat)
        return talk.drawn[begin : begin + self.kinds]

    # -- the rules

    def start(self) -> NegotiationState:
        return NegotiationState()

    def to_move(self, talk: NegotiationState) -> tuple[int, ...]:
        if len(talk.drawn) < self._draws:
            return (CHANCE,)
        if talk.agreed:
            return ()
        if self.must_speak(talk):
            return ((len(talk.offers) - 1) % 2,)
        return (len(talk.offers) % 2,) if len(talk.offers) < self.turns(talk) else ()

    def must_speak(self, talk: NegotiationState) -> bool:
        """Return whether the player who has just made a proposal must still send a message."""
        return self.has_messages and len(talk.messages) < len(talk.offers)

    def chance(self, talk: NegotiationState) -> Mapping[str, float]:
        drawn = talk.drawn
        if not drawn:
            return {f"turns {turns}": _MEAN_TURNS**turns / math.factorial(turns) for turns in _TURNS}
        block, kind = divmod(len(drawn) - 1, self.kinds)
        if block == 0:
            return {f"item {kind + 1} pool {number}": 1 for number in range(_MOST_OF_A_KIND + 1)}
        chances = {f"item {kind + 1} seat {block - 1} worth {value}": 1.0 for value in range(_MOST_WORTH + 1)}
        if not any(drawn[len(drawn) - kind :]):  # all values are equally likely, but not all may be 0
            further = float((_MOST_WORTH + 1) ** (self.kinds - kind - 1))
            chances = dict.fromkeys(chances, further)
            chances[f"item {kind + 1} seat {block - 1} worth 0"] = further - 1
        return chances

    def legal_moves(self, talk: NegotiationState, seat: int) -> Sequence[str]:
        if self.must_speak(talk):
            return self._says
        takes = [
            f"take {_join_numbers(offer)}" for offer in product(*[range(number + 1) for number in self.pool(talk)])
        ]
        return [*takes, AGREE] if talk.offers else takes

    def play(self, talk: NegotiationState, moves: Mapping[int, str]) -> NegotiationState:
        [move] = moves.values()
        if CHANCE in moves:
            return talk._replace(drawn=(*talk.drawn, int(move.rpartition(" ")[2])))
        if move == AGREE:
            return talk._replace(agreed=True)
        if move.startswith("say "):
            return talk._replace(messages=(*talk.messages, move.removeprefix("say ")))
        return talk._replace(offers=(*talk.offers, self._takes[move]))

    def returns(self, talk: NegotiationState) -> tuple[float, ...]:
        if not talk.agreed:
            return (0.0, 0.0)
        proposer, taken = (len(talk.offers) - 1) % 2, talk.offers[-1]
        left = [number - gone for number, gone in zip(self.pool(talk), taken, strict=True)]
        shares = (taken, left) if proposer == 0 else (left, taken)
        return tuple(float(sum(map(mul, self.values(talk, seat), shares[seat]))) for seat in (0, 1))

    def view(self, talk: NegotiationState, seat: int) -> str:
        known = self.turns(talk), self.pool(talk), self.values(talk, seat)
        return f"{known} {talk.offers} {talk.messages} {talk.agreed}"

    def resample(self, events: Sequence[Event], seat: int, rng: random.Random) -> Sequence[Event]:
        """Redraw the other seat's values. No move depends on them, so any values except all 0 are possible."""
        values = [0] * self.kinds
        while not any(values):
            values = [rng.randrange(_MOST_WORTH + 1) for _ in values]
        begin = 1 + self.kinds * (2 - seat)
        other = [Event(CHANCE, f"item {kind + 1} seat {1 - seat} worth {v}") for kind, v in enumerate(values)]
        return [*events[:begin], *other, *events[begin + self.kinds :]]

    # -- the text

    def rules(self, seat: int, style: Style) -> str:
        if style == "compact":
            say = f", then say a word of {self.length} out of {' '.join(self.symbols)}" if self.has_messages else ""
            return (
                f"negotiation, a turn is take with what you keep of each kind (the other gets the rest of the pool)"
                f"{say}; or agree to the other's last proposal\nno agreement in the turns given: 0 each; you move "
                f"{('first', 'second')[seat]}\n"
            )
        example = _join_numbers((1, 0, 2)[: self.kinds])
        say = ""
        if self.has_messages:
            word = self.symbols[1] + self.symbols[0] * (self.length - 1)
            say = (
                f"After a proposal you also say something to the other player, who hears it before answering: a word "
                f"of {self.length} letter{'s' * (self.length > 1)} out of {' '.join(self.symbols)}, which mean nothing "
                f"but what you make of them. Write say and the word: say {word}.\n"
            )
        return (
            f"Negotiation. Two players share out a pool with {self.kinds} kind{'s' * (self.kinds > 1)} of things, up "
            f"to {_MOST_OF_A_KIND} of each, drawn at random. Both know the pool. One thing of a kind is worth 0 to "
            f"{_MOST_WORTH} to you, also drawn at random, and something else to the other player. You know your own "
            f"values alone, the other only theirs; nobody's are all 0.\n"
            f"You take turns. A turn is a proposal, or agrees to the proposal that the other player made just before. "
            f"A proposal says what you would take; the other would get all the rest of the pool. To propose, write "
            f"take and how many of each kind you would take, in the order of the pool: take {example}. To accept the "
            f"other's last proposal, write {AGREE}; the match is then over, and each player gets the worth of what "
            f"falls to them.\n"
            f"{say}There are {_TURNS[0]} to {_TURNS[-1]} turns, counting both players'; the number is drawn at random "
            f"and told to both. If they are used up without agreement, both get 0, so the last proposal cannot be "
            f"agreed to.\n"
            f"{('You make', 'The other player makes')[seat]} the first proposal.\n"
        )

    def position(self, talk: NegotiationState, seat: int, style: Style) -> str:
        over, turns = not self.to_move(talk), self.turns(talk)
        now = len(talk.offers) + (not self.must_speak(talk))
        result = f"{self.returns(talk)[seat]:g}"
        pool, values = _join_numbers(self.pool(talk)), _join_numbers(self.values(talk, seat))
        if style == "compact":
            past = [f"{'you' if n % 2 == seat else 'they'} {_join_numbers(o)}" for n, o in enumerate(talk.offers)]
            past[: len(talk.messages)] = [f"{offer} say {word}" for offer, word in zip(past, talk.messages)]
            end = f"{'agreed' if talk.agreed else 'no deal'}, result {result}" if over else f"turn {now}/{turns}"
            return f"pool {pool}, values {values}\n{', '.join(past) or 'no proposals'}\n{end}\n"
        lines = [f"The pool: {pool}. One of each kind is worth to you: {values}."]
        for number, offer in enumerate(talk.offers):
            who = "you would" if number % 2 == seat else "the other player would"
            word = f", and said {talk.messages[number]}" if number < len(talk.messages) else ""
            lines.append(f"Turn {number + 1}: {who} take {_join_numbers(offer)}{word}.")
        if talk.agreed:
            who = "You" if len(talk.offers) % 2 == seat else "The other player"
            lines.append(f"{who} agreed. You get {result}.")
        elif over:
            lines.append(f"The match is over without agreement. You get {result}.")
        else:
            who = "you are" if self.to_move(talk) == (seat,) else "the other player is"
            what = "say something" if self.must_speak(talk) else "propose or agree" if talk.offers else "propose"
            lines.append(f"Turn {now} of {turns}: {who} to {what}.")
        return "\n".join(lines) + "\n"

    def draw_picture(self, talk: NegotiationState, seat: int, events: Sequence[Event]) -> Picture:
        kinds = [f"item {number}" for number in range(1, self.kinds + 1)]
        said = [*talk.messages, *[""] * (len(talk.offers) - len(talk.messages))]
        rows = [
            ["in the pool", *map(str, self.pool(talk)), ""],
            ["worth to you", *map(str, self.values(talk, seat)), ""],
            *[
                [f"{('they', 'you')[number % 2 == seat]} would take", *map(str, offer), word]
                for number, (offer, word) in enumerate(zip(talk.offers, said))
            ],
        ]
        told = "; ".join([" ".join(row).strip() for row in rows])
        widths = (2, *[1] * self.kinds, 1.4)
        return Picture.from_parts(
            draw_table(rows, head=["", *kinds, "said" if self.has_messages else ""], widths=widths), told=told
        )


def _join_numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


game = make_game_factory(Negotiation)
