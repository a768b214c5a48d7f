"""The documentation is whole: every hook has its page, every decision and page is listed, and the example
plugin is a real one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gymposium.driver import MatchJob, play
from gymposium.games.protocol import Game
from gymposium.players.grammar import make_player
from gymposium.plugins.hookspecs import HOOKS
from gymposium.plugins.host import Host
from gymposium.testing import assert_no_leaks

ROOT = Path(__file__).resolve().parents[2]
HOOK_PAGES = ROOT / "docs" / "reference" / "hooks"


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_page_that_names_what_it_yields(hook: str) -> None:
    page = (HOOK_PAGES / f"{hook}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {hook}\n")
    assert f"gymposium.plugins.hookspecs.{hook}" in page
    assert HOOKS[hook].__name__ in page
    assert f"({hook}.md)" in (HOOK_PAGES / "index.md").read_text(encoding="utf-8")


def test_no_page_is_of_a_hook_that_does_not_exist() -> None:
    assert {page.stem for page in HOOK_PAGES.glob("gymposium_*.md")} == set(HOOKS)


def test_decisions_are_numbered_without_gaps() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        assert re.match(rf"# {int(page.name[:4])}\. ", page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def nim() -> Game:
    host = Host(autoload=False)
    host.load_file(ROOT / "docs" / "examples" / "nim.py")
    game: Game = host.make_game("nim", {"sticks": 10})
    return game


def test_the_example_plugin_plays_and_its_matches_load_again(nim: Game) -> None:
    player = make_player("random")
    for played in play(MatchJob(f"m{seed}", nim, [player, player], seed) for seed in range(20)):
        assert sorted(played.returns) == [-1.0, 1.0]
        assert sum(int(event.move.removeprefix("take ")) for event in played.events) == 10
        again = nim.load(played.events)
        assert again.returns() == played.returns
        assert again.to_move() == ()


def test_what_the_example_shows_is_what_a_seat_may_know(nim: Game) -> None:
    assert_no_leaks(nim)
