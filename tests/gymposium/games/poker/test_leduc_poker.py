"""Leduc poker: all positions of some deals, against an independent model of the betting."""

from __future__ import annotations

import random

import pytest

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import CHANCE

from ..matches import parse_lines


def leduc_positions(match: OpenSpielMatch) -> list[OpenSpielMatch]:
    """Return every decision and every end of one deal and public card."""
    found = [match]
    for seat in match.to_move():
        for move in match.legal_moves(seat):
            child = match.fork(random.Random(1))
            child.apply({seat: move})
            found += leduc_positions(child)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_play_agrees_with_the_rules_model(seed: int) -> None:
    start = load_game("leduc_poker").new(seed)
    assert isinstance(start, OpenSpielMatch)
    cards = ("Js", "Jh", "Qs", "Qh", "Ks", "Kh")
    for match in leduc_positions(start):
        dealt = [cards[int(e.move.rpartition(":")[2])] for e in match.events if e.seat == CHANCE]
        chips, betting, played = [1, 1], 0, []  # type: ignore[var-annotated]
        rounds: list[list[str]] = [[], []]
        folded: int | None = None
        for event in match.events:
            if event.seat == CHANCE:
                continue
            played.append(event)
            rounds[betting].append(event.move)
            seat = event.seat
            assert seat == (len(rounds[betting]) - 1) % 2, "the first player acts first in each round"
            if event.move == "raise":
                chips[seat] = chips[1 - seat] + (2, 4)[betting]
            elif event.move == "call":
                chips[seat] = chips[1 - seat]
                if len(rounds[betting]) > 1:
                    betting += 1
            else:
                folded = seat
        public = dealt[2] if len(dealt) == 3 else None
        over = folded is not None or betting == 2
        assert (match.to_move() == ()) is over
        for seat in (0, 1):
            text, told = match.observe(seat).text, parse_lines(match.observe(seat, "compact").text)
            assert f"Your card: {dealt[seat]}. Public card: {public or 'not turned up yet'}." in text
            assert (told["card"], told["public"]) == (dealt[seat], public or "none")
            if over:
                won = int(match.returns()[seat])
                assert f"Chips won or lost: you {won:+d}, your opponent {-won:+d}." in text
                assert (told["result"], told["legal"]) == (f"{won:+d}", "none")
                continue
            assert f"Chips in the pot: you {chips[seat]}, your opponent {chips[1 - seat]}." in text
            assert told["pot"] == f"{chips[seat]} {chips[1 - seat]}"
            mine = seat == len(rounds[betting]) % 2
            assert (seat in match.to_move()) is mine
            legal = ["fold"] * (chips[0] != chips[1]) + ["call"] + ["raise"] * (rounds[betting].count("raise") < 2)
            assert match.legal_moves(seat) == (legal if mine else [])
            assert told["legal"] == (" ".join(legal) if mine else "none")
            for number, moves in enumerate(rounds, start=1):
                assert (f" round {number} " + (" ".join(moves) or "none")).strip() in match.observe(
                    seat, "compact"
                ).text
        if over:
            if folded is not None:
                winner: int | None = 1 - folded
            else:
                strength = [(dealt[s][0] == dealt[2][0], "JQK".index(dealt[s][0])) for s in (0, 1)]
                winner = None if strength[0] == strength[1] else int(strength[1] > strength[0])
            lost = chips[1 - winner] if winner is not None else 0
            assert match.returns() == tuple(0 if winner is None else lost if s == winner else -lost for s in (0, 1))


def test_returns_range_from_minus_13_to_13() -> None:
    assert load_game("leduc_poker").utility_range == (-13.0, 13.0)
    assert "from -13 to 13" in load_game("leduc_poker").rules(0)
