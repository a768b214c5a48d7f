"""The canary: a check after each publish that the engine plays the learner's policy.

Updates can be lost silently. A server may keep an old adapter, or prefixes cached with old weights. It may also have
another base model or number type below the same adapter. PrimeIntellect-ai/prime-rl, verl and vLLM each had one of
these bugs (volcengine/verl#7495, vllm-project/vllm#42125). Training would then learn from replies of another policy.
The canary compares three things, from exact to statistical:

1. the digests of the adapter's tensors, if the engine reports them;
2. the log-probabilities of a few tokens sampled by the engine, whose mean difference must be within rounding tolerance:
   single tokens of large models may differ by more;
3. the changes of the log-probabilities of some hundred fixed tokens since an earlier version, in the engine and in the
   learner. Rounding to 16 bits hides single changes but not their correlation (`gymposium_agents.lora.moves`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from gymposium.errors import GymposiumError
from gymposium.util.streams import stream
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest, Tokens
from gymposium_agents.engines.protocol import DigestReporter, MultiServerEngine, TokenEngine
from gymposium_agents.lora.moves import ChangeTracker

TOKENS = 4
"""Maximum number of tokens per completion: enough to use the engine's cache, and cheap."""
TAIL = 40
"""Number of tokens at the end of each prompt to score after each publish."""

Scorer = Callable[[Sequence[tuple[Tokens, Tokens]]], Sequence[Sequence[float]]]
"""Returns the learner's log-probabilities, at temperature 1, of the tokens of each (prompt, completion)."""


class EngineMismatch(GymposiumError):
    """Error for an engine that does not play the published policy."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well an engine agrees with the published policy."""

    largest: float
    """The largest difference between the engine's and the learner's log-probability of a sampled token, in nats."""
    mean: float
    """The mean difference between the two log-probabilities, in nats. It must be within the tolerance."""
    correlation: float | None
    """The correlation between the engine's changes and the learner's, from 1 (equal) to 0 (unrelated). None if the
    learner has changed by no more than rounding since the reference version."""


def choose_tolerance(dtype: str) -> float:
    """Return the largest accepted mean difference in log-probabilities, in nats, for a number type (`float32`,
    `bfloat16`, `float16`).

    Measured on models of 3 and 8 layers with largest logits of 3 to 9, over 30 prompts each. One side used the engine's
    cache, and the other a single pass. No token differed by more than 1e-5 in float32, 0.013 in float16, and 0.09 in
    bfloat16. The tolerances are slightly higher, because larger models and other kernels round differently, and a
    false alarm stops a run."""
    return {"float32": 5e-5, "float64": 5e-5, "float16": 0.015}.get(dtype, 0.1)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The answers of an engine or of a single server."""

    completions: list[Completion]
    """One completion per prompt."""
    scores: list[tuple[float, ...]]
    """The log-probabilities of the fixed tokens. Empty if another policy answered."""
    digest: str | None
    """The digest of the adapter, or None if the engine does not report it."""


class Canary:
    """A check of an engine, or of each of its servers, after each publish. It stores the log-probabilities of earlier
    versions, to compare changes."""

    def __init__(self, prompts: Sequence[Tokens], *, tolerance: float) -> None:
        """The engine answers `prompts`, which have two tokens or more, and both sides score them. `tolerance` is the
        largest mean rounding difference, in nats (`choose_tolerance`)."""
        self.prompts, self._tolerance = (*prompts,), tolerance
        cuts = [max(1, len(prompt) - TAIL) for prompt in prompts]
        self._fixed = [(prompt[:cut], prompt[cut:]) for prompt, cut in zip(prompts, cuts, strict=True)]
        self._moves: defaultdict[str, ChangeTracker] = defaultdict(lambda: ChangeTracker(tolerance))
        """The changes of log-probabilities for each server, by name."""

    def check(
        self, engine: TokenEngine, policy: Policy, score: Scorer, digest: Callable[[], str] | None = None
    ) -> Agreement:
        """Let `engine` answer as `policy`, with a fixed seed, and compare it with the learner. `score` returns the
        learner's log-probabilities, and `digest` the digest of its adapter, or None without an adapter
        (`gymposium_agents.engines.adapters.compute_lora_digest`). No other random stream is used. With several servers,
        the agreement is that of the worst one.

        Raises `EngineMismatch` if another adapter is loaded, another policy answered, the mean difference exceeds
        rounding, or the engine did not change like the learner."""
        if isinstance(engine, MultiServerEngine):
            answers = engine.each_server(lambda server: self._ask(server, policy))
        else:
            answers = {"": self._ask(engine, policy)}
        expected = None if digest is None else digest()
        for name, answer in answers.items():
            _compare_names(_describe_server(name), policy, answer)
            _compare_digests(_describe_server(name), policy, answer, expected)
        # the fixed end of each prompt and what the engine sampled after it take one forward pass
        pairs = {
            name: [(start, end + done.ids) for (start, end), done in zip(self._fixed, answer.completions, strict=True)]
            for name, answer in answers.items()
        }
        distinct = [*dict.fromkeys(chain(*pairs.values()))]
        learned = dict(zip(distinct, score(distinct), strict=True))
        found = []
        for name, answer in answers.items():
            each = [(learned[pair], len(end)) for pair, (_, end) in zip(pairs[name], self._fixed, strict=True)]
            sampled, fixed = [scores[n:] for scores, n in each], [scores[:n] for scores, n in each]
            found.append(self._compare(name, policy, answer, sampled, fixed))
        correlations = [one.correlation for one in found if one.correlation is not None]
        return Agreement(
            max(one.largest for one in found), max(one.mean for one in found), min(correlations, default=None)
        )

    def _ask(self, engine: TokenEngine, policy: Policy) -> _Answers:
        requests = [TokenRequest(prompt, stream(0, "canary", i), policy) for i, prompt in enumerate(self.prompts)]
        completions = engine.generate(requests, Sampling(temperature=1.0, max_tokens=TOKENS))
        answered = all(completion.policy == policy for completion in completions)
        scores = engine.score(self._fixed, policy=policy) if answered else []
        return _Answers(completions, scores, engine.digest(policy) if isinstance(engine, DigestReporter) else None)

    def _compare(
        self,
        name: str,
        policy: Policy,
        answer: _Answers,
        sampled: Sequence[Sequence[float]],
        fixed: Sequence[Sequence[float]],
    ) -> Agreement:
        """Compare the log-probabilities of an engine or a server with the learner's, for the tokens it sampled and for
        the fixed tokens."""
        who = _describe_server(name)
        _compare_numbers(who, policy, [done.logprobs for done in answer.completions], sampled)
        _compare_numbers(who, policy, answer.scores, fixed)
        differences = [
            abs(by_engine - by_learner)
            for done, scores in zip(answer.completions, sampled, strict=True)
            for by_engine, by_learner in zip(done.logprobs, scores, strict=True)
        ]
        largest, mean = max(differences), sum(differences) / len(differences)
        if not mean <= self._tolerance:  # a NaN is a disagreement
            raise EngineMismatch(
                f"{policy} was published, but {who} does not play it: the log-probabilities of its {len(differences)} "
                f"sampled tokens differ from the learner's by {mean:.3g} nats on average, but rounding only explains "
                f"{self._tolerance:g}. Its replies must not be used for training. Either the adapter never arrived "
                f"({who} answers with old weights, or with prefixes cached under them), or {who} uses another base "
                f"model, adapter or number type than the learner. {_PUT_RIGHT}"
            )
        move = self._moves[name].compare([*chain(*answer.scores)], [*chain(*fixed)])
        if move is not None and not move.agrees:
            raise EngineMismatch(
                f"{policy} was published, but {who} did not change like the learner: since the reference version, the "
                f"log-probabilities of {move.tokens} tokens moved by {move.learner:.2g} nats in the learner and "
                f"{move.engine:.2g} in the engine, with a correlation of {move.correlation:.2f} instead of at least "
                f"{move.least:.2f}. Its replies must not be used for training. Most likely the update never arrived: "
                f"{who} answers with old weights. {_PUT_RIGHT}"
            )
        return Agreement(largest, mean, None if move is None else move.correlation)


_PUT_RIGHT = "Fix the cause or restart the engine, then resume from the last checkpoint."


def _describe_server(server: str) -> str:
    """Return the name of an engine or a server, for errors."""
    return f"the server at {server}" if server else "the engine"


def _compare_names(who: str, policy: Policy, answer: _Answers) -> None:
    """Raise `EngineMismatch` if another policy answered."""
    if others := sorted({str(completion.policy) for completion in answer.completions if completion.policy != policy}):
        raise EngineMismatch(
            f"{policy} was published, but {who} answered as {', '.join(others)}. Its replies must not be used for "
            f"training. Check the engine's log for why it did not load the adapter. Then resume from the last "
            f"checkpoint."
        )


def _compare_numbers(
    who: str, policy: Policy, by_engine: Sequence[Sequence[float]], by_learner: Sequence[Sequence[float]]
) -> None:
    """Raise `EngineMismatch` if the engine and the learner scored different numbers of tokens."""
    engine, learner = [*map(len, by_engine)], [*map(len, by_learner)]
    if engine != learner:
        raise EngineMismatch(
            f"{policy} was published, but {who} returned {sum(engine)} log-probabilities for {sum(learner)} tokens, "
            f"so it cannot be compared with the learner. It omits or adds tokens: report this to the engine's authors."
        )


def _compare_digests(who: str, policy: Policy, answer: _Answers, expected: str | None) -> None:
    """Raise `EngineMismatch` if the reported digest is not that of the learner's adapter."""
    if None not in (expected, answer.digest) and answer.digest != expected:
        raise EngineMismatch(
            f"{policy} was published, but {who} holds other weights under that name: the digest of the adapter's "
            f"tensors is {str(answer.digest)[:12]} in the engine and {str(expected)[:12]} in the learner. Its replies "
            f"must not be used for training, because the update never arrived. {_PUT_RIGHT}"
        )
