"""Merged models match base plus adapter and contain every file a player needs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from gymposium.errors import GymposiumError
from gymposium_agents.models.loading import load_model
from gymposium_agents.models.merge import merge_lora

IDS = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12]])


def test_merged_model_matches_base_plus_adapter(model_directory: Path, adapter_directory: Path, tmp_path: Path) -> None:
    merged = merge_lora(model_directory, adapter_directory, tmp_path / "merged")
    together, alone = load_model(model_directory, adapter_directory), load_model(merged)
    with torch.no_grad():
        expected, found = together.model(IDS).logits, alone.model(IDS).logits
        plain = load_model(model_directory).model(IDS).logits
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    assert (expected - plain).abs().max() > 0.1  # the adapter changes the model
    assert alone.chat.prompt("x . o") == together.chat.prompt("x . o")
    assert not list(merged.glob("adapter*"))


REPLY = {"adapter": "tags", "model": "json"}
"""How the `player.json` beside each says that it replies."""


@pytest.mark.parametrize("beside", ["adapter", "model", "both"])
def test_player_settings_are_copied(
    model_directory: Path, adapter_directory: Path, tmp_path: Path, beside: str
) -> None:
    for name, source in (("model", model_directory), ("adapter", adapter_directory)):
        shutil.copytree(source, tmp_path / name)
        if beside in (name, "both"):
            (tmp_path / name / "player.json").write_text(json.dumps({"reply": REPLY[name]}))
    merge_lora(tmp_path / "model", tmp_path / "adapter", tmp_path / "merged")
    asked = json.loads((tmp_path / "merged" / "player.json").read_text())
    assert asked == {"reply": REPLY["adapter" if beside == "both" else beside]}


def test_links_to_other_files_are_not_copied(model_directory: Path, adapter_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a key")
    shutil.copytree(adapter_directory, tmp_path / "adapter")
    (tmp_path / "adapter" / "player.json").unlink(missing_ok=True)
    (tmp_path / "adapter" / "player.json").symlink_to("../secret")
    with pytest.raises(GymposiumError, match=r"player\.json is not valid JSON"):
        merge_lora(model_directory, tmp_path / "adapter", tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_merging_keeps_a_16_bit_base(model_directory: Path, adapter_directory: Path, tmp_path: Path) -> None:
    loaded = load_model(model_directory)
    loaded.model.to(torch.bfloat16)
    loaded.save(tmp_path / "half")
    merged = merge_lora(tmp_path / "half", adapter_directory, tmp_path / "merged")
    assert json.loads((merged / "config.json").read_text())["dtype"] == "bfloat16"
    with torch.no_grad():
        expected = load_model(tmp_path / "half", adapter_directory).model(IDS).logits
        found = load_model(merged).model(IDS).logits
    assert 0 < (found - expected).abs().max() < 0.2  # rounded once, to 8 bits


def test_refuses_a_quantized_base(model_directory: Path, adapter_directory: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(model_directory, tmp_path / "quantized")
    config = json.loads((model_directory / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    (tmp_path / "quantized" / "config.json").write_text(json.dumps(config))
    with pytest.raises(GymposiumError, match="is quantized, so a merge would round away"):
        merge_lora(tmp_path / "quantized", adapter_directory, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_refuses_an_incomplete_base(model_directory: Path, adapter_directory: Path, tmp_path: Path) -> None:
    """transformers gives missing weights random values, so the merged model would be complete and wrong."""
    base = tmp_path / "base"
    shutil.copytree(model_directory, base)
    tensors = load_file(base / "model.safetensors")
    tensors.pop("model.decoder.layers.0.fc1.weight")
    save_file(tensors, base / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(GymposiumError, match=r"are incomplete: model\.decoder\.layers\.0\.fc1"):
        merge_lora(base, adapter_directory, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_refuses_a_directory_in_use(model_directory: Path, adapter_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(GymposiumError, match="is already in use"):
        merge_lora(model_directory, adapter_directory, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "empty").mkdir()
    assert merge_lora(model_directory, adapter_directory, tmp_path / "empty") == tmp_path / "empty"


def test_missing_inputs_leave_nothing_behind(model_directory: Path, adapter_directory: Path, tmp_path: Path) -> None:
    with pytest.raises(GymposiumError, match="There is no model at"):
        merge_lora(tmp_path / "none", adapter_directory, tmp_path / "merged")
    with pytest.raises(GymposiumError, match="No adapter at"):
        merge_lora(model_directory, tmp_path / "none", tmp_path / "merged")
    assert list(tmp_path.iterdir()) == []
