"""Fixtures of trick-game tests with hidden hands."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection

import pyspiel
import pytest

from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Match
from gymposium_testing import check_leaks

from ..worlds import HintingWording


@pytest.fixture
def check_worlds(story: Callable[[Match, int], list[str]]) -> Callable[..., None]:
    """Check that worlds tell their seat the same story, and mostly differ from the true one."""

    def check(game: OpenSpielGame, matches: int, share: float) -> None:
        worlds = different = 0
        for seed in range(matches):
            match, rng = game.new(seed), random.Random(seed)
            while match.to_move():
                for seat in range(4):
                    if rng.random() < share:
                        true = list(match.events)
                        world = match.resample(seat, rng)
                        assert match.events == true
                        assert world.to_move() == match.to_move()
                        assert world.observe(seat) == match.observe(seat)
                        assert [event.seat for event in world.events] == [event.seat for event in true]
                        assert story(world, seat) == story(match, seat)
                        assert str(game.load(world.events).state) == str(world.state)
                        worlds, different = worlds + 1, different + (world.events != true)
                match.apply({match.to_move()[0]: rng.choice(match.legal_moves(match.to_move()[0]) or [])})
        assert worlds > 100
        assert different > 0.8 * worlds

    return check


@pytest.fixture
def check_even() -> Callable[..., None]:
    """Check that counts are of fitting outcomes only, all equally often, by their chi-square."""

    def check(counts: Counter[str], fitting: Collection[str]) -> None:
        assert set(counts) <= set(fitting)
        kinds, total = len(fitting), sum(counts.values())
        distance = sum((counts[fit] - total / kinds) ** 2 for fit in fitting) / (total / kinds)
        assert abs(distance - (kinds - 1)) / (2 * (kinds - 1)) ** 0.5 < 4

    return check


@pytest.fixture
def find_leaking_seats(monkeypatch: pytest.MonkeyPatch) -> Callable[..., set[int]]:
    """Return the seats for which the leak check finds a hint that was planted in their prompts."""

    def planted(game: OpenSpielGame, hint: Callable[[pyspiel.State, int], object], matches: int) -> set[int]:
        monkeypatch.setattr(game, "told", HintingWording(game.told, hint))
        leaks = check_leaks(game, matches=matches, tries=1, events=60_000).leaks
        return {leak.seat for leak in leaks if leak.fault == "leak" and "prompt" in leak.what}

    return planted
