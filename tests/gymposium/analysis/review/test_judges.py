"""Judges value decisions by minimax, by a fixed table, or by search."""

from __future__ import annotations

import math

import pytest

from gymposium import load_game, make_player
from gymposium.analysis.exact import compute_value, find_best_response, tabulate_policy
from gymposium.analysis.exact.graph import build_graph
from gymposium.analysis.exact.minimax import Minimax, list_children
from gymposium.analysis.exact.players import CfrPlayer
from gymposium.analysis.exact.policy import get_move_probabilities
from gymposium.analysis.review import MatchReview, UnjudgeableGame, choose_judge, choose_quick_judge, review_match
from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.match import MatchJob, play
from gymposium.records import Record

from ..exact.conftest import OddsPlayer


def records(game: Game, *names: str, matches: int = 6) -> list[Record]:
    players = [make_player(name) for name in names]
    return [Record.from_match(one) for one in play(MatchJob(f"m{n}", game, players, n) for n in range(matches))]


def reviews(game: Game, judge: str, *names: str, matches: int = 6) -> list[MatchReview]:
    return [review_match(record, choose_judge(game, judge)) for record in records(game, *names, matches=matches)]


@pytest.mark.parametrize(
    ("game", "judge"),
    [
        ("tic_tac_toe", "exact"),
        ("connect_four", "search-10000"),
        ("kuhn_poker", "cfr-1000"),
        ("goofspiel(num_cards=3)", "cfr-1000"),
        pytest.param("goofspiel(num_cards=4)", "cfr-100", marks=pytest.mark.slow),
        ("backgammon", "search-10000"),
    ],
)
def test_chooses_the_judge_by_game(game: str, judge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium.analysis.review.judge.MOST_POSITIONS", 5_000)
    assert choose_judge(load_game(game)).name == judge


@pytest.mark.parametrize(
    ("game", "judge", "why"),
    [
        ("solitaire", None, "zero-sum games with two seats"),
        ("coin_game", None, "zero-sum games with two seats"),
        ("connect_four", "exact", "more than 5,000 positions"),
        ("tic_tac_toe", "cfr-10", "perfect information"),
        ("kuhn_poker", "exact", "perfect information and no chance"),
        ("openspiel:skat", "search-10", "two seats"),
        ("openspiel:gin_rummy", "search-10", "search-10 does not play openspiel:gin_rummy"),
    ],
)
def test_unjudgeable_games_are_refused(game: str, judge: str | None, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium.analysis.review.judge.MOST_POSITIONS", 5_000)
    with pytest.raises(UnjudgeableGame, match=why):
        choose_judge(load_game(game), judge)


@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker"])
def test_quick_judge_of_a_small_game_is_the_usual_one(game: str) -> None:
    quick, usual = (choose(load_game(game)) for choose in (choose_quick_judge, choose_judge))
    assert (quick.name, quick.digest) == (usual.name, usual.digest)


@pytest.mark.parametrize(
    ("game", "why"),
    [
        ("connect_four", "connect_four has more than 20,000 positions"),
        ("leduc_poker", "leduc_poker has more than 1,000 positions"),
        ("backgammon", "backgammon has"),
        ("solitaire", "zero-sum games with two seats"),
    ],
)
def test_quick_judge_needs_a_small_game(game: str, why: str) -> None:
    with pytest.raises(UnjudgeableGame, match=why):
        choose_quick_judge(load_game(game))


@pytest.mark.parametrize("name", ["", "mcts-10", "cfr-0", "search", "cfr-x", "exact-1"])
def test_unknown_judge_is_an_error(name: str) -> None:
    with pytest.raises(BadOption, match="Use exact, cfr-N or search-N"):
        choose_judge(load_game("kuhn_poker"), name)


def test_minimax_losses_match_position_values() -> None:
    game = load_game("tic_tac_toe")
    solved = Minimax(game, 0, 10_000)
    for record in records(game, "random", "random"):
        found = review_match(record, choose_judge(game, "exact"))
        match, losses = game.new(record.seed), []
        for event in record.events:
            sign = 1 if event.seat == 0 else -1
            worth = {move: sign * solved.value(child) for move, child in list_children(match)}
            losses.append((event.seat, max(worth.values()) - worth[event.move]))
            match.apply({event.seat: event.move})
        assert [(one.seat, one.loss) for one in found.decisions] == losses
        # what was lost by one seat and given back by the other is the result
        assert sum(lost if seat else -lost for seat, lost in losses) == record.returns[0]
        assert all((one.best is None) == (one.loss == 0.0) for one in found.decisions)


def test_exact_play_loses_nothing() -> None:
    game = load_game("tic_tac_toe")
    assert all(one.loss == 0 for review in reviews(game, "exact", "exact", "exact") for one in review.decisions)


@pytest.mark.parametrize(
    "name",
    [
        "kuhn_poker",
        pytest.param("leduc_poker", marks=pytest.mark.slow),
        "goofspiel(num_cards=3)",
        pytest.param("liars_dice(dice_sides=3)", marks=pytest.mark.slow),
    ],
)
def test_losses_satisfy_the_performance_difference_lemma(name: str) -> None:
    """The performance difference lemma (Kakade and Langford, 2002): the mean of what the moves give away, over all
    matches against the table, is the difference of the mean returns."""
    game = load_game(name)
    judge, table, odd = (
        choose_judge(game, "cfr-50"),
        tabulate_policy(game, CfrPlayer(50)),
        tabulate_policy(game, OddsPlayer(3)),
    )
    graph = build_graph(game)
    for seat in (0, 1):
        reach, given = [0.0] * len(graph.positions), []
        reach[0] = 1.0
        answer = judge._answers[seat]  # type: ignore[attr-defined]
        for position, here in zip(graph.positions, reach, strict=True):
            odds = position.odds
            if position.seat >= 0:
                policy = odd if position.seat == seat else table
                odds, _ = get_move_probabilities(policy.table[position.seat, position.view])
            if position.seat == seat:
                worth = answer.worth[seat, position.view]
                given += [here * p * (max(worth) - one) for p, one in zip(odds, worth, strict=True)]
            for child, p in zip(position.children, odds, strict=True):
                reach[child] += here * p
        best = find_best_response(table).value.seats[seat].mean_return
        assert math.fsum(given) == pytest.approx(best - compute_value(odd, table).seats[seat].mean_return, abs=1e-9)


def test_decisions_are_judged_by_seat_knowledge() -> None:
    """A player near an equilibrium loses half of its matches and gives nearly nothing away."""
    game = load_game("kuhn_poker")
    near = [one for review in reviews(game, "cfr-1000", "cfr-1000", "cfr-1000", matches=40) for one in review.decisions]
    assert max(one.loss for one in near) < 0.02
    assert len({one.before for one in near}) > 2
    random = [one for review in reviews(game, "cfr-1000", "random", "random", matches=40) for one in review.decisions]
    assert max(one.loss for one in random) > 0.3


@pytest.mark.parametrize("game", ["connect_four(rows=4,columns=4)", "phantom_ttt", "pig(winscore=20)"])
def test_search_judge_is_deterministic(game: str) -> None:
    one, again = (reviews(load_game(game), "search-200", "random", "mcts-20", matches=2) for _ in range(2))
    assert one == again
    assert all(decision.loss >= 0.0 for review in one for decision in review.decisions)


@pytest.mark.slow
def test_search_judge_solves_endgames() -> None:
    game = load_game("connect_four(rows=4,columns=4)")
    for record in records(game, "random", "random", matches=3):
        exact, found = (review_match(record, choose_judge(game, judge)).decisions for judge in ("exact", "search-100"))
        assert exact[-3:] == found[-3:]


def test_table_judge_has_a_digest() -> None:
    game = load_game("kuhn_poker")
    one, other = choose_judge(game, "cfr-10"), choose_judge(game, "cfr-11")
    assert one.digest.startswith("sha256:")
    assert one.digest != other.digest
    assert choose_judge(load_game("tic_tac_toe")).digest == ""
