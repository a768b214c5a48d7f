"""Rejection sampling keeps winners' moves, with the prompts that the model will read."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.prompt import prompt_for
from gymposium.reading import reader
from gymposium_train.cold_start import Lesson, all_moves, paid_moves, random_games, winners_moves


@pytest.mark.parametrize("reply", ["move", "tags", "json"])
@pytest.mark.parametrize("name", ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)"])
def test_lessons_are_the_winners_turns(name: str, reply: str) -> None:
    game, how = load_game(name), reader(reply)
    finished = random_games(game, "compact", how, matches=20, seed=1, tag="t", each=lambda played: None)
    expected = []
    for played in finished:
        match = game.new(played.job.seed)  # play the match again and compare the winner's prompts
        turns = iter(played.turns)
        while seats := match.to_move():
            moves = {}
            for seat in seats:
                turn = next(turns)
                assert turn.seat == seat
                moves[seat] = turn.text
                if played.result(seat) == "win":
                    prompt = prompt_for(game, "compact", how)(match.observe(seat, "compact"))
                    expected.append(Lesson(({"role": "user", "content": prompt},), how.answer(turn.text)))
            match.apply(moves)
    assert winners_moves(finished) == expected


def test_all_moves_are_those_of_winners_and_losers() -> None:
    """Winners at poker never fold, so folding is learned from losers only."""
    game, how = load_game("kuhn_poker"), reader("move")
    finished = random_games(game, "compact", how, matches=200, seed=1, tag="t", each=lambda played: None)
    everything, winners = all_moves(finished), winners_moves(finished)
    assert len(everything) == sum(len(played.turns) for played in finished) > len(winners)
    facing_a_bet = [one for one in everything if "moves bet" in one.messages[0]["content"]]
    assert {one.reply for one in facing_a_bet} == {"pass", "bet"}
    assert {one.reply for one in winners if one in facing_a_bet} == {"bet"}


def test_where_the_model_will_read_the_match_so_far_lessons_show_it() -> None:
    """A later prompt of a match consists of the earlier prompt, its reply, and a question without the rules."""
    game, how = load_game("tic_tac_toe"), reader("tags")
    (played,) = random_games(game, "full", how, matches=1, seed=2, tag="t", each=lambda played: None, context="full")
    for seat in (0, 1):
        mine: list[Lesson] = [turn.trace for turn in played.turns if turn.seat == seat]
        for before, after in pairwise(mine):
            assert after.messages[:-1] == (*before.messages, {"role": "assistant", "content": before.reply})
            assert len(after.messages[-1]["content"]) < len(before.messages[0]["content"])


def test_the_same_seed_gives_the_same_games() -> None:
    game = load_game("tic_tac_toe")
    again = [
        [
            p.events
            for p in random_games(game, "compact", reader("move"), matches=9, seed=s, tag="t", each=lambda _: None)
        ]
        for s in (1, 1, 2)
    ]
    assert again[0] == again[1] != again[2]


def test_alone_the_best_matches_are_kept() -> None:
    finished = random_games(
        load_game("2048"), "compact", reader("move"), matches=8, seed=1, tag="t", each=lambda played: None
    )
    best = sorted(finished, key=lambda p: -p.returns[0])[:2]
    assert len(winners_moves(finished)) == sum(len(p.turns) for p in best)


def test_moves_that_were_paid_for_are_those_behind_which_the_score_is_higher() -> None:
    game = load_game("2048")
    finished = random_games(
        game, "compact", reader("move"), matches=3, seed=1, tag="t", each=lambda played: None, note_pay=True
    )
    paid, others = [], []
    for played in finished:
        match = game.new(played.job.seed)  # play the match again and compare the score
        for turn in played.turns:
            before = match.returns()[0]
            match.apply({0: turn.text})
            (paid if match.returns()[0] > before else others).append(turn.trace)
    assert paid_moves(finished) == paid + others[::4]
    assert 0 < len(paid) < len(all_moves(finished))


def test_at_the_end_alone_the_last_move_of_a_winner_is_paid_for() -> None:
    game = load_game("tic_tac_toe")
    finished = random_games(
        game, "compact", reader("move"), matches=20, seed=1, tag="t", each=lambda played: None, note_pay=True
    )
    wins = [p.turns[-1].trace for p in finished if p.result(p.turns[-1].seat) == "win"]
    assert paid_moves(finished)[: len(wins)] == wins
    assert len(paid_moves(finished)) == len(wins) + math.ceil((len(all_moves(finished)) - len(wins)) / 4)


def test_paid_moves_say_what_they_are_missing() -> None:
    with pytest.raises(GymposiumError, match=r"cold_start\.keep"):
        paid_moves([])
    unnoted = random_games(
        load_game("tic_tac_toe"), "compact", reader("move"), matches=1, seed=1, tag="t", each=lambda played: None
    )
    with pytest.raises(ValueError, match="note_pay"):
        paid_moves(unnoted)


def test_without_a_winner_there_is_nothing_to_imitate() -> None:
    with pytest.raises(GymposiumError, match=r"cold_start\.games"):
        winners_moves([])
