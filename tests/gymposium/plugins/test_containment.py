"""Plugins that raise, print or exit, in the command as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gymposium.plugins.host import Host

Install = Callable[..., None]
Command = Callable[..., "subprocess.CompletedProcess[str]"]
SCRIPT = Path(sys.executable).with_name("gymposium")


def good(game: str) -> str:
    return f"""
from gymposium import GameSpec, hookimpl
@hookimpl
def gymposium_games():
    yield GameSpec(name="{game}", title="T", summary="S", entry_point="nowhere:Game")
"""


BROKEN = {
    "cancelled": ("import asyncio\nraise asyncio.CancelledError", "CancelledError"),
    "generator_exit": ("raise GeneratorExit('no more')", "GeneratorExit: no more"),
    "interrupts": ("raise KeyboardInterrupt('of its own')", "KeyboardInterrupt: of its own"),
    "own_kind": ("class Mine(BaseException): pass\nraise Mine('hm')", "Mine: hm"),
    "no_text": (
        "class Mute(BaseException):\n    def __str__(self): raise SystemExit\nraise Mute",
        "Mute: (its text could not be made: SystemExit)",
    ),
    "hook_raises": (good("h").replace("    yield", "    raise GeneratorExit\n    yield"), "GeneratorExit"),
    "prints": ("print('hello')" + good("p"), "it wrote 'hello' to stdout"),
    "hook_prints": (good("hp").replace("    yield", "    print('late')\n    yield"), "it wrote 'late' to stdout"),
    "writes": ("import os\nos.write(1, b'raw')" + good("w"), "it wrote 'raw' to stdout"),
    "child_writes": ("import subprocess\nsubprocess.run(['echo', 'child'])" + good("c"), "it wrote 'child' to stdout"),
    "closes": ("import sys\nsys.stdout.close()" + good("cl"), "it closed sys.stdout"),
    "closes_stderr": ("import sys\nsys.stderr.close()" + good("ce"), "it closed sys.stderr"),
    "closes_1": ("import os\nos.close(1)" + good("c1"), "it closed or redirected file descriptor 1"),
    "closes_2": ("import os\nos.close(2)" + good("c2"), "it closed or redirected file descriptor 2"),
    "replaces": ("import io, sys\nsys.stdout = io.StringIO()" + good("r"), "it replaced sys.stdout"),
}


@pytest.fixture
def command(site: Path, tmp_path: Path) -> Command:
    """`command("list", "--json", only="a,b")` with the plugins of `site`, run in `tmp_path`."""

    def run(*arguments: str, only: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPT, *arguments],
            env={**environment(site, tmp_path), "GYMPOSIUM_PLUGINS": only, **more},
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
        )

    return run


def environment(site: Path, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(site), "COLUMNS": "200"}


def complaints(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The warning about each broken plugin, by its name."""
    start = "warning: gymposium plugin '"
    lines = [line.removeprefix(start) for line in done.stderr.splitlines() if line.startswith(start)]
    return {line.partition("'")[0]: line.partition("left out: ")[2] for line in lines}


@pytest.mark.parametrize(
    "arguments",
    [["list", "--json"], ["run", "tic_tac_toe", "--players", "random,random", "-n", "2", "--json"]],
    ids=["list", "run"],
)
def test_broken_plugins_are_reported_and_stdout_stays_json(
    arguments: list[str], install: Install, command: Command
) -> None:
    for name, (source, _) in BROKEN.items():
        install(name, source)
    install("fine", good("fine_game"))
    done = command(*arguments, only=",".join([*BROKEN, "fine"]))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    told = complaints(done)
    assert told.keys() == BROKEN.keys()
    for name, (_, reason) in BROKEN.items():
        assert told[name].startswith(reason), name
    if arguments[0] == "list":
        games = {game["name"] for game in found["games"]}
        assert "fine_game" in games
        assert not games & {"h", "p", "hp", "w", "c", "cl", "ce", "c1", "c2", "r"}


def test_printing_plugin_is_discarded_entirely(install: Install, command: Command) -> None:
    """The names that it claimed are free for the next plugin. In a process of its own: where another thread runs, which
    may print, too, nothing that a plugin prints is held against it."""
    install("aaa_prints", "import os\nos.write(1, b'hello')" + good("shared"))
    install("bbb_fine", good("shared").replace('title="T"', 'title="Fine"'))
    done = command("list", "--json", only="aaa_prints,bbb_fine")
    assert [game["title"] for game in json.loads(done.stdout)["games"] if game["name"] == "shared"] == ["Fine"]
    assert done.stderr.startswith("hello\n")


@pytest.mark.slow
def test_printing_players_keep_stdout_json(command: Command, tmp_path: Path) -> None:
    """By Python, by the descriptor, and at the end of the process."""
    (tmp_path / "chatty.py").write_text(
        "import atexit, os\n"
        "from gymposium import OpponentSpec, hookimpl\n"
        "from gymposium.players.random import RandomPlayer\n"
        "@hookimpl\n"
        "def gymposium_opponents():\n"
        "    yield OpponentSpec(name='chatty', form='chatty', pattern='chatty', summary='S', entry_point='chatty:C')\n"
        "class C(RandomPlayer):\n"
        "    def act(self, asks):\n"
        "        print('thinking')\n"
        "        os.write(1, b'moving')\n"
        "        return super().act(asks)\n"
        "atexit.register(print, 'bye')\n"
    )
    play = ("--plugin", "chatty.py", "run", "tic_tac_toe", "--players", "chatty,random", "-n", "1")
    done = command(*play, "--json", only="")
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    assert {"thinking", "moving", "bye"} <= set(done.stderr.replace("moving", "moving\n").split())
    assert "thinking" in command(*play, only="").stdout, "without --json stdout is for anybody"


METADATA = b"Metadata-Version: 2.1\nName: sad-dist\nVersion: 1\n"
UNREADABLE = {
    "entry points not UTF-8": (b"[gymposium]\nsad = sad\xff\n", METADATA, "its entry_points.txt is not UTF-8"),
    "entry points in UTF-16": ("[gymposium]\nsad = sad\n".encode("utf-16"), METADATA, "entry_points.txt is not UTF-8"),
    "entry points without =": (b"[gymposium]\nsad\n", METADATA, "its entry_points.txt is not well formed"),
    "entry point of no form": (b"[gymposium]\nsad = 1 + 1\n", METADATA, "names '1 + 1', which is neither a module nor"),
    "metadata not UTF-8": (b"[gymposium]\nsad = sad\n", METADATA + b"Author: \xff\n", "its METADATA is not UTF-8"),
    "metadata of no form": (b"[gymposium]\nsad = sad\n", b"\0\1\2", "its METADATA has no Name"),
    "metadata without version": (b"[gymposium]\nsad = sad\n", b"Name: sad-dist\n", "its METADATA has no Version"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable_metadata_breaks_one_plugin(
    case: str, install: Install, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry_points, metadata, reason = UNREADABLE[case]
    info = site / "sad_dist-1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_bytes(entry_points)
    (info / "METADATA").write_bytes(metadata)
    install("fine", good("fine_game"))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("GYMPOSIUM_PLUGINS", "sad-dist,sad_dist,fine")
    host = Host(strict=False)
    [broken] = [plugin for plugin in host.plugins if plugin.status == "broken"]
    assert reason in broken.error
    assert broken.distribution in ("sad-dist", "sad_dist")
    assert "fine_game" in host.games
    monkeypatch.setenv("GYMPOSIUM_DISABLE_PLUGINS", "sad-dist")
    assert Host(strict=False).list_complaints() == []


def test_unreadable_metadata_of_other_packages_is_ignored(
    install: Install, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = site / "other-1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_bytes(b"[console_scripts]\nother = \xff\n")
    (info / "METADATA").write_bytes(b"\xff\xfe")
    install("fine", good("fine_game"))
    monkeypatch.syspath_prepend(site)
    monkeypatch.delenv("GYMPOSIUM_PLUGINS", raising=False)
    host = Host(strict=True)
    assert "fine_game" in host.games
    assert not any("other" in plugin.source for plugin in host.plugins)


@pytest.mark.parametrize(
    "then", ["pass", "raise ImportError('of another kind')", "raise KeyboardInterrupt"], ids=["pass", "other", "again"]
)
def test_ctrl_c_stops_despite_the_plugin(then: str, install: Install, command: Command) -> None:
    source = f"""
        import os, signal
        try:
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                pass
        except KeyboardInterrupt:
            {then}
    """
    install("busy", source)
    done = command("list", only="busy")
    assert done.returncode == 130
    assert done.stdout == ""
    assert "broken" not in done.stderr
    assert complaints(command("list", only="busy", GYMPOSIUM_DISABLE_PLUGINS="busy")) == {}


def test_isolated_check_tries_each_plugin_separately(install: Install, site: Path, command: Command) -> None:
    install("ends", "import os\nif 'ENDS' in os.environ: os._exit(7)" + good("mended"))
    install("fine", good("fine_game"))
    install("sad", "raise RuntimeError('no license')")
    install("off", "raise RuntimeError('not tried')")
    install("segfault", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    switches = {"only": "ends,segfault,fine,sad,off", "GYMPOSIUM_DISABLE_PLUGINS": "off"}
    done = command("plugins", "list", "--isolated", "--json", ENDS="1", **switches)
    assert done.returncode == 0, done.stderr
    listed = {plugin["name"]: plugin for plugin in json.loads(done.stdout)["plugins"]}
    assert listed["builtin"]["status"] == listed["fine"]["status"] == "active"
    assert listed["fine"]["adds"]["games"] == ["fine_game"]
    assert (listed["sad"]["status"], listed["sad"]["error"]) == ("broken", "RuntimeError: no license")
    assert listed["off"]["status"] == "disabled"
    assert listed["ends"]["status"] == "broken"
    assert "(exit code 7)" in listed["ends"]["error"]
    assert listed["segfault"]["status"] == "broken"
    assert "(signal SIGSEGV)" in listed["segfault"]["error"]


@pytest.mark.slow
def test_isolated_check_tries_user_files_separately(tmp_path: Path, command: Command) -> None:
    sources = {"ends_all": "import os; os._exit(7)", "sad_file": "raise RuntimeError('no')", "fine_file": good("filed")}
    for name, source in {**sources, "given_file": good("given")}.items():
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
    settings = tmp_path / "user.toml"
    settings.write_text(f"plugins = {[f'{name}.py' for name in sources]}", encoding="utf-8")
    switches = {"only": ",".join(sources), "GYMPOSIUM_CONFIG": str(settings)}
    arguments = ("plugins", "list", "--isolated", "--json")
    done = command(*arguments, **switches)
    assert done.returncode == 0, done.stderr
    listed = {plugin["name"]: plugin for plugin in json.loads(done.stdout)["plugins"]}
    assert listed["ends_all"]["source"] == str(tmp_path / "ends_all.py")
    assert "(exit code 7)" in listed["ends_all"]["error"]
    assert (listed["sad_file"]["status"], listed["sad_file"]["error"]) == ("broken", "RuntimeError: no")
    assert (listed["fine_file"]["status"], listed["fine_file"]["adds"]["games"]) == ("active", ["filed"])
    done = command("--plugin", "given_file.py", *arguments, **switches, GYMPOSIUM_DISABLE_PLUGINS="ends_all")
    assert done.returncode == 0, done.stderr
    listed = {plugin["name"]: plugin for plugin in json.loads(done.stdout)["plugins"]}
    assert listed["ends_all"]["status"] == "disabled"
    assert (listed["given_file"]["status"], listed["given_file"]["adds"]["games"]) == ("active", ["given"])
