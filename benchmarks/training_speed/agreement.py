"""Whether the sides compute the same: asked before anything is timed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import torch

from benchmarks.bare_torch import compute_logits
from benchmarks.training_speed.bare import MICRO_BATCH
from benchmarks.training_speed.work import Noting, Work
from gymposium_agents.chat.tokens import Completion
from gymposium_agents.engines.transformers import unwrap_peft

Sampled = Sequence[Sequence[Completion]]


def differences(learner: Noting, work: Work, pad: int, ours: Sampled, bare: Sampled) -> dict[str, float]:
    """Return how far the log-probabilities that came with samples are from those of the other side's forward pass, so
    that four computations must give one number. All at temperature 1."""
    return {
        "our engine, bare forward": _largest(ours, _bare(learner, work, pad, ours)),
        "bare generation, our forward": _largest(bare, learner.score(_pairs(work, bare))),
    }


def _pairs(work: Work, sampled: Sampled) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    prompts, completions = chain.from_iterable(work.rounds), chain.from_iterable(sampled)
    return [(prompt, one.ids) for prompt, one in zip(prompts, completions, strict=True)]


@torch.inference_mode()
def _bare(learner: Noting, work: Work, pad: int, sampled: Sampled) -> list[tuple[float, ...]]:
    pairs, found = _pairs(work, sampled), []
    for first in range(0, len(pairs), MICRO_BATCH):
        some = pairs[first : first + MICRO_BATCH]
        logits, tokens, _ = compute_logits(unwrap_peft(learner.model), some, pad)
        scores = torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[..., 0]
        found += [tuple(row[: len(said)]) for row, (_, said) in zip(scores.tolist(), some, strict=True)]
    return found


def _largest(sampled: Sampled, scored: Sequence[tuple[float, ...]]) -> float:
    """NaN where one of them is."""
    mine = [p for one in chain.from_iterable(sampled) for p in one.logprobs]
    return float((torch.tensor(mine) - torch.tensor([*chain.from_iterable(scored)])).abs().max())
