"""Specs that open something are refused in every kind of file before anything is opened."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gymposium.cli.main import app
from gymposium.errors import BadOption, PermissionRequired
from gymposium.games.registry import find_spec, load_game
from gymposium.match import MatchJob, play
from gymposium.players.grammar import check_named_player, make_player
from gymposium.plugins.allowed import VARIABLE, VARIABLES
from gymposium.plugins.host import host
from gymposium.records import Record, verify_file
from gymposium_arena.suite import parse_suite
from gymposium_train import TrainConfig, train
from gymposium_train.config.permitted import check_permitted
from gymposium_train.config.reading import build_config

SUITE = 'name = "small"\ngroups = 1\nplayers = ["{player}"]\n[[games]]\nname = "{game}"\n'
SECRET = "GATE_SECRET"
WORLD = 'name = "w"\n[server]\ncommand = ["python", "-c", "open({canary!r}, \'w\')"]\n[tools]\nallow = "all"\n'


@pytest.fixture(autouse=True)
def forbid_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setenv(VARIABLES, "")
    monkeypatch.setenv(SECRET, "secret")


class Traps:
    """A file that appears if code runs, a FIFO that blocks who reads it, and a server that must see nobody."""

    def __init__(self, folder: Path, server: socket.socket) -> None:
        self.folder, self._server = folder, server
        self.canary = folder / "canary"
        self.url = f"http://127.0.0.1:{server.getsockname()[1]}"
        code = f"open({str(self.canary)!r}, 'w')\ndef run(group): return [0.0] * len(group)\n"
        (folder / "trap_module.py").write_text(code)
        self.world = folder / "world.toml"
        self.world.write_text(WORLD.format(canary=str(self.canary)))

    def untouched(self) -> bool:
        """Whether nothing was opened."""
        self._server.settimeout(0)
        try:
            self._server.accept()
        except BlockingIOError:
            return not self.canary.exists()
        return False

    def value(self, noun: str) -> str:
        """A value that opens such a thing."""
        if "secret" in noun:
            return SECRET
        return self.url if noun == "an address" else str(self.world)


@pytest.fixture
def traps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traps]:
    monkeypatch.syspath_prepend(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Traps(tmp_path, server)


GAMES = [
    (spec.name, parameter.name, parameter.opens)
    for spec in host().games.values()
    for parameter in spec.parameters
    if parameter.opens
]
PLAYERS = {
    "lm": ["lm:{world}", "lm:m?engine={url}"],
    "api": ["api:m?base_url={url}", "api:m?key=GATE_SECRET", "api:m?%6Bey=GATE_SECRET"],
    "remote": ["remote:mcts-5"],
    "exploit": ["exploit:{world}"],
    "human": ["human"],
    "sb3": ["sb3:{world}"],
}
REWARDS = {
    "weighted": ["weighted(trap_module:run=1)", "weighted(accuracy=1,trap_module:run=0)"],
    "ruler": [
        "ruler(m?base_url={url})",
        "ruler(m?key=GATE_SECRET)",
        " ruler(m?base_url={url})",
        "ruler(m%2C?base_url={url})",
        "ruler(m?temperature=%2C&key=GATE_SECRET)",
    ],
}
CONFIGURED = {
    "vllm": {
        "url": "http://192.0.2.1:8000",
        "arguments": ["--middleware", "trap_module.run"],
        "exchange": "/somewhere",
    },
    "sessions": {"run": "python -c 'import trap_module'", "scores": "trap_module:run"},
    "tensorboard": {"folder": "/elsewhere"},
    "wandb": {"": {}, "entity": "somebody"},
    "trackio": {"space": "somebody/space", "server": "http://192.0.2.1"},
    "mlflow": {"tracking_uri": "http://192.0.2.1"},
    "langfuse": {"": {}, "host": "http://192.0.2.1"},
}


def test_every_spec_that_opens_something_is_tested() -> None:
    assert {spec.name for spec in host().opponents.values() if spec.opens} == PLAYERS.keys()
    assert {spec.name for spec in host().rewards.values() if spec.opens} == REWARDS.keys()
    assert len(GAMES) >= 7
    kinds = ("engines", "backends", "sources", "credits", "objectives", "loggers")
    declared = {spec.name: set(spec.opens) for kind in kinds for spec in getattr(host(), kind).values() if spec.opens}
    assert all(declared[name] == set(CONFIGURED[name]) for name in declared.keys() & CONFIGURED.keys())
    assert {"vllm", "sessions"} <= declared.keys()


def read_suite(game: str, player: str) -> None:
    parse_suite(SUITE.format(game=game, player=player))


def read_entry(game: str, player: str) -> None:
    check_named_player(player)
    raise PermissionRequired(game, "an entry names players alone", "") if game != "tic_tac_toe" else AssertionError


def read_record(game: str, player: str, folder: Path) -> None:
    [played] = play([MatchJob("m-1", load_game("tic_tac_toe"), [make_player("random")] * 2, 3)])
    (folder / "matches.jsonl").write_text(
        json.dumps({**json.loads(Record.from_match(played).line()), "game": game}) + "\n"
    )
    found = verify_file(folder / "matches.jsonl")
    [problem] = found.problems
    assert ("needs your permission" in problem.what) == (find_spec(game.partition("(")[0]).replay == ""), problem
    raise PermissionRequired(game, "", "")


def make_config_reader(data: dict[str, Any]) -> Callable[[Path], None]:
    return lambda folder: check_permitted(build_config(data))


def make_run_reader(data: dict[str, Any]) -> Callable[[Path], None]:
    def resume(folder: Path) -> None:
        (folder / "config.json").write_text(json.dumps(data))
        train(resume=folder)

    return resume


@pytest.mark.parametrize(("game", "parameter", "noun"), GAMES, ids=lambda value: str(value))
def test_game_in_a_file_opens_nothing(game: str, parameter: str, noun: str, traps: Traps) -> None:
    name = f"{game}({parameter}={traps.value(noun)})"
    config = {"games": [name]}
    for file in (
        lambda folder: read_suite(name, "random"),
        lambda folder: read_record(name, "random", folder),
        make_config_reader(config),
        make_run_reader(config),
    ):
        with pytest.raises(PermissionRequired):
            file(traps.folder)
    assert traps.untouched()


@pytest.mark.parametrize("form", [text for texts in PLAYERS.values() for text in texts])
def test_player_in_a_file_opens_nothing(form: str, traps: Traps) -> None:
    name = form.format(world=traps.world, url=traps.url)
    stages = {"games": ["tic_tac_toe"], "stages": [{"opponents": {name: 1.0}}]}
    evaluation = {"games": ["tic_tac_toe"], "evaluation": {"opponents": [name]}}
    for file in (
        lambda folder: read_suite("tic_tac_toe", name),
        lambda folder: read_entry("tic_tac_toe", name),
        make_config_reader(stages),
        make_run_reader(stages),
        make_config_reader(evaluation),
        make_run_reader(evaluation),
    ):
        with pytest.raises((PermissionRequired, BadOption)):
            file(traps.folder)
    assert traps.untouched()


@pytest.mark.parametrize("form", [text for texts in REWARDS.values() for text in texts])
def test_reward_in_a_file_opens_nothing(form: str, traps: Traps) -> None:
    config = {"games": ["tic_tac_toe"], "reward": form.format(url=traps.url)}
    for file in (make_config_reader(config), make_run_reader(config)):
        with pytest.raises(PermissionRequired, match="reward: it opens"):
            file(traps.folder)
    assert traps.untouched()


@pytest.mark.parametrize(
    ("table", "kind"), [("engine", "vllm"), ("source", "sessions"), *(("loggers", name) for name in [*CONFIGURED][2:])]
)
def test_setting_in_a_file_opens_nothing(table: str, kind: str, traps: Traps) -> None:
    if table == "loggers" and kind not in host().loggers:
        pytest.skip("the plugin is not installed")
    for name, value in CONFIGURED[kind].items():
        setting = {name: value} if name else {}
        data = {"loggers": {kind: setting}} if table == "loggers" else {table: {"kind": kind, **setting}}
        with pytest.raises(PermissionRequired, match=f"{table}.*: it opens"):
            check_permitted(build_config({"games": ["tic_tac_toe"], **data}))
    assert traps.untouched()


def test_cold_start_data_in_a_file_opens_nothing(traps: Traps) -> None:
    with pytest.raises(PermissionRequired, match=r"cold_start\.data: it opens a file"):
        check_permitted(TrainConfig.model_validate({"games": ("hex",), "cold_start": {"data": (str(traps.world),)}}))


def test_command_opens_nothing_for_an_untrusted_config(traps: Traps) -> None:
    file = traps.folder / "c.toml"
    for text in (
        f'games = ["mcp(file={traps.world})"]',
        f'games = ["openenv(url={traps.url},token={SECRET})"]',
        'games = ["tic_tac_toe"]\nreward = "weighted(os:system=1)"',
        'games = ["tic_tac_toe"]\nreward = "weighted(trap_module:run=1)"',
    ):
        file.write_text(text + "\n")
        for more in ([], ["--dry-run"]):
            done = CliRunner().invoke(app, ["train", str(file), *more], prog_name="gymposium")
            assert done.exit_code == 2, done.output
            assert "needs your permission" in done.output
    assert traps.untouched()


def test_wildcard_permission_does_not_cover_secrets(traps: Traps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "openenv*")
    name = f"openenv(url={traps.url},token={SECRET})"
    with pytest.raises(PermissionRequired, match=f"--allow-env {SECRET}"):
        check_permitted(build_config({"games": [name]}))
    monkeypatch.setenv(VARIABLES, SECRET)
    check_permitted(build_config({"games": [name]}))
    assert traps.untouched()
