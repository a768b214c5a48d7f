"""The command `gymposium eval`: output, records, refusals, stopping and resuming."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.commands import run_command
from typer.testing import CliRunner

from gymposium.errors import GymposiumError, PermissionRequired
from gymposium.plugins.allowed import VARIABLE
from gymposium.records import Record, read_records, verify_file
from gymposium.runs.folder import RunFolder
from gymposium_agents.cli.eval import EvalSettings, command

PLAYERS = '''
"""A player that presses Ctrl-C in its third call, and one that fails in every way."""
import signal
from pathlib import Path

from gymposium import OpponentSpec, hookimpl
from gymposium.players.protocol import Reply, Usage
from gymposium.replies.reading import READERS


class Presses:
    name, reader, style = "presses", READERS["move"], "compact"
    calls = 0

    def act(self, asks):
        self.calls += 1
        if self.calls == 3 and not Path("pressed").exists():
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
            signal.raise_signal(signal.SIGINT)
        return [Reply(ask.legal_moves[0]) for ask in asks]


class Fails:
    name, reader, style = "fails", READERS["move"], "compact"

    def act(self, asks):
        return [self.say(ask, int(ask.rng.random() * 9)) for ask in asks]

    def say(self, ask, way):
        used = Usage(100 + ask.seat, 7, 0.25)
        if way == 0:
            taken = [cell for cell in ("a1", "a2", "a3", "b1", "b2", "b3") if cell not in ask.legal_moves]
            return Reply((*taken, "d4")[0], usage=used)
        if way == 1:
            return Reply("I resign, [bold]truly", usage=used)
        if way == 2:
            return Reply(ask.legal_moves[0], "length", usage=used)
        if way == 3:
            return Reply("", "context")
        return Reply(ask.legal_moves[0], usage=used)


@hookimpl
def gymposium_opponents():
    for name, player in (("presses", "Presses"), ("fails", "Fails")):
        yield OpponentSpec(name=name, form=name, pattern=name, summary="S.", entry_point=f"players:{player}")
'''


@pytest.fixture
def run(tmp_path: Path) -> Any:
    (tmp_path / "players.py").write_text(PLAYERS)

    def run(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "COLUMNS": "80", **(env or {})}
        return run_command("--plugin", "players.py", *arguments, folder=tmp_path, env=variables, learns=True)

    return run


def records(path: Path) -> list[Record]:
    found = [record for _, record in read_records(path)]
    assert all(isinstance(record, Record) for record in found)
    return [record for record in found if isinstance(record, Record)]


def test_rates_have_intervals_overall_and_by_seat(run: Any, tmp_path: Path) -> None:
    done = run("eval", "fails", "--game", "tic_tac_toe", "--opponents", "random", "-n", "60", "--json", "--out", "m")
    assert done.returncode == 0, done.stderr
    [game] = json.loads(done.stdout)["games"]
    found = game["opponents"]["random"]
    counts = found["counts"]["readings"]
    assert (
        f"fails: {counts['cut off']} of {sum(counts.values())} replies were cut off. Raise max_tokens." in done.stderr
    )
    played = records(tmp_path / "m" / "matches.jsonl")
    for score, seats in [(found, (0, 1)), *((found["seats"][seat], (seat,)) for seat in (0, 1))]:
        mine = [(r, s) for r in played for s in seats if r.players[s] == "fails"]
        assert score["matches"] == len(mine) == 30 * len(seats)
        for result, (value, low, high) in score["results"].items():
            assert value == sum(r.results[s] == result for r, s in mine) / len(mine)
            assert low < value < high or value in (0.0, 1.0)
        replies = [turn["reading"] for r, s in mine for turn in r.turns if turn["seat"] == s]
        for reading in ("illegal", "unparsable", "cut off"):
            value, low, high = score["readings"][reading]
            assert value == replies.count(reading) / len(replies)
            assert low < value < high
        failures = [failure.kind for record, seat in mine if (failure := record.ending.find_failure(seat)) is not None]
        assert score["counts"]["failures"]["out of context"] == failures.count("out of context") > 0
        assert sum(score["counts"]["failures"].values()) == len(failures)
        assert score["usage"]["tokens_per_move"][0] == 7
        assert score["usage"]["seconds_per_move"][0] == 0.25
    assert found["seats"][0]["usage"]["prompt_tokens"] % 100 == 0
    assert verify_file(tmp_path / "m" / "matches.jsonl").problems == []


def test_default_match_count_is_balanced_across_seats(run: Any) -> None:
    games = ("--game", "universal_poker(players=3)", "--game", "kuhn_poker")
    done = run("eval", "random", *games, "--opponents", "random", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["matches"] == 204
    for game, share in zip(told["games"], (68, 102), strict=True):
        assert {seat["matches"] for seat in game["opponents"]["random"]["seats"]} == {share}


def test_exact_figures_accompany_sampled_ones(run: Any) -> None:
    options = ("--game", "kuhn_poker", "--game", "pig", "--opponents", "random", "-n", "2", "--exact")
    done = run("eval", "random", *options, "--json")
    assert done.returncode == 0, done.stderr
    kuhn, pig = json.loads(done.stdout)["games"]
    assert kuhn["exact"]["exact"] is True
    assert kuhn["exact"]["as_played"]["exploitability"] == pytest.approx(11 / 24)
    assert kuhn["exact"]["as_played"]["against_random"]["seats"][0]["mean_return"] == pytest.approx(0.125)
    assert pig["exact"] == {"refused": "pig has matches of more than 300 moves."}
    done = run("eval", "random", *options)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    text = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "against random 0.5000 0.0000 0.5000 0.0000" in text
    assert "best response in seat 1 0.6250 0.0000 0.3750 0.4167" in text
    assert "exploitability 0.4583" in text
    assert "random has no exact figures: pig has matches of more than 300 moves." in text


def test_human_player_suggests_the_play_command(run: Any, tmp_path: Path) -> None:
    (tmp_path / "players.py").write_text(PLAYERS, encoding="utf-8")
    done = run("--plugin", "players.py", "eval", "human", "--game", "kuhn_poker")
    assert done.returncode == 2
    assert f"gymposium --plugin {tmp_path / 'players.py'} play kuhn_poker" in done.stderr


def test_exact_requires_players_with_move_probabilities(run: Any, tmp_path: Path) -> None:
    done = run("eval", "mcts-10", "--game", "kuhn_poker", "-n", "2", "--exact", "--out", "m")
    assert done.returncode == 2
    assert "mcts-10 does not report its move probabilities" in done.stderr
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
def test_tables_fit_80_columns(run: Any) -> None:
    done = run("eval", "fails", "--game", "tic_tac_toe", "--game", "2048", "--game", "hearts", "-n", "20")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    text = [" ".join(line.split()) for line in lines]
    assert "of matches win draw loss" in text
    assert "of replies illegal unparsable cut off" in text
    assert "per match mean return out of context" in text
    assert "per move prompt tokens reply tokens seconds" in text
    assert sum(line.startswith("seat 3") for line in text) == 8  # hearts, two opponents, four blocks
    [two_thousand] = [i for i, line in enumerate(text) if line == "fails at 2048"]
    assert "of matches" not in text[two_thousand + 3]  # a game with one seat has no winner
    head, *rows = text[-6:]
    assert head == "game against win mean return"
    assert [row.split()[:2] for row in rows] == [
        ["tic_tac_toe", "random"],
        ["tic_tac_toe", "mcts-100"],
        ["2048", "alone"],
        ["hearts", "random"],
        ["hearts", "mcts-100"],
    ]


def test_each_game_in_a_command_plays_separate_matches(run: Any, tmp_path: Path) -> None:
    games = ["tic_tac_toe", "kuhn_poker"]
    options = [option for game in games for option in ("--game", game)]
    done = run("eval", "mcts-2", *options, "--opponents", "random,mcts-3", "-n", "4", "--json", "--out", "m")
    data = json.loads(done.stdout)
    assert [game["game"] for game in data["games"]] == games
    assert all(list(game["opponents"]) == ["random", "mcts-3"] for game in data["games"])
    played = records(tmp_path / "m" / "matches.jsonl")
    assert len({record.id for record in played}) == len(played) == 16


def test_same_command_plays_the_same_matches(run: Any, tmp_path: Path) -> None:
    for file, schedule in (("one", "rounds"), ("two", "rounds"), ("three", "streaming")):
        options = ("--opponents", "random", "-n", "20", "--schedule", schedule, "--at-once", "5", "--out", file)
        assert run("eval", "mcts-3", "--game", "leduc_poker", *options).returncode == 0
    one, two, three = (
        {r.id: r for r in records(tmp_path / file / "matches.jsonl")} for file in ("one", "two", "three")
    )
    assert one == two
    assert {i: r.events for i, r in one.items()} == {i: r.events for i, r in three.items()}


@pytest.mark.slow
def test_workers_play_the_same_matches(run: Any, tmp_path: Path) -> None:
    """The games and opponents are played one after the other, each by all workers."""
    common = ("eval", "fails", "--game", "tic_tac_toe", "--game", "kuhn_poker", "--opponents", "random,mcts-5")
    here = run(*common, "-n", "20", "--json", "--out", "here")
    workers = run(*common, "-n", "20", "--json", "--out", "workers", "--jobs", "2")
    assert workers.returncode == 0, workers.stderr
    assert {**json.loads(here.stdout), "record": ""} == {**json.loads(workers.stdout), "record": ""}
    assert (tmp_path / "here/matches.jsonl").read_bytes() == (tmp_path / "workers/matches.jsonl").read_bytes()
    served = run(*common, "--jobs", "2", "--start-server")
    assert served.returncode == 2
    assert "--start-server conflicts with --executor and --jobs" in " ".join(served.stderr.split())


@pytest.mark.slow
def test_preset_output_lists_settings_and_overrides(run: Any) -> None:
    done = run("eval", "random", "--preset", "ludic", "-n", "10", "--opponents", "mcts-2")
    assert done.returncode == 0, done.stderr
    head = done.stdout.split("\n\n")[0]
    for said in ("ludic", "tic_tac_toe", "mcts-2", "10 against each", "seed", "forfeit", "opponents, matches"):
        assert said in head
    data = json.loads(run("eval", "random", "--preset", "ludic", "-n", "10", "--json").stdout)
    assert data["preset"]["changed"] == ["matches"]
    assert data["preset"]["matches"] == 200
    assert data["matches"] == 10
    alone = run("eval", "random", "--preset", "ludic", "-n", "1", "--game", "2048").stdout.split("\n\n")[0]
    assert "matches       1 " in alone
    assert "  opponents  " not in alone
    assert "seat" not in alone


def test_interrupted_run_resumes_to_the_same_figures(run: Any, tmp_path: Path) -> None:
    options = ("--game", "kuhn_poker", "--opponents", "random,mcts-2", "-n", "10", "--at-once", "2", "--json")
    first = run("eval", "presses", *options)
    assert first.returncode == 130
    [folder] = (tmp_path / "gymposium-runs").iterdir()
    kept = records(folder / "matches.jsonl")
    assert 0 < len(kept) < 20
    where = folder.relative_to(tmp_path)
    assert f"Stopped. {len(kept)} of 20 matches are recorded in {where}. Resume with:\n" in first.stderr
    assert f"  gymposium --plugin {tmp_path / 'players.py'} eval --resume {where}\n" in first.stderr
    assert "Traceback" not in first.stderr
    assert first.stdout == ""
    (tmp_path / "pressed").touch()
    again = run("eval", "--resume", where, "--json")
    assert again.returncode == 0, again.stderr
    whole = run("eval", "presses", *options, "--out", "whole")
    assert (folder / "matches.jsonl").read_bytes() == (tmp_path / "whole" / "matches.jsonl").read_bytes()
    assert {**json.loads(again.stdout), "record": ""} == {**json.loads(whole.stdout), "record": ""}
    refused = run("eval", "--resume", where, "--seed", "2", "mcts-5")
    assert refused.returncode == 2
    assert "Remove PLAYER, --seed" in " ".join(refused.stderr.split())


def test_resumed_run_cannot_choose_server_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "lm:a")
    settings = {"start_server": True, "server_option": ["lora_rank=8", "more=--trust-remote-code"]}
    whole = {**asdict(EvalSettings("lm:a", ("tic_tac_toe",), *[None] * 5, False, "rounds", 1, False, ())), **settings}
    RunFolder.create(tmp_path / "a", "eval", whole)
    with pytest.raises(PermissionRequired, match=r"'more=--trust-remote-code'.*whatever the server's options name"):
        run_eval("--resume", tmp_path / "a")
    monkeypatch.setenv(VARIABLE, "lm:a\nmore=--trust-remote-code")
    with pytest.raises(GymposiumError, match="gymposium engine setup"):
        run_eval("--resume", tmp_path / "a")


def run_eval(*arguments: str | Path) -> None:
    """The command in this process; raises what it raises."""
    app = typer.Typer()
    app.command("eval")(command)
    done = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False, standalone_mode=False)
    print(done.stdout)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("random", "--game tic_tac_toe"),
        ("--game tic_tac_toe", "gymposium eval mcts-100"),
        ("random --game tic_tac_to", "tic_tac_toe"),
        ("random --game tic_tac_toe -n 3", "multiple of 2"),
        ("random --game tic_tac_toe --opponents randm", "Unknown player 'randm'"),
        ("random --game tic_tac_toe --opponents human", "gymposium play"),
        ("random --game tic_tac_toe --on-illegal shrug", "retry"),
        ("random --game tic_tac_toe --schedule waves", "rounds or streaming"),
        ("random --game tic_tac_toe --preset lucid", "ludic"),
        ("random --game tic_tac_toe --start-server", "no player is written lm:MODEL"),
        ("random --game tic_tac_toe --server-option lora_rank=8", "--start-server"),
        ("lm:a --game tic_tac_toe --opponents lm:b --start-server", "a, b would each need one"),
        ("lm:a --game tic_tac_toe --start-server", "gymposium engine setup"),
        ("lm:a@b --game tic_tac_toe --start-server", "No adapter at 'b'"),
        ("lm:a --game tic_tac_toe --start-server --server-option dtyp=auto", "'dtype'"),
        ("lm:a --game tic_tac_toe --start-server --server-option port=x", "whole number"),
        ("lm:a --game tic_tac_toe --start-server --server-option port", "NAME=VALUE"),
        ("lm:a --game tic_tac_toe --start-server --server-option servers=0", "servers=0"),
        (
            "lm:a --game tic_tac_toe --start-server --server-option servers=2 --server-option port=8200",
            "2 servers cannot share a port",
        ),
        (
            "lm:a --game tic_tac_toe --start-server --server-option servers=2 --server-option devices=1",
            "1 GPU cannot be divided evenly among 2 servers",
        ),
        ("random --game tic_tac_toe --out /dev/null/m", "--out /dev/null/m: cannot be written"),
    ],
)
def test_invalid_options_fail_before_any_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, said: str
) -> None:
    monkeypatch.setenv("GYMPOSIUM_ENGINE_HOME", str(tmp_path / "empty"))
    with pytest.raises(GymposiumError) as refused:
        run_eval("--out", tmp_path / "m", *options.split())
    assert said in str(refused.value)
    assert not (tmp_path / "m").exists()


def test_evaluates_a_model_with_its_adapter(
    model_directory: Path, adapter_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    player = f"lm:{model_directory}@{adapter_directory}"
    options = ("--game", "kuhn_poker", "--opponents", "random,mcts-5", "-n", "10", "--json")
    run_eval(player, *options, "--out", tmp_path / "m")
    opponents = json.loads(capsys.readouterr().out)["games"][0]["opponents"]
    assert set(opponents) == {"random", "mcts-5"}
    assert opponents["random"]["usage"]["prompt_tokens"] > opponents["random"]["usage"]["completion_tokens"] > 0
    verification = verify_file(tmp_path / "m" / "matches.jsonl")
    assert (verification.matches, verification.problems) == (20, [])


def test_importing_commands_does_not_load_model_libraries() -> None:
    modules = "gymposium_agents.cli.eval, gymposium_agents.cli.synth"
    heavy = "{'torch', 'transformers', 'peft', 'httpx', 'huggingface_hub'}"
    code = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
