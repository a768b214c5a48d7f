"""Connection to one vLLM server: its model, its limits and the adapters that it holds.

Each request is sent once. The fleet (`fleet.py`) decides what to do after a failure, and no other layer retries.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx

from gymposium.errors import GymposiumError
from gymposium.http.responses import MAX_BODY, read_body, read_lines
from gymposium.http.tls import get_tls_context
from gymposium.plugins.command_line import format_command_line
from gymposium.util.strict_json import parse_strict_json
from gymposium.util.visible import visible
from gymposium_agents.chat.tokens import BASE, Completion, Policy
from gymposium_agents.engines.api_errors import extract_error_words
from gymposium_agents.engines.secrets import remove_secret
from gymposium_agents.engines.vllm.server import PROBE_SECONDS, find_own_server
from gymposium_agents.engines.vllm.settings import KEY_VARIABLE, Patience
from gymposium_agents.engines.vllm.versions import make_version_remark
from gymposium_agents.engines.vllm.wire import (
    MalformedAnswer,
    StreamedCompletion,
    check_cards,
    check_count,
    check_digests,
    make_probe_body,
    parse_digests,
    parse_likeliest,
)

T = TypeVar("T")

log = logging.getLogger(__name__)


class RequestFailure(Exception):
    """Error for a request that the server failed to answer. It may be sent again."""


class LateReply(Exception):
    """Error for a reply that did not arrive in time. The user sees its message if the server is healthy."""


FAILURES = (httpx.TransportError, MalformedAnswer, RequestFailure)
"""Errors that allow sending a request again, to the same or another server."""


class ServerRefusal(GymposiumError):
    """Error for a request that the server refused. `status` is the HTTP status, and `said` the server's message."""

    def __init__(self, status: int, said: str, message: str) -> None:
        super().__init__(message)
        self.status, self.said = status, said


@dataclass(frozen=True, slots=True)
class HostedAdapter:
    """An adapter that the server must load."""

    directory: Path
    """The directory of the adapter."""
    salt: str
    """A digest of the weights. It is part of the key in the server's prefix cache, so a cached prefix is never used
    with other weights."""
    rank: int
    """The largest rank of the adapter's layers."""


@dataclass(frozen=True, slots=True)
class HostedWeights:
    """All weights of a model, which the server must load in place of its current weights."""

    directory: Path
    """The directory of the safetensors."""
    policy: Policy
    """The version of the weights."""
    digest: str
    """The digest that each worker must report. It is also part of the key of the server's prefix cache."""


@dataclass(slots=True)
class ServerContents:
    """The adapters and weights that each server of an engine must hold."""

    adapters: dict[Policy, HostedAdapter] = field(default_factory=dict)
    weights: HostedWeights | None = None
    """The weights that replace the model's own, or None if nothing replaces them."""

    def has(self, policy: Policy) -> bool:
        """Return True if the policy is an adapter, or any version of the weights."""
        return policy in self.adapters or (self.weights is not None and policy.name == self.weights.policy.name)


TOKEN_BYTES = 1024
"""Maximum number of bytes of an answer per token of prompt and reply, in addition to `MAX_BODY`."""
_LONGEST = 500
"""Maximum number of characters to quote from the server."""
AT_ONCE = 64
"""Number of requests in flight to a server that does not report its limit."""


class Connection:
    """The connection of one engine to one server. `open` must be called first."""

    def __init__(self, url: str, model: str, probe: int, at_once: int | None, wait: Patience) -> None:
        """`probe` is a token id that any model with this tokenizer has. `at_once` is the maximum number of requests in
        flight, by default the server's own limit."""
        self.url, self.model = url.rstrip("/"), model
        self.server = find_own_server(self.url)
        """The server, if this process started it."""
        self.version = ""
        """The server's version of vLLM."""
        self.loaded: dict[Policy, HostedAdapter] = {}
        """The adapters known to be loaded on the server for this engine."""
        self.weights: HostedWeights | None = None
        """The weights known to be loaded on the server in place of the model's own."""
        self.longest = 0
        """The server's max_model_len."""
        self.base = ""
        """The server's name for the model."""
        self.processed = False
        """Whether the server reports log-probabilities at the sampling temperature."""
        self._probe = probe
        self._wait = wait
        self.at_once = at_once or AT_ONCE
        """Maximum number of requests in flight. It is known once the connection is open."""
        self._ask_at_once = at_once is None
        self._warned = False
        self._key = os.environ.get(KEY_VARIABLE)
        headers = {"Accept-Encoding": "gzip"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers=headers,
            # no limit on the wait for a free connection: requests queue in the fleet
            timeout=httpx.Timeout(wait.request, connect=wait.connect, pool=None),
            # the server drops idle connections after 5 seconds, so the client drops them earlier
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=2.0),
            verify=get_tls_context(trust_env=False),
            trust_env=False,
        )

    async def open(self) -> None:
        """Check the server and learn its limits. Raises `GymposiumError` if no server answers or it is not the expected
        one."""
        try:
            await self.greet()
            if self._ask_at_once:
                self.at_once = check_count((await self.about()).get("max_num_seqs", AT_ONCE))
        except httpx.TransportError as error:
            raise GymposiumError(
                f"No vLLM server answers at {self.url} ({type(error).__name__}). Start one with:  {self._start_command}"
            ) from error
        except (RequestFailure, MalformedAnswer) as error:
            raise GymposiumError(
                f"The vLLM server at {self.url} is not healthy: {self.shown(str(error))}{self.see_log()}"
            ) from error

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, body: dict[str, Any], policy: Policy, read: Callable[[dict[str, Any], Policy], T]) -> T:
        """Send `body` to the completions endpoint in the name of a loaded `policy`, and return the answer parsed by
        `read`. `read` also gets the policy that answers. With several versions of the weights, that is the server's
        version.

        Raises `ServerRefusal` if the server refuses the request, `LateReply` if it does not answer within the time
        limit, and one of `FAILURES` if it fails."""

        async def send(named: dict[str, Any], limit: float, answering: Policy) -> T:
            return read(await self._send("/v1/completions", named, limit), answering)

        return await self._complete(body, policy, send)

    async def follow(self, body: dict[str, Any], policy: Policy, arriving: StreamedCompletion) -> Completion:
        """Send `body` like `ask`, and receive the answer in parts as it is sampled. If `arriving` ends the reply before
        the server does, the connection is closed, which tells the server to stop."""

        async def send(named: dict[str, Any], limit: float, answering: Policy) -> Completion:
            arriving.begin(answering)
            async with asyncio.timeout(limit), self._open_post("/v1/completions", named, limit) as answer:
                if not answer.is_success:
                    self._read(answer, await read_body(answer))
                async with aclosing(read_lines(answer, _limit_answer_size(named))) as lines:
                    async for line in lines:
                        if not line or line.startswith(
                            b":"
                        ):  # the end of an event, or a comment that keeps the line open
                            continue
                        completion = arriving.take(_parse_event(line))
                        if completion is not None:
                            return completion
            raise MalformedAnswer("the end of a stream in the middle of a completion")

        return await self._complete(body | {"stream": True}, policy, send)

    async def _complete(
        self, body: dict[str, Any], policy: Policy, send: Callable[[dict[str, Any], float, Policy], Awaitable[T]]
    ) -> T:
        """Send a completion request in the name of `policy` with `send`. `send` gets the body, a time limit, and the
        policy that answers."""
        limit, max_tokens = self._wait.limit(body["max_tokens"]), body["max_tokens"]
        named = body | {"model": self.base}
        if policy in self.loaded:
            named |= {"model": str(policy), "cache_salt": self.loaded[policy].salt}
        elif policy != BASE:
            if self.weights is None:
                raise RequestFailure(f"{policy} is not loaded")
            policy = self.weights.policy
            # a server that was restarted does not know this name
            named |= {"model": str(policy), "cache_salt": self.weights.digest[:32]}
        try:
            return await send(named, limit, policy)
        except (httpx.ReadTimeout, TimeoutError) as error:
            raise LateReply(
                f"The vLLM server at {self.url} is healthy, but did not answer a request for up to {max_tokens} "
                f"tokens within {limit:g} seconds ({self._wait.request:g} and {self._wait.token:g} per token). Raise "
                f"token_seconds (token_seconds= in the player's name, engine.token_seconds in a run's config), or "
                f"have fewer requests in flight: at_once is {self.at_once} and must not exceed the server's "
                f"--max-num-seqs{self.see_log()}"
            ) from error

    async def about(self) -> dict[str, Any]:
        """Return the report of a server started by gymposium (`serving.py`). Empty for any other server."""
        try:
            return await self._get("/v1/gymposium")
        except ServerRefusal as refused:
            if refused.status != httpx.codes.NOT_FOUND:
                raise
            return {}

    async def digests(self, policy: Policy) -> list[str]:
        """Return the digests of an adapter or of the server's weights, one per server worker. Empty if the server does
        not report them."""
        return parse_digests(await self.about(), policy)

    async def load(self, policy: Policy, held: HostedAdapter) -> None:
        """Load an adapter on the server. Raises `ServerRefusal` with the fix if the server refuses."""
        body = {"lora_name": str(policy), "lora_path": str(held.directory)}
        try:
            await self._send("/v1/load_lora_adapter", body)
        except ServerRefusal as refused:
            # perhaps an earlier run loaded it from the same directory, whose files may have changed: load them again
            if "already been loaded" not in refused.said or await self._find_root(policy) != str(held.directory):
                raise _explain_refusal(self, policy, held, refused) from refused
            await self._send("/v1/unload_lora_adapter", {"lora_name": str(policy)})
            await self._send("/v1/load_lora_adapter", body)
        self.loaded[policy] = held

    async def unload(self, policy: Policy) -> None:
        """Unload an adapter on the server, if it is still loaded."""
        try:
            await self._send("/v1/unload_lora_adapter", {"lora_name": str(policy)})
        except ServerRefusal as refused:
            if refused.status != httpx.codes.NOT_FOUND:
                raise
        self.loaded.pop(policy, None)

    async def replace_weights(self, weights: HostedWeights) -> None:
        """Replace all weights of the server's model, and wait until it has loaded them.

        Raises `ServerRefusal` if the server refuses and keeps its weights, and one of `FAILURES` if it fails."""
        body = {"directory": str(weights.directory), "version": str(weights.policy)}
        try:
            answer = await self._send("/v1/gymposium/weights", body)
        except ServerRefusal as refused:
            if refused.status != httpx.codes.NOT_FOUND:
                raise
            raise ServerRefusal(
                httpx.codes.NOT_IMPLEMENTED,
                refused.said,
                f"The vLLM server at {self.url} cannot replace the weights of its model. Start one with:  "
                f"{self._start_command}",
            ) from refused
        if set(check_digests(answer.get("digests"))) != {weights.digest}:
            raise RequestFailure(f"the server read other tensors from {weights.directory} than were written")
        self.weights = weights

    async def hold(self, contents: ServerContents) -> None:
        """Load these weights, and unload all other adapters of this engine. If `contents` change during the call, the
        server ends up with the final contents."""
        adapters = contents.adapters
        while True:
            if contents.weights is not None and self.weights != contents.weights:
                await self.replace_weights(contents.weights)
                continue
            lacking = next((policy for policy, held in adapters.items() if self.loaded.get(policy) != held), None)
            spare = next((policy for policy in self.loaded if policy not in adapters), None)
            if lacking is not None:
                await self.load(lacking, adapters[lacking])
            elif spare is not None:
                await self.unload(spare)
            else:
                return

    async def healthy(self, seconds: float = PROBE_SECONDS) -> bool:
        """Return True if the server answers and reports that it is healthy."""
        try:
            async with self._http.stream("GET", "/health", timeout=seconds) as answer:
                return answer.is_success
        except httpx.TransportError as error:
            log.debug("The server at %s does not answer: %s", self.url, error)
            return False

    async def greet(self) -> None:
        """Check the server's model, and learn its version, its limits and its loaded adapters.

        Raises `GymposiumError` if it is not the expected server, and one of `FAILURES` if it fails."""
        version = await self._get("/version")
        models = await self._get("/v1/models")
        if "version" not in version or not isinstance(models.get("data"), list):
            raise GymposiumError(
                f"The server at {self.url} is not a vLLM server. Start one with:  {self._start_command}"
            )
        cards = check_cards(models["data"])
        self.version = self.shown(str(version["version"]))
        if not self._warned and (remark := make_version_remark(self.version)):
            self._warned = True
            log.warning("%s", remark)
        served = [card for card in cards if card.get("parent") is None]
        expected = [card for card in served if _is_same_model(self.model, card)]
        if not expected:
            others = ", ".join(f"{card['id']} ({card.get('root')})" for card in served) or "none"
            raise GymposiumError(
                f"The vLLM server at {self.url} serves another model: {self.shown(others)}; expected {self.model}. "
                f"Start one with:  {self._start_command}  (or name the model it serves)"
            )
        self.base, self.longest = str(expected[0]["id"]), check_count(expected[0].get("max_model_len"))
        names = {card["id"] for card in cards}
        self.loaded = {policy: held for policy, held in self.loaded.items() if str(policy) in names}
        if self.weights is not None and str(self.weights.policy) not in names:
            self.weights = None
        limit = max(self._wait.connect, self._wait.limit(1))
        at_one, at_two = [
            parse_likeliest(
                await self._send("/v1/completions", make_probe_body(self._probe, t) | {"model": self.base}, limit)
            )
            for t in (1.0, 2.0)
        ]
        self.processed = at_one != at_two

    async def _find_root(self, policy: Policy) -> str | None:
        """Return the directory of an adapter that the server has loaded, or None if it is not loaded."""
        models = await self._get("/v1/models")
        return {card["id"]: card.get("root") for card in check_cards(models.get("data"))}.get(str(policy))

    async def _get(self, path: str) -> dict[str, Any]:
        async with self._http.stream("GET", path, timeout=self._wait.connect) as answer:
            return self._read(answer, await read_body(answer))

    async def _send(self, path: str, body: dict[str, Any], limit: float | None = None) -> dict[str, Any]:
        """POST `body` and return the parsed answer. `limit` replaces the time limit of a request without tokens."""
        async with self._open_post(path, body, limit) as answer:
            return self._read(answer, await read_body(answer, _limit_answer_size(body)))

    def _open_post(
        self, path: str, body: dict[str, Any], limit: float | None
    ) -> AbstractAsyncContextManager[httpx.Response]:
        seconds = httpx.Timeout(limit or self._wait.request, connect=self._wait.connect, pool=None)
        return self._http.stream("POST", path, json=body, timeout=seconds)

    def _read(self, answer: httpx.Response, body: bytes) -> dict[str, Any]:
        """Parse the server's answer. An answer that is not a JSON object gives `{}`. Raises `ServerRefusal` if the
        server refuses the request, and `RequestFailure` if it fails."""
        text = body.decode("utf-8", "replace")
        try:
            parsed = parse_strict_json(text)
        except ValueError:
            parsed = {}
        if answer.is_success:
            return parsed if isinstance(parsed, dict) else {}
        said = self.shown(extract_error_words(parsed) or text)
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            raise ServerRefusal(
                401,
                said,
                f"The vLLM server at {self.url} requires a key. Set {KEY_VARIABLE} to the key it was started with.",
            )
        if answer.is_server_error and "add_lora" not in said:  # an adapter that does not fit also gives the status 500
            raise RequestFailure(f"HTTP {answer.status_code}: {said}")
        raise ServerRefusal(answer.status_code, said, f"The vLLM server at {self.url} refused a request: {said}")

    @property
    def _start_command(self) -> str:
        """The command that starts a server of the model."""
        return format_command_line("engine", "start", "--model", self.model)

    def shown(self, text: str) -> str:
        """Return the server's text for errors and logs: short, and without the key."""
        text = visible(" ".join(remove_secret(text, self._key).split()))
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

    def see_log(self) -> str:
        """Return the end of an error sentence that names the server's log."""
        return f". Its log: {self.server.log}" if self.server else " (gymposium engine status names its log)"


def _limit_answer_size(body: dict[str, Any]) -> int:
    """Return the maximum response size in bytes."""
    tokens: int = len(body.get("prompt", ())) + body.get("max_tokens", 0)
    return MAX_BODY + TOKEN_BYTES * tokens


def _parse_event(line: bytes) -> dict[str, Any]:
    """Return the object in a line of a server-sent event stream. Raises `MalformedAnswer` for any other line."""
    field, _, value = line.partition(b":")
    try:
        parsed = parse_strict_json(value.decode())
    except ValueError:
        parsed = None
    if field != b"data" or not isinstance(parsed, dict):
        raise MalformedAnswer(f"a line of a stream that is not an object: {line[:_LONGEST]!r}")
    return parsed


def _is_same_model(expected: str, card: dict[str, Any]) -> bool:
    """Return True if the server's model card describes the expected model, by the same name or the same directory."""
    if expected in (card["id"], card.get("root")):
        return True
    root = card.get("root")
    return isinstance(root, str) and all(Path(p).is_dir() for p in (expected, root)) and Path(expected).samefile(root)


def _explain_refusal(
    connection: Connection, policy: Policy, held: HostedAdapter, refused: ServerRefusal
) -> ServerRefusal:
    """Return the error for an adapter refused by the server: the reason, and the fix."""
    again = format_command_line("engine", "start", "--model", connection.model, "--lora-rank", str(held.rank))
    server = connection.url
    if (
        refused.status == httpx.codes.NOT_FOUND and refused.said == "Not Found"
    ) or "LoRA is not enabled" in refused.said:
        message = (
            f"The vLLM server at {server} does not accept adapters, because it was started without LoRA. Start one "
            f"with:  {again}"
        )
    elif "max_lora_rank" in refused.said:
        message = (
            f"The adapter in {held.directory} has rank {held.rank}, which exceeds the limit of the vLLM server at "
            f"{server}. Start one with:  {again}  (its message: {refused.said})"
        )
    elif "already been loaded" in refused.said:
        message = (
            f"The vLLM server at {server} has already loaded an adapter called {policy} from another directory. "
            f"Publish under another name, or restart the server."
        )
    else:
        message = (
            f"The vLLM server at {server} rejects the adapter in {held.directory} (is it made for "
            f"{connection.model}?). Its message: {refused.said}"
        )
    return ServerRefusal(refused.status, refused.said, message)
