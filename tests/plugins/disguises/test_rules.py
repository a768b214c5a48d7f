"""The rules of disguises are correct: a reader of the text alone finds the legal moves and the winner."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from gymposium import load_game
from gymposium.games.protocol import Match
from gymposium.util.streams import stream

SEEDS = range(1, 7)
Place = tuple[int, int]
"""The numbers of a place's two words in their orders."""


class Reader:
    """A reader of the rules of a game on places, as seat 0 reads them."""

    def __init__(self, match: Match) -> None:
        rules = match.game.rules(0)
        orders = re.findall(r"There are \d+ (\w+)s, in this order: ([^.]*)\.", rules)
        self.rules, self.nouns = rules, [noun for noun, _ in orders]
        self.words = [listed.split(", ") for _, listed in orders]
        self.sides = re.findall(r"^You are (\w+)\.", "\n".join(match.game.rules(s) for s in (0, 1)), re.MULTILINE)

    def place(self, name: str) -> Place:
        first, second = name.split("-")
        return self.words[0].index(first), self.words[1].index(second)

    def name(self, place: Place) -> str:
        return f"{self.words[0][place[0]]}-{self.words[1][place[1]]}"

    def list_held(self, text: str) -> list[set[Place]]:
        """The places of each side in the text of a position."""
        found = []
        for side in self.sides:
            [line] = re.findall(rf"^{side}: (.*)$", text, re.MULTILINE)
            groups = [group.split(": ") for group in line.split("; ")] if line != "none" else []
            found.append({self.place(f"{first}-{second}") for first, seconds in groups for second in seconds.split()})
        return found

    def line(self, noun: str, word: str) -> Callable[[Place], bool]:
        """Whether a place belongs to this word, such as the street elm."""
        axis = self.nouns.index(noun)
        return lambda place: self.words[axis][place[axis]] == word


def positions(name: str, seed: int, matches: int = 3) -> Iterator[tuple[Match, Reader]]:
    """All positions of some random matches."""
    for number in range(matches):
        match, rng = load_game(name, disguise=seed).new(number), stream(seed, "rules", number)
        reader = Reader(match)
        yield match, reader
        while match.to_move():
            match.apply({seat: rng.choice(match.legal_moves(seat)) for seat in match.to_move()})
            yield match, reader


def find_chained_places(mine: set[Place], start: set[Place], steps: set[Place]) -> set[Place]:
    """The places that chains through one's own reach from these."""
    reached, ahead = set(start), list(start)
    while ahead:
        here = ahead.pop()
        for step in steps:
            there = here[0] + step[0], here[1] + step[1]
            if there in mine and there not in reached:
                reached.add(there)
                ahead.append(there)
    return reached


SIDEWAYS = {(0, 1), (0, -1), (1, 0), (-1, 0)}
SIX = SIDEWAYS | {(1, -1), (-1, 1)}


@pytest.mark.parametrize("seed", SEEDS)
def test_breakthrough_and_clobber_moves_follow_the_rules(seed: int) -> None:
    for match, reader in positions("breakthrough(rows=5,columns=4)", seed):
        if not match.to_move():
            continue
        [seat] = match.to_move()
        held = reader.list_held(match.observe(seat).text)
        far = re.findall(r"from the (\w+) (\w+) towards the \w+ (\w+), \w+ from", reader.rules)
        [(noun, begin, end)] = far
        axis = reader.nouns.index(noun)
        way = 1 if reader.words[axis].index(begin) < reader.words[axis].index(end) else -1
        way = way if seat == 0 else -way
        legal = set()
        for place, aside in product(held[seat], (-1, 0, 1)):
            target = [*place]
            target[axis] += way
            target[1 - axis] += aside
            there = (target[0], target[1])
            inside = all(0 <= there[n] < len(reader.words[n]) for n in (0, 1))
            if inside and there not in held[seat] and (aside or there not in held[1 - seat]):
                legal.add(f"{reader.name(place)} to {reader.name(there)}")
        assert {*match.legal_moves(seat)} == legal
    for match, reader in positions("clobber(rows=3,columns=4)", seed):
        if not match.to_move():
            continue
        [seat] = match.to_move()
        held = reader.list_held(match.observe(seat).text)
        legal = set()
        for here, step in product(held[seat], SIDEWAYS):
            there = here[0] + step[0], here[1] + step[1]
            if there in held[1 - seat]:
                legal.add(f"{reader.name(here)} to {reader.name(there)}")
        assert {*match.legal_moves(seat)} == legal


@pytest.mark.parametrize("seed", SEEDS)
def test_hex_ends_and_y_edges_decide_the_winner(seed: int) -> None:
    for match, reader in positions("hex(board_size=4)", seed):
        ends = re.findall(r"from the (\w+) (\w+) to the \w+ (\w+)", reader.rules)
        assert len(ends) == 2
        won = []
        for (noun, begin, end), mine in zip(ends, reader.list_held(match.observe(0).text), strict=True):
            start = set(filter(reader.line(noun, begin), mine))
            won.append(any(map(reader.line(noun, end), find_chained_places(mine, start, SIX))))
        assert [value > 0 for value in match.returns()] == won
        assert bool(match.to_move()) != any(won)
    for match, reader in positions("y(board_size=5)", seed):
        size = len(reader.words[0])
        won = []
        for mine in reader.list_held(match.observe(0).text):
            edges = [
                {p for p in mine if p[0] == 0},
                {p for p in mine if p[1] == 0},
                {p for p in mine if sum(p) == size - 1},
            ]
            chains = [find_chained_places(mine, {place}, SIX) for place in mine]
            won.append(any(all(chain & edge for edge in edges) for chain in chains))
        assert [value > 0 for value in match.returns()] == won


@pytest.mark.parametrize("seed", SEEDS)
def test_three_crates_in_a_line_win_connect_four(seed: int) -> None:
    for match, reader in positions("connect_four(rows=5,columns=4,x_in_row=3)", seed):
        [order] = re.findall(r"in this order: ([^.]*)\.", reader.rules)
        poles = order.split(", ")
        stands = dict(re.findall(r"^(\w+): ([\w -]+)$", match.observe(0).text, re.MULTILINE))
        at = {
            (number, height): owner
            for number, pole in enumerate(poles)
            for height, owner in enumerate(stands[pole].split())
            if owner != "-"
        }
        won = [
            any(
                all(at.get((x + n * dx, y + n * dy)) == side for n in range(3))
                for x, y in at
                for dx, dy in ((0, 1), (1, 0), (1, 1), (1, -1))
            )
            for side in reader.sides
        ]
        assert [value > 0 for value in match.returns()] == won


@pytest.mark.parametrize("seed", SEEDS)
def test_morris_roads_match_the_legal_moves(seed: int) -> None:
    moved = filled = 0
    for match, reader in positions("nine_mens_morris", seed, matches=2):
        roads = [road.split("-") for road in re.findall(r"\w+-\w+-\w+", reader.rules)]
        assert len(roads) == 16
        text = match.observe(0).text
        places = [re.findall(rf"^{side}: (.*); to put: (\d+)", text, re.MULTILINE)[0] for side in reader.sides]
        held = [set(listed.split(", ")) - {"none"} for listed, _ in places]
        if not match.to_move():
            continue
        [seat] = match.to_move()
        full = [{place for road in roads if set(road) <= mine for place in road} for mine in held]
        legal = {*match.legal_moves(seat)}
        if "take one away" in text:
            assert full[seat]
            assert legal == (held[1 - seat] - full[1 - seat] or held[1 - seat])
            filled += 1
        elif "move one" in text and len(held[seat]) > 3:
            pairs = [pair for road in roads for pair in (road[:2], road[1:])]
            ways = {f"{a} to {b}" for pair in pairs for a, b in (pair, pair[::-1]) if a in held[seat]}
            assert legal == {way for way in ways if way.split(" to ")[1] not in held[0] | held[1]}
            moved += 1
    assert moved
    assert filled
