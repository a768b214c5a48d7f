"""Hearts as a text game: one hand of four players. Seats 0 to 3 are the engine's North, East, South and West."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyspiel

from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch, load_engine_game
from gymposium.games.openspiel.boards import format_legal
from gymposium.games.pictures import Picture, draw_hand, draw_note
from gymposium.games.protocol import Event, Style
from gymposium.games.tricks.hearts_deals import redeal
from gymposium.games.tricks.trick import (
    NAMES,
    RANKS,
    SEATS,
    SUIT_NAMES,
    Trick,
    describe_tricks,
    draw_tricks,
    find_voids,
    format_by_suit,
    format_tricks,
    make_plain_order,
)
from gymposium.plugins.specs import GameSpec

_CARDS = [f"{rank}{suit}" for rank in RANKS for suit in "cdhs"]
_SHOWN = [[f"{rank}{suit}" for rank in reversed(RANKS)] for suit in SUIT_NAMES]
_ORDER = make_plain_order(_CARDS, [card[1] for card in _CARDS])
_WAYS = {"No Pass": 0, "Left": 1, "Across": 2, "Right": 3}
"""Distance in seats that cards are passed, for each of the engine's directions."""


class Hearts:
    """Wording for `hearts`."""

    move_pattern = re.compile(r"[2-9TJQKA][cdhs]")
    names = _CARDS

    def __init__(
        self,
        pass_cards: bool,
        no_pts_on_first_trick: bool,
        can_lead_any_club: bool,
        jd_bonus: bool,
        avoid_all_tricks_bonus: bool,
        must_break_hearts: bool,
        qs_breaks_hearts: bool,
        can_lead_hearts_instead_of_qs: bool,
    ) -> None:
        self.pass_cards = pass_cards
        self.no_points_first = no_pts_on_first_trick
        self.any_club = can_lead_any_club
        self.jd_bonus = jd_bonus
        self.no_tricks_bonus = avoid_all_tricks_bonus
        self.must_break = must_break_hearts
        self.queen_breaks = qs_breaks_hearts
        self.hearts_instead = can_lead_hearts_instead_of_qs

    def rules(self, seat: int, style: Style) -> str:
        me = SEATS[seat]
        breaks = "a heart or Qs" if self.queen_breaks else "a heart"
        if style == "compact":
            notes = [
                "pass three cards" if self.pass_cards else "no passing",
                "any club may lead the first trick" if self.any_club else "2c leads",
                f"no points on the first trick: {'yes' if self.no_points_first else 'no'}",
                f"{breaks} breaks hearts" if self.must_break else "hearts may always be led",
                *(["hearts may be led instead of a lone Qs"] if self.must_break and self.hearts_instead else []),
                *(["Jd -10"] if self.jd_bonus else []),
                *(["no tricks -5"] if self.no_tricks_bonus else []),
            ]
            return (
                f"hearts, seats N E S W in turn, you are {me[0]}; {'; '.join(notes)}\n"
                f"a trick is its leader and the cards in order\n"
            )
        seats = "The seats are North, East, South and West, and turns go round in that order."
        lines = [f"Hearts for four players, one hand with 52 cards, 13 for each; few points are good. {seats}"]
        if self.pass_cards:
            lines.append(
                "First a direction is drawn: left (to the next seat in turn), across, right (to the seat before), or "
                "no pass, each as likely. Unless there is no pass, everybody chooses three cards, one at a time, and "
                "passes them that way; nobody sees the cards received before all have chosen."
            )
        else:
            lines.append("No cards are passed.")
        lead = "leads any club" if self.any_club else "leads it"
        lines.append(
            f"Whoever holds 2c {lead} to the first trick. You must follow the suit that was led if you can; otherwise "
            f"you may play any card. The highest card of the suit led (2 3 4 5 6 7 8 9 T J Q K A) takes the trick, "
            f"and its player leads the next."
        )
        if self.no_points_first:
            lines.append("On the first trick nobody may play a heart or Qs, unless holding nothing else.")
        if self.must_break:
            but = " or nothing but hearts and Qs" if self.hearts_instead else ""
            lines.append(
                f"Hearts may not be led before {breaks} has been played (hearts are then broken), unless you hold "
                f"nothing but hearts{but}."
            )
        else:
            lines.append("Hearts may be led at any time.")
        bonus = ", Jd takes 10 points off" if self.jd_bonus else ""
        lines.append(
            f"Each heart in the tricks that you take is 1 point, Qs 13{bonus}. If one player takes all hearts and Qs "
            f"(shoots the moon), that player's points go down by 26 and everybody else's up by 26."
        )
        if self.no_tricks_bonus:
            lines.append("Whoever takes no trick has 5 points taken off, unless somebody shot the moon.")
        lines.append(f"Your result is 26 less your points; the greatest result wins.\nYou are {me}.")
        return "\n".join(lines) + "\n"

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        view = _parse_view(state.information_state_string(seat))
        over = state.is_terminal()
        result = int(state.player_return(seat))
        tricks = view.tricks
        if style == "compact":
            gave, got = " ".join(view.passed) or "none", " ".join(view.received) or "none"
            way = view.way.lower() if _WAYS[view.way] else "none"
            mine = "" if over else f"hand {' '.join(view.hand) or 'none'}\npass {way} gave {gave} got {got}\n"
            points = " ".join([f"{name[0]} {n}" for name, n in zip(SEATS, view.points, strict=True)])
            end = f"result {result:+d}\n" if over else ""
            return f"{mine}tricks {format_tricks(tricks)}\npoints {points}\n{end}{format_legal(state, seat, _CARDS)}"
        lines = []
        if not over:
            lines += [
                f"Your hand: {format_by_suit(set(view.hand), _SHOWN) or 'empty'}.",
                *self._describe_pass(view, seat),
            ]
        names = NAMES[seat]
        lines += describe_tricks(tricks, seat)
        if tricks:
            lines.append(f"Points: {', '.join([f'{name} {n}' for name, n in zip(names, view.points, strict=True)])}.")
        if over:
            lines.append(f"The hand is over. Your result: {result}.")
        elif tricks:
            lines += self._describe_inferences(tricks, names)
        return "\n".join(lines) + "\n"

    def draw_picture(self, state: pyspiel.State, seat: int, events: Sequence[Event]) -> Picture:
        view = _parse_view(state.information_state_string(seat))
        held = [] if state.is_terminal() else list(view.hand)
        points = ", ".join([f"{name} {n}" for name, n in zip(NAMES[seat], view.points, strict=True)])
        chosen = [draw_note(f"Cards that you pass: {' '.join(view.passed) or 'none yet'}")] if not view.tricks else []
        return Picture.from_parts(
            *draw_tricks(view.tricks, seat, f"Points: {points}"),
            *chosen,
            draw_hand(held, "Your hand"),
            told=f"Your hand: {' '.join(held) or 'empty'}; points: {points}",
        )

    def _describe_pass(self, view: _View, seat: int) -> list[str]:
        way = _WAYS[view.way]
        if not way:
            return ["Nobody passes cards in this hand."] if self.pass_cards else []
        to, source = SEATS[(seat + way) % 4], SEATS[(seat - way) % 4]
        line = f"Pass {view.way.lower()}, to {to}. "
        if view.received:
            return [f"{line}You passed {' '.join(view.passed)} and got {' '.join(view.received)} from {source}."]
        left = 3 - len(view.passed)
        if left:
            line += f"Chosen so far: {' '.join(view.passed) or 'none'}; {left} more to choose."
        else:
            line += f"You chose {' '.join(view.passed)}; others have yet to choose."
        return [line]

    def _describe_inferences(self, tricks: Sequence[Trick], names: Sequence[str]) -> list[str]:
        """Describe what the tricks reveal about the other hands."""
        void = [
            f"{names[seat]} in {', '.join([name for suit, name in SUIT_NAMES.items() if suit in suits])}"
            for seat, suits in enumerate(find_voids(tricks, _ORDER))
            if suits
        ]
        lines = [f"Out of a suit, as seen: {'; '.join(void) or 'nobody'}."]
        if self.must_break:
            played = [card for trick in tricks for card in trick.cards]
            broken = any(card[1] == "h" or (card == "Qs" and self.queen_breaks) for card in played)
            lines.append(f"Hearts are {'broken' if broken else 'not broken'}.")
        return lines


class _View(NamedTuple):
    """Parts of the engine's information state. After the end, the hand is the one originally dealt."""

    way: str
    hand: list[str]
    passed: list[str]
    received: list[str]
    tricks: list[Trick]
    points: list[int]


def _parse_view(view: str) -> _View:
    lines = iter(view.split("\n"))
    way = next(lines).removeprefix("Pass Direction: ")
    hand: list[str] = []
    passed: list[str] = []
    received: list[str] = []
    leader = 0
    played: list[str] = []
    points = [0, 0, 0, 0]
    for line in lines:
        if line == "Hand: ":
            for suit in SUIT_NAMES:
                ranks = next(lines)[2:]
                hand += [rank + suit for rank in ranks if ranks != "none"]
        elif line.startswith("Passed Cards: "):
            passed = _parse_cards(line)
        elif line.startswith("Received Cards: "):
            received = _parse_cards(line)
        elif line == "Tricks:":
            next(lines)  # `N  E  S  W  N  E  S`: three columns per seat
            while trick := next(lines):
                leader = leader if played else (len(trick) - len(trick.lstrip(" "))) // 3
                played += [_parse_card(card) for card in trick.split()]
        elif line == "Points:":
            points = [int(next(lines)[3:]) for _ in range(4)]
    return _View(way, hand, passed, received, _ORDER.tricks(played, leader), points)


def _parse_cards(line: str) -> list[str]:
    """Return the cards in an engine line: `Passed Cards: 6S JC` → `6s`, `Jc`."""
    return [_parse_card(card) for card in line.partition(": ")[2].split()]


def _parse_card(card: str) -> str:
    return card[0] + card[1].lower()


class HeartsGame(OpenSpielGame):
    """Hearts, with fixes where the engine breaks its own rules."""

    def __init__(self, spec: GameSpec, params: Mapping[str, Any]) -> None:
        super().__init__(spec, params, load_engine_game("hearts", params), Hearts(**params))
        # The engine's bound is 36 for every rule set (hearts.h, kMaxScore). Only the bonus for Jd reaches it.
        most = 36.0 if params["jd_bonus"] else 31.0 if params["avoid_all_tricks_bonus"] else 26.0
        self.utility_range = (0.0, most)

    def sample(self, match: OpenSpielMatch, seat: int, rng: random.Random) -> OpenSpielMatch:
        history = match.state.history()
        leader = next((event.seat for event in match.events[65 if history[0] else 53 :]), match.state.current_player())
        return self.world(match, redeal(history, seat, leader, self.params, rng), rng)

    def list_chances(self, state: pyspiel.State) -> Sequence[tuple[int, float]]:
        # Without passing, only one direction is legal, but the engine lists all four as outcomes (hearts.cc,
        # ChanceOutcomes).
        if not self.params["pass_cards"] and not state.history():
            return [(0, 1.0)]
        return super().list_chances(state)


game = HeartsGame
