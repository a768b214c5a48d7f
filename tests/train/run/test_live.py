"""The live display: a bar, a sparkline and a few metrics in a terminal, lines elsewhere."""

from __future__ import annotations

import io
import math

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from gymposium.cli.text import print_note
from gymposium_train.run.live import (
    WIDTH,
    LineView,
    TerminalView,
    draw_sparkline,
    draw_trend,
    format_result,
    open_view,
    summarize_metrics,
)
from gymposium_train.util.progress import print_message


def render_terminal(terminal: TerminalView, console: Console) -> str:
    with console.capture() as captured:
        console.print(terminal.render())
    return captured.get()


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=110, height=20, color_system=None)


def test_terminal_shows_one_sparkline_and_key_metrics(console: Console) -> None:
    terminal = TerminalView(console)
    with terminal.stage("Training", 10) as bar:
        for step in range(4):
            metrics = {"rollout/reward": step / 4, "rollout/win": 0.5, "train/entropy": 1.0, "train/kl": 0.002}
            metrics |= {"rollout/illegal": 0.01, "rollout/unparsable": 0.005, "train/grad_norm": 3.0}
            terminal.show({**metrics, "name": "text"}, "train")
            bar.advance(summarize_metrics(metrics))
        progress, line = render_terminal(terminal, console).splitlines()
    assert progress.split()[0] == "Training"
    assert "4/10" in progress
    assert line == "  ▁▃▆█  reward +0.75  win 50%  entropy 1.00  KL 0.002  failed 1.5%"


def test_other_metrics_are_shown_on_request(console: Console) -> None:
    terminal = TerminalView(console, ["train/grad_norm", "perf/*"])
    with terminal.stage("Training", 10):
        for step in range(4):
            terminal.show({"train/grad_norm": 1.0 - step / 4, "perf/seconds": 2.0, "perf/rows": 1, "train/x": 1.0})
        lines = render_terminal(terminal, console).splitlines()
    assert [line.split()[0] for line in lines] == ["perf/rows", "perf/seconds", "train/grad_norm", "Training"]
    assert lines[2].split()[1:] == ["0.25", "↘", "█▆▃▁"]


def test_display_fits_the_terminal_width() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=24, color_system=None)
    terminal = TerminalView(console)
    with terminal.stage("Control (more SFT), CPU seconds", 1000) as bar:
        for step in range(100):
            terminal.show({"rollout/reward": float(step)}, "train")
        bar.advance("reward +0.42  win 66%  entropy 0.47  KL 0.0025  failed 12.5%")
        lines = render_terminal(terminal, console).splitlines()
    assert len(lines) == 2
    assert all(len(line) <= 80 for line in lines)
    assert "█  reward" in lines[1]
    assert lines[1].endswith("failed 12.5%")


def test_finished_stage_leaves_its_sparkline(console: Console) -> None:
    terminal = TerminalView(console)
    with terminal.stage("Cold start", 2) as bar:
        for loss in (2.0, 1.0):
            terminal.show({"train/sft_loss": loss}, "cold_start")
            bar.advance(summarize_metrics({"train/sft_loss": loss, "train/sft_failed": 0.25}))
    with terminal.stage("trained against random", 100) as bar:
        bar.advance(steps=100)
        bar.advance(format_result({"eval/kuhn_poker/random/win": 0.625, "eval/kuhn_poker/random/loss": 0.375}), 0)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "Cold start: 2/2",
        "  █▁  loss 1.000  failed 25.0%",
        "trained against random: 100/100  win 62.5%  loss 37.5%",
    ]
    assert render_terminal(terminal, console).strip() == ""


def test_display_fits_the_terminal_height(console: Console) -> None:
    terminal = TerminalView(console, ["*"])
    with terminal.stage("Training", 10):
        terminal.show({f"train/{n}": float(n) for n in range(100)})
        assert len(render_terminal(terminal, console).splitlines()) < 20


def test_non_finite_values_are_not_drawn(console: Console) -> None:
    terminal = TerminalView(console, ["*"])
    terminal.show({"train/grad_norm": math.nan, "train/entropy": math.inf})
    assert "train/" not in render_terminal(terminal, console)


def test_only_newest_values_are_drawn(console: Console) -> None:
    terminal = TerminalView(console, ["*"])
    for value in [1000.0, *[1.0, 2.0] * WIDTH]:
        terminal.show({"train/x": value})
    assert render_terminal(terminal, console).count("█") == WIDTH // 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=WIDTH))
def test_sparkline_has_one_block_per_value(values: list[float]) -> None:
    line = draw_sparkline(values)
    assert len(line) == len(values)
    if min(values) < max(values):
        assert line[values.index(max(values))] == "█"
        assert line[values.index(min(values))] == "▁"


def test_arrow_shows_the_trend() -> None:
    assert (draw_trend([1.0]), draw_trend([2.0, 2.0]), draw_trend([1.0, 2.0]), draw_trend([2.0, 1.0])) == (
        "→",
        "→",
        "↗",
        "↘",
    )


def test_messages_use_the_console_of_the_display(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another console would print it into the picture."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    printed: list[Console] = []
    monkeypatch.setattr(Console, "print", lambda self, *_, **__: printed.append(self))
    with open_view() as shown, shown.stage("Training", 10):
        print_message("told one thing")
        print_note("told another")
    assert len({id(console) for console in printed}) == 1
    print_message("after it")
    assert printed[-1] is not printed[0]


def test_output_is_lines_outside_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with open_view() as shown:
        assert isinstance(shown, LineView)
        with shown.stage("Training", 10, lines=5) as bar:
            for step in range(10):
                bar.advance(f"step {step}")
        shown.show({"train/entropy": 1.0})
    assert capsys.readouterr().err.splitlines() == [f"Training: {n}/10  step {n - 1}" for n in (2, 4, 6, 8, 10)]


def test_log_includes_the_stage_result(capsys: pytest.CaptureFixture[str]) -> None:
    with LineView().stage("cold start against random", 2) as bar:
        bar.advance("", 0)  # nothing to say yet
        bar.advance("", 2)
        bar.advance("win 50.0%", 0)
    assert capsys.readouterr().err.splitlines() == [
        "cold start against random: 2/2",
        "cold start against random: win 50.0%",
    ]


def test_log_prints_at_least_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = iter(range(0, 1000, 4))
    with LineView(lambda: next(seconds)).stage("Random matches", 1000, lines=2) as bar:
        for _ in range(7):
            bar.advance()
    said = [line.split()[2].rstrip(",") for line in capsys.readouterr().err.splitlines()]
    assert said == ["3/1000", "6/1000"]


def test_remaining_time_follows_remaining_work(capsys: pytest.CaptureFixture[str]) -> None:
    """Each later step costs twice as much. The step that was done before does not count as fast."""
    seconds = iter([0, 100, 300])
    stage = LineView(lambda: next(seconds)).stage("Training", 4, lines=4, done=1, work=[1.0, 2.0, 4.0, 8.0])
    with stage as bar:
        bar.advance("good")
        bar.advance("better")
    assert capsys.readouterr().err.splitlines() == [
        "Training: 2/4, 10 min left  good",
        "Training: 3/4, 7 min left  better",
    ]


def test_training_metrics_do_not_continue_the_cold_start(console: Console) -> None:
    terminal = TerminalView(console, ["*"])
    for loss in (2.0, 1.0):
        terminal.show({"train/sft_loss": loss, "train/grad_norm": loss}, "cold_start")
    terminal.show({"eval/tic_tac_toe/random/win": 0.5})
    terminal.show({"train/grad_norm": 0.1, "rollout/reward": 0.5}, "train")
    lines = render_terminal(terminal, console).splitlines()
    assert [line.split()[0] for line in lines if line.strip()][:3] == [
        "eval/tic_tac_toe/random/win",
        "rollout/reward",
        "train/grad_norm",
    ]
    assert lines[2].split()[1:] == ["0.1", "→", "▄"]
    assert "sft_loss" not in render_terminal(terminal, console)
