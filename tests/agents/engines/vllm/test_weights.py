"""A server checks weight files before it loads them, and skips patches that do not fit its vLLM."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from gymposium_agents.engines.vllm import serving
from gymposium_agents.engines.vllm.serving import (
    check_weights,
    compute_directory_digest,
    find_shape_problem,
    patch_vllm,
    read_shapes,
)

TENSORS = {"embed.weight": torch.zeros(4, 2), "norm.weight": torch.ones(2, dtype=torch.bfloat16)}


def write(directory: Path, **tensors: torch.Tensor) -> Path:
    """Write tensors to two files."""
    directory.mkdir()
    for number, (name, tensor) in enumerate((TENSORS | tensors).items()):
        save_file({name: tensor}, directory / f"model-{number}.safetensors")
    return directory


def test_shapes_are_read_and_truncated_files_refused(tmp_path: Path) -> None:
    directory = write(tmp_path / "model")
    assert read_shapes(directory) == {"embed.weight": (4, 2), "norm.weight": (2,)}
    content = (directory / "model-0.safetensors").read_bytes()
    for end in (0, 4, 20, len(content) - 1):
        (directory / "model-0.safetensors").write_bytes(content[:end])
        with pytest.raises(ValueError, match="truncated"):
            read_shapes(directory)
        with pytest.raises(ValueError, match="truncated"):
            compute_directory_digest(directory)


def test_digest_depends_on_every_value_name_and_type(tmp_path: Path) -> None:
    first = compute_directory_digest(write(tmp_path / "a"))
    assert compute_directory_digest(write(tmp_path / "b")) == first
    other = torch.zeros(4, 2)
    other[3, 1] = 1e-30
    changes: list[dict[str, torch.Tensor]] = [{"embed.weight": other}, {"norm.weight": torch.ones(2)}, {"x": other}]
    digests = {compute_directory_digest(write(tmp_path / f"c{n}", **change)) for n, change in enumerate(changes)}
    assert len(digests | {first}) == 4


def test_tied_output_layer_is_optional_in_files() -> None:
    shapes = {"embed.weight": (4, 2)}
    more = {**shapes, "lm_head.weight": (4, 2)}
    assert find_shape_problem(more, shapes, "lm_head.weight") is None
    assert find_shape_problem(shapes, more, "lm_head.weight") is None
    assert "lm_head.weight is missing" in str(find_shape_problem(shapes, more))
    assert "not part of the model" in str(find_shape_problem(more, shapes))


def test_weights_must_match_the_served_model_files(tmp_path: Path) -> None:
    model = SimpleNamespace(model=str(write(tmp_path / "model")), revision=None, hf_text_config=SimpleNamespace())
    check_weights(write(tmp_path / "same"), model)
    with pytest.raises(ValueError, match=r"embed\.weight has the shape \[4, 3\] instead of \[4, 2\]"):
        check_weights(write(tmp_path / "wide", **{"embed.weight": torch.zeros(4, 3)}), model)
    with pytest.raises(ValueError, match="no safetensors"):
        check_weights(tmp_path, model)


def test_unknown_vllm_internals_are_left_unpatched(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The repairs of the CPU build are not even tried on another build."""
    asked: list[str] = []

    def import_module(name: str) -> Any:
        asked.append(name)
        if name == "vllm.platforms":
            return SimpleNamespace(current_platform=SimpleNamespace(is_cpu=lambda: False))
        if name == "vllm.v1.worker.worker_base":
            return ModuleType(name)  # it lost its classes
        raise ImportError(name)

    monkeypatch.setattr(serving, "import_module", import_module)
    patch_vllm()
    assert caplog.text.count("continue without it") == 3
    assert not any("torch_ops" in name for name in asked)
