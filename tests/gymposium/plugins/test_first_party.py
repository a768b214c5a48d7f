"""Errors for names of plugins that are missing, disabled or broken."""

from __future__ import annotations

from typing import Literal

import pytest

from gymposium.errors import MissingExtra, PluginError
from gymposium.plugins.first_party import list_first_party, make_unknown_name
from gymposium.plugins.host import Host
from gymposium.plugins.plugin import Plugin

NAMES = [(kind, name, install) for kind, names in list_first_party().items() for name, install in names.items()]


@pytest.mark.parametrize(("kind", "name", "install"), NAMES, ids=lambda text: text)
def test_missing_name_error_says_why(kind: str, name: str, install: str) -> None:
    distribution = install.strip('"').partition("[")[0]
    with pytest.raises(MissingExtra, match="not installed"):
        make_unknown_name(kind, name, [], [])
    for status, error, words in TROUBLES:
        plugin = Plugin("one", "one", distribution.replace("-", "_"), status=status, error=error)
        with pytest.raises(PluginError, match=f"comes from {distribution}, {words}"):
            make_unknown_name(kind, name, [], [plugin])


TROUBLES: list[tuple[Literal["disabled", "broken"], str, str]] = [
    ("disabled", "", "which is switched off. Switch it on: leave out --no-plugins"),
    ("broken", "ImportError: no libx", "whose plugin is broken: ImportError: no libx"),
]


@pytest.mark.parametrize(("status", "error", "words"), TROUBLES)
def test_unknown_name_error_lists_missing_plugins(
    status: Literal["disabled", "broken"], error: str, words: str
) -> None:
    plugin = Plugin("theirs", "theirs", "their-games", status=status, error=error)
    assert f"A plugin that may add it is missing: theirs, {words}" in str(
        make_unknown_name("game", "azul", [], [plugin])
    )


@pytest.mark.parametrize("kind", ["game", "player", "reward", "command"])
@pytest.mark.parametrize("name", ["tri", "something quite different"])
def test_unknown_name_error_says_how_to_load_a_file(kind: str, name: str) -> None:
    said = str(make_unknown_name(kind, name, ["trace", "trio"], []))
    assert said.endswith("If a plugin file adds it, load that file:  gymposium --plugin FILE …")


def test_host_knows_what_its_switches_exclude(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYMPOSIUM_PLUGINS", "")
    host = Host()
    [name] = [name for name, install in list_first_party()["game"].items() if install == "gymposium-2048"]
    with pytest.raises(PluginError, match="switched off"):
        host.game(name)
