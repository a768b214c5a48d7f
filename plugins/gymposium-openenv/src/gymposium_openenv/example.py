"""A small OpenEnv server in this process: guess a number. It is the game `openenv` without an address."""

from __future__ import annotations

import json
import random
import threading
from functools import cache
from http import HTTPStatus
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

TRIES = 7
_ABOUT = {
    "/schema": {
        "action": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "guess": {"type": "string", "description": "a number from 1 to 100"},
                "metadata": {"type": "object"},
            },
            "required": ["guess"],
        },
    },
    "/metadata": {
        "name": "number",
        "description": f"Guess a number from 1 to 100 in {TRIES} tries. The reward is 1 if you find it.",
    },
}


class _Episode:
    """One number to find."""

    def __init__(self, seed: int | None) -> None:
        self._number, self._left = random.Random(seed).randint(1, 100), TRIES
        self.done = False

    def guess(self, text: str) -> tuple[str, float]:
        """Return the answer to a guess, and its reward."""
        self._left -= 1
        number = int(text) if text.strip().isdecimal() and len(text) < 10 else 0
        if number == self._number:
            self.done = True
            return "That is it.", 1.0
        self.done = self._left == 0
        if self.done:
            return f"It was {self._number}.", 0.0
        hint = "Guess a number from 1 to 100." if number == 0 else "Higher." if number < self._number else "Lower."
        return f"{hint} Tries left: {self._left}.", 0.0


def _respond(connection: ServerConnection, request: Request) -> Response | None:
    if request.path == "/ws":
        return None
    if request.path not in _ABOUT:
        return connection.respond(HTTPStatus.NOT_FOUND, "There is nothing here.\n")
    answer = connection.respond(HTTPStatus.OK, json.dumps(_ABOUT[request.path]))
    del answer.headers["Content-Type"]
    answer.headers["Content-Type"] = "application/json"
    return answer


def _serve_episodes(connection: ServerConnection) -> None:
    episode = _Episode(None)
    try:
        for message in connection:
            sent: dict[str, Any] = json.loads(message)
            text, reward = "Which number is it?", None
            if sent["type"] == "close":
                return
            if sent["type"] == "reset":
                episode = _Episode(sent["data"].get("seed"))
            elif not episode.done:
                text, reward = episode.guess(sent["data"]["guess"])
            data = {"observation": {"text": text}, "reward": reward, "done": episode.done}
            connection.send(json.dumps({"type": "observation", "data": data}))
    except ConnectionClosed:
        return


@cache
def start_example_server() -> str:
    """Return the address of the server, which starts on first use and ends with the process."""
    server: Server = serve(_serve_episodes, "127.0.0.1", 0, process_request=_respond)
    threading.Thread(target=server.serve_forever, name="example of gymposium-openenv", daemon=True).start()
    return f"http://127.0.0.1:{server.socket.getsockname()[1]}"
