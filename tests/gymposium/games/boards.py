"""Helpers for tests of board games: boards as text, and random matches compared with the engine."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

import pyspiel
import pytest
from hypothesis import strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.replies.reading import READERS, read_reply
from gymposium_testing import assert_no_leaks

from .matches import own_parameters, plain_examples

YOUR_TURN = re.compile(r"^You are [xobw], to move\.|It is your turn;")
Board = dict[str, str]
"""What stands on each square, by name."""
rngs = st.randoms(use_true_random=False)
STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
AROUND = tuple(step for step in itertools.product((-1, 0, 1), repeat=2) if step != (0, 0))


def draw_board(match: Match, seat: int) -> Board:
    """Return the board as the full text draws it, with labeled rows and columns."""
    *_, drawn = match.observe(seat).text.partition("The board:\n")
    lines = [line.split() for line in drawn.splitlines()]
    columns = next(line for line in lines if line[0] == "a")
    return {f"{c}{row}": cell for row, *cells in lines if row != "a" for c, cell in zip(columns, cells, strict=True)}


def draw_compact(match: Match, seat: int) -> Board:
    lines = [line.strip() for line in match.observe(seat, "compact").text.splitlines() if "legal" not in line]
    columns = next(line for line in lines if line[0] == "a")
    rows = [found for line in lines if (found := re.fullmatch(r"(\d+)(\D+)", line))]
    return {f"{c}{row[1]}": cell for row in rows for c, cell in zip(columns, row[2], strict=True)}


def check_board(match: Match, board: Board) -> None:
    for seat in (0, 1):
        assert draw_board(match, seat) == board
        assert draw_compact(match, seat) == board


def move_by(square: str, right: int, up: int) -> str:
    return f"{chr(ord(square[0]) + right)}{int(square[1:]) + up}"


def squares(columns: int, rows: int) -> list[str]:
    return [f"{chr(ord('a') + c)}{r + 1}" for c in range(columns) for r in range(rows)]


def examples(name: str, *corners: str) -> list[OpenSpielGame]:
    """Return the examples of a game, and games with parameters at the ends of their ranges."""
    games = [load_game(name, **example) for example in plain_examples(name)]
    return [*games, *map(load_game, corners)]  # type: ignore[list-item]


def check_ranges(name: str, ranges: dict[str, tuple[int | None, int | None]]) -> None:
    """Check the ranges of all parameters, and that values beyond them are refused."""
    assert {p.name: (p.low, p.high) for p in own_parameters(name)} == ranges
    for parameter, (low, high) in ranges.items():
        for value in () if low is None else (low - 1, high + 1):  # type: ignore[operator]
            with pytest.raises(BadParameter, match=f"{parameter}={value}"):
                load_game(name, **{parameter: int(value)})


def play_beside_engine(game: OpenSpielGame, seed: int) -> Iterator[tuple[OpenSpielMatch, pyspiel.State, int]]:
    """Play a random match, and the same actions by number on a state of the engine. Yields both and the seat to move at
    each position, which is -1 at the end."""
    rng = random.Random(seed)
    match, state = game.new(seed), game.engine.new_initial_state()
    seen = 0
    while True:
        for event in match.events[seen:]:
            if event.seat == CHANCE:
                outcomes = [action for action, _ in state.chance_outcomes()]
                [drawn] = [action for action in outcomes if state.action_to_string(CHANCE, action) == event.move]
                state.apply_action(drawn)
        seen = len(match.events)
        seats = match.to_move()
        yield match, state, seats[0] if seats else -1
        if not seats:
            return
        [seat] = seats
        index = rng.randrange(len(match.legal_actions(seat)))
        action, move = match.legal_actions(seat)[index], match.legal_moves(seat)[index]
        state.apply_action(action)
        match.apply({seat: move})
        assert match.events[seen] == Event(seat, move)
        seen += 1


def check_engine(game: OpenSpielGame) -> None:
    """Check moves, positions and returns of random matches against the engine."""
    texts: dict[tuple[int, int, str], tuple[str, str]] = {}
    for seed in range(3):
        decisions = -1
        for match, state, seat in play_beside_engine(game, seed):
            decisions += 1
            assert state.current_player() == (seat if seat >= 0 else pyspiel.PlayerId.TERMINAL)
            assert str(match.state) == str(state)
            for who in (0, 1):
                legal = state.legal_actions(who)
                assert match.legal_actions(who) == legal
                moves = match.legal_moves(who)
                assert len(set(moves)) == len(moves) == len(legal)
                assert all(game.move_pattern.fullmatch(move) for move in moves)  # type: ignore[union-attr]
                full, compact = match.observe(who, "full").text, match.observe(who, "compact").text
                assert texts.setdefault((who, seat, match.view(who)), (full, compact)) == (full, compact)
                assert match.tensor(who).shape == game.tensor_shape
                if game.spec.name != "hex":  # there, the legal moves are the dots
                    *_, last = compact.splitlines()
                    separator = ", " if game.spec.name == "backgammon" else " "
                    assert last == f"legal {separator.join(moves) or 'none'}"
                assert (YOUR_TURN.search(full) is not None) is (who == seat)
        assert decisions <= game.max_decisions
        assert match.returns() == tuple(state.returns())
        assert sum(match.returns()) == 0
        low, high = game.utility_range
        assert low <= min(match.returns()) <= max(match.returns()) <= high
        again = game.load(match.events)
        assert (again.returns(), again.view(0)) == (match.returns(), match.view(0))


def check_seats(name: str, marks: str) -> None:
    """Check that rules and positions tell each seat its mark."""
    game = load_game(name)
    for seat, mark in enumerate(marks):
        match = game.new(seat)
        assert re.search(rf"\bYou play {mark}\b", game.rules(seat))
        assert re.search(rf"\byou are {mark}\b", game.rules(seat, "compact"))
        assert match.observe(seat).text.startswith(f"You are {mark}")
        order = ("first", "second")[seat]
        assert name == "backgammon" or re.search(rf"You play {mark}( and|,) move {order}", game.rules(seat))
        assert name == "backgammon" or f"{marks[0]} moves first" in game.rules(seat)


def check_leaks_of_example(name: str) -> None:
    """Check that each style tells all that a seat knows and no more, in the last example."""
    example = plain_examples(name)[-1]
    assert_no_leaks(load_game(name, **example), matches=2, tries=1)


def check_refused(name: str, illegal: list[str], unparsable: list[str]) -> None:
    """Check how replies are read in the first position, and that the match refuses them."""
    match = load_game(name).new(0)
    [seat] = match.to_move()
    legal = match.legal_moves(seat)
    for kind, replies in (("illegal", illegal), ("unparsable", unparsable)):
        for reply in replies:
            assert read_reply(reply, legal, READERS["move"], match.game.move_pattern).kind == kind, reply
            with pytest.raises(IllegalMove):
                match.apply({seat: reply})


def check_forks(name: str) -> None:
    """Check that forks continue independently, with their own chance."""
    match = load_game(name).new(0)
    before = match.view(0)
    ends = set()
    for seed in range(3):
        rng = random.Random(seed)
        fork = match.fork(random.Random(seed))
        while seats := fork.to_move():
            [seat] = seats
            fork.apply({seat: rng.choice(fork.legal_moves(seat))})
        ends.add(tuple(fork.events))
    assert len(ends) == 3
    assert match.view(0) == before
