"""`gymposium.Table`: an externally driven match equals a match of `play`."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.gymposium.conftest import FragileGame

import gymposium
from gymposium import load_game, make_player
from gymposium.envs.table import OutsideSeat, Table, advance_tables
from gymposium.errors import BadOption, GymposiumError, UnexpectedReply, UnknownName, WrongType
from gymposium.games.protocol import Style
from gymposium.match import EngineError, MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records import Record, find_first_difference
from gymposium.replies.reading import READERS

GAMES = (
    "tic_tac_toe",
    "kuhn_poker",
    "goofspiel(num_cards=4)",
    "openspiel:kuhn_poker(players=3)",
    "openspiel:goofspiel(players=3,num_cards=3)",
)
POLICIES = ("forfeit", "random", "retry(1)", "retry(2)", "penalty(0.5)", "penalty(0.25,1)")


def make_careless_replies(failures: Sequence[bool]) -> Callable[[int, int, list[str] | None], str]:
    """Replies that follow from the seat and the number of the reply alone, some of which fail."""

    def answer(seat: int, turn: int, legal: list[str] | None) -> str:
        assert legal
        if failures[(3 * turn + seat) % len(failures)]:
            return "no such move" if turn % 2 else ""
        return legal[(7 * turn + seat) % len(legal)]

    return answer


class CarelessPlayer:
    """The same replies as a player."""

    name, reader = "outside", READERS["move"]

    def __init__(self, failures: Sequence[bool]) -> None:
        self.style: Style = "full"
        self._answer = make_careless_replies(failures)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._answer(ask.seat, ask.turn, ask.legal_moves)) for ask in asks]


@settings(max_examples=60)
@given(
    name=st.sampled_from(GAMES),
    policy=st.sampled_from(POLICIES),
    seed=st.integers(0, 2**32),
    opening=st.integers(0, 2),
    outside=st.sets(st.integers(0, 2), min_size=1),
    failures=st.lists(st.booleans(), min_size=1, max_size=5),
)
def test_table_records_match_play(
    name: str, policy: str, seed: int, opening: int, outside: set[int], failures: list[bool]
) -> None:
    game = load_game(name)
    seats = sorted({seat % game.seats for seat in outside})
    answer = make_careless_replies(failures)
    table = gymposium.Table(
        game, seats=seats, opponents="random", seed=seed, on_illegal=policy, opening=opening, match_id="m"
    )
    while table.asked:
        for asked in table.asked:
            assert asked.seat in seats
            table.answer(asked.seat, answer(asked.seat, asked.ask.turn, asked.legal_moves))
    players: list[Player] = [
        CarelessPlayer(failures) if s in seats else make_player("random") for s in range(game.seats)
    ]
    (played,) = play([MatchJob("m", game, players, seed, on_illegal=FailurePolicy.parse(policy), opening=opening)])
    assert table.record() == Record.from_match(played)
    assert find_first_difference(table.record()) is None


def test_opponents_have_answered_when_answer_returns() -> None:
    table = gymposium.Table("kuhn_poker", seats=0, opponents=["mcts-100"], seed=7)
    while table.asked:
        for asked in table.asked:
            assert "Your card" in asked.text
            table.answer(asked.seat, "bet")
    assert table.played is not None
    assert table.played.result(0) in ("win", "loss")
    assert table.record().players == ["outside", "mcts-100"]
    assert table.record().returns[0] == table.get_return(0)


def test_opponent_that_moves_first_has_already_moved() -> None:
    table = Table("tic_tac_toe", seats=1, seed=3)
    [asked] = table.asked
    assert asked.seat == 1
    assert len(asked.legal_moves or ()) == 8
    assert [turn.seat for turn in table.turns] == [0]


def test_simultaneous_move_waits_for_every_seat() -> None:
    table = Table("goofspiel(num_cards=4)", seats=[0, 1], seed=1)
    first, second = table.asked
    table.answer(1, "bid 2")
    assert [asked.seat for asked in table.asked] == [0]
    assert table.turns == []
    with pytest.raises(UnexpectedReply, match=r"Seat 1 has already answered. Answer for seat 0\."):
        table.answer(1, "bid 3")
    table.answer(0, 0)  # an index into the action space
    assert [(turn.seat, turn.reading) for turn in table.turns] == [(first.seat, "move"), (second.seat, "move")]


def test_penalized_reply_is_retried_with_the_reason() -> None:
    table = Table("tic_tac_toe", seats=(0, 1), on_illegal="penalty(0.5)", reply="tags", seed=0)
    table.answer(0, "a1")
    [asked] = table.asked
    assert (asked.seat, asked.ask.turn) == (0, 1)
    assert asked.text.startswith(asked.ask.reason or "no reason")
    assert dict(table.penalties) == {0: 0.5}
    assert table.get_return(0) == -0.5
    table.answer(0, "<move>a1</move>")
    assert [asked.seat for asked in table.asked] == [1]


def test_only_asked_seats_can_be_answered() -> None:
    table = Table("tic_tac_toe", seed=0)
    with pytest.raises(UnexpectedReply, match=r"Seat 1 is not asked now. Answer for seat 0\."):
        table.answer(1, "a1")
    with pytest.raises(WrongType, match="must be text or an index from 0 to 8, not 9"):
        table.answer(0, 9)
    with pytest.raises(GymposiumError, match="not over, so it has no record"):
        table.record()
    assert table.turns == []
    table.answer(0, "nowhere")
    assert (table.asked, table.over) == ([], True)
    with pytest.raises(UnexpectedReply, match=r"The match is over\. Set up a new Table"):
        table.answer(0, "a1")


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"seats": 2}, BadOption, r"seats=2 must be a seat from 0 to 1, or a list of them\."),
        ({"seats": [0, 0]}, BadOption, "no duplicates"),
        ({"seats": ()}, BadOption, "at least one seat"),
        ({"seats": True}, BadOption, "seats=True must be a seat"),
        ({"seats": "0"}, BadOption, "seats='0' must be a seat"),
        ({"opponents": ["random", "random"]}, BadOption, "got 2 players for 1 other seat"),
        ({"opponents": "mtcs-100"}, UnknownName, "mtcs-100"),
        ({"on_illegal": "shrug"}, BadOption, "Unknown policy on_illegal='shrug'"),
        ({"prompt": "loud"}, BadOption, "prompt='loud'"),
    ],
)
def test_table_refuses_invalid_arguments(keywords: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Table("tic_tac_toe", **keywords)


class FailingPlayer:
    """A player that raises at its second ask."""

    name, reader = "fails", READERS["move"]

    def __init__(self) -> None:
        self.style: Style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        if asks[0].turn:
            raise ZeroDivisionError("a bug")
        return make_player("random").act(asks)  # type: ignore[return-value]


def test_opponent_exception_propagates_and_ends_the_table() -> None:
    table = Table("tic_tac_toe", opponents=FailingPlayer(), seed=2)
    table.answer(0, table.asked[0].legal_moves[0])  # type: ignore[index]
    with pytest.raises(ZeroDivisionError):
        table.answer(0, table.asked[0].legal_moves[0])  # type: ignore[index]
    with pytest.raises(UnexpectedReply, match="A player failed in this match"):
        table.answer(0, "a1")


def test_engine_failure_carries_the_partial_match() -> None:
    table = Table(FragileGame(), seats=[0, 1])  # type: ignore[arg-type]
    table.answer(0, "a1")
    with pytest.raises(EngineError) as caught:
        table.answer(1, "b2")
    assert table.played is caught.value.played
    assert table.over
    assert "the centre" in table.record().ending.detail
    with pytest.raises(UnexpectedReply, match="over"):
        table.answer(0, "a2")


def test_tables_ask_a_shared_player_in_one_batch() -> None:
    class CountingPlayer:
        name, reader = "counts", READERS["move"]

        def __init__(self) -> None:
            self.style: Style = "compact"
            self.calls: list[int] = []

        def act(self, asks: Sequence[Ask]) -> list[Reply]:
            self.calls.append(len(asks))
            return [Reply((ask.legal_moves or [""])[0]) for ask in asks]

    game, opponent, outside = load_game("tic_tac_toe"), CountingPlayer(), OutsideSeat(READERS["move"], "compact")
    tables = [Table.from_job(MatchJob(f"m{n}", game, [opponent, outside], n)) for n in range(3)]
    assert all(table.due and not table.asked for table in tables)
    advance_tables(tables)
    assert opponent.calls == [3]
    assert [[asked.seat for asked in table.asked] for table in tables] == [[1]] * 3


def test_copy_continues_from_the_same_position() -> None:
    table = Table("goofspiel(num_cards=4)", seats=[0, 1], seed=5)
    for seat in (0, 1):
        table.answer(seat, "bid 1")
    table.answer(0, "bid 2")
    for copied in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert [asked.seat for asked in copied.asked] == [1]
        copied.answer(1, "bid 3")
        assert len(copied.turns) == 4
    assert len(table.turns) == 2
