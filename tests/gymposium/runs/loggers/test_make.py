"""Loggers of a config: found among plugins, checked before any starts, and all closed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadOption, LoggerError, PluginError, UnknownName
from gymposium.plugins.host import Host, disable_plugins, host
from gymposium.runs.loggers.make import check_loggers, close_loggers, make_loggers
from gymposium.runs.loggers.protocol import LoggerStart

PAGE = Path(__file__).resolve().parents[4] / "docs" / "reference" / "hooks" / "gymposium_loggers.md"

PLUGIN = """
from dataclasses import dataclass
from gymposium import LoggerSpec, hookimpl

TOLD = []

@dataclass(frozen=True)
class Settings:
    fails: str = ""
    every: int = 1

class Teller:
    def __init__(self, start, settings):
        self.settings = settings
        self._tell("start", start.run, start.resumed, start.step)

    def _tell(self, *what):
        TOLD.append(what)
        if self.settings.fails == what[0]:
            raise RuntimeError(f"the {what[0]} button is stuck.")

    def log(self, step, metrics):
        self._tell("log", step, dict(metrics))

    def artifact(self, name, path):
        self._tell("artifact", name, path.name)

    def close(self, error=None):
        self._tell("close", str(error) if error else None)

@hookimpl
def gymposium_loggers():
    for name in ("teller", "second"):
        yield LoggerSpec(
            name=name, summary="Tells.", entry_point="telling_plugin:Teller", settings="telling_plugin:Settings"
        )
    yield LoggerSpec(name="lost", summary="L.", entry_point="nowhere:Lost", settings="nowhere:Settings")
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Any, ...]]]:
    """The calls of the loggers of a one-file plugin, which alone is loaded."""
    monkeypatch.setenv("GYMPOSIUM_PLUGINS", "")
    disable_plugins()
    file = tmp_path / "telling_plugin.py"
    file.write_text(PLUGIN)
    host().load_file(file)
    yield sys.modules["telling_plugin"].TOLD
    sys.modules.pop("telling_plugin")
    host.cache_clear()


@pytest.fixture
def start(tmp_path: Path) -> LoggerStart:
    return LoggerStart(run="mine", directory=tmp_path, config={"steps": 3})


def test_loggers_are_made_in_order_and_called(told: list[tuple[Any, ...]], start: LoggerStart, tmp_path: Path) -> None:
    loggers = make_loggers({"teller": {}, "second": {"every": 2}}, start)
    for logger in loggers:
        logger.log(3, {"rollout/reward": 0.5, "note": "so", "loss": float("inf")})
        logger.artifact("report", tmp_path / "report.html")
    close_loggers(loggers)
    assert told[:2] == [("start", "mine", False, 0)] * 2
    assert told[2] == ("log", 3, {"rollout/reward": 0.5, "note": "so", "loss": float("inf")})
    assert told[3] == ("artifact", "report", "report.html")
    assert told[-2:] == [("close", None)] * 2


def test_unknown_logger_is_refused_before_any_starts(told: list[tuple[Any, ...]], start: LoggerStart) -> None:
    with pytest.raises(UnknownName, match=r"Unknown logger 'teler'. Did you mean 'teller'"):
        make_loggers({"teller": {}, "teler": {}}, start)
    with pytest.raises(UnknownName, match=r"option of \[loggers.second\] 'evry'. Did you mean 'every'"):
        make_loggers({"teller": {}, "second": {"evry": 2}}, start)
    with pytest.raises(BadOption, match=r"\[loggers.second\]=2 must be a table of options"):
        make_loggers({"teller": {}, "second": 2}, start)  # type: ignore[dict-item]
    assert told == []


def test_disabled_first_party_logger_says_what_to_do(told: list[tuple[Any, ...]]) -> None:
    with pytest.raises(PluginError, match=r"comes from gymposium-loggers, which is switched off. Switch it on"):
        check_loggers({"wandb": {}})
    with pytest.raises(UnknownName, match="Did you mean 'tensorboard'"):
        check_loggers({"tensorbord": {}})


def test_unimportable_logger_names_its_plugin(told: list[tuple[Any, ...]]) -> None:
    with pytest.raises(PluginError, match="Plugin 'telling_plugin': its logger 'lost' could not be loaded"):
        check_loggers({"lost": {}})


def test_failed_start_closes_earlier_loggers(told: list[tuple[Any, ...]], start: LoggerStart) -> None:
    with pytest.raises(LoggerError, match=r"Logger second could not start: RuntimeError: the start button") as caught:
        make_loggers({"teller": {}, "second": {"fails": "start"}}, start)
    assert "remove [loggers.second] from the config" in str(caught.value)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert told[-1][0] == "close"
    assert "second could not start" in told[-1][1]


def test_logger_failure_is_named_with_advice(told: list[tuple[Any, ...]], start: LoggerStart, tmp_path: Path) -> None:
    [logger] = make_loggers({"teller": {"fails": "log"}}, start)
    with pytest.raises(LoggerError, match=r"Logger teller failed at step 7: RuntimeError: the log .* resume the run"):
        logger.log(7, {"a": 1})
    [logger] = make_loggers({"teller": {"fails": "artifact"}}, start)
    with pytest.raises(LoggerError, match=r"could not keep .*report.html: RuntimeError"):
        logger.artifact("report", tmp_path / "report.html")


@pytest.mark.parametrize("metrics", [{"a": None}, {"a": [1.0]}, {"": 1.0}, {"step": 1}])
def test_metric_must_be_a_named_number_or_text(metrics: Any, told: list[tuple[Any, ...]], start: LoggerStart) -> None:
    [logger] = make_loggers({"teller": {}}, start)
    with pytest.raises(LoggerError, match="Use a number or a string as the value"):
        logger.log(0, metrics)
    assert told[-1][0] == "start"


def test_all_loggers_are_closed_despite_failures(told: list[tuple[Any, ...]], start: LoggerStart) -> None:
    bad = {"fails": "close"}
    with pytest.raises(LoggerError, match="Logger teller could not be closed") as caught:
        close_loggers(make_loggers({"teller": bad, "second": bad}, start))
    [note] = caught.value.__notes__
    assert "Logger second could not be closed" in note
    assert told[-2:] == [("close", None)] * 2, "the second run did not fail: only the first logger did"


def test_loggers_are_told_the_error_that_ended_the_run(told: list[tuple[Any, ...]], start: LoggerStart) -> None:
    ended = KeyboardInterrupt("stop")
    close_loggers(make_loggers({"teller": {"fails": "close"}, "second": {}}, start), ended)
    assert told[-2:] == [("close", "stop")] * 2
    assert "teller could not be closed" in ended.__notes__[0]


def test_hook_page_shows_a_working_plugin(tmp_path: Path) -> None:
    spec, code, *_ = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "page_loggers.py"
    file.write_text(code + spec.replace("my_package.loggers:", "page_loggers:"), encoding="utf-8")
    found = Host(autoload=False)
    try:
        found.load_file(file)
        [made] = found.loggers.values()
        settings = found.settings(made)(file="numbers.csv")
        logger = found.implementation(made)(LoggerStart(run="r", directory=tmp_path, config={}), settings)
        logger.log(0, {"loss": 0.5})
        logger.log(1, {"loss": 0.25, "note": "down"})
        logger.close()
        assert (tmp_path / "numbers.csv").read_text() == "0,loss,0.5\n1,loss,0.25\n1,note,down\n"
    finally:
        sys.modules.pop("page_loggers", None)


def test_logger_names_must_be_valid_config_keys(tmp_path: Path) -> None:
    file = tmp_path / "bad_loggers.py"
    file.write_text(PLUGIN.replace('("teller", "second")', '("my.logger",)'))
    with pytest.raises(PluginError, match=r"logger name 'my.logger' must be lower-case letters"):
        Host(autoload=False).load_file(file)
    sys.modules.pop("bad_loggers", None)
