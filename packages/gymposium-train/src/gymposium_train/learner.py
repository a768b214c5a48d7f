"""The learner: rows in, optimizer steps out. It knows nothing of games or episodes.

Equal (prompt, completion) pairs are scored once and their rows gathered from the one result, and equal
prompts are run once (`gymposium_agents.forward`); both are exact.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gymposium.errors import GymposiumError
from gymposium.streams import stream
from gymposium_agents.engines.transformers import base_of
from gymposium_agents.forward import Tokens, chunked, completion_logits
from gymposium_train.config import Grpo
from gymposium_train.objective import entropy, ppo_clip
from gymposium_train.rows import Row

MAX_BAD_STEPS = 5
"""So many steps in a row with a non-finite gradient stop the run."""


@dataclass(slots=True)
class Metrics:
    """Weighted means of what the minibatches of an update showed."""

    sums: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, value: float, weight: float = 1.0) -> None:
        self.sums[name] = self.sums.get(name, 0.0) + value * weight
        self.weights[name] = self.weights.get(name, 0.0) + weight

    def means(self) -> dict[str, float]:
        return {name: self.sums[name] / self.weights[name] for name in self.sums if self.weights[name]}


class Learner:
    """Holds a model's trainable parameters and their optimizer (AdamW)."""

    def __init__(self, model: Any, pad: int, *, token_budget: int, max_grad_norm: float = 1.0) -> None:
        self.model = model
        self.pad = pad
        self.token_budget = token_budget
        self.max_grad_norm = max_grad_norm
        self.named = {name: p for name, p in model.named_parameters() if p.requires_grad}
        if not self.named:
            raise GymposiumError("The model has no trainable parameters.")
        self.optimizer = torch.optim.AdamW(self.named.values(), lr=0.0, weight_decay=0.0)
        self.policy_version = 0
        """Optimizer steps so far."""
        self._bad_steps = 0

    def imitate(self, pairs: Sequence[tuple[Tokens, Tokens]], learning_rate: float) -> dict[str, float]:
        """One SFT step: maximise the mean log-probability of the completions' tokens."""
        counts = Counter(pairs)
        unique = list(counts)
        total = sum(len(completion) * count for (_, completion), count in counts.items())
        loss_so_far = 0.0
        self.optimizer.zero_grad(set_to_none=True)
        for chunk in chunked(unique, self.token_budget):
            logprobs, mask, _ = self._score([unique[i] for i in chunk])
            weights = torch.tensor([counts[unique[i]] for i in chunk], device=mask.device)[:, None] * mask
            loss = -(logprobs * weights).sum() / total
            loss.backward()  # type: ignore[no-untyped-call]
            loss_so_far += loss.item()
        return {"loss": loss_so_far, "grad_norm": self._step(learning_rate)}

    def reinforce(
        self, rows: Sequence[Row], settings: Grpo, *, learning_rate: float, entropy_weight: float, seed: int
    ) -> dict[str, float]:
        """One PPO-style update: `epochs` passes over the rows, each in `minibatches` optimizer steps.

        The behaviour policy is the engine: its log-probabilities are the old ones. Losses are sums over tokens
        with one denominator for all minibatches, so that every token weighs the same wherever it falls and
        however a minibatch is cut for memory.
        """
        metrics = Metrics()
        total = sum(len(row.completion) for row in rows) / settings.minibatches
        for epoch in range(settings.epochs):
            for batch in minibatches(rows, settings.minibatches, stream(seed, "epoch", epoch)):
                self._gradient(batch, total, settings, entropy_weight, metrics)
                metrics.add("grad_norm", self._step(learning_rate))
        return metrics.means()

    def _gradient(self, rows: list[Row], total: float, settings: Grpo, entropy_weight: float, metrics: Metrics) -> None:
        """The gradient of one minibatch; `total` is what its sums are divided by."""
        members: dict[tuple[Tokens, Tokens], list[Row]] = {}
        for row in rows:
            members.setdefault((row.prompt, row.completion), []).append(row)
        unique = list(members)
        self.optimizer.zero_grad(set_to_none=True)
        for chunk in chunked(unique, self.token_budget):
            scored, mask, logits = self._score([unique[i] for i in chunk], settings.temperature)
            device = scored.device
            mine = [(n, row) for n, i in enumerate(chunk) for row in members[unique[i]]]
            index = torch.tensor([n for n, _ in mine], device=device)
            advantages = torch.tensor([[row.advantage] for _, row in mine], device=device)
            real = mask[index]
            old = torch.zeros(real.shape, device=device)
            for r, (_, row) in enumerate(mine):
                old[r, : len(row.logprobs)] = torch.tensor(row.logprobs)
            logprobs = scored[index]
            policy = (ppo_clip(logprobs, old, advantages, settings.clip_low, settings.clip_high) * real).sum() / total
            counts = torch.bincount(index, minlength=len(chunk))[:, None] * mask
            spread = (entropy(logits) * counts).sum() / total
            (policy - entropy_weight * spread).backward()  # type: ignore[no-untyped-call]
            share = float(real.sum()) / total
            metrics.add("policy_loss", policy.item() / share, share)
            metrics.add("entropy", spread.item() / share, share)
            with torch.no_grad():
                _note_ratios(metrics, (logprobs - old) * real, real, settings, share)

    def score(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[tuple[float, ...]]:
        """Log-probabilities at temperature 1 of each pair's completion tokens, in order, computed as an update
        computes them."""
        unique = list(dict.fromkeys(pairs))
        found: dict[tuple[Tokens, Tokens], tuple[float, ...]] = {}
        with torch.no_grad():
            for chunk in chunked(unique, self.token_budget):
                logprobs, _, _ = self._score([unique[i] for i in chunk])
                for i, row in zip(chunk, logprobs.tolist(), strict=True):
                    found[unique[i]] = tuple(row[: len(unique[i][1])])
        return [found[pair] for pair in pairs]

    def _score(self, pairs: Sequence[tuple[Tokens, Tokens]], temperature: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probabilities [C, L] of distinct pairs' completion tokens, their mask, and the logits [C, L, V],
        all at the sampling temperature and in float32."""
        logits, tokens, mask = completion_logits(base_of(self.model), pairs, self.pad)
        if temperature != 1.0:
            logits = logits / temperature
        scored = torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[..., 0]
        return scored, mask, logits

    def _step(self, learning_rate: float) -> float:
        """Clip, step and count; a non-finite gradient is skipped, and several in a row stop the run."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        norm = float(torch.nn.utils.clip_grad_norm_(list(self.named.values()), self.max_grad_norm))
        if not math.isfinite(norm):
            self._bad_steps += 1
            if self._bad_steps >= MAX_BAD_STEPS:
                raise GymposiumError(
                    f"The gradient was not finite in {MAX_BAD_STEPS} steps in a row. Begin a new run with a learning "
                    f"rate below {learning_rate:g}."
                )
            return norm
        self._bad_steps = 0
        self.optimizer.step()
        self.policy_version += 1
        return norm


def minibatches(rows: Sequence[Row], parts: int, rng: random.Random) -> Iterator[list[Row]]:
    """The rows in at most `parts` minibatches of about equal size, at random, but with rows of the same
    prompt together: they are scored in one pass, and their advantages are relative to each other."""
    by_prompt: dict[Tokens, list[Row]] = {}
    for row in rows:
        by_prompt.setdefault(row.prompt, []).append(row)
    prompts = list(by_prompt)
    rng.shuffle(prompts)
    batch: list[Row] = []
    for prompt in prompts:
        batch += by_prompt[prompt]
        if len(batch) * parts >= len(rows):
            yield batch
            batch = []
    if batch:
        yield batch


def _note_ratios(metrics: Metrics, difference: Tensor, real: Tensor, settings: Grpo, share: float) -> None:
    """How far the policy has moved from the one that sampled; names as in CleanRL's `ppo.py`.
    `difference` [R, L] is log-probability less old log-probability, 0 on padding."""
    tokens = real.sum()
    ratio = difference.exp()
    outside = (ratio < 1.0 - settings.clip_low) | (ratio > 1.0 + settings.clip_high)
    metrics.add("approx_kl", float(((ratio - 1.0) - difference).sum() / tokens), share)  # Schulman's k3
    metrics.add("clipfrac", float(outside.sum() / tokens), share)
