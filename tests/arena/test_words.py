"""Results as text."""

from __future__ import annotations

from gymposium_arena.results.model import Interval, Place, RatedBoard, Standing
from gymposium_arena.results.words import find_paid_less, make_display_names


def standing(player: str, rank: int | None, low: float | None, high: float | None) -> Standing:
    place = None if rank is None else Place(rank=rank, best=rank, worst=rank, group="a")
    returned = Interval(value=0.0, low=low, high=high)
    return Standing(
        player=player,
        matches=8,
        bound="interval",
        rating=100.0,
        low=90.0,
        high=110.0,
        place=place,
        returned=returned,
        corrected=None,
    )


def board(*standings: Standing) -> RatedBoard:
    return RatedBoard(standings=list(standings), players=[], payoff=[], cycles=[], flip=None)


def test_ambiguous_labels_include_the_player() -> None:
    given = {
        "exact": "exact",
        "lm:a": "exact",
        "lm:b": "Best",
        "lm:c": "Best",
        "lm:d": "lm:e",
        "lm:e": "E",
    }
    assert make_display_names(given) == {
        "exact": "exact",
        "lm:a": "exact (lm:a)",
        "lm:b": "Best (lm:b)",
        "lm:c": "Best (lm:c)",
        "lm:d": "lm:e (lm:d)",
        "lm:e": "E",
    }


def test_frequent_small_winners_are_flagged() -> None:
    rows = [
        standing("often", 1, -1.0, -0.4),
        standing("well", 2, 0.5, 1.5),
        standing("perhaps", 3, -0.5, 0.6),
        standing("badly", 4, -2.0, -1.2),
        standing("nobody knows", None, 5.0, 6.0),
    ]
    assert find_paid_less(board(*rows)) == {"often": ["well"]}
    assert find_paid_less(board(*rows[1:])) == {}


def test_nothing_is_flagged_without_intervals() -> None:
    assert find_paid_less(board(standing("one", 1, None, None), standing("two", 2, 1.0, 2.0))) == {}
