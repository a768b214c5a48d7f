"""Each of many concurrent requests gets its own, reproducible answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from gymposium_agents.chat.tokens import BASE, Completion, Policy, Sampling, TokenRequest
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import Server

from .conftest import FIRST, SECOND, make_adapter

MakeRequest = Callable[..., TokenRequest]
POLICIES = (BASE, FIRST, SECOND)


@pytest.fixture(scope="module")
def alone(shared_engine: VllmEngine, make_request: MakeRequest, warm: Sampling) -> dict[tuple[int, Policy], Completion]:
    """The answers to requests that are sent one at a time."""
    return {
        (number, policy): shared_engine.generate([make_request(number, policy)], warm)[0]
        for number in range(6)
        for policy in POLICIES
    }


@settings(max_examples=8)
@given(which=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(POLICIES)), min_size=2, max_size=48))
def test_concurrent_answers_are_never_mixed(
    shared_engine: VllmEngine,
    make_request: MakeRequest,
    warm: Sampling,
    alone: dict[tuple[int, Policy], Completion],
    which: list[tuple[int, Policy]],
) -> None:
    futures = [shared_engine.submit(make_request(number, policy), warm) for number, policy in which]
    for asked, future in zip(which, futures, strict=True):
        completion = future.result()
        assert completion.ids == alone[asked].ids
        assert completion.policy == asked[1]


def test_base_is_unaffected_by_many_adapters(
    engine: VllmEngine, server: Server, make_request: MakeRequest, warm: Sampling, model_directory: Path, tmp_path: Path
) -> None:
    several = [make_request(number, BASE) for number in range(6)]
    alone = [engine.generate([request], warm)[0] for request in several]
    crowd = [Policy("crowd", version) for version in range(1, server.settings.max_loras + 2)]
    for policy in crowd:
        engine.publish(make_adapter(model_directory, tmp_path / str(policy), rank=8), policy)
    for policy in crowd:
        others = [make_request(number, policy) for number in range(12)]
        beside = engine.generate([*others, *(make_request(number, BASE) for number in range(6))], warm)[12:]
        assert [completion.ids for completion in beside] == [completion.ids for completion in alone]
    engine.publish(tmp_path / str(crowd[0]), crowd[0])
    for policy in crowd[1:]:
        engine.retire(policy)


def test_completions_depend_only_on_the_seed(
    engine: VllmEngine, server: Server, make_request: MakeRequest, warm: Sampling, model_directory: Path
) -> None:
    first = engine.generate([make_request(i, FIRST) for i in range(8)], warm)
    assert [c.ids for c in engine.generate([make_request(i, FIRST) for i in range(8)], warm)] == [c.ids for c in first]
    other = [TokenRequest(make_request(i).prompt, make_request(i + 100).rng, FIRST) for i in range(8)]
    assert [c.ids for c in engine.generate(other, warm)] != [c.ids for c in first]
    with VllmEngine(server.url, model=str(model_directory), stops=engine.stops, at_once=2) as narrow:  # two at a time
        again = narrow.generate([make_request(i, BASE) for i in range(8)], warm)
    assert [c.ids for c in again] == [c.ids for c in engine.generate([make_request(i, BASE) for i in range(8)], warm)]


def test_watching_does_not_change_a_completion(
    engine: VllmEngine, make_request: MakeRequest, warm: Sampling, alone: dict[tuple[int, Policy], Completion]
) -> None:
    seen: dict[int, list[int]] = {number: [] for number in range(6)}

    def watching(number: int, most: int = 1_000) -> TokenRequest:
        def watch(token: int) -> bool:
            seen[number].append(token)
            return len(seen[number]) == most

        return replace(make_request(number, BASE), watch=watch)

    for number, completion in enumerate(engine.generate([watching(number) for number in seen], warm)):
        expected = alone[number, BASE]
        assert (*seen[number],) == completion.ids == expected.ids
        assert completion.finish_reason == expected.finish_reason
        assert completion.logprobs == pytest.approx(expected.logprobs, abs=1e-5)

    longest = max(seen, key=lambda number: len(seen[number]))
    expected = alone[longest, BASE]
    seen[longest].clear()
    [cut] = engine.generate([watching(longest, most=5)], warm)
    assert (*seen[longest],) == cut.ids == expected.ids[:5]
    assert cut.finish_reason == "stop"


def test_policy_is_fixed_at_submission(
    engine: VllmEngine, make_request: MakeRequest, warm: Sampling, adapters: dict[Policy, Path]
) -> None:
    before = engine.submit(make_request(1), warm)
    engine.publish(adapters[FIRST], FIRST)
    after = engine.submit(make_request(1), warm)
    assert (before.result().policy, after.result().policy) == (SECOND, FIRST)
