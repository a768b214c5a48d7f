"""Models and adapters from a directory or a hub name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import torch
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from gymposium.errors import BadOption, GymposiumError
from gymposium.settings import NoSettings
from gymposium_agents.chat import Chat
from gymposium_agents.engines.protocol import EngineStart
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.lora.files import PLAYER
from gymposium_agents.sources import NO_TRUST, Trust, no_model, on_this_machine_only, reading
from gymposium_agents.tokens import Policy

_one_at_a_time = Lock()
"""transformers loads no two models at once: what it sets for one holds for the other too, which lacks weights then."""


@dataclass(slots=True)
class LoadedModel:
    """A model with its chat."""

    model: Any
    chat: Chat
    trust: Trust = NO_TRUST
    """What its files may do, when they are read again."""

    def engine(self, policy: Policy | None = None) -> TransformersEngine:
        """An engine that samples from the model; `policy` names whose weights these are."""
        return TransformersEngine(self.model, stops=self.stops, pad=self.pad, policy=policy)

    @property
    def stops(self) -> frozenset[int]:
        """The tokens that end a reply."""
        return _stops(self.chat, self.model.generation_config)

    @property
    def pad(self) -> int:
        pad = self.chat.tokenizer.pad_token_id
        return int(pad) if pad is not None else self.chat.end  # padding is masked, any id will do

    def save(self, directory: Path) -> None:
        self.model.save_pretrained(directory)
        self.chat.tokenizer.save_pretrained(directory)


def skeleton(name: str, trust: Trust = NO_TRUST) -> Any:
    """A model without its weights, none of which are read: what its layers are called, and how large they are.

    Raises `GymposiumError` where there is no such model."""
    try:
        return skeleton_of(AutoConfig.from_pretrained(name, **reading(name, trust)), trust)
    except (OSError, ValueError) as error:
        raise no_model(name, error) from error


def skeleton_of(architecture: Any, trust: Trust = NO_TRUST) -> Any:
    """A model of an architecture, as transformers has it, without weights.

    Raises `ValueError` for an architecture of which transformers has no causal language model."""
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
            architecture, trust_remote_code=trust.remote_code
        )


def local_architecture(name: str, trust: Trust = NO_TRUST) -> Any | None:
    """The architecture of a model, as transformers has it; None where it is not on this machine. The hub is not
    asked."""
    try:
        return AutoConfig.from_pretrained(name, trust_remote_code=trust.remote_code, local_files_only=True)
    except (OSError, ValueError):
        return None


def load_chat(name: str | Path, *, thinking: bool = False, trust: Trust = NO_TRUST) -> Chat:
    """The tokenizer and chat template of a model, without its weights. `thinking` lets a model think first whose
    template can.

    Raises `GymposiumError` where there is no such model, and for a tokenizer without chat template or end of turn."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **reading(name, trust))
    except (OSError, ValueError) as error:
        raise no_model(name, error) from error
    return Chat(tokenizer, thinking=thinking)


def player_directory(name: str) -> Path | None:
    """Where the `player.json` of a model lies: its directory, or the hub's copy of it. None where a model on the hub
    has none."""
    if Path(name).is_dir():
        return Path(name)
    try:
        return Path(hf_hub_download(name, PLAYER, local_files_only=on_this_machine_only(name))).parent
    except EntryNotFoundError:  # on the hub, or among what was fetched while there is none to be asked
        return None
    except (HFValidationError, HfHubHTTPError) as error:
        raise no_model(name, error) from error


def stop_tokens(name: str | Path, chat: Chat, trust: Trust = NO_TRUST) -> frozenset[int]:
    """Tokens after which a model says nothing more: the chat's, and those that the model's own files name."""
    try:
        return _stops(chat, GenerationConfig.from_pretrained(name, **reading(name, trust)))
    except OSError:  # older models say it in config.json alone
        return _stops(chat, AutoConfig.from_pretrained(name, **reading(name, trust)))


def _stops(chat: Chat, config: Any) -> frozenset[int]:
    named = config.eos_token_id  # may name several
    more = named if isinstance(named, list) else [] if named is None else [named]
    return chat.stops | frozenset(map(int, more))


def load_model(
    name: str | Path,
    adapter: str | Path | None = None,
    load: Literal["4bit"] | None = None,
    trust: Trust = NO_TRUST,
    *,
    dtype: torch.dtype | None = None,
) -> LoadedModel:
    """A causal language model and its tokenizer; with `adapter`, a LoRA on top of it. `name` is a directory or a hub
    name. Weights are loaded as `dtype`, by default float32 on a CPU and the checkpoint's own type on a GPU. With
    `load="4bit"` the linear layers' weights are quantized as they are read, and compute in `dtype`, by default float32
    on a CPU and bfloat16 on a GPU.

    `trust` says whether the model may bring code and pickles, which are refused otherwise.

    Raises `GymposiumError` where there is no such model, where weights are missing or of another shape, and where the
    tokenizer has no chat template or no end of turn; `MissingExtra` where 4-bit loading is not installed."""
    if load not in (None, "4bit"):
        raise BadOption(f"load={load!r}: write 4bit, or leave it out.")
    gpu = torch.cuda.is_available()
    how: dict[str, Any] = {"dtype": dtype or ("auto" if gpu else torch.float32)}
    if load == "4bit":
        from gymposium_agents.quantized import four_bits

        computing = dtype or (torch.bfloat16 if gpu else torch.float32)
        how |= {"quantization_config": four_bits(computing), "device_map": {"": 0 if gpu else "cpu"}}
    chat = load_chat(name, trust=trust)  # before the weights, which take long
    model = load_weights(name, trust, **how)
    if load == "4bit" and not gpu:
        from gymposium_agents.quantized import keep_unpacked

        keep_unpacked(model)
    if adapter is not None:
        from gymposium_agents.lora.attach import load_lora  # PEFT takes three seconds to import

        model = load_lora(model, adapter)
    if gpu and load is None:
        model = model.to("cuda")
    model.eval()
    return LoadedModel(model, chat, trust)


def own_engine(start: EngineStart, settings: NoSettings) -> TransformersEngine:
    """The engine `own`: transformers, in this process, with a copy of the model for itself."""
    dtype = None if start.dtype is None else getattr(torch, start.dtype)
    return load_model(start.model, load=start.load, trust=start.trust, dtype=dtype).engine()


def load_weights(name: str | Path, trust: Trust = NO_TRUST, **how: Any) -> Any:
    """The model alone, whole, loaded as transformers' `from_pretrained` is told. Weights are read from safetensors;
    pickles and the model's own code only where they are trusted.

    Raises `GymposiumError` where there is no such model, and where weights are missing or of another shape."""
    loaded: Any
    try:
        with _one_at_a_time:
            loaded = AutoModelForCausalLM.from_pretrained(
                name,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                use_safetensors=None if trust.pickles else True,
                **reading(name, trust),
                **how,
            )
    except (OSError, ValueError) as error:
        raise no_model(name, error) from error
    model, report = loaded
    _check_whole(name, report)
    return model


def _check_whole(name: str | Path, report: Mapping[str, Any]) -> None:
    """transformers gives weights that a checkpoint lacks random values; nobody wants to play with those."""
    lacking = sorted([*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])])
    if lacking:
        shown = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
        raise GymposiumError(
            f"The weights of {str(name)!r} are not whole: {shown} are missing or of another shape than config.json "
            f"says. Download or save the model again."
        )
