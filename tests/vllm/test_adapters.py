"""Adapters are published, made current and retired, or refused with a suggested fix."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from safetensors.torch import load_file

from gymposium.errors import GymposiumError
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import BASE, Policy, Sampling, TokenRequest
from gymposium_agents.engines.protocol import AdapterHost, ConcurrentTokenEngine, DigestReporter
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import Server
from gymposium_agents.engines.vllm.serving import compute_digest
from gymposium_agents.lora.files import WEIGHTS
from gymposium_agents.models.small import make_small_model

from .conftest import FIRST, MAX_NUM_SEQS, SECOND, make_adapter

MakeRequest = Callable[..., TokenRequest]


def test_engine_fulfills_both_contracts(engine: VllmEngine) -> None:
    assert isinstance(engine, ConcurrentTokenEngine)
    assert isinstance(engine, AdapterHost)


def test_published_policy_answers_until_replaced(
    engine: VllmEngine, make_request: MakeRequest, warm: Sampling, adapters: dict[Policy, Path], server: Server
) -> None:
    by_second = engine.generate([make_request(0)], warm)[0]
    third = Policy("learner", 3)
    engine.publish(adapters[FIRST], third)
    assert engine.policy == third
    assert engine.adapters == (FIRST, SECOND, third)
    by_third = engine.generate([make_request(0)], warm)[0]
    assert by_third.policy == third
    assert by_third.logprobs == engine.generate([make_request(0, FIRST)], warm)[0].logprobs != by_second.logprobs
    engine.publish(adapters[SECOND], SECOND)  # an adapter that is held already
    assert engine.generate([make_request(0)], warm)[0] == by_second
    engine.retire(third)
    assert engine.adapters == (FIRST, SECOND)
    served = httpx.get(f"{server.url}/v1/models").json()["data"]
    assert {card["id"] for card in served} == {"base", str(FIRST), str(SECOND)}


def test_loaded_policy_answers_only_by_name(
    engine: VllmEngine, make_request: MakeRequest, warm: Sampling, adapters: dict[Policy, Path]
) -> None:
    third = Policy("learner", 3)
    engine.load(adapters[FIRST], third)
    assert engine.policy == SECOND
    by_third = engine.generate([make_request(0, third)], warm)[0]
    assert by_third.logprobs == engine.generate([make_request(0, FIRST)], warm)[0].logprobs
    engine.retire(third)


def test_current_and_unknown_policies_cannot_be_retired(engine: VllmEngine) -> None:
    with pytest.raises(GymposiumError, match="Publish another one before"):
        engine.retire(SECOND)
    with pytest.raises(
        GymposiumError, match=r"Unknown policy learner-v9.*The engine holds: base, learner-v1, learner-v2"
    ):
        engine.retire(Policy("learner", 9))


def test_refuses_other_weights_for_a_version(engine: VllmEngine, adapters: dict[Policy, Path]) -> None:
    with pytest.raises(GymposiumError, match="under another version"):
        engine.publish(adapters[SECOND], FIRST)


def test_server_reports_digests_and_concurrency(engine: VllmEngine, adapters: dict[Policy, Path]) -> None:
    """It reports the digest that the learner computes from the same tensors, and how many requests it runs at once."""
    assert isinstance(engine, DigestReporter)
    for policy in (FIRST, SECOND):
        assert engine.digest(policy) == compute_digest(load_file(adapters[policy] / WEIGHTS))
    assert engine.digest(FIRST) != engine.digest(SECOND)
    assert engine.digest(BASE) is None
    assert engine._fleet.members[0].connection.at_once == MAX_NUM_SEQS


def test_unknown_adapter_is_an_error(engine: VllmEngine, make_request: MakeRequest, warm: Sampling) -> None:
    with pytest.raises(GymposiumError, match="Unknown policy ghost-v1"):
        engine.generate([make_request(0, Policy("ghost", 1))], warm)


def test_too_high_rank_suggests_the_option(engine: VllmEngine, adapters: dict[Policy, Path]) -> None:
    wide = Policy("wide", 1)
    with pytest.raises(GymposiumError, match=r"has rank 16.*--lora-rank 16"):
        engine.publish(adapters[wide], wide)
    assert (engine.policy, wide in engine.adapters) == (SECOND, False)


def test_refuses_adapters_of_another_model(
    engine: VllmEngine, make_request: MakeRequest, warm: Sampling, tmp_path: Path, game_texts: list[str]
) -> None:
    make_small_model(
        tmp_path / "other", game_texts, seed=3, size=SmallModel(hidden=96, layers=2, heads=3, feed_forward=96)
    )
    stray = make_adapter(tmp_path / "other", tmp_path / "stray", rank=4)
    with pytest.raises(GymposiumError, match=r"for another model than .* 2 layers of width 64: .* of width 96"):
        engine.publish(stray, Policy("stray", 1))
    assert engine.generate([make_request(0)], warm)[0].policy == SECOND  # the server is still healthy


def test_rerun_replaces_adapters_of_the_same_name(
    engine: VllmEngine, server: Server, model_directory: Path, tmp_path: Path, some_ids: Callable[..., tuple[int, ...]]
) -> None:
    pair, policy = (some_ids("p", 200), some_ids("c", 10)), Policy("rerun", 1)
    scores = []
    for rank in (2, 4):
        directory = make_adapter(model_directory, tmp_path / "adapter", rank)
        with VllmEngine(server.url, model=str(model_directory), stops=engine.stops) as run:
            run.publish(directory, policy)
            [reply] = run.generate([TokenRequest(pair[0], random.Random(0))], Sampling(0.0, 8))
            assert run.score([(pair[0], reply.ids)])[0] == pytest.approx(reply.logprobs, abs=1e-4)
            scores.append(run.score([pair])[0])
    assert scores[0] != scores[1]


def test_directory_without_an_adapter_is_an_error(engine: VllmEngine, tmp_path: Path) -> None:
    with pytest.raises(GymposiumError, match=r"is not an adapter: adapter_config\.json is missing"):
        engine.publish(tmp_path, Policy("learner", 7))


def test_base_cannot_be_published(engine: VllmEngine, adapters: dict[Policy, Path]) -> None:
    with pytest.raises(GymposiumError, match="as the base model, base"):
        engine.publish(adapters[FIRST], BASE)
