"""Expressions and numbers of untrusted adapters are bounded before PEFT reads them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from gymposium.errors import GymposiumError
from gymposium_agents.lora.attach import attach_lora, load_lora
from gymposium_agents.lora.card import read_player_settings
from gymposium_agents.lora.patterns import check_patterns
from gymposium_agents.lora.saving import save_lora
from gymposium_agents.models.loading import load_model

SLOW = r"([a-z.0-9]+)+!"
"""It takes time that doubles with each character of a layer's name."""
FIELDS: dict[str, Any] = {
    "target_modules": SLOW,
    "exclude_modules": SLOW,
    "layers_pattern": SLOW,
    "modules_to_save": [SLOW],
    "rank_pattern": {SLOW: 2},
    "alpha_pattern": {SLOW: 2},
}


@pytest.fixture(scope="module")
def model(model_directory: Path) -> Any:
    return load_model(model_directory).model


@pytest.fixture
def saved(model_directory: Path, tmp_path: Path) -> Path:
    save_lora(attach_lora(load_model(model_directory).model, rank=2, alpha=2, seed=0), tmp_path)
    return tmp_path


def rewrite_config(saved: Path, **settings: Any) -> Path:
    file = saved / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | settings), encoding="utf-8")
    return saved


def test_slow_expressions_are_refused(saved: Path, model: Any) -> None:
    with pytest.raises(
        GymposiumError, match=r"rank_pattern.*more than 2 s of CPU time\. Write the names of the layers"
    ):
        load_lora(model, rewrite_config(saved, rank_pattern={SLOW: 2}))


@pytest.mark.parametrize("field", FIELDS)
def test_every_expression_field_is_checked(model: Any, field: str) -> None:
    """An invalid expression shows, without the wait for a slow one, that the field is compiled and matched."""
    invalid = json.loads(json.dumps(FIELDS[field]).replace(json.dumps(SLOW)[1:-1], "(a"))
    with pytest.raises(GymposiumError, match=rf"{field} contains an invalid one"):
        check_patterns({field: invalid}, model, "adapter")


def test_common_expressions_load(saved: Path, model_directory: Path) -> None:
    expression = r"(?:.*?(?:self_attn|mlp).*?(?:q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj))"
    load_lora(load_model(model_directory).model, rewrite_config(saved, target_modules=expression))
    load_lora(load_model(model_directory).model, rewrite_config(saved, rank_pattern={r"layers\.\d+\..*q_proj": 2}))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"rank_pattern": {"q_proj": 10**9}}, "no weights of rank 1000000000"),
        ({"rank_pattern": {"q_proj": "two"}}, "rank_pattern"),
        ({"rank_pattern": ["q_proj"]}, "rank_pattern"),
        ({"r": None}, "values .*: r"),
        ({"r": "2"}, "values .*: r"),
        ({"target_modules": 3, "modules_to_save": "head"}, "modules_to_save, target_modules"),
        ({"layer_replication": [[0, 10**9]]}, "layer_replication"),
        ({"layer_replication": [[0, 900]] * 1000}, "layer_replication"),
    ],
)
def test_invalid_numbers_and_types_are_refused(saved: Path, model: Any, settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(GymposiumError, match=reason):
        load_lora(model, rewrite_config(saved, **settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"bias": 0},
        {"bias": "some"},
        {"lora_dropout": 2},
        {"init_lora_weights": [[]]},
        {"eva_config": "x"},
        {"trainable_token_indices": "x"},
        {"trainable_token_indices": -1},
        {"target_modules": ["nowhere"]},
        {"task_type": []},
        {"monteclora_config": {"a": 1}},
    ],
    ids=repr,
)
def test_peft_errors_name_the_adapter(saved: Path, model_directory: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(GymposiumError, match=f"adapter '{re.escape(str(saved))}'"):
        load_lora(load_model(model_directory).model, rewrite_config(saved, **settings))


@pytest.mark.parametrize("part", ["lora_A", "lora_B"])
@pytest.mark.parametrize("shape", [(), (2,), (2, 2, 2)])
def test_adapter_tensors_must_be_matrices(saved: Path, model: Any, part: str, shape: tuple[int, ...]) -> None:
    tensors = load_file(saved / "adapter_model.safetensors")
    name = next(name for name in tensors if f".{part}." in name)
    save_file({**tensors, name: torch.zeros(shape)}, saved / "adapter_model.safetensors")
    with pytest.raises(GymposiumError, match="adapter"):
        load_lora(model, saved)


@pytest.mark.parametrize("text", ["{", "[]", "5", '{"temperature": NaN}'])
def test_malformed_player_settings_name_the_file(saved: Path, text: str) -> None:
    (saved / "player.json").write_text(text, encoding="utf-8")
    with pytest.raises(GymposiumError, match=r"player\.json"):
        read_player_settings(saved)
