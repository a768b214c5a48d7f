"""Configs that the service cannot run are refused with a reason before the start."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gymposium.cli.main import app
from gymposium.errors import PermissionRequired
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.models.small import make_small_model
from gymposium_train import train
from gymposium_train.config.backend_checks import find_backend_checks
from gymposium_train.config.checks import check_config
from gymposium_train.config.outline import outline_run
from gymposium_train.config.permitted import check_permitted, list_names_to_allow
from gymposium_train.config.problems import BadConfig

from .runs import make_config
from .stand_in.running import Server
from .stand_in.service import StandIn

REFUSED: list[tuple[Mapping[str, Any], str]] = [
    ({"model": {"tune": "full"}}, "model.tune = full: the service trains LoRAs only"),
    ({"credit": {"kind": "gae"}}, "credit.kind = gae: a critic reads the model's hidden states"),
    ({"entropy": {"weight": 0.1}}, "entropy.weight = 0.1: the service returns the log-probabilities of the given"),
    ({"legality": {"weight": 1.0}}, "legality.weight = 1.0: the service returns the log-probabilities of the given"),
    ({"kl": {"weight": 0.1, "refresh": 2, "refresh_share": 0.5}}, "kl.refresh_share = 0.5: the service keeps weights"),
    ({"prompting": {"temperature": 0.7}}, "prompting.temperature = 0.7: the service learns at temperature 1"),
    ({"optimizer": {"epochs": 2, "target_kl": 0.1}}, "optimizer.target_kl = 0.1: an optimizer step is sent together"),
    ({"control": True}, "control = true: the control trains all weights on this machine"),
    ({"engine": {"kind": "own"}}, "engine.kind = own: this engine plays models of backend.kind=local"),
    ({"model": {"lora": {"alpha": 3}}}, "model.lora.alpha = 3: it has an effect only with backend.kind=local"),
    ({"optimizer": {"layout": "packed"}}, 'optimizer.layout = "packed": it has an effect only with backend.kind=local'),
    ({"optimizer": {"token_budget": 99}}, "optimizer.token_budget = 99: it has an effect only with backend.kind=local"),
    (
        {"backend": {"train_attention": False, "train_mlp": False}},
        "backend.train_attention = false: no layer would be trained",
    ),
]


@pytest.mark.parametrize(("tables", "reason"), REFUSED, ids=[reason.partition(":")[0] for _, reason in REFUSED])
def test_unsupported_settings_are_refused(tables: dict[str, Any], reason: str, model_directory: Path) -> None:
    config = make_config(model_directory, "http://127.0.0.1:9", **tables)
    with pytest.raises(BadConfig) as refused:
        check_config(config, at_hand=False)  # nothing is asked of the service
    assert reason in str(refused.value)


def test_run_requires_a_model_and_steps(model_directory: Path) -> None:
    config = make_config(model_directory, "http://127.0.0.1:9")
    config = config.model_copy(update={"model": config.model.model_copy(update={"name": None}), "steps": None})
    found = [*find_backend_checks(config).refusals(config)]
    assert any(sentence.startswith("model.name: the service holds pretrained models") for sentence in found)
    assert any(sentence.startswith("steps: the budget of 300 CPU seconds counts this machine") for sentence in found)


def test_service_support_is_checked_before_a_run(
    model_directory: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied = tmp_path / "copy"
    shutil.copytree(model_directory, copied)
    with pytest.raises(BadConfig, match=rf"does not train {copied}. Set backend.model to one of {model_directory}"):
        train(make_config(copied, server.url), out=tmp_path / "run")
    monkeypatch.delenv("TINKER_API_KEY")
    with pytest.raises(BadConfig, match="TINKER_API_KEY is not set"):
        train(make_config(model_directory, server.url), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_wrong_key_is_refused(
    model_directory: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", "tml-another")
    with pytest.raises(BadConfig, match="AuthenticationError") as refused:
        train(make_config(model_directory, server.url), out=tmp_path / "run")
    assert "tml-another" not in str(refused.value)


def test_refuses_differing_tokenizers(
    model_directory: Path, game_texts: list[str], server: Server, service: StandIn, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    size = SmallModel(hidden=32, layers=2, heads=2, feed_forward=64, vocabulary=352)
    make_small_model(other, game_texts[:50], seed=2, size=size)
    config = make_config(other, server.url, backend={"model": str(model_directory)})
    with pytest.raises(BadConfig, match=rf"model.name = {other}: its tokenizer differs from that of {model_directory}"):
        check_config(config)
    same = tmp_path / "same"
    shutil.copytree(model_directory, same)
    check_config(make_config(same, server.url, backend={"model": str(model_directory)}))


def test_dry_run_shows_refusals_and_cost(model_directory: Path) -> None:
    typed = [
        "train", "--backend", "tinker", "--base-url", "http://127.0.0.1:9", "--game", "tic_tac_toe", "--model",
        str(model_directory), "credit.kind=grpo", "legality.weight=0", "steps=3", "optimizer.epochs=1",
        "optimizer.minibatches=1", "model.tune=lora", "prompting.temperature=1", "rollout.groups=2",
    ]  # fmt: skip
    refused = CliRunner().invoke(app, [*typed, "--dry-run", "entropy.weight=0.1"])
    assert refused.exit_code != 0
    assert "entropy.weight = 0.1: the service returns" in " ".join(refused.output.split())
    done = CliRunner().invoke(app, [*typed, "--dry-run", "--json", "kl.weight=0.1", "kl.estimator=k3"])
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert shown["config"]["engine"]["kind"] == "tinker"
    assert shown["outline"]["model"] == f"{model_directory}, on http://127.0.0.1:9"
    assert shown["outline"]["price"] == (
        "the reference of kl.estimator=k3 reads every row; the loss is computed here, so that each optimizer step "
        "reads its rows twice"
    )


@pytest.mark.parametrize(
    ("tables", "passes"),
    [
        ({}, 0),
        ({"mismatch": {"kind": "decoupled"}}, 1),
        ({"kl": {"weight": 0.1, "estimator": "k1"}}, 2),
        ({"objective": {"kind": "gspo"}}, 2),
    ],
    ids=["none", "decoupled", "k1", "gspo"],
)
def test_outline_states_the_price(tables: dict[str, Any], passes: int, model_directory: Path) -> None:
    shown = outline_run(make_config(model_directory, "http://127.0.0.1:9", **tables))
    assert len([one for one in shown.get("price", "").split("; ") if one]) == passes


def test_config_files_cannot_redirect_the_key(model_directory: Path) -> None:
    check_permitted(make_config(model_directory, "http://127.0.0.1:9"))
    elsewhere = make_config(model_directory, "https://example.org/tinker")
    with pytest.raises(
        PermissionRequired, match=r"backend\.base_url: it opens an address that rows and a key are sent to"
    ):
        check_permitted(elsewhere)
    assert list_names_to_allow(elsewhere) == ["https://example.org/tinker"]
