"""Checkpoints: staged, synced, renamed, marked complete. Weights are safetensors, nothing is pickled.

A checkpoint is a directory `step-00040` with the adapter as PEFT and vLLM load it, the optimizer by
parameter name, and `state.json`. It counts only with its `COMPLETE` mark; a half-written one is named and passed
over.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from gymposium_agents.durable import MARK, sweep, whole_directory
from gymposium_agents.lora.files import WEIGHTS
from gymposium_agents.lora.saving import save_lora
from gymposium_train.learner import Learner

KEEP = 2
"""Complete checkpoints that are kept."""


def save_checkpoint(directory: Path, learner: Learner, state: Mapping[str, Any]) -> Path:
    """Write the checkpoint of `state["step"]`, whole or not at all."""
    target = directory / f"step-{state['step']:05d}"
    tensors = {
        f"{name}|{key}": value.detach().contiguous()
        for name, parameter in learner.named.items()
        for key, value in learner.optimizer.state[parameter].items()
    }
    full = {**state, "policy_version": learner.policy_version}
    sweep(directory, "step-")
    with whole_directory(target) as staging:
        save_lora(learner.model, staging)
        save_file(tensors, staging / "optimizer.safetensors")
        (staging / "state.json").write_text(json.dumps(full, indent=2) + "\n", encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
    for old in complete_checkpoints(directory)[:-KEEP]:
        shutil.rmtree(old)
    return target


def complete_checkpoints(directory: Path) -> list[Path]:
    """Checkpoints with their mark, oldest first."""
    found = (p for p in directory.glob("step-*") if (p / MARK).is_file())
    return sorted(found, key=lambda p: int(p.name.removeprefix("step-")))


def broken_checkpoints(directory: Path) -> list[Path]:
    """What an interrupted writer left: directories without their mark."""
    found = [*directory.glob("step-*"), *directory.glob(".step-*.partial")]
    return sorted(p for p in found if p.name.startswith(".") or not (p / MARK).is_file())


def load_checkpoint(checkpoint: Path, learner: Learner) -> dict[str, Any]:
    """Put a checkpoint's adapter and optimizer into `learner` and return its state."""
    from peft import set_peft_model_state_dict

    set_peft_model_state_dict(learner.model, load_file(checkpoint / WEIGHTS))
    tensors = load_file(checkpoint / "optimizer.safetensors")
    for name, parameter in learner.named.items():
        slots = {key.rpartition("|")[2]: value for key, value in tensors.items() if key.rpartition("|")[0] == name}
        if slots:
            learner.optimizer.state[parameter] = {
                key: value if key == "step" else value.to(parameter.device) for key, value in slots.items()
            }
    state: dict[str, Any] = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
    learner.policy_version = state["policy_version"]
    return state
