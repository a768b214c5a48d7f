"""Play in a real browser: clicks, keys, no scripts, hostile text and hidden cards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from gymposium.games.lines.tic_tac_toe import TicTacToe
from gymposium.games.pictures import Picture, PicturePlace
from gymposium.records import Record, verify_file

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>\x1b[31m\u202e"
SETTLED = ".move, .next"


def begin(page: Page, **fields: str) -> None:
    """Fills in the form of this page and begins the match."""
    for name, value in fields.items():
        field = page.locator(f"[name='{name}']").first
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
    page.get_by_role("button", name="Play", exact=True).click()
    wait_for_page(page, SETTLED)


def wait_for_page(page: Page, at: str) -> None:
    """Waits for a page with this text whose script has run."""
    page.locator(at).first.wait_for(state="attached")
    page.wait_for_load_state()


def play_on(page: Page) -> None:
    """Plays the first legal move, by clicks, until the end."""
    while page.locator(".legal button").count():
        turn = page.locator("[name=turn]").get_attribute("value")
        page.locator(".legal button").first.click()
        wait_for_page(page, f"[name=turn]:not([value='{turn}']), .next")


def record(folder: Path) -> Record:
    file = folder / "played" / "matches.jsonl"
    assert not verify_file(file).problems
    [line] = file.read_text(encoding="utf-8").splitlines()
    return Record.parse(line)


def test_whole_match_by_clicks(serve: Any, look: Any, tmp_path: Path) -> None:
    page = look.at(serve(tmp_path))
    page.get_by_role("link", name="Play", exact=True).click()
    page.wait_for_url("**/play.html")
    page.get_by_label("Find a game").fill("three row 3 by 3")
    expect(page.locator(".games li:visible")).to_have_count(1)
    page.locator(".games li:visible a").click()
    begin(page, seat="0", seed="3")
    board = page.frame_locator("iframe.picture")
    assert page.locator("iframe.picture").get_attribute("sandbox") == ""
    board.locator("svg").wait_for()
    expect(page.locator(".legal button")).to_have_count(9)
    play_on(page)
    assert re.match(r"You (win|lose)\.|A draw\.", page.locator(".verdict").inner_text())
    board.locator("svg use").nth(4).wait_for(state="attached")
    played = record(tmp_path)
    assert played.players == ["human", "random"]
    page.get_by_role("link", name="View the match").click()
    expect(page.locator(".seats")).to_contain_text("human")


@pytest.mark.slow
def test_whole_match_without_scripts(serve: Any, look: Any, tmp_path: Path) -> None:
    page = look.at(f"{serve(tmp_path)}play.html", scripts=False)
    page.get_by_label("Find a game").fill("kuhn")
    page.keyboard.press("Enter")  # does not wait for the next page
    expect(page.locator(".games a")).to_have_count(1)
    page.locator(".games a").click()
    begin(page, seat="0")
    page.get_by_label("Your turn.").fill("bet")
    page.keyboard.press("Enter")
    page.locator(".next").wait_for()
    assert [turn["text"] for turn in record(tmp_path).turns if turn["seat"] == 0] == ["bet"]


@pytest.mark.slow
def test_whole_match_by_keys(serve: Any, look: Any, tmp_path: Path) -> None:
    page = look.at(f"{serve(tmp_path)}play/new.html?game=tic_tac_toe")
    begin(page, seat="0", seed="3")
    page.keyboard.type("b")
    expect(page.locator(".legal button:visible")).to_have_text([re.compile(f"{move}$") for move in ("b3", "b2", "b1")])
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    wait_for_page(page, "[name=turn][value='2']")
    assert page.locator(".since").inner_text().startswith("Last moves: You b2")
    first = page.locator(".legal button").first.get_attribute("data-move")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    wait_for_page(page, "[name=turn][value='3'], .next")
    assert page.locator(".since").inner_text().startswith(f"Last moves: You {first}")


@pytest.mark.slow
def test_typed_illegal_move_is_refused(serve: Any, look: Any, tmp_path: Path) -> None:
    page = look.at(f"{serve(tmp_path)}play/new.html?game=connect_four")
    begin(page, seat="0")
    page.keyboard.type("Z<i>9")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    expect(page.get_by_role("alert")).to_have_text("'Z<i>9' is not a legal move here.")
    assert page.locator("[name=turn]").get_attribute("value") == "1"
    assert all("400" in said for said in look.troubles)
    look.troubles.clear()


def test_no_server_response_contains_the_other_card(serve: Any, look: Any, tmp_path: Path) -> None:
    page = look.at(f"{serve(tmp_path)}play/new.html?game=kuhn_poker")
    bodies: list[tuple[str, str]] = []

    def keep(answer: Any) -> None:
        if answer.status == 200 and "static" not in answer.url:
            bodies.append((answer.url, answer.text()))

    page.on("response", keep)
    begin(page, seat="1", opponent="random")
    mine = re.search(r"Your card: ([JQK])", page.locator(".position").text_content() or "")
    page.wait_for_load_state("networkidle")
    before = [(url, body) for url, body in bodies if "/play/" in url]
    play_on(page)
    played = record(tmp_path)
    other, own = ("JQK"[int(event.move.removeprefix("Deal:"))] for event in played.events[:2])
    assert mine is not None
    assert mine[1] == own
    assert before
    for _, body in before:
        told = re.sub(r'<details class="rules-of".*?</details>', "", body, flags=re.DOTALL)
        assert f"Your card: {own}" in told
        assert not re.search(rf"\b{other}\b", told)
        assert str(played.seed) not in body


def test_hostile_text_is_inert(serve: Any, look: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = look.at(f"{serve(tmp_path)}play/new.html?game=tic_tac_toe")
    page.locator("[name=opponent]").fill(HOSTILE)
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("<script>window.hacked=1</script><img src=x")
    assert page.evaluate("window.hacked") is None
    assert all("400" in said for said in look.troubles)
    look.troubles.clear()
    markup = "<script>parent.hacked=3</script><p>shown</p>"
    places = (PicturePlace(HOSTILE, 0, 0, 1, 1), PicturePlace("b2", 0, 0, 1, 1))
    monkeypatch.setattr(TicTacToe, "draw_picture", lambda self, state, seat, events: Picture(markup, 1, 1, places))
    begin(page, opponent="random", seat="0")
    page.frame_locator("iframe.picture").locator("p").wait_for()
    page.locator(".places [title=b2]").click()
    expect(page.locator(".since")).to_contain_text("b2")
    assert page.evaluate("window.hacked") is None
    look.close()  # the browser may still be about to complain of the second picture
    assert all("sandboxed" in said for said in look.troubles)
    look.troubles.clear()


@pytest.mark.slow
@pytest.mark.parametrize("game", ["", "universal_poker", "chess", "trace"])
def test_nothing_is_wider_than_a_phone(serve: Any, look: Any, tmp_path: Path, game: str) -> None:
    address = serve(tmp_path)
    page = look.at(f"{address}play/new.html?game={game}" if game else f"{address}play.html", width=390, height=844)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    if game:
        begin(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
