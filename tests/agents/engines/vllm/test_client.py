"""The engine recovers from server faults, tested with a small server that fails on demand."""

from __future__ import annotations

import gc
import json
import logging
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from safetensors.torch import save_file

from gymposium.errors import BadOption, GymposiumError
from gymposium_agents.chat.tokens import Policy, Sampling, TokenRequest
from gymposium_agents.engines.protocol import EngineStart
from gymposium_agents.engines.vllm.client import AT_ONCE, Patience
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.fleet import ATTEMPTS
from gymposium_agents.engines.vllm.make import make_vllm_engine
from gymposium_agents.engines.vllm.serving import compute_directory_digest
from gymposium_agents.engines.vllm.settings import KEY_VARIABLE, VllmSettings

from .faltering import Faltering

if TYPE_CHECKING:
    pass

IMPATIENT = Patience(request=5.0, connect=5.0, absence=0.5)
STOPS = frozenset({4})
LEARNER = Policy("learner", 1)


@pytest.fixture
def server() -> Iterator[Faltering]:
    with Faltering() as made:
        yield made
        made.shutdown()


@pytest.fixture
def engine(server: Faltering) -> Iterator[VllmEngine]:
    with VllmEngine(server.url, model="model", stops=STOPS, patience=IMPATIENT) as made:
        yield made


def request(number: int = 0) -> TokenRequest:
    return TokenRequest((5, 6, 7), random.Random(number))


@pytest.mark.parametrize("fails", [[500], [0], [503, 0, 502]], ids=str)
def test_failed_requests_are_retried_unchanged(server: Faltering, engine: VllmEngine, fails: list[int]) -> None:
    [expected] = engine.generate([request()], Sampling(0.6))
    server.asked.clear()
    server.fails += fails
    assert engine.generate([request()], Sampling(0.6)) == [expected]
    assert len(server.asked) == len(fails) + 1
    assert all(body == server.asked[0] for body in server.asked)


def choice(ids: object, logprobs: object) -> bytes:
    token_logprobs = {"token_logprobs": logprobs}
    return json.dumps({"choices": [{"token_ids": ids, "logprobs": token_logprobs, "finish_reason": "stop"}]}).encode()


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": ' + b"[" * 100_000,
        choice([5, 4], [-1.0, -1.0]).decode().encode("utf-16"),
        choice([-5, 4], [-1.0, -1.0]),
        choice([5.0, 4], [-1.0, -1.0]),
        choice(["5", 4], [-1.0, -1.0]),
        choice([2**40, 4], [-1.0, -1.0]),
        choice([True, 4], [-1.0, -1.0]),
        choice([5, 4], [-1.0]),
        choice([5, 4], [-1.0, None]),
        choice([5, 4], [-1.0, "nan"]),
        choice([5, 4], [-1.0, float("nan")]),
        choice([5, 4], [-1.0, 2.0]),
        choice([5, 4], [-1.0, -1.0]).replace(b'"token_ids"', b'"token_ids": [9, 4], "token_ids"'),
        b" " * 6 * 2**20,
    ],
    ids=range(14),
)
def test_malformed_answers_are_server_failures(server: Faltering, engine: VllmEngine, body: bytes) -> None:
    server.garbled = body
    with pytest.raises(GymposiumError, match=f"failed {ATTEMPTS} times: (MalformedAnswer|BadBody)") as caught:
        engine.generate([request()], Sampling())
    assert len(str(caught.value)) < 1_000
    assert len(server.asked) == ATTEMPTS


@pytest.mark.parametrize(
    "report",
    [
        {"adapters": {"learner-v1": 5}},
        {"adapters": {"learner-v1": [5]}},
        {"adapters": []},
        {"weights": "x"},
        {"weights": {"version": "learner-v1"}},
        {"weights": {"version": "learner-v1", "digests": 5}},
    ],
    ids=str,
)
def test_malformed_digests_are_server_failures(
    server: Faltering, engine: VllmEngine, adapter_directory: Path, report: dict[str, object]
) -> None:
    server.at_once, server.report = 4, report
    engine.publish(adapter_directory, LEARNER)
    with pytest.raises(GymposiumError, match=f"failed {ATTEMPTS} times: MalformedAnswer"):
        engine.digest(LEARNER)


@pytest.mark.parametrize("card", [5, {}, {"id": 5}], ids=str)
def test_malformed_model_lists_are_server_failures(
    server: Faltering, engine: VllmEngine, adapter_directory: Path, card: object
) -> None:
    server.loras[str(LEARNER)] = str(adapter_directory)
    server.refuses = "has already been loaded"
    server.extra_cards.append(card)
    with pytest.raises(GymposiumError, match="a list of models without names"):
        engine.publish(adapter_directory, LEARNER)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_errors_redact_the_key(server: Faltering, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "canary/key")
    server.garbled, server.garbled_status = rb'{"error": {"message": "you sent canary\/key"}}', status
    engine = VllmEngine(server.url, model="model", stops=STOPS, patience=IMPATIENT)
    with pytest.raises(GymposiumError, match=r"you sent \[key\]") as caught:
        engine.generate([request()], Sampling())
    engine.close()
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def make_watched_request(ends: Callable[[list[int]], bool] = lambda seen: False) -> tuple[TokenRequest, list[int]]:
    """A request that is watched, and the list of the tokens that its watch gets; it ends where `ends` is true."""
    seen: list[int] = []

    def watch(token: int) -> bool:
        seen.append(token)
        return ends(seen)

    return TokenRequest((5, 6, 7), random.Random(0), watch=watch), seen


FIRST = random.Random(0).getrandbits(63) % 50 + 10
"""The first token of the reply to the request with the random numbers 0."""


@pytest.mark.parametrize("breaks", [[], [0], [1], [2, 1, 0]], ids=str)
def test_stream_tokens_are_watched_once_despite_failures(
    server: Faltering, engine: VllmEngine, breaks: list[int]
) -> None:
    server.breaks += breaks
    watched, seen = make_watched_request()
    [completion] = engine.generate([watched], Sampling())
    assert completion.ids == (FIRST, FIRST + 1, FIRST + 2, 4) == (*seen,)
    assert (completion.logprobs, completion.finish_reason) == ((-1.0,) * 4, "stop")
    assert len(server.asked) == len(breaks) + 1
    assert all(body == server.asked[0] for body in server.asked)


def test_watch_can_stop_the_completion_and_the_server(server: Faltering, engine: VllmEngine) -> None:
    server.endless, server.breaks = True, [2]
    watched, seen = make_watched_request(lambda seen: len(seen) == 10)
    [completion] = engine.generate([watched], Sampling())
    assert completion.ids == (FIRST, FIRST + 1, *[9] * 8) == (*seen,)
    assert completion.finish_reason == "stop"
    assert server.told.wait(60)


def test_endless_streams_time_out(server: Faltering) -> None:
    server.endless, server.breaks = True, [2]
    with VllmEngine(server.url, model="model", stops=STOPS, patience=Patience(request=0.02, token=0.001)) as engine:
        watched, _ = make_watched_request()
        with pytest.raises(GymposiumError, match=r"did not answer a request for up to 10 tokens within 0.03 seconds"):
            engine.generate([watched], Sampling(max_tokens=10))
    assert len(server.asked) == 1


def test_diverging_retried_stream_is_an_error(server: Faltering, engine: VllmEngine) -> None:
    server.breaks = [2]

    def differ(seen: list[int]) -> bool:
        server.shift = 1
        return False

    watched, seen = make_watched_request(differ)
    with pytest.raises(GymposiumError, match="the retry sampled another reply"):
        engine.generate([watched], Sampling())
    assert seen == [FIRST, FIRST + 1]


@pytest.mark.parametrize(
    "body",
    [
        b"\n",
        b"data: [DONE]\n\n",
        b'data: {"error": {"message": "the engine is dead"}}\n\n',
        b"data: " + choice([5, 4], [-1.0]) + b"\n\n",
        b"event: " + choice([5, 4], [-1.0, -1.0]) + b"\n\n",
        b"data: " + choice([5, 4], [-1.0, -1.0]).replace(b"stop", b"abort") + b"\n\n",
        b"data: " + choice([], []) + b"\n\n",
        b"data: \xff\n\n",
        b" " * 6 * 2**20,
    ],
    ids=range(9),
)
def test_malformed_streams_are_server_failures(server: Faltering, engine: VllmEngine, body: bytes) -> None:
    server.garbled = body
    watched, _ = make_watched_request()
    with pytest.raises(GymposiumError, match=f"failed {ATTEMPTS} times: (MalformedAnswer|BadBody)"):
        engine.generate([watched], Sampling())
    assert len(server.asked) == ATTEMPTS


def test_stream_comments_are_skipped(server: Faltering, engine: VllmEngine) -> None:
    server.garbled = b": ping\n\n:\n\ndata: " + choice([5, 4], [-1.0, -1.0]) + b"\n\n"
    watched, seen = make_watched_request()
    assert [completion.ids for completion in engine.generate([watched], Sampling())] == [(5, 4)]
    assert seen == [5, 4]


@pytest.mark.parametrize("body", [b'{"detail": "no"}', b'["no"]', b'{"error": {"message": {"detail": "no"}}}', b"no"])
def test_refusals_quote_the_server(server: Faltering, engine: VllmEngine, body: bytes) -> None:
    server.garbled, server.garbled_status = body, 400
    with pytest.raises(GymposiumError, match=r"refused a request: no$"):
        engine.generate([request()], Sampling())


def test_refused_streams_are_not_retried(server: Faltering, engine: VllmEngine) -> None:
    server.fails += [400]
    watched, _ = make_watched_request()
    with pytest.raises(GymposiumError, match="refused a request: status 400 on demand"):
        engine.generate([watched], Sampling())
    assert len(server.asked) == 1


def test_permanently_failing_server_is_an_error(server: Faltering, engine: VllmEngine) -> None:
    server.fails += [500] * 100
    with pytest.raises(GymposiumError, match=f"failed {ATTEMPTS} times: .*status 500 on demand"):
        engine.generate([request()], Sampling())
    assert len(server.asked) == ATTEMPTS


def test_refusals_are_not_retried(server: Faltering, engine: VllmEngine) -> None:
    server.fails += [400]
    with pytest.raises(GymposiumError, match="refused a request: status 400 on demand"):
        engine.generate([request()], Sampling())
    assert len(server.asked) == 1


@pytest.mark.slow
def test_long_replies_are_sampled_once(server: Faltering) -> None:
    """A reply takes ten times the limit of a request without tokens; 20 ms stand for the default of 600 s."""
    limit, replies, at_once = 0.02, 256, 64
    server.at_once = at_once
    server.hold = partial(time.sleep, 10 * limit)
    patience = Patience(request=limit, token=100 * limit)
    with VllmEngine(server.url, model="model", stops=STOPS, patience=patience) as engine:
        completions = engine.generate([request(i) for i in range(replies)], Sampling(max_tokens=30))
    assert [c.ids for c in completions] == [(random.Random(i).getrandbits(63) % 50 + 10, 4) for i in range(replies)]
    assert len(server.asked) == len({body["seed"] for body in server.asked}) == replies
    assert server.most_working <= at_once


def test_slow_healthy_server_is_not_asked_twice(server: Faltering) -> None:
    done = threading.Event()
    server.hold = done.wait
    with VllmEngine(server.url, model="model", stops=STOPS, patience=Patience(request=0.1, token=0.01)) as engine:
        said = r"healthy, but did not answer a request for up to 10 tokens within 0.2 seconds.*engine.token_seconds"
        with pytest.raises(GymposiumError, match=said):
            engine.generate([request()], Sampling(max_tokens=10))
    done.set()
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("says", "asked", "expected"), [pytest.param(None, None, AT_ONCE, marks=pytest.mark.slow), (7, None, 7), (7, 3, 3)]
)
def test_concurrency_follows_the_server_or_the_setting(
    server: Faltering, says: int | None, asked: int | None, expected: int
) -> None:
    server.at_once = says
    full = threading.Barrier(expected)
    server.hold = lambda: full.wait(60)  # passes when the maximum number of requests has arrived
    with VllmEngine(server.url, model="model", stops=STOPS, at_once=asked) as engine:
        engine.generate([request(i) for i in range(3 * expected)], Sampling())
    assert server.most_working == expected


@pytest.mark.parametrize(
    ("wrong", "said"), [({"request": 0}, "request_seconds=0"), ({"token": -1}, "token_seconds=-1")]
)
def test_invalid_time_limits_are_refused(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        Patience(**wrong)


def test_requests_set_every_field_with_a_default(server: Faltering, engine: VllmEngine) -> None:
    engine.generate([request()], Sampling(0.6, max_tokens=100))
    [body] = server.asked
    expected = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "stop_token_ids": [4]}
    assert {name: body[name] for name in expected} == expected
    assert body["seed"] == random.Random(0).getrandbits(63)
    assert body["max_tokens"] == engine.context - 3  # the rest of the context, not 100


def test_only_seeded_or_watched_requests_carry_a_seed(server: Faltering) -> None:
    watched = TokenRequest((5, 6, 7), random.Random(0), watch=lambda token: False)
    with VllmEngine(server.url, model="model", stops=STOPS, patience=IMPATIENT, seeded=False) as engine:
        engine.generate([request()], Sampling())
        engine.generate([watched], Sampling())
        engine.each_server(lambda one: one.generate([request()], Sampling()))
    assert ["seed" in body for body in server.asked] == [False, True, False]


@pytest.mark.parametrize(
    ("is_for_run", "reproducible", "seeded"), [(False, None, True), (True, None, False), (True, True, True)]
)
def test_training_sends_seeds_only_on_request(
    server: Faltering, is_for_run: bool, reproducible: bool | None, seeded: bool
) -> None:
    settings = VllmSettings(url=server.url, reproducible=reproducible)
    start = EngineStart(model="model", stops=STOPS, versions=1 if is_for_run else None)
    with make_vllm_engine(start, settings) as engine:
        engine.generate([request()], Sampling())
    assert ["seed" in body for body in server.asked] == [seeded]


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A directory with the weights of a model."""
    save_file({"norm.weight": torch.ones(2)}, tmp_path / "model.safetensors")
    return tmp_path


def test_server_that_read_other_weights_is_sent_them_again(
    server: Faltering, engine: VllmEngine, weights: Path
) -> None:
    digest = compute_directory_digest(weights)
    server.weights = [["another"], [digest, "another"], [digest, digest]]
    engine.replace_weights(weights, LEARNER)
    assert server.weights == [[digest, digest]]
    assert engine.policy == LEARNER


@pytest.mark.parametrize("digests", [["another"], []], ids=str)
def test_server_that_keeps_reading_other_weights_is_an_error(
    server: Faltering, engine: VllmEngine, weights: Path, digests: list[str]
) -> None:
    before = engine.policy
    server.weights = [digests]
    with pytest.raises(GymposiumError, match="other tensors"):
        engine.replace_weights(weights, LEARNER)
    assert engine.policy == before


def test_restarted_server_gets_its_adapters_back(
    server: Faltering, engine: VllmEngine, adapter_directory: Path
) -> None:
    engine.publish(adapter_directory, LEARNER)
    server.loras.clear()
    [completion] = engine.generate([request()], Sampling())
    assert completion.policy == LEARNER
    assert server.loras == {"learner-v1": str(adapter_directory)}
    assert engine.recoveries == 1


def test_server_that_stays_away_is_an_error(server: Faltering, engine: VllmEngine) -> None:
    server.gone = True
    with pytest.raises(GymposiumError, match="gone and did not come back within"):
        engine.generate([request(i) for i in range(8)], Sampling())


def test_missing_server_suggests_the_start_command() -> None:
    with pytest.raises(GymposiumError, match=r"No vLLM server answers .*gymposium engine start --model model"):
        VllmEngine("http://127.0.0.1:9", model="model", stops=STOPS)


def test_refuses_a_server_with_another_model(server: Faltering) -> None:
    with pytest.raises(GymposiumError, match=r"serves another model: base \(model\); expected other"):
        VllmEngine(server.url, model="other", stops=STOPS)


def test_untested_version_logs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with Faltering(version="0.9.9") as old, caplog.at_level(logging.WARNING):
        VllmEngine(old.url, model="model", stops=STOPS).close()
        old.shutdown()
    assert "0.9.9" in caplog.text


def test_every_request_sends_the_key(server: Faltering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "canary-key")
    VllmEngine(server.url, model="model", stops=STOPS).close()
    assert server.keys == {"Bearer canary-key"}


def test_prompt_filling_the_context_is_not_sent(server: Faltering, engine: VllmEngine) -> None:
    full = TokenRequest((5,) * engine.context, random.Random(0))
    with pytest.raises(GymposiumError, match="no space for a reply"):
        engine.submit(full, Sampling()).result()
    assert server.asked == []


def test_scoring_requires_temperature_1(engine: VllmEngine) -> None:
    with pytest.raises(GymposiumError, match="only at temperature 1"):
        engine.score([((5,), (6,))], temperature=0.5)


def test_unreferenced_engine_is_cleaned_up(server: Faltering) -> None:
    engine = VllmEngine(server.url, model="model", stops=STOPS)
    engine.generate([request()], Sampling())
    [thread] = [thread for thread in threading.enumerate() if thread.name == "vllm-engine"]
    del engine
    gc.collect()
    thread.join(timeout=60)
    assert not thread.is_alive()
