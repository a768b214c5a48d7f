"""The canary: a check after each publish that the engine plays the policy that learns.

Updates can be lost without an error: a server keeps an old adapter, or cached prefixes of old weights, or has another
base model or number type below the same adapter (PrimeIntellect-ai/prime-rl, verl and vLLM each had one of these bugs:
volcengine/verl#7495, vllm-project/vllm#42125). Training would then learn from replies of another policy. The canary
compares three things, from exact to statistical:

1. the digests of the adapter's tensors, if the engine reports them;
2. the log-probabilities of a few tokens that the engine samples, within the tolerance of rounding;
3. the changes of the log-probabilities of some hundred fixed tokens since an earlier version, in the engine and in the
   learner. Rounding to 16 bits hides single changes but not their correlation (`gymposium_agents.lora.moves`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from gymposium.errors import GymposiumError
from gymposium.streams import stream
from gymposium_agents.engines.protocol import TellsDigests, TokenEngine
from gymposium_agents.lora.moves import Moves
from gymposium_agents.tokens import Policy, Sampling, TokenRequest, Tokens

TOKENS = 4
"""Maximum number of tokens of each completion: enough to use the engine's cache, and cheap."""
TAIL = 40
"""Number of tokens at the end of each prompt that are scored after each publish."""

Scorer = Callable[[Sequence[tuple[Tokens, Tokens]]], Sequence[Sequence[float]]]
"""Function that returns the learner's log-probabilities, at temperature 1, of the tokens of each (prompt,
completion)."""


class EngineDisagrees(GymposiumError):
    """Error for an engine that does not play the policy that was published."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Measured agreement of an engine with the published policy."""

    largest: float
    """The largest difference between the engine's and the learner's log-probability of a sampled token, in nats."""
    correlation: float | None
    """The correlation between the engine's changes and the learner's, from 1 (equal) to 0 (unrelated); None if the
    learner has not changed by more than rounding since the version of the comparison."""


def tolerance_for(dtype: str) -> float:
    """Return the largest difference, in nats, between two correct computations of one log-probability by a model whose
    numbers have this type (`float32`, `bfloat16`, `float16`).

    Measured on models of 3 and 8 layers whose largest logits were 3 to 9, one side through the engine's cache and one
    in a single pass, over 30 prompts each: float32 differs by 1e-5 at most, float16 (11 bits) by 0.013, bfloat16
    (8 bits) by 0.09. The tolerances are at least three times as large, because a false alarm stops a run: logits of
    large models are larger, and other kernels round differently."""
    return {"float32": 1e-4, "float64": 1e-4, "float16": 0.04}.get(dtype, 0.3)


class Canary:
    """Checks one engine after each publish. It stores the log-probabilities of earlier versions, to compare changes."""

    def __init__(self, prompts: Sequence[Tokens], *, tolerance: float) -> None:
        """The engine answers `prompts`, which have two tokens or more, and both sides score them. `tolerance` is the
        difference that rounding explains, in nats (`tolerance_for`)."""
        self.prompts, self._tolerance = (*prompts,), tolerance
        cuts = [max(1, len(prompt) - TAIL) for prompt in prompts]
        self._fixed = [(prompt[:cut], prompt[cut:]) for prompt, cut in zip(prompts, cuts, strict=True)]
        self._moves = Moves(tolerance)

    def check(
        self, engine: TokenEngine, policy: Policy, score: Scorer, digest: Callable[[], str] | None = None
    ) -> Agreement:
        """Let `engine` answer as `policy`, with a fixed seed, and compare it with the learner. `score` returns the
        learner's log-probabilities, `digest` the digest of its adapter if it has one
        (`gymposium_agents.engines.adapters.lora_digest`). No other random stream is used.

        Raises `EngineDisagrees` if another adapter is loaded, another policy answered, a log-probability differs by
        more than rounding explains, or the engine did not change as the learner did."""
        requests = [TokenRequest(prompt, stream(0, "canary", i), policy) for i, prompt in enumerate(self.prompts)]
        completions = engine.generate(requests, Sampling(temperature=1.0, max_tokens=TOKENS))
        if others := sorted({str(completion.policy) for completion in completions if completion.policy != policy}):
            raise EngineDisagrees(
                f"{policy} was published, but the engine answered as {', '.join(others)}. Its replies must not be "
                f"learned from. The engine's log may say why it did not load the adapter. Then resume from the last "
                f"checkpoint."
            )
        _compare_digests(engine, policy, digest)
        sampled = [(request.prompt, done.ids) for request, done in zip(requests, completions, strict=True)]
        learned = score([*sampled, *self._fixed])
        differences = [
            abs(by_engine - by_learner)
            for done, scores in zip(completions, learned[: len(sampled)], strict=True)
            for by_engine, by_learner in zip(done.logprobs, scores, strict=True)
        ]
        largest = math.nan if any(map(math.isnan, differences)) else max(differences)
        if not largest <= self._tolerance:  # a NaN is a disagreement
            raise EngineDisagrees(
                f"{policy} was published, but the engine does not play it: its log-probabilities of the tokens that it "
                f"sampled are up to {largest:.3g} nats from the learner's, and rounding explains {self._tolerance:g}. "
                f"Its replies must not be learned from. Either the adapter never arrived (the engine answers with old "
                f"weights, or with prefixes that it cached under them), or it holds another base model or adapter, or "
                f"computes in another number type than the learner. {_PUT_RIGHT}"
            )
        scores_now = engine.score(self._fixed, policy=policy)
        move = self._moves.compare([*chain(*scores_now)], [*chain(*learned[len(sampled) :])])
        if move is not None and not move.agrees:
            raise EngineDisagrees(
                f"{policy} was published, but the engine did not change as the learner did: since the version of the "
                f"comparison, the log-probabilities of {move.tokens} tokens moved by {move.learner:.2g} nats in the "
                f"learner and {move.engine:.2g} in the engine, with a correlation of {move.correlation:.2f}, where at "
                f"least {move.least:.2f} is expected. Its replies must not be learned from. Most likely the update "
                f"never arrived: the engine answers with old weights. {_PUT_RIGHT}"
            )
        return Agreement(largest, None if move is None else move.correlation)


_PUT_RIGHT = "Fix the cause or restart the engine, then resume from the last checkpoint."


def _compare_digests(engine: TokenEngine, policy: Policy, digest: Callable[[], str] | None) -> None:
    """Raises `EngineDisagrees` if the engine reports the digest of another adapter than the learner's."""
    if digest is None or not isinstance(engine, TellsDigests) or (loaded := engine.digest(policy)) is None:
        return
    if loaded != (expected := digest()):
        raise EngineDisagrees(
            f"{policy} was published, but the engine holds other weights under that name: the digest of the adapter's "
            f"tensors is {loaded[:12]} in the engine and {expected[:12]} in the learner. Its replies must not be "
            f"learned from: the update never arrived. {_PUT_RIGHT}"
        )
