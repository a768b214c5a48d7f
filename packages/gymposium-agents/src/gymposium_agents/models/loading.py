"""Load models, tokenizers and adapters from a directory or a hub name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import torch
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError, StrictDataclassError
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    GenerationConfig,
)

from gymposium.errors import BadOption, GymposiumError, describe_error
from gymposium.util.settings import NoSettings
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.controls import is_panic
from gymposium_agents.chat.tokens import History, Policy
from gymposium_agents.engines.protocol import EngineStart
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.lora.attach import load_lora
from gymposium_agents.lora.files import PLAYER
from gymposium_agents.modeling.model_files import check_model_files
from gymposium_agents.modeling.sight import Sight, is_vision_model
from gymposium_agents.modeling.sources import NO_TRUST, Trust, is_only_local, make_missing_model_error, prepare_reading

_one_at_a_time = Lock()
"""Lock held while transformers loads a model. Loading sets global state, so a model loaded at the same time would lack
weights."""


@dataclass(slots=True)
class LoadedModel:
    """A model with its tokenizer and chat template."""

    model: Any
    """The causal language model of transformers."""
    chat: Chat
    """The tokenizer and chat template."""
    trust: Trust = NO_TRUST
    """The trust used when the files were read, kept for reading them again."""

    def engine(self, policy: Policy | None = None) -> TransformersEngine:
        """Make an engine that samples from the model. `policy` names the weights."""
        return TransformersEngine(self.model, stops=self.stops, pad=self.pad, policy=policy)

    @property
    def stops(self) -> frozenset[int]:
        """The tokens that end a reply."""
        return _collect_stops(self.chat, self.model.generation_config)

    @property
    def pad(self) -> int:
        """The id used for padding. Padding is masked, so any id works."""
        pad = self.chat.tokenizer.pad_token_id
        return self.chat.end if pad is None else int(pad)

    def save(self, directory: Path) -> None:
        """Write model and tokenizer to a directory."""
        self.model.save_pretrained(directory)
        self.chat.save(directory)


_DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    SafetensorError,
    StrictDataclassError,
    TypeError,
)
"""Exceptions that transformers raises for damaged files, in addition to `OSError` and `ValueError`."""


@contextmanager
def _translate_damage_errors(name: str | Path) -> Iterator[None]:
    """Raise `GymposiumError` for errors about damaged model files. The tokenizers library raises plain exceptions and
    Rust panics."""
    try:
        yield
    except GymposiumError:
        raise
    except BaseException as error:
        if not (isinstance(error, _DAMAGE) or type(error) is Exception or is_panic(error)):
            raise
        raise GymposiumError(
            f"The files of the model {str(name)!r} are damaged ({describe_error(error)}). Download or save the "
            f"model again."
        ) from error


@contextmanager
def translate_loading_errors(name: str | Path) -> Iterator[None]:
    """Raise `GymposiumError` for transformers' errors about missing, damaged or invalid model files."""
    try:
        with _translate_damage_errors(name):
            yield
    except GymposiumError:
        raise
    except (OSError, ValueError) as error:
        raise make_missing_model_error(name, error) from error


def load_skeleton(name: str | Path, trust: Trust = NO_TRUST, dtype: torch.dtype | None = None) -> Any:
    """Return the model with the names and shapes of its layers, but without weights. By default, it has the
    checkpoint's number type. No weights are read.

    Raises `GymposiumError` if the model does not exist."""
    with translate_loading_errors(name):
        return build_skeleton(AutoConfig.from_pretrained(name, **prepare_reading(name, trust)), trust, dtype)


def build_skeleton(architecture: Any, trust: Trust = NO_TRUST, dtype: torch.dtype | None = None) -> Any:
    """Return the model of an architecture (a transformers config), without weights.

    Raises `ValueError` if transformers has no causal language model of the architecture."""
    with torch.device("meta"):
        return _find_model_class(architecture).from_config(
            architecture, trust_remote_code=trust.remote_code, **({} if dtype is None else {"dtype": dtype})
        )


def load_local_architecture(name: str, trust: Trust = NO_TRUST) -> Any | None:
    """Return the architecture of a model, as a transformers config, or None if the model is not on this machine. Does
    not use the hub."""
    try:
        check_model_files(name, remote_code=trust.remote_code, local_files_only=True)
        return AutoConfig.from_pretrained(name, trust_remote_code=trust.remote_code, local_files_only=True)
    except (OSError, ValueError):
        return None


def load_chat(
    name: str | Path,
    *,
    thinking: bool = False,
    history: History = "template",
    trust: Trust = NO_TRUST,
    sees: bool = False,
) -> Chat:
    """Load the tokenizer and chat template of a model, without its weights. With `thinking`, the model thinks first, if
    its template supports that. `history` is as in `Chat`. With `sees`, a vision model's processor is loaded, too.

    Raises `GymposiumError` if the model does not exist, or if the tokenizer has no chat template or end of turn."""
    with translate_loading_errors(name):
        reading = prepare_reading(name, trust)
        tokenizer = AutoTokenizer.from_pretrained(name, **reading)
        is_vision = sees and is_vision_model(AutoConfig.from_pretrained(name, **reading))
    sight = Sight.load(name, trust) if is_vision else None
    with _translate_damage_errors(name):
        return Chat(tokenizer, thinking=thinking, history=history, sight=sight)


def find_player_directory(name: str) -> Path | None:
    """Return the directory with the `player.json` of a model: the model's directory, or the cached copy of a hub name.
    Returns None if a hub model has no `player.json`."""
    if Path(name).is_dir():
        return Path(name)
    try:
        return Path(hf_hub_download(name, PLAYER, local_files_only=is_only_local(name))).parent
    except EntryNotFoundError:  # raised by the hub, or by the local cache if the hub cannot be reached
        return None
    except (HFValidationError, HfHubHTTPError) as error:
        raise make_missing_model_error(name, error) from error


def load_stop_tokens(name: str | Path, chat: Chat, trust: Trust = NO_TRUST) -> frozenset[int]:
    """Return the tokens that end a reply: those of the chat template, and those named in the model's files."""
    with translate_loading_errors(name):
        try:
            return _collect_stops(chat, GenerationConfig.from_pretrained(name, **prepare_reading(name, trust)))
        except OSError:  # older models have no generation config, and name the tokens in config.json
            return _collect_stops(chat, AutoConfig.from_pretrained(name, **prepare_reading(name, trust)))


def load_context_length(name: str | Path, trust: Trust = NO_TRUST) -> int:
    """Return the maximum number of tokens that a model reads, from its config."""
    with translate_loading_errors(name):
        config = AutoConfig.from_pretrained(name, **prepare_reading(name, trust))
    return int(config.get_text_config(decoder=True).max_position_embeddings)


def _collect_stops(chat: Chat, config: Any) -> frozenset[int]:
    ids = config.eos_token_id  # None, an id, or a list of ids
    return chat.stops.union(ids if isinstance(ids, list) else [] if ids is None else [int(ids)])


def load_model(
    name: str | Path,
    adapter: str | Path | None = None,
    load: Literal["4bit"] | None = None,
    trust: Trust = NO_TRUST,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> LoadedModel:
    """Load a causal language model and its tokenizer and, with `adapter`, a LoRA on top of it. `name` is a directory or
    a hub name. Weights are loaded as `dtype`, by default float32 on a CPU and the checkpoint's type on a GPU. With
    `load="4bit"`, the weights of linear layers are quantized while they are read. They compute in `dtype`, by default
    float32 on a CPU and bfloat16 on a GPU. Weights that are not quantized are put on `device`, by default the current
    GPU if there is one. `trust` controls code and pickles in the model's files. Both are rejected by default.

    Raises `GymposiumError` if the model does not exist, if weights are missing or of another shape, or if the tokenizer
    has no chat template or end of turn. Raises `MissingExtra` if 4-bit loading is not installed."""
    check_load(load)
    gpu = torch.cuda.is_available()
    arguments: dict[str, Any] = {"dtype": dtype or ("auto" if gpu else torch.float32)}
    if load == "4bit":
        from gymposium_agents.modeling.quantized import make_4bit_config

        computing = dtype or (torch.bfloat16 if gpu else torch.float32)
        arguments |= {"quantization_config": make_4bit_config(computing), "device_map": {"": 0 if gpu else "cpu"}}
    chat = load_chat(name, trust=trust, sees=True)  # before the weights, which take long
    model = load_weights(name, trust, **arguments)
    if load == "4bit" and not gpu:
        from gymposium_agents.modeling.quantized import keep_unpacked

        keep_unpacked(model)
    if adapter is not None:
        model = load_lora(model, adapter)
    if load is None:
        model = model.to(device or ("cuda" if gpu else "cpu"))
    model.eval()
    if isinstance(chat.sight, Sight):
        chat.sight.attach(model)
    return LoadedModel(model, chat, trust)


def check_load(load: str | None) -> Literal["4bit"] | None:
    """Return the option `load`. Raises `BadOption` for anything but `4bit` or None."""
    if load not in (None, "4bit"):
        raise BadOption(f"Invalid load={load!r}. Use 4bit, or omit it.")
    return None if load is None else "4bit"


def make_own_engine(start: EngineStart, settings: NoSettings) -> TransformersEngine:
    """Make the engine `own`: transformers in this process, with a separate copy of the model."""
    dtype = None if start.dtype is None else getattr(torch, start.dtype)
    return load_model(start.model, load=start.load, trust=start.trust, dtype=dtype).engine()


def load_weights(name: str | Path, trust: Trust = NO_TRUST, **arguments: Any) -> Any:
    """Load the model without its tokenizer. `arguments` go to transformers' `from_pretrained`. Weights are read from
    safetensors. Pickles and the model's code are used only if trusted.

    Raises `GymposiumError` if the model does not exist, or if weights are missing or of another shape."""
    loaded: Any
    reading = prepare_reading(name, trust)
    with translate_loading_errors(name), _one_at_a_time:
        config = AutoConfig.from_pretrained(name, **reading)
        loaded = _find_model_class(config).from_pretrained(
            name,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            use_safetensors=None if trust.pickles else True,
            **reading,
            **arguments,
        )
    model, report = loaded
    _check_complete(name, report)
    return model


def _find_model_class(config: Any) -> Any:
    return AutoModelForImageTextToText if is_vision_model(config) else AutoModelForCausalLM


def _check_complete(name: str | Path, report: Mapping[str, Any]) -> None:
    """Raise `GymposiumError` for weights missing from the checkpoint, because transformers would give them random
    values."""
    lacking = sorted([*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])])
    if lacking:
        shown = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
        raise GymposiumError(
            f"The weights of {str(name)!r} are incomplete: {shown} are missing or do not match config.json. Download "
            f"or save the model again."
        )
