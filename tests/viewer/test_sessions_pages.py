"""Session pages in a real browser: live updates, hostile text, phones, and export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import expect

from gymposium_viewer.app import export_pages

from .served import ServedRun, call, mail

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\x1b[31m\u202e"
RUN = "runs/training/first"


@pytest.fixture
def served(training_run: Any) -> Iterator[ServedRun]:
    """The sessions of the run `first`: one with tools and branches."""
    made = ServedRun(training_run().path)
    mail(made)
    yield made
    made.file.close()


@pytest.mark.slow
def test_list_follows_the_run(serve: Any, look: Any, served: ServedRun, tmp_path: Path) -> None:
    page = look.at(f"{serve(tmp_path)}{RUN}/index.html")
    page.get_by_role("link", name="Sessions", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("live")
    page.evaluate("window.mark = 'the same page'")
    rows = page.locator("#rows tr")
    expect(rows).to_have_count(1)
    page.get_by_role("link", name="s-mail").focus()
    served.turn(served.begin("s-new", "task-2", client="new/1"), "b2")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("s-new")
    expect(page.locator("#clients")).to_contain_text("new/1")
    expect(page.locator("#ways")).to_contain_text("3 fresh")
    expect(page.get_by_role("link", name="s-mail")).to_be_focused()
    served.end("s-new", -0.5)
    served.file.set_group("task-2", "complete")
    expect(rows.first).to_contain_text("-0.5")
    expect(page.locator("#queue")).to_contain_text("1 group is complete")
    served.learn("task-2", 0.125)
    expect(page.locator("#jobs")).to_contain_text("+0.125")
    expect(page.locator("#counts")).to_contain_text("1 done")
    assert page.evaluate("window.mark") == "the same page"
    page.get_by_label("State").select_option("dropped")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#found")).to_have_text("0 of 0 sessions")
    served.file.set_session(served.begin("s-gone", "task-3"), "dropped", why="the tool failed")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("the tool failed")


@pytest.mark.slow
def test_open_session_gets_its_new_turns(serve: Any, look: Any, served: ServedRun, tmp_path: Path) -> None:
    name = served.begin("s-new", "task-2")
    page = look.at(f"{serve(tmp_path)}{RUN}/sessions/{name}.html")
    expect(page.get_by_role("log")).to_have_text("No request was answered yet.")
    page.evaluate("window.mark = 'the same page'")
    served.turn(name, "b2", calls=[call("search", query="a")], thoughts="Hm. ")
    turns = page.locator("article")
    expect(turns).to_have_count(1)
    expect(page.get_by_role("log")).not_to_contain_text("No request")
    page.locator("summary", has_text="Thoughts").click()
    served.turn(name, "c3", beginning="grown", parent=0)
    expect(turns).to_have_count(2)
    expect(turns.last).to_contain_text("after turn 0")
    expect(page.locator("details.thoughts")).to_have_attribute("open", "")
    served.end(name, 1.0)
    expect(page.locator("#about")).to_contain_text("reward +1")
    assert page.evaluate("window.mark") == "the same page"
    (tmp_path / "training" / "first" / "report.html").write_text("<!doctype html>")
    expect(page.get_by_role("status")).to_have_text("finished")


@pytest.mark.slow
def test_session_shows_rows_tools_and_tokens(serve: Any, look: Any, served: ServedRun, tmp_path: Path) -> None:
    page = look.at(f"{serve(tmp_path)}{RUN}/sessions/s-mail.html")
    expect(page.locator("ol.rows li")).to_have_count(5)
    page.locator("ol.rows li", has_text="branches off").get_by_role("link").click()
    assert page.url.endswith("#turn-3")
    first = page.locator("#turn-0")
    schema = first.locator(".tools pre")
    expect(schema).to_be_hidden()
    first.locator(".tools summary").click()
    expect(schema).to_contain_text('"query"')
    unlikely, likely = (first.locator(".tokens .t").nth(n) for n in (0, 1))
    assert "log-probability -2.5" in unlikely.get_attribute("title")
    color = "one => getComputedStyle(one).backgroundColor"
    assert unlikely.evaluate(color) != likely.evaluate(color) == "rgba(0, 0, 0, 0)"


@pytest.mark.slow
def test_client_and_model_text_is_inert(serve: Any, look: Any, served: ServedRun, tmp_path: Path) -> None:
    name = served.begin("s-bad", HOSTILE, client=HOSTILE, **{HOSTILE: HOSTILE})
    tool = {"name": HOSTILE, "description": HOSTILE, "parameters": {HOSTILE: 1}}
    address = serve(tmp_path)
    for path in ("sessions.html", f"sessions/{name}.html"):
        page = look.at(f"{address}{RUN}/{path}")
        served.turn(  # arrives while the page is open
            name,
            HOSTILE,
            [{"role": HOSTILE, "content": HOSTILE}],
            thoughts=HOSTILE,
            calls=[call(HOSTILE, **{HOSTILE: HOSTILE})],
            tools=[tool],
            differs=HOSTILE,
            finish=HOSTILE,
            beginning=HOSTILE,
        )
        if path != "sessions.html":
            expect(page.locator("article")).to_have_count(2)
            text = page.locator("article").last.inner_text()
        else:
            expect(page.locator("#rows tr").first.locator(".turns")).to_have_text("1")
            text = page.locator("main").inner_text()
        assert page.title() != "owned"
        assert "<img src=x" in text
        assert "␛[31m" in text
        assert "⟨U+202E⟩" in text
        expect(page.locator("main img")).to_have_count(0)
    page = look.at(f"{address}{RUN}/sessions.html")
    page.locator("#clients").get_by_role("link", name="owned").click()
    expect(page.locator("#rows tr")).to_have_count(1)
    expect(page.locator("#rows tr")).to_contain_text(name)
    page.get_by_role("button", name="Show").click()  # the form sends the text as the page shows it
    expect(page.locator("#rows tr")).to_have_count(1)


@pytest.mark.slow
def test_sessions_are_readable_from_disk(look: Any, served: ServedRun, tmp_path: Path) -> None:
    served.begin("s-two", "task-1", 1)
    export_pages(tmp_path / "training", tmp_path / "site")
    home = tmp_path / "site" / "runs" / "first"
    page = look.at((home / "index.html").as_uri())
    page.get_by_role("link", name="Sessions", exact=True).click()
    expect(page.locator("form, [data-events], script")).to_have_count(0)
    page.get_by_role("link", name="s-mail").click()
    expect(page.locator("article")).to_have_count(6)
    expect(page.locator("[data-events], script")).to_have_count(0)
    page.locator(".members").get_by_role("link", name="1").click()
    expect(page.locator("h1")).to_have_text("Session s-two")
    for written in (home / "sessions.html", home / "sessions" / "s-mail.html"):
        links = look.at(written.as_uri()).evaluate(
            "[...document.querySelectorAll('[href],[src]')].map(e => e.href || e.src)"
        )
        for link in links:
            assert Path(unquote(urlsplit(link).path)).is_file(), link


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_a_phone(serve: Any, look: Any, served: ServedRun, tmp_path: Path, dark: bool) -> None:
    long = "a" * 200
    served.turn(served.begin("s-long", long, client=long), long, finish=long, differs=long)
    address = serve(tmp_path)
    for path in ("sessions.html", "sessions/s-mail.html", "sessions/s-long.html"):
        page = look.at(f"{address}{RUN}/{path}", width=390, height=844, dark=dark)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
