"""The tests of gymposium-tinker need its SDK, which is in an environment of its own: tox run -e tinker."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("tinker") is None:
    collect_ignore_glob = ["*"]
else:
    from .fixtures import client, faults, key, one_thread, server, service

    __all__ = ["client", "faults", "key", "one_thread", "server", "service"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The SDK leaves the connection open by which it asks for its configuration."""
    for item in (item for item in items if item.path.is_relative_to(Path(__file__).parent)):
        item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))
