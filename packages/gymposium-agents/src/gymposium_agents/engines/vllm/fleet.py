"""The servers of one engine: which one answers a request, what happens when one fails, and what they hold. Everything
runs in one event loop.

No other layer retries. A request whose server is dead or broken goes to the next available server, unchanged and with
its seed, so the answer is the same. If no server is available, it waits for one. A request that a server refuses (4xx)
is never sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

import httpx
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from gymposium.errors import GymposiumError
from gymposium_agents.chat.tokens import BASE, Completion, Policy, Tokens
from gymposium_agents.engines.vllm.client import (
    FAILURES,
    Connection,
    HostedAdapter,
    HostedWeights,
    LateReply,
    ServerContents,
    ServerRefusal,
)
from gymposium_agents.engines.vllm.member import Member, Start
from gymposium_agents.engines.vllm.settings import Patience
from gymposium_agents.engines.vllm.wire import MalformedAnswer, StreamedCompletion

ATTEMPTS = 4
"""Number of times that a request is sent to one server before its failure is raised. Each further server adds one."""

T = TypeVar("T")


class _RetryNeeded(Exception):
    """Error for an attempt that may be retried."""


class ServerUnavailable(GymposiumError):
    """Error for a request to one unavailable server among several."""


class Fleet:
    """The servers of one engine, one or more. `open` must be called first."""

    def __init__(self, connections: Sequence[Connection], wait: Patience, start: Start) -> None:
        """`start` starts a coroutine in the event loop, alongside the requests."""
        self.contents = ServerContents()
        """The adapters and weights that each server must hold."""
        self.members = [
            Member(connection, self.contents, wait, start=start, check=self._check_version, changed=self._wake_up)
            for connection in connections
        ]
        self._wait = wait
        self._change = asyncio.Event()

    async def open(self) -> None:
        """Check the servers and learn their limits. Raises `GymposiumError` if a server does not answer or is not the
        expected one, or if the servers' versions differ."""
        await asyncio.gather(*(member.connection.open() for member in self.members))
        for member in self.members:
            self._check_version(member.connection)
            member.slots = asyncio.Semaphore(member.connection.at_once)

    async def close(self) -> None:
        for member in self.members:
            await member.connection.close()

    def order(self, conversation: str | None, prompt: Tokens) -> list[Member]:
        """Return the servers in a conversation's order of preference, so that its requests find the prefixes cached by
        one server. A conversation without a name is identified by its prompt."""
        if len(self.members) == 1:
            return self.members
        name = " ".join(map(str, prompt)) if conversation is None else conversation
        return [self.members[place] for place in rank_servers(name, len(self.members))]

    async def ask(
        self, body: dict[str, Any], policy: Policy, order: Sequence[Member], read: Callable[[dict[str, Any], Policy], T]
    ) -> T:
        """Send `body` to the first available server of `order`, in the name of `policy`, and return the answer parsed
        by `read`. `read` also gets the policy that answers.

        Raises `GymposiumError` if a healthy server does not answer within the time limit or no server comes back.
        Raises `ServerUnavailable` if `order` names only some of the servers and none of them is available."""
        return await self._complete(lambda connection: connection.ask(body, policy, read), policy, order)

    async def follow(
        self, body: dict[str, Any], policy: Policy, order: Sequence[Member], arriving: StreamedCompletion
    ) -> Completion:
        """Send `body` like `ask`, and receive the answer in parts as it is sampled."""
        return await self._complete(lambda connection: connection.follow(body, policy, arriving), policy, order)

    async def digests(self, policy: Policy, only: Member | None) -> list[str]:
        """Return the distinct digests of an adapter reported by the workers of the available servers, or of one server.
        Servers that do not report the digests of all workers are left out.

        Raises `ServerUnavailable` if the server is one of several and unavailable."""
        members = await self.present() if only is None else [only]
        digests: set[str] = set()
        for member in members:
            try:
                digests.update(await self._fetch_digests(policy, member))
            except ServerUnavailable:
                if only is not None:
                    raise
        return sorted(digests)

    async def _fetch_digests(self, policy: Policy, member: Member) -> list[str]:
        async def attempt() -> list[str]:
            chosen = await self._wait_for_first([member])
            return await self._attempt(chosen, lambda connection: connection.digests(policy), policy)

        workers = await self._retry(attempt)
        return workers if all(workers) else []

    async def present(self) -> list[Member]:
        """Return the available servers. Waits until at least one server is available.

        Raises `GymposiumError` if no server is expected back."""
        while not (present := [member for member in self.members if member.present]):
            problems = [member.problem for member in self.members if member.problem is not None]
            if len(problems) == len(self.members):
                raise GymposiumError(" ".join(map(str, problems))) from problems[0]
            await self._change.wait()
        return present

    # -- weights and adapters

    async def replace_weights(self, weights: HostedWeights) -> None:
        """Replace the weights of every server's model, between its requests. Returns when each available server has
        loaded them. Unavailable servers load them before they become available again. Raises `ServerRefusal` if every
        server refuses. They then keep their weights."""
        before, self.contents.weights = self.contents.weights, weights
        try:
            await self._change_each(lambda member: member.replace_weights(weights))
        except BaseException:
            self.contents.weights = before
            raise

    async def load(self, policy: Policy, held: HostedAdapter) -> None:
        """Load an adapter on every server. Returns when each available server has loaded it. Unavailable servers load
        it before they become available again. Raises `ServerRefusal` if every server refuses it."""
        self.contents.adapters[policy] = held
        try:
            await self._change_each(lambda member: member.connection.load(policy, held))
        except BaseException:
            del self.contents.adapters[policy]
            raise

    async def _change_each(self, change: Callable[[Member], Awaitable[None]]) -> None:
        """Make a change on each available server. A server that refuses gets no requests until it accepts. Raises
        `ServerRefusal` if every server refuses."""

        async def attempt(member: Member) -> None:
            await self._attempt(member, lambda _: change(member))

        present = await self.present()
        outcomes = await asyncio.gather(*map(attempt, present), return_exceptions=True)
        refused: dict[Member, ServerRefusal] = {}
        for member, outcome in zip(present, outcomes, strict=True):
            if isinstance(outcome, ServerRefusal):
                refused[member] = outcome
            elif isinstance(outcome, BaseException) and not isinstance(outcome, _RetryNeeded):
                raise outcome
        if refused and not any(member.present for member in self.members if member not in refused):
            raise next(iter(refused.values()))
        for member, refusal in refused.items():
            member.lose(member.recoveries, refusal)
        await self.present()

    async def unload(self, policy: Policy) -> None:
        """Unload an adapter on every server. An unavailable server unloads it before it becomes available again."""
        del self.contents.adapters[policy]
        present = await self.present()
        outcomes = await asyncio.gather(
            *(self._attempt(member, lambda connection: connection.unload(policy)) for member in present),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, _RetryNeeded):
                raise outcome

    # -- one layer of retries

    async def _complete(self, once: Callable[[Connection], Awaitable[T]], policy: Policy, order: Sequence[Member]) -> T:
        """Request a completion, within each server's limit on requests in flight."""

        async def attempt() -> T:
            while True:
                member = await self._wait_for_first(order)
                async with member.slots, member.sending():
                    if member.present:  # it may have become unavailable while the request waited for its turn
                        return await self._attempt(member, once, policy)

        return await self._retry(attempt)

    async def _wait_for_first(self, order: Sequence[Member]) -> Member:
        """Return the first available member of `order`, waiting for one if necessary."""
        while True:
            for member in order:
                if member.present:
                    return member
            if len(order) < len(self.members):
                raise ServerUnavailable(
                    f"The vLLM server at {order[0].connection.url} does not answer. Restart it: gymposium engine start"
                )
            await self.present()

    async def _retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Retry until an attempt does not raise `_RetryNeeded`."""
        most = ATTEMPTS + len(self.members) - 1
        tries = AsyncRetrying(
            stop=stop_after_attempt(most),
            retry=retry_if_exception_type(_RetryNeeded),
            reraise=True,
            sleep=asyncio.sleep,
        )
        try:
            return await tries(attempt)
        except _RetryNeeded as error:
            raise GymposiumError(f"A request failed {most} times: {error}") from error.__cause__

    async def _attempt(self, member: Member, once: Callable[[Connection], Awaitable[T]], policy: Policy = BASE) -> T:
        """Make one attempt at a server, in the name of `policy`. If the server is at fault, marks it as lost and raises
        `_RetryNeeded`."""
        if policy != BASE and not self.contents.has(policy):
            raise GymposiumError(
                f"{policy} was retired while one of its requests was waiting. Retire it after its last reply."
            )
        before, connection = member.recoveries, member.connection
        cause: Exception | None
        try:
            return await once(connection)
        except ServerRefusal as refused:
            # a restarted server has lost its adapters and weights
            if refused.status != httpx.codes.NOT_FOUND or not self.contents.has(policy):
                raise
            reason, cause = refused.said, refused
        except LateReply as late:
            if member.recoveries == before and await connection.healthy(self._wait.connect):
                raise GymposiumError(str(late)) from late
            reason, cause = "no answer in time", late
        except FAILURES as error:
            # a garbled answer may contain the key, so it is not chained
            reason = connection.shown(f"{type(error).__name__} {error}")
            cause = None if isinstance(error, MalformedAnswer) else error
        member.lose(before)
        raise _RetryNeeded(f"{reason} (the vLLM server at {connection.url}){connection.see_log()}") from cause

    # -- the members

    def _check_version(self, connection: Connection) -> None:
        """Raise `GymposiumError` if the servers run different versions of vLLM."""
        for other in (member.connection for member in self.members):
            if other.version != connection.version:
                raise GymposiumError(
                    f"The vLLM servers at {other.url} and {connection.url} run different versions, {other.version} "
                    f"and {connection.version}, so one request could have two answers. Run the same version on all "
                    f"servers."
                )

    def _wake_up(self) -> None:
        """Wake up the requests that wait for a server."""
        self._change.set()
        self._change = asyncio.Event()


def rank_servers(conversation: str, servers: int) -> list[int]:
    """Return the places 0 to `servers - 1` in a conversation's order of preference (rendezvous hashing).

    The order depends only on the name of the conversation. If a server is missing, only its conversations move, each to
    its next server. An additional server at the end takes over its share of the conversations. The rest do not move."""
    return sorted(range(servers), key=lambda place: _compute_weight(conversation, place), reverse=True)


def _compute_weight(conversation: str, place: int) -> bytes:
    return blake2b(f"{place}/{conversation}".encode(), digest_size=8).digest()
