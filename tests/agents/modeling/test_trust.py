"""Trust in a model's directory: its code and its pickles are refused unless the user allows them by name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.commands import run_command
from transformers import modeling_utils

from gymposium import make_player
from gymposium.errors import BadOption, GymposiumError
from gymposium_agents.lora.attach import attach_lora, load_lora
from gymposium_agents.lora.files import read_adapter
from gymposium_agents.lora.saving import save_lora
from gymposium_agents.modeling.model_files import UnsafeModelError
from gymposium_agents.modeling.sources import Trust, find_title
from gymposium_agents.models.loading import (
    load_chat,
    load_context_length,
    load_local_architecture,
    load_model,
    load_skeleton,
    load_stop_tokens,
    load_weights,
)
from gymposium_agents.models.merge import merge_lora
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train import TrainConfig
from gymposium_train.config.checks import check_config
from gymposium_train.config.problems import BadConfig

CODE = """
import os, pathlib
from transformers import AutoTokenizer, PreTrainedTokenizerFast, OPTConfig, OPTForCausalLM

pathlib.Path(os.environ["MARKER"]).write_text("this ran")


class OwnConfig(OPTConfig):
    model_type = "own_{name}"


class OwnModel(OPTForCausalLM):
    config_class = OwnConfig


class OwnTokenizer(PreTrainedTokenizerFast):
    pass
"""


def change_json(file: Path, **more: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | more))


@pytest.fixture
def copy(model_directory: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_directory, tmp_path / "copy"))


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that exists as soon as a model's code has run."""
    monkeypatch.setenv("MARKER", str(tmp_path / "marker"))
    return tmp_path / "marker"


@pytest.fixture
def model_with_code(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model with its own code."""
    name = f"{abs(hash(str(tmp_path))):x}"
    (copy / "own.py").write_text(CODE.format(name=name))
    own = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
    change_json(copy / "config.json", model_type=f"own_{name}", architectures=["OwnModel"], auto_map=own)
    return copy


@pytest.fixture
def model_with_pickle(copy: Path) -> Path:
    """A model with pickled weights."""
    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    return copy


def test_model_code_is_not_run(model_with_code: Path, marker: Path, tmp_path: Path) -> None:
    config = TrainConfig.model_validate({"games": ("tic_tac_toe",), "model": {"name": str(model_with_code)}})
    for use in (
        lambda: load_model(model_with_code),
        lambda: make_player(f"lm:{model_with_code}"),
        lambda: make_player(f"lm:{model_with_code}?trust_remote_code=false"),
        lambda: load_skeleton(str(model_with_code)),
        lambda: merge_lora(model_with_code, model_with_code, tmp_path / "out"),
    ):
        with pytest.raises(GymposiumError, match=r"contains Python code. It is not run.*trust_remote_code=true"):
            use()
    with pytest.raises(BadConfig, match="trust_remote_code=true"):
        check_config(config)
    assert not marker.exists()


def test_tokenizer_code_is_not_run(copy: Path, marker: Path) -> None:
    (copy / "own.py").write_text(CODE.format(name="tokenizer"))
    own = {"AutoTokenizer": [None, "own.OwnTokenizer"]}
    change_json(copy / "tokenizer_config.json", tokenizer_class="OwnTokenizer", auto_map=own)
    chat = load_chat(copy)  # the class of transformers that its files fit
    assert type(chat.tokenizer).__name__ != "OwnTokenizer"
    assert not marker.exists()


def test_never_prompts_at_the_terminal(model_with_code: Path, marker: Path) -> None:
    """A piped "y" answered transformers' question, and the code ran."""
    command = ("run", "tic_tac_toe", "--players", f"lm:{model_with_code},random", "-n", "1")
    done = run_command(*command, typed="y\n" * 9, folder=marker.parent, env=os.environ, learns=True)
    assert done.returncode == 2
    assert "contains Python code. It is not run" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert not marker.exists()


def test_trusted_code_runs(model_with_code: Path, marker: Path) -> None:
    player = make_player(f"lm:{model_with_code}?trust_remote_code=true")
    assert isinstance(player, LanguageModelPlayer)
    assert marker.read_text() == "this ran"
    identity = player.identity()
    assert f"{model_with_code}/own.py" in identity.files
    assert identity.facts["trust_remote_code"] is True
    trust = Trust(remote_code=True)
    assert type(load_skeleton(str(model_with_code), trust)).__name__ == "OwnModel"
    assert load_stop_tokens(model_with_code, load_chat(model_with_code, trust=trust), trust)


def test_pickles_are_refused(model_with_pickle: Path) -> None:
    for use in (lambda: load_model(model_with_pickle), lambda: make_player(f"lm:{model_with_pickle}")):
        with pytest.raises(GymposiumError, match=r"no safetensors weights.*allow_pickle=true"):
            use()


def test_trusted_pickles_are_read(model_directory: Path, model_with_pickle: Path) -> None:
    player = make_player(f"lm:{model_with_pickle}?allow_pickle=true")
    assert isinstance(player, LanguageModelPlayer)
    assert f"{model_with_pickle}/pytorch_model.bin" in player.identity().files
    whole, pickled = load_model(model_directory), load_model(model_with_pickle, trust=Trust(pickles=True))
    for name, weights in whole.model.state_dict().items():
        assert torch.equal(weights, pickled.model.state_dict()[name])


def test_trust_options_must_be_boolean() -> None:
    with pytest.raises(BadOption, match=r"trust_remote_code='yes'. Use true or false"):
        make_player("lm:anything?trust_remote_code=yes")


def test_pickled_adapters_are_refused(model_directory: Path, tmp_path: Path) -> None:
    model = load_model(model_directory).model
    save_lora(attach_lora(model, rank=2, alpha=2, seed=0), tmp_path)
    torch.save(load_file(tmp_path / "adapter_model.safetensors"), tmp_path / "adapter_model.bin")
    (tmp_path / "adapter_model.safetensors").unlink()
    with pytest.raises(GymposiumError, match=r"pickled weights \(adapter_model.bin\), which are not supported"):
        load_lora(load_model(model_directory).model, tmp_path)


def test_adapters_import_no_module(model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PEFT imports what `megatron_core` names."""
    save_lora(attach_lora(load_model(model_directory).model, rank=2, alpha=2, seed=0), tmp_path)
    (tmp_path / "named_by_an_adapter.py").write_text("raise SystemExit('this ran')")
    monkeypatch.syspath_prepend(tmp_path)
    change_json(tmp_path / "adapter_config.json", megatron_config={"a": 1}, megatron_core="named_by_an_adapter")
    with pytest.raises(GymposiumError, match="names a module to import"):
        load_lora(load_model(model_directory).model, tmp_path)


@pytest.mark.slow
def test_unreachable_hub_is_not_retried() -> None:
    code = "from gymposium import make_player; make_player('lm:nobody/nothing')"
    environment = {**os.environ, "HF_HUB_OFFLINE": "0", "HF_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert "There is no model at 'nobody/nothing'" in done.stderr
    assert "The hub cannot be reached from here." in done.stderr
    assert "Retrying" not in done.stderr + done.stdout


def nest(names: list[str], value: object) -> dict[str, object]:
    """A config with a value below some keys."""
    return {names[0]: value if len(names) == 1 else nest(names[1:], value)}


@pytest.mark.parametrize(
    "entry",
    [
        {"attn_implementation": "kernels-community/flash-attn2@0123456789abcdef"},
        {"_attn_implementation": "kernels-community/flash-attn2"},
        {"_attn_implementation_internal": "a/b"},
        {"attn_implementation": {"": "sdpa", "text_config": "a/b:c"}},
        {"attn_implementation": "flash_attention_2"},
        {"experts_implementation": "deepgemm"},
        nest(["text_config", "decoder", "attn_implementation"], "a/b"),
        {"layers": [{"attn_implementation": "a/b"}]},
        {"attribute_map": {"title": "_attn_implementation"}, "title": "a/b"},
        {"configuration_files": ["config.4.0.0.json"]},
    ],
    ids=str,
)
def test_configs_may_not_reference_code_or_configs(copy: Path, entry: dict[str, Any]) -> None:
    change_json(copy / "config.json", **entry)
    for use in (load_chat, load_model, load_skeleton, read_stop_tokens, load_context_length, load_local_architecture):
        with pytest.raises(UnsafeModelError, match=re.escape("config.json")):
            use(str(copy))


def read_stop_tokens(name: str) -> object:
    return load_stop_tokens(name, None, Trust())  # type: ignore[arg-type]  # the files are refused before


def test_kernels_load_only_from_trusted_models(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers takes the name of a kernel from the config, and would download and import it."""
    asked = []
    monkeypatch.setattr(modeling_utils, "lazy_import_flash_attention", lambda name, **_: asked.append(name))
    change_json(copy / "config.json", attn_implementation="kernels-community/flash-attn2")
    with pytest.raises(UnsafeModelError, match="trust_remote_code=true"):
        make_player(f"lm:{copy}")
    assert asked == []
    load_weights(copy, Trust(remote_code=True))
    assert asked


def test_built_in_attention_is_allowed(copy: Path) -> None:
    change_json(copy / "config.json", attn_implementation="eager")
    assert load_model(copy).model.config._attn_implementation == "eager"


def test_tokenizer_class_must_be_a_tokenizer(copy: Path) -> None:
    change_json(copy / "tokenizer_config.json", tokenizer_class="AutoModelForCausalLM")
    with pytest.raises(UnsafeModelError, match="tokenizer_class"):
        load_chat(copy)


def test_refuses_models_that_contain_an_adapter(copy: Path) -> None:
    """transformers would load the base model that the adapter names, whose files nobody has checked."""
    (copy / "adapter_config.json").write_text('{"base_model_name_or_path": "/elsewhere"}')
    with pytest.raises(UnsafeModelError, match="lm:MODEL@ADAPTER"):
        load_model(copy)


SMALL_FILES = [
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "tokenizer.json",
    "chat_template.jinja",
    "additional_chat_templates/other.jinja",
    "player.json",
]


@pytest.mark.parametrize("make", [os.mkfifo, lambda file: file.symlink_to("/dev/zero")], ids=["pipe", "device"])
@pytest.mark.parametrize("name", [*SMALL_FILES, "model.safetensors", "model.safetensors.index.json"])
def test_model_files_never_stall_the_process(copy: Path, name: str, make: Callable[[Path], object]) -> None:
    file = copy / name
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    make(file)
    with pytest.raises(GymposiumError, match="not a regular file"):
        make_player(f"lm:{copy}")


@pytest.mark.parametrize("name", SMALL_FILES)
def test_oversized_model_files_are_refused(copy: Path, name: str) -> None:
    file = copy / name
    file.parent.mkdir(exist_ok=True)
    with file.open("ab") as content:
        content.truncate(6 * 2**30)
    with pytest.raises(GymposiumError, match=re.escape(name)):
        make_player(f"lm:{copy}")


def test_adapter_files_must_be_regular_and_bounded(copy: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    os.mkfifo(adapter / "adapter_model.safetensors")
    with pytest.raises(UnsafeModelError, match="not a regular file"):
        read_adapter(adapter)


REPLACED = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100}
SLOW = {"Regex": "(?:(?:a|a)+)+$"}


@pytest.mark.parametrize("part", ["normalizer", "decoder"])
def test_tokenizer_replacements_are_bounded(copy: Path, part: str) -> None:
    change_json(copy / "tokenizer.json", **{part: {"type": "Sequence", f"{part}s": [REPLACED] * 2}})
    with pytest.raises(GymposiumError, match="more than 1,000 times longer"):
        load_chat(copy)
    change_json(copy / "tokenizer.json", **{part: {"type": "Sequence", f"{part}s": [REPLACED]}})
    load_chat(copy)


@pytest.mark.parametrize(
    ("part", "slow"),
    [
        ("normalizer", {"type": "Replace", "pattern": SLOW, "content": "x"}),
        ("pre_tokenizer", {"type": "Split", "pattern": SLOW, "behavior": "Isolated", "invert": False}),
    ],
)
def test_slow_tokenizer_expressions_are_errors(copy: Path, part: str, slow: object) -> None:
    change_json(copy / "tokenizer.json", **{part: slow})
    with pytest.raises(GymposiumError):
        load_chat(copy).prompt("a" * 60 + "!")


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("tokenizer.json", "model", {}),
        ("tokenizer.json", "model", {"type": "WordLevel", "vocab": {"a": -1}, "unk_token": "a"}),
        ("tokenizer.json", "pre_tokenizer", {"type": "unknown"}),
        ("tokenizer.json", "decoder", 5),
        ("tokenizer.json", "added_tokens", [{}]),
        ("tokenizer_config.json", "model_max_length", [[]]),
        ("config.json", "bos_token_id", "["),
        ("config.json", "hidden_size", [[]]),
    ],
)
def test_damaged_model_settings_name_the_model(copy: Path, name: str, key: str, value: object) -> None:
    change_json(copy / name, **{key: value})
    with pytest.raises(GymposiumError, match=re.escape(str(copy))):
        load_chat(copy).prompt("a" * 60 + "!")


@pytest.mark.parametrize("text", ["[]", "{", '{"title": NaN}', '{"title": 5}', '{"title": 99999999999999999999}'])
def test_malformed_configs_have_no_title(copy: Path, text: str) -> None:
    (copy / "config.json").write_text(text)
    assert find_title(copy) is None
