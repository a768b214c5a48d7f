"""A scripted endpoint of OpenAI's form. It answers with a legal move of the prompt or a call of a tool, which follows
from the conversation and a seed alone."""

from __future__ import annotations

import hashlib
import json
import random
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gymposium.tasks.tools import Tool
from gymposium.tasks.tools.random_calls import make_random_call

Said = Mapping[str, Any]
"""An assistant's message, or an error: `{"status": 400, "error": "…"}`."""
Script = Callable[[Mapping[str, Any], random.Random], Said]
"""A function from a request and a random stream of its own to the answer."""


def legal_moves(prompt: str) -> list[str]:
    """The legal moves that a prompt lists."""
    lists = re.findall(r"^Legal moves: (.*)$", prompt, re.MULTILINE)
    return lists[-1].split(", ") if lists else []


def plays(request: Mapping[str, Any], rng: random.Random) -> Said:
    """A call of one of the tools of the request, a legal move, or a word of the prompt."""
    text = request["messages"][-1]["content"]
    if request.get("tools"):
        functions = [tool["function"] for tool in request["tools"]]
        told = "\n".join(str(message.get("content")) for message in request["messages"])
        call = make_random_call(
            [Tool(one["name"], one["description"], one["parameters"]) for one in functions], told, rng
        )
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        number = f"call-{rng.getrandbits(32)}"
        return {"content": None, "tool_calls": [{"id": number, "type": "function", "function": function}]}
    return {"content": rng.choice(legal_moves(text) or text.split())}


@dataclass
class Endpoint:
    """A running endpoint."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of all requests."""


Respond = Callable[[str, Mapping[str, Any]], tuple[int, Mapping[str, Any]]]
"""A function from a path and a body, which is empty for GET, to a status and a body."""


@contextmanager
def endpoint(script: Script = plays, seed: int = 0) -> Iterator[Endpoint]:
    """A server on this machine that answers chat completions by a script."""

    def respond(path: str, request: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        said = script(request, stream(seed, request["messages"]))
        return (said["status"], {"error": said["error"]}) if "status" in said else (200, _completion(request, said))

    with serving(respond) as served:
        yield served


@contextmanager
def serving(respond: Respond) -> Iterator[Endpoint]:
    """A server on this machine that answers requests with JSON."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append(request)
            status, answer = respond(self.path, request)
            if status == 200 and request.get("stream"):
                self._stream(answer)
            else:
                self._answer(status, answer)

        def do_GET(self) -> None:
            self._answer(*respond(self.path, {}))

        def _stream(self, answer: Mapping[str, Any]) -> None:
            """Send a completion as the events of a stream, which the programs of verifiers' harnesses ask for."""
            choice = answer["choices"][0]
            calls = [{"index": n, **one} for n, one in enumerate(choice["message"].get("tool_calls") or [])]
            delta = {**choice["message"], **({"tool_calls": calls} if calls else {})}
            chunk = {key: answer[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
            chunks = [
                {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]},
                {**chunk, "choices": [], "usage": answer["usage"]},
            ]
            body = "".join(f"data: {data}\n\n" for data in (*map(json.dumps, chunks), "[DONE]")).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _answer(self, status: int, answer: Mapping[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Endpoint(f"http://127.0.0.1:{server.server_port}/v1", requests)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def stream(seed: int, told: object) -> random.Random:
    """A random stream that follows from a seed and what was told."""
    return random.Random(hashlib.sha256(json.dumps([seed, told], sort_keys=True).encode()).digest())


def _completion(request: Mapping[str, Any], said: Said) -> dict[str, Any]:
    message = {"role": "assistant", **{key: value for key, value in said.items() if key != "finish_reason"}}
    reason = said.get("finish_reason", "tool_calls" if said.get("tool_calls") else "stop")
    prompt = sum(len(str(message.get("content")).split()) for message in request["messages"])
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": 1, "total_tokens": prompt + 1},
    }
