"""Accessibility of every kind of page: contrast, overflow, blank length, keys, and the findings of axe-core."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.gymposium.page_checks import AXE, faint, findings, troubles
from typer.testing import CliRunner

from gymposium.cli.main import app
from gymposium_viewer.app import export_pages
from gymposium_viewer.training.run_page import render_report

from .served import ServedRun, mail


def test_low_contrast_is_detected(look: Any, tmp_path: Path) -> None:
    gray = "<p style='color: #888'>gray</p><input style='border: 1px solid #aaa'><b hidden style='color: #ddd'>x"
    (tmp_path / "gray.html").write_text(f"<!doctype html><meta name='color-scheme' content='light'>{gray}")
    page = look.at((tmp_path / "gray.html").as_uri())
    assert [one.partition(":")[0] for one in faint(page)] == ["text 3.54", "border 2.32"]


def test_axe_detects_violations(look: Any, tmp_path: Path) -> None:
    if not Path(os.environ.get(AXE, "")).is_file():
        pytest.skip(f"{AXE} does not name axe.min.js (npm install axe-core)")
    (tmp_path / "wrong.html").write_text("<!doctype html><title>wrong</title><img src='data:,'><button></button>")
    page = look.at((tmp_path / "wrong.html").as_uri())
    look.troubles.clear()
    assert {"html-has-lang", "image-alt", "button-name"} <= {one.partition(":")[0] for one in findings(page)}


@pytest.mark.slow
def test_match_and_play_pages_are_accessible(serve: Any, look: Any, runs: Path) -> None:
    address = serve(runs)
    match = "matches/boards/tic%20tac%20toe.jsonl"
    pages = ["index.html", "matches.html", f"{match}/9.html", f"{match}/1.html#step-1-all", "play.html", "gone.html"]
    compared = "compare.html?match=connect_four.jsonl:1&match=connect_four.jsonl:2"
    found = {}
    for path in (*pages, compared, "play/new.html?game=connect_four&opponent=random&seat=0&seed=1"):
        page = look.at(address + path)
        found[path] = troubles(page)
    page.locator("button.main-action").click()
    page.locator("form.move").wait_for()
    found["play"] = troubles(page)
    look.troubles[:] = [one for one in look.troubles if "404" not in one]
    assert not {path: wrong for path, wrong in found.items() if wrong}


@pytest.mark.slow
def test_run_session_and_exploit_pages_are_accessible(serve: Any, look: Any, training_run: Any, tmp_path: Path) -> None:
    run = training_run()
    for step in range(1, 5):
        run.log(step)
    run.keep(1)
    served = ServedRun(run.path)
    mail(served)
    served.file.close()
    made = ("exploit", "random", "--game", "kuhn_poker", "--out", str(tmp_path / "exploits" / "exact"))
    assert CliRunner().invoke(app, made).exit_code == 0
    address = serve(tmp_path)
    first = "runs/training/first"
    found = {}
    for path in (
        "runs.html",
        f"{first}/index.html",
        f"{first}/rollouts.html",
        f"{first}/rollouts/1-0.html",
        f"{first}/sessions.html",
        f"{first}/sessions/s-mail.html",
        "exploits.html",
        "exploits/exploits/exact/index.html",
    ):
        page = look.at(address + path)
        expect(page.locator("h1")).to_be_visible()
        found[path] = troubles(page)
    assert not {path: wrong for path, wrong in found.items() if wrong}


@pytest.mark.slow
def test_exported_pages_are_accessible(look: Any, runs: Path, tmp_path: Path) -> None:
    export_pages(runs, tmp_path / "site")
    found = {}
    for path, shown in (("matches.html", "form.filters"), ("match.html?match=3", ".play.stepping")):
        page = look.at(f"{(tmp_path / 'site').as_uri()}/{path}")
        page.locator(shown).wait_for()
        found[path] = troubles(page)
    assert not {path: wrong for path, wrong in found.items() if wrong}


def test_run_report_is_accessible(look: Any, training_run: Any, tmp_path: Path) -> None:
    """It is one file, whose policy lets its own scripts draw."""
    run = training_run()
    run.log(1)
    run.keep(1)
    run.finish()
    (tmp_path / "report.html").write_text(render_report(run.path), encoding="utf-8")
    page = look.at((tmp_path / "report.html").as_uri())
    page.locator(".evaluation canvas").wait_for()
    expect(page.locator(".standing")).to_contain_text("finished")
    expect(page.locator("#replies + .scroll")).to_contain_text("+1.00")
    assert not troubles(page)


def test_first_tab_skips_to_the_content(serve: Any, look: Any, runs: Path) -> None:
    page = look.at(f"{serve(runs)}matches.html")
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to the content")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("main :focus")).to_have_count(1)
