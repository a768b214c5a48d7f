"""Run the kit from a pytest class, with one test per check and game example.

from gymposium_testing import GameConformance

class TestNim(GameConformance):
    game = "nim"

    def facts(self, game, seat):
        yield f"{game.params['sticks']} sticks"
"""

from __future__ import annotations

from collections.abc import Iterable
from os.path import realpath
from pathlib import Path
from typing import Any, ClassVar, cast

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.plugins.host import host
from gymposium_testing.checks.prompts import check_facts
from gymposium_testing.contract import EFFORTS, NORMAL, Effort, NotApplicable
from gymposium_testing.registry import Check, Subject
from gymposium_testing.subjects import find_subjects


class GameConformance:
    """Base class for tests of a game: a subclass names the game, and pytest runs the whole kit on it."""

    game: ClassVar[str] = ""
    """Name of a game, with or without parameters, or of a plugin, as in `gymposium plugins check`."""
    file: ClassVar[str | Path | None] = None
    """File of a one-file plugin that is not installed."""
    effort: ClassVar[Effort] = NORMAL
    seed: ClassVar[int] = 0
    """Seed of every check."""

    def facts(self, game: Game, seat: int) -> Iterable[str]:
        """Yield texts required in a seat's full rules or first prompt, made from the game's numbers."""
        return ()

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Parametrize the tests by check and subject."""
        subjects = self._list_subjects()
        if "check" in metafunc.fixturenames:
            parametrize(metafunc, subjects)
        elif "example" in metafunc.fixturenames:
            games = [subject for subject in subjects if subject.kind == "game"]
            metafunc.parametrize("example", games, ids=[game.name for game in games])

    def _list_subjects(self) -> list[Subject]:
        if not self.game:
            raise BadOption(f'{type(self).__name__} names no game. Add  game = "my_game"  to the class.')
        if self.file is not None and not any(plugin.source == realpath(self.file) for plugin in host().plugins):
            host().load_file(self.file)
        return find_subjects(self.game)

    def test_conforms(self, check: Check, subject: Subject) -> None:
        """Test that the subject passes the check."""
        run_as_test(check, subject, self.seed, self.effort)

    def test_tells_the_facts(self, example: Subject) -> None:
        """Test that every seat reads the texts in `facts`."""
        check_facts(cast(Game, example.get()), self.facts, self.seed)


def parametrize(metafunc: Any, subjects: Iterable[Subject]) -> None:
    """Parametrize a pytest function by its arguments `check` and `subject`."""
    pairs = [(check, subject) for subject in subjects for check in subject.checks()]
    ids = [f"{subject.label}-{check.family}-{check.name}" for check, subject in pairs]
    metafunc.parametrize(("check", "subject"), pairs, ids=ids)


def run_as_test(check: Check, subject: Subject, seed: int, effort: Effort) -> None:
    """Run a check as a pytest test, which is skipped if the check does not apply."""
    import pytest

    try:
        check.run(subject.get(), seed, effort)
    except NotApplicable as reason:
        pytest.skip(str(reason))


def pytest_addoption(parser: Any) -> None:
    """Add the options of `gymposium_testing.suite`. Pytest calls this if it loads the module as a plugin."""
    group = parser.getgroup("gymposium", "gymposium's conformance kit")
    group.addoption(
        "--game", action="append", dest="games", metavar="NAME", help="Check this game or plugin; repeatable"
    )
    group.addoption(
        "--plugin-file",
        action="append",
        dest="plugin_files",
        metavar="FILE",
        help="Load a plugin from one Python file",
    )
    group.addoption(
        "--effort", choices=list(EFFORTS), default=NORMAL.name, help="Set how many matches and moves each check tries"
    )
    group.addoption("--kit-seed", type=int, default=0, metavar="N", help="Set the seed of every check; default: 0")
