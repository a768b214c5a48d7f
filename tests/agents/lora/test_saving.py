"""Saved adapters have PEFT's two files at the root and load bit for bit, even if vLLM cannot serve them."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors.torch import load_file
from transformers import GPT2Config, GPT2LMHeadModel

from gymposium.errors import GymposiumError
from gymposium_agents.lora.attach import attach_lora, hide_peft_warning, load_lora
from gymposium_agents.lora.files import list_unservable_features, read_adapter
from gymposium_agents.lora.saving import save_lora
from gymposium_agents.models.loading import load_model

LINEAR = ["q_proj", "v_proj"]


@pytest.fixture
def base(model_directory: Path) -> Any:
    return load_model(model_directory).model


def randomize_lora(model: Any, seed: int = 0) -> Any:
    """The model with LoRA weights that are not zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.3, generator=generator)
    return model


def peft(model: Any, name: str = "default", **settings: Any) -> Any:
    """An adapter attached with PEFT alone."""
    config = LoraConfig(task_type="CAUSAL_LM", **{"target_modules": LINEAR, "r": 4, **settings})
    with hide_peft_warning():
        return get_peft_model(model, config, adapter_name=name)


@pytest.mark.parametrize("name", ["default", "learner", "learner-v12"])
def test_peft_loads_saved_adapters_bit_for_bit(base: Any, model_directory: Path, tmp_path: Path, name: str) -> None:
    model = randomize_lora(peft(base, name.replace(".", "_")))
    save_lora(model, tmp_path / "saved")
    assert sorted(p.name for p in (tmp_path / "saved").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    with hide_peft_warning():
        loaded = PeftModel.from_pretrained(load_model(model_directory).model, str(tmp_path / "saved"))
    expected = get_peft_model_state_dict(model, adapter_name=name)
    found = get_peft_model_state_dict(loaded)
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[key], expected[key]) for key in expected)
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        assert torch.equal(loaded(ids).logits, model.eval()(ids).logits)


def test_saves_one_of_several_adapters(base: Any, tmp_path: Path) -> None:
    model = peft(base, "one")
    model.add_adapter("two", LoraConfig(r=2, target_modules=LINEAR))
    save_lora(model, tmp_path, adapter="two")
    assert read_adapter(tmp_path).rank == 2
    save_lora(model, tmp_path)
    assert read_adapter(tmp_path).rank == 4
    with pytest.raises(GymposiumError, match=r"Unknown adapter 'three'\. Adapters of the model: one, two"):
        save_lora(model, tmp_path, adapter="three")


def test_saves_16_bit_adapters_in_float32(base: Any, tmp_path: Path) -> None:
    save_lora(attach_lora(base, rank=2, alpha=4, seed=0).to(torch.bfloat16), tmp_path)
    assert {t.dtype for t in load_file(tmp_path / "adapter_model.safetensors").values()} == {torch.float32}
    assert read_adapter(tmp_path).dtypes == ("F32",)


def test_equal_adapters_give_equal_readable_files(model_directory: Path, tmp_path: Path) -> None:
    for n in (0, 1):
        save_lora(attach_lora(load_model(model_directory).model, rank=2, alpha=4, seed=0), tmp_path / str(n))
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()
        modes = {stat.S_IMODE((tmp_path / "0" / file).stat().st_mode) for file in (name, "adapter_config.json")}
        assert len(modes) == 1  # the umask holds for weights and settings


def test_saving_does_not_follow_hard_links(model_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        (tmp_path / name).hardlink_to(tmp_path / "other")
    save_lora(attach_lora(load_model(model_directory).model, rank=2, alpha=4, seed=0), tmp_path)
    assert (tmp_path / "other").read_text() == "other"
    assert read_adapter(tmp_path)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"use_dora": True}, "DoRA"),
        ({"bias": "all"}, "bias='all'"),
        ({"bias": "lora_only"}, "bias='lora_only'"),
        ({"lora_bias": True}, "lora_bias"),
        ({"target_modules": ["q_proj", "lm_head"]}, "output layer"),
        ({"target_modules": ["q_proj", "embed_tokens"]}, "embedding"),
        ({"target_parameters": ["fc1.weight"]}, "target_parameters"),
        ({"rank_pattern": {"v_proj": 600}}, "rank is above 512"),
    ],
)
@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings")
@pytest.mark.filterwarnings("ignore:Careful, disabling adapter layers")
@pytest.mark.filterwarnings("ignore:`lora_bias=True` was passed")
@pytest.mark.filterwarnings("ignore:Adapter .default.. 4 LoRA tensor")
def test_saves_adapters_that_vllm_cannot_serve(
    base: Any, model_directory: Path, tmp_path: Path, settings: dict[str, Any], reason: str
) -> None:
    model = randomize_lora(peft(base, **settings))
    save_lora(model, tmp_path / "saved")
    saved = read_adapter(tmp_path / "saved")
    assert any(reason in one for one in list_unservable_features(saved.config, saved.shapes))
    with hide_peft_warning():
        loaded = PeftModel.from_pretrained(load_model(model_directory).model, str(tmp_path / "saved"))
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        assert torch.equal(loaded(ids).logits, model.eval()(ids).logits)


@pytest.mark.parametrize("key", ["modules_to_save", "trainable_token_indices", "init_lora_weights"])
def test_lists_settings_that_vllm_ignores(key: str) -> None:
    value = {"modules_to_save": ["norm"], "trainable_token_indices": [1, 2], "init_lora_weights": "pissa"}[key]
    assert key in list_unservable_features({"r": 4, key: value}, [])[0]


def test_replicated_layers_are_listed_as_unservable() -> None:
    """PEFT replicates those of some architectures, ours not among them."""
    assert "layer_replication" in list_unservable_features({"r": 8, "layer_replication": [[0, 2], [1, 2]]}, [])[0]


def test_lists_all_reasons_at_once() -> None:
    reasons = list_unservable_features(
        {"r": 1024, "use_dora": True, "bias": "all"}, ["base_model.model.lm_head.lora_A.weight"]
    )
    assert len(reasons) == 4


def test_saves_rslora_and_plain_initializations(base: Any, tmp_path: Path) -> None:
    save_lora(peft(base, use_rslora=True, init_lora_weights="gaussian", rank_pattern={"v_proj": 2}), tmp_path)
    assert json.loads((tmp_path / "adapter_config.json").read_text())["use_rslora"] is True


def test_refuses_models_without_an_adapter(base: Any, tmp_path: Path) -> None:
    with pytest.raises(GymposiumError, match="no adapter to save"):
        save_lora(base, tmp_path)


# -- attaching and loading


def test_mixture_of_experts_lora_targets_linear_layers(moe_directory: Path, tmp_path: Path) -> None:
    """Experts and routers are tensors. PEFT's all-linear adds matrices to them that vLLM cannot serve."""
    model = randomize_lora(attach_lora(load_model(moe_directory).model, rank=4, alpha=8, seed=0))
    save_lora(model, tmp_path)
    saved = read_adapter(tmp_path)
    assert {name.rpartition(".")[2] for name in saved.layers} == {"q_proj", "k_proj", "v_proj", "o_proj"}
    assert list_unservable_features(saved.config, saved.shapes) == []
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        loaded = load_lora(load_model(moe_directory).model, tmp_path)
        assert torch.equal(loaded(ids).logits, model.eval()(ids).logits)


@pytest.mark.parametrize("target", ["gate_proj", "gate_up_proj", "gate"])
def test_refuses_experts_and_routers_as_targets(moe_directory: Path, target: str) -> None:
    model = load_model(moe_directory).model
    with pytest.raises(GymposiumError, match=f"cannot target {target}.*k_proj.* experts and routers cannot"):
        attach_lora(model, rank=4, alpha=8, seed=0, targets=["q_proj", target])


@pytest.mark.filterwarnings("ignore:fan_in_fan_out is set to False")
def test_gpt2_adapters_round_trip(tmp_path: Path) -> None:
    """Its linear layers are of a class of transformers."""
    torch.manual_seed(0)
    base = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=64, bos_token_id=0, eos_token_id=0))
    base.save_pretrained(tmp_path / "base")
    model = randomize_lora(attach_lora(base.eval(), rank=4, alpha=8, seed=0))
    save_lora(model, tmp_path / "adapter")
    assert {name.rpartition(".")[2] for name in read_adapter(tmp_path / "adapter").layers} == {
        "c_attn",
        "c_fc",
        "c_proj",
    }
    loaded = load_lora(GPT2LMHeadModel.from_pretrained(tmp_path / "base").eval(), tmp_path / "adapter")
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        assert torch.equal(loaded(ids).logits, model.eval()(ids).logits)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": 0}, "rank 0"),
        ({"rank": 513}, "1 to 512"),
        ({"alpha": 0}, "cannot have alpha 0"),
        ({"targets": ["q_proj", "lm_head"]}, "cannot target lm_head.*q_proj"),
        ({"targets": ["query"]}, "cannot target query. .*q_proj"),
        ({"targets": []}, "no layers"),
    ],
)
def test_refuses_to_attach_unsupported_adapters(base: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(GymposiumError, match=message):
        attach_lora(base, **{"rank": 4, "alpha": 8, "seed": 0, **settings})


def test_targets_select_the_adapted_layers(base: Any, tmp_path: Path) -> None:
    save_lora(attach_lora(base, rank=4, alpha=8, seed=0, targets=["q_proj"]), tmp_path)
    assert {name.rpartition(".")[2] for name in read_adapter(tmp_path).layers} == {"q_proj"}


def test_refuses_to_stack_adapters(base: Any) -> None:
    with pytest.raises(GymposiumError, match="already has an adapter"):
        attach_lora(attach_lora(base, rank=4, alpha=8, seed=0), rank=4, alpha=8, seed=0)


def test_attaching_leaves_torch_rng_state_alone(base: Any) -> None:
    before = torch.get_rng_state()
    attach_lora(base, rank=4, alpha=8, seed=0)
    assert torch.equal(torch.get_rng_state(), before)


def test_incompatible_adapter_names_the_differing_layer(base: Any, tmp_path: Path, game_texts: list[str]) -> None:
    from gymposium_agents.chat.small_size import SmallModel
    from gymposium_agents.models.small import make_small_model

    make_small_model(
        tmp_path / "wide", game_texts, seed=0, size=SmallModel(hidden=48, layers=3, heads=2, vocabulary=320)
    )
    save_lora(attach_lora(load_model(tmp_path / "wide").model, rank=2, alpha=4, seed=0), tmp_path / "adapter")
    told = r"for another model: it changes model\.decoder\.layers.* made on '.*wide'"
    with pytest.raises(GymposiumError, match=told):
        load_lora(base, tmp_path / "adapter")


def test_refuses_adapters_for_deeper_models(base: Any, tmp_path: Path, game_texts: list[str], tiny_size: Any) -> None:
    from dataclasses import replace

    from gymposium_agents.models.small import make_small_model

    make_small_model(tmp_path / "deep", game_texts, seed=0, size=replace(tiny_size, layers=3))
    save_lora(attach_lora(load_model(tmp_path / "deep").model, rank=2, alpha=4, seed=0), tmp_path / "adapter")
    with pytest.raises(GymposiumError, match=r"model\.decoder\.layers\.2.*has no such layer"):
        load_lora(base, tmp_path / "adapter")


def test_refuses_ranks_that_differ_from_the_config(base: Any, tmp_path: Path) -> None:
    save_lora(attach_lora(base, rank=4, alpha=8, seed=0), tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps({**config, "r": 8}))
    with pytest.raises(GymposiumError, match=r"weights of rank 4, but its adapter_config\.json says 8"):
        load_lora(base, tmp_path)


def test_missing_adapter_files_are_errors(base: Any, tmp_path: Path) -> None:
    with pytest.raises(GymposiumError, match=r"adapter_config\.json is missing"):
        load_lora(base, tmp_path)
    (tmp_path / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 4}')
    with pytest.raises(GymposiumError, match=r"adapter_model\.safetensors is missing"):
        load_lora(base, tmp_path)
    (tmp_path / "adapter_model.safetensors").write_bytes(b"torn")
    with pytest.raises(GymposiumError, match="Cannot read the adapter"):
        load_lora(base, tmp_path)
    with pytest.raises(GymposiumError, match="No adapter at 'nobody/nothing'"):
        load_lora(base, "nobody/nothing")
