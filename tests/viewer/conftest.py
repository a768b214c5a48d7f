"""Fixtures of viewer tests: a server for a directory, and records of every kind."""

from __future__ import annotations

import json
import socket
import threading
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.gymposium.conftest import chromium, look, training_run  # noqa: F401

from gymposium import load_game, make_player
from gymposium.games.protocol import Style
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Player, Reply, Usage
from gymposium.records import RecordWriter
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import GENERAL, Reader
from gymposium_viewer.app import make_app, make_viewer

Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(directory)` starts a server and returns its address; further keywords are those of the guard."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(directory: Path, **guard: object) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        app = make_app(make_viewer(directory), **guard)  # type: ignore[arg-type]
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{listening.getsockname()[1]}/"

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join()


def unpacked(script: Path) -> Any:
    """The value in a script of an export."""
    data = script.read_text(encoding="utf-8").partition('"')[2].partition('"')[0]
    return json.loads(zlib.decompress(b64decode(data)))


class ScriptedPlayer:
    """A player with given replies, followed by first legal moves. It keeps the prompts that it read."""

    def __init__(self, *said: str, name: str = "scripted", reply: str = "move", style: Style = "full") -> None:
        self.name, self.style = name, style
        self.reader: Reader = GENERAL[reply]
        self.prompts: list[str] = []
        self._said = list(said)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        self.prompts.append(get_prompt(ask.game, self.style, self.reader)(ask.observe(self.style), ask.reason))
        text = self._said.pop(0) if self._said else self.reader.answer((ask.legal_moves or ["text"])[0])
        return Reply(
            text.removesuffix("<cut>"), "length" if text.endswith("<cut>") else "stop", usage=Usage(31, 7, 0.5)
        )


def write(
    file: Path,
    game: str,
    players: Sequence[Player | str],
    *,
    policy: str = "forfeit",
    seeds: Sequence[int] = (0,),
    tag: str = "m",
) -> None:
    """Plays a match for each seed and appends its record to a file."""
    seated = [make_player(player) if isinstance(player, str) else player for player in players]
    how, loaded = FailurePolicy.parse(policy), load_game(game)
    with RecordWriter(file) as writer:
        for played in play(MatchJob(f"{tag}-{seed}", loaded, seated, seed, on_illegal=how) for seed in seeds):
            writer.write(played)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Matches of several games with every result and every kind of forfeit, an incomplete line, and a file without
    matches."""
    folder = tmp_path / "runs"
    boards = folder / "boards" / "tic tac toe.jsonl"
    write(boards, "tic_tac_toe", ["random", "random"], seeds=range(8), tag="random")
    write(boards, "tic_tac_toe", [ScriptedPlayer("b2", "b2", name="lm:repeats"), "random"], tag="illegal")
    write(boards, "tic_tac_toe", ["random", ScriptedPlayer("I like b2.", name="lm:talks")], tag="unparsable")
    write(boards, "tic_tac_toe", [ScriptedPlayer("<think>hm<cut>", name="lm:long", reply="tags"), "random"], tag="cut")
    clumsy = ScriptedPlayer("b2", "b2", "well", name="lm:tries")
    write(boards, "tic_tac_toe", [clumsy, "random"], policy="retry(2)", tag="retried")
    write(folder / "connect_four.jsonl", "connect_four", ["random", "random"], seeds=range(2), tag="four")
    write(folder / "cards.jsonl", "goofspiel(num_cards=3)", ["random", ScriptedPlayer("bid 9")], tag="goof")
    with open(folder / "cards.jsonl", "a", encoding="utf-8") as file:
        file.write('{"id":"torn","game":"goofsp')
    (folder / "metrics.jsonl").write_text('{"step":1}\n' * 3, encoding="utf-8")
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Matches that are shown as text: backgammon of more than a hundred moves, and traced programs."""
    folder = tmp_path / "texts"
    write(folder / "backgammon.jsonl", "backgammon", ["random", "random"], seeds=[1])
    write(folder / "trace.jsonl", "trace", [ScriptedPlayer("1", "2", name="lm:traces")], seeds=[0, 1])
    return folder
