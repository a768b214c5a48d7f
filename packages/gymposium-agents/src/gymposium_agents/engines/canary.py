"""The canary: after each publish, does the engine play the policy that learns?

Updates get lost without a word: a server that goes on with an old adapter, cached prefixes of old weights, another
base model or number type beneath the same adapter (PrimeIntellect-ai/prime-rl, verl and vLLM each had one of them:
volcengine/verl#7495, vllm-project/vllm#42125). Training then goes on with replies of somebody else. Three things are
compared, from the exact one to the statistical ones:

1. the digest of the adapter's tensors, where the engine can tell which it loaded;
2. the log-probabilities of a few tokens that the engine samples, within what rounding explains;
3. how the log-probabilities of some hundred fixed tokens moved since an earlier version, by the engine and by the
   learner. In 16 bits rounding hides single moves, but not that the two correlate (`moves`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gymposium.errors import GymposiumError
from gymposium.streams import stream
from gymposium_agents.engines.protocol import TellsDigests, TokenEngine, Tokens
from gymposium_agents.lora.moves import Moves
from gymposium_agents.tokens import Policy, Sampling, TokenRequest

TOKENS = 4
"""Tokens that each prompt's completion has at most: enough to go through the cache, and cheap."""
TAIL = 40
"""So many of a prompt's last tokens are scored after each publish."""

Scorer = Callable[[Sequence[tuple[Tokens, Tokens]]], Sequence[Sequence[float]]]
"""Log-probabilities at temperature 1 of the tokens of each (prompt, completion), as the learner computes them."""


class EngineDisagrees(GymposiumError):
    """The engine does not play the policy that was published."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How nearly an engine plays what was published."""

    largest: float
    """The largest difference between the engine's and the learner's log-probability of a sampled token, in nats."""
    correlation: float | None
    """Between the engine's moves and the learner's, from 1 (the same) to 0 (unrelated); None where the learner has
    not moved by more than rounding since the version that is compared with."""


def tolerance_for(dtype: str) -> float:
    """How far two right computations of one log-probability may be apart, in nats, where the model's numbers are of
    this type (`float32`, `bfloat16`, `float16`).

    Measured over models of 3 and 8 layers whose largest logits were 3 to 9, one side through the engine's cache and
    one in a single pass, over 30 prompts each: float32 differs by 1e-5 at most, float16 (11 bits) by 0.013, bfloat16
    (8 bits) by 0.09. Each has room for three times that and more, because a false alarm stops a run: logits of large
    models are larger, and other kernels round otherwise."""
    return {"float32": 1e-4, "float64": 1e-4, "float16": 0.04}.get(dtype, 0.3)


class Canary:
    """Checks one engine after each publish. It keeps what it saw of earlier versions, to compare moves."""

    def __init__(self, prompts: Sequence[Tokens], *, tolerance: float) -> None:
        """`prompts` of two tokens or more are answered by the engine, and scored by both. `tolerance` is what rounding
        explains, in nats (`tolerance_for`)."""
        self.prompts, self._tolerance = (*prompts,), tolerance
        cuts = [max(1, len(prompt) - TAIL) for prompt in prompts]
        self._fixed = [(prompt[:cut], prompt[cut:]) for prompt, cut in zip(prompts, cuts, strict=True)]
        self._moves = Moves(tolerance)

    def check(
        self, engine: TokenEngine, policy: Policy, score: Scorer, digest: Callable[[], str] | None = None
    ) -> Agreement:
        """Let `engine` answer as `policy`, with a fixed seed, and compare it with the learner, which scores tokens by
        `score` and gives the digest of its adapter, where it has one, by `digest`
        (`gymposium_agents.engines.adapters.lora_digest`). No other random stream is touched.

        Raises `EngineDisagrees` where another adapter is loaded or another policy answered, where a log-probability
        is further off than rounding explains, and where the engine did not move as the learner did."""
        requests = [TokenRequest(prompt, stream(0, "canary", i), policy) for i, prompt in enumerate(self.prompts)]
        completions = engine.generate(requests, Sampling(temperature=1.0, max_tokens=TOKENS))
        if others := sorted({str(completion.policy) for completion in completions if completion.policy != policy}):
            raise EngineDisagrees(
                f"{policy} was published, but the engine answered as {', '.join(others)}. Its replies must not be "
                f"learned from. Look into the engine's own log for why it did not take the adapter, and go on from the "
                f"last checkpoint."
            )
        _compare_digests(engine, policy, digest)
        sampled = [(request.prompt, done.ids) for request, done in zip(requests, completions, strict=True)]
        learned = score([*sampled, *self._fixed])
        largest = _largest(
            abs(engine_says - learner_says)
            for done, scores in zip(completions, learned[: len(sampled)], strict=True)
            for engine_says, learner_says in zip(done.logprobs, scores, strict=True)
        )
        if not largest <= self._tolerance:  # a NaN is a disagreement
            raise EngineDisagrees(
                f"{policy} was published, but the engine does not play it: its log-probabilities of its own tokens are "
                f"up to {largest:.3g} nats from the learner's, and rounding explains {self._tolerance:g}. Its replies "
                f"must not be learned from. Either the adapter never arrived (the engine answers with old weights, or "
                f"with prefixes that it cached under them), or it holds another base model or adapter, or computes in "
                f"another number type than the learner. {_PUT_RIGHT}"
            )
        move = self._moves.compare(_flat(engine.score(self._fixed, policy=policy)), _flat(learned[len(sampled) :]))
        if move is not None and not move.agrees:
            raise EngineDisagrees(
                f"{policy} was published, but the engine did not move as the learner did: since the version that is "
                f"compared with, the log-probabilities of {move.tokens} tokens moved by {move.learner:.2g} nats in the "
                f"learner and {move.engine:.2g} in the engine, with a correlation of {move.correlation:.2f}, where at "
                f"least {move.least:.2f} is expected. Its replies must not be learned from. Most likely the update "
                f"never arrived: the engine answers with old weights. {_PUT_RIGHT}"
            )
        return Agreement(largest, None if move is None else move.correlation)


_PUT_RIGHT = "Put that right, or start the engine anew, and go on from the last checkpoint."


def _compare_digests(engine: TokenEngine, policy: Policy, digest: Callable[[], str] | None) -> None:
    """Raises `EngineDisagrees` where the engine can tell what it loaded, and that is not the learner's adapter."""
    if digest is None or not isinstance(engine, TellsDigests) or (loaded := engine.digest(policy)) is None:
        return
    if loaded != (expected := digest()):
        raise EngineDisagrees(
            f"{policy} was published, but the engine holds other weights under that name: the digest of the adapter's "
            f"tensors is {loaded[:12]} in the engine and {expected[:12]} in the learner. Its replies must not be "
            f"learned from: the update never arrived. {_PUT_RIGHT}"
        )


def _flat(scores: Sequence[Sequence[float]]) -> list[float]:
    return [score for row in scores for score in row]


def _largest(differences: Iterable[float]) -> float:
    """The largest; NaN where there is one, wherever it stands (`max` keeps it only where it comes first)."""
    found = [*differences]
    return math.nan if any(map(math.isnan, found)) else max(found)
