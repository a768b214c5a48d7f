"""Pictures of every game in a real browser, narrow and wide, light and dark: visibility and clicks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.gymposium.our_plugins import names_with_games

from gymposium import GameSpec
from gymposium.plugins.host import Host, host
from gymposium_viewer.playing.games import count_opponents

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page

DESK, PHONE = 1440, 390
FAULTS = (Path(__file__).parent / "seen_faults.js").read_text(encoding="utf-8")
"""Script that returns what is badly seen in a document: texts and borders with little contrast, and texts that are cut
off."""


BUTTONS_ALONE = {
    *("kuhn_poker", "leduc_poker", "universal_poker", "blackjack", "pig", "bargaining", "negotiation"),
    *("trace", "mail", "tables", "qa"),
}
"""Games that begin with moves on no place of the picture, such as bets, offers and free text."""

IN_EVERY_RUN = {"kuhn_poker"}
"""Game whose picture every run looks at. The others are slow."""


def drawn_games() -> list[str]:
    """The built-in games and those of every distribution in `plugins/` that draw their positions."""
    theirs = [spec for p in host().plugins if p.name in names_with_games() for spec in p.specs]
    names = [*Host(autoload=False).games, *(spec.name for spec in theirs if isinstance(spec, GameSpec))]
    return [name for name in names if name not in ("mcp", "openenv")]  # they need a server


def begin(look: Any, address: str, game: str) -> Page:
    """The page of a new match of this game, with the person in the first seat."""
    alone = count_opponents(host().games[game]) == (0, 0)
    query = f"game={game}&seat=0&seed=1{'' if alone else '&opponent=random'}"
    page: Page = look.at(f"{address}play/new.html?{query}", width=DESK)
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator(".move, .next").first.wait_for(state="attached")
    page.wait_for_load_state()
    return page


def find_frame(page: Page) -> Frame:
    """The document in the frame of the picture."""
    handle = page.locator("iframe.picture").element_handle()
    frame = handle.content_frame()
    assert frame is not None
    frame.locator("svg").wait_for()
    return frame


def click_a_move(page: Page) -> None:
    """Plays a legal move by clicks on the places that it names, and waits for the next page."""
    told = json.loads(page.locator("#clicks").text_content() or "")
    moves: Sequence[list[int]] = [move for move in told["moves"] if move]
    alone = [m for m in moves if sum(other[: len(m)] == m for other in moves) == 1]
    turn = page.locator("[name=turn]").get_attribute("value")
    for place in alone[0] if alone else moves[0]:
        page.locator(f'.places > [data-place="{place}"]:visible').first.click()
    if not alone:  # several moves name the same places: their buttons are left
        page.locator(".legal button:visible").first.click()
    page.locator(f"[name=turn]:not([value='{turn}']), .next").first.wait_for(state="attached")
    page.wait_for_load_state()


@pytest.mark.parametrize(
    "game", [pytest.param(game, marks=() if game in IN_EVERY_RUN else pytest.mark.slow) for game in drawn_games()]
)
def test_picture_is_visible_and_clickable(serve: Any, look: Any, tmp_path: Path, game: str) -> None:
    page = begin(look, serve(tmp_path), game)
    if game not in BUTTONS_ALONE:
        click_a_move(page)
    frame = find_frame(page)
    for width in (DESK, PHONE):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") == width, "the page scrolls sideways"
            box = page.locator("iframe.picture").bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            inside = frame.evaluate(
                "() => { const all = document.documentElement, svg = document.querySelector('svg');"
                " const { width, height } = svg.viewBox.baseVal;"
                " return [all.scrollWidth - all.clientWidth, all.scrollHeight - all.clientHeight, width, height]; }"
            )
            assert inside[:2] == [0, 0], "the picture scrolls in its frame"
            assert box["height"] / box["width"] == pytest.approx(inside[3] / inside[2], rel=0.01), "an empty stretch"
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert frame.evaluate(FAULTS, ground) == [], (width, scheme)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_controls_have_visible_borders(serve: Any, look: Any, tmp_path: Path, scheme: Any) -> None:
    page = begin(look, serve(tmp_path), "chess")
    page.emulate_media(color_scheme=scheme)
    told = page.evaluate(
        "() => [...document.querySelectorAll('input[type=text], button, .button')].map((one) => {"
        " const style = getComputedStyle(one), ground = getComputedStyle(document.body).backgroundColor;"
        " return [style.borderTopColor, ground]; })"
    )
    assert told
    for border, ground in told:
        assert contrast(border, ground) >= 3, (border, ground)


def contrast(one: str, other: str) -> float:
    """The contrast of two colors as a browser writes them, by the formula of WCAG 2."""
    light = []
    for color in (one, other):
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        light.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_two_clicks_choose_a_move_and_escape_undoes(serve: Any, look: Any, tmp_path: Path) -> None:
    page = look.at(f"{serve(tmp_path)}play/new.html?game=chess&opponent=random&seat=1&seed=3")
    page.get_by_role("button", name="Play", exact=True).click()
    page.locator(".places").wait_for(state="attached")
    all_moves = page.locator(".legal button:visible").count()
    page.locator(".places [title=g1]").click()
    assert page.locator(".legal button:visible bdi").all_inner_texts() == ["g1f3", "g1h3"]
    page.locator(".places [title=b1]").click()  # another piece instead
    assert page.locator(".legal button:visible bdi").all_inner_texts() == ["b1a3", "b1c3"]
    page.keyboard.press("Escape")
    expect(page.locator(".legal button:visible")).to_have_count(all_moves)
    page.locator(".places [title=e2]").click()
    page.locator(".places [title=e4]").click()
    expect(page.locator(".since")).to_contain_text("e2e4")


@pytest.mark.slow
def test_places_are_hidden_from_assistive_technology(serve: Any, look: Any, tmp_path: Path) -> None:
    page = begin(look, serve(tmp_path), "tic_tac_toe")
    assert page.locator(".places").get_attribute("aria-hidden") == "true"
    assert page.evaluate("document.querySelectorAll('.places [tabindex], .places button, .places a').length") == 0
    assert page.locator(".legal button").count()


@pytest.mark.slow
def test_picture_ignores_clicks_until_places_are_drawn(serve: Any, look: Any, tmp_path: Path) -> None:
    page = begin(look, serve(tmp_path), "tic_tac_toe")
    under = page.evaluate(
        "() => { document.querySelector('.places').remove();"
        " const { x, y, width, height } = document.querySelector('iframe.picture').getBoundingClientRect();"
        " return document.elementFromPoint(x + width / 2, y + height / 2).className; }"
    )
    assert under == "drawn"


@pytest.mark.slow
def test_earlier_decisions_can_be_viewed(serve: Any, look: Any, tmp_path: Path) -> None:
    address = serve(tmp_path)
    page = begin(look, address, "tic_tac_toe")
    boards = []
    for _ in range(3):
        boards.append(page.locator(".position").text_content())
        page.locator(".legal button").first.click()
        page.locator(f"[name=turn]:not([value='{len(boards)}']), .next").first.wait_for(state="attached")
    playing = page.url
    for board in reversed(boards):
        page.get_by_role("link", name="Look back").click()
        expect(page.locator(".position")).to_have_text(board or "")
        assert page.locator("form.move").count() == 0
    assert page.get_by_role("link", name="Look back").count() == 0
    page.get_by_role("link", name="Forward").click()
    expect(page.locator(".position")).to_have_text(boards[1] or "")
    page.get_by_role("link", name="Now").click()
    page.wait_for_url(playing)


@pytest.mark.slow
def test_form_lists_the_opponents_of_the_game(serve: Any, look: Any, tmp_path: Path) -> None:
    address = serve(tmp_path)
    offers = {}
    for game in ("pig", "chess", "kuhn_poker", "tic_tac_toe", "goofspiel"):
        page = look.at(f"{address}play/new.html?game={game}", scripts=False)
        offers[game] = page.locator(".offers a").all_inner_texts()
        assert all(len(one) > 10 for one in page.locator(".offers li span").all_inner_texts())
    common = ["random", "greedy", "mcts-25", "mcts-400"]
    assert offers["chess"] == common
    assert offers["pig"] == [*common, "hold-20"]
    assert offers["kuhn_poker"] == [*common, "cfr-200"]
    assert offers["tic_tac_toe"] == [*common, "exact"]
    assert offers["goofspiel"] == [*common, "match-prize"]
    page.locator(".offers a", has_text="match-prize").click()  # without scripts the link fills in the form
    expect(page.locator("[name=opponent]")).to_have_value("match-prize")
    page = look.at(f"{address}play/new.html?game=pig")
    page.locator("[name=seed]").fill("7")
    page.locator(".offers a", has_text="hold-20").click()
    expect(page.locator("[name=opponent]")).to_have_value("hold-20")
    expect(page.locator("[name=seed]")).to_have_value("7")
