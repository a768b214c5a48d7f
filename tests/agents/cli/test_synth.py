"""The command `gymposium synth`: files, refusals and resuming."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.commands import run_command
from typer.testing import CliRunner

from gymposium.errors import GymposiumError, PermissionRequired
from gymposium.records import verify_file
from gymposium_agents.cli.synth import command

PRESSES = '''
"""A random player that presses Ctrl-C in its fifth call, once."""
import signal
from pathlib import Path

from gymposium import OpponentSpec, hookimpl
from gymposium.players.random import RandomPlayer


class Presses(RandomPlayer):
    name = "presses"
    calls = 0

    def act(self, asks):
        self.calls += 1
        if self.calls == 5 and not Path("pressed").exists():
            Path("pressed").touch()
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
            signal.raise_signal(signal.SIGINT)
        return super().act(asks)


@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="presses", form="presses", pattern="presses", summary="S.", entry_point="presses:Presses")
'''


def synth(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, folder=folder, env={**os.environ, "COLUMNS": "80"}, learns=True)


def parse_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize(("context", "columns"), [("full", {"messages"}), ("last-2", {"prompt", "completion"})])
def test_datasets_loads_the_data(tmp_path: Path, context: str, columns: set[str]) -> None:
    import datasets  # a second to import

    options = ("--game", "tic_tac_toe", "--players", "mcts-5,random", "-n", "30", "--context", context)
    done = synth(tmp_path, "synth", *options, "--reply", "tags", "--out", "data/ttt", "--json")
    assert done.returncode == 0, done.stderr
    manifest = json.loads(done.stdout)
    file = tmp_path / "data" / "ttt" / "data.jsonl"
    read = datasets.load_dataset("json", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache"))
    assert set(read.column_names) == columns | {"chat_template_kwargs", "gymposium"}
    assert len(read) == manifest["counts"]["lines"] > 0
    for row, line in zip(read, parse_lines(file), strict=True):
        assert row == line
        chat = [message for column in sorted(columns, reverse=True) for message in row[column]]
        assert [message["role"] for message in chat] == ["user", "assistant"] * (len(chat) // 2)
        assert all(message["content"].startswith("<move>") for message in chat[1::2])
        assert row["gymposium"]["result"] == "win"


def test_datasets_loads_tool_calls(tmp_path: Path) -> None:
    import datasets  # a second to import

    options = ("--game", "mail(mails=20)", "--players", "mail-expert", "-n", "2", "--keep", "all", "--context", "full")
    done = synth(tmp_path, "synth", *options, "--reply", "tools", "--out", "mail")
    assert done.returncode == 0, done.stderr
    file = tmp_path / "mail" / "data.jsonl"
    read = datasets.load_dataset("json", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache"))
    for row, line in zip(read, parse_lines(file), strict=True):
        assert row == line
        task, *rest = row["messages"]
        assert task["role"] == "user"
        assert [message["role"] for message in rest] == ["assistant", "tool"] * (len(rest) // 2) + ["assistant"]
        called = [call["function"]["name"] for message in rest[::2] for call in message["tool_calls"]]
        assert called[-1] == "return_final_answer"
        assert {*called} <= {tool["function"]["name"] for tool in row["tools"]}


def test_tool_replies_require_a_game_with_tools(tmp_path: Path) -> None:
    done = synth(tmp_path, "synth", "--game", "tic_tac_toe", "--players", "random,random", "--reply", "tools")
    assert done.returncode == 2
    assert "tic_tac_toe has no tools" in done.stderr


def test_manifest_and_matches_accompany_the_data(tmp_path: Path) -> None:
    options = ("--game", "kuhn_poker", "--players", "random,mcts-5", "--by", "2", "-n", "20", "--seed", "4")
    kept = ("--keep", "return>=2", "--dedupe", "--limit", "9")
    done = synth(tmp_path, "synth", *options, *kept, "--out", "kuhn")
    assert done.returncode == 0, done.stderr
    data = (tmp_path / "kuhn" / "data.jsonl").read_bytes()
    manifest = json.loads((tmp_path / "kuhn" / "manifest.json").read_text())
    assert manifest["sha256"] == hashlib.sha256(data).hexdigest()
    assert (manifest["game"], manifest["players"], manifest["seed"]) == ("kuhn_poker", ["random", "mcts-5"], 4)
    assert manifest["wanted"]["by"] == "mcts-5"
    counts = manifest["counts"]
    assert counts["lines"] == len(data.splitlines()) <= 9
    assert all(line["gymposium"]["return"] >= 2 for line in parse_lines(tmp_path / "kuhn" / "data.jsonl"))
    assert all(line["gymposium"]["player"] == "mcts-5" for line in parse_lines(tmp_path / "kuhn" / "data.jsonl"))
    verification = verify_file(tmp_path / "kuhn" / "matches.jsonl")
    assert (verification.matches, verification.problems) == (20, [])
    others = counts["left_out"]["another outcome"]
    for said in (f"{counts['lines']} lines", f"{counts['matches']} matches", f"another outcome {others}"):
        assert said in done.stdout


def test_interrupted_run_resumes_to_identical_bytes(tmp_path: Path) -> None:
    for folder in ("stopped", "whole"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "presses.py").write_text(PRESSES)
    (tmp_path / "whole" / "pressed").touch()
    options = ("--game", "kuhn_poker", "--players", "presses,random", "-n", "40", "--at-once", "4", "--out", "k")
    plugin = ("--plugin", "presses.py")
    first = synth(tmp_path / "stopped", *plugin, "synth", *options, "--keep", "all")
    assert first.returncode == 130
    file = tmp_path / "stopped" / "k" / "matches.jsonl"
    count = len(file.read_text().splitlines())
    assert 0 < count < 40
    assert first.stderr.endswith(
        f"Stopped. {count} of 40 matches are recorded in k. Resume with:\n"
        f"  gymposium --plugin {tmp_path / 'stopped' / 'presses.py'} synth --resume k\n"
    )
    assert not (tmp_path / "stopped" / "k" / "data.jsonl").exists()
    with open(file, "a") as torn:
        torn.write('{"format": "gymposium-match-1", "id": "synth')  # as after a kill
    again = synth(tmp_path / "stopped", *plugin, "synth", "--resume", "k")
    assert again.returncode == 0, again.stderr
    assert synth(tmp_path / "whole", *plugin, "synth", *options, "--keep", "all").returncode == 0
    for name in ("settings.json", "matches.jsonl", "data.jsonl", "manifest.json"):
        assert (tmp_path / "stopped" / "k" / name).read_bytes() == (tmp_path / "whole" / "k" / name).read_bytes(), name


@pytest.mark.slow
def test_workers_produce_the_same_data(tmp_path: Path) -> None:
    common = ("synth", "--game", "tic_tac_toe", "--players", "mcts-5,random", "-n", "20", "--by", "1")
    for where, how in (("here", ()), ("workers", ("--jobs", "2"))):
        done = synth(tmp_path, *common, "--out", where, *how)
        assert done.returncode == 0, done.stderr
    for file in ("data.jsonl", "matches.jsonl", "manifest.json"):
        assert (tmp_path / "here" / file).read_bytes() == (tmp_path / "workers" / file).read_bytes()


def run_synth(*arguments: str | Path) -> None:
    """The command in this process; raises what it raises."""
    app = typer.Typer()
    app.command("synth")(command)
    CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, standalone_mode=False)


ASKED = ("--game", "kuhn_poker", "--players", "random,random", "-n", "10")


def test_resuming_extends_matches_and_rebuilds_data(tmp_path: Path) -> None:
    run_synth(*ASKED, "--out", tmp_path / "a")
    ten = (tmp_path / "a" / "matches.jsonl").read_bytes()
    data = (tmp_path / "a" / "data.jsonl").read_bytes()
    with pytest.raises(GymposiumError, match="never overwritten"):
        run_synth("--resume", tmp_path / "a", "--keep", "all")
    assert "move data.jsonl away" in " ".join((command.__doc__ or "").split())
    with pytest.raises(GymposiumError, match="Remove --seed"):
        run_synth("--resume", tmp_path / "a", "--seed", "1")
    with pytest.raises(GymposiumError, match="already has 10 planned matches"):
        run_synth("--resume", tmp_path / "a", "-n", "4")
    with pytest.raises(GymposiumError, match="is not empty"):
        run_synth(*ASKED, "--out", tmp_path / "a")
    assert (tmp_path / "a" / "data.jsonl").read_bytes() == data
    (tmp_path / "a" / "data.jsonl").unlink()
    run_synth("--resume", tmp_path / "a", "--keep", "all", "-n", "14")
    assert len(parse_lines(tmp_path / "a" / "data.jsonl")) > len(data.splitlines())
    assert (tmp_path / "a" / "matches.jsonl").read_bytes().startswith(ten)
    run_synth("--resume", tmp_path / "a")  # everything is done already
    assert len(parse_lines(tmp_path / "a" / "matches.jsonl")) == 14


def test_resumed_run_cannot_choose_server_options(tmp_path: Path) -> None:
    run_synth(*ASKED, "--out", tmp_path / "a")
    file = tmp_path / "a" / "settings.json"
    stored = json.loads(file.read_text())
    stored["settings"] |= {"start_server": True, "server_option": ["more=--trust-remote-code"]}
    file.write_text(json.dumps(stored))
    with pytest.raises(PermissionRequired, match="whatever the server's options name"):
        run_synth("--resume", tmp_path / "a")


SILENT = '''
"""A player that gives no legal reply."""
from gymposium import OpponentSpec, hookimpl
from gymposium.players.protocol import Reply
from gymposium.replies.reading import READERS


class Silent:
    name, reader, style = "silent", READERS["move"], "compact"

    def act(self, asks):
        return [Reply("?") for _ in asks]


@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="silent", form="silent", pattern="silent", summary="S.", entry_point="silent:Silent")
'''
TAUGHT = ("--game", "tic_tac_toe", "--players", "random,random", "-n", "70", "--keep", "all", "--context", "full")


def test_teacher_replaces_the_replies(tmp_path: Path) -> None:
    done = synth(tmp_path, "synth", *TAUGHT, "--teacher", "exact", "--out", "a")
    assert "no recommendation  0 turns" in done.stdout, done.stderr
    lines = parse_lines(tmp_path / "a" / "data.jsonl")
    matches = parse_lines(tmp_path / "a" / "matches.jsonl")
    assert len(lines) == sum(len(match["turns"]) for match in matches)
    for line in lines:
        about, [reply] = line["gymposium"], line["completion"]
        assert (about["player"], about["teacher"]) == ("random", "exact")
        assert about["taught"][about["legal"].index(reply["content"])] == max(about["taught"])
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert (manifest["wanted"]["teacher"], manifest["counts"]["untaught"]) == ("exact", 0)


def test_recorded_matches_get_a_teacher_later(tmp_path: Path) -> None:
    run_synth(*TAUGHT, "--out", tmp_path / "a")
    run_synth(*TAUGHT, "--teacher", "mcts-5", "--limit", "100", "--out", tmp_path / "b")
    with pytest.raises(GymposiumError, match="never overwritten"):
        run_synth("--resume", tmp_path / "a", "--teacher", "mcts-5")
    (tmp_path / "a" / "data.jsonl").unlink()
    run_synth("--resume", tmp_path / "a", "--teacher", "mcts-5", "--limit", "100")
    data = (tmp_path / "a" / "data.jsonl").read_bytes()
    assert data == (tmp_path / "b" / "data.jsonl").read_bytes()
    assert len(data.splitlines()) == 100
    (tmp_path / "a" / "data.jsonl").unlink()
    run_synth("--resume", tmp_path / "a")
    assert (tmp_path / "a" / "data.jsonl").read_bytes() == data


def test_stored_teacher_that_opens_a_path_needs_permission(tmp_path: Path) -> None:
    run_synth(*ASKED, "--out", tmp_path / "a")
    file = tmp_path / "a" / "settings.json"
    stored = json.loads(file.read_text())
    stored["settings"]["teacher"] = "lm:./somewhere"
    file.write_text(json.dumps(stored))
    with pytest.raises(PermissionRequired, match="somewhere"):
        run_synth("--resume", tmp_path / "a")


def test_teacher_without_recommendations_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text(SILENT)
    options = ("--game", "kuhn_poker", "--players", "random,random", "-n", "4", "--keep", "all", "--out", "k")
    done = synth(tmp_path, "--plugin", "silent.py", "synth", *options, "--teacher", "silent")
    assert done.returncode == 2
    assert "silent recommends no move at " in done.stderr


def test_writes_no_data_if_nothing_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for asked in ((*ASKED, "--keep", "draw", "--out", tmp_path / "a"), ("--resume", tmp_path / "a")):
        with pytest.raises(GymposiumError, match=r"No seat of 10 matches .*another outcome 20") as error:
            run_synth(*asked)
        for changed in ("--keep all", "-n 20"):
            assert f"gymposium synth --resume {tmp_path / 'a'} {changed}" in str(error.value)
        assert "Resume with" not in capsys.readouterr().err
    assert sorted(file.name for file in (tmp_path / "a").iterdir()) == [
        "matches.jsonl",
        "matches.manifest.json",
        "settings.json",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--players", "random"], "needs 2 players, not 1"),
        (["--players", "random,human"], "gymposium play"),
        (["--players", "random,randm"], "Unknown player 'randm'"),
        (["--game", "kuhn_pokr"], "kuhn_poker"),
        (["--keep", "wins"], "return>=X"),
        (["--game", "2048", "--players", "random"], "return>=X"),
        (["--seats", "0,2"], "no seat '2'"),
        (["--by", "3"], "--players names 2"),
        (["--context", "lats-2"], "last"),
        (["--reply", "yaml"], "'yaml'"),
        (["--prompt", "long"], "full or compact"),
        (["--prompt", "image"], "contain only text"),
        (["--per", "match"], "--context full"),
        (["--per", "match", "--context", "full", "--teacher", "random"], "conflicts with --teacher"),
        (["--teacher", "human"], "gymposium play"),
        (["--teacher", "none"], "only gymposium train chooses a teacher by itself. Name a player"),
        (["--teacher", "exact"], "perfect information"),
        (["--game", "mail", "--players", "mail-expert", "--keep", "all", "--teacher", "random"], "no list of them"),
        (["--schedule", "waves"], "rounds or streaming"),
        (["--start-server"], "no player is written lm:MODEL"),
        (["--out", "/dev/null/data"], "--out /dev/null/data: cannot be written"),
    ],
)
def test_invalid_options_fail_before_any_match(tmp_path: Path, options: list[str], said: str) -> None:
    with pytest.raises(GymposiumError) as refused:
        run_synth(*ASKED, "--out", tmp_path / "data", *options)
    assert said in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_missing_game_is_an_error() -> None:
    with pytest.raises(GymposiumError, match="--game tic_tac_toe"):
        run_synth("--players", "random,random")
