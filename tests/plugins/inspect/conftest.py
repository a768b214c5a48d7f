"""The tests of gymposium-inspect need Inspect, which is in an environment of its own: tox run -e inspect."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from gymposium.plugins.host import host

if find_spec("inspect_ai") is None:
    collect_ignore_glob = ["*"]


@pytest.fixture(autouse=True)
def inspect_writes_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs, traces and caches of Inspect go to the test's own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.setenv("INSPECT_TRACE_FILE", str(tmp_path / "trace.log"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def echoes() -> None:
    """The world of `echoes.py`, in this process."""
    host().load_file(Path(__file__).with_name("echoes.py"))


def pytest_configure(config: pytest.Config) -> None:
    """Inspect calls a deprecated function of its own dependency, and leaves sockets and streams open."""
    config.addinivalue_line("filterwarnings", "ignore:The 'initial' parameter is deprecated:DeprecationWarning")
    config.addinivalue_line("filterwarnings", "ignore:[Uu]nclosed:ResourceWarning")
