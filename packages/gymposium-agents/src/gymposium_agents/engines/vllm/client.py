"""Connection to a vLLM server: its model, the adapters that it must hold, and recovery when it goes away. All of it
runs in one event loop.

No other layer retries. A request that fails because the server is dead or broken waits until a server answers again (a
server that this process started is restarted, any other is awaited). It is then sent again unchanged, with its seed, so
the answer is the same. A request that the server refuses (4xx) is never sent again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from gymposium.errors import GymposiumError
from gymposium.strict_json import strict_json
from gymposium.visible import visible
from gymposium_agents.engines.bodies import MAX_BODY, read_body, read_lines
from gymposium_agents.engines.secrets import without_secret
from gymposium_agents.engines.vllm.server import PROBE_SECONDS, Server
from gymposium_agents.engines.vllm.settings import KEY_VARIABLE, Patience
from gymposium_agents.engines.vllm.versions import remark_on
from gymposium_agents.engines.vllm.wire import Arriving, Garbled, count_of, likeliest_of, message_of, probe_body
from gymposium_agents.tokens import Completion, Policy

ATTEMPTS = 4
"""Number of times that a request is sent before its failure is raised."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class _Again(Exception):
    """Error after which a request may be tried again, because the connection has been recovered."""


class _Late(Exception):
    """Error for a reply that did not arrive within its limit. Its message is for the user, if the server is
    healthy."""


class Refused(GymposiumError):
    """Error for a request that the server refused; `status` is the HTTP status, `said` the server's message."""

    def __init__(self, status: int, said: str, message: str) -> None:
        super().__init__(message)
        self.status, self.said = status, said


@dataclass(frozen=True, slots=True)
class Held:
    """An adapter that the server must hold."""

    directory: Path
    """The directory of the adapter."""
    salt: str
    """A digest of the weights, part of the key of the server's prefix cache, so that a cached prefix is never used with
    other weights."""


TOKEN_BYTES = 1024
"""Maximum number of bytes of an answer for each token of the prompt and of the reply, in addition to `MAX_BODY`."""
_LONGEST = 500
"""Maximum number of characters that messages quote from the server."""
AT_ONCE = 64
"""Number of requests in flight to a server that does not report how many it runs at once."""


class Connection:
    """The connection of one engine to a server. `open` must be called first."""

    def __init__(
        self, url: str, model: str, probe: int, server: Server | None, at_once: int | None, wait: Patience
    ) -> None:
        """`server` is the server if this process started it. `probe` is a token id that any model of this tokenizer
        has. `at_once` is the maximum number of requests in flight, by default as many as the server runs at once."""
        self.url, self.model, self.server = url.rstrip("/"), model, server
        self.held: dict[Policy, Held] = {}
        """The adapters that the server must hold, by policy."""
        self.longest = 0
        """The server's max_model_len."""
        self.base = ""
        """The name under which the server serves the model."""
        self.processed = False
        """Whether the server reports log-probabilities at the sampling temperature."""
        self.recoveries = 0
        """Number of times that the server was away and came back."""
        self._probe = probe
        self._wait = wait
        self.at_once = at_once
        """Maximum number of requests in flight; None until the connection is open."""
        self._room = asyncio.Semaphore(0)
        self._recovering = asyncio.Lock()
        self._broken: GymposiumError | None = None
        self._warned = False
        self._key = os.environ.get(KEY_VARIABLE)
        headers = {"Accept-Encoding": "gzip"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers=headers,
            # no limit on the wait for a free connection: requests queue here, for `_room`
            timeout=httpx.Timeout(wait.request, connect=wait.connect, pool=None),
            # the server drops idle connections after 5 seconds; the client drops them before that
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=2.0),
            trust_env=False,
        )

    async def open(self) -> None:
        """Check the server and learn its limits. Raises `GymposiumError` if no server answers or it is not the expected
        one."""
        try:
            await self._greet()
            if self.at_once is None:
                self.at_once = count_of((await self.about()).get("max_num_seqs", AT_ONCE))
            self._room = asyncio.Semaphore(self.at_once)
        except httpx.TransportError as error:
            raise GymposiumError(
                f"No vLLM server answers at {self.url} ({type(error).__name__}). Start one with:  gymposium engine "
                f"start --model {self.model}"
            ) from error
        except (_Again, Garbled) as error:
            raise GymposiumError(
                f"The vLLM server at {self.url} is not healthy: {self._shown(str(error))}{self._see_log()}"
            ) from error

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, body: dict[str, Any], policy: Policy, read: Callable[[dict[str, Any]], T]) -> T:
        """Send `body` to the completions endpoint in the name of `policy`, and return the answer as parsed by `read`.

        Raises `GymposiumError` if a healthy server does not answer within the time limit."""

        async def send(named: dict[str, Any], limit: float) -> T:
            return read(await self._send("/v1/completions", named, limit))

        return await self._complete(body, policy, send)

    async def follow(self, body: dict[str, Any], policy: Policy, arriving: Arriving) -> Completion:
        """Send `body` as `ask` does, and take the answer in parts as it is sampled. If `arriving` ends it before the
        server does, the server is told by the end of the connection."""

        async def send(named: dict[str, Any], limit: float) -> Completion:
            arriving.begin()
            async with asyncio.timeout(limit), self._posted("/v1/completions", named, limit) as answer:
                if not answer.is_success:
                    self._read(answer, await read_body(answer))
                async with aclosing(read_lines(answer, _longest_answer(named))) as lines:
                    async for line in lines:
                        completion = arriving.take(_event(line)) if line else None
                        if completion is not None:
                            return completion
            raise Garbled("the end of a stream in the middle of a completion")

        return await self._complete(body | {"stream": True}, policy, send)

    async def _complete(
        self, body: dict[str, Any], policy: Policy, send: Callable[[dict[str, Any], float], Awaitable[T]]
    ) -> T:
        """Send a request for a completion in the name of `policy` with `send`, which gets the body and a time limit."""
        limit, max_tokens = self._wait.limit(body["max_tokens"]), body["max_tokens"]

        async def once() -> T:
            named = body | {"model": self.base}
            if policy in self.held:
                named = body | {"model": str(policy), "cache_salt": self.held[policy].salt}
            try:
                return await send(named, limit)
            except (httpx.ReadTimeout, TimeoutError) as error:
                raise _Late(
                    f"The vLLM server at {self.url} is healthy, but did not answer a request for up to {max_tokens} "
                    f"tokens within {limit:g} seconds ({self._wait.request:g} and {self._wait.token:g} a token). Raise "
                    f"token_seconds (token_seconds= in the player's name, engine.token_seconds in a run's config), or "
                    f"have fewer requests in flight: at_once is {self.at_once} and must not be more than the server's "
                    f"--max-num-seqs{self._see_log()}"
                ) from error

        async with self._room:
            return await self._insist(once, policy)

    async def about(self) -> dict[str, Any]:
        """Return the report of a server that gymposium started (`serving.py`); empty for any other server."""
        try:
            return await self._get("/v1/gymposium")
        except Refused as refused:
            if refused.status != httpx.codes.NOT_FOUND:
                raise
            return {}

    async def loaded(self, policy: Policy) -> list[str]:
        """Return the digests of an adapter, one from each of the server's workers; empty if the server does not report
        them."""
        about = await self._insist(self.about, policy)
        return list(about.get("adapters", {}).get(str(policy)) or ())

    async def load(self, policy: Policy, held: Held) -> None:
        """Let the server load an adapter. Raises `Refused` with the server's message if it refuses."""
        await self._insist(lambda: self._load(policy, held), None)

    async def unload(self, policy: Policy) -> None:
        """Let the server unload an adapter, which may be gone already."""

        async def once() -> None:
            try:
                await self._send("/v1/unload_lora_adapter", {"lora_name": str(policy)})
            except Refused as refused:
                if refused.status != httpx.codes.NOT_FOUND:
                    raise

        await self._insist(once, None)

    # -- one layer of retries

    async def _insist(self, once: Callable[[], Awaitable[T]], policy: Policy | None) -> T:
        tries = AsyncRetrying(
            stop=stop_after_attempt(ATTEMPTS), retry=retry_if_exception_type(_Again), reraise=True, sleep=asyncio.sleep
        )
        try:
            return await tries(self._try, once, policy)
        except _Again as error:
            raise GymposiumError(
                f"The vLLM server at {self.url} failed {ATTEMPTS} times: {error}{self._see_log()}"
            ) from error.__cause__

    async def _try(self, once: Callable[[], Awaitable[T]], policy: Policy | None) -> T:
        """Make one attempt. If it fails because of the server, the connection is recovered before `_Again` is
        raised."""
        before = self.recoveries
        try:
            return await once()
        except Refused as refused:
            # a restarted server has lost its adapters
            if refused.status != httpx.codes.NOT_FOUND or policy not in self.held:
                raise
            await self._recover(before)
            raise _Again(refused.said) from refused
        except _Late as late:
            if self.recoveries == before and await self._healthy(self._wait.connect):
                raise GymposiumError(str(late)) from late
            await self._recover(before)
            raise _Again("no answer in time") from late
        except (httpx.TransportError, Garbled, _Again) as error:
            await self._recover(before)
            # a garbled answer may hold the key, so it is not chained
            cause = None if isinstance(error, Garbled) else error
            raise _Again(self._shown(f"{type(error).__name__} {error}")) from cause

    async def _recover(self, before: int) -> None:
        """Wait until a server answers and holds its adapters. If many requests fail together, one of them does the
        work; `before` is the value of `recoveries` when the request was sent."""
        async with self._recovering:
            if self._broken is not None:
                raise GymposiumError(str(self._broken)) from self._broken
            if self.recoveries != before:
                return
            try:
                await self._await_server()
            except GymposiumError as error:
                self._broken = error
                raise
            self.recoveries += 1

    async def _await_server(self) -> None:
        deadline = time.monotonic() + self._wait.absence
        warned = False
        while True:
            try:
                if await self._healthy():
                    await self._greet()
                    return
            except (httpx.TransportError, _Again, Garbled) as error:
                log.debug("The server at %s went away again: %s", self.url, error)
            late = time.monotonic() > deadline
            if self.server is not None and (late or not self.server.alive):
                log.warning("The vLLM server at %s is gone; it is started again.", self.url)
                await asyncio.to_thread(self.server.revive)
                deadline = time.monotonic() + self._wait.absence
            elif late:
                raise GymposiumError(
                    f"The vLLM server at {self.url} is gone and did not come back within {self._wait.absence:.0f} "
                    f"seconds. Start it again (gymposium engine start restarts servers that die), then resume."
                )
            elif not warned and self.server is None:
                warned = True
                log.warning("The vLLM server at %s does not answer; waiting for it to come back.", self.url)
            await asyncio.sleep(0.2)

    async def _healthy(self, seconds: float = PROBE_SECONDS) -> bool:
        try:
            async with self._http.stream("GET", "/health", timeout=seconds) as answer:
                return answer.is_success
        except httpx.TransportError as error:
            log.debug("The server at %s does not answer: %s", self.url, error)
            return False

    # -- the server's endpoints, without retries

    async def _greet(self) -> None:
        """Check the server's version and model, and let it load the adapters that it must hold."""
        version = await self._get("/version")
        models = await self._get("/v1/models")
        if "version" not in version or not isinstance(models.get("data"), list):
            raise GymposiumError(f"The server at {self.url} is not a vLLM server.")
        if not all(isinstance(card, dict) and isinstance(card.get("id"), str) for card in models["data"]):
            raise Garbled(f"a list of models without names: {models}")
        if not self._warned and (remark := remark_on(self._shown(str(version["version"])))):
            self._warned = True
            log.warning("%s", remark)
        served = [card for card in models["data"] if card.get("parent") is None]
        expected = [card for card in served if _same_model(self.model, card)]
        if not expected:
            others = ", ".join(f"{card['id']} ({card.get('root')})" for card in served) or "none"
            raise GymposiumError(
                f"The vLLM server at {self.url} serves another model: {self._shown(others)}; expected {self.model}. "
                f"Start one with:  gymposium engine start --model {self.model}  (or name the model that it serves)."
            )
        self.base, self.longest = str(expected[0]["id"]), count_of(expected[0].get("max_model_len"))
        names = {str(card["id"]) for card in models["data"]}
        for policy, held in self.held.items():
            if str(policy) not in names:
                await self._load(policy, held)
        limit = max(self._wait.connect, self._wait.limit(1))
        at_one, at_two = [
            likeliest_of(await self._send("/v1/completions", probe_body(self._probe, t) | {"model": self.base}, limit))
            for t in (1.0, 2.0)
        ]
        self.processed = at_one != at_two

    async def _load(self, policy: Policy, held: Held) -> None:
        body = {"lora_name": str(policy), "lora_path": str(held.directory)}
        try:
            await self._send("/v1/load_lora_adapter", body)
        except Refused as refused:
            if "already been loaded" not in refused.said:
                raise
            # perhaps an earlier run loaded it from the same directory, whose files may have changed: load them again
            models = await self._get("/v1/models")
            roots = {str(card["id"]): card.get("root") for card in models["data"]}
            if roots.get(str(policy)) != str(held.directory):
                raise
            await self._send("/v1/unload_lora_adapter", {"lora_name": str(policy)})
            await self._send("/v1/load_lora_adapter", body)

    async def _get(self, path: str) -> dict[str, Any]:
        async with self._http.stream("GET", path, timeout=self._wait.connect) as answer:
            return self._read(answer, await read_body(answer))

    async def _send(self, path: str, body: dict[str, Any], limit: float | None = None) -> dict[str, Any]:
        """POST `body` and return the parsed answer; `limit` replaces the time limit of a request without tokens."""
        async with self._posted(path, body, limit) as answer:
            return self._read(answer, await read_body(answer, _longest_answer(body)))

    def _posted(
        self, path: str, body: dict[str, Any], limit: float | None
    ) -> AbstractAsyncContextManager[httpx.Response]:
        seconds = httpx.Timeout(limit or self._wait.request, connect=self._wait.connect, pool=None)
        return self._http.stream("POST", path, json=body, timeout=seconds)

    def _read(self, answer: httpx.Response, body: bytes) -> dict[str, Any]:
        """Parse the server's answer; an answer that is not a JSON object gives `{}`. Raises `Refused` if the server
        refuses the request, `_Again` if it fails."""
        text = body.decode("utf-8", "replace")
        try:
            parsed = strict_json(text)
        except ValueError:
            parsed = {}
        if answer.is_success:
            return parsed if isinstance(parsed, dict) else {}
        said = self._shown(message_of(text, parsed))
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            raise Refused(
                401,
                said,
                f"The vLLM server at {self.url} requires a key: set {KEY_VARIABLE} as it was at its start.",
            )
        if answer.is_server_error and "add_lora" not in said:  # for an adapter that does not fit the status is 500 too
            raise _Again(f"HTTP {answer.status_code}: {said}")
        raise Refused(answer.status_code, said, f"The vLLM server at {self.url} refused a request: {said}")

    def _shown(self, text: str) -> str:
        """The server's text as errors and logs quote it: short, and without the key."""
        text = visible(" ".join(without_secret(text, self._key).split()))
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

    def _see_log(self) -> str:
        return f". Its log: {self.server.log}" if self.server else " (gymposium engine status names its log)"


def _longest_answer(body: dict[str, Any]) -> int:
    """The maximum number of bytes of the answer to a request."""
    tokens: int = len(body.get("prompt", ())) + body.get("max_tokens", 0)
    return MAX_BODY + TOKEN_BYTES * tokens


def _event(line: bytes) -> dict[str, Any]:
    """The object in a line of a stream of server-sent events. Raises `Garbled` for any other line."""
    field, _, value = line.partition(b":")
    try:
        parsed = strict_json(value.decode())
    except ValueError:
        parsed = None
    if field != b"data" or not isinstance(parsed, dict):
        raise Garbled(f"a line of a stream that is not an object: {line[:_LONGEST]!r}")
    return parsed


def _same_model(expected: str, card: dict[str, Any]) -> bool:
    """True if a model card of the server describes the expected model: by name, or as the same directory."""
    if expected in (card["id"], card.get("root")):
        return True
    root = card.get("root")
    return isinstance(root, str) and all(Path(p).is_dir() for p in (expected, root)) and Path(expected).samefile(root)
