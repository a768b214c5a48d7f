"""Helpers for tests of games: random matches and their prompts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyspiel
import pytest
from hypothesis import strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Game, Match
from gymposium.plugins.host import host
from gymposium.plugins.specs import Parameter
from gymposium.replies.reading import READERS, read_reply

seeds = st.integers(0, 2**31)


def engine(match: Match) -> pyspiel.State:
    assert isinstance(match, OpenSpielMatch)
    return match.state


def plain_examples(name: str) -> list[dict[str, Any]]:
    """Return the examples of a game without those in disguise."""
    return [dict(example) for example in host().game(name).examples if "disguise" not in example]


def own_parameters(name: str) -> list[Parameter]:
    """Return the parameters of a game without its disguise."""
    return [parameter for parameter in host().game(name).parameters if parameter.name != "disguise"]


def parse_lines(text: str) -> dict[str, str]:
    """Return the lines of a text by their first words: `card J` → {"card": "J"}."""
    return {key: rest for key, _, rest in (line.partition(" ") for line in text.splitlines())}


def walk(game: Game, seed: int) -> Iterator[Match]:
    """Play a random match. Yields it at each decision and at its end."""
    match, rng = game.new(seed), random.Random(seed)
    while True:
        yield match
        if not match.to_move():
            return
        [seat] = match.to_move()
        match.apply({seat: rng.choice(match.legal_moves(seat) or [])})


def list_moves(match: Match, seat: int) -> list[str]:
    """Return the seat's legal moves, after a check that they are unique and can be read."""
    legal = match.legal_moves(seat) or []
    assert len(set(legal)) == len(legal) == len(engine(match).legal_actions(seat))
    for move in legal:
        assert read_reply(move, legal, READERS["move"], match.game.move_pattern).kind == "move"
    return legal


def check_readings(name: str, illegal: list[str], unparsable: list[str]) -> None:
    """Check how replies are read in the first position of a match."""
    match = load_game(name).new(3)
    legal = match.legal_moves(0)
    kinds = {
        move: read_reply(move, legal, READERS["move"], match.game.move_pattern).kind for move in illegal + unparsable
    }
    assert kinds == {
        **{move: "move" if move in (legal or []) else "illegal" for move in illegal},
        **dict.fromkeys(unparsable, "unparsable"),
    }


def check_ends_of_ranges(name: str, params: dict[str, tuple[int, int]]) -> None:
    """Check that both ends of every range can be played, and that values beyond them are refused."""
    assert {p.name: (p.low, p.high) for p in own_parameters(name) if p.low is not None} == params
    for key, (low, high) in params.items():
        for value in (low, high):
            for match in walk(load_game(name, **{key: value}), 7):
                low_return, high_return = match.game.utility_range
                assert all(low_return <= value <= high_return for value in match.returns())
        for value in (low - 1, high + 1):
            with pytest.raises(BadParameter, match=f"from {low} to {high}"):
                load_game(name, **{key: value})
