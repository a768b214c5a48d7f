"""The command `gymposium view`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "gymposium.cli.main", "view", *map(str, arguments)]


@contextmanager
def running(*arguments: str | Path, **env: str) -> Iterator[str]:
    """The address that the command prints."""
    server = subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **env}
    )
    try:
        assert server.stdout is not None
        with server.stdout:
            yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


@pytest.mark.slow
def test_command_prints_the_address(runs: Path) -> None:
    with running(runs, "--port", "0", "--no-open") as address:
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}matches.html") as page:
            assert "15 matches" in page.read().decode()


@pytest.mark.slow
def test_public_address_carries_the_token(runs: Path) -> None:
    """The server also listens on 127.0.0.1 then, and needs the token there as well."""
    options = ("--port", "0", "--host", "0.0.0.0", "--name", "localhost")
    with running(runs, *options, GYMPOSIUM_VIEW_TOKEN="s3cret") as address:
        assert address.startswith("http://localhost:")
        assert address.endswith("/?token=s3cret")
        plain = address.partition("?")[0].replace("localhost", "127.0.0.1")
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            urllib.request.urlopen(plain)
        refused.value.close()
        let_in = urllib.request.Request(f"{plain}index.html", headers={"Authorization": "Bearer s3cret"})
        with urllib.request.urlopen(let_in) as page:
            assert page.status == 200


def test_command_exports_pages(runs: Path, tmp_path: Path) -> None:
    done = subprocess.run(command(runs, "--export", tmp_path / "site"), capture_output=True, text=True, check=True)
    assert str(tmp_path / "site" / "index.html") in done.stderr.replace("\n", "")
    assert (tmp_path / "site" / "matches.html").is_file()


@pytest.mark.slow
def test_port_in_use_is_an_error(runs: Path) -> None:
    with running(runs, "--port", "0", "--no-open") as address:
        port = address.rstrip("/").rpartition(":")[2]
        done = subprocess.run(command(runs, "--port", port), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Cannot listen on" in done.stderr
    assert "Try --port 0" in done.stderr


def test_help_needs_no_extra() -> None:
    program = (
        "import json, sys\nfrom gymposium.cli.main import main\nsys.argv = ['gymposium', 'view', '--help']\n"
        "try:\n    main()\nfinally:\n    print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert "gymposium view gymposium-runs" in done.stdout
    assert not {"jinja2", "starlette", "uvicorn"} & modules
