"""The official MCP inspector plays through `gymposium serve-mcp`: `tox run -e mcp-inspector` installs it from npm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gymposium.records import verify_file

INSPECTOR = os.environ.get("GYMPOSIUM_INSPECTOR") or shutil.which("mcp-inspector")
SERVE = [sys.executable, "-m", "gymposium.cli.main", "serve-mcp", "tic_tac_toe"]

pytestmark = pytest.mark.skipif(INSPECTOR is None, reason="the inspector is not installed: tox run -e mcp-inspector")


def inspect(*arguments: str) -> Any:
    """What the inspector prints."""
    done = subprocess.run([str(INSPECTOR), "--cli", *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_inspector_plays_a_match_over_http(tmp_path: Path) -> None:
    command = [*SERVE, "--port", "0", "--out", str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()

        def call(tool: str, *arguments: str) -> dict[str, Any]:
            given = [part for argument in arguments for part in ("--tool-arg", argument)]
            asked = ["--method", "tools/call", "--tool-name", tool, *given]
            told: dict[str, Any] = inspect(address, "--transport", "http", *asked)["structuredContent"]
            return told

        told = call("new_match", "seat=1")
        assert call("legal_moves", f"match={told['match']}")["legal_moves"] == told["legal_moves"]
        while not told["done"]:
            told = call("move", f"match={told['match']}", f"move={told['legal_moves'][0]}")
        assert told["result"] in ("win", "draw", "loss")
        server.terminate()
    verified = verify_file(tmp_path / "run" / "matches.jsonl")
    assert (verified.matches, verified.problems) == (1, [])


def test_inspector_starts_the_command(tmp_path: Path) -> None:
    listed = inspect(*SERVE, "--out", str(tmp_path / "run"), "--method", "tools/list")["tools"]
    assert [tool["name"] for tool in listed] == ["new_match", "move", "legal_moves", "resign"]
