"""A small server with the part of vLLM's HTTP interface that the engine uses, which fails on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Faltering(ThreadingHTTPServer):
    """A server that answers each request by its seed. `fails` are faults before the valid answers: a status, or 0 to
    close the connection."""

    daemon_threads = True

    def __init__(self, model: str = "model", version: str = "0.32.0") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.model, self.version = model, version
        self.longest = 64
        """The max_model_len that it reports."""
        self.at_once: int | None = None
        """The number of requests at once that it reports; None for a server that gymposium did not start."""
        self.hold: Callable[[], object] = lambda: None
        """Called during each request for a completion."""
        self.working, self.most_working = 0, 0
        """Number of requests for completions in progress: now, and at most."""
        self.counting = threading.Lock()
        self.gone = False
        """Whether it closes all connections."""
        self.fails: list[int] = []
        self.garbled, self.garbled_status = b"", 200
        """The body to send instead of completions."""
        self.breaks: list[int] = []
        """For each stream the number of its parts after which the connection is closed."""
        self.endless = False
        """Whether streams go on without an end."""
        self.shift = 0
        """A number that is added to the tokens of streams."""
        self.told = threading.Event()
        """Set when a client closed the connection of an endless stream."""
        self.loras: dict[str, str] = {}
        """The directories of the adapters that it holds, by name."""
        self.extra_cards: list[object] = []
        """Further entries of its list of models."""
        self.loading: Callable[[], object] = lambda: None
        """Called during each load of an adapter."""
        self.refuses = ""
        """The message with which it refuses adapters, if it does."""
        self.digests: dict[str, list[str]] = {}
        """The digests of adapters that it reports, by name."""
        self.weights: list[list[str]] = []
        """The digests that it reports for replaced weights, a list for each replacement. The last one stays."""
        self.report: dict[str, object] = {}
        """Fields that replace those of its report on itself."""
        self.asked: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Faltering

    def log_message(self, *args: object) -> None:
        pass

    def handle_one_request(self) -> None:
        if self.server.gone:
            self.close_connection = True
        else:
            super().handle_one_request()

    def do_GET(self) -> None:
        if self.server.gone:  # set since this connection began to wait for its next request
            self.close_connection = True
            return
        self.server.keys.add(self.headers["Authorization"])
        base = {"id": "base", "root": self.server.model, "parent": None, "max_model_len": self.server.longest}
        loras = [{"id": name, "root": root, "parent": "base"} for name, root in self.server.loras.items()]
        pages: dict[str, dict[str, Any]] = {
            "/health": {},
            "/version": {"version": self.server.version},
            "/v1/models": {"data": [base, *loras, *self.server.extra_cards]},
        }
        if self.server.at_once is not None:
            report = {"max_num_seqs": self.server.at_once, "adapters": self.server.digests}
            pages["/v1/gymposium"] = report | self.server.report
        self.give(200, pages[self.path]) if self.path in pages else self.give(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "lora_adapter" in self.path:
            self.change(body)
            return
        if self.server.weights and self.path == "/v1/gymposium/weights":
            digests = self.server.weights.pop(0) if len(self.server.weights) > 1 else self.server.weights[0]
            self.give(200, {"version": body["version"], "digests": digests})
            return
        if body.get("logprobs") == 1:  # the engine's probe
            self.give(200, {"choices": [{"logprobs": {"top_logprobs": [{"x": -body["temperature"]}]}}]})
            return
        self.server.asked.append(body)
        if self.server.gone:
            self.close_connection = True
            return
        if self.server.fails and (status := self.server.fails.pop(0)) != 200:
            if status:
                self.give(status, {"error": {"message": f"status {status} on demand"}})
            else:
                self.close_connection = True
            return
        if self.server.garbled:
            self.send_response(self.server.garbled_status)
            self.send_header("Content-Type", "application/json; charset=no-such-charset")
            self.send_header("Content-Length", str(len(self.server.garbled)))
            self.end_headers()
            self.wfile.write(self.server.garbled)
            return
        if body["model"] not in ("base", *self.server.loras):
            self.give(404, {"error": {"message": "no such model"}})
            return
        self.work()
        if self.server.gone:
            self.close_connection = True
            return
        if "prompt_logprobs" in body:
            row = {str(token): {"logprob": -1.0} for token in body["prompt"]}
            self.give(200, {"choices": [{"prompt_logprobs": [row] * len(body["prompt"])}]})
            return
        token = body.get("seed", 0) % 50 + 10
        if body.get("stream"):
            self.stream(token)
            return
        choice = {"token_ids": [token, 4], "logprobs": {"token_logprobs": [-1.0, -2.0]}, "finish_reason": "stop"}
        self.give(200, {"choices": [choice]})

    def change(self, body: dict[str, Any]) -> None:
        """Load or unload an adapter."""
        if "unload" in self.path:
            self.server.loras.pop(body["lora_name"])
        elif self.server.refuses:
            self.give(400, {"error": {"message": self.server.refuses}})
            return
        else:
            self.server.loading()
            if self.server.gone:
                self.close_connection = True
                return
            self.server.loras[body["lora_name"]] = body["lora_path"]
        self.give(200, {})

    def stream(self, token: int) -> None:
        """Send `token` and its two successors, each as one part, and the end of turn with the last one."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        first = token + self.server.shift
        parts: list[tuple[list[int], str | None]] = [([first], None), ([first + 1], None), ([first + 2, 4], "stop")]
        if self.server.breaks:
            parts = parts[: self.server.breaks.pop(0)]
        for ids, finish in parts:
            self.part(ids, finish)
        try:
            while self.server.endless:
                self.part([9], None)
        except OSError:
            self.server.told.set()

    def part(self, ids: list[int], finish: str | None) -> None:
        choice = {"token_ids": ids, "logprobs": {"token_logprobs": [-1.0] * len(ids)}, "finish_reason": finish}
        self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")

    def work(self) -> None:
        server = self.server
        with server.counting:
            server.working += 1
            server.most_working = max(server.working, server.most_working)
        server.hold()
        with server.counting:
            server.working -= 1

    def give(self, status: int, data: dict[str, Any]) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
