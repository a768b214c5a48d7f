"""Token engine over one or more vLLM servers, with the same tokens as the in-process engine, and adapters by name."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from gymposium.errors import BadOption, GymposiumError
from gymposium.util.background import BackgroundLoop
from gymposium_agents.chat.tokens import BASE, Policy
from gymposium_agents.engines.protocol import TokenEngine
from gymposium_agents.engines.vllm.client import Connection, HostedAdapter, HostedWeights
from gymposium_agents.engines.vllm.fits import check_fits
from gymposium_agents.engines.vllm.fleet import Fleet, ServerUnavailable
from gymposium_agents.engines.vllm.requests import Policies, ServerRequests
from gymposium_agents.engines.vllm.serving import compute_directory_digest
from gymposium_agents.engines.vllm.settings import Patience
from gymposium_agents.lora.files import WEIGHTS, read_adapter

DEFAULT_PATIENCE = Patience()

T = TypeVar("T")


class VllmEngine(ServerRequests):
    """A token engine over vLLM servers of one model. The requests of a conversation go to one server, whose cache holds
    the conversation's beginning. If that server dies, they go to the next one until it is back.

    A server started by this process is restarted when it dies. For any other server, the engine waits. The servers must
    see the adapter directories under the same paths."""

    def __init__(
        self,
        *urls: str,
        model: str,
        stops: frozenset[int],
        at_once: int | None = None,
        patience: Patience = DEFAULT_PATIENCE,
        seeded: bool = True,
    ) -> None:
        """`urls` are those of the servers. `stops` are the tokens that end a reply. At most `at_once` requests are in
        flight per server, and further requests wait in this process. The default is the server's own limit if gymposium
        started it, else
        64. `seeded` requests carry seeds, so the same request gets the same reply, but vLLM samples them one at a time.

        Raises `GymposiumError` with the fix if a server does not answer or serves another model, or if the servers'
        versions differ."""
        if not urls:
            raise BadOption("No vLLM server is given. Give the URL of at least one, such as http://127.0.0.1:8000.")
        connections = [Connection(url, model, min(stops), at_once, patience) for url in urls]
        loop = BackgroundLoop("vllm-engine")
        super().__init__(loop, Fleet(connections, patience, loop.submit), Policies(), stops, seeded=seeded)
        self.owned = ExitStack()
        """Resources closed with the engine, such as a server."""
        self._model = model
        self._changing = threading.Lock()
        # the connections and the thread end when the engine is garbage-collected
        self._end = weakref.finalize(self, self._loop.end, self._fleet.close)
        self._end.atexit = False
        try:
            self._loop.run(self._fleet.open())
        except BaseException:
            self.close()
            raise

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs of the servers."""
        return tuple(member.connection.url for member in self._fleet.members)

    @property
    def recoveries(self) -> int:
        """Number of times that a server was unavailable and came back."""
        return sum(member.recoveries for member in self._fleet.members)

    # -- single servers

    def each_server(self, ask: Callable[[TokenEngine], T]) -> dict[str, T]:
        """Call `ask` with an engine over each single server, each in its own thread, and return the results by URL.
        Unavailable servers are left out. If all are unavailable, it waits for one."""
        answers: dict[str, T] = {}
        shared = (self._loop, self._fleet, self._policies, self.stops)
        while not answers:
            members = self._loop.run(self._fleet.present())
            with ThreadPoolExecutor(len(members)) as threads:
                asked = [
                    (member, threads.submit(ask, ServerRequests(*shared, member, seeded=self._seeded)))
                    for member in members
                ]
                for member, answer in asked:
                    try:
                        answers[member.connection.url] = answer.result()
                    except ServerUnavailable:
                        continue
        return answers

    # -- adapters

    @property
    def adapters(self) -> tuple[Policy, ...]:
        return tuple(self._policies.adapters)

    def load(self, directory: Path, policy: Policy) -> None:
        """Load an adapter on the servers, in addition to the other adapters. Returns when each available server has
        loaded it. A server that rejects it gets no requests until it accepts. An adapter that is already loaded stays
        unchanged."""
        with self._changing:
            self._load(directory.absolute(), policy)

    def publish(self, directory: Path, policy: Policy) -> None:
        """Load an adapter like `load`, and make it the current policy."""
        with self._changing:
            self._load(directory.absolute(), policy)
            self._policies.current = policy

    def _load(self, directory: Path, policy: Policy) -> None:
        if policy in self._policies.adapters:
            before = self._policies.adapters[policy]
            if before != directory:
                raise GymposiumError(
                    f"{policy} is already loaded from {before}. Publish {directory} under another version."
                )
            return
        if policy == BASE:
            raise GymposiumError(
                f"The adapter in {directory} cannot be published as the base model, {BASE}. Give it another name."
            )
        adapter = read_adapter(directory)
        check_fits(adapter, directory, self._model)
        with (directory / WEIGHTS).open("rb") as file:
            salt = hashlib.file_digest(file, "sha256").hexdigest()[:32]
        rank = max(rank for _, rank, _ in adapter.layers.values())
        self._loop.run(self._fleet.load(policy, HostedAdapter(directory, salt, rank)))
        self._policies.adapters[policy] = directory

    def retire(self, policy: Policy) -> None:
        with self._changing:
            if policy == self.policy:
                raise GymposiumError(f"{policy} is the current policy. Publish another one before retiring it.")
            self._policies.named(policy)
            del self._policies.adapters[policy]
            self._loop.run(self._fleet.unload(policy))

    # -- all weights

    def replace_weights(self, directory: Path, policy: Policy) -> None:
        """Replace all weights of the servers' model with those in `directory`, and make them the current policy. On
        each server, replies in progress end with the old weights first. Returns when each available server has loaded
        the new ones. Requests that name an earlier version are then answered by this one, and report it.

        The directory must stay until the next version has replaced this one, because a server that is restarted loads
        it. Raises `GymposiumError` if the servers refuse the directory. They then keep their weights."""
        with self._changing:
            try:
                digest = compute_directory_digest(directory)
            except ValueError as error:
                raise GymposiumError(f"The weights of {policy} cannot be read: {error}. Save them again.") from error
            weights = HostedWeights(directory.absolute(), policy, digest)
            self._loop.run(self._fleet.replace_weights(weights))
            self._policies.weights = self._policies.current = policy

    # -- housekeeping

    def close(self) -> None:
        """Close the connections, cancel requests in flight and close everything the engine owns. Other servers keep
        running."""
        self._end()
        self._loop.join()
        self.owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
