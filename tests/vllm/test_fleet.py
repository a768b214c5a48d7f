"""Two servers act as one engine, and either may be killed (`kill -9`) at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gymposium_agents.chat.tokens import BASE, Completion, Policy, Sampling, TokenRequest
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.fleet import rank_servers
from gymposium_agents.engines.vllm.server import Server, run_servers
from gymposium_agents.engines.vllm.settings import ServerSettings

from .conftest import FIRST, RANK, SECOND
from .test_killed import kill
from .test_training import config_for, served, training

pytestmark = pytest.mark.slow  # it starts two servers

MakeRequest = Callable[..., TokenRequest]
REQUESTS = range(24)
POLICIES = (BASE, FIRST, SECOND)
KILLED_AT = 6
"""Number of tokens of one reply behind which its server is killed."""


@pytest.fixture(scope="module")
def servers(model_directory: Path) -> Iterator[list[Server]]:
    settings = ServerSettings(str(model_directory), lora_rank=RANK, kv_cache_gib=1)
    with run_servers([settings] * 2) as started:
        yield started


@pytest.fixture
def engine(
    servers: list[Server], model_directory: Path, adapters: dict[Policy, Path], end: int
) -> Iterator[VllmEngine]:
    with VllmEngine(*(server.url for server in servers), model=str(model_directory), stops=frozenset({end})) as made:
        for policy in (FIRST, SECOND):
            made.publish(adapters[policy], policy)
        yield made


def first(number: int) -> int:
    """The place of the server that a conversation prefers."""
    return rank_servers(f"match-{number}/0", 2)[0]


def named(make_request: MakeRequest, number: int) -> TokenRequest:
    return replace(make_request(number, POLICIES[number % 3]), conversation=f"match-{number}/0")


def test_requests_to_a_killed_server_are_answered_identically(
    servers: list[Server],
    engine: VllmEngine,
    make_request: MakeRequest,
    warm: Sampling,
    model_directory: Path,
    adapters: dict[Policy, Path],
) -> None:
    with VllmEngine(servers[0].url, model=str(model_directory), stops=engine.stops) as alone:
        for policy in (FIRST, SECOND):
            alone.publish(adapters[policy], policy)
        undisturbed = alone.generate([named(make_request, number) for number in REQUESTS], warm)
    mine = [number for number in REQUESTS if first(number) == 0]
    longest = max(mine, key=lambda number: len(undisturbed[number].ids))
    assert len(undisturbed[longest].ids) > KILLED_AT
    assert 0 < len(mine) < len(REQUESTS)
    seen: list[int] = []

    def watch(token: int) -> bool:
        seen.append(token)
        if len(seen) == KILLED_AT:
            kill(servers[0])
        return False

    requests = [named(make_request, number) for number in REQUESTS]
    requests[longest] = replace(requests[longest], watch=watch)
    restarts = servers[0].restarts
    disturbed = engine.generate(requests, warm)
    assert (*seen,) == undisturbed[longest].ids, "each token was watched once"
    for before, after in zip(undisturbed, disturbed, strict=True):
        assert after.ids == before.ids
        assert after.policy == before.policy
        assert after.logprobs == pytest.approx(before.logprobs, abs=1e-4)
    servers[0].revive()  # returns when it has been started again
    assert servers[0].restarts == restarts + 1


def test_publishing_skips_a_dead_server_until_it_returns(
    servers: list[Server], engine: VllmEngine, make_request: MakeRequest, warm: Sampling, adapters: dict[Policy, Path]
) -> None:
    assert engine.each_server(lambda server: str(server.policy)).keys() == {server.url for server in servers}
    third = Policy("learner", 3)
    engine.publish(adapters[FIRST], third)
    assert all({str(FIRST), str(SECOND), str(third)} <= set(served(server.url)) for server in servers)
    digest = engine.digest(third)
    assert digest is not None
    assert "," not in digest, "both hold the same tensors"

    kill(servers[0])
    fourth = Policy("learner", 4)
    engine.publish(adapters[SECOND], fourth)
    assert str(fourth) in served(servers[1].url)
    expected = engine.generate([replace(named(make_request, number), policy=None) for number in REQUESTS], warm)
    assert {completion.policy for completion in expected} == {fourth}
    engine.retire(third)

    servers[0].revive()
    kill(servers[1])
    # answered by the first server, as soon as it holds everything
    again = engine.generate([replace(named(make_request, number), policy=None) for number in REQUESTS], warm)
    assert [completion.ids for completion in again] == [completion.ids for completion in expected]
    assert set(served(servers[0].url)) == {str(policy) for policy in (FIRST, SECOND, fourth)}
    servers[1].revive()


def test_run_is_unchanged_if_a_server_dies_mid_step(
    servers: list[Server], model_directory: Path, tmp_path: Path
) -> None:
    config = config_for(model_directory, url=",".join(server.url for server in servers), reproducible=True)
    undisturbed = trajectories(config, tmp_path / "undisturbed", lambda step, asked: None)

    def kill_one(step: int, asked: int) -> None:
        if (step, asked) == (1, 20):
            kill(servers[1])

    restarts = servers[1].restarts
    assert trajectories(config, tmp_path / "disturbed", kill_one) == undisturbed
    servers[1].revive()
    assert servers[1].restarts == restarts + 1


def trajectories(config: Any, directory: Path, disturb: Callable[[int, int], None]) -> list[Any]:
    """The tokens of each turn of three steps. `disturb` is called after each request, with the step and the number of
    its requests so far."""
    played = []
    with training(config, directory) as (run, _):
        run.trainee.publish()
        engine = run.trainee.engine
        assert isinstance(engine, VllmEngine)
        submit, step, asked = engine.submit, 0, 0

        def submitted(request: TokenRequest, sampling: Sampling) -> Future[Completion]:
            nonlocal asked
            future = submit(request, sampling)
            asked += 1
            disturb(step, asked)
            return future

        engine.submit = submitted  # type: ignore[method-assign]
        for step in range(3):
            asked = 0
            groups, _ = run.play(step)
            played.append(
                [
                    [turn.trace.completion.ids for turn in trajectory.turns]
                    for group in groups
                    for trajectory in group.trajectories
                ]
            )
            run.learn(step, groups)
            assert run.trainee.publish()["sync/canary"] < 1e-4
    return played
