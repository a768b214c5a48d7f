"""Site builds: equal boards give equal bytes, no foreign files, and no other folder is replaced."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from tests.commands import run_command

from gymposium.errors import BadOption, BadRecord
from gymposium_arena.board import Board
from gymposium_arena.results.file import results_file
from gymposium_arena.site.build import write_site

from .conftest import PLUGIN


def read_contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.slow
def test_site_bytes_do_not_depend_on_location(site: Path, board: Board, tmp_path: Path) -> None:
    write_site(board, tmp_path / "again", replays=2)
    assert read_contents(tmp_path / "again") == read_contents(site)


def test_site_contains_the_complete_board(site: Path, rated: Path, tmp_path: Path) -> None:
    index = json.loads((site / "index.json").read_text())
    for file in index["files"]:
        content = (site / file["path"]).read_bytes()
        assert (len(content), sha256(content).hexdigest()) == (file["bytes"], file["sha256"])
    with zipfile.ZipFile(site / "board.zip") as archive:
        archive.extractall(tmp_path)
    assert read_contents(tmp_path / "small") == read_contents(rated)
    assert all((site / page).is_file() for page in index["matches"].values())


def test_only_sites_are_replaced(board: Board, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_site(board, out, replays=1)
    (out / "stale.html").write_text("")
    assert list((out / "matches").iterdir())
    write_site(board, out, replays=0)
    assert not (out / "stale.html").exists()
    assert not (out / "matches").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board", "out"]
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "index.json").write_text('{"format": "mine"}')
    for there in (mine, mine / "index.json"):
        with pytest.raises(BadOption, match="this exists and is not a site"):
            write_site(board, there)
    assert read_contents(mine) == {"index.json": b'{"format": "mine"}'}


def test_refuses_results_of_other_matches(board: Board, tmp_path: Path) -> None:
    results = results_file(board).read_bytes()
    results_file(board).unlink()
    with pytest.raises(BadRecord, match="leaderboard rate"):
        write_site(board, tmp_path / "out")
    results_file(board).write_bytes(results)
    next(board.path.glob("entries/mcts-5/matches/tic_tac_toe/*.jsonl")).unlink()
    with pytest.raises(BadRecord, match=r"does not match the matches now on the board.*leaderboard rate"):
        write_site(board, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_earlier_results_are_shown_beside_current_ones(board: Board, tmp_path: Path) -> None:
    earlier = json.loads(results_file(board).read_text())
    for row in earlier["joint"]["standings"]:
        row |= {"bound": "interval", "rating": 77.0, "low": 70.0, "high": 80.0}
    file = tmp_path / "2026-10.json"
    file.write_text(json.dumps(earlier))
    write_site(board, tmp_path / "out", replays=0, earlier=[file])
    for page in ("index.html", "players/greedy.html"):
        shown = (tmp_path / "out" / page).read_text()
        table = shown[shown.index('<h2 id="history">') :].partition("</table>")[0]
        assert ">2026-10<" in table
        assert '<span title="77 [70, 80]">77</span>' in table
    with pytest.raises(BadOption, match="are not unique"):
        write_site(board, tmp_path / "out", replays=0, earlier=[file, file])
    file.write_text(json.dumps(earlier | {"suite": earlier["suite"] | {"name": "other"}}))
    with pytest.raises(BadOption, match="its suite is other, not small"):
        write_site(board, tmp_path / "out", replays=0, earlier=[file])


def test_entries_cannot_publish_foreign_files(board: Board, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (board.path / "entries" / "mcts-5" / "notes.txt").write_text("secret")
    out = tmp_path / "out"
    write_site(board, out, replays=0)
    assert not any(b"secret" in content for content in read_contents(out).values())
    (board.path / "entries" / "mcts-5" / "exact.json").symlink_to(tmp_path / "secret")
    with pytest.raises(BadRecord, match=r"exact\.json is a link"):
        write_site(board, out, replays=0)


def test_build_command_writes_the_site(board: Board) -> None:
    build_it = ("--plugin", PLUGIN, "leaderboard", "build", board.path, "--replays", "1", "--json")
    done = run_command(*build_it, folder=board.path, env=os.environ)
    told = json.loads(done.stdout)
    assert told["index"] == str(board.path / "site" / "index.html")
    assert told["matches"] > 0
    assert (board.path / "site" / "index.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("stale", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_error_shows_a_runnable_rate_command(board: Board, stale: bool) -> None:
    results = board.path / "results.json"
    if stale:
        text = json.loads(results.read_text())
        text["games"].pop()
        results.write_text(json.dumps(text))
    else:
        results.unlink()
    build_it = ("--plugin", PLUGIN, "leaderboard", "build", board.path)
    failed = run_command(*build_it, folder=board.path, env=os.environ)
    assert failed.returncode == 2
    rate = failed.stderr.partition("with:  gymposium ")[2]
    assert run_command(*shlex.split(rate), folder=board.path, env=os.environ).returncode == 0, rate
    assert run_command(*build_it, folder=board.path, env=os.environ).returncode == 0


def make_sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(3 * 2**30)


@pytest.mark.parametrize("make", [os.mkfifo, make_sparse])
@pytest.mark.parametrize(
    "name", ["exact.json", "matches/kuhn_poker/unplanned.jsonl", "matches/kuhn_poker/unplanned.jsonl.gz"]
)
def test_entry_files_cannot_stall_or_fill_the_build(
    board: Board, tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    file = board.path / "entries" / "mcts-5" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    make(file)
    with pytest.raises(BadRecord, match=f"{file.name} cannot be read"):
        write_site(board, tmp_path / "out", replays=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board"]


def test_site_is_never_written_through_links(board: Board, tmp_path: Path) -> None:
    victim, out = tmp_path / "victim", board.path / "site"
    victim.mkdir()
    for name in (".site.part", ".site.partial", ".site.00000000.partial"):
        (board.path / name).symlink_to(victim)
    write_site(board, out, replays=0)
    shutil.rmtree(out)
    out.symlink_to(victim)
    with pytest.raises(BadOption, match="is a symbolic link"):
        write_site(board, out, replays=0)
    assert not [*victim.iterdir()]
