"""Complete model directories load in full precision or 4 bits, and others are refused with advice."""

from __future__ import annotations

import os
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.commands import run_python
from transformers import AutoTokenizer

from gymposium.errors import BadOption, GymposiumError
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import Completion, Sampling, TokenRequest
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.modeling.forward import compute_completion_logits
from gymposium_agents.models.loading import LoadedModel, load_chat, load_model
from gymposium_agents.models.small import make_small_model

PROMPTS = ["x . o\n. . .\n. . .", "card K", "b2"]


@pytest.fixture(scope="module")
def wide_model(game_texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model wide enough for 4 bits in bitsandbytes, whose blocks have 64 numbers."""
    directory = tmp_path_factory.mktemp("models") / "wide"
    size = SmallModel(hidden=64, layers=2, heads=2, feed_forward=128, vocabulary=320)
    make_small_model(directory, game_texts, seed=1, size=size)
    return directory


@pytest.fixture
def copy(model_directory: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_directory, tmp_path / "copy"))


def answers(loaded: LoadedModel) -> list[Completion]:
    requests = [TokenRequest(loaded.chat.prompt(text), random.Random(i)) for i, text in enumerate(PROMPTS)]
    return loaded.engine().generate(requests, Sampling(1.0, 5))


def test_four_bit_weights_answer_alike(wide_model: Path) -> None:
    whole, small = load_model(wide_model), load_model(wide_model, load="4bit")
    layer = small.model.model.decoder.layers[0].fc1
    assert layer.weight.dtype == torch.uint8
    assert layer.weight.numel() * 2 == whole.model.model.decoder.layers[0].fc1.weight.numel()
    assert layer.compute_dtype == torch.float32
    assert all(completion.ids for completion in answers(small))
    prompt = torch.tensor([whole.chat.prompt(PROMPTS[0])])
    with torch.no_grad():
        exact, rounded = (torch.log_softmax(m.model(prompt).logits[0, -1], dim=-1) for m in (whole, small))
    divergence = (exact.exp() * (exact - rounded)).sum()
    assert 0 < divergence < 0.05


def test_four_bit_lora_trains_after_playing(wide_model: Path) -> None:
    """Engine and learner give equal log-probabilities, to the precision of the engine; gradients reach the adapter."""
    loaded = load_model(wide_model, load="4bit")
    learning = LoadedModel(attach_lora(loaded.model, rank=4, alpha=8, seed=0), loaded.chat)
    completions = answers(learning)
    pairs = [(loaded.chat.prompt(text), c.ids) for text, c in zip(PROMPTS, completions, strict=True)]
    learning.model.train()
    logits, tokens, mask = compute_completion_logits(learning.model.get_base_model(), pairs, learning.pad)
    logprobs = torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[..., 0]
    for row, completion in zip(logprobs, completions, strict=True):
        torch.testing.assert_close(
            row[: len(completion.ids)], torch.tensor(completion.logprobs), atol=1e-4, rtol=0, check_dtype=False
        )
    (logprobs * mask).sum().backward()
    trained = [p for name, p in learning.model.named_parameters() if "lora_B" in name]
    assert trained
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in trained)


def test_missing_bitsandbytes_names_the_package(wide_model: Path) -> None:
    code = (
        "import importlib.util as u, sys\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'bitsandbytes' else real(name, *a)\n"
        "from gymposium_agents.models.loading import load_model\n"
        f"load_model({str(wide_model)!r}, load='4bit')\n"
    )
    done = run_python(code, folder=wide_model, env=os.environ, learns=True)
    assert done.returncode != 0
    assert 'pip install "gymposium-agents[quantized]"' in done.stderr.splitlines()[-1]


def test_unknown_load_option_is_refused(model_directory: Path) -> None:
    with pytest.raises(BadOption, match="Use 4bit"):
        load_model(model_directory, load="8bit")  # type: ignore[arg-type]


def test_missing_weights_are_an_error(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    with pytest.raises(GymposiumError, match=r"no file named model\.safetensors"):
        load_model(copy)


@pytest.mark.parametrize("fault", ["missing", "another shape"])
def test_incomplete_weights_are_refused(copy: Path, fault: str) -> None:
    name = "model.decoder.layers.0.fc1.weight"
    tensors = load_file(copy / "model.safetensors")
    tensor = tensors.pop(name)
    if fault == "another shape":
        tensors[name] = tensor[:8].clone()
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(GymposiumError, match=f"incomplete: {name} are missing or do not match"):
        load_model(copy)


def test_concurrent_loads_are_complete(model_directory: Path) -> None:
    """In several threads, as players of several models may be made."""
    alone = load_model(model_directory).model.state_dict()
    with ThreadPoolExecutor(4) as threads:
        for loaded in threads.map(lambda _: load_model(model_directory), range(12)):
            for name, tensor in loaded.model.state_dict().items():
                assert torch.equal(tensor, alone[name])


def test_missing_chat_template_is_an_error(copy: Path) -> None:
    (copy / "chat_template.jinja").unlink()
    with pytest.raises(GymposiumError, match=r"has no chat template\. Use an instruction-tuned model"):
        load_model(copy)


def test_missing_eos_token_is_an_error(copy: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(copy)
    tokenizer.eos_token = None
    tokenizer.save_pretrained(copy)
    with pytest.raises(GymposiumError, match="eos_token"):
        load_model(copy)


def test_incompatible_adapter_is_refused(wide_model: Path, adapter_directory: Path) -> None:
    with pytest.raises(GymposiumError, match="is for another model"):
        load_model(wide_model, adapter_directory)


DAMAGE = {
    "a list": b"[]",
    "half an object": b'{"a": ',
    "deep": b"[" * 100_000,
    "nothing": b"",
    "no UTF-8": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"])
def test_damaged_model_files_name_the_model(model_directory: Path, tmp_path: Path, name: str, damage: bytes) -> None:
    copy = tmp_path / "model"
    shutil.copytree(model_directory, copy)
    (copy / name).write_bytes(damage)
    with pytest.raises(GymposiumError, match="model"):
        load_model(copy)


@pytest.mark.parametrize("size", [7, 1000])
def test_truncated_weights_suggest_a_new_download(model_directory: Path, tmp_path: Path, size: int) -> None:
    copy = tmp_path / "model"
    shutil.copytree(model_directory, copy)
    os.truncate(copy / "model.safetensors", size)
    with pytest.raises(GymposiumError, match="Download or save the model again"):
        load_model(copy)


@pytest.mark.parametrize("template", ["{{ 1/0 }}", "{{ messages.x.y }}", "{% for n in range(10**9) %}{% endfor %}"])
def test_failing_template_is_a_model_error(model_directory: Path, tmp_path: Path, template: str) -> None:
    copy = tmp_path / "model"
    shutil.copytree(model_directory, copy)
    (copy / "chat_template.jinja").write_text(template)
    with pytest.raises(GymposiumError, match="template"):
        load_chat(copy)
