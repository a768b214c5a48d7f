"""Helpers for tests of games with hidden information: worlds and leaks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pyspiel
import pytest

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.openspiel.wording import Wording
from gymposium.games.protocol import Match, Style
from gymposium_testing import assert_no_leaks, check_leaks


def choose_lively_move(match: Match, rng: random.Random) -> str:
    legal = match.legal_moves(match.to_move()[0]) or []
    knocks = [move for move in legal if move.startswith(("knock", "meld", "lay off"))]
    return rng.choice(knocks) if knocks and rng.random() < 0.8 else rng.choice(legal)


def chi_square(counts: Counter[str], kinds: int) -> float:
    """Return the distance from evenness, in standard deviations of the chi-square distribution."""
    total = sum(counts.values())
    distance = sum((n - total / kinds) ** 2 for n in counts.values()) / (total / kinds)
    distance += (kinds - len(counts)) * total / kinds
    return float((distance - (kinds - 1)) / (2 * (kinds - 1)) ** 0.5)


def check_worlds(name: str, share: float, matches: int, story: Callable[[Match, int], list[str]]) -> None:
    """Check that worlds tell the seat the same story, at a share of the decisions of some matches."""
    game, rng = load_game(name), random.Random(1)
    worlds, different, knocked = 0, 0, 0
    for seed in range(matches):
        match = game.new(seed)
        while match.to_move():
            [seat] = match.to_move()
            late = "knock" in [event.move for event in match.events]
            if rng.random() < (0.7 if late else share):
                true = list(match.events)
                world = match.resample(seat, rng)
                assert isinstance(world, OpenSpielMatch)
                assert match.events == true
                assert world.seed is None
                assert world.to_move() == match.to_move()
                assert world.observe(seat) == match.observe(seat)
                assert world.legal_actions(seat) == match.legal_actions(seat)
                assert [event.seat for event in world.events] == [event.seat for event in true]
                assert story(world, seat) == story(match, seat)
                assert str(game.load(world.events).state) == str(world.state)  # type: ignore[attr-defined]
                worlds, different, knocked = worlds + 1, different + (world.events != true), knocked + late
                while world.to_move():
                    world.apply({world.to_move()[0]: choose_lively_move(world, rng)})
            match.apply({seat: choose_lively_move(match, rng)})
    assert worlds >= 30
    assert different >= 0.9 * worlds
    assert knocked or "hand_size=3" not in name


def check_nothing_leaks(name: str, matches: int) -> None:
    """Check that no prompt tells more than the seat knows."""
    report = assert_no_leaks(load_game(name), matches=matches)
    assert report.worlds >= 10, report


class HintingWording:
    """Words of a game that add a hint about something that the seat may not know."""

    def __init__(self, wording: Wording, hint: Callable[[pyspiel.State, int], object]) -> None:
        self._wording, self._hint = wording, hint

    def __getattr__(self, name: str) -> object:
        return getattr(self._wording, name)

    def position(self, state: pyspiel.State, seat: int, style: Style) -> str:
        return f"{self._wording.position(state, seat, style)}{self._hint(state, seat)}\n"


def check_hint_is_found(
    name: str, matches: int, hint: Callable[[pyspiel.State, int], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that the leak check finds a hint in the prompts."""
    telling = load_game(name)  # one for everybody: a copy would be the same
    monkeypatch.setattr(telling, "told", HintingWording(telling.told, hint))  # type: ignore[attr-defined]
    leaks = check_leaks(telling, matches=matches).leaks
    assert {leak.seat for leak in leaks if leak.fault == "leak" and "prompt" in leak.what} == set(range(telling.seats))
