"""The tests of gymposium-tinker need its SDK, which is in an environment of its own: tox run -e tinker."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

if find_spec("tinker") is None:
    collect_ignore_glob = ["*"]
else:
    from .fixtures import client, faults, key, one_thread, player_model, server, service

    __all__ = ["client", "faults", "key", "one_thread", "player_model", "server", "service"]


def pytest_configure(config: pytest.Config) -> None:
    """The SDK leaves connections open: the one by which it asks for its configuration, and those of REST clients."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed:ResourceWarning")
