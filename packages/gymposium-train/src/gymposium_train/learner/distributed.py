"""A learner that is split over several processes: the first process calls it, and the others follow."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from gymposium_train.learner.local import LocalLearner
from gymposium_train.learner.protocol import AuxiliarySft, Pair
from gymposium_train.parallel.parts import full
from gymposium_train.rows import Row, Tokens


class DistributedLearner:
    """A proxy: each call is broadcast, and every process calls its own learner, which holds a part of the model.

    Each process makes one, of the same model. In the first process it is used as any `Learner`, inside `leading()`; in
    the others `follow()` repeats the calls until the first process leaves that block."""

    def __init__(self, local: LocalLearner, whole: Any | None = None) -> None:
        """`whole` is the same model once more, in the first process. Its trained weights are renewed after each update,
        so it can be played and saved. It may stay on the CPU."""
        self._local, self._world, self._whole = local, local.world, whole

    @property
    def policy_version(self) -> int:
        return self._local.policy_version

    @property
    def critic(self) -> object | None:
        return self._local.critic

    @property
    def tolerance(self) -> float:
        return self._local.tolerance

    @contextmanager
    def leading(self) -> Iterator[None]:
        """The other processes follow inside the block. An error that leaves the block is not sent to them: torchrun
        ends all processes."""
        try:
            yield
        except KeyboardInterrupt:
            self._world.command()
            raise
        self._world.command()

    def follow(self) -> None:
        """Repeat the calls of the first process until it leaves `leading()`. It may be long between two calls, while
        the first process plays."""
        while True:
            goes_on: bool | None = self._world.command()
            if not goes_on:
                return
            name, arguments, options = self._world.broadcast(_NO_CALL)
            result = self._run(name, *arguments, **options)
            if isinstance(result, Iterator):
                deque(result, maxlen=0)

    def annotate(self, rows: Sequence[Row]) -> None:
        self._call("annotate", rows)

    def refresh_reference(self) -> None:
        self._call("refresh_reference")

    def values_after(self, prompts: Sequence[Tokens]) -> list[float]:
        values: list[float] = self._call("values_after", prompts)
        return values

    def score(self, pairs: Sequence[Pair]) -> list[tuple[float, ...]]:
        scores: list[tuple[float, ...]] = self._call("score", pairs)
        return scores

    def update(
        self, rows: Sequence[Row], *, auxiliary_sft: AuxiliarySft | None = None, **options: Any
    ) -> dict[str, float]:
        """As `Learner.update`. The batches of SFT are drawn here and sent to all processes."""
        optimizer = self._local.settings
        steps = optimizer.epochs * optimizer.minibatches
        batches = None if auxiliary_sft is None else [*islice(auxiliary_sft, steps)]
        metrics: dict[str, float] = self._call("update", rows, auxiliary_sft=batches, **options)
        return metrics

    def imitate(self, pairs: Sequence[Pair], learning_rate: float) -> dict[str, float]:
        metrics: dict[str, float] = self._call("imitate", pairs, learning_rate)
        return metrics

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        yield from self._call("tensors")

    def load(self, tensors: Mapping[str, Tensor] | None) -> None:
        """As `Learner.load`. The other processes get their parts of the tensors, not the tensors."""
        self._send("load", None)
        self._run("load", tensors)

    def in_float32(self) -> AbstractContextManager[None]:
        return self._local.in_float32()

    def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        self._send(name, *arguments, **options)
        return self._run(name, *arguments, **options)

    def _send(self, name: str, *arguments: Any, **options: Any) -> None:
        self._world.command(True)
        self._world.broadcast((name, arguments, options))

    def _run(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Call this process's own learner. After a call that changes weights, renew those of the whole model."""
        if options.get("auxiliary_sft") is not None:
            options["auxiliary_sft"] = iter(options["auxiliary_sft"])
        result = getattr(self._local, name)(*arguments, **options)
        if name in ("update", "imitate", "load"):
            self._renew_whole()
        return result

    @torch.no_grad()
    def _renew_whole(self) -> None:
        """Copy the weights to the whole model. All processes take part, since each has a part of every weight."""
        targets = {} if self._whole is None else dict(self._whole.named_parameters())
        for name, parameter in self._local.named.items():
            weights = full(parameter)
            if targets:
                targets[name].copy_(weights)


_NO_CALL: tuple[str, tuple[Any, ...], dict[str, Any]] = ("", (), {})
"""What a process that follows puts into a broadcast, which overwrites it."""
