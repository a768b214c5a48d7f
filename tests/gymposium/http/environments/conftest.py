"""An environment server, and a client that speaks OpenEnv's protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from gymposium.http.environments import EnvOffer, build_environments_app
from gymposium.records import RecordWriter


class Client:
    """One session, message by message."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def say(self, text: str | bytes) -> dict[str, Any]:
        """The answer to a message that is given as text."""
        self.socket.send(text)
        return json.loads(self.socket.recv())

    def send(self, kind: str, **data: Any) -> dict[str, Any]:
        """The data of the answer to a message."""
        return self.say(json.dumps({"type": kind, **({"data": data} if kind in ("reset", "step") else {})}))

    def reset(self, **options: Any) -> dict[str, Any]:
        answer = self.send("reset", **options)
        assert answer["type"] == "observation", answer
        return answer["data"]

    def step(self, text: str) -> dict[str, Any]:
        answer = self.send("step", text=text)
        assert answer["type"] == "observation", answer
        return answer["data"]

    def refused(self, kind: str, **data: Any) -> tuple[str, str]:
        """Code and text of the error that answers a message."""
        answer = self.send(kind, **data)
        assert answer["type"] == "error", answer
        return answer["data"]["code"], answer["data"]["message"]


class EnvServer:
    """A server that runs, and the file of its matches."""

    def __init__(self, port: int, records: Path) -> None:
        self.port, self.records = port, records

    @contextmanager
    def client(self, path: str = "/ws", **options: Any) -> Iterator[Client]:
        with connect(f"ws://127.0.0.1:{self.port}{path}", **options) as socket:
            yield Client(socket)


StartEnvServer = Callable[..., EnvServer]


@pytest.fixture
def start_server(start, tmp_path: Path) -> Iterator[StartEnvServer]:
    """`start_server(game, …)` starts a server of these games; keywords are those of `EnvOffer.from_names` and
    `build_environments_app`."""
    writers: list[RecordWriter] = []

    def serve(
        *games: str, opponents: tuple[str, ...] = ("random",), on_illegal: str = "forfeit", **more: Any
    ) -> EnvServer:
        file = tmp_path / f"lent-{len(writers)}" / "matches.jsonl"
        writers.append(RecordWriter(file))
        app = build_environments_app(EnvOffer.from_names(games, opponents, on_illegal), writers[-1].write, **more)
        return EnvServer(start(app).port, file)

    yield serve
    for writer in writers:
        writer.close()
