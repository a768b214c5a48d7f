"""`exact` achieves the value of each position, and refuses unsupported games."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gymposium import load_game, make_player
from gymposium.analysis.exact import TooLarge, compute_exploitability, compute_value, tabulate_policy
from gymposium.analysis.exact.minimax import Minimax
from gymposium.analysis.exact.players import ExactPlayer
from gymposium.errors import GymposiumError
from gymposium.match import MatchJob, play
from gymposium.players.protocol import Ask, MatchContext


def test_exact_player_is_unexploitable_at_tic_tac_toe() -> None:
    policy = tabulate_policy(load_game("tic_tac_toe"), ExactPlayer())
    assert compute_exploitability(policy) == 0
    against_random = compute_value(policy).mean
    assert against_random.loss == 0
    assert 0.85 < against_random.win < 0.9556  # the most that can be won without risk; this one does not try to


@pytest.mark.parametrize(
    ("game", "worth"),
    [
        ("tic_tac_toe", 0),
        ("connect_four(rows=4,columns=4,x_in_row=3)", 1),
        ("hex(board_size=3)", 1),
        ("clobber(rows=4,columns=3)", -1),
        ("breakthrough(rows=4,columns=3)", 1),
        ("breakthrough(rows=3,columns=2)", 1),
        ("openspiel:oware(num_houses_per_player=2,num_seeds_per_house=2)", 1),
    ],
)
def test_exact_player_achieves_the_game_value(game: str, worth: float) -> None:
    loaded = load_game(game)
    exact, random = ExactPlayer(), make_player("random")
    for seat, most in ((0, worth), (1, -worth)):
        assert Minimax(loaded, seat, 100_000).value(loaded.new(0)) == most
        players = [exact, random] if seat == 0 else [random, exact]
        returns = [p.utilities[seat] for p in play(MatchJob(str(i), loaded, players, i) for i in range(30))]
        assert min(returns) >= most
    both = [p.utilities[0] for p in play(MatchJob(str(i), loaded, [exact, exact], i) for i in range(5))]
    assert both == [worth] * 5


def test_chooses_randomly_among_equal_moves() -> None:
    loaded = load_game("tic_tac_toe")
    first: Counter[str] = Counter()
    exact = ExactPlayer()
    for played in play(MatchJob(str(i), loaded, [exact, exact], i) for i in range(200)):
        first[played.events[0].move] += 1
    assert len(first) == 9  # all nine draw
    ask = Ask(MatchContext(loaded.new(0), "m", 0), 0, 0)
    (found,) = exact.distributions([ask])
    assert found.probabilities == pytest.approx([1 / 9] * 9)


@pytest.mark.parametrize(
    ("game", "reason"),
    [
        ("kuhn_poker", "perfect information"),
        ("pig", "no chance"),
        ("goofspiel(num_cards=3,points_order=descending)", "two seats that alternate"),
        ("blackjack", "two seats that alternate"),
        ("trace", "two seats that alternate"),
        ("openspiel:checkers", "positions repeat"),
    ],
)
def test_refuses_unsupported_games(game: str, reason: str) -> None:
    loaded = load_game(game)
    match = loaded.new(0)
    (seat, *_) = match.to_move()
    with pytest.raises(TooLarge, match=reason):
        ExactPlayer().act([Ask(MatchContext(match, "m", 0), seat, 0)])


def test_refuses_a_game_with_too_many_positions() -> None:
    loaded = load_game("othello")
    with pytest.raises(TooLarge, match="more than 500 positions"):
        Minimax(loaded, 0, 500).value(loaded.new(0))


def test_refuses_a_general_sum_game(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_game("tic_tac_toe")
    monkeypatch.setattr(loaded, "spec", replace(loaded.spec, utility="general_sum"))
    with pytest.raises(GymposiumError, match="not zero-sum"):
        ExactPlayer().act([Ask(MatchContext(loaded.new(0), "m", 0), 0, 0)])
