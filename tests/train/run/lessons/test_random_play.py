"""Rejection sampling keeps the winners' moves with the prompts that the model will read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from gymposium import GameSpec
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Style
from gymposium.games.registry import load_game
from gymposium.games.rules import make_game_factory
from gymposium.match import MatchResult
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader
from gymposium_train.run.lessons import Lesson, RandomPlay, list_all_moves, list_paid_moves, list_winners_moves


@pytest.mark.parametrize("reply", ["move", "tags", "json"])
@pytest.mark.parametrize("name", ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)"])
def test_lessons_are_turns_of_winners(name: str, reply: str) -> None:
    game, how = load_game(name), get_reader(reply)
    finished = RandomPlay(game, "compact", how, seed=1, tag="t").play(20)
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
                    prompt = get_prompt(game, "compact", how)(match.observe(seat, "compact"))
                    legal = tuple(match.legal_moves(seat) or ())
                    expected.append(Lesson(({"role": "user", "content": prompt},), how.answer(turn.text), legal=legal))
            match.apply(moves)
    assert list_winners_moves(finished) == expected


def test_all_moves_include_winners_and_losers() -> None:
    """Winners at poker never fold, so folding is learned from losers only."""
    game, how = load_game("kuhn_poker"), get_reader("move")
    finished = RandomPlay(game, "compact", how, seed=1, tag="t").play(200)
    everything, winners = list_all_moves(finished), list_winners_moves(finished)
    assert len(everything) == sum(len(played.turns) for played in finished) > len(winners)
    facing_a_bet = [one for one in everything if "moves bet" in one.messages[0]["content"]]
    assert {one.reply for one in facing_a_bet} == {"pass", "bet"}
    assert {one.reply for one in winners if one in facing_a_bet} == {"bet"}


def test_lessons_show_history_if_the_context_does() -> None:
    """A later prompt of a match consists of the earlier prompt, its reply, and a question without the rules."""
    game, how = load_game("tic_tac_toe"), get_reader("tags")
    (played,) = RandomPlay(game, "full", how, seed=2, tag="t", context="full").play(1)
    for seat in (0, 1):
        mine: list[Lesson] = [turn.trace for turn in played.turns if turn.seat == seat]
        for before, after in pairwise(mine):
            assert after.messages[:-1] == (*before.messages, {"role": "assistant", "content": before.reply})
            assert len(after.messages[-1]["content"]) < len(before.messages[0]["content"])


def test_same_seed_plays_the_same_matches() -> None:
    game = load_game("tic_tac_toe")
    again = [
        [p.events for p in RandomPlay(game, "compact", get_reader("move"), seed=s, tag="t").play(9)] for s in (1, 1, 2)
    ]
    assert again[0] == again[1] != again[2]


def test_best_matches_are_kept_in_single_player_games() -> None:
    finished = RandomPlay(load_game("2048"), "compact", get_reader("move"), seed=1, tag="t").play(8)
    best = sorted(finished, key=lambda p: -p.returns[0])[:2]
    assert len(list_winners_moves(finished)) == sum(len(p.turns) for p in best)


class SharedPayoffMatch:
    """The seat that moves last gets one pay, and the others another: no seat ever wins alone."""

    moves, max_decisions, utility_range = ("wait", "end"), 9, (-1.0, 0.5)

    def __init__(self, seats: int, last: float, others: float) -> None:
        self.seats, self.last, self.others = seats, last, others

    def start(self) -> tuple[int, bool]:
        return 0, False

    def to_move(self, position: tuple[int, bool]) -> tuple[int, ...]:
        return () if position[1] else (position[0] % self.seats,)

    def legal_moves(self, position: tuple[int, bool], seat: int) -> tuple[str, ...]:
        return self.moves

    def play(self, position: tuple[int, bool], moves: Mapping[int, str]) -> tuple[int, bool]:
        return position[0] + 1, "end" in moves.values() or position[0] == 8

    def returns(self, position: tuple[int, bool]) -> tuple[float, ...]:
        last = (position[0] - 1) % self.seats
        return tuple(
            0.0 if not position[1] else self.last if seat == last else self.others for seat in range(self.seats)
        )

    def rules(self, seat: int, style: Style) -> str:
        return "Wait or end.\n"

    def position(self, position: tuple[int, bool], seat: int, style: Style) -> str:
        return f"move {position[0]}\n"


@pytest.mark.parametrize(
    ("seats", "last", "others", "utility"),
    [(3, -1.0, 0.5, "zero_sum"), (4, -1.0, 0.0, "general_sum"), (2, 0.5, 0.5, "cooperative")],
)
def test_tied_winners_are_imitated(seats: int, last: float, others: float, utility: Any) -> None:
    spec = GameSpec(name="shared", title="S", summary="S.", entry_point="x:game", seats=seats, utility=utility)
    game = make_game_factory(lambda: SharedPayoffMatch(seats, last, others))(spec, {})
    play = RandomPlay(game, "compact", get_reader("move"), seed=1, tag="t")
    finished = play.play(20)
    kept = list_winners_moves(finished)
    assert kept
    if utility != "cooperative":
        assert kept == [t.trace for p in finished for t in p.turns if p.utilities[t.seat] == others]
    assert len(play.lot(30)) >= 30


def test_paid_moves_raise_the_score() -> None:
    game = load_game("2048")
    finished = RandomPlay(game, "compact", get_reader("move"), seed=1, tag="t", keep="paid").play(3)
    paid, others = [], []
    for played in finished:
        match = game.new(played.job.seed)  # play the match again and compare the score
        for turn in played.turns:
            before = match.returns()[0]
            match.apply({0: turn.text})
            (paid if match.returns()[0] > before else others).append(turn.trace)
    assert list_paid_moves(finished) == paid + others[::4]
    assert 0 < len(paid) < len(list_all_moves(finished))


def test_final_reward_pays_only_the_last_winning_move() -> None:
    game = load_game("tic_tac_toe")
    finished = RandomPlay(game, "compact", get_reader("move"), seed=1, tag="t", keep="paid").play(20)
    wins = [p.turns[-1].trace for p in finished if p.result(p.turns[-1].seat) == "win"]
    assert list_paid_moves(finished)[: len(wins)] == wins
    assert len(list_paid_moves(finished)) == len(wins) + math.ceil((len(list_all_moves(finished)) - len(wins)) / 4)


def test_paid_moves_require_stored_returns() -> None:
    unnoted = RandomPlay(load_game("tic_tac_toe"), "compact", get_reader("move"), seed=1, tag="t").play(1)
    with pytest.raises(ValueError, match="store_returns"):
        list_paid_moves(unnoted)


def test_lots_have_the_requested_number_of_lessons() -> None:
    played: dict[str, int] = {}
    for name in ("tic_tac_toe", "hex(board_size=5)"):
        finished: list[MatchResult] = []
        play = RandomPlay(load_game(name), "compact", get_reader("move"), seed=1, tag="t", each=finished.append)
        lots = [play.lot(300), play.lot(300)]
        played[name] = len(finished)
        assert all(300 <= len(lot) < 450 for lot in lots)
        assert lots[0] != lots[1]
        assert len({one.job.id for one in finished}) == len(finished)
        assert all(lesson.legal is not None and lesson.reply in lesson.legal for lot in lots for lesson in lot)
    assert played["hex(board_size=5)"] < played["tic_tac_toe"] / 2


def test_newest_lot_repeats_after_the_last_match() -> None:
    finished: list[MatchResult] = []
    how = get_reader("move")
    play = RandomPlay(load_game("kuhn_poker"), "compact", how, seed=1, tag="t", each=finished.append, matches=20)
    first = play.lot(1000)
    assert len(finished) == 20
    assert play.lot(1000) == first
    assert len(finished) == 20


def test_random_play_ends_without_moves_worth_imitating() -> None:
    """The moves of a match without a winner."""
    game, how = load_game("tic_tac_toe"), get_reader("move")
    plays = (RandomPlay(game, "compact", how, seed=seed, tag="t").play(1)[0] for seed in range(100))
    drawn = next(seed for seed, played in enumerate(plays) if played.result(0) == "draw")
    play = RandomPlay(game, "compact", how, seed=drawn, tag="t", matches=1)
    with pytest.raises(GymposiumError, match=r"No move of 1 random matches of tic_tac_toe .*cold_start\.keep"):
        play.lot(10)
