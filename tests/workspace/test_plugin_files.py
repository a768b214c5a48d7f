"""The plugin files that child processes of a test load, set by fixtures in `tests/conftest.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gymposium.util.child_process import add_plugin_file, list_plugin_files

ELSEWHERE = Path("/plugins/check_module.py")


@pytest.fixture(scope="module", autouse=True)
def check_module() -> None:
    add_plugin_file(ELSEWHERE)


@pytest.mark.parametrize("name", ["first", "second"])
def test_plugin_files_do_not_leak_between_tests(name: str) -> None:
    assert list_plugin_files() == [ELSEWHERE]
    add_plugin_file(Path(f"/plugins/{name}.py"))
