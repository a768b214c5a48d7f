"""OpenEnv's own client plays every game over the wire, and an OpenEnv server is played as a game: `tox run -m peers`
installs the real library.

`GYMPOSIUM_SEEDS` is the number of seeds of each game, 100 by default; ten times as many in five quick games.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gymposium import load_game
from gymposium.envs.gym import TextGameEnv
from gymposium.http.environments import EnvOffer, build_environments_app
from gymposium.http.environments.manifest import build_manifest
from gymposium.http.listening import Listener
from gymposium.match import MatchJob, play
from gymposium.plugins.allowed import VARIABLE
from gymposium.plugins.host import host
from gymposium.records import RecordWriter, verify_file
from gymposium.util.streams import stream
from gymposium_testing.walk import AnyPlayer, draw_reply

openenv = pytest.importorskip("openenv.core", reason="openenv is not installed: tox run -m peers")
generic_client = pytest.importorskip("openenv.core.generic_client")
mcp_client = pytest.importorskip("openenv.core.mcp_client")
CallToolAction = pytest.importorskip("openenv.core.env_server.mcp_types").CallToolAction

pytestmark = pytest.mark.filterwarnings("default")  # OpenEnv's own

SEEDS = int(os.environ.get("GYMPOSIUM_SEEDS", "100"))
QUICK = ("tic_tac_toe", "kuhn_poker", "leduc_poker", "blackjack", "liars_dice")
GAMES = [spec.name for spec in host().games.values() if spec.name not in ("mcp", "openenv")]


def play_locally(game: str, seed: int, seat: int) -> list[Any]:
    """Every observation, with legal moves and reward, of an episode with random replies."""
    env, rng = TextGameEnv(game, seat=seat), stream(seed, "replies")
    text, info = env.reset(seed=seed)
    shown: list[Any] = [(text, info.get("legal_moves"), None)]
    over = env.played is not None
    while not over or len(shown) == 1:
        text, reward, over, _, info = env.step(draw_reply(env.game, info, text, rng))
        shown.append((text, info.get("legal_moves"), reward))
    return [*shown, info["result"], info.get("report")]


def play_over_the_wire(client: Any, game: str, seed: int, seat: int) -> list[Any]:
    """The same over the wire."""
    loaded, rng = load_game(game), stream(seed, "replies")
    result = client.reset(game=game, seed=seed, seat=seat)
    shown: list[Any] = [(result.observation["text"], result.observation["legal_moves"], result.reward)]
    while not result.done:
        seen = result.observation
        result = client.step({"text": draw_reply(loaded, seen, seen["text"], rng)})
        shown.append((result.observation["text"], result.observation["legal_moves"], result.reward))
    return [*shown, result.metadata["result"], result.metadata.get("report")]


@pytest.fixture(scope="module")
def games_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a server of all games, and the file of its matches."""
    file = tmp_path_factory.mktemp("lent") / "matches.jsonl"
    with Listener("127.0.0.1", 0) as listener, RecordWriter(file) as records:
        server = listener.server(build_environments_app(EnvOffer.from_names(GAMES), records.write))
        thread = threading.Thread(target=listener.run, args=(server,))
        thread.start()
        yield listener.address, file
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("game", GAMES)
def test_openenv_client_plays_as_locally(game: str, games_server: tuple[str, Path]) -> None:
    began, seats = time.perf_counter(), load_game(game).seats
    seeds = range(SEEDS * (10 if game in QUICK else 1))
    with generic_client.GenericEnvClient(base_url=games_server[0]).sync() as client:
        for seed in seeds:
            mine, theirs = play_locally(game, seed, seed % seats), play_over_the_wire(client, game, seed, seed % seats)
            if len(theirs) == 3:  # over before the seat was asked: the wire says so at once, with the reward
                assert theirs[0][2] == mine[1][2]
                mine = [(mine[0][0], theirs[0][1], theirs[0][2]), *mine[2:]]
            assert mine == theirs, (game, seed)
    print(f"\n{game}: {len(seeds)} seeds equal in {time.perf_counter() - began:.1f} s")


def test_server_records_verify(games_server: tuple[str, Path]) -> None:
    if not games_server[1].stat().st_size:
        pytest.skip("no game was played before")
    verified = verify_file(games_server[1])
    print(f"\n{verified.matches} records verified")
    assert verified.problems == []


def test_openenv_client_gets_error_messages(games_server: tuple[str, Path]) -> None:
    with generic_client.GenericEnvClient(base_url=f"{games_server[0]}/tic_tac_toe").sync() as client:
        with pytest.raises(RuntimeError, match="Send reset first"):
            client.step({"text": "a1"})
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            client.reset(opponent="../../etc/passwd")
        client.reset(seed=3, episode_id="mine")
        assert client.state() == {
            "episode_id": "mine",
            "step_count": 0,
            "game": "tic_tac_toe",
            "seat": 0,
            "done": False,
        }


def test_openenv_validates_the_server_and_its_manifest(games_server: tuple[str, Path], tmp_path: Path) -> None:
    validate = [sys.executable, "-m", "openenv.cli", "validate"]
    subprocess.run([*validate, "--url", games_server[0]], check=True)
    (tmp_path / "openenv.yaml").write_text(build_manifest(EnvOffer.from_names(["tic_tac_toe", "mail"])))
    subprocess.run([*validate, str(tmp_path), "--level", "static", "--skip-build"], check=True)


@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker", "goofspiel", "hearts", "2048"])
def test_openenv_tool_client_plays_games(game: str, games_server: tuple[str, Path]) -> None:
    with mcp_client.MCPToolClient(base_url=f"{games_server[0]}/{game}").sync() as client:
        assert [tool.name for tool in client.list_tools()] == ["move", "legal_moves", "resign"]
        for seed in range(3):
            told, reward, rng = [], 0.0, stream(seed, "replies")
            client.reset(seed=seed)
            outcome = client.call_tool("legal_moves")
            while not outcome["done"]:
                told.append((outcome["text"], outcome["legal_moves"]))
                outcome = client.call_tool("move", move=rng.choice(outcome["legal_moves"]))
                reward += outcome["reward"]
            env, rng = TextGameEnv(game), stream(seed, "replies")
            text, info = env.reset(seed=seed)
            for seen in told:
                assert seen == (text, info["legal_moves"])
                text, _, _, _, info = env.step(rng.choice(info["legal_moves"]))
            assert env.played is not None
            assert (outcome["result"], reward) == (info["result"], pytest.approx(env.played.returns[0]))


def test_openenv_tool_client_does_tasks(games_server: tuple[str, Path]) -> None:
    with mcp_client.MCPToolClient(base_url=f"{games_server[0]}/tables").sync() as client:
        assert [tool.name for tool in client.list_tools()] == ["query", "answer"]
        client.reset(seed=3)
        assert not client.call_tool("query", sql="SELECT 41 + 1")["done"]
        step = client.step(CallToolAction(tool_name="answer", arguments={"value": "unknown"}))
        assert step.done
        assert step.reward is not None


@pytest.fixture
def counting() -> Iterator[str]:
    """The address of a real OpenEnv server: a number is counted down by as much as one says."""
    import uvicorn
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State

    class Take(Action):
        number: int

    class LeftObservation(Observation):
        text: str = ""
        left: int = 0

    class Counting(Environment):  # type: ignore[misc]
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self._left, self._steps = 0, 0

        def reset(self, seed: int | None = None, episode_id: str | None = None, **given: Any) -> LeftObservation:
            self._left, self._steps = 5 + (seed or 0) % 3, 0
            return LeftObservation(text="Count down to 0.", left=self._left)

        def step(self, action: Take, **given: Any) -> LeftObservation:  # type: ignore[override]
            self._left, self._steps = self._left - action.number, self._steps + 1
            return LeftObservation(text="Go on.", left=self._left, done=self._left <= 0, reward=float(self._left == 0))

        @property
        def state(self) -> State:
            return State(step_count=self._steps)

    app = create_app(Counting, Take, LeftObservation, env_name="counting", max_concurrent_envs=128)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()


class CountdownPlayer(AnyPlayer):
    """Takes two at a time, and once says something else."""

    def _choose(self, ask: Any) -> str:
        left = int(ask.observe("full").text.partition("left: ")[2].split()[0])
        return "two" if ask.turn == 1 else f'{{"number": {min(left, 2)}}}'


def test_openenv_servers_are_playable_games(counting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game(f"openenv:{counting}")
    assert '"number"' in game.rules(0)
    with RecordWriter(tmp_path / "m.jsonl") as writer:
        for result in play(MatchJob(f"m{seed}", game, [CountdownPlayer()], seed) for seed in range(100)):
            writer.write(result)
            assert result.returns == (1.0,), result.ending
            assert result.reports[0]["invalid_replies"] == 1.0
    monkeypatch.setenv(VARIABLE, "openenv:*")
    verified = verify_file(tmp_path / "m.jsonl")
    assert (verified.matches, verified.problems) == (100, [])
