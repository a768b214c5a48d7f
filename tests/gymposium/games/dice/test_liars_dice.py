"""Liar's dice: prompts, legal moves and results agree with the rules and the engine."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.games.protocol import CHANCE

from ..matches import check_ends_of_ranges, check_readings, engine, list_moves, parse_lines, seeds, walk
from ..worlds import check_hint_is_found, check_nothing_leaks

dice_games = st.fixed_dictionaries(
    {
        "numdice": st.integers(1, 6),
        "dice_sides": st.integers(2, 9),
        "bidding_rule": st.sampled_from(["reset-face", "reset-quantity"]),
    }
)


@given(dice_games, seeds)
@settings(max_examples=40)
def test_prompts_and_results_match_the_engine(params: dict[str, object], seed: int) -> None:
    game = load_game("liars_dice", **params)
    sides, rule = game.params["dice_sides"], game.params["bidding_rule"]
    for style in ("full", "compact"):
        assert f"faces 1 to {sides}" in game.rules(0, style)
        assert f"{sides} is wild" in game.rules(1, style)
        assert "You bid first." in game.rules(0)
        assert "You bid second." in game.rules(1)
    for match in walk(game, seed):
        rolled = [sorted(face) for face in str(engine(match)).split(" ")[:2]]
        events = [event for event in match.events if event.seat != CHANCE]
        bids = [event.move for event in events if event.move != "liar"]
        for seat in (0, 1):
            told, text = parse_lines(match.observe(seat, "compact").text), match.observe(seat).text
            assert told["dice"].split() == rolled[seat]
            assert sorted(re.findall(r"\d", text.partition(".")[0])) == rolled[seat]
            assert told["bids"] == (" ".join(event.move for event in events) or "none")
            for number, bid in enumerate(bids):
                assert f"{'you' if number % 2 == seat else 'your opponent'} {bid}" in text
            legal = list_moves(match, seat)
            assert told["legal"] == (" ".join(legal) or "none")
        if match.to_move():
            [seat] = match.to_move()
            assert seat == len(bids) % 2
            legal = match.legal_moves(seat) or []
            assert ("liar" in legal) == bool(bids)
            for quantity in range(1, 2 * game.params["numdice"] + 1):
                for face in range(1, sides + 1):
                    assert (f"{quantity}x{face}" in legal) == raises(bids, quantity, face, rule)
            continue
        quantity, face = map(int, bids[-1].split("x"))
        true = sum(int(die) in (face, sides) for die in rolled[0] + rolled[1]) >= quantity
        bidder = (len(bids) - 1) % 2
        winner = bidder if true else 1 - bidder
        assert match.returns() == ((1.0, -1.0) if winner == 0 else (-1.0, 1.0))
        for seat in (0, 1):
            who = "You said liar to your opponent's" if seat != bidder else "Your opponent said liar to your"
            result = f"{'true' if true else 'false'}: you {'win' if seat == winner else 'lose'}"
            assert match.observe(seat).text.endswith(f"{who} {bids[-1]}, which was {result}.\n")
            assert f"result {'+' if seat == winner else '-'}1" in match.observe(seat, "compact").text


def raises(bids: list[str], quantity: int, face: int, rule: str) -> bool:
    """Return whether a bid may follow, by the rule in the prompt."""
    if not bids:
        return True
    last_quantity, last_face = map(int, bids[-1].split("x"))
    if rule == "reset-face":
        return quantity > last_quantity or (quantity == last_quantity and face > last_face)
    return face > last_face or (face == last_face and quantity > last_quantity)


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    check_readings("liars_dice", ["liar", "12x6"], ["2-3", "0x1", "Liar", "bid 1x1", "1x0"])


def test_parameter_ranges_are_playable_at_both_ends() -> None:
    check_ends_of_ranges("liars_dice", {"numdice": (1, 6), "dice_sides": (2, 9)})


def test_nothing_leaks() -> None:
    check_nothing_leaks("liars_dice(numdice=2)", 20)


def test_leak_check_detects_a_hidden_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    check_hint_is_found(
        "liars_dice(numdice=2)", 20, lambda state, seat: state.history()[2 * (1 - seat)] % 2, monkeypatch
    )
