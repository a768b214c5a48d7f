"""Two processes, which torchrun starts, save a model of more than 200 MB; the memory of the second one is measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch.distributed.tensor import DTensor
from transformers import Qwen3Config, Qwen3ForCausalLM

from gymposium_train.config import Optimizer
from gymposium_train.learner import LocalLearner
from gymposium_train.learner.distributed import DistributedLearner
from gymposium_train.learner.parallel.world import Processes, join_processes
from gymposium_train.run.checkpoints import load_checkpoint, save_checkpoint

PAIRS = [((1, 2), (3,))]


def made(world: Processes) -> LocalLearner:
    config = Qwen3Config(
        vocab_size=16_384,
        hidden_size=512,
        intermediate_size=2_048,
        num_hidden_layers=12,
        num_attention_heads=8,
        num_key_value_heads=8,
        head_dim=64,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    return LocalLearner(Qwen3ForCausalLM(config).eval(), 0, Optimizer(layout="packed"), world=world)


def memory(what: str) -> int:
    """A value of /proc/self/status in bytes: `VmRSS`, the current memory, or `VmHWM`, its peak since
    `forget_height`."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) * 1024


def forget_height() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def do(world: Processes, learner: DistributedLearner, work: Callable[[], object]) -> int:
    """Let the first process work with the learner while the other follows. Returns the growth of this process's
    memory."""
    forget_height()
    before = memory("VmRSS")
    if world.leads:
        with learner.leading():
            work()
    else:
        learner.follow()
    return memory("VmHWM") - before


def main(place: Path) -> None:
    torch.set_num_threads(1)
    with join_processes() as world:
        local = made(world)
        learner = DistributedLearner(local)
        do(world, learner, lambda: learner.imitate(PAIRS, 1e-3))
        slots = [value for slots in local._stepper.optimizer.state.values() for value in slots.values()]
        parts = [one.to_local() for one in (*local.named.values(), *slots) if isinstance(one, DTensor)]
        expected = [part.clone() for part in parts]
        found = {
            "whole": sum(parameter.numel() * parameter.itemsize for parameter in local.named.values()),
            "shard": sum(part.nbytes for part in parts),
            "save": do(world, learner, lambda: save_checkpoint(place, learner, {"step": 1}, keep=1)),
        }
        for part in parts:
            part.detach().zero_()
        del part, parts, slots
        found["load"] = do(world, learner, lambda: load_checkpoint(place / "step-00001", learner))
        slots = [value for slots in local._stepper.optimizer.state.values() for value in slots.values()]
        parts = [one.to_local() for one in (*local.named.values(), *slots) if isinstance(one, DTensor)]
        found["equal"] = all(map(torch.equal, parts, expected))
        (place / f"found-{world.rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
