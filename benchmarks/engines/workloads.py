"""Batches of prompts, and three ways to answer them: our engine, a bare key-value-cache loop, transformers' `generate`.

All sides get the same prompts, all distinct, and sample as many tokens for each: nothing ends a reply. Before anything
is timed, the log-probabilities that our engine and the bare loop return are held against plain forward passes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from benchmarks.bare_torch import compute_logits, sample_bare, sample_transformers
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest
from gymposium_agents.engines.transformers import TransformersEngine, unwrap_peft

ROWS = 64
PAD = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """`ROWS` prompts: a shared prefix of some tokens, then between `least` and `most` distinct ones."""

    name: str
    shared: int
    least: int
    most: int
    new: int
    """Tokens that are sampled for each."""

    def requests(self, vocabulary: int) -> list[TokenRequest]:
        rng = random.Random(self.name)
        head = rng.choices(range(1, vocabulary), k=self.shared)
        tails = [rng.choices(range(1, vocabulary), k=rng.randint(self.least, self.most)) for _ in range(ROWS)]
        return [TokenRequest((*head, *tail), random.Random(row)) for row, tail in enumerate(tails)]


NOTHING_SHARED = Workload("40 tokens, nothing shared", 0, 40, 40, 32)
SHARED = Workload("200 shared tokens and 15 to 39 of its own", 200, 15, 39, 8)


def compare(model: Any, work: Workload, repeats: int, clock: Callable[[], float], tolerance: float) -> dict[str, Any]:
    """Measure the tokens per second of each side and our speedup: medians over the repeats, with the sides taking
    turns.

    `first` is our engine's first batch with new weights, which also reads the shared prefix. Raises `SystemExit` if the
    sides differ by more than `tolerance`.
    """
    own = Policy("learner") if hasattr(model, "peft_config") else None
    engine = TransformersEngine(model, stops=frozenset(), pad=PAD, policy=own)
    bare = unwrap_peft(model)
    sampling = Sampling(1.0, work.new)
    vocabulary = bare.config.vocab_size

    def ours() -> list[Completion]:
        return engine.generate(work.requests(vocabulary), sampling)

    def loop() -> list[Completion]:
        return sample_bare(bare, work.requests(vocabulary), sampling, pad=PAD, stop=None)

    def library() -> None:
        sample_transformers(bare, work.requests(vocabulary), sampling, pad=PAD, stop=None)

    apart = max(_apart(bare, work.requests(vocabulary), side()) for side in (ours, loop))
    if not apart <= tolerance:
        raise SystemExit(f"{work.name}: log-probabilities are {apart:.1e} from those of plain forward passes.")
    sides: dict[str, Callable[[], object]] = {"first": ours, "ours": ours, "bare": loop, "transformers": library}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for side in sides.values():
        side()
    for _ in range(repeats):
        for name, side in sides.items():
            if name == "first":
                engine.weights_changed(engine.policy)
            start = clock()
            side()
            seconds[name].append(clock() - start)
    tokens = ROWS * work.new
    return {
        "workload": work.name,
        "new_tokens": work.new,
        "largest_logprob_difference": apart,
        "tokens_per_second": {name: round(tokens / median(spent)) for name, spent in seconds.items()},
        "ours_is_faster": {
            f"{mine} than {other}": _ratio(seconds[other], seconds[mine])
            for mine in ("first", "ours")
            for other in ("bare", "transformers")
        },
    }


def _ratio(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Return the median, lowest and highest ratio."""
    ratios = [t / o for t, o in zip(theirs, ours, strict=True)]
    return [round(one, 2) for one in (median(ratios), min(ratios), max(ratios))]


@torch.inference_mode()
def _apart(model: Any, requests: Sequence[TokenRequest], completions: Sequence[Completion]) -> float:
    """Return the largest difference between the completions' log-probabilities and those of a forward pass without a
    cache."""
    most = 0.0
    for request, completion in zip(requests, completions, strict=True):
        logits, tokens, _ = compute_logits(model, [(request.prompt, completion.ids)], PAD)
        scores = torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[0, :, 0].cpu()
        most = max(most, float((scores - torch.tensor(completion.logprobs)).abs().max()))
    return most


def rows(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return a table line for each comparison."""
    lines = []
    for one in found:
        rates, faster = one["tokens_per_second"], one["ours_is_faster"]
        lines.append(
            [
                f"{one['model']}: {one['workload']}, {one['new_tokens']} new",
                *(f"{rates[side]:,}" for side in ("ours", "bare", "transformers")),
                *(
                    "{:.2f} ({:.2f} to {:.2f})".format(*faster[f"ours than {side}"])
                    for side in ("bare", "transformers")
                ),
                "{:.2f}".format(faster["first than transformers"][0]),
            ]
        )
    return lines


HEAD = (
    "model and prompts",
    "engine",
    "bare loop",
    "`generate`",
    "engine is so many times as fast as the bare loop",
    "as `generate`",
    "as `generate`, first batch with new weights",
)
