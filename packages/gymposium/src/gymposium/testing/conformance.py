"""The kit as a pytest class: one test for each check and each example of a game.

from gymposium.testing import GameConformance

class TestNim(GameConformance):
    game = "nim"

    def facts(self, game, seat):
        yield f"{game.params['sticks']} sticks"
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, cast

from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.plugins.host import host
from gymposium.testing.checks.prompts import facts_are_told
from gymposium.testing.effort import NORMAL, Effort
from gymposium.testing.failed import NotApplicable
from gymposium.testing.registry import Check, Subject
from gymposium.testing.subjects import named_subjects


class GameConformance:
    """Derive from it, name the game, and pytest runs the whole kit on it."""

    game: ClassVar[str] = ""
    """The game, a plugin with all its games, or a game with parameters: as `gymposium plugins check` takes it."""
    file: ClassVar[str | Path | None] = None
    """The one-file plugin that has the game, where it is not installed."""
    effort: ClassVar[Effort] = NORMAL
    seed: ClassVar[int] = 0

    def facts(self, game: Game, seat: int) -> Iterable[str]:
        """Texts that a seat's full rules or first prompt must hold, made from the game's own numbers."""
        return ()

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """One test for each check and each thing that is checked."""
        subjects = self._subjects()
        if "check" in metafunc.fixturenames:
            parametrize(metafunc, subjects)
        elif "example" in metafunc.fixturenames:
            games = [subject for subject in subjects if subject.of == "game"]
            metafunc.parametrize("example", games, ids=[game.name for game in games])

    def _subjects(self) -> list[Subject]:
        if not self.game:
            raise BadOption(f'{type(self).__name__} names no game: write  game = "my_game"  in the class.')
        if self.file is not None and not any(
            plugin.source == str(Path(self.file).resolve()) for plugin in host().plugins
        ):
            host().load_file(self.file)
        return named_subjects(self.game)

    def test_conforms(self, check: Check, subject: Subject) -> None:
        """The game keeps what the check holds it to."""
        run_as_test(check, subject, self.seed, self.effort)

    def test_tells_the_facts(self, example: Subject) -> None:
        """Every seat is told what `facts` names."""
        facts_are_told(cast(Game, example.get()), self.facts, self.seed)


def parametrize(metafunc: Any, subjects: Iterable[Subject]) -> None:
    """Arguments `check` and `subject` for a pytest function."""
    pairs = [(check, subject) for subject in subjects for check in subject.checks()]
    ids = [f"{subject.label}-{check.family}-{check.name}" for check, subject in pairs]
    metafunc.parametrize(("check", "subject"), pairs, ids=ids)


def run_as_test(check: Check, subject: Subject, seed: int, effort: Effort) -> None:
    """Run one check; what does not apply is skipped with the reason."""
    import pytest

    try:
        check.run(subject.get(), seed, effort)
    except NotApplicable as reason:
        pytest.skip(str(reason))
