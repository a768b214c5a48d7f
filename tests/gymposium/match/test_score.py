"""Scores in [0, 1] for one, two and more seats."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, strategies as st

from gymposium import Table, load_game
from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.match.score import match_score
from gymposium.records.scores import Score


def poker(seats: int) -> Game:
    return load_game(f"openspiel:kuhn_poker(players={seats})")


def test_two_seats_score_win_draw_or_loss_at_any_stakes() -> None:
    game = load_game("leduc_poker")
    assert [match_score(game, (13.0, -13.0), seat) for seat in (0, 1)] == [1.0, 0.0]
    assert [match_score(game, (1.0, -1.0), seat) for seat in (0, 1)] == [1.0, 0.0]
    assert [match_score(game, (0.0, 0.0), seat) for seat in (0, 1)] == [0.5, 0.5]


def test_tied_seats_share_ranks() -> None:
    utilities = (3.0, 1.0, 1.0, -5.0)
    assert [match_score(poker(4), utilities, seat) for seat in range(4)] == [1.0, 0.5, 0.5, 0.0]
    assert [match_score(poker(3), (2.0, 2.0, -4.0), seat) for seat in range(3)] == [0.75, 0.75, 0.0]


def test_forfeiting_seat_ranks_below_all_others() -> None:
    hearts, nothing_yet = load_game("hearts"), (0.0, 0.0, 0.0, 0.0)
    scores = [match_score(hearts, nothing_yet, seat, forfeit=2) for seat in range(4)]
    assert scores == pytest.approx([2 / 3, 2 / 3, 0.0, 2 / 3])
    paid = [match_score(load_game("openspiel:matrix_pd"), (5.0, 0.0), seat, forfeit=0) for seat in (0, 1)]
    assert paid == [0.0, 1.0]


@given(st.lists(st.integers(-10, 10).map(float), min_size=2, max_size=6))
def test_rival_scores_average_one_half_and_keep_their_order(utilities: list[float]) -> None:
    game = poker(len(utilities))
    scores = [match_score(game, utilities, seat) for seat in range(len(utilities))]
    assert sum(scores) / len(scores) == pytest.approx(0.5)
    assert all(0.0 <= score <= 1.0 for score in scores)
    for one in range(len(scores)):
        for two in range(len(scores)):
            assert (utilities[one] > utilities[two]) == (scores[one] > scores[two])


def test_seat_without_rivals_is_scored_by_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = load_game("openspiel:2048")
    least, greatest = alone.utility_range
    assert [match_score(alone, [value], 0) for value in (least, (least + greatest) / 2, greatest)] == [0.0, 0.5, 1.0]
    together = load_game("leduc_poker")  # as if its seats were partners; it pays from -13 to 13
    monkeypatch.setattr(together, "spec", replace(together.spec, utility="cooperative"))
    assert [match_score(together, [value, value], 1) for value in (-13.0, 0.0, 13.0)] == [0.0, 0.5, 1.0]


def test_unbounded_range_gives_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = load_game("openspiel:2048")
    monkeypatch.setattr(endless, "utility_range", (0.0, float("inf")))
    with pytest.raises(BadOption, match="from 0 to inf"):
        match_score(endless, [3.0], 0)


def test_wrong_seat_or_utility_count_is_an_error() -> None:
    for seat in (-1, 3):
        with pytest.raises(BadOption, match=rf"seat={seat} must be a seat from 0 to 2"):
            match_score(poker(3), (2.0, 2.0, -4.0), seat)
    with pytest.raises(BadOption, match=r"utilities=\(1.0, -1.0\) must have 3 values, one per seat"):
        match_score(poker(3), (1.0, -1.0), 0)


@pytest.mark.parametrize("seat", [-1, 2])
def test_results_of_a_wrong_seat_are_errors(seat: int) -> None:
    table = Table("kuhn_poker", seats=(0, 1), seed=1)
    with pytest.raises(BadOption, match="must be a seat from 0 to 1"):
        table.get_return(seat)
    while table.asked:
        table.answer(table.asked[0].seat, "pass")
    assert table.played is not None
    for look in (table.get_return, table.played.result, partial(Score().add, table.played)):
        with pytest.raises(BadOption, match="must be a seat from 0 to 1"):
            look(seat)
