"""The canary: after each publish, does the engine play the policy that learns?

Updates get lost without a word: a server that goes on with an old adapter, cached prefixes of old weights, another
base model or number type beneath the same adapter (PrimeIntellect-ai/prime-rl, verl and vLLM each had one of them:
volcengine/verl#7495, vllm-project/vllm#42125). Training then goes on with replies of somebody else. So the engine
samples a few tokens as the new policy, and the learner says how likely it would have been to sample them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from gymposium.errors import GymposiumError
from gymposium.streams import stream
from gymposium_agents.engines.protocol import TokenEngine, Tokens
from gymposium_agents.tokens import Policy, Sampling, TokenRequest

TOKENS = 4
"""Tokens that each prompt's completion has at most: enough to go through the cache, and cheap."""

Scorer = Callable[[Sequence[tuple[Tokens, Tokens]]], Sequence[Sequence[float]]]
"""Log-probabilities at temperature 1 of the tokens of each (prompt, completion), as the learner computes them."""


class EngineDisagrees(GymposiumError):
    """The engine does not play the policy that was published."""


def tolerance_for(dtype: str) -> float:
    """How far two right computations of one log-probability may be apart, in nats, where the model's numbers are of
    this type (`float32`, `bfloat16`, `float16`).

    Measured over models of 3 and 8 layers whose largest logits were 3 to 9, one side through the engine's cache and
    one in a single pass, over 30 prompts each: float32 differs by 1e-5 at most, float16 (11 bits) by 0.013, bfloat16
    (8 bits) by 0.09. Each has room for three times that and more, because a false alarm stops a run: logits of large
    models are larger, and other kernels round otherwise. So a lost update of a 16-bit model is seen once the learner
    has moved some token's log-probability by more than this, which may take some steps; in float32 at once."""
    return {"float32": 1e-4, "float64": 1e-4, "float16": 0.04}.get(dtype, 0.3)


def check_published(
    engine: TokenEngine, policy: Policy, prompts: Sequence[Tokens], score: Scorer, *, tolerance: float
) -> float:
    """Let `engine` answer `prompts` as `policy`, with a fixed seed, and compare its log-probabilities with those that
    `score` gives for the same tokens. Returns the largest difference, in nats. No other random stream is touched.

    Raises `EngineDisagrees` where it is above `tolerance`, or where another policy answered."""
    requests = [TokenRequest(prompt, stream(0, "canary", i), policy) for i, prompt in enumerate(prompts)]
    completions = engine.generate(requests, Sampling(temperature=1.0, max_tokens=TOKENS))
    others = sorted({str(completion.policy) for completion in completions if completion.policy != policy})
    if others:
        raise EngineDisagrees(
            f"{policy} was published, but the engine answered as {', '.join(others)}. Its replies must not be learned "
            f"from. Look into the engine's own log for why it did not take the adapter, and go on from the last "
            f"checkpoint."
        )
    found = score([(request.prompt, done.ids) for request, done in zip(requests, completions, strict=True)])
    worst = _largest(
        abs(engine_says - learner_says)
        for done, learned in zip(completions, found, strict=True)
        for engine_says, learner_says in zip(done.logprobs, learned, strict=True)
    )
    if not worst <= tolerance:  # a NaN is a disagreement
        raise EngineDisagrees(
            f"{policy} was published, but the engine does not play it: its log-probabilities of its own tokens are up "
            f"to {worst:.3g} nats from the learner's, and rounding explains {tolerance:g}. Its replies must not be "
            f"learned from. Either the adapter never arrived (the engine answers with old weights, or with prefixes "
            f"that it cached under them), or it holds another base model or adapter, or computes in another number "
            f"type than the learner. Put that right, or start the engine anew, and go on from the last checkpoint."
        )
    return worst


def _largest(differences: Iterable[float]) -> float:
    """The largest; NaN where there is one, wherever it stands (`max` keeps it only where it comes first)."""
    found = [*differences]
    return math.nan if any(map(math.isnan, found)) else max(found)
