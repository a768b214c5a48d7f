"""The command `gymposium serve-env`, and the Dockerfile that it prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.gymposium.http.environments.conftest import Client
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from gymposium.http.environments import EnvOffer
from gymposium.http.environments.dockerfile import build_dockerfile
from gymposium.http.environments.manifest import build_manifest
from gymposium.http.listening import TOKEN
from gymposium.records import verify_file


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gymposium.cli.main", "serve-env", *arguments]


@contextmanager
def running(folder: Path, *arguments: str, **env: str) -> Iterator[str]:
    """The address that the command prints, for websockets. It runs in a folder."""
    server = subprocess.Popen(
        command(*arguments, "--port", "0"),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **env},
    )
    try:
        assert server.stdout is not None
        with server.stdout:
            yield server.stdout.readline().strip().replace("http", "ws")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def refused(*arguments: str) -> str:
    env = {key: value for key, value in os.environ.items() if key != TOKEN}
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 2
    return done.stderr


def test_matches_are_recorded_in_the_run_folder(tmp_path: Path) -> None:
    with running(tmp_path, "kuhn_poker", "--opponent", "greedy") as address, connect(f"{address}/ws") as socket:
        client = Client(socket)
        data = client.reset(seed=1)
        while not data["done"]:
            data = client.step(data["observation"]["legal_moves"][0])
    [folder] = (tmp_path / "gymposium-runs").iterdir()
    assert "-serve-env-1" in folder.name
    settings = json.loads((folder / "settings.json").read_text())["settings"]
    assert settings == {"games": ["kuhn_poker"], "opponents": ["greedy"], "on_illegal": "forfeit"}
    verified = verify_file(folder / "matches.jsonl")
    assert (verified.matches, verified.problems) == (1, [])


@pytest.mark.slow
def test_public_address_needs_a_token(tmp_path: Path) -> None:
    assert f"Set the environment variable {TOKEN}" in refused("tic_tac_toe", "--host", "0.0.0.0", "--port", "0")
    options = ("--host", "0.0.0.0", "--name", "localhost")
    with running(tmp_path, "tic_tac_toe", *options, **{TOKEN: "s3cret"}) as address:
        assert address.startswith("ws://localhost:")
        with pytest.raises(InvalidStatus, match="401"), connect(f"{address}/ws"):
            pass
        with connect(f"{address}/ws", additional_headers={"Authorization": "Bearer s3cret"}) as socket:
            assert Client(socket).reset()["done"] is False


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["no_such_game"], "Unknown game 'no_such_game'"),
        pytest.param(["tic_tac_toe", "--opponent", "no such player"], "Unknown player", marks=pytest.mark.slow),
        (["tic_tac_toe", "--opponent", "human"], "--opponent human: a person can play only one match at a time"),
        pytest.param(["tic_tac_toe", "--on-illegal", "smile"], "Unknown policy", marks=pytest.mark.slow),
    ],
)
def test_invalid_arguments_are_refused_at_startup(arguments: list[str], why: str) -> None:
    assert why in refused(*arguments)


def test_dockerfile_pins_installed_versions() -> None:
    text = build_dockerfile(["tic_tac_toe", "2048"], ["mcts-10", "random"], "retry(1)")
    assert f'"gymposium[serve,worlds]=={version("gymposium")}"' in text
    assert f'"gymposium-2048=={version("gymposium-2048")}"' in text
    assert "gymposium-worlds" not in text
    assert "USER 10001" in text
    assert '"--host", "0.0.0.0"' in text
    assert "HEALTHCHECK" in text
    last = text.splitlines()[-1].removeprefix("CMD ")
    expected = ["tic_tac_toe", "2048", "--opponent", "mcts-10", "--opponent", "random", "--on-illegal", "retry(1)"]
    assert json.loads(last) == expected


def test_dockerfile_pins_the_distribution_of_a_disguise() -> None:
    pin = f'"gymposium-disguises=={version("gymposium-disguises")}"'
    assert pin in build_dockerfile(["tic_tac_toe(disguise=3)"], ["random"], "forfeit")
    assert pin not in build_dockerfile(["tic_tac_toe"], ["random"], "forfeit")


@pytest.mark.slow
def test_game_from_a_file_cannot_be_pinned() -> None:
    nim = Path(__file__).parents[4] / "docs" / "examples" / "nim.py"
    main = [sys.executable, "-m", "gymposium.cli.main", "--plugin", str(nim)]
    done = subprocess.run([*main, "serve-env", "nim", "--dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is not an installed distribution. Install it first" in done.stderr


def test_command_prints_the_dockerfile() -> None:
    done = subprocess.run(command("kuhn_poker", "--dockerfile"), capture_output=True, text=True, check=True)
    assert done.stdout == build_dockerfile(["kuhn_poker"], ["random"], "forfeit")


def test_command_prints_the_manifest() -> None:
    done = subprocess.run(command("kuhn_poker", "--openenv-yaml"), capture_output=True, text=True, check=True)
    assert done.stdout == build_manifest(EnvOffer.from_names(["kuhn_poker"]))
