"""The server agrees with plain transformers and PEFT, for the base model and for adapters."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gymposium_agents.chat.tokens import BASE, Policy, Sampling, TokenRequest
from gymposium_agents.engines.vllm.engine import VllmEngine

from .conftest import FIRST, SECOND, Oracle

TOLERANCE = 1e-4
EVERYBODY = pytest.mark.parametrize("policy", [BASE, FIRST, SECOND], ids=str)
MakeRequest = Callable[..., TokenRequest]


@EVERYBODY
def test_scores_match_transformers(
    engine: VllmEngine, oracle: Oracle, policy: Policy, some_ids: Callable[[str, int], tuple[int, ...]]
) -> None:
    pairs = [(some_ids(f"p{i}", 5 + 9 * i), some_ids(f"c{i}", 100)) for i in range(10)]
    scored = engine.score(pairs, policy=policy)
    expected = [oracle.score(policy, *pair) for pair in pairs]
    differences = [abs(a - b) for ours, theirs in zip(scored, expected, strict=True) for a, b in zip(ours, theirs)]
    assert len(differences) == 1000
    assert max(differences) < TOLERANCE


def test_base_and_adapters_are_different_policies(
    engine: VllmEngine, some_ids: Callable[[str, int], tuple[int, ...]]
) -> None:
    pair = (some_ids("p", 20), some_ids("c", 20))
    assert len({engine.score([pair], policy=policy)[0] for policy in (BASE, FIRST, SECOND)}) == 3


@EVERYBODY
def test_greedy_completions_match_except_for_ties(
    engine: VllmEngine, oracle: Oracle, policy: Policy, make_request: MakeRequest
) -> None:
    requests = [make_request(i, policy) for i in range(8)]
    for request, completion in zip(requests, engine.generate(requests, Sampling(0.0, 32)), strict=True):
        rows = oracle.rows(policy, request.prompt, completion.ids, 1.0)
        for row, token, logprob in zip(rows, completion.ids, completion.logprobs, strict=True):
            assert float(row[token]) > float(row.max()) - TOLERANCE
            assert logprob == pytest.approx(float(row[token]), abs=TOLERANCE)


@EVERYBODY
@pytest.mark.parametrize("temperature", [0.6, 1.0])
def test_reported_logprobs_match_transformers(
    engine: VllmEngine, oracle: Oracle, policy: Policy, temperature: float, make_request: MakeRequest
) -> None:
    requests = [make_request(i, policy) for i in range(8)]
    for request, completion in zip(requests, engine.generate(requests, Sampling(temperature, 32)), strict=True):
        expected = oracle.score(policy, request.prompt, completion.ids, temperature)
        assert completion.policy == policy
        assert completion.logprobs == pytest.approx(expected, abs=TOLERANCE)


def test_replies_end_with_end_of_turn_or_are_truncated(engine: VllmEngine, make_request: MakeRequest, end: int) -> None:
    completions = engine.generate([make_request(i) for i in range(24)], Sampling(1.0, 300))
    stopped = [c for c in completions if c.finish_reason == "stop"]
    cut_off = [c for c in completions if c.finish_reason == "length"]
    assert stopped
    assert cut_off
    assert all(c.ids[-1] == end and end not in c.ids[:-1] for c in stopped)
    assert all(len(c.ids) == 300 and end not in c.ids for c in cut_off)


def test_replies_filling_the_context_can_be_scored(
    engine: VllmEngine, oracle: Oracle, make_request: MakeRequest
) -> None:
    requests = [make_request(i, length=engine.context - 3) for i in range(2)]
    for request, completion in zip(requests, engine.generate(requests, Sampling(1.0, 50)), strict=True):
        assert len(completion.ids) <= 3
        assert engine.score([(request.prompt, completion.ids)]) == [
            pytest.approx(oracle.score(SECOND, request.prompt, completion.ids), abs=TOLERANCE)
        ]
