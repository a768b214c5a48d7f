"""Gin rummy as a text game: one hand, with the engine's scoring.

The engine's observation shows only the current public facts. A seat also knows who took which card from the pile, and
the order of discards. So the view here adds the hand's public history.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyspiel

from gymposium.errors import NoSampler
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, load_engine_game
from gymposium.games.openspiel.boards import ORDER
from gymposium.games.openspiel.wording import format_compact_facts
from gymposium.games.pictures import Picture, draw_hand, draw_note
from gymposium.games.protocol import CHANCE, Event, Style
from gymposium.plugins.specs import GameSpec

_CARDS = [f"{rank}{suit}" for suit in "scdh" for rank in "A23456789TJQK"]
_VALUES = [min(10, card % 13 + 1) for card in range(52)]
_UPCARD, _STOCK, _PASS, _KNOCK, _MELDS = 52, 53, 54, 55, 56  # engine actions; lower numbers are cards
_PHASE = pyspiel.gin_rummy.Phase
_MELD_CARDS: Mapping[int, list[int]] = pyspiel.gin_rummy.GinRummyUtils(13, 4, 10).int_to_meld
_TRIES = 1000


class GinRummy:
    """Wording for `gin_rummy`."""

    move_pattern = re.compile(
        r"pass|knock|draw (upcard|stock)|(discard|lay off) {0}|meld {0}( {0}){{2,4}}".format("[A2-9TJQK][scdh]")
    )
    names = None  # a card may be discarded or laid off

    def __init__(
        self, hand_size: int, knock_card: int, oklahoma: bool, gin_bonus: int, undercut_bonus: int, start: pyspiel.State
    ) -> None:
        self.hand_size, self.knock_card, self.oklahoma = hand_size, knock_card, oklahoma
        self.gin_bonus, self.undercut_bonus = gin_bonus, undercut_bonus
        texts = [start.action_to_string(0, action) for action in range(_MELDS, start.num_distinct_actions())]
        self.melds = [sorted(map(_CARDS.index, _split_cards(text.rpartition(" ")[2]))) for text in texts]
        self._utils = pyspiel.gin_rummy.GinRummyUtils(13, 4, hand_size)
        self._action_names = {_UPCARD: "draw upcard", _STOCK: "draw stock", _PASS: "pass", _KNOCK: "knock"}
        self._action_names.update({_MELDS + i: f"meld {_join_cards(meld)}" for i, meld in enumerate(self.melds)})

    def moves(self, state: pyspiel.State, seat: int, actions: Sequence[int]) -> list[str]:
        with_card = "lay off" if state.current_phase() == _PHASE.LAYOFF else "discard"
        return [self._action_names[a] if a >= _UPCARD else f"{with_card} {_CARDS[a]}" for a in actions]

    def rules(self, seat: int, style: Style) -> str:
        limit = "the value of the first upcard (only gin if it is an ace)" if self.oklahoma else f"{self.knock_card}"
        if style == "compact":
            return (
                f"gin rummy, {self.hand_size} cards each, knock with deadwood up to {limit}, gin +{self.gin_bonus}, "
                f"undercut +{self.undercut_bonus}, you play {ORDER[seat]}\n"
                f"turns: u took the upcard, s drew from the stock, then the discard; theirs are cards that your "
                f"opponent took and holds\n"
            )
        if self.oklahoma:
            knock = "no more than the value of the first upcard (if that is an ace, only with gin)"
        else:
            knock = f"{self.knock_card} or less" if self.knock_card else "0"
        return (
            f"Gin rummy for two players, one hand, with 52 cards. Each is dealt {self.hand_size} cards, and one card "
            f"is turned up beside the stock: the upcard.\n"
            f"A meld is three or four cards of one rank, or three or more cards of one suit in sequence (A 2 3 4 5 6 "
            f"7 8 9 T J Q K, the ace low only). Cards outside melds are deadwood: an ace counts 1, the cards 2 to 9 "
            f"their number, and T, J, Q and K 10 each.\n"
            f"The first player takes the upcard or passes, then the second; if both pass, the first draws from the "
            f"stock. After that each turn begins with drawing the upcard or a card from the stock, and ends with a "
            f"discard, which is the new upcard. An upcard that is not taken goes onto the discard pile.\n"
            f"After drawing you may knock if your deadwood is {knock}. It is counted with the melds that leave the "
            f"fewest points, and without the highest card outside them, even where another discard would leave less; "
            f"if all cards are in melds, after the best discard. You then discard, lay your melds one by one (a run of "
            f"six or more as two melds), and pass when you are done; cards that you do not lay are deadwood. Then the "
            f"other player lays off single cards that extend your melds, passes, lays melds, and passes. If you have "
            f"no deadwood at all (gin), nothing may be laid off.\n"
            f"The knocker gets the other's deadwood less their own, and {self.gin_bonus} more for gin. If the other "
            f"has less deadwood than the knocker (undercut), the other gets the difference and {self.undercut_bonus} "
            f"more. If both have the same, nobody gets anything. Your result is the points that you get, or that the "
            f"other gets from you.\n"
            f"The hand ends without points when an upcard is taken and discarded at once by one player and then by "
            f"the other; when upcards have been taken 50 times (the first upcard is not counted while it may be "
            f"passed); and when two cards are left in the stock: then you may only pass, which ends the hand, or knock "
            f"with the upcard.\n"
            f"You play {ORDER[seat]}.\n"
        )

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        hand = sorted(state.hands()[seat])
        upcard = state.upcard()
        pile = _join_cards(state.discard_pile())
        theirs = _join_cards(sorted(state.known_cards()[1 - seat]))
        turns = list_turns(state.history(), self.hand_size)
        knocked, laid = state.knocked(), state.layed_melds()
        over = state.is_terminal()
        stage = _find_stage(state, self.hand_size)
        limit, stock = state.knock_card(), state.stock_size()
        # After a knock, unlaid cards count. After a knock at the wall, the engine's number is stale.
        deadwood = sum([_VALUES[card] for card in hand]) if True in knocked else self._count_deadwood(state, seat)
        if style == "compact":
            lines = [
                f"hand {_join_cards(hand) or 'none'}",
                f"deadwood {deadwood} knock {limit}",
                f"upcard {'none' if upcard is None else _CARDS[upcard]} stock {stock}",
                f"pile {pile or 'none'}",
                f"theirs {theirs or 'none'}",
                f"turns {' '.join(turns) or 'none'}",
            ]
            for who, owner in (("you", seat), ("they", 1 - seat)):
                if laid[owner]:
                    lines.append(f"{who} laid {', '.join([_join_cards(self.melds[meld]) for meld in laid[owner]])}")
            if state.layoffs():
                lines.append(f"laid off {_join_cards(state.layoffs())}")
            lines.append(f"result {int(state.player_return(seat)):+d}" if over else f"now {_STAGES[stage][0]}")
            legal = ", ".join(self.moves(state, seat, find_legal_actions(state, seat)))
            return "\n".join(lines) + f"\nlegal {legal or 'none'}\n"
        suits = [_join_cards([card for card in hand if card // 13 == suit]) for suit in range(4)]
        lines = [f"Your hand: {', '.join([suit for suit in suits if suit]) or 'empty'}."]
        if True in knocked:
            lines[0] += f" The cards in it count {deadwood}."
            lines.append(f"{'You have' if knocked[seat] else 'Your opponent has'} knocked; the limit was {limit}.")
            for who, owner in (("You have", seat), ("Your opponent has", 1 - seat)):
                if laid[owner]:
                    lines.append(f"{who} laid: {', '.join([_join_cards(self.melds[meld]) for meld in laid[owner]])}.")
            if state.layoffs():
                lines.append(f"Laid off on the knocker's melds: {_join_cards(state.layoffs())}.")
        else:
            best = " after discarding your highest unmatched card" if len(hand) > self.hand_size else ""
            lines.append(
                f"Your deadwood{best}: {deadwood}. To knock it must be {f'{limit} or less' if limit else '0'}."
            )
        lines.append(
            f"Upcard: {'none' if upcard is None else _CARDS[upcard]}. Stock: {stock} cards. "
            f"Discard pile, oldest first: {pile or 'empty'}."
        )
        lines.append(f"Known cards in your opponent's hand, taken from the pile: {theirs or 'none'}.")
        mine = _join_cards(sorted(state.known_cards()[seat]))
        lines.append(f"Of your hand your opponent knows: {mine or 'nothing'}.")
        past = ", ".join([_describe_turn("you" if i % 2 == seat else "opponent", turn) for i, turn in enumerate(turns)])
        lines.append(f"Turns so far (what was drawn, then what was discarded): {past or 'none'}.")
        if over:
            lines.append(f"The hand is over. Your result: {int(state.player_return(seat)):+d}.")
        else:
            who = "you" if state.current_player() == seat else "your opponent"
            lines.append(f"Now {who} may {_STAGES[stage][1]}.")
        return "\n".join(lines) + "\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        known = format_compact_facts(self, state, seat)
        pile, theirs = known["pile"].split(), known["theirs"].split()
        upcard, _, stock = known["upcard"].partition(" stock ")
        upcard = upcard.removesuffix("none")
        laid = [f"{key} {known[key]}." for key in ("you", "they") if key in known]
        return Picture.from_parts(
            draw_hand(
                [upcard, "?"], "Upcard and stock", names=["upcard" if upcard else "", "stock"], notes=["", stock]
            ),
            draw_hand(known["hand"].split(), "Your hand"),
            draw_hand(pile[-8:], "Discard pile, the newest last", names=[""] * 8),
            *([draw_hand(theirs, "Known in your opponent's hand", names=[""] * len(theirs))] if theirs else []),
            draw_note("\n".join([f"Deadwood {known['deadwood'].replace(' knock', ', to knock at most')}.", *laid])),
            told=f"Your hand: {known['hand'] or 'empty'}; the upcard: {upcard or 'none'}",
        )

    def _count_deadwood(self, state: pyspiel.State, seat: int) -> int:
        """Return a hand's deadwood, after the best discard if a card was drawn.

        If every card is in a meld, the engine counts 0 without a discard. But if all melds have three cards, any
        discard breaks a meld."""
        count: int = state.deadwood()[seat]
        hand = state.hands()[seat]
        if count == 0 and len(hand) > self.hand_size:
            count = min([self._utils.min_deadwood([*hand[:i], *hand[i + 1 :]]) for i in range(len(hand))])
        return count


def find_legal_actions(state: pyspiel.State, seat: int) -> list[int]:
    """Return the engine's legal actions with two corrections.

    First, drop a knock if no discard keeps the deadwood within the limit. The engine offers such a knock when all cards
    are in melds of three, because it then counts no deadwood. Second, include all lay-offs: the engine offers at most
    two at each end of a run."""
    actions: list[int] = state.legal_actions(seat)
    if _KNOCK in actions and not state.child(_KNOCK).legal_actions():
        actions.remove(_KNOCK)
    if actions and state.current_phase() == _PHASE.LAYOFF and not state.finished_layoffs():
        return sorted({_PASS, *find_layoffs(state, seat)})
    return actions


def find_layoffs(state: pyspiel.State, seat: int) -> list[int]:
    """Return the cards in a hand that extend the knocker's melds.

    A laid-off card belongs to every meld that it extended when it was laid off."""
    melds = [list(_MELD_CARDS[meld]) for meld in state.layed_melds()[1 - seat]]
    for card in state.layoffs():
        for meld in melds:
            if card in _find_extensions(meld):
                meld.append(card)
    return sorted({card for meld in melds for card in _find_extensions(meld)}.intersection(state.hands()[seat]))


def _find_extensions(meld: Sequence[int]) -> set[int]:
    """Return the cards that extend a meld by one."""
    if len({card % 13 for card in meld}) == 1:
        return set(range(meld[0] % 13, 52, 13)).difference(meld)
    return {card for card in (min(meld) - 1, max(meld) + 1) if card // 13 == meld[0] // 13}


def list_turns(history: Sequence[int], hand_size: int) -> list[str]:
    """Return the public events turn by turn, up to a knock.

    Seats alternate, starting with seat 0. In `u7h` the player took the upcard and discarded 7h. In `s7h` they drew from
    the stock instead. `u` or `s` alone means that the discard has not happened yet. Other events: `pass`, `u knock`, `s
    knock`, and `knock` at the end of the stock."""
    turns: list[str] = []
    actions = iter(history[2 * hand_size + 1 :])
    for action in actions:
        if action == _PASS:
            turns.append("pass")
            continue
        if action == _KNOCK:
            turns.append("knock")
            break
        source = "u"
        if action == _STOCK:
            source = "s"
            next(actions, None)  # the card that was drawn
        ended = next(actions, None)
        if ended is None:
            turns.append(source)
        elif ended == _KNOCK:
            turns.append(f"{source} knock")
            break
        else:
            turns.append(source + _CARDS[ended])
    return turns


_STAGES = {
    "first": ("upcard or pass", "take the first upcard, or pass"),
    "passed": ("draw stock", "only draw from the stock, since both have passed"),
    "draw": ("draw", "draw the upcard or from the stock"),
    "discard": ("discard or knock", "discard a card, or knock with deadwood within the limit"),
    "wall": (
        "pass or knock",
        "pass, which ends the hand, or knock with the upcard if you can",
    ),
    "knocked": ("discard", "discard a card that keeps the deadwood within the limit"),
    "melds": ("melds", "lay melds, and pass when what is left is within the limit"),
    "layoffs": ("lay off", "lay off cards on the knocker's melds, then pass"),
    "last melds": ("last melds", "lay melds of the remaining cards, then pass, which ends the hand"),
}
"""What the seat to move must do in each stage of the hand, in compact and full style."""


def _find_stage(state: pyspiel.State, hand_size: int) -> str:
    """Return the hand's stage, a key of `_STAGES`."""
    phase = state.current_phase()
    if phase == _PHASE.DRAW:
        return "draw"
    if phase == _PHASE.DISCARD:
        return "discard"
    if phase == _PHASE.FIRST_UPCARD:
        return "passed" if False not in state.pass_on_first_upcard() else "first"
    if phase == _PHASE.KNOCK:
        laid = sum([len(cards) for cards in state.layed_melds()])
        return "melds" if laid or len(state.hands()[state.current_player()]) == hand_size else "knocked"
    if phase == _PHASE.LAYOFF:
        return "last melds" if state.finished_layoffs() else "layoffs"
    return "wall"


def _describe_turn(who: str, turn: str) -> str:
    """Return a turn as text: `u7h` → `opponent upcard 7h`."""
    if turn in ("pass", "knock"):
        return f"{who} {turn}ed"
    return f"{who} {'upcard' if turn[0] == 'u' else 'stock'} {turn[1:].strip()}".rstrip()


def _join_cards(cards: Sequence[int]) -> str:
    """Return the names of cards: `7h 8h 9h`."""
    return " ".join([_CARDS[card] for card in cards])


def _split_cards(text: str) -> Iterator[str]:
    """Yield the cards in a text: `7h8h9h` → `7h`, `8h`, `9h`."""
    return (text[i : i + 2] for i in range(0, len(text), 2))


class GinRummyGame(OpenSpielGame):
    """Gin rummy with a sampler and the hand's public history in its view."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any], engine: pyspiel.Game) -> None:
        self._start = engine.new_initial_state()
        self.gin = GinRummy(**params, start=self._start)
        super().__init__(spec, params, engine, self.gin)
        self._card_texts = [self._start.action_to_string(CHANCE, card) for card in range(52)]
        # The engine's bound is lower (gin_rummy.h, kMaxPossibleDeadwood = 98 for every hand size). But players need not
        # lay melds, so they can be left with ten cards that count 10 each.
        limit = 10 if self.gin.oklahoma else self.gin.knock_card
        most = float(max(10 * self.gin.hand_size + self.gin.gin_bonus, limit + self.gin.undercut_bonus))
        self.utility_range = (-most, most)

    def legal(self, state: pyspiel.State, seat: int) -> list[int]:
        return find_legal_actions(state, seat)

    def start(self) -> pyspiel.State:
        return self._start.clone()  # creating a state takes 1.1 ms, copying one 0.03 ms

    def render_view(self, state: pyspiel.State, seat: int) -> str:
        # the engine's observation does not say whether lay-offs are over, but the legal moves reveal it
        past = " ".join(list_turns(state.history(), self.gin.hand_size))
        return f"{super().render_view(state, seat)}\n{past}\n{state.finished_layoffs()}"

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        """Redeal the cards that the seat cannot see, uniformly over all deals consistent with its view."""
        history = match.state.history()
        for _ in range(_TRIES):
            dealt = self._redeal(history, seat, match.state.knock_card(), rng)
            state = self._replay_deal(history, dealt, 1 - seat)
            if state is not None:
                events = match.events.copy()
                for index, card in dealt.items():
                    events[index] = Event(CHANCE, self._card_texts[card])
                return OpenSpielMatch(self, state, events, None, rng)
        raise NoSampler(
            f"{self.name}: found no other deal that allows the observed knock, in {_TRIES} tries. Try again with "
            "another rng."
        )

    def _redeal(self, history: Sequence[int], seat: int, limit: int, rng: random.Random) -> dict[int, int]:
        """Return new cards for the other seat, keyed by their index in the history.

        Some cards are known to be from the other seat's hand but were never taken from the pile. So each came from one
        of its earlier hidden draws. That draw is chosen uniformly, in chronological order. The number of possible draws
        does not depend on earlier choices, so all assignments are equally likely."""
        other, size = 1 - seat, self.gin.hand_size
        hidden = list(range(other * size, other * size + size))
        seen = set(history[seat * size : seat * size + size])
        taken: set[int] = set()  # cards taken from the pile that the other seat still holds
        dealt: dict[int, int] = {}

        def show(card: int) -> None:
            if card in taken:
                taken.remove(card)
            else:
                dealt[hidden.pop(rng.randrange(len(hidden)))] = card

        mover, upcard, knocker, finished, drawn = 0, history[2 * size], -1, False, False
        seen.add(upcard)
        index = 2 * size + 1
        while index < len(history):
            action = history[index]
            if action == _PASS:
                finished = mover == knocker or finished
                mover = 1 - mover if knocker < 0 or mover == knocker else mover
            elif action == _STOCK:
                index += 1
                drawn = True
                if index < len(history):
                    if mover == other:
                        hidden.append(index)
                    else:
                        seen.add(history[index])
            elif action == _UPCARD or (action == _KNOCK and not drawn):
                drawn = True
                knocker = mover if action == _KNOCK else knocker
                if mover == other:
                    taken.add(upcard)
            elif action == _KNOCK:
                knocker = mover
            else:
                if mover == other:
                    for card in [action] if action < _UPCARD else self.gin.melds[action - _MELDS]:
                        show(card)
                upcard = action
                if knocker < 0:
                    mover, drawn = 1 - mover, False
            index += 1
        seen.update(dealt.values())
        pool = [card for card in range(52) if card not in seen]
        cards = rng.sample(pool, len(hidden))
        if knocker == other and finished:  # its remaining cards are deadwood within the limit
            room = limit - sum([_VALUES[card] for card in taken])
            low = [card for card in pool if _VALUES[card] <= room - len(hidden) + 1]
            while sum([_VALUES[card] for card in cards]) > room:
                cards = rng.sample(low, len(hidden))
        dealt.update(zip(hidden, cards, strict=True))
        return dealt

    def _replay_deal(self, history: Sequence[int], dealt: Mapping[int, int], other: int) -> pyspiel.State | None:
        """Return the state after this deal and the recorded moves, or None if the other seat could not have knocked as
        it did."""
        state = self.start()
        knocked = False
        for index, action in enumerate(history):
            if action == _KNOCK or knocked:
                knocked = True
                if state.current_player() == other and action not in find_legal_actions(state, other):
                    return None
            state.apply_action(dealt.get(index, action))
        return state


def game(spec: GameSpec, params: Mapping[str, Any]) -> GinRummyGame:
    return GinRummyGame(spec, params, load_engine_game("gin_rummy", params))
