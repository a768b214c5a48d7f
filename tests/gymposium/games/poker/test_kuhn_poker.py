"""Kuhn poker: all deals and all sequences of moves."""

from __future__ import annotations

import itertools

import pytest

from gymposium import load_game
from gymposium.games.protocol import CHANCE, Event, Match

from ..matches import parse_lines

DEALS = list(itertools.permutations("JQK", 2))


def kuhn(deal: tuple[str, str], *moves: str) -> Match:
    """Return the match with these cards and moves."""
    chance = [Event(CHANCE, f"Deal:{'JQK'.index(card)}") for card in deal]
    turns = [Event(i % 2, move) for i, move in enumerate(moves)]
    return load_game("kuhn_poker").load([*chance, *turns])


@pytest.mark.parametrize("deal", DEALS, ids="".join)
@pytest.mark.parametrize(
    ("moves", "chips"),
    [
        (("pass", "pass"), "showdown 1"),
        (("pass", "bet", "pass"), "seat 1 takes 1"),
        (("pass", "bet", "bet"), "showdown 2"),
        (("bet", "pass"), "seat 0 takes 1"),
        (("bet", "bet"), "showdown 2"),
    ],
    ids="-".join,
)
def test_play_agrees_with_the_rules_model(deal: tuple[str, str], moves: tuple[str, ...], chips: str) -> None:
    for upto in range(len(moves)):
        match = kuhn(deal, *moves[:upto])
        seat = upto % 2
        assert match.to_move() == (seat,)
        assert match.legal_moves(seat) == ["pass", "bet"]
        for who in (0, 1):
            assert f"Your card: {deal[who]}." in match.observe(who).text
            assert deal[1 - who] not in match.observe(who).text
            paid = [1 + sum(m == "bet" for m in moves[:upto][s::2]) for s in (who, 1 - who)]
            assert f"Chips in the pot: you {paid[0]}, your opponent {paid[1]}." in match.observe(who).text
            told = parse_lines(match.observe(who, "compact").text)
            assert told["card"] == deal[who]
            assert told["moves"] == (" ".join(moves[:upto]) or "none")
            assert told["legal"] == ("pass bet" if who == seat else "none")
    match = kuhn(deal, *moves)
    assert match.to_move() == ()
    kind, *_, amount = chips.split()
    high = "JQK".index(deal[0]) > "JQK".index(deal[1])
    winner = (0 if high else 1) if kind == "showdown" else int(chips.split()[1])
    assert match.returns() == tuple(float(amount) * (1 if s == winner else -1) for s in (0, 1))
    assert "legal none" in match.observe(0, "compact").text


def test_returns_range_from_minus_2_to_2() -> None:
    assert load_game("kuhn_poker").utility_range == (-2.0, 2.0)
    assert "from -2 to 2" in load_game("kuhn_poker").rules(0)
