"""Damaged and hostile requests to every server that gymposium runs: `serve`, `serve-env`, `serve-affinetes` and `view`.

A server fails if it answers 500, ends, or prints a traceback. It also fails if it does not answer its health check
within `HEALTHY` seconds of the request, or if its memory grows beyond `MEMORY` bytes.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from benchmarks.robustness.damage import ODD, odd_json
from benchmarks.robustness.row import Row, Wanted
from benchmarks.robustness.served_kills import make_tiny_model
from benchmarks.serving.running import ENVIRONMENT, free_port
from gymposium.http.client import Server

TRIES = 24
HEALTHY, MEMORY = 15.0, 2_500_000_000
_START = 300.0

ODD_PATHS = (
    *(
        "/..%2f..%2f..%2fetc/passwd",
        "//etc/passwd",
        "/%00",
        "/%ff",
        f"/{'a' * 20_000}",
        "/" * 3_000,
        "/?" + "&a=b" * 5_000,
    ),
    *("/matches/..%2f..%2fsecret/1.html", "/matches/x.jsonl/99999999999999999999.html", "/matches/x.jsonl/-1.html"),
    *("/runs/..%2f../index.html", "/play/x.html", "/play/x/events", "/play/new.html?game=openspiel:" + "(" * 500),
    *("/play/new.html?game=hex(board_size=10**9)", "/compare.html?a=/dev/zero&b=/dev/zero", "/match?id=%00"),
    *("/v1/jobs/99999999999999999999999", "/v1/checkpoints/-1/promote", "/v1/sessions/%2e%2e", "/s/x/v1/models"),
    *("/kuhn_poker/schema", "/no_game/schema", "/hex(board_size=99999)/metadata", "/v1/responses", "/v1/messages"),
)
METHODS = ("GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "HEAD", "get", "X" * 9_000)
ODD_HEADERS = (
    *(b"Content-Length: 99999999999999999999", b"Content-Length: -1", b"Content-Length: 1\r\nContent-Length: 2"),
    *(
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: gzip, chunked",
        b"Content-Encoding: gzip",
        b"Expect: 100-continue",
    ),
    *(b"Host: evil.example", b"Host: ", b"Origin: https://evil.example", b"X: " + b"y" * 100_000, b"A: b\r\n" * 5_000),
    *(b"Content-Type: multipart/form-data; boundary=", b"Cookie: " + b"a=b;" * 3_000, b"Authorization: Bearer \xff"),
    *(
        b"Upgrade: websocket\r\nConnection: Upgrade",
        b"Connection: close, keep-alive",
        b"\x00: a",
        b": b",
        b"Range: bytes=0-,0-",
    ),
    *(
        b"Content-Type: application/json; charset=utf-7",
        b"Idempotency-Key: " + b"k" * 9_000,
        b"Accept: text/event-stream",
    ),
)


@dataclass
class Running:
    """A server under attack."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    health: str
    told: int = 0
    """Bytes of its log that were looked at."""

    def fault(self) -> str:
        """Return what is wrong with the server now; empty if nothing is."""
        if self.process.poll() is not None:
            return f"ended with {self.process.returncode}: {self._new()[-200:]}"
        try:
            status = httpx.get(f"http://127.0.0.1:{self.port}{self.health}", timeout=HEALTHY).status_code
        except httpx.HTTPError as error:
            return f"no answer to {self.health}: {error!r}"
        if status != httpx.codes.OK:
            return f"{self.health} answers {status}"
        said = self._new()
        if "Traceback" in said:
            return f"a traceback: {said[-300:]}"
        peak = _peak(self.process.pid)
        return f"{peak:,} bytes" if peak > MEMORY else ""

    def _new(self) -> str:
        data = self.log.read_bytes()
        said, self.told = data[self.told :].decode("utf-8", "replace"), len(data)
        return said


def _peak(process: int) -> int:
    """Return the largest number of bytes that a process has held."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


@contextmanager
def running(name: str, folder: Path, health: str, *words: str) -> Iterator[Running]:
    """Start a server in a separate process, and end it with the block."""
    port, log = free_port(), folder / f"{name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gymposium.cli.main", *words, "--port", str(port)],
            cwd=folder,
            env={**os.environ, **ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    server = Running(process, port, log, health)
    try:
        began = time.monotonic()
        while fault := server.fault():
            if process.poll() is not None or time.monotonic() - began > _START:
                raise RuntimeError(f"{' '.join(words)}: {fault}\n{log.read_text(encoding='utf-8')}")
            time.sleep(0.2)
        yield server
    finally:
        process.kill()
        process.wait()


def raw(port: int, data: bytes, wait: float = 5.0) -> bytes:
    """Send bytes, and return the beginning of what comes back within `wait` seconds."""
    answer = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=wait) as connection:
        with suppress(OSError):
            connection.sendall(data)
        answer = connection.recv(65_536)
    return answer


def request(method: str, path: str, body: bytes, headers: Sequence[bytes] = ()) -> bytes:
    """Return the bytes of a request."""
    named = [f"Content-Length: {len(body)}".encode(), b"Content-Type: application/json", b"Host: 127.0.0.1", *headers]
    return b"\r\n".join((f"{method} {path} HTTP/1.1".encode(), *named, b"Connection: close", b"", body))


def server_error(answer: bytes) -> str:
    """Return the status line of an answer that says the server is at fault."""
    line = answer.split(b"\r\n", 1)[0].decode("latin-1")
    return line if line.split(" ")[1:2] in (["500"], ["502"], ["504"]) else ""


def posted(path: str, sound: Mapping[str, Any], wait: float = 30.0) -> Callable[[Running, random.Random], str]:
    """Post a damaged body."""

    def attack(server: Running, rng: random.Random) -> str:
        body = odd_json(json.dumps(sound), rng).encode("utf-8", "surrogatepass")
        return server_error(raw(server.port, request("POST", path, body), wait))

    return attack


def odd_path(server: Running, rng: random.Random) -> str:
    """Request an invalid path."""
    return server_error(raw(server.port, request(rng.choice(METHODS), rng.choice(ODD_PATHS), b"")))


def odd_header(path: str) -> Callable[[Running, random.Random], str]:
    """Send headers that contradict each other, are huge, or are malformed."""

    def attack(server: Running, rng: random.Random) -> str:
        body = rng.choice((b"{}", b"", b"5\r\n{}", b"\x1f\x8b" + rng.randbytes(99)))
        return server_error(raw(server.port, request("POST", path, body, rng.sample(ODD_HEADERS, 2)), 2.0))

    return attack


def no_http(server: Running, rng: random.Random) -> str:
    """Send bytes that are not a request."""
    return server_error(
        raw(server.port, rng.choice((rng.randbytes(5_000), b"\r\n" * 9_000, b"\x16\x03\x01" * 99)), 2.0)
    )


def half_sent(path: str) -> Callable[[Running, random.Random], str]:
    """Begin many requests without finishing them."""

    def attack(server: Running, rng: random.Random) -> str:
        with ExitStack() as opened:
            for _ in range(100):
                connection = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=5))
                whole = request("POST", path, b"{}" + b" " * 1_000)
                with suppress(OSError):
                    connection.sendall(whole[: rng.randrange(len(whole))])
            return server.fault()

    return attack


def large(path: str, sound: Mapping[str, Any]) -> Callable[[Running, random.Random], str]:
    """Post bodies of many parts."""

    def attack(server: Running, rng: random.Random) -> str:
        name = rng.choice([*sound])
        value: Any = rng.choice(
            (["a"] * 300_000, "<" * 3_900_000, {f"k{n}": n for n in range(100_000)}, [[{}]] * 99_999)
        )
        body = json.dumps({**sound, name: value}).encode()
        return server_error(raw(server.port, request("POST", path, body), 60.0))

    return attack


def spoken(sound: Sequence[Mapping[str, Any]]) -> Callable[[Running, random.Random], str]:
    """Send damaged messages over a WebSocket."""

    def attack(server: Running, rng: random.Random) -> str:
        address = f"ws://127.0.0.1:{server.port}/ws"
        with suppress(OSError, WebSocketException), connect(address, max_size=None, open_timeout=10) as wire:
            damaged = rng.randrange(len(sound))
            for number, message in enumerate(sound):
                text = json.dumps(message)
                odd = rng.choice((odd_json(text, rng), rng.choice(ODD), rng.randbytes(999)))
                wire.send(odd if number == damaged else text)
                wire.recv(timeout=10)
        return ""

    return attack


def posted_form(server: Running, rng: random.Random) -> str:
    """Post a damaged form."""
    fields = {
        "game": "tic_tac_toe",
        "opponent": "random",
        "seat": "0",
        "seed": "1",
        "on_illegal": "forfeit",
        "token": "x",
    }
    fields[rng.choice([*fields])] = rng.choice(ODD)[:60_000]
    body = "&".join(f"{key}={value}" for key, value in fields.items()).encode("utf-8", "surrogatepass")
    headers = [b"Content-Type: application/x-www-form-urlencoded"]
    return server_error(raw(server.port, request("POST", "/play/new.html", body, headers)))


COMPLETION: Mapping[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "hello"},
        {"role": "user", "content": [{"type": "text", "text": "1 2"}]},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
    "temperature": 1.0,
    "top_p": 1.0,
    "n": 1,
    "max_tokens": 4,
    "seed": 1,
    "stop": ["x"],
    "logprobs": True,
    "top_logprobs": 2,
    "stream": False,
    "user": "u",
    "tool_choice": "auto",
    "response_format": {"type": "text"},
}
BEGIN: Mapping[str, Any] = {"group": "g", "member": 1, "seed": 1, "split": "train", "metadata": {"a": 1}}
END: Mapping[str, Any] = {"reward": 1.0, "parts": {"a": 1.0}, "truncated": False, "turn_rewards": [1.0]}
EVALUATE: Mapping[str, Any] = {
    "task_id": 0,
    "seed": 0,
    "model": "m",
    "base_url": "http://127.0.0.1:9/v1",
    "temperature": 0.5,
    "opponent": "random",
}
TALK: Sequence[Mapping[str, Any]] = (
    {"type": "reset", "data": {"game": "kuhn_poker", "seed": 1, "opponent": "random"}},
    {"type": "step", "data": {"text": "pass"}},
    {"type": "state"},
)


def attacks(served: Running, lent: Running, asked: Running, viewed: Running) -> Iterator[tuple[str, Running, Any]]:
    """Yield the kinds of requests, each with its server."""
    with Server(f"http://127.0.0.1:{served.port}") as client:
        talk = client.session("attacked", 0)
    complete = talk.base_url.partition(str(served.port))[2] + "/chat/completions"
    session = complete.split("/")[2]
    yield "completions, damaged", served, posted(complete, COMPLETION)
    yield "completions, large", served, large(complete, COMPLETION)
    yield "sessions, damaged", served, posted("/v1/sessions", BEGIN)
    yield "sessions, large", served, large("/v1/sessions", BEGIN)
    yield "ends of sessions, damaged", served, posted(f"/v1/sessions/{session}/end", END)
    yield "groups, damaged", served, posted("/v1/groups", {"key": "h", "size": 4})
    yield "steps of training, damaged", served, posted("/v1/train", {"groups": ["g", "h"]})
    yield "affinetes: evaluate, damaged", asked, posted("/evaluate", EVALUATE)
    yield "affinetes: reset, damaged", asked, posted("/reset", {"task_id": 0, "seed": 0, "opponent": "random"})
    yield "affinetes: step, damaged", asked, posted("/step", {"episode_id": "x", "action": "a1"})
    yield "messages to serve-env, damaged", lent, spoken(TALK)
    yield "forms of the viewer, damaged", viewed, posted_form
    for name, server, path in (
        ("serve", served, "/v1/sessions"),
        ("serve-env", lent, "/reset"),
        ("serve-affinetes", asked, "/reset"),
        ("view", viewed, "/play/new.html"),
    ):
        yield f"{name}: odd paths", server, odd_path
        yield f"{name}: odd headers", server, odd_header(path)
        yield f"{name}: no HTTP", server, no_http
        yield f"{name}: half-sent requests", server, half_sent(path)


def rows(seed: int, wanted: Wanted) -> Iterator[Row]:
    """Yield all kinds of requests."""
    with TemporaryDirectory() as place, ExitStack() as opened:
        home = Path(place)
        make_tiny_model(home / "tiny", ["hello 1 2"])
        (home / "runs").mkdir()
        begin = opened.enter_context
        served = begin(running("serve", home, "/health", "serve", "--model", "tiny", "--steps", "9", "--out", "served"))
        lent = begin(running("env", home, "/health", "serve-env", "kuhn_poker", "tic_tac_toe", "--out", "lent"))
        asked = begin(running("affinetes", home, "/health", "serve-affinetes", "--out", "asked"))
        viewed = begin(running("view", home, "/index.html", "view", "runs", "--no-open"))
        for what, server, attack in attacks(served, lent, asked, viewed):
            if not wanted(what):
                continue
            failures = []
            for number in range(TRIES):
                said = attack(server, random.Random(f"{seed}/{what}/{number}")) or server.fault()
                if said:
                    failures.append(f"{what}, try {number}: {said}")
                if server.process.poll() is not None:
                    break
            yield Row("requests", what, TRIES, tuple(failures))
