"""Rejection sampling keeps winners' moves, with the prompts that the model will read."""

from __future__ import annotations

import pytest

from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.prompt import prompt_for
from gymposium.reading import reader
from gymposium_agents.loading import LoadedModel
from gymposium_train.cold_start import cosine, random_games, tokenized, winners_moves
from gymposium_train.config import ColdStart


@pytest.mark.parametrize("reply", ["move", "tags", "json"])
@pytest.mark.parametrize("name", ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)"])
def test_pairs_are_the_winners_turns(name: str, reply: str) -> None:
    game, how = load_game(name), reader(reply)
    finished = random_games(game, "compact", how, matches=20, seed=1, tag="t", each=lambda played: None)
    expected = []
    for played in finished:
        match = game.new(played.job.seed)  # play it again, looking over the winner's shoulder
        turns = iter(played.turns)
        while seats := match.to_move():
            moves = {}
            for seat in seats:
                turn = next(turns)
                assert turn.seat == seat
                moves[seat] = turn.text
                if played.result(seat) == "win":
                    prompt = prompt_for(game, "compact", how)(match.observe(seat, "compact"))
                    expected.append((prompt, how.answer(turn.text)))
            match.apply(moves)
    assert winners_moves(finished) == expected


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


def test_without_a_winner_there_is_nothing_to_imitate() -> None:
    with pytest.raises(GymposiumError, match="--cold-start-games"):
        winners_moves([])


def test_tokens_say_the_same(tiny: LoadedModel) -> None:
    ((prompt, completion),) = tokenized([("x . o", "b2")], tiny.chat)
    assert prompt == tiny.chat.prompt("x . o")
    assert completion == tiny.chat.reply("b2")


def test_the_learning_rate_rises_and_falls() -> None:
    settings = ColdStart(learning_rate=1.0, warmup=0.1)
    rates = [cosine(i / 100, settings) for i in range(101)]
    assert rates[0] == 0.0
    assert max(rates) == rates[10] == 1.0
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[100] == pytest.approx(0.0)
