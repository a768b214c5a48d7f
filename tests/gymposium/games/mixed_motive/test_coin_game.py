"""The coin game against an independent model written from the rules text and the first drawing alone."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium.games.protocol import Match
from gymposium.plugins.host import host
from gymposium.replies.reading import READERS, read_reply
from gymposium_testing import check_leaks

boards = st.fixed_dictionaries(
    {
        "rows": st.integers(2, 10),
        "columns": st.integers(2, 10),
        "episode_length": st.integers(2, 60),
        "num_coins_per_color": st.integers(1, 8),
        "num_extra_coin_colors": st.integers(1, 8),
    }
)
STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1), "stand": (0, 0)}
Board = dict[tuple[int, int], str]


def items(params: dict[str, Any]) -> int:
    return int(2 + (2 + params["num_extra_coin_colors"]) * params["num_coins_per_color"])


def drawn(text: str, rows: int, full: bool) -> Board:
    """Return the content of each square, rows from the top."""
    lines = text.splitlines()[1 : 1 + rows]
    cells = [line.split(" ") if full else list(line) for line in lines]
    return {(r, c): cell for r, row in enumerate(cells) for c, cell in enumerate(row)}


def find_color(match: Match, seat: int) -> str:
    return match.observe(seat).text.partition("Your colour: ")[2][0]


def check(match: Match, board: Board, taken: list[Counter[str]], made: int, params: dict[str, Any]) -> None:
    colors = "abcdefghij"[: 2 + params["num_extra_coin_colors"]]
    for seat in (0, 1):
        full, compact = match.observe(seat).text, match.observe(seat, "compact").text
        assert drawn(full, params["rows"], full=True) == drawn(compact, params["rows"], full=False) == board
        assert f"Moves made: {made} of {params['episode_length']}." in full
        assert f"move {made}/{params['episode_length']}\n" in compact
        assert full.startswith(f"You are {'xo'[seat]}{', to move' if match.to_move() == (seat,) else ''}. ")
        assert f"your colour {find_color(match, seat)}," in compact
        for who, full_name, name in [(seat, "you", "you"), (1 - seat, "the other player", "other")]:
            assert f"Collected by {full_name}: {', '.join(f'{c} {taken[who][c]}' for c in colors)}.\n" in full
            assert f"\n{name} {' '.join(f'{c}{taken[who][c]}' for c in colors)}\n" in compact


@given(boards.filter(lambda params: items(params) <= params["rows"] * params["columns"]), st.randoms())
@settings(max_examples=30)
def test_play_agrees_with_the_rules_model(params: dict[str, Any], rng: random.Random) -> None:
    game = load_game("coin_game", **params)
    rows, columns = params["rows"], params["columns"]
    colors = "abcdefghij"[: 2 + params["num_extra_coin_colors"]]
    for seat in (0, 1):
        rules = game.rules(seat)
        assert f"a grid of {rows} rows and {columns} columns" in rules
        assert f"{len(colors)} colours, named a to {colors[-1]}, {params['num_coins_per_color']} of each" in rules
        assert f"You are {'xo'[seat]} and move {('first', 'second')[seat]}." in rules
        assert f"you are {'xo'[seat]}; coins a to {colors[-1]}" in game.rules(seat, "compact")
    match = game.new(rng.randrange(2**31))
    board = drawn(match.observe(0).text, rows, full=True)
    start = Counter(board.values())
    assert len(board) == rows * columns
    assert {cell: start[cell] for cell in start if cell != "."} == {
        "x": 1,
        "o": 1,
        **dict.fromkeys(colors, params["num_coins_per_color"]),
    }
    taken: list[Counter[str]] = [Counter(), Counter()]
    for made in range(params["episode_length"]):
        seat = made % 2
        assert match.to_move() == (seat,)
        assert match.legal_moves(seat) == list(STEPS)
        if made % 6 == 0:
            check(match, board, taken, made, params)
        [at] = [square for square in board if board[square] == "xo"[seat]]
        move = rng.choice(list(STEPS))
        match.apply({seat: move})
        to = at[0] + STEPS[move][0], at[1] + STEPS[move][1]
        if board.get(to, "x") not in "xo":
            if board[to] != ".":
                taken[seat][board[to]] += 1
            board |= {at: ".", to: "xo"[seat]}
    assert match.to_move() == ()
    check(match, board, taken, params["episode_length"], params)
    own, other = find_color(match, 0), find_color(match, 1)
    assert own != other
    together = taken[0] + taken[1]
    p, q, r = together[own], together[other], sum(together.values()) - together[own] - together[other]
    result = p * p + q * q - r * r
    assert match.returns() == (result, result)
    assert game.utility_range[0] <= result <= game.utility_range[1]
    for seat in (0, 1):
        assert match.observe(seat).text.endswith(f"You both get {result}.\n")
        assert f"result {result}\n" in match.observe(seat, "compact").text


@pytest.mark.parametrize(
    ("params", "span"),
    [
        ({}, (-16.0, 32.0)),
        ({"episode_length": 6}, (-16.0, 20.0)),
        ({"episode_length": 3}, (-9.0, 9.0)),
        ({"num_extra_coin_colors": 2}, (-64.0, 32.0)),
    ],
)
def test_result_range_matches_the_collectable_coins(params: dict[str, Any], span: tuple[float, float]) -> None:
    assert load_game("coin_game", **params).utility_range == span


@pytest.mark.slow
def test_opponents_color_is_sampled_uniformly() -> None:
    game, rng = load_game("coin_game", num_extra_coin_colors=3), random.Random(0)
    match = game.new(5)
    match.apply({0: "up"})
    for seat in (0, 1):
        own = find_color(match, seat)
        drawn_colors = Counter(find_color(match.resample(seat, rng), 1 - seat) for _ in range(2000))
        assert set(drawn_colors) == set("abcde") - {own}
        assert all(abs(number - 500) < 100 for number in drawn_colors.values())
        assert match.resample(seat, rng).view(seat) == match.view(seat)


def test_nothing_leaks() -> None:
    report = check_leaks(load_game("coin_game", rows=4, columns=4), matches=8, events=60_000)
    assert not report.leaks, report
    assert report.found["sampled"] >= 10


def test_parameter_limits_are_enforced() -> None:
    with pytest.raises(BadParameter, match="do not fit on 8 squares"):
        load_game("coin_game", rows=2, columns=4)
    bounds = {p.name: (p.low, p.high) for p in host().game("coin_game").parameters}
    assert bounds == {
        "rows": (2, 10),
        "columns": (2, 10),
        "episode_length": (2, 200),
        "num_coins_per_color": (1, 20),
        "num_extra_coin_colors": (1, 8),
    }
    for params in ({"rows": 2}, {"columns": 2}, {"num_coins_per_color": 20}, {"num_extra_coin_colors": 8}):
        match = load_game("coin_game", **params).new(0)
        while match.to_move():
            match.apply({match.to_move()[0]: "stand"})
        assert match.returns() == (0.0, 0.0)


def test_anything_but_a_direction_is_unparsable() -> None:
    match = load_game("coin_game").new(0)
    for reply in [*STEPS, "Up", "stay", "up right", "u", ""]:
        kind = read_reply(reply, match.legal_moves(0), READERS["move"], match.game.move_pattern).kind
        assert kind == ("move" if reply in STEPS else "unparsable")
