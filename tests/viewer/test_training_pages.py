"""Training runs in a real browser: growing curves, search, several runs, tokens, and export."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from gymposium_viewer.app import export_pages

from .conftest import unpacked

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\x1b[31m\u202e"

LINES = """
(element) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  return range.getClientRects().length;
}
"""
"""Script that returns the number of lines that an element's text takes."""


@pytest.fixture
def run(training_run: Any) -> Any:
    """A run with four steps, two of them with rollouts."""
    made = training_run()
    for step in range(1, 5):
        made.log(step, eval__tic_tac_toe__random__win=0.5) if step == 2 else made.log(step)
    made.log(1, "cold_start", train__sft_loss=0.7)
    made.keep(1)
    made.keep(4, rewards=(0.0, 0.0, 0.0))
    return made


def expect_metrics(page: Any, names: set[str]) -> None:
    """Waits until the charts of these metrics, and no others, are visible."""
    shown = page.locator("[data-metric]:visible")
    for name in names:
        expect(shown.and_(page.locator(f'[data-metric="{name}"]'))).to_have_count(1)
    expect(shown).to_have_count(len(names))


@pytest.mark.slow
def test_curves_are_drawn_and_grow_with_the_run(serve: Any, look: Any, run: Any, tmp_path: Path) -> None:
    page = look.at(serve(tmp_path) + "runs/training/first/index.html")
    card = page.locator('[data-metric="rollout/reward"]')
    card.scroll_into_view_if_needed()
    card.locator("canvas").wait_for()
    assert "the reward used for learning" in card.inner_text()
    assert "the reward used for learning" in card.get_attribute("title")
    expect(card.locator(".now")).to_have_text("0.4")
    expect(page.locator(".evaluation canvas")).to_have_count(1)
    expect(page.locator(".standing .link")).to_have_text("live")
    run.log(5, train__grad_norm=0.125)
    expect(page.locator(".standing .step")).to_have_text("5")
    expect(card.locator(".now")).to_have_text("0.5")
    fresh = page.locator('[data-metric="train/grad_norm"]')  # a new metric
    fresh.wait_for()
    assert "the norm of the policy's gradient" in fresh.inner_text()
    run.log(6, eval__tic_tac_toe__random__return=1.0)
    expect(page.locator(".evaluation .now")).to_have_text("step 6: 1")
    run.finish()
    page.locator(".standing .link a").click()
    page.locator(".tag.state.win").wait_for()
    expect(page.locator("table.results")).to_contain_text("after training")


@pytest.mark.slow
def test_losses_and_agreement_are_beside_the_learning_curve(serve: Any, look: Any, run: Any, tmp_path: Path) -> None:
    run.measured("cold start", lost_per_move=[0.25, 0.125, 0.5])
    run.log(4, rollout__teacher_agreement=0.75)
    file = run.path / "results.json"
    judges = {"tic_tac_toe": {"judge": "exact"}, "chess": {"reason": "chess has too many positions."}}
    file.write_text(json.dumps({**json.loads(file.read_text()), "judges": judges}))
    page = look.at(serve(tmp_path) + "runs/training/first/index.html", width=390, height=844)
    plots = page.locator(".evaluation article")
    expect(plots.locator(".what")).to_contain_text(["mean return", "lost per move", "agreement with the teacher"])
    expect(plots.locator(".now")).to_have_text([re.compile("step 0: "), "step 0: 0.25 [0.125, 0.5]", "step 4: 0.75"])
    expect(page.locator(".worth .note")).to_contain_text("chess has too many positions.")
    run.log(5, rollout__teacher_agreement=0.5)
    expect(plots.locator(".now").last).to_have_text("step 5: 0.5")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_metrics_are_found_by_name_and_description(serve: Any, look: Any, run: Any, tmp_path: Path) -> None:
    page = look.at(serve(tmp_path) + "runs/training/first/index.html")
    everything = {"rollout/reward", "rollout/win", "train/entropy", "eval/tic_tac_toe/random/win"}
    expect_metrics(page, everything)
    page.get_by_label("by opponent and game").check()
    expect_metrics(page, everything | {"rollout/win/random"})
    page.get_by_label("Search metrics").fill("entropy of the sampled distributions")
    expect_metrics(page, {"train/entropy"})
    page.get_by_label("Search metrics").fill("win")
    expect_metrics(page, {"rollout/win", "rollout/win/random", "eval/tic_tac_toe/random/win"})
    page.get_by_label("Smoothing").fill("0.5")
    page.get_by_label("Stage").select_option("cold start")
    page.get_by_label("Search metrics").fill("")
    expect(page.locator('[data-metric="train/sft_loss"]')).to_be_visible()
    again = look.at(page.url)  # the address holds the whole state
    expect(again.get_by_label("Stage")).to_have_value("cold_start")
    expect(again.get_by_label("Smoothing")).to_have_value("0.5")
    expect(again.locator('[data-metric="train/sft_loss"]')).to_be_visible()


@pytest.mark.slow
def test_runs_are_overlaid(serve: Any, look: Any, run: Any, training_run: Any, tmp_path: Path) -> None:
    other = training_run("second")
    other.log(3, train__grad_norm=1.0)
    page = look.at(serve(tmp_path) + "runs.html")
    expect(page.locator(".curves canvas")).to_have_count(0)
    page.get_by_label("Overlay training/first").check()
    page.get_by_label("Overlay training/second").check()
    both = page.locator('[data-metric="rollout/reward"]')
    both.locator("canvas").wait_for()
    expect(page.locator(".curves > .legend li")).to_have_text(["training/first", "training/second"])
    expect(both.locator(".now span")).to_have_text(["0.4", "0.3"])
    again = look.at(page.url)
    again.locator('[data-metric="train/grad_norm"] canvas').wait_for()
    page.get_by_label("Overlay training/first").uncheck()
    expect(both.locator(".now")).to_have_text("0.3")


@pytest.mark.slow
def test_groups_show_the_training_samples(serve: Any, look: Any, run: Any, tmp_path: Path) -> None:
    page = look.at(serve(tmp_path) + "runs/training/first/index.html")
    page.get_by_role("link", name="Rollouts").click()
    expect(page.locator("svg.spread .column")).to_have_count(2)
    expect(page.locator("svg.spread .tied circle")).to_have_count(1)
    expect(page.locator("tr", has_text="teaches nothing")).to_have_count(1)
    page.locator("svg.spread a").first.click()
    rewards = page.locator("details.trajectory .reward")
    expect(rewards).to_have_text(["+1", "+0", "-1"])
    page.get_by_role("button", name="Worst first").click()
    expect(rewards).to_have_text(["-1", "+0", "+1"])
    best = page.locator("details.trajectory", has_text="+1").last
    token = best.locator(".t").first
    expect(token).to_be_visible()
    assert (token.inner_text(), best.locator(".given").first.inner_text()) == ("b2", "<|user|>x . o<|assistant|>")
    assert "probability 0.0821" in token.get_attribute("title")
    assert "the learner's -2.25" in token.get_attribute("title")
    color = "one => getComputedStyle(one).backgroundColor"
    unlikely, certain = (best.locator(".t").nth(n).evaluate(color) for n in (0, 1))
    assert unlikely != certain == "rgba(0, 0, 0, 0)"
    page.get_by_label("advantage").check()
    expect(token).not_to_have_css("background-color", unlikely)
    assert token.evaluate(color) == best.locator(".t").nth(1).evaluate(color)
    best.get_by_role("link", name="The match").click()
    expect(page).to_have_url(re.compile(r"matches/training/first/matches/train\.jsonl/1\.html$"))
    page.get_by_role("link", name="The tokens of this match").click()
    expect(page).to_have_url(re.compile(r"runs/training/first/rollouts/\d+-\d+\.html$"))


@pytest.mark.slow
def test_exported_pages_work_from_disk_and_without_scripts(look: Any, run: Any, tmp_path: Path) -> None:
    run.add("matches/eval.jsonl", (run.path / "matches" / "train.jsonl").read_text())
    export_pages(tmp_path / "training", tmp_path / "site")
    home = (tmp_path / "site").as_uri()
    page = look.at(f"{home}/runs.html")
    page.get_by_label("Overlay first").check()
    page.locator('[data-metric="rollout/reward"] canvas').wait_for()
    page.get_by_role("link", name="first").click()
    page.locator('[data-metric="rollout/reward"]').scroll_into_view_if_needed()
    page.locator('[data-metric="rollout/reward"] canvas').wait_for()
    expect(page.locator(".standing .link")).to_have_text("")
    page.get_by_role("link", name="Rollouts").click()
    page.locator("svg.spread a").first.click()
    page.get_by_role("link", name="The match").first.click()
    expect(page).to_have_url(re.compile(r"match\.html\?match=0$"))
    page.locator(".play.stepping").wait_for()
    # only the matches of the run whose tokens were kept
    listed = "".join(row["html"] for row in unpacked(tmp_path / "site" / "matches" / "list.js")["rows"])
    assert listed.count("<tr") == 4
    plain = look.at(f"{home}/runs/first/index.html", scripts=False)
    expect(plain.locator("tr", has_text="rollout/reward")).to_contain_text("0.4")
    plain = look.at(f"{home}/runs/first/rollouts/1-0.html", scripts=False)
    expect(plain.locator(".tokens .t").first).to_have_text("b2")


@pytest.mark.slow
def test_model_text_is_inert(serve: Any, look: Any, training_run: Any, tmp_path: Path) -> None:
    run = training_run("<b>bold")
    run.log(1, **{HOSTILE: 1.0})
    run.keep(1, text=HOSTILE)
    (run.path / "versions.json").write_text('{"python": "<script>document.title=1</script>"}')
    address = serve(tmp_path)
    for path in ("runs.html", "index.html", "rollouts.html", "rollouts/1-0.html"):
        where = path if path == "runs.html" else f"runs/training/%3Cb%3Ebold/{path}"
        page = look.at(address + where)
        if path == "index.html":
            page.get_by_label("Search metrics").fill("owned")
            expect(page.locator("[data-metric]:visible")).to_have_count(1)
        if path == "runs.html":
            page.get_by_label("Overlay").check()
            page.locator("[data-metric] canvas").first.wait_for()
        assert page.title() != "owned"
        expect(page.locator("main b", has_text="bold")).to_have_count(0)
    shown = page.locator(".tokens .t").first.inner_text()
    assert "<img src=x" in shown
    assert "␛[31m" in shown
    assert "⟨U+202E⟩" in shown


@pytest.mark.slow
def test_results_and_long_names_fit_a_phone(serve: Any, look: Any, run: Any, tmp_path: Path) -> None:
    run.finish()
    for name in ("config.json", "results.json", "metrics.jsonl"):
        text = (run.path / name).read_text(encoding="utf-8")
        (run.path / name).write_text(text.replace("tic_tac_toe", "ultimate_tic_tac_toe"), encoding="utf-8")
    page = look.at(serve(tmp_path) + "runs/training/first/index.html", width=390, height=844)
    page.locator(".evaluation canvas").wait_for()
    name = page.locator(".evaluation h4 .theirs")
    expect(name).to_have_text("ultimate_tic_tac_toe")
    assert name.evaluate(LINES) == 1
    table = page.locator("table.results")
    assert table.evaluate("table => table.parentElement.scrollWidth <= table.parentElement.clientWidth")
    labels = "cells => cells.map((cell) => getComputedStyle(cell, '::before').content.slice(1, -1))"
    assert table.locator("tr.first").first.locator("td").evaluate_all(labels) == table.locator("th").all_text_contents()


@pytest.mark.slow
def test_pages_fit_a_phone(serve: Any, look: Any, run: Any, tmp_path: Path) -> None:
    address = serve(tmp_path)
    for path in ("runs.html", "runs/training/first/index.html", "runs/training/first/rollouts/1-0.html"):
        page = look.at(address + path, width=390, height=844, dark=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
