"""Pages exported as files, which need no server."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import expect

from gymposium.errors import BadOption, BadRecord
from gymposium.records import Record, read_records
from gymposium_viewer.app import export_pages
from gymposium_viewer.replays import export_matches

from .conftest import unpacked, write


@pytest.mark.slow
def test_every_exported_link_leads_to_a_page(look: Any, runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    export_pages(runs, out)
    assert {page.name for page in out.rglob("*.html")} >= {"index.html", "matches.html", "match.html"}
    for page in sorted(out.rglob("*.html")):
        found = look.at(page.as_uri(), scripts=False)
        links = found.evaluate(
            "[...document.querySelectorAll('[href],[src],[action]')].map(e => e.href || e.src || e.action)"
        )
        for link in links:
            assert Path(unquote(urlsplit(link).path)).is_file(), link


def test_matches_are_exported_as_one_page_with_data(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gymposium_viewer.replays.pages.MAX_FILE_SIZE", 60_000)
    out = tmp_path / "site"
    export_pages(runs, out)
    assert len(list(out.rglob("*.html"))) == 3
    listed = unpacked(out / "matches" / "list.js")
    assert len(listed["rows"]) == 15
    assert {*listed["orders"]} == {"longest", "shortest", "tokens", "failures", "newest"}
    number = len(list((out / "matches").iterdir())) - 1
    parts = [unpacked(out / "matches" / f"{place}.js") for place in range(number)]
    assert 1 < len(parts) < 15
    for row, match in zip(listed["rows"], chain(*parts), strict=True):
        assert f'path">{row["id"]} · ' in match


@pytest.mark.slow
def test_exported_matches_can_be_stepped_and_filtered(look: Any, runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    export_pages(runs, out)
    page = look.at(f"{(out / 'matches.html').as_uri()}?failed=illegal")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.locator("td.id")).to_have_text(["illegal-0", "retried-0", "goof-0"])
    page.locator("select[name=player]").select_option("lm:repeats")
    page.locator("select[name=ended]").select_option("lost")
    expect(page.locator(".found .shown")).to_have_text("1")
    page.locator("tbody tr:visible a").click()
    expect(page.locator(".verdict.head")).to_contain_text("Seat 0 (lm:repeats) gave no legal move and forfeits.")
    page.locator(".play.stepping").wait_for()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile("#step-0$"))
    marks = page.frame_locator("iframe.picture").first.locator("svg use")
    expect(marks).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(marks).to_have_count(1)


@pytest.mark.slow
def test_server_features_are_not_exported(look: Any, runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    export_pages(runs, out)
    assert not list(out.rglob("*.json"))
    assert "compare.html" not in "".join(page.read_text(encoding="utf-8") for page in out.rglob("*.html"))


@pytest.mark.slow
def test_long_list_has_several_pages(serve: Any, look: Any, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium_viewer.replays.pages.PAGE_SIZE", 6)
    page = look.at(f"{serve(runs)}matches.html")
    seen = page.locator("td.id").all_inner_texts()
    for number in (2, 3):
        page.get_by_role("link", name="Next").click()
        expect(page.locator(".pager")).to_contain_text(f"Page {number} of 3")
        seen += page.locator("td.id").all_inner_texts()
    expect(page.get_by_role("link", name="Next")).to_have_count(0)
    assert len(seen) == len(set(seen)) == 15
    page.locator("tbody tr").last.click()
    page.get_by_role("link", name="All matches").click()
    expect(page.locator("td.id").first).to_be_visible()


@pytest.mark.slow
def test_long_exported_list_is_paged_and_sorted(look: Any, tmp_path: Path) -> None:
    write(tmp_path / "runs" / "many.jsonl", "tic_tac_toe", ["random", "random"], seeds=range(130))
    export_pages(tmp_path / "odd", tmp_path / "site")
    page = look.at((tmp_path / "site" / "matches.html").as_uri())
    pager = page.locator(".pager")
    expect(pager).to_contain_text("Page 1 of 2")
    expect(page.locator("tbody tr")).to_have_count(100)
    pager.get_by_role("button", name="Next").click()
    expect(page.locator("tbody tr")).to_have_count(30)
    expect(page.locator("td.id").last).to_have_text("m-129")
    page.get_by_label("Order").select_option("longest")
    replies = page.locator("tbody td.number:not(.tokens)")
    expect(replies.first).to_have_text("9")
    lengths = [int(text) for text in replies.all_inner_texts()]
    assert lengths == sorted(lengths, reverse=True)
    page.locator("tbody tr").last.click()
    page.locator(".play.stepping").wait_for()
    page.get_by_role("link", name="Next").click()
    page.locator(".play.stepping").wait_for()


@pytest.mark.parametrize("odd", ['"player_seed":9e999', '"player_seed":99999999999999999999', '"player_seed":"x"'])
@pytest.mark.parametrize("end", ["\n", ""])
def test_invalid_match_lines_are_left_out(runs: Path, tmp_path: Path, odd: str, end: str) -> None:
    first, second = (runs / "connect_four.jsonl").read_text(encoding="utf-8").splitlines()
    damaged = re.sub(r'"player_seed":\d+', odd, second)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "matches.jsonl").write_text(f"{first}\n{damaged}{end}", encoding="utf-8")
    export_pages(tmp_path / "odd", tmp_path / "site")
    assert len(unpacked(tmp_path / "site" / "matches" / "list.js")["rows"]) == 1
    assert "matches.jsonl:2" in (tmp_path / "site" / "matches.html").read_text(encoding="utf-8")


def test_export_overwrites_nothing(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(BadOption, match="an empty or new folder"):
        export_pages(runs, tmp_path)


@pytest.mark.slow
def test_selected_matches_are_exported_for_another_site(look: Any, runs: Path, tmp_path: Path) -> None:
    records = [found for _, found in read_records(runs / "cards.jsonl") if isinstance(found, Record)]
    strange = Record.parse(json.dumps(json.loads(records[0].line()) | {"id": "../../a b/<x>?#é"}))
    paths = export_matches([*records, strange, strange], tmp_path / "out", home="../index.html")
    assert paths.keys() == {"goof-0", strange.id}
    written = {page.relative_to(tmp_path / "out").as_posix() for page in (tmp_path / "out").rglob("*.html")}
    assert {*paths.values()} == written
    page = look.at((tmp_path / "out" / paths[strange.id]).as_uri())
    assert "forfeits" in page.locator(".verdict.head").inner_text()
    assert page.locator("a.brand").evaluate("link => link.href") == (tmp_path / "index.html").as_uri()
    other = Record.parse(json.dumps(json.loads(records[0].line()) | {"seed": 99}))
    with pytest.raises(BadRecord, match="Two different matches have the id 'goof-0'"):
        export_matches([records[0], other], tmp_path / "twice")
