"""A client for `gymposium serve`, which begins sessions, ends them with rewards, and requests training.

    from gymposium.http.client import Server
    from openai import OpenAI

    def agent(session):
        model = OpenAI(base_url=session.base_url, api_key="none", max_retries=40)
        ...                                    # any library that speaks to OpenAI
        return reward

    with Server() as server:
        for step in range(20):
            server.play(agent, groups=16, size=4)
            print(server.train())

`AsyncServer` has the same methods as coroutines. Needs the extra `gymposium[client]`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar
from urllib.parse import quote

from gymposium.errors import GymposiumError
from gymposium.util.background import BackgroundLoop
from gymposium.util.extras import require_extra
from gymposium.util.strict_json import parse_bounded_json
from gymposium.util.visible import visible

with require_extra("gymposium.http.client", "gymposium[client]", "httpx"):
    import httpx

    from gymposium.http.tls import get_tls_context

URL = "http://127.0.0.1:8750"
KEY = "x-gymposium-key"
"""Header with a session's key, for requests that end or drop the session."""
RUN = "x-gymposium-run"
"""Header that identifies the server's run.

A client sends the run of its first response, and a server with another run rejects the request."""
SILENCE = 5.0
"""Number of seconds before a client logs that it is waiting for the server."""
TOKEN = "GYMPOSIUM_SERVE_TOKEN"
"""Environment variable with the server's token, used if no token is given."""
PATIENCE = 600.0
"""Number of seconds that a client waits for a server that is starting, busy or unreachable."""
_LATER = (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE)
_POLL = 30
_MOST_BYTES = 16 * 2**20
"""Maximum size of a response."""
_MOST_CHARACTERS = 500
"""Maximum length of a response quoted in an error."""

S = TypeVar("S", "Server", "AsyncServer")
F = TypeVar("F")

log = logging.getLogger(__name__)


class ServerError(GymposiumError):
    """A request that the server rejected, or an unreachable server. The message says what to do."""


class EmptyStep(ServerError):
    """A training step whose groups were all dropped."""

    def __init__(self, left_out: Mapping[str, str]) -> None:
        """`left_out` says why each group was dropped."""
        reasons = "; ".join(f"{visible(key)}: {visible(str(why))}" for key, why in [*left_out.items()][:3])
        more = "; …" if len(left_out) > 3 else ""
        super().__init__(
            f"The step learned from no group ({reasons or 'it had none'}{more}). Begin new sessions, end them, and "
            f"train again."
        )
        self.left_out = dict(left_out)


@dataclass(frozen=True, slots=True)
class Session(Generic[S]):
    """One run of an agent. With an `AsyncServer`, await its methods."""

    server: S
    id: str
    base_url: str
    """The address for OpenAI's clients. Anthropic's need it without its last part, `/v1`. It gives access only to this
    session, and needs no key."""
    group: str
    member: int
    seed: int
    """The task's seed, shared by all sessions in a group."""
    key: str = field(repr=False)
    """The key for ending the session. Agents do not need it. Anyone with the key can choose the reward."""

    def end(self, reward: float, **more: Any) -> Any:
        """End the session with its reward.

        `more` may contain `parts` (named numbers to display), `truncated` (True if the model's context was full) and
        `turn_rewards` (one number per reply)."""
        return self.server.request("POST", f"{_make_session_path(self)}/end", {"reward": reward, **more}, self.key)

    def drop(self) -> Any:
        """Drop the session, because something other than the model failed."""
        return self.server.request("DELETE", _make_session_path(self), key=self.key)


class AsyncServer:
    """A running `gymposium serve`.

    Requests wait up to `PATIENCE` seconds for a server that is starting, busy or unreachable. They log a message after
    `SILENCE` seconds. Methods raise `ServerError` with the fix.

    A client is tied to the run of its first response. Another run at the same address rejects its requests."""

    def __init__(self, url: str = URL, token: str | None = None) -> None:
        """Without a `token`, use the environment variable GYMPOSIUM_SERVE_TOKEN, if set.

        Raises `ServerError` unless `url` is a server's address, such as http://127.0.0.1:8750."""
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ServerError(f"Invalid address {url}: {error}. Use the server's address, such as {URL}.") from None
        if parsed.scheme not in ("http", "https") or not parsed.host or parsed.path.strip("/"):
            raise ServerError(
                f"Invalid address {url}: it must have only http:// and the server's address, such as {URL}."
            )
        token = os.environ.get(TOKEN) if token is None else token
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {token}"} if token else {})
        timeout = httpx.Timeout(2.0 * _POLL, connect=5.0)
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, verify=get_tls_context())

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def request(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """Send a request with a JSON body, and return the JSON response. `key` is the key of a session to end.

        Also raises `ServerError` for a response that is not JSON, is compressed, or exceeds 16 MiB."""
        headers = {} if key is None else {KEY: key}
        begun, told = time.monotonic(), False
        while True:
            seconds, waited = 1.0, time.monotonic() - begun
            try:
                async with asyncio.timeout(2 * _POLL):
                    response, content = await self._exchange(method, path, body, headers)
            except (httpx.TransportError, TimeoutError) as error:
                why = f"No server answers at {self._http.base_url} ({str(error) or type(error).__name__})."
                if waited >= PATIENCE:
                    raise ServerError(f"{why} Start one: gymposium serve") from None
            else:
                run = response.headers.get(RUN, "")
                if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", run):
                    self._http.headers.setdefault(RUN, run)
                if response.is_success:
                    return _parse_json(content)
                why = f"{response.status_code}: {_extract_reason(content)}"
                if response.status_code not in _LATER or waited >= PATIENCE:
                    raise ServerError(why)
                seconds = min(_parse_retry_after(response), max(0.0, PATIENCE - waited))
            if waited > SILENCE and not told:
                told = True
                log.warning("Waiting for up to %.0f seconds. %s", PATIENCE, why)
            await asyncio.sleep(seconds)

    async def _exchange(
        self, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[httpx.Response, bytes]:
        """Send a request once, and return the response with its content."""
        async with self._http.stream(method, path, json=body, headers=headers) as response:
            encoding = response.headers.get("content-encoding", "identity")
            if encoding.strip().lower() != "identity":
                raise _make_response_error(f"it is compressed ({encoding[:40]!r})")
            content = bytearray()
            async for piece in response.aiter_raw():
                content += piece
                if len(content) > _MOST_BYTES:
                    raise _make_response_error(f"it has more than {_MOST_BYTES:,} bytes")
            return response, bytes(content)

    async def session(
        self,
        group: str | None = None,
        member: int | None = None,
        seed: int | None = None,
        split: str = "train",
        metadata: Mapping[str, Any] | None = None,
    ) -> Session[AsyncServer]:
        """Begin a session in a group. Sessions in splits other than `train` are stored but not used for training.

        `group` is optional in those splits, and with credit that does not compare sessions (`credit.kind=gae`). Without
        it, the session forms its own group. In all other cases, a missing group raises `ServerError`."""
        return await self._begin(self, group=group, member=member, seed=seed, split=split, metadata=metadata)

    async def _begin(self, server: S, **body: Any) -> Session[S]:
        begun = await self.request("POST", "/v1/sessions", body)
        return Session(
            server,
            _get_text_field(begun, "id"),
            _get_text_field(begun, "base_url"),
            _get_field(begun, "group", str),
            _get_field(begun, "member", int),
            _get_field(begun, "seed", int),
            _get_text_field(begun, "key"),
        )

    async def play(
        self, agent: Callable[[Session[AsyncServer]], Awaitable[Any]], *, groups: int, size: int, at_once: int = 64
    ) -> list[Any]:
        """Run an agent in `groups` new groups of `size` sessions each, with up to `at_once` sessions at a time.

        Each session ends with the agent's return value: the reward, or a mapping such as `{"reward": 1.0, "parts":
        {"exact": 1.0}}`. Returns these values. If an agent raises, its session is dropped, and the error is raised
        after the other sessions finish. Complete groups remain available for the next step."""
        return await self._play(self, agent, groups, size, at_once)

    async def _play(
        self, server: S, agent: Callable[[Session[S]], Awaitable[Any]], groups: int, size: int, at_once: int
    ) -> list[Any]:
        made = [await self.request("POST", "/v1/groups", {"size": size}) for _ in range(groups)]
        keys = [_get_text_field(group, "key") for group in made]
        places = asyncio.Semaphore(at_once)

        async def play_one(key: str, member: int) -> Any:
            async with places:
                session = await self._begin(server, group=key, member=member)
                path = _make_session_path(session)
                try:
                    result = await agent(session)
                    ending = parse_ending(result)
                    await self.request("POST", f"{path}/end", ending, session.key)
                except BaseException:
                    await self.request("DELETE", path, key=session.key)
                    raise
                return result

        played = (play_one(key, member) for key in keys for member in range(size))
        results = await asyncio.gather(*played, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results

    async def train(self, groups: list[str] | None = None) -> dict[str, Any]:
        """Train on the complete groups, or on the given ones, and wait until new sessions use the new weights.

        Returns the step's metrics. Raises `EmptyStep` if all groups were dropped."""
        job = await self.request("POST", "/v1/train", {"groups": groups})
        while _get_field(job, "state", str) != "done":
            asked = time.monotonic()
            job = await self.request("GET", f"/v1/jobs/{_get_field(job, 'id', int)}?wait={_POLL}")
            if _get_field(job, "state", str) != "done":
                await asyncio.sleep(max(0.0, asked + 1.0 - time.monotonic()))
        metrics = _get_field(job, "metrics", dict)
        if metrics.get("rollout/groups") == 0:
            raise EmptyStep(_get_field({"left_out": {}} | job, "left_out", dict))
        return metrics

    async def status(self) -> dict[str, Any]:
        """Return the server's counts of sessions, groups, jobs and requests."""
        return _get_field({"status": await self.request("GET", "/v1/status")}, "status", dict)


class Server:
    """The synchronous version of `AsyncServer`. Agents run in threads."""

    def __init__(self, url: str = URL, token: str | None = None) -> None:
        self._server, self._loop = AsyncServer(url, token), BackgroundLoop("gymposium-client")

    def close(self) -> None:
        """Close the connections."""
        self._loop.end(self._server.close)
        self._loop.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def request(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """Send a request, like `AsyncServer.request`."""
        return self._loop.run(self._server.request(method, path, body, key))

    def session(self, group: str | None = None, member: int | None = None, **more: Any) -> Session[Server]:
        """Begin a session, like `AsyncServer.session`."""
        return self._loop.run(self._server._begin(self, group=group, member=member, **more))

    def play(self, agent: Callable[[Session[Server]], Any], *, groups: int, size: int, at_once: int = 64) -> list[Any]:
        """Run an agent function in `groups` new groups of `size` sessions each, in up to `at_once` threads.

        Each session ends with the function's return value: the reward, or a mapping such as `{"reward": 1.0, "parts":
        {"exact": 1.0}}`. Returns these values. Raises the same errors as `AsyncServer.play`."""
        with ThreadPoolExecutor(at_once) as threads:

            async def run_in_thread(session: Session[Server]) -> Any:
                return await asyncio.get_running_loop().run_in_executor(threads, agent, session)

            return self._loop.run(self._server._play(self, run_in_thread, groups, size, at_once))

    def train(self, groups: list[str] | None = None) -> dict[str, Any]:
        """Train, like `AsyncServer.train`."""
        return self._loop.run(self._server.train(groups))

    def status(self) -> dict[str, Any]:
        """Return the status, like `AsyncServer.status`."""
        return self._loop.run(self._server.status())


def parse_ending(result: Any) -> dict[str, Any]:
    """Convert an agent's return value to the request body that ends its session.

    Raises `ServerError` for an invalid value."""
    ending = dict(result) if isinstance(result, Mapping) else {"reward": result}
    reward: Any = ending.get("reward")
    if isinstance(reward, bool | str) or not hasattr(reward, "__float__") or not math.isfinite(reward):
        raise ServerError(
            f"{result!r:.200} is no reward for a session. Return a finite number, or a mapping with 'reward'."
        )
    return {**ending, "reward": float(reward)}


def _make_session_path(session: Session[Any]) -> str:
    return f"/v1/sessions/{quote(session.id, safe='')}"


def _get_field(answer: Any, name: str, kind: type[F]) -> F:
    """Return a field of a response. Raises `ServerError` if it is missing or has another type."""
    value = answer.get(name) if isinstance(answer, dict) else None
    if type(value) is not kind:
        raise _make_response_error(f"its field {name!r} is not in the format of gymposium serve")
    return value


def _get_text_field(answer: Any, name: str) -> str:
    """Return a text field of a response. Later requests send it in a header or an address, so it is validated."""
    value = _get_field(answer, name, str)
    if not (value.isascii() and value.isprintable()):
        raise _make_response_error(f"its field {name!r} is not printable ASCII")
    return value


def _make_response_error(why: str) -> ServerError:
    return ServerError(f"The response is not from a gymposium server: {why}. Check the address.")


def _parse_json(content: bytes) -> Any:
    try:
        return parse_bounded_json(content.decode())
    except ValueError as error:
        raise _make_response_error(f"it is not JSON ({visible(str(error)):.200})") from None


def _parse_retry_after(response: httpx.Response) -> float:
    """Return the number of seconds that a response asks the client to wait; 1 for a date or an invalid value."""
    text = response.headers.get("retry-after", "")
    return float(text) if re.fullmatch(r"[0-9]{1,6}", text) else 1.0


def _extract_reason(content: bytes) -> str:
    """Return the message in an error response, or else the start of the response."""
    try:
        text = str(parse_bounded_json(content.decode())["error"]["message"])
    except (KeyError, TypeError, ValueError):
        text = content[: 4 * _MOST_CHARACTERS].decode(errors="replace")
    return visible(text[:_MOST_CHARACTERS])
