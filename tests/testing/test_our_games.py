"""First-party games conform to the kit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.gymposium.our_plugins import names_with_games

from gymposium.plugins.host import Host, host
from gymposium.plugins.specs import GameSpec
from gymposium_testing import QUICK, Check
from gymposium_testing.conformance import parametrize, run_as_test
from gymposium_testing.registry import Subject
from gymposium_testing.subjects import list_subjects

FEW = replace(QUICK, name="few", decisions=30, events=3_000, draws=1, matches=4)
OWN_TESTS = ("mail", "mcp", "openenv", "qa", "tables")
"""Games on which tests in `tests/plugins` run the kit, with more moves."""
WEIGHED = ("tic_tac_toe", "gin_rummy")
"""Games of whose imports the usual run starts a process. It plays the others in processes that have imported more."""


def first_party() -> list[GameSpec]:
    """The built-in games with their disguises, and the games of every distribution in `plugins/`."""
    names = {*names_with_games()}
    missing = names - {plugin.name for plugin in host().plugins if plugin.status == "active"}
    assert not missing, f"not installed, or broken: {missing}"
    theirs = [s for p in host().plugins if p.name in names for s in p.specs if isinstance(s, GameSpec)]
    return [*(host().games[name] for name in Host(autoload=False).games), *theirs]


def pytest_generate_tests(metafunc: Any) -> None:
    """The usual run checks each spec and its first example; the slow tests check all examples."""
    if metafunc.function is test_conforms_with_any_parameters:
        # deselecting thousands of tests takes seconds
        specs = [] if metafunc.config.option.markexpr == "not slow" else first_party()
        parametrize(metafunc, [subject for spec in specs for subject in list_subjects(spec)])
        return
    subjects = [subject for spec in first_party() if spec.name not in OWN_TESTS for subject in list_subjects(spec)[:2]]
    pairs = [(check, subject) for subject in subjects for check in subject.checks()]
    pairs = [(check, one) for check, one in pairs if check.family != "weight" or one.label.split()[0] in WEIGHED]
    ids = [f"{subject.label}-{check.family}-{check.name}" for check, subject in pairs]
    metafunc.parametrize(("check", "subject"), pairs, ids=ids)


def test_conforms(check: Check, subject: Subject) -> None:
    """Every check, with few moves. The slow tests and `gymposium plugins check` try more, and `python -m
    benchmarks.games` plays 1,000 random matches of each game."""
    run_as_test(check, subject, 0, FEW)


@pytest.mark.slow
def test_conforms_with_any_parameters(check: Check, subject: Subject) -> None:
    run_as_test(check, subject, 0, QUICK)
