"""Othello, hex, clobber, breakthrough, pig and backgammon against the engine: the same moves, positions and
results, for their example parameters and the corners of what is on offer."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

import pyspiel
import pytest

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event
from gymposium.plugins.host import host
from gymposium.reading import READERS, read
from gymposium.testing import assert_no_leaks

YOUR_TURN = re.compile(r"^You are [xobw], to move\.|It is your turn;")
NAMES = ("othello", "hex", "clobber", "breakthrough", "backgammon", "pig")
MARKS = {"othello": "xo", "hex": "xo", "clobber": "ox", "breakthrough": "bw", "backgammon": "xo"}
"""The mark of each seat, as the second accounts of the rules hold them against the engine's boards."""
CORNERS = (
    *("hex(board_size=3)", "hex(board_size=19)"),
    *(f"clobber(rows={rows},columns={columns})" for rows, columns in itertools.product((2, 12), repeat=2)),
    *(f"breakthrough(rows={rows},columns={columns})" for rows, columns in itertools.product((3, 9), (2, 12))),
    *("backgammon(max_player_turns=1)", "backgammon(scoring_type=enable_gammons)"),
    "pig(winscore=1,diceoutcomes=2,horizon=1)",
    "pig(winscore=1000,diceoutcomes=100,horizon=10000)",
    "pig(winscore=1,diceoutcomes=100,horizon=10000)",
)


def examples() -> Iterator[OpenSpielGame]:
    for name in NAMES:
        for example in host().game(name).examples:
            yield load_game(name, **example)  # type: ignore[misc]


GAMES = [*examples(), *(load_game(name) for name in CORNERS)]


def test_the_corners_are_those_on_offer() -> None:
    ranges = {f"{name}.{p.name}": (p.low, p.high) for name in NAMES for p in host().game(name).parameters}
    assert ranges == {
        "hex.board_size": (3, 19),
        "clobber.rows": (2, 12),
        "clobber.columns": (2, 12),
        "breakthrough.rows": (3, 9),
        "breakthrough.columns": (2, 12),
        "backgammon.scoring_type": (None, None),
        "backgammon.max_player_turns": (1, 5000),
        "pig.winscore": (1, 1000),
        "pig.diceoutcomes": (2, 100),
        "pig.horizon": (1, 10000),
    }
    for name, (low, high) in ranges.items():
        game, _, parameter = name.partition(".")
        for value in () if low is None else (low - 1, high + 1):  # type: ignore[operator]
            with pytest.raises(BadParameter, match=f"{parameter}={value}"):
                load_game(game, **{parameter: int(value)})


def play(game: OpenSpielGame, seed: int) -> Iterator[tuple[OpenSpielMatch, pyspiel.State, int]]:
    """A random match beside a state of the engine's own that is given the same actions by number; the seat to
    move with each position, -1 at the end."""
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


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_moves_positions_and_returns_are_the_engines(game: OpenSpielGame) -> None:
    texts: dict[tuple[int, int, str], tuple[str, str]] = {}
    for seed in range(3):
        decisions = -1
        for match, state, seat in play(game, seed):
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


@pytest.mark.parametrize(("name", "marks"), MARKS.items())
def test_each_seat_is_told_who_it_is(name: str, marks: str) -> None:
    game = load_game(name)
    for seat, mark in enumerate(marks):
        match = game.new(seat)
        assert re.search(rf"\bYou play {mark}\b", game.rules(seat))
        assert re.search(rf"\byou are {mark}\b", game.rules(seat, "compact"))
        assert match.observe(seat).text.startswith(f"You are {mark}")
        order = ("first", "second")[seat]
        assert name == "backgammon" or re.search(rf"You play {mark}( and|,) move {order}", game.rules(seat))
        assert name == "backgammon" or f"{marks[0]} moves first" in game.rules(seat)


@pytest.mark.parametrize("name", NAMES)
def test_each_style_tells_all_that_a_seat_knows_and_no_more(name: str) -> None:
    example = host().game(name).examples[-1]
    assert_no_leaks(load_game(name, **example), matches=2, tries=1)


@pytest.mark.parametrize(
    ("name", "illegal", "unparsable"),
    [
        ("othello", ["a1", "pass", "d4"], ["D3", "a9", "i1", "a0", "d3.", "Pass"]),
        ("hex(board_size=12)", [], ["m1", "a13", "a0", "A1", "a01", "1a"]),
        ("clobber", ["a1a1", "a1c3", "b1a1", "a2b2"], ["a1", "a1-b1", "a6a5", "g1f1", "a0a1"]),
        ("clobber(rows=12)", ["b1a1", "a12f1"], ["a13a12", "a1a", "g1f1"]),
        ("breakthrough", ["a2a3", "a8a7", "a7a5"], ["a7a6*", "a9a8", "i7i6", "a7"]),
        ("pig", [], ["Roll", "hold", "roll 6"]),
        (
            "backgammon",
            ["pass", "bar/20", "1/off", "24/23 24/23", "6/off 6/off low die first"],
            ["24/18*", "13/11(2)", "24/22/21", "25/24", "0/off", "24-18", "13/7, 8/7", "off/6", "1/bar"],
        ),
    ],
)
def test_what_looks_like_a_move_is_illegal_and_all_else_unparsable(
    name: str, illegal: list[str], unparsable: list[str]
) -> None:
    match = load_game(name).new(0)
    [seat] = match.to_move()
    legal = match.legal_moves(seat)
    for kind, replies in (("illegal", illegal), ("unparsable", unparsable)):
        for reply in replies:
            assert read(reply, legal, READERS["move"], match.game.move_pattern).kind == kind, reply
            with pytest.raises(IllegalMove):
                match.apply({seat: reply})


@pytest.mark.parametrize("name", NAMES)
def test_a_fork_goes_on_by_itself_with_dice_of_its_own(name: str) -> None:
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
