"""Dark hex against an independent model written from the rules text alone, and the probabilities of worlds."""

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
from gymposium.games.hidden_boards.dark_hex_tries import draw_tries
from gymposium.games.protocol import Event, Match
from gymposium.plugins.host import host
from gymposium.replies.reading import READERS, read_reply
from gymposium_testing import assert_no_leaks

boards = st.fixed_dictionaries(
    {
        "num_rows": st.integers(2, 11),
        "num_cols": st.integers(2, 11),
        "obstype": st.sampled_from(["reveal-nothing", "reveal-numturns"]),
        "gameversion": st.sampled_from(["cdh", "adh"]),
    }
)
rngs = st.randoms(use_true_random=False)
AROUND = ((0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1))
"""Steps to the right and down: b2 touches b1 and c1 above, a2 and c2 beside it, a3 and b3 below."""


@dataclass
class RulesModel:
    """Model of a match, by the rules in the prompt."""

    rows: int
    columns: int
    stones: dict[str, int] = field(default_factory=dict)
    known: tuple[dict[str, int], dict[str, int]] = ({}, {})
    tries: list[tuple[int, str, bool]] = field(default_factory=list)
    """Who tried which cell, and whether it was free."""
    mover: int = 0

    def cells(self) -> list[str]:
        return [f"{chr(ord('a') + c)}{r + 1}" for r in range(self.rows) for c in range(self.columns)]

    def try_cell(self, cell: str, version: str) -> None:
        free = cell not in self.stones
        self.known[self.mover][cell] = self.stones.setdefault(cell, self.mover)
        self.tries.append((self.mover, cell, free))
        if free or version == "adh":
            self.mover = 1 - self.mover

    def joined(self, seat: int) -> bool:
        first = [c for c in self.stones if self.stones[c] == seat and (c[1:] == "1" if seat == 0 else c[0] == "a")]
        last = str(self.rows) if seat == 0 else chr(ord("a") + self.columns - 1)
        seen = set(first)
        while first:
            cell = first.pop()
            if (cell[1:] if seat == 0 else cell[0]) == last:
                return True
            for right, down in AROUND:
                at = f"{chr(ord(cell[0]) + right)}{int(cell[1:]) + down}"
                if self.stones.get(at) == seat and at not in seen:
                    seen.add(at)
                    first.append(at)
        return False


def drawn(text: str) -> dict[str, str]:
    """Return what a drawn board, full or compact, shows on each cell."""
    lines = [line.replace(" ", "") for line in text.splitlines()]
    [columns] = [line for line in lines if re.fullmatch("abc?d?e?f?g?h?i?j?k?", line)]
    rows = [found for line in lines if (found := re.fullmatch(r"(\d+)([.xo]+)", line))]
    return {f"{c}{row[1]}": cell for row in rows for c, cell in zip(columns, row[2], strict=True)}


def check(match: Match, account: RulesModel, obstype: str) -> None:
    """Check what both seats are shown."""
    for seat in (0, 1):
        full, compact = match.observe(seat).text, match.observe(seat, "compact").text
        board = {cell: "." if (who := account.known[seat].get(cell)) is None else "xo"[who] for cell in account.cells()}
        assert drawn(full.partition("know it:\n")[2].partition("ries so far")[0]) == board
        assert drawn(compact.partition("tried")[0]) == board
        assert full.startswith(f"You are {'xo'[seat]}{', to move' if seat in match.to_move() else ''}. ")
        tried = [
            (cell + "!" * (not free)) if who == seat else "?"
            for who, cell, free in account.tries
            if who == seat or obstype == "reveal-numturns"
        ]
        assert f"tried {' '.join(tried) or 'none'}\n" in compact
        past = re.search(r"ries so far: (.*)\.\n", full)
        assert past is not None
        told = past[1].replace("your opponent ", "").replace("you ", "").replace(" (taken)", "!")
        assert told == (", ".join(tried) or "none")


@given(boards, rngs)
@settings(max_examples=40)
def test_play_agrees_with_the_rules_model(params: dict[str, Any], rng: random.Random) -> None:
    game = load_game("dark_hex", **params)
    match, account = game.new(0), RulesModel(params["num_rows"], params["num_cols"], known=({}, {}))
    rows, last = params["num_rows"], chr(ord("a") + params["num_cols"] - 1)
    goals = (f"join top (row 1) to bottom (row {rows})", f"join left (column a) to right (column {last})")
    for seat in (0, 1):
        rules = game.rules(seat)
        assert f"a board of {rows} rows and {params['num_cols']} columns" in rules
        assert rules.endswith(f"You play {'xo'[seat]}, move {('first', 'second')[seat]} and {goals[seat]}.\n")
        assert f"you are {'xo'[seat]} and {goals[seat]}" in game.rules(seat, "compact")
    while not account.joined(0) and not account.joined(1):
        assert match.to_move() == (account.mover,)
        if len(account.tries) % 5 == 0:
            check(match, account, params["obstype"])
        legal = [cell for cell in account.cells() if cell not in account.known[account.mover]]
        assert match.legal_moves(account.mover) == legal
        cell = rng.choice(legal)
        match.apply({account.mover: cell})
        account.try_cell(cell, params["gameversion"])
    check(match, account, params["obstype"])
    assert match.to_move() == ()
    assert match.returns() == ((1.0, -1.0) if account.joined(0) else (-1.0, 1.0))
    for seat in (0, 1):
        won = account.joined(seat)
        assert match.observe(seat).text.endswith(f"The match is over: you {'win' if won else 'lose'}.\n")
        assert f"result {'+1' if won else '-1'}\n" in match.observe(seat, "compact").text


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 5), (5, 2), (3, 3), (11, 4)])
def test_adjacency_example_in_the_rules_is_on_the_board(rows: int, columns: int) -> None:
    rules = load_game("dark_hex", num_rows=rows, num_cols=columns).rules(0)
    example = rules.partition("up to six others: ")[2].partition(". A dot")[0]
    assert example.startswith("b2" if rows > 2 and columns > 2 else "b1")
    for part in re.split(r", and |, (?=a3)", example):
        cell, *touched = re.findall(r"[a-k]\d+", part)
        if cell == "a3":  # what is left of the six that b2 touches
            cell, touched = "b2", ["a3", "b3"]
        for at in touched:
            assert at[0] < chr(ord("a") + columns)
            assert int(at[1:]) <= rows
            assert (ord(at[0]) - ord(cell[0]), int(at[1:]) - int(cell[1:])) in AROUND


def test_rules_explain_a_taken_cell() -> None:
    for version, words in [("cdh", "you try another one, until you have put a stone"), ("adh", "your turn is over")]:
        game = load_game("dark_hex", gameversion=version)
        assert words in game.rules(0)
        match = game.load([Event(0, "b2"), Event(1, "b2")])
        assert match.to_move() == ((1,) if version == "cdh" else (0,))
        assert ("not told how often" in game.rules(0)) == (version == "cdh")
        assert "told each time" in load_game(game.name, obstype="reveal-numturns").rules(1)


def test_view_hides_the_opponents_failed_tries() -> None:
    """The engine's views count the tries of both players."""
    straight = [Event(0, "b2"), Event(1, "a1"), Event(0, "c3"), Event(1, "a2")]
    detour = [Event(0, "b2"), Event(1, "b2"), Event(1, "a1"), Event(0, "c3"), Event(1, "c3"), Event(1, "a2")]
    for obstype, same in [("reveal-nothing", True), ("reveal-numturns", False)]:
        game = load_game("dark_hex", obstype=obstype)
        one, other = game.load(straight), game.load(detour)
        assert one.to_move() == other.to_move() == (0,)
        assert (one.view(0) == other.view(0)) is same
        assert (one.observe(0) == other.observe(0)) is same
        assert one.view(1) != other.view(1)


@pytest.mark.parametrize("params", [{}, {"obstype": "reveal-numturns"}, {"gameversion": "adh"}])
def test_nothing_leaks(params: dict[str, Any]) -> None:
    report = assert_no_leaks(load_game("dark_hex", **params), matches=10, events=20_000)
    assert report.worlds >= 10, report


def histories(
    match: Match, seat: int, views: list[str], own: list[str], chance: float = 1.0
) -> dict[tuple[Event, ...], float]:
    """Return all continuations, up to the next decision, in which a seat sees and plays this, with the probabilities
    under random play of the other seat."""
    if not match.to_move():
        return {}
    if match.to_move() != (seat,):
        moves = match.legal_moves(1 - seat) or []
        chance /= len(moves)
    elif match.view(seat) != views[0]:
        return {}
    elif not own:
        return {tuple(match.events): chance}
    else:
        moves, views, own = own[:1], views[1:], own[1:]
    found: dict[tuple[Event, ...], float] = {}
    for move in moves:
        after = match.fork(random.Random(0))
        after.apply({match.to_move()[0]: move})
        found |= histories(after, seat, views, own, chance)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("obstype", ["reveal-nothing", "reveal-numturns"])
@pytest.mark.parametrize("version", ["cdh", "adh"])
def test_worlds_have_the_probabilities_of_random_play(version: str, obstype: str) -> None:
    """Compares with the list of all histories in which a seat has seen and done the same."""
    game, rng = load_game("dark_hex", num_cols=2, obstype=obstype, gameversion=version), random.Random(1)
    looked = 0
    for seed in range(8):
        match, play = game.new(0), random.Random(seed)
        views: tuple[list[str], list[str]] = ([], [])
        own: tuple[list[str], list[str]] = ([], [])
        while match.to_move():
            [seat] = match.to_move()
            views[seat].append(match.view(seat))
            if own[seat] and play.random() < 0.3:
                likely = histories(game.new(0), seat, views[seat], own[seat])
                assert tuple(match.events) in likely
                drawn = Counter(tuple(match.resample(seat, rng).events) for _ in range(800))
                assert set(drawn) <= set(likely)
                total = sum(likely.values())
                expected = {events: 800 * chance / total for events, chance in likely.items()}
                distance = sum((drawn[events] - number) ** 2 / number for events, number in expected.items())
                assert distance < len(likely) - 1 + 6 * (2 * len(likely)) ** 0.5
                looked += len(likely) > 3
            move = play.choice(match.legal_moves(seat) or [])
            own[seat].append(move)
            match.apply({seat: move})
    assert looked >= 3


def test_unseen_failed_tries_are_sampled_uniformly() -> None:
    """Seat 0 puts stones on cells 0, 1 and 2, finds a stone on 3, and puts one more on 4. After each of its five tries
    the other seat has tried one of seven cells."""
    tries, rng = [(0, True), (1, True), (2, True), (3, False), (4, True)], random.Random(0)
    possible = [
        cells
        for cells in itertools.permutations(range(7), 5)
        if 3 in cells[:3]  # found then, so there by then
        and all(cell > 4 or cell == 3 or turn >= cell for turn, cell in enumerate(cells))  # own stones: only later
    ]
    drawn = Counter(tuple(cell for [cell] in draw_tries(7, 0, tries, None, True, rng)) for _ in range(20_000))
    assert set(drawn) == set(possible)
    even = 20_000 / len(possible)
    distance = sum((drawn[cells] - even) ** 2 / even for cells in possible)
    assert abs(distance - len(possible)) < 4 * (2 * len(possible)) ** 0.5


def test_extreme_boards_are_playable() -> None:
    for key in ("num_rows", "num_cols"):
        assert [(p.low, p.high) for p in host().game("dark_hex").parameters if p.name == key] == [(2, 11)]
    for rows, columns in [(2, 2), (2, 11), (11, 2), (11, 11)]:
        match, rng = load_game("dark_hex", num_rows=rows, num_cols=columns).new(0), random.Random(0)
        while match.to_move():
            [seat] = match.to_move()
            match.apply({seat: rng.choice(match.legal_moves(seat) or [])})
        assert sorted(match.returns()) == [-1.0, 1.0]


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("dark_hex", num_rows=11, num_cols=11).load([Event(0, "b2")])
    legal = match.legal_moves(1)
    kinds = {
        reply: read_reply(reply, legal, READERS["move"], match.game.move_pattern).kind
        for reply in ["b2", "k11", "a12", "l1", "B2", "b", "2b", "b0"]
    }
    assert kinds == {"b2": "move", "k11": "move", **dict.fromkeys(["a12", "l1", "B2", "b", "2b", "b0"], "unparsable")}
    match.apply({1: "b2"})
    assert read_reply("b2", match.legal_moves(1), READERS["move"], match.game.move_pattern).kind == "illegal"
