"""The random player: uniform, reproducible, in any seat of any game."""

from __future__ import annotations

from collections import Counter

import pytest

from gymposium import load_game, make_player
from gymposium.errors import UnknownName
from gymposium.match import MatchJob, play

CRITICAL = {1: 15.2, 2: 18.5, 6: 27.9, 8: 31.9}
"""Chi-square at 1 in 10,000 by degrees of freedom. The seeds are fixed: these tests never flicker."""


def jobs(game: str, n: int) -> list[MatchJob]:
    return [MatchJob(str(i), load_game(game), [make_player("random")] * 2, i) for i in range(n)]


@pytest.mark.parametrize(
    ("game", "choices"), [("tic_tac_toe", 9), ("connect_four", 7), ("kuhn_poker", 2), ("goofspiel(num_cards=3)", 3)]
)
@pytest.mark.parametrize("seat", [0, 1])
def test_first_moves_are_uniform(game: str, choices: int, seat: int) -> None:
    moves = [next(e.move for e in p.events if e.seat == seat) for p in play(jobs(game, 900))]
    counts = Counter(moves)
    if game == "tic_tac_toe" and seat == 1:  # one square is taken already: all nine are still alike
        assert len(counts) == choices
    expected = 900 / choices
    assert len(counts) == choices
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < CRITICAL[choices - 1]


def test_late_moves_are_uniform_over_legal_moves() -> None:
    """The place of the fifth move among its legal moves."""
    places: Counter[int] = Counter()
    for played in play(jobs("tic_tac_toe", 900)):
        match = load_game("tic_tac_toe").load(played.events[:4])
        places[(match.legal_moves(0) or []).index(played.events[4].move)] += 1
    assert sorted(places) == [0, 1, 2, 3, 4]
    assert sum((n - 180) ** 2 / 180 for n in places.values()) < 23.5


def test_equal_seeds_play_equally_and_others_differ() -> None:
    first, second = ([p.events for p in play(jobs("connect_four", 20))] for _ in range(2))
    assert first == second
    assert len({tuple(events) for events in first}) == 20


def test_random_matches_have_the_known_results() -> None:
    """Random tic-tac-toe: x wins 0.5849, o 0.2881, 0.1270 are drawn."""
    results = Counter(p.result(0) for p in play(jobs("tic_tac_toe", 2000)))
    for result, share in (("win", 0.5849), ("loss", 0.2881), ("draw", 0.1270)):
        assert results[result] / 2000 == pytest.approx(share, abs=0.035)


def test_players_are_made_by_name() -> None:
    assert make_player("random").name == "random"
    assert make_player("mcts-25").name == "mcts-25"
    with pytest.raises(UnknownName, match="Did you mean 'random'"):
        make_player("randon")
    for wrong in ("mcts", "mcts-0", "mcts--1", "mcts-x", "mcts-9999999999", "random-3"):
        with pytest.raises(UnknownName, match="Unknown player"):
            make_player(wrong)
