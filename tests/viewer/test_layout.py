"""Layout in a real browser: boards and programs keep their lines, and no page scrolls beyond its content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.gymposium.page_checks import size

from gymposium_viewer.pages import is_prose

DESK, PHONE = 1440, 390

WRAPPED = """
() => {
  const found = [];
  for (const box of document.querySelectorAll("pre.laid-out")) {
    if (!box.checkVisibility()) continue;
    const texts = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      let start = 0;
      for (const line of text.data.split("\\n")) {
        const range = document.createRange();
        range.setStart(text, start);
        range.setEnd(text, start + line.length);
        if (new Set([...range.getClientRects()].map((one) => Math.round(one.top))).size > 1) found.push(line);
        start += line.length + 1;
      }
    }
  }
  return found;
}
"""
"""Script that returns the lines of shown boards, programs and rules that take more than one row."""


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("match", ["backgammon.jsonl/1.html#step-10-all", "trace.jsonl/1.html", "trace.jsonl/2.html"])
def test_only_sentences_wrap(serve: Any, look: Any, texts: Path, match: str, width: int) -> None:
    page = look.at(f"{serve(texts)}matches/{match}", width=width)
    for closed in page.locator("details.prompt:visible summary, details.rules-of summary").all():
        closed.click()
    wrapped = page.evaluate(WRAPPED)
    assert all(map(is_prose, wrapped)), [line for line in wrapped if not is_prose(line)]
    assert size(page)[0] == width, "the page scrolls sideways"


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_playing_page_wraps_only_sentences(serve: Any, look: Any, texts: Path, width: int) -> None:
    page = look.at(f"{serve(texts)}play/new.html?game=backgammon&opponent=random&seat=0&seed=1", width=width)
    page.locator("button.main-action").click()
    page.locator("form.move").wait_for()
    page.wait_for_load_state()
    wrapped = page.evaluate(WRAPPED)
    assert wrapped
    assert all(map(is_prose, wrapped)), [line for line in wrapped if not is_prose(line)]
    assert size(page)[0] == width


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_page_ends_with_its_content(serve: Any, look: Any, texts: Path, width: int) -> None:
    address = serve(texts)
    for path in ("matches/backgammon.jsonl/1.html", "matches.html", "play.html"):
        _, height, end = size(look.at(f"{address}{path}", width=width))
        assert height <= max(end, 800) + 1, path


@pytest.mark.slow
def test_list_of_moves_follows_the_step(serve: Any, look: Any, texts: Path) -> None:
    page = look.at(f"{serve(texts)}matches/backgammon.jsonl/1.html#step-60", width=DESK)
    for step in (60, 59, 0):
        page.goto(f"{page.url.partition('#')[0]}#step-{step}")
        place = page.locator(f'.moves a[data-step="{step}"]').bounding_box()
        box = page.locator(".moves").bounding_box()
        assert box["y"] <= place["y"] + 1
        assert place["y"] + place["height"] <= box["y"] + box["height"] + 1
