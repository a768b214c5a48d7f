"""The display of a run: a table and bars in a terminal, lines elsewhere."""

from __future__ import annotations

import io
import math

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from gymposium.cli.text import note
from gymposium_train.live import WIDTH, Lines, Terminal, arrow, sparkline, view
from gymposium_train.progress import say


def drawn(terminal: Terminal, console: Console) -> str:
    with console.capture() as captured:
        console.print(terminal.render())
    return captured.get()


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=110, height=20, color_system=None)


def test_a_terminal_shows_the_stage_and_the_newest_metrics_with_how_they_went(console: Console) -> None:
    terminal = Terminal(console)
    with terminal.stage("Training", 10) as bar:
        for step in range(4):
            terminal.show({"rollout/reward": step / 4, "train/entropy": 1.0 - step / 10, "name": "text"})
            bar.advance(f"reward {step / 4:.2f}")
        terminal.show({"eval/tic_tac_toe/random/win": 0.625})
        picture = drawn(terminal, console)
    lines = picture.splitlines()
    assert "4/10" in picture
    assert "reward 0.75" in picture
    assert lines[0].split()[:2] == ["eval/tic_tac_toe/random/win", "0.625"]
    reward = next(line for line in lines if "rollout/reward" in line)
    assert reward.split()[1:] == ["0.75", "↗", "▁▃▆█"]
    assert "↘" in next(line for line in lines if "train/entropy" in line)
    assert "text" not in picture


def test_a_stage_that_is_done_becomes_a_line(console: Console) -> None:
    terminal = Terminal(console)
    with terminal.stage("Random matches", 2) as bar:
        bar.advance(steps=2)
    assert isinstance(console.file, io.StringIO)
    assert "Random matches" in console.file.getvalue()
    assert "Random matches" not in drawn(terminal, console)


def test_the_picture_fits_the_terminal(console: Console) -> None:
    terminal = Terminal(console)
    with terminal.stage("Training", 10):
        terminal.show({f"train/{n}": float(n) for n in range(100)})
        assert len(drawn(terminal, console).splitlines()) < 20


def test_what_is_not_finite_is_not_drawn(console: Console) -> None:
    terminal = Terminal(console)
    terminal.show({"train/grad_norm": math.nan, "train/entropy": math.inf})
    assert "train/" not in drawn(terminal, console)


def test_only_the_newest_values_are_drawn(console: Console) -> None:
    terminal = Terminal(console)
    for value in [1000.0, *[1.0, 2.0] * WIDTH]:
        terminal.show({"train/x": value})
    assert drawn(terminal, console).count("█") == WIDTH // 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=WIDTH))
def test_a_sparkline_has_a_block_for_each_value(values: list[float]) -> None:
    line = sparkline(values)
    assert len(line) == len(values)
    if min(values) < max(values):
        assert line[values.index(max(values))] == "█"
        assert line[values.index(min(values))] == "▁"


def test_arrows() -> None:
    assert (arrow([1.0]), arrow([2.0, 2.0]), arrow([1.0, 2.0]), arrow([2.0, 1.0])) == ("→", "→", "↗", "↘")


def test_what_is_told_is_printed_by_the_console_of_the_picture(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another console would print it into the picture."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    printed: list[Console] = []
    monkeypatch.setattr(Console, "print", lambda self, *_, **__: printed.append(self))
    with view() as shown, shown.stage("Training", 10):
        say("told one thing")
        note("told another")
    assert len({id(console) for console in printed}) == 1
    say("after it")
    assert printed[-1] is not printed[0]


def test_elsewhere_there_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with view() as shown:
        assert isinstance(shown, Lines)
        with shown.stage("Training", 10, lines=5) as bar:
            for step in range(10):
                bar.advance(f"step {step}")
        shown.show({"train/entropy": 1.0})
    assert capsys.readouterr().err.splitlines() == [f"Training: {n}/10  step {n - 1}" for n in (2, 4, 6, 8, 10)]


def test_in_a_log_no_ten_seconds_pass_without_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = iter(range(0, 1000, 4))
    with Lines(lambda: next(seconds)).stage("Random matches", 1000, lines=2) as bar:
        for _ in range(7):
            bar.advance()
    said = [line.split()[2].rstrip(",") for line in capsys.readouterr().err.splitlines()]
    assert said == ["3/1000", "6/1000"]


def test_the_time_left_follows_from_the_work_that_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """Each later step costs twice as much. The step that was done before does not count as fast."""
    seconds = iter([0, 100, 300])
    stage = Lines(lambda: next(seconds)).stage("Training", 4, lines=4, done=1, work=[1.0, 2.0, 4.0, 8.0])
    with stage as bar:
        bar.advance("good")
        bar.advance("better")
    assert capsys.readouterr().err.splitlines() == [
        "Training: 2/4, 10 min left  good",
        "Training: 3/4, 7 min left  better",
    ]


def test_the_metrics_of_the_cold_start_are_not_continued_in_training(console: Console) -> None:
    terminal = Terminal(console)
    for loss in (2.0, 1.0):
        terminal.show({"train/sft_loss": loss, "train/grad_norm": loss}, "cold_start")
    terminal.show({"eval/tic_tac_toe/random/win": 0.5})
    terminal.show({"train/grad_norm": 0.1, "rollout/reward": 0.5}, "train")
    lines = drawn(terminal, console).splitlines()
    assert [line.split()[0] for line in lines if line.strip()][:3] == [
        "eval/tic_tac_toe/random/win",
        "rollout/reward",
        "train/grad_norm",
    ]
    assert lines[2].split()[1:] == ["0.1", "→", "▄"]
    assert "sft_loss" not in drawn(terminal, console)


def test_what_matters_most_is_shown_first(console: Console) -> None:
    terminal = Terminal(console)
    terminal.show({f"rollout/{letter}/win": 0.5 for letter in "abcdefghijklmnopqrstuvw"})
    terminal.show({"train/entropy": 0.5, "rollout/reward": 0.5, "eval/tic_tac_toe/random/win": 0.5})
    shown = [line.split()[0] for line in drawn(terminal, console).splitlines()]
    assert shown[:3] == ["eval/tic_tac_toe/random/win", "rollout/reward", "train/entropy"]
