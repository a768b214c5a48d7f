"""Token engine over a vLLM server: the same tokens in and out as the engine in process, and adapters by name."""

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

from gymposium.background import BackgroundLoop
from gymposium.errors import GymposiumError
from gymposium_agents.engines.vllm.client import Connection, Held, Refused
from gymposium_agents.engines.vllm.fits import check_fits
from gymposium_agents.engines.vllm.server import Server
from gymposium_agents.engines.vllm.settings import Patience
from gymposium_agents.engines.vllm.wire import Arriving, completion_body, completion_of, score_body, scores_of
from gymposium_agents.futures import results
from gymposium_agents.lora.files import WEIGHTS, read_adapter
from gymposium_agents.tokens import BASE, Completion, Policy, Sampling, TokenRequest, Tokens

DEFAULT_PATIENCE = Patience()


class VllmEngine:
    """A token engine that asks a vLLM server. `server` is the server if this process started it: then it is restarted
    when it dies. Any other server is awaited. The server must see the directories of adapters under the same paths."""

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
        """`stops` are the tokens that end a reply. At most `at_once` requests are in flight, and the others wait here;
        by default as many as the server runs at once if gymposium started it, otherwise 64.

        Raises `GymposiumError` with what to do if no server answers or it serves another model."""
        self.stops = stops
        self.owned = ExitStack()
        """Resources that are closed with the engine, such as a server."""
        self._policy = BASE
        self._changing = threading.Lock()
        self._loop = BackgroundLoop("vllm-engine")
        self._connection = Connection(url, model, min(stops), server, at_once, patience)
        # the connection and the thread end when the engine is garbage-collected
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
        """The largest number of tokens of a prompt and its completion together: one less than the server's limit,
        because scoring needs room for one more token."""
        return self._connection.longest - 1

    @property
    def recoveries(self) -> int:
        """Number of times that the server was away and came back."""
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
        """Build the request now, with its policy, because the caller may publish before the answer arrives."""
        policy = self._held_policy(request.policy)
        room = self.context - len(request.prompt)
        if not request.prompt or room < 1:
            raise GymposiumError(
                f"A prompt of {len(request.prompt)} tokens leaves no room for a reply in a context of {self.context}."
            )
        if sampling.temperature not in (0.0, 1.0) and not self._connection.processed:
            raise GymposiumError(
                f"The vLLM server at {self._connection.url} reports log-probabilities at temperature 1 for every "
                f"temperature, so samples at {sampling.temperature:g} could not be learned from. Start it with "
                f"--logprobs-mode processed_logprobs, as gymposium engine start does, or play at temperature 0 or 1."
            )
        body = completion_body(request, sampling, max_tokens=min(sampling.max_tokens, room), stops=self.stops)
        if request.watch is not None:
            return self._connection.follow(body, policy, Arriving(policy, self.stops, request.watch))
        return self._connection.ask(body, policy, lambda answer: completion_of(answer, policy, self.stops))

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        return results([self.submit(request, sampling) for request in requests])

    def score(
        self, pairs: Sequence[tuple[Tokens, Tokens]], *, temperature: float = 1.0, policy: Policy | None = None
    ) -> list[tuple[float, ...]]:
        """Return the log-probabilities of given completions, at temperature 1 only: the server has no other
        log-probabilities of tokens that it did not sample."""
        if temperature != 1.0:
            raise GymposiumError(
                f"A vLLM server scores given tokens at temperature 1 only, not {temperature:g}. Score at 1, "
                f"or with the engine in process (leave engine= out of the player's name)."
            )
        asked = self._held_policy(policy)
        return results([self._loop.submit(self._score(prompt, completion, asked)) for prompt, completion in pairs])

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
        """The digest of the tensors that the server's workers loaded as `policy`; all digests if workers differ. None
        if the server does not report digests, because gymposium did not start it."""
        workers = self._loop.run(self._connection.loaded(self._held_policy(policy)))
        return ", ".join(sorted(set(workers))) if workers and all(workers) else None

    def load(self, directory: Path, policy: Policy) -> None:
        """Let the server load an adapter, beside the others. An adapter that is held already stays unchanged."""
        with self._changing:
            self._load(directory.absolute(), policy)

    def publish(self, directory: Path, policy: Policy) -> None:
        """Load an adapter as `load` does, and make it the current policy."""
        with self._changing:
            self._load(directory.absolute(), policy)
            self._policy = policy

    def _load(self, directory: Path, policy: Policy) -> None:
        if policy in self._connection.held:
            before = self._connection.held[policy].directory
            if before != directory:
                raise GymposiumError(
                    f"{policy} is held already, from {before}: publish {directory} under another version."
                )
            return
        if policy == BASE:
            raise GymposiumError("An adapter cannot be published as the base model; give it a name.")
        adapter = read_adapter(directory)
        check_fits(adapter, directory, self._connection.model)
        with (directory / WEIGHTS).open("rb") as file:
            held = Held(directory, hashlib.file_digest(file, "sha256").hexdigest()[:32])
        try:
            self._loop.run(self._connection.load(policy, held))
        except Refused as refused:
            rank = max(rank for _, rank, _ in adapter.layers.values())
            raise _refusal(self._connection, directory, policy, rank, refused) from refused
        self._connection.held[policy] = held

    def retire(self, policy: Policy) -> None:
        with self._changing:
            if policy == self._policy:
                raise GymposiumError(f"{policy} is the current policy: publish another before it is retired.")
            self._held_policy(policy)
            del self._connection.held[policy]
            self._loop.run(self._connection.unload(policy))

    # -- housekeeping

    def close(self) -> None:
        """End the connection, cancel requests in flight and close what the engine owns. Other servers go on running."""
        self._end()
        self._loop.join()
        self.owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _held_policy(self, policy: Policy | None) -> Policy:
        """The policy that is to answer: the current one for None. Raises `GymposiumError` if it is not held."""
        if policy is None:
            return self._policy
        if policy != BASE and policy not in self._connection.held:
            held = ", ".join(map(str, (BASE, *self._connection.held)))
            raise GymposiumError(f"The engine holds no policy {policy}: publish it first. It holds: {held}.")
        return policy


def _refusal(connection: Connection, directory: Path, policy: Policy, rank: int, refused: Refused) -> GymposiumError:
    """Return the error to raise for an adapter that the server refused: the reason, and what to do."""
    again = f"gymposium engine start --model {connection.model} --lora-rank {rank}"
    if (refused.status == 404 and refused.said == "Not Found") or "LoRA is not enabled" in refused.said:
        return GymposiumError(
            f"The vLLM server at {connection.url} takes no adapters: it was started without LoRA. "
            f"Start one with:  {again}"
        )
    if "max_lora_rank" in refused.said:
        return GymposiumError(
            f"The adapter in {directory} has rank {rank}, which is more than the vLLM server at {connection.url} makes "
            f"room for. Start one with:  {again}  (its message: {refused.said})"
        )
    if "already been loaded" in refused.said:
        return GymposiumError(
            f"The vLLM server at {connection.url} already holds an adapter called {policy}, from another place: "
            f"publish under another name, or start the server again."
        )
    return GymposiumError(
        f"The vLLM server at {connection.url} does not take the adapter in {directory} (is it made for "
        f"{connection.model}?). Its message: {refused.said}"
    )
