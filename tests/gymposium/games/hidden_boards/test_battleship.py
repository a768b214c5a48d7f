"""Battleship against an independent model written from the rules text alone. Fleets are sampled uniformly."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium.games.hidden_boards.battleship_fleets import draw_fleet
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Event, Match
from gymposium.plugins.host import host
from gymposium.replies.reading import READERS, read_reply
from gymposium_testing import assert_no_leaks

FLEETS = {p.name: p.choices for p in host().game("battleship").parameters}["ship_sizes"]
boards = st.fixed_dictionaries(
    {
        "board_width": st.integers(5, 10),
        "board_height": st.integers(5, 10),
        "ship_sizes": st.sampled_from(FLEETS),
        "num_shots": st.integers(5, 40),
        "allow_repeated_shots": st.booleans(),
        "loss_multiplier": st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    }
)
SMALL = {"board_width": 5, "board_height": 5, "ship_sizes": "3-2", "num_shots": 25}


def fits(params: dict[str, Any]) -> bool:
    fleet = sum(map(int, params["ship_sizes"].split("-")))
    return bool(fleet <= 0.4 * params["board_width"] * params["board_height"])


@dataclass
class Side:
    """Model of what one player has done."""

    ships: list[tuple[str, list[str]]] = field(default_factory=list)
    """Where each was said to lie, and its squares."""
    shots: list[tuple[str, str]] = field(default_factory=list)


def list_squares(move: str, size: int) -> list[str]:
    """Return the squares of a ship, from the words that place it."""
    first, way = move.split()
    row, column = ord(first[0]), int(first[1:])
    return [f"{chr(row + i)}{column}" if way == "down" else f"{chr(row)}{column + i}" for i in range(size)]


def split_boards(text: str) -> list[list[str]]:
    """Return the rows of both boards of a full prompt, without their labels."""
    rows = [line.split()[1:] for line in text.splitlines() if re.fullmatch(r"[A-J]( [.*#X1-5])+", line)]
    return [["".join(row) for row in rows[: len(rows) // 2]], ["".join(row) for row in rows[len(rows) // 2 :]]]


def check(match: Match, sides: list[Side], params: dict[str, Any], sizes: list[int]) -> None:
    width, height = params["board_width"], params["board_height"]
    squares = [f"{chr(ord('A') + r)}{c + 1}" for r in range(height) for c in range(width)]
    for seat in (0, 1):
        mine, theirs = sides[seat], sides[1 - seat]
        under_fire = {square for square, _ in theirs.shots}
        ship_at = {square: str(len(ship)) for _, ship in mine.ships for square in ship}
        own = [
            ("#" if square in ship_at else "*") if square in under_fire else ship_at.get(square, ".")
            for square in squares
        ]
        told = {square: {"missed": "*", "hit": "#", "sank": "X"}[what] for square, what in mine.shots}
        grid = ["".join(own), "".join([told.get(square, ".") for square in squares])]
        rows = [[g[r * width : r * width + width] for r in range(height)] for g in grid]
        full, compact = match.observe(seat).text, match.observe(seat, "compact").text
        assert split_boards(full) == rows
        drawn = [line.split()[1:] for line in compact.splitlines() if re.fullmatch(r"[A-J]( [.*#X1-5]+){2}", line)]
        assert [list(column) for column in zip(*drawn, strict=True)] == rows
        assert full.count(f"  {' '.join(map(str, range(1, width + 1)))}\n") == 2
        lie = [f"{len(ship)} at {words}" for words, ship in mine.ships]
        assert f"Your ships: {', '.join(lie) or 'none yet'}.\n" in full
        assert f"ships {', '.join(lie).replace(' at', '') or 'none'}\n" in compact
        assert f"Your shots in order: {', '.join(map(' '.join, mine.shots)) or 'none'}.\n" in full
        seen = [square for square, _ in theirs.shots]
        assert f"Your opponent's shots in order: {', '.join(seen) or 'none'}.\n" in full
        assert f"their shots {' '.join(seen) or 'none'}\n" in compact
        short = [square + {"missed": "", "hit": "#", "sank": "X"}[what] for square, what in mine.shots]
        assert f"your shots {' '.join(short) or 'none'}\n" in compact
        number = len(mine.ships)
        if seat in match.to_move():
            now = f"ship of length {sizes[number]} (ship {number + 1} of " if number < len(sizes) else "(shot "
            assert now in full.splitlines()[0]
        else:
            assert full.startswith("Your opponent is to move." if match.to_move() else "The match is over.")


@given(boards.filter(fits), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_play_agrees_with_the_rules_model(params: dict[str, Any], rng: random.Random) -> None:
    game = load_game("battleship", **params)
    sizes = list(map(int, params["ship_sizes"].split("-")))
    width, height, repeats = params["board_width"], params["board_height"], params["allow_repeated_shots"]
    most = params["num_shots"] if repeats else min(params["num_shots"], width * height)
    assert game.spec.utility == ("zero_sum" if params["loss_multiplier"] == 1 else "general_sum")
    for seat in (0, 1):
        rules = game.rules(seat)
        assert f"a board of {height} rows and {width} columns" in rules
        assert f"in this order: {' '.join(map(str, sizes))}." in rules
        assert f"at most {most} times each" in rules
        assert rules.endswith(f"You place and shoot {('first', 'second')[seat]}.\n")
        assert (f"- {params['loss_multiplier']:g} x ships lost") in game.rules(seat, "compact")
    squares = [f"{chr(ord('A') + r)}{c + 1}" for r in range(height) for c in range(width)]
    match, sides, seat = game.new(0), [Side(), Side()], 0
    for number, size in enumerate(sizes):
        for seat in (0, 1):
            assert match.to_move() == (seat,)
            taken = {square for _, ship in sides[seat].ships for square in ship}
            able = {
                f"{square} {way}"
                for square in squares
                for way in (("across", "down") if size > 1 else ("across",))
                if set(lain := list_squares(f"{square} {way}", size)) <= set(squares) and not taken & set(lain)
            }
            legal = match.legal_moves(seat) or []
            assert len(set(legal)) == len(legal)
            assert set(legal) <= able
            if number < 2:  # later it may be that what is left to place would not fit any more
                assert set(legal) == able
            move = rng.choice(legal)
            match.apply({seat: move})
            sides[seat].ships.append((move, list_squares(move, size)))
    check(match, sides, params, sizes)

    def sunk(seat: int) -> int:
        return sum(set(ship) <= {square for square, _ in sides[1 - seat].shots} for _, ship in sides[seat].ships)

    seat = 0
    while len(sides[seat].shots) < most and sunk(0) < len(sizes) and sunk(1) < len(sizes):
        assert match.to_move() == (seat,)
        shot = [square for square, _ in sides[seat].shots]
        assert match.legal_moves(seat) == [square for square in squares if repeats or square not in shot]
        square = rng.choice(match.legal_moves(seat) or [])
        match.apply({seat: square})
        ship = next((ship for _, ship in sides[1 - seat].ships if square in ship), [])
        what = "missed" if not ship else "sank" if set(ship) <= {*shot, square} else "hit"
        sides[seat].shots.append((square, what))
        seat = 1 - seat
        if len(shot) % 9 == 0:
            check(match, sides, params, sizes)
    assert match.to_move() == ()
    check(match, sides, params, sizes)
    for seat in (0, 1):
        result = sunk(1 - seat) - params["loss_multiplier"] * sunk(seat)
        assert match.returns()[seat] == result
        assert game.utility_range[0] <= result <= game.utility_range[1]
        assert match.observe(seat).text.endswith(f"Your result: {result:+g}.\n")
        assert f"result {result:+g}\n" in match.observe(seat, "compact").text


def test_match_ends_with_the_last_ship() -> None:
    game = load_game("battleship", **SMALL)
    placed = [Event(0, "A1 across"), Event(1, "A1 across"), Event(0, "B1 across"), Event(1, "B1 across")]
    fleet = ["A1", "A2", "A3", "B1", "B2"]
    shots = [Event(seat, square) for square in fleet for seat in (0, 1)]
    match = game.load([*placed, *shots[:-1]])  # seat 1 has one shot less, and no other
    assert match.to_move() == ()
    assert match.returns() == (1.0, -1.0)  # two ships for one
    assert match.observe(0).text.count("sank") == 2 + 1  # and the legend's


def test_repeated_shot_reports_the_current_state() -> None:
    game = load_game("battleship", **SMALL, allow_repeated_shots=True)
    placed = [Event(0, "A1 across"), Event(1, "A1 across"), Event(0, "B1 across"), Event(1, "B1 across")]
    match = game.load([*placed, *[Event(s, q) for q in ("B1", "B1", "B2", "B1") for s in (0, 1)]])
    assert "B1 hit, B1 hit, B2 sank, B1 sank" in match.observe(0).text
    assert "sank a ship if the ship there is sunk by then" in game.rules(0)


def test_fleet_that_fills_the_board_is_refused() -> None:
    with pytest.raises(BadParameter, match="covers 20 squares"):
        load_game("battleship", board_width=6, ship_sizes="4-3-3-2-2-2-1-1-1-1")
    bounds = {p.name: (p.low, p.high) for p in host().game("battleship").parameters if p.low is not None}
    assert bounds == {
        "board_width": (5, 10),
        "board_height": (5, 10),
        "num_shots": (5, 100),
        "loss_multiplier": (0.0, 10.0),
    }


def test_anything_but_a_move_is_unparsable() -> None:
    match = load_game("battleship", board_width=10).new(0)
    kinds = {
        reply: read_reply(reply, match.legal_moves(0), READERS["move"], match.game.move_pattern).kind
        for reply in ["A1 down", "A10 across", "A10", "H10 down", "K1", "A11", "a1", "A1 up", "A1-A4", "A1  down"]
    }
    assert kinds == {
        "A1 down": "move",
        **dict.fromkeys(["A10 across", "A10", "H10 down"], "illegal"),
        **dict.fromkeys(["K1", "A11", "a1", "A1 up", "A1-A4", "A1  down"], "unparsable"),
    }


def test_nothing_leaks() -> None:
    report = assert_no_leaks(load_game("battleship", **SMALL), matches=6, events=20_000)
    assert report.worlds >= 10, report


# -- worlds for search

WIDTH, HEIGHT = 4, 3


def told(fleet: tuple[tuple[int, ...], ...], squares: tuple[int, ...]) -> list[tuple[int, str]]:
    """Return the results of shots at these squares of this fleet."""
    out = []
    for number, square in enumerate(squares):
        ship = next((ship for ship in fleet if square in ship), ())
        out.append((square, "W" if not ship else "S" if set(ship) <= set(squares[: number + 1]) else "H"))
    return out


def all_fleets(sizes: list[int]) -> list[tuple[tuple[int, ...], ...]]:
    rows = [[r * WIDTH + c for c in range(WIDTH)] for r in range(HEIGHT)]
    lines = rows + [list(column) for column in zip(*rows, strict=True)]
    ships = [sorted({tuple(line[i : i + n]) for line in lines for i in range(len(line) - n + 1)}) for n in sizes]
    return [fleet for fleet in itertools.product(*ships) if len({s for ship in fleet for s in ship}) == sum(sizes)]


@pytest.mark.parametrize(
    ("sizes", "squares"),
    [([2, 2], ()), ([3, 2], (5,)), ([2, 1, 1], (5, 6, 0)), ([2, 2], (5, 6, 9, 5)), ([3, 2], (1, 5, 9, 2, 6))],
)
def test_fleets_are_sampled_uniformly(sizes: list[int], squares: tuple[int, ...]) -> None:
    """Compares with the list of all fleets that give the same results."""
    rng = random.Random(0)
    everything = all_fleets(sizes)
    for true in rng.sample(everything, 3):
        shots = told(true, squares)
        fitting = [fleet for fleet in everything if told(fleet, squares) == shots]
        drawn: Counter[tuple[tuple[int, ...], ...]] = Counter()
        for _ in range(25 * len(fitting)):
            lain = draw_fleet(WIDTH, HEIGHT, sizes, shots, rng)
            steps = [WIDTH if down else 1 for down, _ in lain]
            drawn[
                tuple(
                    tuple(first + s * i for i in range(n)) for (_, first), s, n in zip(lain, steps, sizes, strict=True)
                )
            ] += 1
        assert set(drawn) <= set(fitting)
        distance = sum((drawn[fleet] - 25) ** 2 / 25 for fleet in fitting)
        assert abs(distance - (len(fitting) - 1)) < 5 * (2 * len(fitting)) ** 0.5


@pytest.mark.parametrize("params", [SMALL, {**SMALL, "allow_repeated_shots": True}, {"ship_sizes": "5-4-3-3-2"}])
def test_worlds_are_consistent_with_the_seats_view(params: dict[str, Any]) -> None:
    game, rng = load_game("battleship", **params), random.Random(3)
    match, others = game.new(0), 0
    while match.to_move():
        [seat] = match.to_move()
        if rng.random() < 0.4:
            world = match.resample(seat, rng)
            assert isinstance(world, OpenSpielMatch)
            assert world.observe(seat) == match.observe(seat)
            assert world.view(seat) == match.view(seat)
            assert game.load(world.events).view(1 - seat) == world.view(1 - seat)
            others += world.events != match.events
        match.apply({seat: rng.choice(match.legal_moves(seat) or [])})
    assert others >= 5
