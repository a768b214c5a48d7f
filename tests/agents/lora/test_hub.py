"""Pushing with the hub's real client to a stand-in of its HTTP API, and fetching the pushed files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.commands import run_command

from gymposium.errors import GymposiumError
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.lora.hub import push_to_hub
from gymposium_agents.lora.saving import save_lora
from gymposium_agents.models.loading import load_model

if TYPE_CHECKING:
    from .conftest import Hub

PLAYER = {"style": "compact", "reply": "tags", "max_tokens": 8}


@pytest.fixture
def adapter(model_directory: Path, tmp_path: Path) -> Path:
    directory = tmp_path / "adapter"
    save_lora(attach_lora(load_model(model_directory).model, rank=4, alpha=8, seed=0), directory)
    (directory / "player.json").write_text(json.dumps(PLAYER))
    (directory / "COMPLETE").touch()
    return directory


def python(hub: Hub, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=hub.environment(home),
        timeout=300,
    )


def push(hub: Hub, home: Path, *arguments: str | Path, token: str | None = "given") -> subprocess.CompletedProcess[str]:
    environment = hub.environment(home) if token else hub.environment(home, None)
    return run_command("lora", "push", *arguments, folder=Path.cwd(), env=environment)


def read_token(hub: Hub, home: Path) -> str:
    return hub.environment(home)["HF_TOKEN"]


FETCH = """
import sys, torch
from huggingface_hub import snapshot_download
from gymposium_agents.models.loading import load_model
from gymposium_agents.lora.attach import load_lora
print(snapshot_download(sys.argv[1]))
ids = torch.tensor([[5, 6, 7]])
pushed, kept = (load_lora(load_model(sys.argv[2]).model, adapter) for adapter in (sys.argv[1], sys.argv[3]))
assert torch.equal(pushed(ids).logits, kept(ids).logits)
"""


@pytest.mark.slow
def test_pushed_files_round_trip(hub: Hub, adapter: Path, model_directory: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = push(hub, home, adapter, "alice/ttt", "--private", "--game", "tic_tac_toe", "-m", "first", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["left_out"] == ["COMPLETE"]
    assert told["url"].startswith(f"{hub.url}/alice/ttt/commit/")
    repository = hub.repositories["alice/ttt"]
    assert (repository.private, repository.messages) == (True, ["first"])

    fetched = python(hub, home, "-c", FETCH, "alice/ttt", str(model_directory), str(adapter))
    assert fetched.returncode == 0, fetched.stderr
    back = Path(fetched.stdout.strip())
    assert {p.name for p in back.iterdir()} == {*told["files"]}
    assert {*told["files"]} == {"README.md", "adapter_config.json", "adapter_model.safetensors", "player.json"}
    for name in {*told["files"]} - {"README.md"}:
        assert (back / name).read_bytes() == (adapter / name).read_bytes()
    assert not (adapter / "README.md").exists()


def test_token_is_sent_only_to_the_hub(hub: Hub, adapter: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = push(hub, home, adapter, "alice/ttt")
    assert done.returncode == 0, done.stderr
    token = read_token(hub, home)
    assert token not in done.stdout + done.stderr
    assert {sent for method, path, sent in hub.asked if path.startswith("/objects/")} == {False}  # storage needs none
    written = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert written
    assert not [p for p in written if token.encode() in p.read_bytes()]
    pushed = hub.repositories["alice/ttt"].branches["main"]
    assert not [name for name, data in pushed.items() if token.encode() in data]


def test_card_is_derived_from_the_files(hub: Hub, adapter: Path, tmp_path: Path) -> None:
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": "Qwen/Qwen3-0.6B"}))
    assert push(hub, tmp_path, adapter, "alice/ttt", "--game", "tic_tac_toe").returncode == 0
    card = hub.repositories["alice/ttt"].branches["main"]["README.md"].decode()
    for part in (
        "base_model: Qwen/Qwen3-0.6B",
        "library_name: peft",
        "base model: `Qwen/Qwen3-0.6B`",
        "rank 4, alpha 8",
        "reply: `tags`",
        "style: `compact`",
        "gymposium eval lm:Qwen/Qwen3-0.6B@alice/ttt --game tic_tac_toe",
        'PeftModel.from_pretrained(base, "alice/ttt")',
    ):
        assert part in card
    for claim in ("license", "accuracy", "win", "More Information Needed"):
        assert claim not in card


@pytest.mark.slow
def test_card_omits_a_local_base_model(hub: Hub, adapter: Path, model_directory: Path, tmp_path: Path) -> None:
    assert push(hub, tmp_path, adapter, "alice/ttt").returncode == 0
    card = hub.repositories["alice/ttt"].branches["main"]["README.md"].decode()
    assert "base_model:" not in card
    assert str(model_directory) not in card
    assert "a model that is not on the hub" in card
    assert push(hub, tmp_path, adapter, "alice/ttt", "--base", "alice/base").returncode == 0
    card = hub.repositories["alice/ttt"].branches["main"]["README.md"].decode()
    assert "base_model: alice/base" in card


def write_run(run: Path, **changes: object) -> None:
    """The small files of a training run."""
    run.mkdir(exist_ok=True)
    config = {
        "games": ["tic_tac_toe"],
        "seed": 3,
        "reward": "returns",
        "stages": [{"opponents": {"random": 1.0}}],
        "credit": {"kind": "grpo"},
        "objective": {"kind": "ppo"},
        "optimizer": {"learning_rate": 0.001},
        "cold_start": {"steps": 0},
    }
    share = [0.75, 0.7, 0.8]
    score = {
        "matches": 200,
        "results": {"win": share, "draw": share, "loss": share},
        "return": [0.5, 0.4, 0.6],
        "counts": {"readings": {"move": 900}},
    }
    evaluations = {kind: {"tic_tac_toe": {"random": score}} for kind in ("cold start", "trained")}
    results = {"kept_step": 12, "train_cpu_seconds": 61.2, "evaluations": evaluations}
    (run / "config.json").write_text(json.dumps({**config, **changes}))
    (run / "results.json").write_text(json.dumps(results))
    (run / "versions.json").write_text('{"torch": "2.13.0"}')


def test_card_describes_training_and_results(hub: Hub, adapter: Path, tmp_path: Path) -> None:
    write_run(tmp_path)  # the adapter lies in it
    assert push(hub, tmp_path, adapter, "alice/ttt").returncode == 0
    card = hub.repositories["alice/ttt"].branches["main"]["README.md"].decode()
    for part in (
        "- tic_tac_toe\n",
        "that plays `tic_tac_toe`",
        "credit `grpo`, objective `ppo`",
        "opponents: `random`",
        "steps: 12",
        "CPU seconds: training 61",
        "with torch 2.13.0",
        "| tic_tac_toe | after training | random | 200 | 0.750 [0.700, 0.800] |",
        "--game tic_tac_toe",
    ):
        assert part in card


@pytest.mark.slow
def test_merged_model_card_needs_the_run_option(hub: Hub, model_directory: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    assert push(hub, tmp_path, model_directory, "alice/one").returncode == 0
    assert b"How it was trained" not in hub.repositories["alice/one"].branches["main"]["README.md"]
    assert push(hub, tmp_path, model_directory, "alice/two", "--run", tmp_path / "run").returncode == 0
    assert b"How it was trained" in hub.repositories["alice/two"].branches["main"]["README.md"]
    done = push(hub, tmp_path, model_directory, "alice/three", "--run", tmp_path / "none")
    assert done.returncode == 2
    assert "config.json: cannot be read" in " ".join(done.stderr.split())
    assert "alice/three" not in hub.repositories


def test_card_contains_no_paths_or_urls(hub: Hub, adapter: Path, tmp_path: Path) -> None:
    write_run(
        tmp_path,
        games=["mcp(file=/home/alice/secret.toml)"],
        reward="ruler(qwen3?base_url=https://secret.example/v1)",
        stages=[{"opponents": {"lm:/home/alice/secret": 1.0, "mcts-25": 1.0}}],
    )
    assert push(hub, tmp_path, adapter, "alice/ttt").returncode == 0
    card = hub.repositories["alice/ttt"].branches["main"]["README.md"].decode()
    assert "secret" not in card
    assert "opponents: `lm…`, `mcts-25`" in card
    assert "reward: `ruler…`" in card
    assert "--game GAME" in card


def test_existing_readme_is_kept(hub: Hub, adapter: Path, tmp_path: Path) -> None:
    (adapter / "README.md").write_text("# Mine\n")
    assert push(hub, tmp_path, adapter, "alice/ttt", "--revision", "try").returncode == 0
    branches = hub.repositories["alice/ttt"].branches
    assert branches["try"]["README.md"] == b"# Mine\n"
    assert branches["main"] == {}


def test_merged_models_are_pushed_completely(hub: Hub, model_directory: Path, tmp_path: Path) -> None:
    done = push(hub, tmp_path, model_directory, "alice/whole", "--base", "Qwen/Qwen3-0.6B")
    assert done.returncode == 0, done.stderr
    pushed = hub.repositories["alice/whole"].branches["main"]
    for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
        assert pushed[name] == (model_directory / name).read_bytes()
    assert b"gymposium eval lm:alice/whole --game GAME" in pushed["README.md"]
    assert b"library_name: transformers" in pushed["README.md"]


def test_refuses_a_private_push_to_a_public_repository(hub: Hub, adapter: Path, tmp_path: Path) -> None:
    assert push(hub, tmp_path, adapter, "alice/open").returncode == 0
    (adapter / "secret.json").write_text("{}")
    done = push(hub, tmp_path, adapter, "alice/open", "--private")
    assert done.returncode == 2
    assert "is public, so nothing was pushed" in done.stderr
    assert "secret.json" not in hub.repositories["alice/open"].branches["main"]


@pytest.mark.parametrize("name", ["README.md", "notes.txt", "LICENSE", "more.json"])
def test_refuses_links_out_of_the_directory(name: str, adapter: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a key")
    copy = tmp_path / "copy"
    shutil.copytree(adapter, copy)
    (copy / name).unlink(missing_ok=True)
    (copy / name).symlink_to("../secret")
    with pytest.raises(GymposiumError, match=rf"{name} is a symbolic link to .*secret, which would be published"):
        push_to_hub(copy, "alice/ttt")


@pytest.mark.slow
def test_refusals_suggest_a_fix(hub: Hub, adapter: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    hub.forbidden.add("bob/ttt")
    (tmp_path / "empty").mkdir()
    for arguments, token, message in (
        ((adapter, "alice/ttt"), None, "Run hf auth login, or set HF_TOKEN"),
        ((adapter, "bob/ttt"), "given", "The token cannot write to that repository"),
        ((adapter, "a/b/c"), "given", "The hub rejected"),
        ((tmp_path / "empty", "alice/ttt"), "given", "neither an adapter nor a model"),
        ((tmp_path / "none", "alice/ttt"), "given", "not a directory"),
    ):
        done = push(hub, home, *arguments, token=token)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
        assert read_token(hub, home) not in done.stderr
    assert hub.repositories == {}


def test_unreachable_hub_is_an_error(hub: Hub, adapter: Path, tmp_path: Path) -> None:
    gone = {**hub.environment(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    done = run_command("lora", "push", adapter, "alice/ttt", folder=tmp_path, env=gone)
    assert done.returncode == 2, done.stderr
    assert "The hub rejected" in done.stderr
    assert "Traceback" not in done.stderr
