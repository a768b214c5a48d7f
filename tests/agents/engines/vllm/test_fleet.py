"""Several servers act as one engine, even if one disappears or lacks an adapter. The servers are small fakes."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from gymposium.errors import GymposiumError
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest
from gymposium_agents.engines.protocol import ConcurrentTokenEngine, DigestReporter, MultiServerEngine, TokenEngine
from gymposium_agents.engines.vllm import member
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.fleet import ATTEMPTS, rank_servers
from gymposium_agents.engines.vllm.settings import Patience

from .faltering import Faltering

STOPS = frozenset({4})
LEARNER, NEXT = Policy("learner", 1), Policy("learner", 2)
PATIENT = Patience(request=60.0, connect=60.0, absence=60.0)
IMPATIENT = Patience(request=5.0, connect=5.0, absence=0.5)
CONVERSATIONS = [f"match-{n}/0" for n in range(12)]
"""Each of two servers is the first of some of them."""


@pytest.fixture
def servers() -> Iterator[list[Faltering]]:
    with ExitStack() as stack:
        made = [stack.enter_context(Faltering()) for _ in range(2)]
        yield made
        for server in made:
            server.shutdown()


def engine_over(servers: list[Faltering], patience: Patience = PATIENT, at_once: int | None = None) -> VllmEngine:
    urls = [server.url for server in servers]
    return VllmEngine(*urls, model="model", stops=STOPS, patience=patience, at_once=at_once)


@pytest.fixture
def engine(servers: list[Faltering]) -> Iterator[VllmEngine]:
    with engine_over(servers) as made:
        yield made


def request(number: int, turn: int = 0, watch: Callable[[int], bool] | None = None) -> TokenRequest:
    """A turn of a conversation, whose prompt grows."""
    prompt = (5, 6, *range(7, 7 + number % 5 + 3 * turn))
    name = CONVERSATIONS[number % len(CONVERSATIONS)]
    return TokenRequest(prompt, random.Random(f"{number} {turn}"), conversation=name, watch=watch)


REQUESTS = range(len(CONVERSATIONS))


def complete_on_one_server(turn: int = 0) -> list[Completion]:
    """The completions of one server."""
    with Faltering() as alone:
        with engine_over([alone]) as engine:
            completions = engine.generate([request(number, turn) for number in REQUESTS], Sampling())
        alone.shutdown()
    return completions


def seeds(server: Faltering) -> set[int]:
    return {body["seed"] for body in server.asked}


def find_first_server(number: int) -> int:
    """The place of the server that a conversation prefers."""
    return rank_servers(CONVERSATIONS[number], 2)[0]


def test_fleet_fulfills_the_engine_contracts(engine: VllmEngine) -> None:
    assert isinstance(engine, ConcurrentTokenEngine)
    assert isinstance(engine, DigestReporter)
    assert isinstance(engine, MultiServerEngine)


def test_conversations_stay_on_one_server(servers: list[Faltering], engine: VllmEngine) -> None:
    for turn in range(3):
        engine.generate([request(number, turn) for number in REQUESTS], Sampling())
    for place, server in enumerate(servers):
        expected = {
            request(number, turn).rng.getrandbits(63)
            for number in REQUESTS
            for turn in range(3)
            if find_first_server(number) == place
        }
        assert expected
        assert seeds(server) == expected


def test_requests_without_conversation_are_routed_by_prompt(servers: list[Faltering], engine: VllmEngine) -> None:
    for _ in range(2):
        engine.generate([TokenRequest((5, number), random.Random(0)) for number in range(12)], Sampling())
        engine.score([((5, number), (6,)) for number in range(12)])
    for server in servers:
        prompts = [tuple(body["prompt"]) for body in server.asked if "seed" in body]
        assert len(prompts) == 2 * len(set(prompts)) > 0
    assert len(servers[0].asked) + len(servers[1].asked) == 48


def test_server_choice_does_not_change_the_completion(engine: VllmEngine) -> None:
    assert engine.generate([request(number) for number in REQUESTS], Sampling()) == complete_on_one_server()


@pytest.mark.parametrize("dies", [0, 1])
def test_requests_in_flight_to_a_dead_server_move(servers: list[Faltering], engine: VllmEngine, dies: int) -> None:
    dying, other = servers[dies], servers[1 - dies]
    mine = [number for number in REQUESTS if find_first_server(number) == dies]
    arrived, death = threading.Semaphore(0), threading.Event()

    def hold() -> None:
        arrived.release()
        death.wait(60)

    dying.hold = hold
    futures = [engine.submit(request(number), Sampling()) for number in REQUESTS]
    for _ in mine:
        assert arrived.acquire(timeout=60)
    dying.gone = True
    death.set()
    assert [future.result(60) for future in futures] == complete_on_one_server()
    assert [body for body in dying.asked if body not in other.asked] == []  # each was sent again as it was
    assert len(other.asked) == len(REQUESTS)


def test_requests_queued_for_a_dead_server_move(servers: list[Faltering]) -> None:
    arrived, death = threading.Event(), threading.Event()

    def hold() -> None:
        arrived.set()
        death.wait(60)

    servers[0].hold = hold
    with engine_over(servers, at_once=1) as engine:
        futures = [engine.submit(request(number), Sampling()) for number in REQUESTS]
        assert arrived.wait(60)
        servers[0].gone = True
        death.set()
        assert [future.result(60) for future in futures] == complete_on_one_server()
    assert len(servers[0].asked) == 1, "only the one in flight was sent to it"
    assert servers[1].most_working == 1


def test_returning_server_regains_adapters_and_conversations(
    servers: list[Faltering], engine: VllmEngine, adapter_directory: Path
) -> None:
    engine.publish(adapter_directory, LEARNER)
    away, other = servers
    away.gone = True
    away.loras.clear()  # it is started again
    engine.generate([request(number) for number in REQUESTS], Sampling())
    engine.publish(adapter_directory, NEXT)
    assert [*other.loras] == ["learner-v1", "learner-v2"]
    assert away.loras == {}
    away.gone, other.gone = False, True
    [completion] = engine.generate([request(0)], Sampling())  # waits until the first one is back
    assert completion.policy == NEXT
    assert [*away.loras] == ["learner-v1", "learner-v2"]
    other.gone = False
    away.gone = True
    engine.generate([request(0)], Sampling())  # waits for the other one
    away.gone = False
    other.gone = True
    engine.generate([request(0)], Sampling())
    assert engine.recoveries == 3


@pytest.mark.parametrize("breaks", [[0], [1], [2]], ids=str)
def test_moved_streams_watch_each_token_once(servers: list[Faltering], engine: VllmEngine, breaks: list[int]) -> None:
    seen: list[int] = []

    def watch(token: int) -> bool:
        seen.append(token)
        return False

    number = next(number for number in REQUESTS if find_first_server(number) == 0)
    servers[0].breaks += breaks
    [completion] = engine.generate([request(number, watch=watch)], Sampling())
    token = request(number).rng.getrandbits(63) % 50 + 10
    assert completion.ids == (token, token + 1, token + 2, 4) == (*seen,)
    assert len(servers[0].asked) == len(servers[1].asked) == 1
    assert servers[0].asked == servers[1].asked


def test_error_names_every_missing_server(servers: list[Faltering]) -> None:
    with engine_over(servers, IMPATIENT) as engine:
        for server in servers:
            server.gone = True
        with pytest.raises(GymposiumError, match="gone and did not come back") as caught:
            engine.generate([request(number) for number in REQUESTS], Sampling())
        assert all(server.url in str(caught.value) for server in servers)


def test_request_failed_by_every_server_is_an_error(servers: list[Faltering], engine: VllmEngine) -> None:
    for server in servers:
        server.fails += [500] * 100
    with pytest.raises(GymposiumError, match=f"failed {ATTEMPTS + 1} times: .*status 500 on demand"):
        engine.generate([request(0)], Sampling())
    assert len(servers[0].asked) + len(servers[1].asked) == ATTEMPTS + 1


def test_refusals_are_not_retried_elsewhere(servers: list[Faltering], engine: VllmEngine) -> None:
    servers[find_first_server(0)].fails += [400]
    with pytest.raises(GymposiumError, match="refused a request: status 400 on demand"):
        engine.generate([request(0)], Sampling())
    assert servers[1 - find_first_server(0)].asked == []


# -- adapters


def test_publishing_waits_for_every_server(
    servers: list[Faltering], engine: VllmEngine, adapter_directory: Path
) -> None:
    slow, fast = servers
    loading, go_on = threading.Event(), threading.Event()

    def load() -> None:
        loading.set()
        go_on.wait(60)

    slow.loading = load
    publishing = threading.Thread(target=engine.publish, args=(adapter_directory, LEARNER))
    publishing.start()
    assert loading.wait(60)
    [completion] = engine.generate([request(0)], Sampling())
    assert str(completion.policy) == "base"  # nobody is asked as the new version yet
    with pytest.raises(GymposiumError, match="Unknown policy learner-v1"):
        engine.generate([TokenRequest((5,), random.Random(0), LEARNER)], Sampling())
    assert publishing.is_alive()
    go_on.set()
    publishing.join(60)
    assert [*slow.loras] == [*fast.loras] == ["learner-v1"]
    assert {body["model"] for server in servers for body in server.asked} == {"base"}


def test_server_dying_while_loading_is_excluded_until_loaded(
    servers: list[Faltering], engine: VllmEngine, adapter_directory: Path
) -> None:
    dying, other = servers

    def die() -> None:
        dying.gone = True

    dying.loading = die
    engine.publish(adapter_directory, LEARNER)
    assert [*other.loras] == ["learner-v1"]
    completions = engine.generate([request(number) for number in REQUESTS], Sampling())
    assert {completion.policy for completion in completions} == {LEARNER}
    assert dying.asked == []
    dying.loading, dying.gone, other.gone = (lambda: None), False, True
    engine.generate([request(0)], Sampling())
    assert [*dying.loras] == ["learner-v1"]


def test_server_refusing_an_adapter_is_excluded_until_accepted(
    servers: list[Faltering], adapter_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member, "REFUSED_PAUSE", 0.01)
    refusing, other = servers
    refusing.refuses = "LoRA is not enabled"
    with engine_over(servers) as engine:
        engine.publish(adapter_directory, LEARNER)
        engine.generate([request(number) for number in REQUESTS], Sampling())
        engine.generate([TokenRequest((5,), random.Random(0), Policy())] * 8, Sampling())
        assert refusing.asked == []
        other.gone, refusing.refuses = True, ""
        [completion] = engine.generate([request(0)], Sampling())
    assert completion.policy == LEARNER
    assert [*refusing.loras] == ["learner-v1"]
    assert len(refusing.asked) == 1


def test_adapter_refused_by_every_server_is_an_error(
    servers: list[Faltering], engine: VllmEngine, adapter_directory: Path
) -> None:
    for server in servers:
        server.refuses = "LoRA is not enabled"
    with pytest.raises(GymposiumError, match="does not accept adapters"):
        engine.publish(adapter_directory, LEARNER)
    assert engine.adapters == ()
    engine.generate([request(number) for number in REQUESTS], Sampling())
    assert all(server.asked for server in servers), "both answer as before"


def test_returning_server_unloads_retired_adapters(
    servers: list[Faltering], engine: VllmEngine, adapter_directory: Path
) -> None:
    for policy in (LEARNER, NEXT):
        engine.publish(adapter_directory, policy)
    away, other = servers
    away.gone = True
    engine.generate([request(number) for number in REQUESTS], Sampling())
    engine.retire(LEARNER)
    assert [*other.loras] == ["learner-v2"]
    away.gone, other.gone = False, True
    engine.generate([request(0)], Sampling())
    assert [*away.loras] == ["learner-v2"]


def test_retired_policies_are_never_answered_by_the_base(servers: list[Faltering], adapter_directory: Path) -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        arrived.set()
        go_on.wait(60)

    with engine_over(servers[:1], at_once=1) as engine:
        for policy in (LEARNER, NEXT):
            engine.publish(adapter_directory, policy)
        servers[0].hold = hold
        futures = [engine.submit(TokenRequest((5,), random.Random(0), LEARNER), Sampling()) for _ in range(2)]
        assert arrived.wait(60)
        engine.retire(LEARNER)
        go_on.set()
        with pytest.raises(GymposiumError, match="learner-v1 was retired while"):
            futures[1].result(60)
    assert {body["model"] for body in servers[0].asked} == {"learner-v1"}


# -- the servers beside each other


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (partial(Faltering, version="0.31.0"), r"run different versions, 0\.3\d\.0 and 0\.3\d\.0"),
        (partial(Faltering, model="another"), r"serves another model: base \(another\); expected model"),
    ],
)
def test_refuses_servers_that_differ(servers: list[Faltering], other: Callable[[], Faltering], said: str) -> None:
    with other() as different:
        with pytest.raises(GymposiumError, match=said):
            engine_over([servers[0], different])
        different.shutdown()


def test_server_returning_with_other_settings_is_excluded(servers: list[Faltering]) -> None:
    changed, other = servers
    with engine_over(servers, IMPATIENT) as engine:
        changed.fails, changed.version = [0], "0.31.0"
        engine.generate([request(number) for number in REQUESTS], Sampling())
        asked = len(changed.asked)
        engine.generate([request(number) for number in REQUESTS], Sampling())
        assert len(changed.asked) == asked
        other.gone = True
        with pytest.raises(GymposiumError, match="run different versions"):
            engine.generate([request(0)], Sampling())


def test_fleet_uses_smallest_context_and_each_concurrency(servers: list[Faltering]) -> None:
    servers[0].longest = 32
    servers[0].at_once, servers[1].at_once = 1, 3
    full = threading.Barrier(3)
    servers[1].hold = lambda: full.wait(60)
    mine = [number for number in REQUESTS if find_first_server(number) == 1][:3] * 3
    with engine_over(servers) as engine:
        assert engine.context == 31
        engine.generate(
            [request(number) for number in [*REQUESTS, *REQUESTS] if find_first_server(number) == 0], Sampling()
        )
        engine.generate([request(number) for number in mine], Sampling())
    assert (servers[0].most_working, servers[1].most_working) == (1, 3)


def test_each_server_skips_servers_that_are_away(servers: list[Faltering], adapter_directory: Path) -> None:
    for place, server in enumerate(servers):
        server.at_once, server.digests = 4, {"learner-v1": [f"digest {place}"]}

    def ask(server: TokenEngine) -> tuple[str | None, int]:
        assert isinstance(server, DigestReporter)
        return server.digest(LEARNER), len(server.generate([request(number) for number in REQUESTS], Sampling()))

    with engine_over(servers) as engine:
        engine.publish(adapter_directory, LEARNER)
        assert engine.digest(LEARNER) == "digest 0, digest 1"
        both = engine.each_server(ask)
        assert both == {server.url: (f"digest {n}", len(REQUESTS)) for n, server in enumerate(servers)}
        assert all(len(server.asked) == len(REQUESTS) for server in servers)
        servers[0].gone = True
        assert engine.each_server(ask) == {servers[1].url: ("digest 1", len(REQUESTS))}
        assert engine.digest(LEARNER) == "digest 1"
