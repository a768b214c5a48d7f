"""The vLLM server as a token engine: the same tokens in and out as the engine in process, and adapters by name."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gymposium.errors import GymposiumError
from gymposium_agents.engines.background import BackgroundLoop
from gymposium_agents.engines.vllm.client import Connection, Held, Refused
from gymposium_agents.engines.vllm.fits import check_fits
from gymposium_agents.engines.vllm.server import Server
from gymposium_agents.engines.vllm.settings import Patience
from gymposium_agents.engines.vllm.wire import Tokens, completion_body, completion_of, score_body, scores_of
from gymposium_agents.futures import results
from gymposium_agents.lora.files import WEIGHTS, read_adapter
from gymposium_agents.tokens import BASE, Completion, Policy, Sampling, TokenRequest

DEFAULT_PATIENCE = Patience()


class VllmEngine:
    """Asks a vLLM server. With `server` it is one of our own, which is started again when it dies; any other is
    waited for. Adapters must lie where the server can read them under the same path."""

    def __init__(
        self,
        url: str,
        *,
        model: str,
        stops: frozenset[int],
        server: Server | None = None,
        at_once: int | None = None,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        """`stops` are the tokens that end a reply. At most `at_once` requests are in flight, the others wait here; by
        default as many as the server runs at once where gymposium started it, and 64 where somebody else did.

        Raises `GymposiumError` with what to do where no server answers or it serves another model."""
        self.stops = stops
        self._policy = BASE
        self._changing = threading.Lock()
        self._owned = ExitStack()
        self._loop = BackgroundLoop("vllm-engine")
        self._connection = Connection(url, model, min(stops), server, at_once, patience)
        # an engine that nobody holds any more ends its connection and its thread
        self._end = weakref.finalize(self, self._loop.end, self._connection.close)
        self._end.atexit = False
        try:
            self._loop.run(self._connection.open())
        except BaseException:
            self.close()
            raise

    @property
    def policy(self) -> Policy:
        return self._policy

    @property
    def context(self) -> int:
        """One less than the server's limit: it scores only what leaves room for one token more."""
        return self._connection.longest - 1

    @property
    def recoveries(self) -> int:
        """How often the server was away and came back."""
        return self._connection.recoveries

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        try:
            asking = self._completion(request, sampling)
        except GymposiumError as error:
            failed: Future[Completion] = Future()
            failed.set_exception(error)
            return failed
        return self._loop.submit(asking)

    def _completion(self, request: TokenRequest, sampling: Sampling) -> Coroutine[Any, Any, Completion]:
        """Settles here and now who is asked, and for what: the caller may publish before the answer is in."""
        policy = self._named(request.policy)
        room = self.context - len(request.prompt)
        if not request.prompt or room < 1:
            raise GymposiumError(
                f"A prompt of {len(request.prompt)} tokens leaves no room for a reply in a context of {self.context}."
            )
        if sampling.temperature not in (0.0, 1.0):
            self._needs_processed(sampling.temperature)
        body = completion_body(request, sampling, max_tokens=min(sampling.max_tokens, room), stops=self.stops)
        return self._connection.ask(body, policy, lambda answer: completion_of(answer, policy, self.stops))

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        return results([self.submit(request, sampling) for request in requests])

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        """Only at temperature 1: the server gives no other log-probabilities of tokens that it did not sample."""
        if temperature != 1.0:
            raise GymposiumError(
                f"A vLLM server scores given tokens at temperature 1 only, not {temperature:g}. Score at 1, "
                f"or with the engine in process (leave engine= out of the player's name)."
            )
        named = self._named(policy)
        return results([self._loop.submit(self._score(prompt, completion, named)) for prompt, completion in pairs])

    async def _score(self, prompt: Tokens, completion: Tokens, policy: Policy) -> tuple[float, ...]:
        if not prompt or len(prompt) + len(completion) > self.context:
            raise GymposiumError(
                f"A prompt of {len(prompt)} tokens and a completion of {len(completion)} cannot be scored: the prompt "
                f"must not be empty, and both together have room for {self.context} tokens."
            )
        if not completion:
            return ()
        body = score_body(prompt, completion)
        return await self._connection.ask(body, policy, lambda answer: scores_of(answer, prompt, completion))

    # -- adapters

    @property
    def adapters(self) -> tuple[Policy, ...]:
        return tuple(self._connection.held)

    def digest(self, policy: Policy) -> str | None:
        """The digest of the tensors that the server's workers loaded as `policy`; those of all, where they differ. None
        of a server that does not say: one that gymposium did not start."""
        workers = self._loop.run(self._connection.loaded(self._named(policy)))
        return ", ".join(sorted(set(workers))) if workers and all(workers) else None

    def load(self, directory: Path, policy: Policy) -> None:
        """Have the server load an adapter, beside the others. One that is held already stays as it is."""
        with self._changing:
            self._load(directory.absolute(), policy)

    def publish(self, directory: Path, policy: Policy) -> None:
        """Have the server load an adapter, and make it current. One that is held already is only made current."""
        with self._changing:
            self._load(directory.absolute(), policy)
            self._policy = policy

    def _load(self, directory: Path, policy: Policy) -> None:
        there = self._connection.held.get(policy)
        if there is not None:
            if there.directory != directory:
                raise GymposiumError(
                    f"{policy} is held already, from {there.directory}: publish {directory} under another version."
                )
            return
        if policy == BASE:
            raise GymposiumError("An adapter cannot be published as the base model; give it a name.")
        adapter = read_adapter(directory)
        check_fits(adapter, directory, self._connection.model)
        held = _held(directory)
        try:
            self._loop.run(self._connection.load(policy, held))
        except Refused as refused:
            rank = max(rank for _, rank, _ in adapter.layers.values())
            raise _unfit(self._connection, directory, policy, rank, refused) from refused
        self._connection.held[policy] = held

    def retire(self, policy: Policy) -> None:
        with self._changing:
            if policy == self._policy:
                raise GymposiumError(f"{policy} answers now: publish another before it is retired.")
            self._named(policy)
            del self._connection.held[policy]
            self._loop.run(self._connection.unload(policy))

    # -- housekeeping

    def owns(self, resources: ExitStack) -> None:
        """Close `resources`, such as a server, with the engine."""
        self._owned.push(resources)

    def close(self) -> None:
        """End the connection and cancel requests in flight. A server that the engine does not own stays as it is."""
        self._end()
        self._loop.join()
        self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _named(self, policy: Policy | None) -> Policy:
        """Who is to answer. Raises `GymposiumError` where nobody of that name is there."""
        if policy is None:
            return self._policy
        if policy != BASE and policy not in self._connection.held:
            there = ", ".join(map(str, (BASE, *self._connection.held)))
            raise GymposiumError(f"The engine holds no policy {policy}: publish it first. It holds: {there}.")
        return policy

    def _needs_processed(self, temperature: float) -> None:
        if not self._connection.processed:
            raise GymposiumError(
                f"The vLLM server at {self._connection.url} gives log-probabilities at temperature 1 whatever the "
                f"temperature, so what is sampled at {temperature:g} could not be learned from. Start it with "
                f"--logprobs-mode processed_logprobs, as gymposium engine start does, or play at temperature 0 or 1."
            )


def _held(directory: Path) -> Held:
    """What the server is told of the adapter in a directory."""
    with (directory / WEIGHTS).open("rb") as file:
        return Held(directory, hashlib.file_digest(file, "sha256").hexdigest()[:32])


def _unfit(connection: Connection, directory: Path, policy: Policy, rank: int, refused: Refused) -> GymposiumError:
    """Why the server did not take an adapter, and what to do."""
    again = f"gymposium engine start --model {connection.model} --lora-rank {rank}"
    if (refused.status == 404 and refused.said == "Not Found") or "LoRA is not enabled" in refused.said:
        return GymposiumError(
            f"The vLLM server at {connection.url} takes no adapters: it was started without LoRA. "
            f"Start one with:  {again}"
        )
    if "max_lora_rank" in refused.said:
        return GymposiumError(
            f"The adapter in {directory} has rank {rank}, which is more than the vLLM server at {connection.url} makes "
            f"room for. Start one with:  {again}  (its own words: {refused.said})"
        )
    if "already been loaded" in refused.said:
        return GymposiumError(
            f"The vLLM server at {connection.url} already holds an adapter called {policy}, from another place: "
            f"publish under another name, or start the server again."
        )
    return GymposiumError(
        f"The vLLM server at {connection.url} does not take the adapter in {directory} (is it made for "
        f"{connection.model}?). Its own words: {refused.said}"
    )
