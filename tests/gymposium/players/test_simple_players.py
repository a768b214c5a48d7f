"""The one-move search `greedy`, and heuristics for single games."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gymposium import load_game, make_player
from gymposium.errors import GymposiumError, NoSampler
from gymposium.games.protocol import Event
from gymposium.match import MatchJob, MatchResult, play
from gymposium.players.greedy import GreedyPlayer
from gymposium.players.protocol import Ask, MatchContext, check_plays
from gymposium.plugins.host import host


def matches(game: str, *players: str, count: int = 100) -> Iterator[MatchResult]:
    made = [make_player(name) for name in players]
    return play(MatchJob(str(i), load_game(game), made, i) for i in range(count))


def ask(game: str, moves: str, seat: int, seed: int = 0) -> Ask:
    """Asked after these moves, of the seats in turn."""
    match = load_game(game).load([Event(i % 2, move) for i, move in enumerate(moves.split())])
    return Ask(MatchContext(match, "m", seed), seat, 0)


# -- greedy


def test_greedy_takes_an_immediate_win() -> None:
    player = GreedyPlayer()
    asks = [ask("tic_tac_toe", "a1 b1 a2 b2", 0, seed) for seed in range(20)]
    assert {reply.text for reply in player.act(asks)} == {"a3"}


def test_greedy_ignores_later_threats() -> None:
    player = GreedyPlayer()
    asks = [ask("tic_tac_toe", "a1 b1 c3 b2", 0, seed) for seed in range(60)]  # b3 is threatened
    assert {reply.text for reply in player.act(asks)} == {"a2", "a3", "b3", "c1", "c2"}


@pytest.mark.parametrize(("game", "count"), [("tic_tac_toe", 60), ("connect_four", 60), ("2048", 12)])
def test_greedy_beats_random(game: str, count: int) -> None:
    seats = load_game(game).seats
    mine, theirs = (
        sum(p.utilities[0] for p in matches(game, *(first, "random")[:seats], count=count))
        for first in ("greedy", "random")
    )
    assert mine > theirs


def test_greedy_samples_worlds_in_imperfect_information() -> None:
    """With the last call in sight a sure hand calls, a lost one folds; which it has follows from its own card."""
    game = load_game("kuhn_poker")
    for mine, other in (("2", "0"), ("2", "1"), ("0", "1"), ("0", "2")):
        match = next(
            m for m in map(game.new, range(200)) if [event.move[-1] for event in m.events[:2]] == [mine, other]
        )
        match.apply({0: "pass"})
        match.apply({1: "bet"})
        (reply,) = GreedyPlayer().act([Ask(MatchContext(match, "m", 1), 0, 1)])
        assert reply.text == ("bet" if mine == "2" else "pass")


def test_greedy_reports_moves_without_a_world() -> None:
    player = GreedyPlayer()
    assert player.remarks() == []
    player.counts.update({"moves": 10, "no world": 3})
    assert player.remarks() == ["3 of 10 moves were random, as no world was found to search."]


def test_greedy_refuses_unsearchable_games() -> None:
    match = load_game("trace").new(0)
    with pytest.raises(NoSampler, match="greedy does not play trace"):
        GreedyPlayer().act([Ask(MatchContext(match, "m", 0), 0, 0)])


# -- rules of thumb


def test_hold_rolls_until_the_turn_is_worth_enough() -> None:
    for played in matches("pig", "hold-20", "hold-8", count=20):
        score, turn = [0, 0], 0
        for (seat, move), after in zip(played.events, [*played.events[1:], None], strict=True):
            if move == "roll" and after is not None:
                rolled = int(after.move.split()[-1])
                turn = 0 if rolled == 1 else turn + rolled
                assert seat < 0 or turn < (20, 8)[seat] + 6
            elif move == "stop":
                assert turn >= (20, 8)[seat] or score[seat] + turn >= 100
                score[seat], turn = score[seat] + turn, 0


def test_hold_20_beats_holding_early_and_random_play() -> None:
    for other in ("hold-5", "random"):
        assert sum(p.result(0) == "win" for p in matches("pig", "hold-20", other)) > 80


def test_match_prize_bids_the_value_of_the_prize() -> None:
    for played in matches("goofspiel", "match-prize", "random", count=20):
        prize = ""
        for seat, move in played.events:
            if seat < 0:
                prize = move.split()[-1]
            elif seat == 0:
                assert move == f"bid {prize}"
    assert sum(p.result(0) == "win" for p in matches("goofspiel", "match-prize", "random")) > 85


def test_stand_draws_like_the_dealer() -> None:
    for played in matches("blackjack", "stand-17", count=50):
        for turn in played.turns:
            assert turn.reading == "move"
    better, random = (sum(p.utilities[0] for p in matches("blackjack", n, count=400)) for n in ("stand-17", "random"))
    assert better > random


@pytest.mark.parametrize("name", ["hold-20", "match-prize", "stand-17"])
def test_each_heuristic_plays_only_its_game(name: str) -> None:
    with pytest.raises(GymposiumError, match=r"plays only \w+, not tic_tac_toe"):
        make_player(name).act([ask("tic_tac_toe", "", 0)])


@pytest.mark.parametrize("name", [name for spec in host().opponents.values() if spec.games for name in spec.offers()])
def test_players_made_for_some_games_refuse_others_before_the_first_move(name: str) -> None:
    with pytest.raises(GymposiumError):
        check_plays(make_player(name), load_game("openspiel:2048"))
