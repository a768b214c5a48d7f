"""The site in a real browser, opened from disk."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.gymposium.page_checks import troubles

from gymposium_arena.slugs import make_slug

from .hostile_players import HOSTILE


def test_every_kind_of_page_renders(look: Any, site: Path) -> None:
    kinds = ["index.html", "games.html", "how.html", "data.html", "players.html", f"players/{make_slug(HOSTILE)}.html"]
    kinds += ["games/tic_tac_toe.html", "games/coin_game.html", "pairings/random--mcts-5.html"]
    page = look.at((site / "index.html").as_uri())
    found = {}
    for kind in kinds:
        page.goto((site / kind).as_uri())
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        found[kind] = troubles(page)
        assert "owned" not in page.title().replace("document.title='owned'", "")
    assert not {kind: wrong for kind, wrong in found.items() if wrong}


@pytest.mark.slow
def test_site_is_readable_without_scripts(look: Any, site: Path) -> None:
    page = look.at((site / "index.html").as_uri(), width=390, height=844, dark=True, scripts=False)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 22, 26)"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator("table.by-game tbody tr")).not_to_have_count(0)
    expect(page.locator("form.filters:visible, button:visible")).to_have_count(0)


def test_first_view_is_small(site: Path) -> None:
    """What a browser loads to show a board, as servers send it."""
    files = ["index.html", "static/base.css", "static/board.css", "static/board.js", "static/icon.svg"]
    assert sum(len(gzip.compress((site / file).read_bytes())) for file in files) <= 60_000
    for match in (site / "matches").glob("*.html"):
        files = [match, *(site / "static" / name for name in ("base.css", "replays.css", "steps.js", "icon.svg"))]
        assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= 100_000, match.name


@pytest.mark.slow
def test_intervals_are_drawn_at_their_values(look: Any, site: Path) -> None:
    page = look.at((site / "games/tic_tac_toe.html").as_uri(), scripts=False)
    row = page.locator("table.standings tbody tr", has_text="mcts-5")
    dot, span = row.locator("circle").bounding_box(), row.locator(".span").bounding_box()
    assert span["x"] < dot["x"] + dot["width"] / 2 < span["x"] + span["width"]
    zero = page.locator("table.standings th.plot text.main").bounding_box()
    anchor = page.locator("table.standings tbody tr", has_text="random").locator("circle").bounding_box()
    assert abs((zero["x"] + zero["width"] / 2) - (anchor["x"] + anchor["width"] / 2)) < 2


@pytest.mark.slow
def test_navigates_from_board_to_lost_match_and_back(look: Any, site: Path) -> None:
    page = look.at((site / "index.html").as_uri())
    page.locator("table.heat a[href='pairings/random--mcts-5.html']").first.click()
    expect(page).to_have_url(re.compile("/pairings/"))
    page.locator("details summary").first.click()
    page.locator("a.replay:visible").first.click()
    page.locator(".stepping").wait_for()
    expect(page).to_have_url(re.compile("/matches/"))
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile(r"#step-0$"))
    page.get_by_role("link", name="All matches").click()
    expect(page).to_have_url(re.compile("/pairings/"))
    expect(page).to_have_url(re.compile("#tic_tac_toe"))


def test_hostile_replies_are_shown_inertly(look: Any, site: Path) -> None:
    matches = sorted((site / "matches").rglob("*.html"))
    lost = next(
        file for file in matches if "no legal move" in (text := file.read_text()) and make_slug(HOSTILE) in text
    )
    page = look.at(lost.as_uri())
    expect(page.locator(".verdict.head")).to_contain_text("forfeits")
    expect(page.locator("img[src=x], main script:not([type='application/json'])")).to_have_count(0)
    assert "owned" not in page.title().replace("document.title='owned'", "")


@pytest.mark.slow
def test_headers_sort_columns_and_filters_hide_rows(look: Any, site: Path) -> None:
    page = look.at((site / "index.html").as_uri())
    programs = page.locator("table.by-game tbody[data-kind=programs] tr:not(.kind):visible th")
    assert programs.count() > 2
    page.locator("table.by-game thead").get_by_role("button", name="Player").click()
    names = programs.all_inner_texts()
    assert names == sorted(names, key=str.lower)
    head = page.locator("table.by-game thead th", has_text="Tic-tac-toe")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    shown = [cell.inner_text() for cell in page.locator("[data-kind=programs] tr:not(.kind) td:nth-child(3)").all()]
    ratings = [int(re.match(r"-?\d+", text).group()) for text in shown if text[0] not in "–?"]  # type: ignore[union-attr]
    assert ratings == sorted(ratings, reverse=True)
    page.get_by_label("Kind").select_option("models")
    expect(programs).to_have_count(0)
    page.get_by_label("Kind").select_option("")
    page.get_by_label("Player", exact=True).fill("GREED")
    expect(page.locator("table.by-game tbody tr:not(.kind):visible")).to_have_count(1)
