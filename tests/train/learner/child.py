"""The work of each process in `test_distributed.py`, alone or as one of two that torchrun started."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import LoadedModel, load_model, load_skeleton
from gymposium_train.config import Kl, Optimizer, Precision
from gymposium_train.credit.protocol import Critic
from gymposium_train.learner import Learner, LocalLearner, Loss
from gymposium_train.learner.distributed import DistributedLearner
from gymposium_train.learner.parallel.parts import all_gather_tensor
from gymposium_train.learner.parallel.world import Processes, join_processes
from gymposium_train.learner.precision import choose_compute_type
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.learner.rows import Row
from gymposium_train.objective.cispo import Cispo, CispoSettings
from gymposium_train.objective.gspo import Gspo, GspoSettings

TEMPERATURE = 0.8
RANK = 5
"""Of the LoRA: no two processes can share it out evenly."""
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")
WAYS = (("full", "shard"), ("lora", "shard"), ("lora", "replicate"))
"""What is trained, and how several processes hold the model."""
PLAIN = {"epochs": 1, "minibatches": 1, "max_grad_norm": 1e9}

CASES: dict[str, tuple[str, Loss, dict[str, Any]]] = {
    "LoRA, padded, critic": ("lora", Loss(critic=Critic()), {"layout": "padded", "token_budget": 400}),
    "LoRA, packed, reference": (
        "lora",
        Loss(Gspo(GspoSettings()), kl=Kl(weight=0.3, estimator="k3")),
        {"layout": "packed", "token_budget": 250},
    ),
    "LoRA, replicated": (
        "lora",
        Loss(critic=Critic(), kl=Kl(weight=0.3, estimator="k3")),
        {"layout": "packed", "token_budget": 250, "parallel": "replicate"},
    ),
    "all weights, padded, critic": ("full", Loss(critic=Critic()), {"layout": "padded", "token_budget": 100_000}),
    "all weights, packed, checkpointing": (
        "full",
        Loss(Cispo(CispoSettings())),
        {"layout": "packed", "token_budget": 400, "checkpointing": True},
    ),
}
"""What is trained, by what loss, and how rows go through the model."""
EXPERTS: dict[str, tuple[str, Loss, dict[str, Any]]] = {
    f"mixture of experts, {tune}": (tune, Loss(), {"layout": "packed", "token_budget": 400})
    for tune in ("lora", "full")
}
MOVING: dict[str, tuple[str, Loss, dict[str, Any]]] = {
    "LoRA": (
        "lora",
        Loss(critic=Critic(), kl=Kl(weight=0.1, estimator="k1")),
        {"layout": "padded", "target_kl": 1.0, "epochs": 2, "minibatches": 4},
    ),
    "LoRA as a whole": (
        "lora",
        Loss(critic=Critic(), kl=Kl(weight=0.1, estimator="k1")),
        {"layout": "padded", "target_kl": 1.0, "epochs": 2, "minibatches": 4, "parallel": "replicate"},
    ),
    "all weights": (
        "full",
        Loss(critic=Critic(detached=True)),
        {"layout": "packed", "max_grad_norm": 0.1, "epochs": 1, "minibatches": 4, "target_kl": 0.0},
    ),
}


def model(directory: Path, tune: str, precision: Precision) -> LoadedModel:
    """A model with a LoRA that is not zero, so that every part of it has a gradient."""
    loaded = load_model(directory, dtype=torch.float32 if tune == "full" else choose_compute_type(precision))
    if tune == "full":
        return loaded
    tuned = attach_lora(loaded.model, rank=RANK, alpha=8, seed=3)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in tuned.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1, generator=generator)
    return LoadedModel(tuned, loaded.chat)


def without_weights(directory: Path, tune: str, precision: Precision) -> Any:
    """That model on the `meta` device."""
    empty = load_skeleton(directory, dtype=torch.float32 if tune == "full" else choose_compute_type(precision)).eval()
    if tune == "full":
        return empty
    with torch.device("meta"):
        return attach_lora(empty, rank=RANK, alpha=8, seed=3)


@dataclass(slots=True)
class LearnerParts:
    """A learner with its parts."""

    learner: Learner
    local: LocalLearner
    whole: Any
    """The model that is played. None in the second process if the model is sharded."""

    def do(self, work: Callable[[], None]) -> None:
        """Let the first process do the work, and the second follow."""
        if not isinstance(self.learner, DistributedLearner):
            work()
        elif self.local.world.leads:
            with self.learner.leading():
                work()
        else:
            self.learner.follow()


def make(directory: Path, world: Processes, case: tuple[str, Loss, dict[str, Any]]) -> LearnerParts:
    tune, loss, settings = case
    optimizer = Optimizer(**settings)
    loaded = model(directory, tune, optimizer.precision)
    loss = replace(loss, temperature=TEMPERATURE)
    whole = None
    if world.size == 1 or optimizer.parallel == "replicate":
        local = LocalLearner(loaded.model, loaded.pad, optimizer, loss=loss, world=world)
    else:  # only the first process has weights
        whole = loaded.model if world.leads else None
        empty = without_weights(directory, tune, optimizer.precision)
        local = LocalLearner(empty, loaded.pad, optimizer, loss=loss, world=world, weights=whole)
    if local.critic is not None:
        with torch.no_grad():
            local.critic.layer.weight.normal_(std=0.1, generator=torch.Generator().manual_seed(1))
    if world.size == 1:
        return LearnerParts(local, local, loaded.model)
    return LearnerParts(DistributedLearner(local, whole), local, whole if local.is_sharded else loaded.model)


def gradients(directory: Path, rows: list[Row], world: Processes, name: str) -> dict[str, Any]:
    """The gradients and metrics of one optimizer step at learning rate 0."""
    tune, loss, how = {**CASES, **EXPERTS}[name]
    made = make(directory, world, (tune, loss, {**PLAIN, **how}))
    mine = made.learner
    found: dict[str, Any] = {"sums": note_sums(made.local)}

    def work() -> None:
        found["metrics"] = mine.update(mine.annotate(rows), learning_rate=0.0, entropy_weight=0.05)
        found["scores"] = mine.score([(row.ids[:-1], row.ids[-1:]) for row in rows])

    made.do(work)
    found["gradients"] = {
        n: all_gather_tensor(p.grad) for n, p in made.local._stepper.named.items() if p.grad is not None
    }
    return found


def note_sums(local: LocalLearner) -> list[bool]:
    """A list of whether the backward pass of each micro-batch sums gradients, if they are summed once per step."""
    noted: list[bool] = []
    if (model := local._passes._summing) is not None:
        tell = model.set_requires_gradient_sync

        def note(sums: bool) -> None:
            noted.append(sums)
            tell(sums)

        model.set_requires_gradient_sync = note
    return noted


def moving(
    directory: Path, rows: list[Row], world: Processes, name: str, going_on: dict[str, torch.Tensor] | None = None
) -> dict[str, Any]:
    """The metrics of some steps with all calls of a run, the tensors of a checkpoint, and one more step."""
    made = make(directory, world, MOVING[name])
    mine = made.learner
    found: dict[str, Any] = {}
    prompts = [row.prompt for row in rows]

    def step(number: int) -> None:
        annotated = mine.annotate(rows)
        auxiliary = iter([(0.1, [(row.prompt, (7, 8)) for row in rows[n : n + 3]]) for n in range(4)] * 2)
        warm = number > 0
        seen = mine.update(
            annotated, learning_rate=1e-3, entropy_weight=0.01, seed=number, policy_learns=warm, auxiliary_sft=auxiliary
        )
        found[f"step {number}"] = seen | {"value": sum(mine.values_after(prompts))}

    def work() -> None:
        if going_on is None:
            step(0)
            found["imitated"] = mine.imitate([(row.prompt, (9,)) for row in rows[:3]], 1e-3)
            found["validated"] = mine.validate([Demonstration(row.prompt, (9,)) for row in rows[:3]])._asdict()
            step(1)
            mine.refresh_reference(0.5)
            found["checkpoint"] = {name: tensor.clone() for name, tensor in mine.tensors()}
        else:
            mine.load(going_on)
        step(2)
        if world.leads:
            found["whole"] = {n: p.detach().clone() for n, p in made.whole.named_parameters() if p.requires_grad}

    made.do(work)
    found["tensors"] = weights(made.local)
    return found


def moved(
    directory: Path, rows: list[Row], world: Processes, tune: str, precision: Precision, parallel: str
) -> dict[str, Any]:
    """The share of the weights that small steps change, the last step's loss, and number types."""
    settings = {"layout": "packed", "precision": precision, "epochs": 1, "parallel": parallel}
    made = make(directory, world, (tune, Loss(), settings))
    mine = made.learner
    computed: set[torch.dtype] = set()
    for layer in made.local.model.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.register_forward_pre_hook(lambda layer, _: computed.add(layer.weight.dtype))
    before = weights(made.local)
    found: dict[str, Any] = {}

    def work() -> None:
        for seed in range(3):
            mine.update(rows, learning_rate=1e-6, seed=seed)
        found["loss"] = mine.imitate([(row.prompt, (9,)) for row in rows[:3]], 1e-6)["train/sft_loss"]

    made.do(work)
    after = weights(made.local)
    learned = {name: tensor for name, tensor in before.items() if "embed_positions" not in name}
    changed = sum(int((after[name] != tensor).sum()) for name, tensor in learned.items())
    found["share"] = changed / sum(tensor.numel() for tensor in learned.values())
    found["computed"] = computed
    found["types"] = {(p.dtype, None if p.grad is None else p.grad.dtype) for p in made.local._stepper.named.values()}
    return found


def weights(local: LocalLearner) -> dict[str, torch.Tensor]:
    """The trained weights, complete in every process."""
    return {f"weights|{name}": all_gather_tensor(p.detach()).clone() for name, p in local._stepper.named.items()}


def everything(
    directory: Path, experts: Path, rows: list[Row], world: Processes, other: dict[str, Any] | None = None
) -> dict[str, Any]:
    """All results of the model in `directory`, and some of the mixture of experts. `other` holds the results of another
    number of processes; this one also resumes from its checkpoints."""
    found: dict[str, Any] = {name: gradients(directory, rows, world, name) for name in CASES}
    found |= {name: gradients(experts, rows, world, name) for name in EXPERTS}
    found |= {name: moving(directory, rows, world, name) for name in MOVING}
    found["moved"] = {
        (tune, precision, parallel): moved(directory, rows, world, tune, precision, parallel)
        for tune, parallel in WAYS
        for precision in PRECISIONS
    }
    for name in MOVING:
        if other is not None:
            found[f"{name}, going on"] = moving(directory, rows, world, name, other[name]["checkpoint"])
    return found


if __name__ == "__main__":
    place, directory, experts = map(Path, sys.argv[1:])
    torch.set_num_threads(1)
    given = torch.load(place / "given.pt", weights_only=False)
    with join_processes() as processes:
        result = everything(directory, experts, given["rows"], processes, given["alone"])
        group = torch.distributed.distributed_c10d._get_default_group()
        result["limit"] = group._get_backend(torch.device("cpu")).options._timeout
        torch.save(result, place / f"found-{processes.rank}.pt")
