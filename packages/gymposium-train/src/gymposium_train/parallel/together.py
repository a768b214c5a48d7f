"""The learner of several processes: the first one's is asked, the others' are told and do the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gymposium.errors import BadOption
from gymposium_train.config import Optimizer
from gymposium_train.learner import Learner, Loss
from gymposium_train.learner.learner import Beside
from gymposium_train.learner.passes import Pair
from gymposium_train.parallel.parts import full
from gymposium_train.parallel.world import World
from gymposium_train.rows import Row, Tokens


class Together(Learner):
    """Learns as `Learner` does, with a part of the model in each process. Each makes one of the same model. In the
    first process it is used as any learner, inside `leading()`; in the others `follow()` does what that one does, until
    it is through."""

    def __init__(
        self,
        model: Any,
        pad: int,
        settings: Optimizer,
        *,
        world: World,
        whole: Any | None = None,
        loss: Loss | None = None,
        dumps: Path | None = None,
    ) -> None:
        """`whole` is the same model once more, of the first process: what is trained of it has the newest weights
        whenever the learner is not being asked something, and can be played and saved. It may stay on the CPU.

        Raises `BadOption` for a layout in which processes would not do the same, and as `Learner` does."""
        if settings.layout == "shared":
            raise BadOption(
                "optimizer.layout = shared: on several processes all must run the model equally often, and how often "
                "that is would depend here on what a process's rows begin with alike. Set layout=padded or packed."
            )
        super().__init__(model, pad, settings, loss=loss, dumps=dumps, world=world)
        if whole is not None:
            self.whole = whole

    @contextmanager
    def leading(self) -> Iterator[None]:
        """The others follow, inside the block. Where it is left by an error they are not told: what they did was
        broken off as well, and whoever started the processes ends them all."""
        try:
            yield
        except KeyboardInterrupt:
            self.world.called()
            raise
        self.world.called()

    def follow(self) -> None:
        """Do what the first process's learner does, until it is through. Between what it asks for it plays, and may be
        long."""
        while True:
            called: bool | None = self.world.called()
            if not called:
                return
            asked: tuple[str, tuple[Any, ...], dict[str, Any]] = self.world.told()
            name, arguments, more = asked
            getattr(self, name)(*arguments, **more)

    def annotate(self, rows: Sequence[Row]) -> None:
        self._tell("annotate", rows)
        super().annotate(rows)

    def refresh_reference(self) -> None:
        self._tell("refresh_reference")
        super().refresh_reference()

    def values_after(self, prompts: Sequence[Tokens]) -> list[float]:
        self._tell("values_after", prompts)
        return super().values_after(prompts)

    def score(self, pairs: Sequence[Pair]) -> list[tuple[float, ...]]:
        self._tell("score", pairs)
        return super().score(pairs)

    def update(
        self,
        rows: Sequence[Row],
        *,
        learning_rate: float,
        entropy_weight: float = 0.0,
        kl_weight: float | None = None,
        seed: int = 0,
        policy_learns: bool = True,
        beside: Beside | None = None,
    ) -> dict[str, float]:
        most = self.settings.epochs * self.settings.minibatches
        batches = None if beside is None else [*islice(beside, most)]
        how: dict[str, Any] = {
            "learning_rate": learning_rate,
            "entropy_weight": entropy_weight,
            "kl_weight": kl_weight,
            "seed": seed,
            "policy_learns": policy_learns,
        }
        self._tell("update", rows, **how, beside=batches)
        metrics = super().update(rows, **how, beside=None if batches is None else iter(batches))
        self._renew()
        return metrics

    def imitate(self, pairs: Sequence[Pair], learning_rate: float) -> dict[str, float]:
        self._tell("imitate", pairs, learning_rate)
        metrics = super().imitate(pairs, learning_rate)
        self._renew()
        return metrics

    def tensors(self) -> Iterator[tuple[str, Tensor]]:
        self._tell("send_tensors")
        yield from super().tensors()

    def send_tensors(self) -> None:
        """What the other processes do while the first runs through `tensors`."""
        for _ in super().tensors():
            pass

    def load(self, tensors: Mapping[str, Tensor] | None = None) -> None:
        self._tell("load")
        super().load(tensors)
        self._renew()

    def _tell(self, name: str, *arguments: Any, **more: Any) -> None:
        if self.world.leads:
            self.world.called(True)
            self.world.told((name, arguments, more))

    @torch.no_grad()
    def _renew(self) -> None:
        """Let the whole model have the weights as they are now."""
        there = dict(self.whole.named_parameters()) if self.whole is not self.model else {}
        for name, parameter in self.named.items():
            weights = full(parameter)
            if there:
                there[name].copy_(weights)
