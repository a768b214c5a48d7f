"""Symbolic links out of the viewed directory: nothing they lead to is listed, served, exported or written."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gymposium_viewer.app import export_pages
from gymposium_viewer.playing.choice import MatchChoice
from gymposium_viewer.playing.forms import Form
from gymposium_viewer.playing.store import MatchStore

from .conftest import unpacked, write
from .served import ServedRun

SECRET = "nobody-may-read-this"


def ask(address: str, path: str) -> tuple[int, str]:
    parts = urlsplit(address)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as connection:
        connection.request("GET", f"/{path}")
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def exported(directory: Path, out: Path) -> str:
    """The text of all exported files."""
    export_pages(directory, out)
    data = [json.dumps(unpacked(file)) for file in (out / "matches").glob("*.js")]
    return "".join([*data, *(file.read_text(encoding="utf-8") for file in out.rglob("*") if file.is_file())])


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    """A directory with matches, links to them, and links to matches outside."""
    write(tmp_path / "outside" / "secret.jsonl", "tic_tac_toe", ["random", "random"], tag=SECRET)
    shown = tmp_path / "shown"
    write(shown / "own.jsonl", "tic_tac_toe", ["random", "random"], tag="own")
    (shown / "again.jsonl").symlink_to("own.jsonl")
    (shown / "stolen.jsonl").symlink_to(tmp_path / "outside" / "secret.jsonl")
    (shown / "folder").symlink_to(tmp_path / "outside")
    (shown / "up.jsonl").symlink_to("../outside/secret.jsonl")
    return shown


def test_matches_outside_are_neither_listed_nor_served(serve: Any, shown: Path) -> None:
    address = serve(shown)
    status, page = ask(address, "matches.html")
    assert status == 200
    assert SECRET not in page
    assert "own-0" in page
    assert '<b class="shown">2</b> of 2 matches' in page, "a link to a file inside is one more file"
    assert page.count("a symbolic link that leaves the viewed folder") == 2
    for name in ("stolen.jsonl", "up.jsonl", "folder/secret.jsonl"):
        for path in (f"matches/{name}/1.html", f"matches/{name}/1.json"):
            status, page = ask(address, path)
            assert (status, SECRET in page) == (404, False)
    assert ask(address, "matches/again.jsonl/1.html")[0] == 200


def test_file_replaced_by_a_link_is_no_longer_served(serve: Any, shown: Path, tmp_path: Path) -> None:
    address = serve(shown)
    assert ask(address, "matches/own.jsonl/1.json")[0] == 200
    (shown / "own.jsonl").unlink()
    (shown / "own.jsonl").symlink_to(tmp_path / "outside" / "secret.jsonl")
    assert ask(address, "matches/own.jsonl/1.json")[0] == 404


def test_nothing_outside_is_exported(shown: Path, tmp_path: Path) -> None:
    text = exported(shown, tmp_path / "site")
    assert "own-0" in text
    assert SECRET not in text


def test_directory_itself_may_be_a_link(serve: Any, shown: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(shown)
    (tmp_path / "one.jsonl").symlink_to(shown / "own.jsonl")
    assert "own-0" in ask(serve(tmp_path / "link"), "matches.html")[1]
    assert "own-0" in ask(serve(tmp_path / "one.jsonl"), "matches.html")[1]


@pytest.mark.parametrize(
    "name",
    [
        "config.json",
        "results.json",
        "metrics.jsonl",
        "samples.jsonl",
        "matches/train.jsonl",
        "sessions.sqlite",
        "sessions.sqlite-wal",
    ],
)
def test_run_with_a_file_outside_is_not_read(
    serve: Any, training_run: Callable[..., Any], request: pytest.FixtureRequest, tmp_path: Path, name: str
) -> None:
    for run in (training_run("linked"), training_run("whole")):
        run.log(1)
        run.keep(1, text=SECRET if run.path.name == "linked" else "b2")
        served = ServedRun(run.path)
        request.addfinalizer(served.file.close)  # its log stays beside it
        served.turn(served.begin("s-1"), SECRET if run.path.name == "linked" else "b2")
    linked = tmp_path / "training" / "linked" / name
    address = serve(tmp_path / "training")
    assert ask(address, "runs/linked/index.html")[0] == 200
    assert SECRET in ask(address, "runs/linked/sessions/s-1.html")[1]
    linked.rename(tmp_path / "moved")
    linked.symlink_to(tmp_path / "moved")
    status, page = ask(address, "runs.html")
    assert status == 200
    assert "runs/whole/index.html" in page
    assert "runs/linked/index.html" not in page
    assert f"linked/{name}</span> leaves the viewed folder" in page
    pages = ("index.html", "curves.js", "events", "rollouts.html", "rollouts/1-0.html", "match?id=train-0-0-0")
    for path in (*pages, "sessions.html", "sessions.events", "sessions/s-1.html"):
        assert ask(address, f"runs/linked/{path}")[0] == 404
    assert SECRET not in exported(tmp_path / "training", tmp_path / "site")


def test_run_outside_is_not_read(serve: Any, training_run: Callable[..., Any], tmp_path: Path) -> None:
    training_run("a")
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "run").symlink_to(tmp_path / "training" / "a")
    address = serve(tmp_path / "shown")
    assert "1 not read: a link leaves the folder" in ask(address, "index.html")[1]
    assert ask(address, "runs/run/index.html")[0] == 404


def test_no_match_is_recorded_outside(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    shown.mkdir()
    (tmp_path / "outside").mkdir()
    (shown / "played").symlink_to(tmp_path / "outside")
    table = MatchStore(shown).begin(MatchChoice.from_form(Form.from_query("game=trace")))
    table.wait(60)
    assert table.play(1, "nothing") == ""
    table.wait(60)
    assert table.state.end is not None
    assert "leaves the folder through a symbolic link" in table.state.end.sentences[-1]
    assert not any((tmp_path / "outside").iterdir())
