"""Mancala against an independent model written from the rules text alone: positions, legal moves, results."""

from __future__ import annotations

import random

import pytest

from gymposium import load_game
from gymposium.errors import IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Match
from gymposium.replies.reading import READERS, read_reply

ROWS = ("ABCDEF", "abcdef")
SEATS = ("South", "North")
PLACES = [*ROWS[0], SEATS[0], *ROWS[1], SEATS[1]]
"""Round the board; a player's store is under the player's name."""
LIMIT = 1001


class RulesModel:
    """Model of a match, by the rules in the prompt."""

    def __init__(self) -> None:
        self.seeds = dict.fromkeys(PLACES, 4) | dict.fromkeys(SEATS, 0)
        self.seat = self.moves = 0
        self.happened: set[str] = set()

    def empty(self) -> bool:
        return any(not any(self.seeds[house] for house in row) for row in ROWS)

    def legal(self) -> list[str]:
        return [] if self.empty() else [house for house in ROWS[self.seat] if self.seeds[house]]

    def play(self, house: str) -> None:
        mine, store = ROWS[self.seat], SEATS[self.seat]
        places = [place for place in PLACES if place != SEATS[1 - self.seat]]
        start = places.index(house)
        path = [places[(start + step) % len(places)] for step in range(1, self.seeds[house] + 1)]
        self.seeds[house] = 0
        for place in path:
            self.seeds[place] += 1
        last, self.moves = path[-1], self.moves + 1
        if last == house:
            self.happened.add("a whole round")
        if last in mine and self.seeds[last] == 1:
            facing = ROWS[1 - self.seat][5 - mine.index(last)]
            self.happened.add("captured" if self.seeds[facing] else "nothing to capture")
            if self.seeds[facing]:
                self.seeds[store] += self.seeds[facing] + 1
                self.seeds[facing] = self.seeds[last] = 0
        if last == store:
            self.happened.add("moved again")
        else:
            self.seat = 1 - self.seat

    def total(self, seat: int) -> int:
        return self.seeds[SEATS[seat]] + sum(self.seeds[house] for house in ROWS[seat])


def check(match: Match, account: RulesModel) -> None:
    drawn = [ROWS[1][::-1], ROWS[0]]
    names = ["".join(f"{house:>3}" for house in row) for row in drawn]
    seeds = ["".join(f"{account.seeds[house]:3}" for house in row) for row in drawn]
    close = [" ".join(f"{house}{account.seeds[house]}" for house in row) for row in drawn]
    stores, over = [account.seeds[name] for name in SEATS], account.empty()
    for seat, name in enumerate(SEATS):
        mine = not over and account.seat == seat
        legal = match.legal_moves(seat) or []
        assert legal == (account.legal() if mine else [])
        told = f"You are {name}{', to move' if mine else ''}. {account.moves} of at most {LIMIT} moves are played."
        told += " The game is over, and each player takes the seeds in their own houses." if over else ""
        assert match.observe(seat).text == (
            f"{told} Stores: you {stores[seat]}, your opponent {stores[1 - seat]}. The houses:\n"
            f"North{names[0]}\n     {seeds[0]}\n     {seeds[1]}\nSouth{names[1]}\n"
        )
        assert match.observe(seat, "compact").text == (
            f"{close[0]}\n{close[1]}\nstores South {stores[0]} North {stores[1]}\nmoves {account.moves} of {LIMIT}\n"
            f"legal {' '.join(legal) or 'none'}\n"
        )
        tensor = match.tensor(seat).tolist()
        assert tensor[:14] == [account.seeds[place] for place in (PLACES[-1], *PLACES[:-1])]
        assert tensor[14:] == [account.seat, account.moves]


def test_play_agrees_with_the_rules_model() -> None:
    game, happened, results = load_game("mancala"), set[str](), set[float]()
    for seed in range(40):
        match, account, rng = game.new(0), RulesModel(), random.Random(seed)
        while not account.empty():
            assert match.to_move() == (account.seat,)
            check(match, account)
            # half of the matches are at random, half pile seeds up
            move = rng.choice(account.legal()) if seed % 2 else min(account.legal(), key=account.seeds.__getitem__)
            match.apply({account.seat: move})
            account.play(move)
        check(match, account)
        assert match.to_move() == ()
        ahead = account.total(0) - account.total(1)
        result = (ahead > 0) - (ahead < 0)
        assert match.returns() == (result, -result)
        happened |= account.happened
        results.add(result)
    assert happened == {"a whole round", "captured", "nothing to capture", "moved again"}
    assert results == {1, 0, -1}


def test_rules_show_each_seat_the_engines_board() -> None:
    game = load_game("mancala")
    assert isinstance(game, OpenSpielGame)
    for seat, name in enumerate(SEATS):
        rules = game.rules(seat)
        assert "6 houses and a store for each player, 4 seeds in every house" in rules
        assert f"in the order {' '.join(ROWS[0])}, South's store, {' '.join(ROWS[1])}, North's store," in rules
        assert "Facing each other are A and f, B and e, C and d, D and c, E and b, F and a." in rules
        assert f"You are {name}, own {' '.join(ROWS[seat])}, and move {('first', 'second')[seat]};" in rules
        assert f"you are {name} and own {ROWS[seat]}" in game.rules(seat, "compact")
        # the engine goes on while its number of moves is not above the length that it names
        assert game.max_decisions == LIMIT == game.engine.max_game_length() + 1
        assert f"after {LIMIT} moves of both players" in rules


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("mancala").new(0)
    match.apply({0: "B"})
    match.apply({1: "a"})
    for kind, replies in {
        "illegal": ["B", "a", "f"],
        "unparsable": ["g", "1", "South's store", "house A", "AB"],
        "move": ["A", "F"],
    }.items():
        for reply in replies:
            assert read_reply(reply, match.legal_moves(0), READERS["move"], match.game.move_pattern).kind == kind, reply
            if kind != "move":
                with pytest.raises(IllegalMove):
                    match.apply({0: reply})
