"""Requests to vLLM's completions endpoint, and the answers. Both contain token ids."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.util.visible import quantity
from gymposium_agents.chat.tokens import BASE, Completion, FinishReason, Policy, Sampling, TokenRequest, Tokens

SEED_BITS = 63
"""Number of bits of a seed; vLLM requires a signed integer of 64 bits."""

MOST = 2**31 - 1
"""Largest token id and largest count that a server may report."""
_ROUNDING = 1e-3
"""Largest log-probability that a server may report. It is above 0 to allow for rounding."""
_ENDS = ("stop", "length")
"""Finish reasons of a completion that was not aborted."""


class MalformedAnswer(Exception):
    """Error for an answer that does not have the requested form."""


def make_completion_body(
    request: TokenRequest, sampling: Sampling, *, max_tokens: int, stops: frozenset[int], seeded: bool
) -> dict[str, Any]:
    """Return the body of a request for one completion. It sets each field that has a default in the server, and only
    `stops` end a reply. If it is `seeded`, sending the body again gives the same completion."""
    seed = {"seed": request.rng.getrandbits(SEED_BITS)} if seeded else {}
    return {
        **seed,
        "prompt": list(request.prompt),
        "max_tokens": max_tokens,
        "temperature": sampling.temperature,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "n": 1,
        "stop_token_ids": sorted(stops),
        "ignore_eos": True,
        "logprobs": 0,  # those of the sampled tokens only
        "return_token_ids": True,
    }


def parse_completion(answer: Mapping[str, Any], policy: Policy, stops: frozenset[int]) -> Completion:
    """Return the sampled tokens, including the one that ended the reply. Raises `MalformedAnswer` if the answer has no
    tokens, because the server aborted the request."""
    ids, logprobs, finish = _parse_part(answer)
    if finish not in _ENDS or not ids:
        raise MalformedAnswer(f"an aborted completion: {finish!r}")
    return Completion(ids, logprobs, "stop" if ids[-1] in stops else "length", policy)


class StreamedCompletion:
    """A completion that arrives in parts. `TokenRequest.watch` gets each token once, as it arrives, even if the request
    is sent again after a server was lost."""

    def __init__(self, stops: frozenset[int], watch: Callable[[int], bool]) -> None:
        self._policy, self._stops, self._watch = BASE, stops, watch
        self._seen: list[int] = []
        """The tokens passed to `watch`."""
        self._ids: list[int] = []
        self._logprobs: list[float] = []

    def begin(self, policy: Policy) -> None:
        """Forget the parts of an earlier attempt, before the request is sent to a server that answers as `policy`."""
        self._policy = policy
        self._ids.clear()
        self._logprobs.clear()

    def take(self, part: Mapping[str, Any]) -> Completion | None:
        """Add a part of the answer. Returns the completion if this part ends it.

        Raises `MalformedAnswer` if the part has another form or the server aborted the request. Raises `GymposiumError`
        if a repeated request gives other tokens, because the first ones cannot be taken back."""
        ids, logprobs, finish = _parse_part(part)
        for token, logprob in zip(ids, logprobs, strict=True):
            self._ids.append(token)
            self._logprobs.append(logprob)
            if self._is_end(token):
                return self._make_completion("stop")
        if finish is None:
            return None
        if finish not in _ENDS or not self._ids:
            raise MalformedAnswer(f"an aborted completion: {finish!r}")
        return self._make_completion("stop" if self._ids[-1] in self._stops else "length")

    def _is_end(self, token: int) -> bool:
        """Return True if `watch` ends the completion at this token, which is the newest."""
        place = len(self._ids) - 1
        if place == len(self._seen):
            self._seen.append(token)
            return self._watch(token)
        if self._seen[place] != token:
            raise GymposiumError(
                "The vLLM server stopped in the middle of a reply, after part of it was shown, and the retry sampled "
                "another reply. Send the request again."
            )
        return False

    def _make_completion(self, finish: FinishReason) -> Completion:
        return Completion(tuple(self._ids), tuple(self._logprobs), finish, self._policy)


def _parse_part(answer: Mapping[str, Any]) -> tuple[Tokens, tuple[float, ...], Any]:
    """Return the tokens of an answer or a part of it, their log-probabilities and the finish reason. The reason is None
    if more follows. Raises `MalformedAnswer` if they are missing."""
    try:
        choice = answer["choices"][0]
        ids = tuple(map(_parse_token, choice["token_ids"]))
        logprobs = tuple(map(_parse_logprob, choice["logprobs"]["token_logprobs"]))
        finish = choice["finish_reason"]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise MalformedAnswer(f"an answer without token ids and log-probabilities: {answer}") from error
    if len(ids) != len(logprobs):
        raise MalformedAnswer(f"{quantity(len(ids), 'token')} with {len(logprobs)} log-probabilities")
    return ids, logprobs, finish


def make_score_body(prompt: Tokens, completion: Tokens) -> dict[str, Any]:
    """Return the body of a request for the log-probabilities of given tokens. The server samples at least one more
    token."""
    return {
        "prompt": [*prompt, *completion],
        "max_tokens": 1,
        "temperature": 1.0,
        "prompt_logprobs": 0,
    }


def parse_scores(answer: Mapping[str, Any], prompt: Tokens, completion: Tokens) -> tuple[float, ...]:
    """Return one log-probability for each token of the completion. Raises `MalformedAnswer` if the answer does not have
    them."""
    try:
        rows = answer["choices"][0]["prompt_logprobs"][len(prompt) :]
        return tuple(_parse_logprob(row[str(token)]["logprob"]) for row, token in zip(rows, completion, strict=True))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise MalformedAnswer(f"an answer without the log-probabilities of its prompt: {answer}") from error


def make_probe_body(token: int, temperature: float) -> dict[str, Any]:
    """Return the body of a tiny request. Its answers at two temperatures show whether log-probabilities are computed at
    the sampling temperature."""
    return {"prompt": [token], "max_tokens": 1, "temperature": temperature, "seed": 0, "logprobs": 1, "top_k": 0}


def parse_likeliest(answer: Mapping[str, Any]) -> float:
    """Return the log-probability of the most likely first token. Raises `MalformedAnswer` if the answer does not have
    it."""
    try:
        return max(map(_parse_logprob, answer["choices"][0]["logprobs"]["top_logprobs"][0].values()))
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise MalformedAnswer(f"an answer without log-probabilities: {answer}") from error


def check_count(value: object) -> int:
    """Check a server's count of tokens or requests. Raises `MalformedAnswer` if the value is not a count."""
    if type(value) is not int or not 1 <= value <= MOST:
        raise MalformedAnswer(f"a count that is not a whole number from 1 to {MOST}: {str(value)[:80]}")
    return value


def parse_digests(report: Mapping[str, Any], policy: Policy) -> list[str]:
    """Return the digests of a policy from a server's report, if it has any. Raises `MalformedAnswer` for a malformed
    report."""
    weights, adapters = report.get("weights") or {}, report.get("adapters", {})
    if not isinstance(weights, dict) or not isinstance(adapters, dict):
        raise MalformedAnswer(f"a report without adapters and weights: {str(report)[:80]}")
    if weights.get("version") == str(policy):
        return check_digests(weights.get("digests"))
    return check_digests(adapters.get(str(policy), []))


def check_digests(value: object) -> list[str]:
    """Check a server's list of digests, one per worker. A worker without a digest gets an empty text. Raises
    `MalformedAnswer` for anything else."""
    if not isinstance(value, list) or not all(one is None or isinstance(one, str) for one in value):
        raise MalformedAnswer(f"digests that are not a list of texts: {str(value)[:80]}")
    return [one or "" for one in value]


def check_cards(value: object) -> list[dict[str, Any]]:
    """Check a server's list of models. Raises `MalformedAnswer` if one has no name."""
    if not isinstance(value, list) or not all(
        isinstance(card, dict) and isinstance(card.get("id"), str) for card in value
    ):
        raise MalformedAnswer(f"a list of models without names: {str(value)[:80]}")
    return value


def _parse_token(value: object) -> int:
    if type(value) is not int or not 0 <= value <= MOST:
        raise ValueError(f"{str(value)[:80]} is not a token id")
    return value


def _parse_logprob(value: object) -> float:
    if type(value) not in (int, float) or not -math.inf < value <= _ROUNDING:  # type: ignore[operator]
        raise ValueError("no log-probability")
    return float(value)  # type: ignore[arg-type]
