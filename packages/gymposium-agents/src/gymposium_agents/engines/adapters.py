"""LoRA adapters of one model in memory, by policy: loading, switching and unloading.

A learner may share the model, so each switch is undone: the active adapter, `requires_grad` and the training mode.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.random import fork_rng

from gymposium.errors import GymposiumError
from gymposium_agents.chat.tokens import BASE, Policy
from gymposium_agents.engines.vllm.serving import compute_digest
from gymposium_agents.lora.files import list_extra_changes, read_adapter
from gymposium_agents.lora.patterns import check_patterns


class Adapters:
    """The policies of a model and its adapters. `policy` names the initial weights: the active adapter's, or the
    model's own without one."""

    def __init__(self, model: Any, policy: Policy | None) -> None:
        self.model = model
        """The transformers model, or a PEFT model while there is an adapter."""
        if not self._has_adapters:
            self.own = policy or BASE
            self._names: dict[Policy, str | None] = {self.own: None}
            return
        active = model.active_adapters
        if len(active) != 1:
            raise GymposiumError(
                f"The model must have exactly one active adapter, not {active}. Call set_adapter(name)."
            )
        self.own = policy or Policy(active[0])
        if self.own == BASE:
            raise GymposiumError(
                f"The model has an adapter, so its policy cannot be {BASE}, the model without it. Name another policy."
            )
        self._names = {BASE: None, self.own: active[0]}

    @property
    def held(self) -> tuple[Policy, ...]:
        """The policies of the adapters, oldest first."""
        return tuple(policy for policy, name in self._names.items() if name is not None)

    def check(self, policy: Policy) -> None:
        """Raise `GymposiumError` if the model cannot answer as `policy`."""
        if policy not in self._names:
            raise GymposiumError(
                f"Unknown policy {str(policy)!r}. The engine holds {', '.join(map(str, self._names))}. Publish an "
                f"adapter before using it."
            )

    def rename(self, policy: Policy) -> None:
        """Rename the model's initial weights to `policy`, because they have changed."""
        if policy != self.own and policy in self._names:
            raise GymposiumError(
                f"{str(policy)!r} is a published adapter, so its weights cannot have changed. Choose another policy "
                "name."
            )
        self._names = {policy if known == self.own else known: name for known, name in self._names.items()}
        self.own = policy

    def load(self, directory: Path, policy: Policy) -> None:
        """Load the adapter in `directory` as `policy`. Raises `GymposiumError` if it does not fit."""
        if policy in self._names:
            raise GymposiumError(f"The engine already holds {str(policy)!r}. Publish new weights under a new version.")
        from peft import PeftModel  # takes three seconds, so it is imported only if there are adapters

        from gymposium_agents.lora.attach import hide_peft_warning

        config = _read_config(directory, self.model)
        name = str(policy).replace("%", "%25").replace(".", "%2E")  # module names have no dots
        first = not self._has_adapters
        peft: Any = None if first else self.model
        # PEFT draws random weights and immediately overwrites them: this must not advance torch's random state
        with _restore_afterwards(self.model), hide_peft_warning(), fork_rng():
            try:
                if first:
                    peft = PeftModel(self.model, config, name)
                keys = peft.load_adapter(str(directory), name, torch_device=str(self.model.device))
                unmatched = [*keys.missing_keys, *keys.unexpected_keys]
                if unmatched:
                    raise ValueError(f"unmatched weights: {', '.join(unmatched[:3])}")
            except (RuntimeError, ValueError) as error:  # the errors of torch and PEFT
                if peft is not None and first:
                    peft.unload()
                elif peft is not None and name in peft.peft_config:
                    peft.delete_adapter(name)
                raise GymposiumError(
                    f"The adapter in {directory} does not fit the model: it was made for another base (its "
                    f"adapter_config.json says {config.base_model_name_or_path!r}), or its files do not belong "
                    f"together. Name the model it was trained on. ({_shorten_error(error)})"
                ) from error
            if first:
                peft.base_model.disable_adapter_layers()  # between calls, the model answers as before
        self.model, self._names[policy] = peft, name

    def digest(self, policy: Policy) -> str | None:
        """Return the digest of a policy's tensors in memory, or None for a policy without an adapter."""
        self.check(policy)
        name = self._names[policy]
        return None if name is None else compute_lora_digest(self.model, adapter=name)

    def unload(self, policy: Policy) -> None:
        """Unload a published adapter. Raises `GymposiumError` for the model's initial weights."""
        self.check(policy)
        name = self._names[policy]
        if policy == self.own or name is None:
            raise GymposiumError(
                f"{str(policy)!r} came with the model and cannot be retired. Retire only published adapters."
            )
        del self._names[policy]
        if not self.held:
            self.model = self.model.unload()
            return
        if self.model.active_adapter == name:  # PEFT needs an active adapter, even while its layers are disabled
            self.model.set_adapter(self._names[self.held[0]], inference_mode=True)
        self.model.delete_adapter(name)

    @contextmanager
    def answering(self, policy: Policy) -> Iterator[None]:
        """Let the model answer as `policy`, without dropout, inside the block. Restores the model afterwards."""
        name, model = self._names[policy], self.model
        in_training = [module for module in model.modules() if module.training]
        for module in in_training:
            module.training = False
        try:
            if not self._has_adapters or name == _find_active_adapter(model):
                yield
                return
            with _restore_afterwards(model):
                if name is None:
                    model.base_model.disable_adapter_layers()
                else:
                    model.base_model.enable_adapter_layers()
                    model.set_adapter(name, inference_mode=True)
                yield
        finally:
            for module in in_training:
                module.training = True

    @property
    def _has_adapters(self) -> bool:
        return hasattr(self.model, "peft_config")


def compute_lora_digest(model: Any, *, adapter: str | None = None) -> str:
    """Return the digest of a LoRA's tensors, as reported by an engine that loaded them (`DigestReporter`)."""
    from peft import get_peft_model_state_dict

    from gymposium_agents.lora.saving import find_active_adapter

    name = adapter or find_active_adapter(model)
    return compute_digest(get_peft_model_state_dict(model, adapter_name=name, save_embedding_layers=False))


def _read_config(directory: Path, model: Any) -> Any:
    """Read the configuration of the adapter in `directory`.

    Raises `GymposiumError` if it does not exist, changes more than an ordinary LoRA, or has expressions that are too
    slow for this model."""
    from peft import PeftConfig

    files = read_adapter(directory)
    if reasons := list_extra_changes(files.config):
        raise GymposiumError(
            f"The adapter in {directory} cannot share a model with others: {'; '.join(reasons)}. Merge it into a copy "
            f"of the model (gymposium lora merge), or train a plain one."
        )
    check_patterns(files.config, model, directory)
    config = PeftConfig.from_pretrained(str(directory))
    config.inference_mode = True
    return config


def _shorten_error(error: Exception) -> str:
    """Return the first two lines of an error text, and the number of further lines. torch writes one line for each
    tensor that does not fit."""
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(lines[:2]) + (f" And {len(lines) - 2} more." if len(lines) > 2 else "")


def _find_active_adapter(model: Any) -> str | None:
    """Return the adapter that a PEFT model currently answers with, or None if its adapter layers are disabled."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    layer = next(module for module in model.modules() if isinstance(module, BaseTunerLayer))
    return None if layer.disable_adapters else str(model.active_adapter)


@contextmanager
def _restore_afterwards(model: Any) -> Iterator[None]:
    """Undo PEFT's side effects on a model after the block: the active adapter, `requires_grad` and the training
    mode."""
    gradients = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    training = [(module, module.training) for module in model.modules()]
    peft = hasattr(model, "peft_config")
    active, answering = (model.active_adapter, _find_active_adapter(model)) if peft else (None, None)
    try:
        yield
    finally:
        if peft:
            model.base_model.enable_adapter_layers()
            model.set_adapter(active)
            if answering is None:
                model.base_model.disable_adapter_layers()
        for parameter, wanted in gradients:
            parameter.requires_grad_(wanted)
        for module, wanted in training:
            module.training = wanted
