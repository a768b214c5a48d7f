"""Match pages in a real browser: loading, steps, filters, comparison, and inert hostile text."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from gymposium.analysis.review import get_review_path
from gymposium.analysis.review.update import review_file
from gymposium.games.lines.tic_tac_toe import TicTacToe
from gymposium.games.pictures import Picture
from gymposium.match.ending import Ending
from gymposium.records import Record
from gymposium.runs.executors.local import LocalExecutor
from gymposium_viewer.replays.story import build_story

from .conftest import ScriptedPlayer, write

if TYPE_CHECKING:
    from playwright.sync_api import Page

TTT = "matches/boards/tic%20tac%20toe.jsonl"
"""Path of the matches of tic-tac-toe: 1 to 8 are random, then illegal, unparsable, cut off and retried."""

STEPPING = ".play.stepping"
"""Selector that matches once the page's script has run."""


def expect_step(page: Page, step: int, seats: Sequence[str] | None = None) -> None:
    """Waits until this step alone is shown, and it as these seats see it."""
    page.locator(STEPPING).wait_for()
    shown = page.locator(".step:visible")
    expect(shown).to_have_count(1)
    expect(shown).to_have_attribute("data-step", str(step))
    if seats is not None:
        views = page.locator(".view:visible")
        expect(views).to_have_count(len(seats))
        for number, seat in enumerate(seats):
            expect(views.nth(number)).to_have_attribute("data-seat", seat)


def test_from_the_first_page_to_a_lost_match(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(serve(runs))
    expect(page.locator(".card").first).to_contain_text("15 matches of 3 games")
    page.locator(".card").first.click()
    expect(page.locator("tbody tr")).to_have_count(15)
    expect(page.locator(".banner").first).to_contain_text("1 line is not a match")
    expect(page.locator(".banner").last).to_contain_text("1 other file")
    page.locator("select[name=player]").select_option("lm:talks")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody tr").click()
    expect(page.locator(".verdict.head")).to_contain_text("Seat 1 (lm:talks) gave no legal move and forfeits.")
    expect(page.locator(".verdict.head")).to_contain_text("“I like b2.” does not look like a move in this game.")
    expect(page).to_have_url(re.compile(r"10\.html\?player=lm%3Atalks$"))
    expect_step(page, 0, ["0"])
    page.get_by_role("link", name="The reply that ended it").click()
    expect_step(page, 1, ["1"])
    step = page.locator("#step-1")
    expect(step.locator(".tag.unparsable")).to_have_text("unparsable")
    expect(step.locator(".reply pre")).to_have_text("I like b2.")
    expect(step.locator(".reply h5")).to_contain_text("31 tokens read · 7 written · 0.50 s")


@pytest.mark.slow
def test_files_of_another_version_are_reported(serve: Any, look: Any, tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text('{"format":"gymposium-match-1"}\n' * 30, encoding="utf-8")
    page = look.at(serve(tmp_path))
    expect(page.locator(".card").first).to_contain_text("1 other file")
    page.locator(".card").first.click()
    page.locator(".banner summary").click()
    expect(page.locator(".banner li")).to_contain_text("old.jsonl not a match record in format")


@pytest.mark.slow
def test_stepping_by_keys(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(f"{serve(runs)}{TTT}/1.html")
    last = page.locator(".step").count() - 1
    expect_step(page, 0, ["0"])
    page.keyboard.press("End")
    expect_step(page, last)
    page.keyboard.press("Home")
    expect_step(page, 0, ["0"])
    page.keyboard.press("ArrowRight")
    expect_step(page, 1, ["1"])
    expect(page).to_have_url(re.compile(r"#step-1$"))
    expect(page.locator(".moves a[aria-current]")).to_have_attribute("data-step", "1")
    expect(page.locator(".keys")).to_contain_text("0 1 a seat’s view, W the view of who moves, A all")
    page.keyboard.press("0")
    expect_step(page, 1, ["0"])
    expect(page).to_have_url(re.compile(r"#step-1-seat-0$"))
    page.keyboard.press("w")
    expect_step(page, 1, ["1"])
    page.keyboard.press("a")
    expect_step(page, 1, ["0", "1"])
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    expect_step(page, last)
    page.keyboard.press("ArrowLeft")
    expect_step(page, last - 1, ["0", "1"])
    page.keyboard.press("n")
    page.wait_for_url("**/2.html*")
    page.keyboard.press("p")
    page.wait_for_url("**/1.html*")


@pytest.mark.slow
def test_match_plays_automatically_to_its_end(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(f"{serve(runs)}{TTT}/1.html")
    last = page.locator(".step").count() - 1
    slider = page.locator(".stepper input").bounding_box()
    assert slider is not None
    assert slider["width"] > 200, "the choice of the speed leaves no room for the slider"
    button = page.locator("[data-autoplay]")
    page.get_by_label("Speed").select_option("very fast")
    button.click()
    expect_step(page, last)
    expect(button).to_have_text("Play")
    page.get_by_label("Speed").select_option("slow")
    button.focus()
    page.keyboard.press("Enter")  # from the beginning again
    expect(button).to_have_attribute("aria-pressed", "true")
    expect_step(page, 0)
    page.keyboard.press("ArrowRight")  # a step by hand ends it
    expect(button).to_have_attribute("aria-pressed", "false")
    expect_step(page, 1)


@pytest.mark.slow
def test_result_is_shown_once(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(f"{serve(runs)}{TTT}/1.html")
    said = page.locator(".verdict p").first.inner_text()
    assert said
    assert page.locator("main").text_content().count(said) == 1


@pytest.mark.slow
def test_chess_moves_are_in_standard_notation(serve: Any, look: Any, tmp_path: Path) -> None:
    said = ("<move>e2e4</move>", "<move>f1c4</move>", "<think>A knight</think>\n<move>g1f3</move>")
    black, white = ScriptedPlayer("e7e5", "d7d6", "I resign."), ScriptedPlayer(*said, reply="tags")
    write(tmp_path / "chess.jsonl", "chess", [black, white])
    page = look.at(f"{serve(tmp_path)}matches/chess.jsonl/1.html")
    moves = page.locator(".moves .mono")
    for number, written in enumerate(("e4", "e5", "Bc4", "d6")):
        expect(moves.nth(number)).to_have_text(written)
    expect(page.locator("#step-2 .played")).to_contain_text("f1c4")
    expect(page.locator("#step-2 .played")).to_contain_text("(Bc4)")
    thoughts = page.locator("#step-4 details.thoughts")
    expect(thoughts.locator("summary")).to_have_text("Thoughts (8 characters)")
    page.locator(".moves a").nth(4).click()
    expect(thoughts.locator("pre")).to_be_hidden()
    expect(page.locator("#step-4 .reply > pre")).to_have_text("<move>g1f3</move>")
    thoughts.locator("summary").click()
    expect(thoughts.locator("pre")).to_have_text("A knight")


@pytest.mark.slow
def test_link_opens_a_step_from_a_seats_view(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(f"{serve(runs)}{TTT}/1.html#step-2-seat-1")
    expect_step(page, 2, ["1"])
    page.locator(".moves a").last.click()
    expect_step(page, page.locator(".step").count() - 1)
    page.locator("[data-go=first]").click()
    expect_step(page, 0)
    page.locator(".toggle [data-view=all]").click()
    expect_step(page, 0, ["0", "1"])


@pytest.mark.slow
def test_filters_persist_while_stepping(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(f"{serve(runs)}matches.html")
    page.locator("select[name=failed]").select_option("illegal")
    page.wait_for_url("**failed=illegal**")
    expect(page.locator("td.id")).to_have_text(["illegal-0", "retried-0", "goof-0"])
    page.locator("tbody tr td.game").first.click()
    expect(page.locator(".around")).to_contain_text("1 of 3 that are listed")
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".around")).to_contain_text("2 of 3 that are listed")
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".around")).to_contain_text("3 of 3 that are listed")
    expect(page.get_by_role("link", name="Next")).to_have_count(0)
    page.get_by_role("link", name="All matches").click()
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("link", name="All", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(15)


@pytest.mark.slow
def test_sent_prompt_can_be_copied(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(f"{serve(runs)}{TTT}/12.html#step-2")
    record = Record.parse((runs / "boards" / "tic tac toe.jsonl").read_text(encoding="utf-8").splitlines()[11])
    [act] = build_story(record).steps[2].acts
    assert len(act.attempts) == 3
    prompts = page.locator("#step-2 details.prompt")
    for number, one in enumerate(act.attempts):
        assert one.prompt is not None
        prompts.nth(number).locator("summary").click()
        whole = one.prompt.before + one.prompt.rules + one.prompt.after
        page.wait_for_function("details => !details.querySelector('a.rules')", arg=prompts.nth(number).element_handle())
        assert prompts.nth(number).locator("pre").text_content() == whole
    assert "'b2' is not legal now." in (prompts.nth(1).locator("pre").text_content() or "")


@pytest.mark.slow
def test_two_matches_side_by_side(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(f"{serve(runs)}matches.html?game=tic_tac_toe")
    button = page.get_by_role("button", name="Compare")
    assert button.is_disabled()
    boxes = page.locator("td.pick input")
    boxes.nth(0).check()
    boxes.nth(9).check()
    button.click()
    expect(page.locator(".side")).to_have_count(2)
    expect(page.locator("main")).to_contain_text("The first different move is at step")
    page.locator(STEPPING).wait_for()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#a-step-1, #b-step-1")).to_have_count(2)
    for step in ("#a-step-1", "#b-step-1"):
        expect(page.locator(step)).to_be_visible()
    expect(page.locator(".step:visible")).to_have_count(2)
    page.keyboard.press("End")
    expect(page.locator("#a-step-1, #b-step-1").first).to_be_hidden()
    expect(page.locator(".step:visible")).to_have_count(2)  # the shorter one stays at its end


@pytest.mark.slow
def test_picture_frame_is_sandboxed(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(f"{serve(runs)}{TTT}/1.html#step-3-all")
    frames = page.locator("iframe.picture")
    assert frames.count() == 2
    assert frames.first.get_attribute("sandbox") == ""
    board = page.frame_locator("iframe.picture").first
    expect(board.locator("svg use")).to_have_count(3)
    assert board.locator("svg").first.bounding_box()["width"] > 200
    page.keyboard.press("ArrowLeft")
    expect(page.frame_locator("iframe.picture").first.locator("svg use")).to_have_count(2)


HOSTILE = (
    "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'></pre></script>"
    '"><svg onload=window.hacked=3> {{ 7*7 }} \x1b[31m\x1b]0;title\x07 \u202egnp.exe \u200b\ud800 <!-- \x00'
)


def hostile_run(folder: Path) -> None:
    """A record with hostile text in all its fields."""
    folder.mkdir()
    players = [f"lm:{HOSTILE}", "random"]
    [line] = _played(players)
    data = json.loads(line)
    data["turns"][0]["text"] = HOSTILE + "x" * 1_000_000
    data["turns"][0]["reading"] = "unparsable"
    data["turns"] = data["turns"][:1]
    data |= {"id": HOSTILE, "events": [], "results": ["loss", "win"], "returns": [-1.0, 1.0]}
    data |= {"versions": {HOSTILE: HOSTILE}, "ending": asdict(Ending("crashed", 0, HOSTILE)), "on_illegal": "forfeit"}
    with open(folder / "m.jsonl", "w", encoding="utf-8") as file:
        file.write(json.dumps(data, separators=(",", ":")) + "\n")
        broken = data | {"returns": [], "results": [], "game": HOSTILE}
        broken["ending"] = asdict(Ending("broke off", detail=HOSTILE))
        file.write(json.dumps(broken) + "\n")
        file.write(HOSTILE.encode("utf-8", "replace").decode() + "\n")


def _played(players: list[str]) -> list[str]:
    from gymposium import load_game, make_player
    from gymposium.match import MatchJob, play

    [played] = play([MatchJob("m", load_game("tic_tac_toe"), [make_player("random")] * 2, 0)])
    record = Record.from_match(played)
    record.players = players
    return [record.line()]


def test_hostile_text_is_inert(serve: Any, look: Any, tmp_path: Path) -> None:
    hostile_run(tmp_path / "runs")
    address = serve(tmp_path / "runs")
    for path in (
        "index.html",
        "matches.html",
        "matches/m.jsonl/1.html",
        "matches/m.jsonl/2.html",
        "compare.html?match=m.jsonl:1&match=m.jsonl:2",
    ):
        page = look.at(f"{address}{path}")
        assert page.evaluate("window.hacked") is None
        expect(page.locator("img:not([src*='static/'])")).to_have_count(0)
        expect(page.locator("main script:not([type='application/json']), main svg")).to_have_count(0)
        text = page.evaluate("document.documentElement.outerHTML")
        assert not {"\x1b", "\x07", "\u202e", "\u200b", "\x00"} & set(text)
    page = look.at(f"{address}matches/m.jsonl/1.html")
    reply = page.locator("#step-0 .reply pre").inner_text()
    assert reply.startswith("<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>")
    assert "{{ 7*7 }} ␛[31m␛]0;title␇ ⟨U+202E⟩gnp.exe ⟨U+200B⟩⟨U+D800⟩ <!-- ␀" in reply
    assert "characters omitted" in reply
    assert len(reply) < 25_000
    assert page.evaluate("document.documentElement.scrollWidth") == 1280


@pytest.mark.slow
def test_hostile_picture_is_inert(
    serve: Any, look: Any, runs: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer((elsewhere := socket.create_server(("127.0.0.2", 0))).close)
    host = f"http://127.0.0.2:{elsewhere.getsockname()[1]}/"
    markup = (
        f"<script>parent.hacked=1</script><img src='{host}x.png' onerror='parent.hacked=2'>"
        f"<link rel=stylesheet href='{host}x.css'><form action='{host}'><button>go</button>"
        "</form><a href='javascript:parent.hacked=3' target=_top>go</a><p id=shown>shown</p>"
        f"<meta http-equiv=refresh content='0;url={host}'>"
    )
    monkeypatch.setattr(TicTacToe, "draw_picture", lambda self, state, seat, events: Picture(markup, 1, 1))
    page = look.at(f"{serve(runs)}{TTT}/1.html#step-1")
    board = page.frame_locator("iframe.picture").first
    board.locator("#shown").wait_for()
    board.locator("a").click()
    board.locator("button").click()
    assert page.evaluate("window.hacked") is None
    expect(page).to_have_url(re.compile(r"#step-1$"))
    assert look.troubles
    elsewhere.setblocking(False)
    with pytest.raises(BlockingIOError):  # nobody connected
        elsewhere.accept()
    blocked = ("sandboxed", "Content Security Policy", "Unsafe", "elsewhere")  # a blocked request may be told of, too
    assert not [said for said in look.troubles if not any(word in said for word in blocked)]
    look.troubles.clear()


def test_pages_are_readable_without_scripts(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(f"{serve(runs)}{TTT}/9.html", scripts=False)
    assert all(step.is_visible() for step in page.locator(".step").all())
    expect(page.locator(".step")).to_have_count(3)
    expect(page.locator("#step-2")).to_contain_text("is a move in this game, but not one of the")
    assert not page.locator(".stepper").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "index.html",
        "matches.html",
        f"{TTT}/12.html#step-2-all",
        "matches/cards.jsonl/1.html",
        "compare.html?match=connect_four.jsonl:1&match=connect_four.jsonl:2",
    ],
)
def test_nothing_is_wider_than_a_phone(serve: Any, look: Any, runs: Path, path: str) -> None:
    page = look.at(f"{serve(runs)}{path}", width=390, height=844, dark=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_pages_follow_the_preferred_color_scheme(serve: Any, look: Any, runs: Path) -> None:
    address = serve(runs)
    colors = [
        look.at(f"{address}matches.html", dark=dark).evaluate("getComputedStyle(document.body).backgroundColor")
        for dark in (False, True)
    ]
    light, dark = (sum(map(int, color.strip("rgb()").split(","))) for color in colors)
    assert light > 600
    assert dark < 150


@pytest.mark.slow
def test_reviewed_match_shows_the_loss_per_move(serve: Any, look: Any, tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    write(file, "tic_tac_toe", [ScriptedPlayer("a1", "b1", "nonsense"), ScriptedPlayer("c3", "b3")])
    with closing(LocalExecutor(1)) as executor:
        review_file(file, None, executor)
    page = look.at(serve(tmp_path) + "matches/m.jsonl/1.html")
    curve = page.locator(".curve")
    expect(curve.locator("polyline")).to_have_count(1)
    expect(curve.locator("li").last).to_contain_text(
        "gave no legal move and gave away 1.00; better was a3. lost the match"
    )
    curve.locator("li a").first.click()
    expect_step(page, 2)
    expect(page.locator(".moves .tag.loss").first).to_have_text("−1.00")
    get_review_path(file).write_text("{}")
    page = look.at(serve(tmp_path) + "matches/m.jsonl/1.html")
    expect(page.locator(".banner")).to_contain_text("holds no reviews of matches")
    expect(page.locator(".curve")).to_have_count(0)
