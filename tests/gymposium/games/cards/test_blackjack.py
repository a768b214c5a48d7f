"""Blackjack: prompts match the engine, and the dealer's hidden card is sampled uniformly."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable

import pyspiel
import pytest
from hypothesis import given, settings

from gymposium import load_game
from gymposium.games.protocol import CHANCE, Event, Match

from ..matches import check_readings, engine, list_moves, parse_lines, seeds, walk
from ..worlds import check_hint_is_found, check_nothing_leaks, check_worlds, chi_square

VALUES = {**{str(n): n for n in range(2, 10)}, **dict.fromkeys("TJQK", 10)}


def best_total(cards: list[str]) -> int:
    aces = sum(card[0] == "A" for card in cards)
    totals = [sum(VALUES.get(card[0], 1) for card in cards) + 10 * high for high in range(aces + 1)]
    return max([total for total in totals if total <= 21], default=min(totals))


@given(seeds)
@settings(max_examples=60)
def test_prompts_and_results_match_the_engine(seed: int) -> None:
    for match in walk(load_game("blackjack"), seed):
        state = engine(match)
        mine, dealers = ([card[1] + card[0].lower() for card in parse_cards(state, who)] for who in (0, 1))
        told = parse_lines(match.observe(0, "compact").text)
        text = match.observe(0).text
        assert told["cards"].split() == mine
        assert int(told["total"]) == best_total(mine) == state.get_best_player_total(0)
        assert text.startswith(f"Your cards: {' '.join(mine)} (total {best_total(mine)}). The dealer")
        if match.to_move():
            assert told["dealer"] == f"? {dealers[1]}"
            assert f"The dealer shows {dealers[1]};" in text
            assert dealers[0] not in re.findall(r"\b[A2-9TJQK][cdhs]\b", text)
            assert list_moves(match, 0) == ["hit", "stand"] == told["legal"].split()
            assert best_total(mine) <= 21
    assert told["dealer"].split() == dealers
    total, other = best_total(mine), best_total(dealers)
    assert f"The dealer's cards: {' '.join(dealers)} (total {other})." in text
    result = -1 if total > 21 else 1 if other > 21 else (total > other) - (total < other)
    assert match.returns() == (float(result),)
    assert told["result"] == f"{result:+d}"
    assert {1: "You win.", 0: "It is a tie.", -1: "You lose."}[result] in text
    if total > 21:
        assert len(dealers) == 2
    else:
        assert all(best_total(dealers[:n]) <= 16 for n in range(2, len(dealers)))
        assert other >= 17


def parse_cards(state: pyspiel.State, who: int) -> list[str]:
    suits, ranks = "CDHS", "A23456789TJQK"
    return [suits[card // 13] + ranks[card % 13] for card in state.cards(who)]


@pytest.mark.slow
def test_dealers_hidden_card_is_sampled_uniformly() -> None:
    game = load_game("blackjack")
    deal = ["H2", "CA", "D7", "HA"]  # the third is the hidden one
    match, rng = game.load([Event(CHANCE, card) for card in deal]), random.Random(0)
    drawn = Counter(match.resample(0, rng).events[2].move for _ in range(4900))
    assert len(drawn) == 49
    assert not {"H2", "CA", "HA"} & set(drawn)
    assert abs(chi_square(drawn, 49)) < 4


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    check_readings("blackjack", [], ["Hit", "double", "split", ""])


def test_worlds_are_consistent_with_the_seats_view(story: Callable[[Match, int], list[str]]) -> None:
    check_worlds("blackjack", 1.0, 40, story)


def test_nothing_leaks() -> None:
    check_nothing_leaks("blackjack", 20)


def test_leak_check_detects_a_hidden_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    check_hint_is_found("blackjack", 20, lambda state, seat: state.cards(1)[0] % 2, monkeypatch)
