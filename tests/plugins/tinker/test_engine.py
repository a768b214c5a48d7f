"""The engine samples from the learner's model, each policy from its own snapshot."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import tinker

from gymposium.errors import BadOption, GymposiumError
from gymposium.util.streams import stream
from gymposium_agents.chat.tokens import BASE, Policy, Sampling, TokenRequest
from gymposium_agents.models.loading import LoadedModel
from gymposium_tinker.engine import TinkerEngine
from gymposium_tinker.service import resolve_result

from .fixtures import CONTEXT

PROMPT = (5, 6, 7, 8)


@pytest.fixture
def engine(model_directory: Path, tiny: LoadedModel, client: tinker.ServiceClient) -> TinkerEngine:
    base = resolve_result(client.create_sampling_client(base_model=str(model_directory)))
    return TinkerEngine(CONTEXT, tiny.stops, BASE, base)


def request(seed: int = 0, prompt: tuple[int, ...] = PROMPT, policy: Policy | None = None) -> TokenRequest:
    return TokenRequest(prompt, stream(seed, "test"), policy)


def test_completions_have_logprobs(engine: TinkerEngine, tiny: LoadedModel) -> None:
    sampling = Sampling(1.0, 6)
    found = engine.generate([request(seed) for seed in range(8)], sampling)
    assert len({done.ids for done in found}) > 4
    for done in found:
        assert done.policy == BASE
        assert done.logprobs == pytest.approx(tiny.engine().score([(PROMPT, done.ids)])[0], abs=1e-5)
        assert done.logprobs == pytest.approx(engine.score([(PROMPT, done.ids)])[0], abs=1e-5)
        assert (done.finish_reason == "stop") == (done.ids[-1] in tiny.stops)
    assert engine.generate([request(3)], sampling) == [found[3]]  # the same seed, the same tokens


def test_temperature_0_is_greedy(engine: TinkerEngine, tiny: LoadedModel) -> None:
    greedy = Sampling(0.0, 6)
    assert engine.generate([request()], greedy)[0].ids == tiny.engine().generate([request()], greedy)[0].ids


def test_completions_end_at_the_context_or_by_watch(engine: TinkerEngine) -> None:
    long = tuple(random.Random(0).choices(range(5, 300), k=CONTEXT - 2))
    [done] = engine.generate([request(prompt=long)], Sampling(1.0, 6))
    assert len(done.ids) <= 2
    [whole] = engine.generate([request(1)], Sampling(1.0, 6))
    seen: list[int] = []
    watched = request(1)
    watched.watch = lambda token: seen.append(token) or len(seen) == 2  # type: ignore[func-returns-value]
    [cut] = engine.generate([watched], Sampling(1.0, 6))
    assert (cut.ids, cut.finish_reason) == (whole.ids[:2], "stop")
    assert seen == [*whole.ids[:2]]


def test_policies_are_snapshots(engine: TinkerEngine, model_directory: Path, client: tinker.ServiceClient) -> None:
    training = resolve_result(client.create_lora_training_client(str(model_directory), rank=4, seed=1))
    first, second = Policy("learner", 0), Policy("learner", 1)
    engine.add(first, resolve_result(training.save_weights_and_get_sampling_client()))
    lesson = tinker.types.Datum(
        model_input=tinker.types.ModelInput.from_ints([*PROMPT]),
        loss_fn_inputs={"target_tokens": [6, 7, 8, 9], "weights": [0.0, 0.0, 0.0, 1.0]},
    )
    training.forward_backward([lesson], "cross_entropy")
    training.optim_step(tinker.types.AdamParams(learning_rate=1e-2)).result()
    engine.add(second, resolve_result(training.save_weights_and_get_sampling_client()))
    scores = [engine.score([(PROMPT, (9,))], policy=policy)[0][0] for policy in (BASE, first, second)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
    assert scores[2] > scores[1] + 0.1
    engine.retire(first)
    with pytest.raises(GymposiumError, match=r"Unknown policy learner-v0\. The engine holds base, learner-v1"):
        engine.generate([request(policy=first)], Sampling())
    with pytest.raises(BadOption, match=r"temperature 1, not 0\.5"):
        engine.score([(PROMPT, (9,))], temperature=0.5)


def test_engine_is_not_available_to_players(model_directory: Path) -> None:
    from gymposium.players.grammar import make_player

    with pytest.raises(BadOption, match="engine=tinker is not available to players"):
        make_player(f"lm:{model_directory}?engine=tinker")
