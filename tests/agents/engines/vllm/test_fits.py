"""Checks of adapters and models before vLLM loads them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import GymposiumError
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.engines.vllm.fits import check_adapters_on_cpu, check_fits, check_heads
from gymposium_agents.lora.files import read_adapter
from gymposium_agents.models.small import make_small_model


def run_check(directory: Path, model: Path) -> None:
    check_fits(read_adapter(directory), directory, str(model))


def test_accepts_an_adapter_of_the_model(adapter_directory: Path, model_directory: Path) -> None:
    run_check(adapter_directory, model_directory)


@pytest.mark.parametrize(
    "settings", [{"trainable_token_indices": [1]}, {"bias": "all"}, {"use_dora": True}, {"init_lora_weights": "pissa"}]
)
def test_refuses_settings_that_vllm_ignores(
    adapter_directory: Path, model_directory: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    other = tmp_path / "other"
    shutil.copytree(adapter_directory, other)
    file = other / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | settings), encoding="utf-8")
    with pytest.raises(GymposiumError, match=f"vLLM cannot serve the adapter .*{next(iter(settings))}.* lora merge"):
        run_check(other, model_directory)


def test_refuses_head_sizes_unsupported_on_cpus(tmp_path: Path) -> None:
    for heads in (1, 2, 4):
        size = SmallModel(hidden=64, layers=1, heads=heads, feed_forward=32, vocabulary=300)
        make_small_model(tmp_path / str(heads), ["b2"], seed=0, size=size)
    check_heads(str(tmp_path / "1"))
    check_heads(str(tmp_path / "2"))
    with pytest.raises(
        GymposiumError, match=r"cannot serve .*are 16 wide, but vLLM for CPUs only supports 32, .* in this process"
    ):
        check_heads(str(tmp_path / "4"))
    check_heads(str(tmp_path / "nowhere"))  # the server reports what is wrong with it


def test_refuses_mixture_of_experts_adapters_on_cpus(moe_directory: Path, model_directory: Path) -> None:
    check_adapters_on_cpu(str(model_directory))
    check_adapters_on_cpu("nowhere")
    with pytest.raises(GymposiumError, match=r"cannot serve a LoRA of .*moe, because it is a mixture of experts"):
        check_adapters_on_cpu(str(moe_directory))
