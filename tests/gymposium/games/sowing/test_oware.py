"""Oware against an independent model written from the rules text alone: positions, legal moves, results."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter, IllegalMove, WrongSeat
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Match
from gymposium.replies.reading import READERS, read_reply

LIMIT = 400


@dataclass
class RulesModel:
    """Model of a match, by the rules in the prompt. Houses and stores go by name: `A` and `South`."""

    houses: int
    each: int
    seeds: dict[str, int] = field(default_factory=dict)
    stores: dict[str, int] = field(default_factory=lambda: {"South": 0, "North": 0})
    mover: str = "South"
    past: list[str] = field(default_factory=list)
    moves: int = 0
    over: bool = False
    captured: int = 0
    slams: int = 0

    def __post_init__(self) -> None:
        small = "abcdef"[: self.houses]
        self.ring = small.upper() + small
        self.rows = {"South": self.ring[: self.houses], "North": self.ring[self.houses :]}
        self.seeds = dict.fromkeys(self.ring, self.each)
        self.past.append(self.key())

    def key(self) -> str:
        return f"{self.seeds} {self.stores} {self.mover}"

    def other(self) -> str:
        return "North" if self.mover == "South" else "South"

    def sow(self, house: str) -> list[str]:
        """Return the houses that get a seed, in order."""
        order = [name for name in self.ring * 9 if name != house]
        start = self.ring.index(house)
        return order[start : start + self.seeds[house]]

    def legal(self) -> list[str]:
        if self.over:
            return []
        mine, theirs = self.rows[self.mover], self.rows[self.other()]
        full = [house for house in mine if self.seeds[house]]
        if any(self.seeds[house] for house in theirs):
            return full
        return [house for house in full if set(self.sow(house)) & set(theirs)]

    def play(self, house: str) -> None:
        path, theirs = self.sow(house), self.rows[self.other()]
        self.seeds[house] = 0
        for name in path:
            self.seeds[name] += 1
        taken = []
        for name in reversed(theirs[: theirs.index(path[-1]) + 1] if path[-1] in theirs else ""):
            if self.seeds[name] not in (2, 3):
                break
            taken.append(name)
        if taken and not any(self.seeds[name] for name in set(theirs) - set(taken)):
            taken = []
            self.slams += 1
        for name in taken:
            self.stores[self.mover] += self.seeds[name]
            self.seeds[name] = 0
        self.captured = len(taken)
        self.mover = self.other()
        self.moves += 1
        half = self.houses * self.each
        decided = max(self.stores.values()) > half or min(self.stores.values()) == half
        ended = not self.legal() or self.key() in self.past or self.moves == LIMIT
        self.past.append(self.key())
        if decided or ended:
            self.over = True
            for name, row in self.rows.items():
                self.stores[name] += sum(self.seeds[house] for house in row)
            self.seeds = dict.fromkeys(self.ring, 0)

    def after(self, house: str) -> RulesModel:
        other = deepcopy(self)
        other.play(house)
        return other

    def repeating(self) -> list[str]:
        """Return the moves that repeat a position."""
        return [house for house in self.legal() if (end := self.after(house)).past[-1] in end.past[:-1]]


def check(match: Match, account: RulesModel, repeating: Sequence[str]) -> None:
    top, bottom = account.rows["North"][::-1], account.rows["South"]
    wide = ["".join(f"{name:>3}" for name in row) for row in (top, bottom)]
    drawn = ["".join(f"{account.seeds[name]:3}" for name in row) for row in (top, bottom)]
    close = [" ".join(f"{name}{account.seeds[name]}" for name in row) for row in (top, bottom)]
    south, north = account.stores["South"], account.stores["North"]
    for seat, name in enumerate(("South", "North")):
        mine = not account.over and account.mover == name
        legal = match.legal_moves(seat) or []
        assert legal == (account.legal() if mine else [])
        told = f"You are {name}{', to move' if mine else ''}. {account.moves} of at most {LIMIT} moves are played."
        told += " The game is over." if account.over else ""
        back = (
            f"Moves that would bring back an earlier position and so end the game: {' '.join(repeating)}.\n"
            if repeating and mine
            else ""
        )
        assert match.observe(seat).text == (
            f"{told} Stores: you {account.stores[name]}, your opponent {(north, south)[seat]}. The houses:\n"
            f"North{wide[0]}\n     {drawn[0]}\n     {drawn[1]}\nSouth{wide[1]}\n{back}"
        )
        back = f"repeats a position {' '.join(repeating)}\n" if repeating and mine else ""
        assert match.observe(seat, "compact").text == (
            f"{close[0]}\n{close[1]}\nstores South {south} North {north}\nmoves {account.moves} of {LIMIT}\n"
            f"legal {' '.join(legal) or 'none'}\n{back}"
        )


def at_random(rng: random.Random) -> Callable[[RulesModel], str]:
    return lambda account: rng.choice(account.legal())


def play_out(match: Match, account: RulesModel, choose: Callable[[RulesModel], str], every: int = 1) -> RulesModel:
    """Play to the end by the model, and compare the match with it at regular intervals."""
    while not account.over:
        assert match.to_move() == (("South", "North").index(account.mover),)
        if account.moves % every == 0:
            check(match, account, account.repeating())
        move = choose(account)
        match.apply({("South", "North").index(account.mover): move})
        account.play(move)
    check(match, account, [])
    assert match.to_move() == ()
    ahead = account.stores["South"] - account.stores["North"]
    result = (ahead > 0) - (ahead < 0)
    assert match.returns() == (result, -result)
    return account


@given(st.integers(2, 6), st.integers(1, 6), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_play_agrees_with_the_rules_model(houses: int, each: int, rng: random.Random) -> None:
    game = load_game("oware", num_houses_per_player=houses, num_seeds_per_house=each)
    account = RulesModel(houses, each)
    for seat, name in enumerate(("South", "North")):
        rules = game.rules(seat)
        assert f"{houses} houses for each player and {each} seeds in every house" in rules
        assert f"more than half of the {2 * houses * each} seeds" in rules
        assert f"in the order {' '.join(account.ring)}" in rules
        assert f"after {LIMIT} moves of both players" in rules
        mine = " ".join(account.rows[name])
        assert f"You are {name}, own {mine}, and move {('first', 'second')[seat]}; " in rules
        assert f"you are {name} and own {account.rows[name]}" in game.rules(seat, "compact")
    play_out(game.new(0), account, at_random(rng), every=3)


def test_random_play_reaches_all_endings() -> None:
    ends, slams = set(), 0
    for seed in range(40):
        houses, each = (2 + seed % 3, 1 + seed % 2) if seed < 39 else (6, 4)
        match = load_game("oware", num_houses_per_player=houses, num_seeds_per_house=each).new(0)
        account = play_out(match, RulesModel(houses, each), at_random(random.Random(seed)), every=2)
        ends.add((account.past[-1] in account.past[:-1], bool(account.captured), match.returns()[0]))
        slams += account.slams
    assert {(True, False), (False, True), (False, False)} == {end[:2] for end in ends}
    assert {end[2] for end in ends} == {1.0, 0.0, -1.0}
    assert slams


def test_long_match_ends_before_the_engine_fails() -> None:
    def keep(now: RulesModel) -> str:
        """Return a move that captures nothing and does not end the game."""
        rng = random.Random(now.moves)
        moves = rng.sample(now.legal(), len(now.legal()))
        return next((m for m in moves if not ((end := now.after(m)).captured or end.over)), moves[0])

    game = load_game("oware")
    match = game.new(0)
    account = play_out(match, RulesModel(6, 4), keep, every=40)
    assert account.moves == len(match.events) == LIMIT == game.max_decisions
    assert isinstance(match, OpenSpielMatch)
    assert not match.state.is_terminal()
    fork = match.fork(random.Random(0))
    for ended in (match, fork, game.load(match.events)):
        assert ended.returns() == match.returns()
        assert [ended.legal_actions(seat) for seat in (0, 1)] == [[], []]
        with pytest.raises(WrongSeat):
            ended.apply({0: "A"})


def test_forks_detect_repetitions_independently() -> None:
    game = load_game("oware", num_houses_per_player=2, num_seeds_per_house=1)
    told = 0
    for seed in range(30):
        match, account, rng = game.new(0), RulesModel(2, 1), random.Random(seed)
        while not account.over:
            check(match.fork(random.Random(0)), account, repeating := account.repeating())
            told += bool(repeating)
            move = rng.choice(account.legal())
            match.apply({("South", "North").index(account.mover): move})
            account.play(move)
    assert told


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("oware").new(0)
    match.apply({0: "C"})
    for kind, replies in {
        "illegal": ["A", "F"],
        "unparsable": ["g", "G", "1", "ab", "house a"],
        "move": ["a", "f"],
    }.items():
        for reply in replies:
            assert read_reply(reply, match.legal_moves(1), READERS["move"], match.game.move_pattern).kind == kind, reply
            if kind != "move":
                with pytest.raises(IllegalMove):
                    match.apply({1: reply})


@pytest.mark.parametrize("wrong", [{"num_houses_per_player": 7}, {"num_seeds_per_house": 0}])
def test_unsupported_parameters_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(BadParameter):
        load_game("oware", **wrong)
