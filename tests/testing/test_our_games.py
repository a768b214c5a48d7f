"""gymposium's own games, and those of its plugins, keep what the kit holds any game to."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gymposium.our_plugins import names_with_games

from gymposium.plugins.host import Host, host
from gymposium.plugins.specs import GameSpec
from gymposium_testing import QUICK, Check
from gymposium_testing.conformance import parametrize, run_as_test
from gymposium_testing.registry import Subject
from gymposium_testing.subjects import subjects_of


def first_party() -> list[GameSpec]:
    """The built-in games with their disguises, and the games of every distribution in `plugins/`."""
    names = {*names_with_games()}
    missing = names - {plugin.name for plugin in host().plugins if plugin.status == "active"}
    assert not missing, f"not installed, or broken: {missing}"
    theirs = [s for p in host().plugins if p.name in names for s in p.specs if isinstance(s, GameSpec)]
    return [*(host().games[name] for name in Host(autoload=False).games), *theirs]


def pytest_generate_tests(metafunc: Any) -> None:
    """The usual run checks each spec and its first example; the slow tests check the other examples."""
    subjects = [subjects_of(spec) for spec in first_party()]
    every = metafunc.function is test_conforms_with_other_parameters
    parametrize(metafunc, [one for of_game in subjects for one in (of_game[2:] if every else of_game[:2])])


def test_conforms(check: Check, subject: Subject) -> None:
    """Every check, quickly. `gymposium plugins check` tries more moves, and `python -m
    benchmarks.games` plays 1,000 random matches of each game."""
    run_as_test(check, subject, 0, QUICK)


@pytest.mark.slow
def test_conforms_with_other_parameters(check: Check, subject: Subject) -> None:
    run_as_test(check, subject, 0, QUICK)
