"""A client of `gymposium serve`: it begins sessions, ends them with rewards, and asks for training.

    from gymposium.http.client import Server
    from openai import OpenAI

    def agent(session):
        model = OpenAI(base_url=session.base_url, api_key="none", max_retries=40)
        ...                                    # any library that speaks OpenAI's chat completions
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
from gymposium.util.extras import needs_extra
from gymposium.util.strict_json import bounded_json
from gymposium.util.visible import visible

with needs_extra("gymposium.http.client", "gymposium[client]", "httpx"):
    import httpx

URL = "http://127.0.0.1:8750"
KEY = "x-gymposium-key"
"""The header with the key of a session, for requests that end it or leave it out."""
RUN = "x-gymposium-run"
"""The header that names the run of a server. A client that has met a run sends it, and another run refuses that."""
SILENCE = 5.0
"""Number of seconds after which a client says that it waits for the server."""
TOKEN = "GYMPOSIUM_SERVE_TOKEN"
"""The environment variable with the server's token, which is read if no token is given."""
PATIENCE = 600.0
"""Number of seconds for which a client waits for a server that is starting, busy or gone."""
_LATER = (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE)
_POLL = 30
_MOST_BYTES = 16 * 2**20
"""Maximum size of an answer."""
_MOST_CHARACTERS = 500
"""Maximum length of what an error cites of an answer."""

S = TypeVar("S", "Server", "AsyncServer")
F = TypeVar("F")

log = logging.getLogger(__name__)


class ServerError(GymposiumError):
    """The server refused a request, or there is none; the message says what to do."""


class NothingLearned(ServerError):
    """All groups of a step were left out, so that it taught nothing."""

    def __init__(self, left_out: Mapping[str, str]) -> None:
        """`left_out` says why each group was left out."""
        reasons = "; ".join(f"{visible(key)}: {visible(str(why))}" for key, why in [*left_out.items()][:3])
        more = "; …" if len(left_out) > 3 else ""
        super().__init__(
            f"The step learned from no group ({reasons or 'it had none'}{more}). Begin new sessions, end them, and "
            f"train again."
        )
        self.left_out = dict(left_out)


@dataclass(frozen=True, slots=True)
class Session(Generic[S]):
    """One run of an agent. With an `AsyncServer` its methods are to be awaited."""

    server: S
    id: str
    base_url: str
    """The address for a library that speaks OpenAI's API. It opens this session only, and needs no key."""
    group: str
    member: int
    seed: int
    """The seed of the task. All sessions of a group have the same."""
    key: str = field(repr=False)
    """The key that ends the session. An agent does not need it, and should not have it if it must not choose its own
    reward."""

    def end(self, reward: float, **more: Any) -> Any:
        """End the session with its reward. `more` may be `parts`, named numbers for people; `truncated`, True if the
        model's context was full; and `turn_rewards`, one number for each reply."""
        return self.server.request("POST", f"{_path(self)}/end", {"reward": reward, **more}, self.key)

    def drop(self) -> Any:
        """Leave the session out, because something other than the model failed."""
        return self.server.request("DELETE", _path(self), key=self.key)


class AsyncServer:
    """A running `gymposium serve`. Each request waits for a server that is starting, busy or gone, for `PATIENCE`
    seconds, and says so after `SILENCE` seconds. Raises `ServerError` with what to do.

    It belongs to the run that it meets first: a server of another run at the same address refuses it."""

    def __init__(self, url: str = URL, token: str | None = None) -> None:
        """Without a `token`, that of the environment variable GYMPOSIUM_SERVE_TOKEN is sent, if there is one. Raises
        `ServerError` unless `url` is the address of a server, such as http://127.0.0.1:8750."""
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise ServerError(f"{url}: {error}. Give the address of the server, such as {URL}.") from None
        if parsed.scheme not in ("http", "https") or not parsed.host or parsed.path.strip("/"):
            raise ServerError(f"{url}: give the address of the server alone, with http://, such as {URL}.")
        token = os.environ.get(TOKEN) if token is None else token
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=httpx.Timeout(2.0 * _POLL, connect=5.0))

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def request(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """Send a request with a JSON body, and return the JSON of the answer. `key` is that of a session to end.

        Raises `ServerError` also for an answer that is not JSON, is compressed, or has more than 16 MiB."""
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
                    return _parsed(content)
                why = f"{response.status_code}: {_reason(content)}"
                if response.status_code not in _LATER or waited >= PATIENCE:
                    raise ServerError(why)
                seconds = min(_retry_after(response), max(0.0, PATIENCE - waited))
            if waited > SILENCE and not told:
                told = True
                log.warning("Waiting for up to %.0f seconds. %s", PATIENCE, why)
            await asyncio.sleep(seconds)

    async def _exchange(
        self, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[httpx.Response, bytes]:
        """Send a request once, and return the response and its content."""
        async with self._http.stream(method, path, json=body, headers=headers) as response:
            encoding = response.headers.get("content-encoding", "identity")
            if encoding.strip().lower() != "identity":
                raise _unexpected(f"it is compressed ({encoding[:40]!r})")
            content = bytearray()
            async for piece in response.aiter_raw():
                content += piece
                if len(content) > _MOST_BYTES:
                    raise _unexpected(f"it has more than {_MOST_BYTES:,} bytes")
            return response, bytes(content)

    async def session(
        self,
        group: str | None = None,
        member: int | None = None,
        seed: int | None = None,
        split: str = "train",
        metadata: Mapping[str, Any] | None = None,
    ) -> Session[AsyncServer]:
        """Begin a session of a group. A session of another split than `train` is kept and not learned from.

        `group` may be left out for another split, and for credit that does not compare sessions (`credit.kind=gae`):
        the session then is a group of its own. Otherwise `ServerError` is raised."""
        return await self._begin(self, group=group, member=member, seed=seed, split=split, metadata=metadata)

    async def _begin(self, server: S, **body: Any) -> Session[S]:
        begun = await self.request("POST", "/v1/sessions", body)
        return Session(
            server,
            _field(begun, "id", str),
            _field(begun, "base_url", str),
            _field(begun, "group", str),
            _field(begun, "member", int),
            _field(begun, "seed", int),
            _field(begun, "key", str),
        )

    async def play(
        self, agent: Callable[[Session[AsyncServer]], Awaitable[Any]], *, groups: int, size: int, at_once: int = 64
    ) -> list[Any]:
        """Run an agent in `groups` new groups of `size` sessions, `at_once` at a time, and end each session with what
        the agent returns: the reward, or a mapping such as `{"reward": 1.0, "parts": {"exact": 1.0}}`. Returns these.
        The session of an agent that raises is dropped; its error is raised when the others are over. Groups that are
        complete then wait for the next step."""
        return await self._play(self, agent, groups, size, at_once)

    async def _play(
        self, server: S, agent: Callable[[Session[S]], Awaitable[Any]], groups: int, size: int, at_once: int
    ) -> list[Any]:
        made = [await self.request("POST", "/v1/groups", {"size": size}) for _ in range(groups)]
        keys = [_field(group, "key", str) for group in made]
        places = asyncio.Semaphore(at_once)

        async def one(key: str, member: int) -> Any:
            async with places:
                session = await self._begin(server, group=key, member=member)
                path = _path(session)
                try:
                    result = await agent(session)
                    ending = ending_of(result)
                    await self.request("POST", f"{path}/end", ending, session.key)
                except BaseException:
                    await self.request("DELETE", path, key=session.key)
                    raise
                return result

        played = (one(key, member) for key in keys for member in range(size))
        results = await asyncio.gather(*played, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return results

    async def train(self, groups: list[str] | None = None) -> dict[str, Any]:
        """Learn from the complete groups, or from these, and wait until new sessions have the new weights. Returns the
        metrics of the step. Raises `NothingLearned` if all groups were left out."""
        job = await self.request("POST", "/v1/train", {"groups": groups})
        while _field(job, "state", str) != "done":
            job = await self.request("GET", f"/v1/jobs/{_field(job, 'id', int)}?wait={_POLL}")
        metrics = _field(job, "metrics", dict)
        if metrics.get("rollout/groups") == 0:
            raise NothingLearned(_field({"left_out": {}} | job, "left_out", dict))
        return metrics

    async def status(self) -> dict[str, Any]:
        """What the server does: counts of sessions, groups, jobs and requests."""
        return _field({"status": await self.request("GET", "/v1/status")}, "status", dict)


class Server:
    """As `AsyncServer`, for code without coroutines: agents run in threads."""

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
        """As `AsyncServer.request`."""
        return self._loop.run(self._server.request(method, path, body, key))

    def session(self, group: str | None = None, member: int | None = None, **more: Any) -> Session[Server]:
        """As `AsyncServer.session`, with the same arguments."""
        return self._loop.run(self._server._begin(self, group=group, member=member, **more))

    def play(self, agent: Callable[[Session[Server]], Any], *, groups: int, size: int, at_once: int = 64) -> list[Any]:
        """Run an agent, a function, in `groups` new groups of `size` sessions, `at_once` at a time in threads, and end
        each session with what it returns: the reward, or a mapping such as `{"reward": 1.0, "parts": {"exact": 1.0}}`.
        Returns these. Errors are raised as by `AsyncServer.play`."""
        with ThreadPoolExecutor(at_once) as threads:

            async def in_thread(session: Session[Server]) -> Any:
                return await asyncio.get_running_loop().run_in_executor(threads, agent, session)

            return self._loop.run(self._server._play(self, in_thread, groups, size, at_once))

    def train(self, groups: list[str] | None = None) -> dict[str, Any]:
        """As `AsyncServer.train`."""
        return self._loop.run(self._server.train(groups))

    def status(self) -> dict[str, Any]:
        """As `AsyncServer.status`."""
        return self._loop.run(self._server.status())


def ending_of(result: Any) -> dict[str, Any]:
    """What an agent returned, as the body that ends its session. Raises `ServerError` for anything else."""
    ending = dict(result) if isinstance(result, Mapping) else {"reward": result}
    reward: Any = ending.get("reward")
    if isinstance(reward, bool | str) or not hasattr(reward, "__float__") or not math.isfinite(reward):
        raise ServerError(
            f"The agent returned {result!r:.200}: it must return the session's reward, a finite number, or a mapping "
            f"with 'reward'."
        )
    return {**ending, "reward": float(reward)}


def _path(session: Session[Any]) -> str:
    return f"/v1/sessions/{quote(session.id, safe='')}"


def _field(answer: Any, name: str, kind: type[F]) -> F:
    """A field of an answer. Raises `ServerError` if it is missing or of another type."""
    value = answer.get(name) if isinstance(answer, dict) else None
    if type(value) is not kind:
        raise _unexpected(f"its field {name!r} is not as gymposium serve writes it")
    return value


def _unexpected(why: str) -> ServerError:
    return ServerError(f"The answer is not that of a gymposium server: {why}. Check the address.")


def _parsed(content: bytes) -> Any:
    try:
        return bounded_json(content.decode())
    except ValueError as error:
        raise _unexpected(f"it is not JSON ({visible(str(error)):.200})") from None


def _retry_after(response: httpx.Response) -> float:
    """The number of seconds that a response asks to wait; 1 for a date, or for what is not a number of seconds."""
    text = response.headers.get("retry-after", "")
    return float(text) if re.fullmatch(r"[0-9]{1,6}", text) else 1.0


def _reason(content: bytes) -> str:
    """The message of an error, or else the beginning of the answer."""
    try:
        text = str(bounded_json(content.decode())["error"]["message"])
    except (KeyError, TypeError, ValueError):
        text = content[: 4 * _MOST_CHARACTERS].decode(errors="replace")
    return visible(text[:_MOST_CHARACTERS])
