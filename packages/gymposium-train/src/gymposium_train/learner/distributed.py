"""A learner split over several processes. The first process calls it, and the others repeat the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from gymposium_agents.lora.saving import save_lora
from gymposium_train.learner.local import LocalLearner
from gymposium_train.learner.parallel.parts import all_gather_tensor
from gymposium_train.learner.protocol import AuxiliarySft, Demonstration, ImitationScore, Pair
from gymposium_train.learner.rows import Row, Tokens
from gymposium_train.learner.tensor_files import read_tensors, write_tensors

P = ParamSpec("P")
T = TypeVar("T")


class DistributedLearner:
    """A proxy learner: each call is broadcast, and every process calls its own learner, which holds a part of the
    model.

    Each process makes a proxy for the same model. The first process uses it like any `Learner`, inside `leading()`. In
    the other processes, `follow()` repeats the calls until the first process leaves that block."""

    def __init__(self, local: LocalLearner, whole: Any | None = None) -> None:
        """`whole`, in the first process, is a complete copy of a sharded model. Each update also updates its trained
        weights, so the copy can play and be saved. It may be on the CPU."""
        self._local, self._world, self._whole = local, local.world, whole

    @property
    def policy_version(self) -> int:
        return self._local.policy_version

    @policy_version.setter
    def policy_version(self, version: int) -> None:
        self._local.policy_version = version

    @property
    def critic(self) -> object | None:
        return self._local.critic

    @property
    def tolerance(self) -> float:
        return self._local.tolerance

    @contextmanager
    def leading(self) -> Iterator[None]:
        """Let the other processes follow inside the block. If the block raises an error, they are not notified, because
        torchrun ends them."""
        try:
            yield
        except KeyboardInterrupt:
            self._world.command()
            raise
        self._world.command()

    def follow(self) -> None:
        """Repeat the calls of the first process until it leaves `leading()`. Hours may pass between two calls, while
        the first process plays."""
        no_call: tuple[str, tuple[Any, ...], dict[str, Any]] = ("", (), {})
        while self._world.command(False):  # the first process's value replaces the one passed here
            name, arguments, options = self._world.broadcast(no_call)
            result = self._run_call(getattr(self._local, name), *arguments, **options)
            if isinstance(result, Iterator):
                deque(result, maxlen=0)

    def annotate(self, rows: Sequence[Row]) -> list[Row]:
        return self._call_learners(self._local.annotate, rows)

    def refresh_reference(self, share: float = 1.0) -> None:
        self._call_learners(self._local.refresh_reference, share)

    def values_after(self, prompts: Sequence[Tokens]) -> list[float]:
        return self._call_learners(self._local.values_after, prompts)

    def score(self, pairs: Sequence[Pair], temperature: float = 1.0) -> list[tuple[float, ...]]:
        return self._call_learners(self._local.score, pairs, temperature)

    def update(
        self, rows: Sequence[Row], *, auxiliary_sft: AuxiliarySft | None = None, **options: Any
    ) -> dict[str, float]:
        """Update like `Learner.update`. SFT batches are drawn here and sent to all processes."""
        optimizer = self._local.settings
        steps = optimizer.epochs * optimizer.minibatches
        batches = None if auxiliary_sft is None else iter([*islice(auxiliary_sft, steps)])
        return self._call_learners(self._local.update, rows, auxiliary_sft=batches, **options)

    def imitate(self, demonstrations: Sequence[Demonstration | Pair], learning_rate: float) -> dict[str, float]:
        return self._call_learners(self._local.imitate, demonstrations, learning_rate)

    def validate(self, demonstrations: Sequence[Demonstration]) -> ImitationScore:
        return self._call_learners(self._local.validate, demonstrations)

    def save_state(self, directory: Path, *, weights_only: bool = False) -> None:
        """Save like `LocalLearner.save_state`. The first process writes everything."""
        model = self._local.model if self._whole is None else self._whole
        if hasattr(model, "peft_config"):
            with self.in_float32():
                save_lora(model, directory)
        write_tensors(self.tensors(weights_only=weights_only), directory)

    def load_state(self, directory: Path, *, weights_only: bool = False) -> None:
        with read_tensors(directory) as tensors:
            self.load(tensors, weights_only=weights_only)

    def tensors(self, *, weights_only: bool = False) -> Iterator[tuple[str, Tensor]]:
        """Yield tensors like `LocalLearner.tensors`."""
        yield from self._call_learners(self._local.tensors, weights_only=weights_only)

    def load(self, tensors: Mapping[str, Tensor] | None, *, weights_only: bool = False) -> None:
        """Load like `LocalLearner.load`. The other processes receive their parts of the tensors."""
        self._send_call("load", None, weights_only=weights_only)
        self._run_call(self._local.load, tensors, weights_only=weights_only)

    def in_float32(self) -> AbstractContextManager[None]:
        """Hold float32 weights like `LocalLearner.in_float32`."""
        return self._local.in_float32()

    def _call_learners(self, method: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Call a method of every process's learner."""
        self._send_call(method.__name__, *arguments, **options)
        return self._run_call(method, *arguments, **options)

    def _send_call(self, name: str, *arguments: Any, **options: Any) -> None:
        self._world.command(True)
        self._world.broadcast((name, arguments, options))

    def _run_call(self, method: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Call a method of this process's learner. If it changes weights, update those of the whole model."""
        result = method(*arguments, **options)
        if method.__name__ in ("update", "imitate", "load") and self._local.is_sharded:
            self._update_whole_model()
        return result

    @torch.no_grad()
    def _update_whole_model(self) -> None:
        """Copy the weights to the whole model. All processes take part, because each holds a part of every weight."""
        targets = {} if self._whole is None else dict(self._whole.named_parameters())
        for name, parameter in self._local.named.items():
            weights = all_gather_tensor(parameter)
            if targets:
                targets[name].copy_(weights)
