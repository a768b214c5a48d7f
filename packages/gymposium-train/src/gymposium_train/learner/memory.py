"""Estimates of the memory needed for learning, from a model's shapes, without its weights.

An update runs on fake tensors, which have shapes but no numbers, while the sizes of all live tensors are added up. An
estimate therefore reflects the architecture, the layout, checkpointing and the LoRA. It takes about a second for any
model. The parts it misses are small: kernel workspaces, the optimizer's temporary tensors, and memory kept by the
allocator (`gymposium_train.run.memory.return_large_blocks`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from gymposium_agents.engines.transformers import unwrap_peft
from gymposium_train.config.learn import Optimizer
from gymposium_train.config.model import Attention
from gymposium_train.learner.checkpointing import use_checkpointing
from gymposium_train.learner.head import LOGIT_BYTES
from gymposium_train.learner.layouts import make_microbatches
from gymposium_train.learner.rows import Row, Span
from gymposium_train.learner.scorer import Scorer

NF4 = 0.53
"""Bytes per weight in 4 bits, including the scales of its block (Dettmers et al., 2023, QLoRA)."""
MASTER, ADAMW = 4, 8
"""Bytes per trained weight in float32, and per weight for AdamW's two moments."""


@dataclass(frozen=True, slots=True)
class LearnerMemory:
    """The memory of a learner in bytes, by part."""

    weights: int
    """All weights in the number type for computation, and the trained ones in float32, too."""
    gradients: int
    """Gradients of the trained weights, in float32."""
    optimizer: int
    """AdamW's moments."""
    activations: int
    """Temporary tensors, and those that a micro-batch keeps for its backward pass."""
    logits: int
    """One piece of the logits."""
    frozen: int
    """The part of `weights` that is not trained."""
    trained: int
    """Number of trained weights."""
    gathered: int
    """The weights, in the number type for computation, that a sharded model holds at once: those outside the layers,
    one layer, and the next one."""

    @property
    def total(self) -> int:
        """The peak memory of an update."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.logits

    def shard(self, processes: int) -> LearnerMemory:
        """Return the memory of one of several processes that share the model. Its shards of the trained weights are
        the float32 masters. Copies exist only in the gathered layers."""
        return replace(
            self,
            weights=(self.frozen + MASTER * self.trained) // processes + self.gathered,
            gradients=self.gradients // processes,
            optimizer=self.optimizer // processes,
        )


def estimate_learner_memory(
    make: Callable[[], Any],
    settings: Optimizer,
    *,
    prompt: int,
    reply: int,
    attention: Attention = "auto",
    four_bits: bool = False,
) -> LearnerMemory:
    """Estimate the memory of an update with micro-batches of `settings.tokens_per_pass` tokens, in rows of `prompt`
    tokens followed by `reply` sampled ones.

    `make` makes the model, or the PEFT model, in its number type for computation. It is called with `meta` as the
    default device. With `four_bits`, the frozen linear layers except the output count as 4 bits."""
    with torch.device("meta"):
        model = make()
    with FakeTensorMode(allow_non_fake_inputs=True):
        _make_tensors_fake(model)
        parameters = [*model.parameters()]
        trained = [p for p in parameters if p.requires_grad]
        for parameter in trained:
            parameter.grad = torch.zeros_like(parameter)  # as from an earlier micro-batch
        counted = "blocks" if attention == "varlen" else attention  # as much memory, on any device
        scorer = Scorer(model, 0, settings.rows_layout, counted, check=False)
        sequences = [
            Row((number, *[0] * (prompt + reply - 1)), (Span(prompt, prompt + reply),))
            for number in range(max(1, settings.tokens_per_pass // (prompt + reply)))
        ]
        [batch, *_] = make_microbatches(sequences, settings.tokens_per_pass, scorer.layout)
        with use_checkpointing(unwrap_peft(model), enabled=bool(settings.checkpointing)), _measure_peak() as peak:
            logprobs = scorer([sequences[i] for i in batch], 1.0, entropy=True).logprobs
            assert logprobs is not None
            logprobs.sum().backward()
    count = sum(p.numel() for p in trained)
    frozen = sum(p.numel() * p.element_size() for p in parameters if not p.requires_grad)
    if four_bits:
        output = model.get_output_embeddings()
        layers = [m for m in model.modules() if isinstance(m, nn.Linear) and m is not output]
        small = [layer.weight for layer in layers if not layer.weight.requires_grad]
        frozen -= sum(int(weight.numel() * (weight.element_size() - NF4)) for weight in small)
    copies = sum(p.numel() * p.element_size() for p in trained if p.dtype != torch.float32)
    parts = [_count_bytes(m) for m in model.modules() if type(m).__name__ in (model._no_split_modules or ())]
    outside = _count_bytes(model) - sum(parts)
    logits = min(LOGIT_BYTES, 8 * len(batch) * reply * scorer.vocabulary)
    return LearnerMemory(
        weights=frozen + copies + MASTER * count,
        gradients=MASTER * count,
        optimizer=ADAMW * count,
        activations=max(0, peak() - logits),
        logits=logits,
        frozen=frozen,
        trained=count,
        gathered=outside + 2 * max(parts, default=0),
    )


def _count_bytes(module: nn.Module) -> int:
    return sum(p.numel() * p.element_size() for p in module.parameters())


def _make_tensors_fake(model: nn.Module) -> None:
    """Replace all tensors of a module with fake ones on the CPU. Tied parameters stay tied."""
    made: dict[Tensor, Tensor] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                if parameter not in made:
                    made[parameter] = nn.Parameter(torch.empty_like(parameter, device="cpu"), parameter.requires_grad)
                module._parameters[name] = cast(nn.Parameter, made[parameter])
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = torch.empty_like(buffer, device="cpu")


class _MemoryCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode that adds up the memory of live tensors."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = 0
        self._now = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        compute = _make_grouped_output if func is torch.ops.aten._grouped_mm.default else func
        outputs: Any = compute(*args, **(kwargs or {}))
        for output in outputs if isinstance(outputs, tuple | list) else (outputs,):
            if isinstance(output, Tensor):
                self._note_storage(output.untyped_storage())
        return outputs

    def _note_storage(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key not in self._known:
            self._known.add(key)
            self._now += size
            self.peak = max(self.peak, self._now)
            weakref.finalize(storage, self._forget_storage, key, size)

    def _forget_storage(self, key: int, size: int) -> None:
        self._known.discard(key)
        self._now -= size


def _make_grouped_output(one: Tensor, other: Tensor, offsets: Tensor, *others: Any, **options: Any) -> Tensor:
    """Return an empty tensor shaped like the product in a mixture of experts. The factors are rows [S, K] and experts
    [E, K, N], or for a gradient of experts [K, S] and [S, N]. PyTorch's own fake kernel rejects float32."""
    shape = (len(one), other.shape[-1]) if other.ndim == 3 else (len(offsets), len(one), other.shape[-1])
    return one.new_empty(shape)


@contextmanager
def _measure_peak() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the peak memory of tensors made in the block, in bytes."""
    with _MemoryCounter() as sizes:
        yield lambda: sizes.peak
