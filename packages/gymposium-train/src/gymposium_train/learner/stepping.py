"""Optimizer steps: learning rates, clipping, and handling of non-finite gradients."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gymposium.errors import GymposiumError
from gymposium.util.durable import replace_text
from gymposium_train.config.learn import Optimizer
from gymposium_train.learner.parallel.parts import all_gather_tensor


class Stepper:
    """AdamW over the policy's and the critic's parameters. The critic has a separate learning rate and clipping."""

    def __init__(
        self,
        policy: Mapping[str, nn.Parameter],
        critic: Mapping[str, nn.Parameter],
        settings: Optimizer,
        dumps: Path | None,
    ) -> None:
        self.named = {**policy, **critic}
        self._groups = [dict(policy), dict(critic)] if critic else [dict(policy)]
        self._settings, self._dumps = settings, dumps
        decays = (settings.weight_decay, 0.0)
        groups = [
            {"params": [*group.values()], "weight_decay": decay}
            for group, decay in zip(self._groups, decays, strict=False)
        ]
        # fused kernels have no temporary copy of the weights, which the estimate of memory does not count, and are
        # several times faster for small models
        is_fused = all(parameter.device.type in ("cpu", "cuda") for parameter in self.named.values()) or None
        self.optimizer = torch.optim.AdamW(groups, lr=0.0, betas=(settings.beta1, settings.beta2), fused=is_fused)
        self.bad_in_a_row = 0

    def step(self, rates: Iterable[float], what: Callable[[], dict[str, Any]]) -> tuple[float, bool]:
        """Clip the gradients and step, with the learning rates of the policy and of the critic. Returns the norm of the
        policy's gradient before clipping, and whether the step was taken. A step with a non-finite gradient is skipped,
        and `what` returns its data for the dump.

        Raises `GymposiumError` after `max_bad_steps` skipped steps in a row."""
        norms = []
        for settings, group, rate in zip(self.optimizer.param_groups, self._groups, rates, strict=False):
            settings["lr"] = rate
            norms.append(
                float(
                    all_gather_tensor(torch.nn.utils.clip_grad_norm_([*group.values()], self._settings.max_grad_norm))
                )
            )
        if all(map(math.isfinite, norms)):
            self.bad_in_a_row = 0
            self.optimizer.step()
            return norms[0], True
        self.bad_in_a_row += 1
        dump = self._dump_step(norms, what)
        if self.bad_in_a_row >= self._settings.max_bad_steps:
            described = f" See {dump} for the last one." if dump else ""
            raise GymposiumError(
                f"The gradient was not finite in {self.bad_in_a_row} consecutive optimizer steps.{described} Start a "
                f"new run with a lower optimizer.learning_rate."
            )
        return norms[0], False

    def _dump_step(self, norms: list[float], what: Callable[[], dict[str, Any]]) -> Path | None:
        """Write a skipped step to a file. All processes must call it, because gathering a gradient is a collective."""
        bad = [
            name
            for name, p in self.named.items()
            if p.grad is not None and not bool(all_gather_tensor(p.grad).isfinite().all())
        ]
        if self._dumps is None:
            return None
        self._dumps.mkdir(parents=True, exist_ok=True)
        file = self._dumps / f"bad-{len([*self._dumps.glob('bad-*.json')]) + 1:03d}.json"
        data = {"norms": [str(norm) for norm in norms], "parameters": bad, **what()}
        replace_text(file, json.dumps(data, indent=1) + "\n")
        return file
