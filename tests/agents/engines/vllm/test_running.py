"""Notes on running servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gymposium.errors import GymposiumError
from gymposium_agents.engines.vllm.home import EngineHome
from gymposium_agents.engines.vllm.running import keep_note, list_running_servers
from gymposium_agents.engines.vllm.server import Server
from gymposium_agents.engines.vllm.settings import ServerSettings

PORT = 8123


@pytest.fixture
def home(tmp_path: Path) -> EngineHome:
    """A home that looks installed; these tests start no server in it."""
    home = EngineHome(tmp_path)
    home.python.parent.mkdir(parents=True)
    home.python.symlink_to(sys.executable)
    home.marker.write_text(json.dumps({"build": "cpu"}), encoding="utf-8")
    return home


def server(home: EngineHome, model: str) -> Server:
    return Server(ServerSettings(model, port=PORT), home)


def test_port_is_reserved_from_before_start_until_exit(home: EngineHome) -> None:
    with keep_note(server(home, "first"), home) as first:
        with (
            pytest.raises(GymposiumError, match=f"first already runs on port {PORT}.*stop --port {PORT}"),
            keep_note(server(home, "second"), home),
        ):
            pytest.fail("two servers have one port")
        assert list_running_servers(home) == [first]  # which `status` lists and `stop` ends
    with keep_note(server(home, "second"), home) as second:
        assert list_running_servers(home) == [second]


def test_notes_of_killed_processes_are_ignored(home: EngineHome) -> None:
    with keep_note(server(home, "first"), home):
        file = home.running / f"{PORT}.json"
        left = json.loads(file.read_text(encoding="utf-8")) | {"began": "long ago"}
        file.write_text(json.dumps(left), encoding="utf-8")
        assert list_running_servers(home) == []
        with keep_note(server(home, "second"), home) as second:
            assert list_running_servers(home) == [second]
