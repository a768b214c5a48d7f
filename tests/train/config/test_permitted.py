"""Settings that a config file may not decide on its own: addresses, keys, model code and pickles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gymposium.cli.main import app
from gymposium.errors import PermissionRequired
from gymposium.plugins.allowed import VARIABLE, VARIABLES
from gymposium.plugins.host import host
from gymposium_train import TrainConfig
from gymposium_train.config.overrides import Override, parse_override
from gymposium_train.config.permitted import check_permitted
from gymposium_train.config.reading import build_config

JUDGE = "ruler(qwen3?base_url=https://elsewhere.example/v1&key=HOME)"
FILE = {
    "games": ["kuhn_poker"],
    "reward": JUDGE,
    "stages": [{"opponents": {"api:gpt?key=HOME": 1.0}}],
    "evaluation": {"opponents": ["random", "lm:tiny?engine=http://elsewhere.example"]},
    "engine": {"kind": "vllm", "url": "http://elsewhere.example:8000"},
    "loggers": {"mlflow": {"tracking_uri": "https://elsewhere.example"}},
    "teacher": "api:gpt?key=HOME",
    "model": {"name": "somebody/model", "trust_remote_code": True, "allow_pickle": True},
}
TYPED = {
    "reward": f'reward="{JUDGE}"',
    "stages": "stages=[{opponents={'api:gpt?key=HOME'=1.0}}]",
    "evaluation.opponents": 'evaluation.opponents=["lm:tiny?engine=http://elsewhere.example"]',
    "teacher": "teacher='api:gpt?key=HOME'",
    "engine.url": "engine.url=http://elsewhere.example:8000",
    "loggers.mlflow.tracking_uri": "loggers.mlflow.tracking_uri=https://elsewhere.example",
    "model.trust_remote_code": "model.trust_remote_code=true",
    "model.allow_pickle": "model.allow_pickle=true",
}


@pytest.fixture(autouse=True)
def forbid_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setenv(VARIABLES, "")


def test_each_sensitive_setting_requires_user_permission() -> None:
    typed: list[Override] = []
    for setting, text in TYPED.items():
        with pytest.raises(PermissionRequired, match=rf"{setting}: "):
            check_permitted(build_config(FILE, typed), typed)
        typed.append(parse_override(text))
    check_permitted(build_config(FILE, typed), typed)


@pytest.mark.parametrize("name", [JUDGE, "ruler(qwen3*"])
def test_settings_allowed_by_name_may_come_from_a_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = build_config({"games": ["kuhn_poker"], "reward": JUDGE})
    with pytest.raises(PermissionRequired, match="reward: it opens an address"):
        check_permitted(config)
    monkeypatch.setenv(VARIABLE, name)
    monkeypatch.setenv(VARIABLES, "HOME")
    check_permitted(config)


def test_configs_may_name_local_models_opponents_and_servers() -> None:
    file = {
        "games": ["kuhn_poker"],
        "reward": "ruler(gpt-5,rubric=Is key= mentioned?)",
        "stages": [{"opponents": {"mcts-10": 1.0, "api:gpt-5": 1.0, "past": 1.0}}],
        "engine": {"kind": "vllm", "url": "http://127.0.0.1:8000,http://localhost:8001"},
        "loggers": {"mlflow": {"experiment": "mine", "tracking_uri": "http://localhost:5000"}},
        "model": {"name": "somebody/model"},
    }
    check_permitted(build_config(file))
    file["engine"] = {"kind": "vllm", "url": "http://127.0.0.1:8000,http://elsewhere.example:8000"}
    with pytest.raises(PermissionRequired, match=r"engine\.url: .*http://elsewhere\.example:8000"):
        check_permitted(build_config(file))
    check_permitted(TrainConfig(games=("kuhn_poker",)))


@pytest.mark.parametrize(("setting", "why"), [("run", "it opens a program"), ("scores", "it opens code from a module")])
def test_configs_may_not_run_commands_or_import_functions(setting: str, why: str) -> None:
    source = {"kind": "sessions", "run": "python agent.py", "scores": "rewards.py:score"}
    file = {"games": [], "source": source}
    other = {"run": "scores", "scores": "run"}[setting]
    typed = [parse_override(f'source.{other}="{source[other]}"')]
    with pytest.raises(PermissionRequired, match=rf"source\.{setting}: {why}"):
        check_permitted(build_config(file), typed)


@pytest.mark.parametrize(
    "data",
    [
        {"source": {"kind": "sessions", "run": "x://127.0.0.1/agent.sh", "scores": "x://127.0.0.1/rewards.py:score"}},
        {"source": {"kind": "sessions", "run": "http://127.0.0.1/a.sh", "scores": "http://127.0.0.1/rewards.py:score"}},
        {"model": {"name": "x://127.0.0.1/model", "trust_remote_code": True}},
        {"engine": {"kind": "vllm", "arguments": ["http://127.0.0.1/", "--trust-remote-code"]}},
        {"engine": {"kind": "vllm", "url": "http://elsewhere.example\\@127.0.0.1"}},
        {"engine": {"kind": "vllm", "url": "http://["}},
        {"loggers": {"tensorboard": {"folder": "x://127.0.0.1/../../elsewhere"}}},
        {"loggers": {"mlflow": {"tracking_uri": "http://elsewhere.example\\@127.0.0.1/"}}},
        {"loggers": {"mlflow": {"tracking_uri": "http://127.0.0.1#@elsewhere.example/"}}},
        {"loggers": {"mlflow": {"tracking_uri": "file://localhost/etc"}}},
        {"loggers": {"mlflow": {"tracking_uri": "http://[/"}}},
        {"cold_start": {"data": ["http://127.0.0.1/chats.jsonl"]}},
    ],
)
def test_lookalike_local_addresses_require_permission(data: dict[str, Any]) -> None:
    if not data.get("loggers", {}).keys() <= host().loggers.keys():
        pytest.skip("the plugin is not installed")
    with pytest.raises(PermissionRequired, match=r"it opens|the file says"):
        check_permitted(build_config({"games": ["kuhn_poker"], **data}))


def test_configs_may_not_name_clusters_for_opponents() -> None:
    name = "remote:mcts-5?executor=ray&address=elsewhere.example:6379"
    file = {"games": ["kuhn_poker"], "stages": [{"opponents": {name: 1.0}}]}
    with pytest.raises(PermissionRequired, match="stages: it opens processes"):
        check_permitted(build_config(file))


def train(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["train", *map(str, arguments)], prog_name="gymposium")


def test_command_refuses_untrusted_files_and_runs_first(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"games": ["kuhn_poker"], "reward": JUDGE}))
    for arguments in ((tmp_path / "config.json", "--dry-run"), ("--resume", tmp_path)):
        done = train(*arguments)
        assert done.exit_code == 2
        assert isinstance(done.exception, SystemExit)
        assert "needs your permission: reward: it opens an address" in " ".join(done.output.split())
