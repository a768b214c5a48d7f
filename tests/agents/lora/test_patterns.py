"""Adapters of strangers: their expressions and numbers are bounded before PEFT reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import GymposiumError
from gymposium_agents.lora.attach import attach_lora, load_lora
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


def changed(saved: Path, **settings: Any) -> Path:
    file = saved / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | settings), encoding="utf-8")
    return saved


def test_an_adapter_with_a_slow_expression_is_not_loaded(saved: Path, model: Any) -> None:
    with pytest.raises(
        GymposiumError, match=r"rank_pattern.*more than 2 s of CPU time\. Write the names of the layers"
    ):
        load_lora(model, changed(saved, rank_pattern={SLOW: 2}))


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_with_expressions_is_tried(model: Any, field: str) -> None:
    """An invalid expression shows, without the wait for a slow one, that the field is compiled and matched."""
    invalid = json.loads(json.dumps(FIELDS[field]).replace(json.dumps(SLOW)[1:-1], "(a"))
    with pytest.raises(GymposiumError, match=rf"{field} contains an invalid one"):
        check_patterns({field: invalid}, model, "adapter")


def test_usual_expressions_load_as_before(saved: Path, model_directory: Path) -> None:
    expression = r"(?:.*?(?:self_attn|mlp).*?(?:q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj))"
    load_lora(load_model(model_directory).model, changed(saved, target_modules=expression))
    load_lora(load_model(model_directory).model, changed(saved, rank_pattern={r"layers\.\d+\..*q_proj": 2}))


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
def test_numbers_and_kinds_are_checked(saved: Path, model: Any, settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(GymposiumError, match=reason):
        load_lora(model, changed(saved, **settings))
