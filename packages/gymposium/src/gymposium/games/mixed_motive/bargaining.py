"""Bargaining as a text game: two players divide a pool of items, and each values the items differently."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, make_openspiel_factory
from gymposium.games.openspiel.boards import format_legal
from gymposium.games.pictures import Picture, draw_table
from gymposium.games.protocol import Event, Style
from gymposium.plugins.specs import GameSpec

AGREE = "agree"


class Bargaining:
    """Wording for `bargaining`. Offers are read from the history, because all of them are public."""

    def __init__(self, engine: pyspiel.Game, max_turns: int, discount: float, prob_end: float) -> None:
        self.max_turns, self.discount, self.prob_end = max_turns, discount, prob_end
        offers = [offer.quantities for offer in engine.all_offers()]
        self.taken = [" ".join(map(str, quantities)) for quantities in offers]
        self.names = [*(f"take {quantities}" for quantities in self.taken), AGREE]
        self.agree = len(offers)  # the engine's action after the offers; chance outcomes are numbered separately
        self.move_pattern = re.compile(rf"{AGREE}|take \d \d \d")
        first = engine.new_initial_state()
        first.apply_action(0)
        self.items = [item.lower() for item in re.findall(r"(\w+): \d", first.action_to_string(0, 0))]
        """Item names, in the order of the pool's counts: book, hat, basketball."""
        deals = engine.all_instances()
        self.pools = [tuple(deal.pool) for deal in deals]
        self.values = [[tuple(deal.values[seat]) for deal in deals] for seat in (0, 1)]
        totals = [sum(pool) for pool in self.pools]
        self.least, self.most = min(totals), max(totals)
        self.worth = int(engine.max_utility())

    def rules(self, seat: int, style: Style) -> str:
        items = " ".join(self.items)
        if style == "compact":
            notes = [f"no deal after {self.max_turns} offers: 0 each"]
            if self.discount < 1:
                notes.append(f"results x {self.discount:g} for each turn after the second")
            if self.prob_end:
                notes.append(f"ends without a deal with chance {self.prob_end:g} after each offer from the second on")
            return (
                f"bargaining, numbers are {items}; moves: take N N N (what you keep, the other gets the rest of the "
                f"pool) or agree to the other's last offer; pool is worth {self.worth} to each; you move "
                f"{('first', 'second')[seat]}\n{'; '.join(notes)}\n"
            )
        kinds = f"{', '.join([f'{item}s' for item in self.items[:-1]])} and {self.items[-1]}s"
        ends = f"{('You make', 'The other player makes')[seat]} the first offer.\n"
        return (
            f"Bargaining. Two players share out a pool of {kinds}: {self.least} to {self.most} things in all, at "
            f"least one of each kind. You are told the pool and what one thing of each kind is worth to you. To the "
            f"other player they are worth something else, which you are not told, as the other is not told your "
            f"values. The whole pool is worth {self.worth} to you and {self.worth} to the other; each kind is worth "
            f"something to at least one of you, and at least one kind to both.\n"
            f"You take turns. A turn is an offer, or agrees to the offer that the other player made just before. An "
            f"offer says what you would take; the other would get all the rest of the pool. To offer, write take and "
            f"how many of each kind you would take, in the order {', '.join(self.items)}: take 1 0 2. To accept the "
            f"other's last offer, write {AGREE}.\n"
            f"Once an offer is agreed to, the match is over and each player gets the worth of what falls to them. "
            f"After {self.max_turns} offers without agreement it is over and both get 0, so the last of them cannot be "
            f"agreed to.\n{self._describe_ending()}{self._describe_discount()}{ends}"
        )

    def _describe_ending(self) -> str:
        if not self.prob_end:
            return ""
        return (
            f"After each offer from the second on, the match ends at once with probability {self.prob_end:g}, and "
            f"both get 0.\n"
        )

    def _describe_discount(self) -> str:
        if self.discount == 1:
            return ""
        return (
            f"What both get is multiplied by {self.discount:g} for each turn after the second: by {self.discount:g} "
            f"if the third turn agrees, by {self.discount**2:g} if the fourth does, and so on.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        deal, *actions = state.history()
        offers = [action for action in actions if action < self.agree]
        pool, values = self.pools[deal], self.values[seat][deal]
        over, agreed = state.is_terminal(), self.agree in actions
        result = f"{state.player_return(seat):g}"
        if style == "compact":
            past = ", ".join(
                [f"{'you' if number % 2 == seat else 'they'} {self.taken[o]}" for number, o in enumerate(offers)]
            )
            end = f"{'agreed' if agreed else 'no deal'}, result {result}\n" if over else ""
            return (
                f"pool {' '.join(map(str, pool))}, values {' '.join(map(str, values))}\n"
                f"offers {past or 'none'}\n{end or f'turn {len(offers) + 1}/{self.max_turns}{chr(10)}'}"
                f"{format_legal(state, seat, self.names, ', ')}"
            )
        past = "".join(
            [
                f"Turn {number + 1}: {'you would' if number % 2 == seat else 'the other player would'} take "
                f"{self.taken[offer]}.\n"
                for number, offer in enumerate(offers)
            ]
        )
        if agreed:
            end = f"{'You' if len(offers) % 2 == seat else 'The other player'} agreed. You get {result}.\n"
        elif over:
            end = f"The match is over without agreement. You get {result}.\n"
        else:
            whose = "your turn" if state.current_player() == seat else "the other player's"
            end = f"Turn {len(offers) + 1} of at most {self.max_turns}: {whose}.\n"
        listed = [
            f"{item}: {number}, worth {value} each to you"
            for item, number, value in zip(self.items, pool, values, strict=True)
        ]
        return f"The pool: {'; '.join(listed)}.\n{past}{end}"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        deal, *actions = state.history()
        offers = [action for action in actions if action < self.agree]
        who = [("they", "you")[number % 2 == seat] for number in range(len(offers))]
        rows = [
            ["in the pool", *map(str, self.pools[deal])],
            ["worth to you", *map(str, self.values[seat][deal])],
            *[[f"{whose} would take", *self.taken[offer].split()] for whose, offer in zip(who, offers)],
        ]
        told = "; ".join([" ".join(row) for row in rows])
        return Picture.from_parts(draw_table(rows, head=["", *self.items], widths=(1.7, 1, 1, 1.4)), told=told)


class BargainingGame(OpenSpielGame):
    """Bargaining with one-line chance outcomes, and with a sampler that also works if chance may end the match."""

    wording: Bargaining

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game, words: Bargaining) -> None:
        super().__init__(spec, params, engine, words)
        self._deals = [
            f"pool {' '.join(map(str, pool))}, values {' '.join(map(str, one))} and {' '.join(map(str, other))}"
            for pool, one, other in zip(words.pools, *words.values, strict=True)
        ]
        self._odds = self.start().chance_outcomes()

    def list_chances(self, state: pyspiel.State) -> Sequence[tuple[int, float]]:
        return super().list_chances(state) if state.history() else self._odds

    def outcome(self, state: pyspiel.State, action: int) -> str:
        return self._deals[action] if action < len(self._deals) else super().outcome(state, action)

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Draw another deal with the same pool and the same values for this seat.

        The engine's sampler fails here, because it replays the deal at every later chance node too (`bargaining.cc`,
        ResampleFromInfostate)."""
        deal, *actions = match.state.history()
        pools, values = self.wording.pools, self.wording.values[seat]
        fits = [d for d in range(len(pools)) if pools[d] == pools[deal] and values[d] == values[deal]]
        return self.world(match, [rng.choice(fits), *actions], rng)


game = make_openspiel_factory("bargaining", Bargaining, BargainingGame)
