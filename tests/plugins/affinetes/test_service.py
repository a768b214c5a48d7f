"""affinetes' calls over HTTP: the same results as from Python, and only what the owner allows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents.chat_server import chat_server
from tests.gymposium.http.conftest import start  # noqa: F401 (a fixture)
from tests.gymposium.http.test_guard import JSON, Answer, ask

from gymposium.records import RecordWriter, verify_file
from gymposium_affinetes import decode_task, encode_game
from gymposium_affinetes.episodes import Episode
from gymposium_affinetes.service import LONGEST_MATCH, make_affinetes_app

from .test_evaluate import first_legal, run

KEY = "sk-canary-service"
Call = Callable[..., Answer]


@pytest.fixture
def serving(start, tmp_path: Path) -> Iterator[Callable[..., Call]]:  # noqa: F811
    """`serving(…)` starts a server and returns the function that posts to it."""
    writer = RecordWriter(tmp_path / "matches.jsonl")

    def begin(**allowed: Any) -> Call:
        port = start(make_affinetes_app(writer.write, **allowed)).port
        return lambda path, **body: ask(port, "POST", path, json.dumps(body).encode(), **JSON)

    yield begin
    writer.close()


def drop_times(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "time_taken": 0, "extra": {**result["extra"], "mcts_timing": None}}


def test_http_evaluation_matches_python(serving) -> None:
    with chat_server(first_legal) as server:
        here = run(server, "hex(board_size=5)", 2, opponent="random")
        post = serving(base_urls=[server.url])
        there = post("/evaluate", task_id=encode_game("hex(board_size=5)"), seed=2, model="m", base_url=server.url,
                     opponent="random", timeout=600, temperature=None)  # fmt: skip
    assert there.status == 200
    assert drop_times(there.data) == drop_times(here)


@pytest.mark.parametrize(
    "base_url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1:1/v1",
        "https://api.openai.com/v1",
        "http://allowed.example/v1/../secret",
        "http://allowed.example@evil.example/v1",
        "http://allowed.example.evil.example/v1",
        "http://allowed.example/v1?x=",
        "file:///etc/passwd",
        "",
    ],
)
def test_refuses_services_that_are_not_allowed(serving, base_url: str) -> None:
    post = serving(base_urls=["http://allowed.example/v1"])
    answer = post("/evaluate", task_id=0, seed=0, model="m", base_url=base_url)
    assert (answer.status, answer.code) == (403, "base_url_not_allowed")
    assert "--allow-base-url" in answer.data["error"]["message"]


def test_only_allowed_keys_are_used(serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with chat_server(first_legal) as server:
        far = "https://allowed.example/v1"
        post = serving(base_urls=[server.url, far], keys=["A_KEY"])
        task = {"task_id": 0, "seed": 0, "model": "m"}
        for more in ({"key": "HOME", "base_url": server.url}, {"base_url": far}, {"key": "PATH", "base_url": far}):
            answer = post("/evaluate", **task, **more)
            assert (answer.status, answer.code) == (403, "key_not_allowed")
            assert "--key" in answer.data["error"]["message"]
        answer = post("/evaluate", **task, base_url=server.url, api_key=KEY)
        assert (answer.status, answer.code) == (400, "key_in_request")
        assert KEY not in str(answer)
        answer = post("/evaluate", **task, base_url=server.url, key="A_KEY", opponent="random")
        assert answer.status == 200
        assert KEY not in str(answer)
        assert server.asked[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/evaluate", {"task_id": 0, "seed": 0, "model": "m"}, "missing_field"),
        ("/evaluate", {"task_id": "0", "seed": 0, "model": "m", "base_url": "u"}, "wrong_field"),
        ("/evaluate", {"task_id": True, "seed": 0, "model": "m", "base_url": "u"}, "wrong_field"),
        ("/evaluate", {"task_id": 0, "seed": 0, "model": "m", "base_url": "u", "file": "/etc"}, "unknown_field"),
        ("/evaluate", {"task_id": 0, "seed": 0, "model": "m", "base_url": "u", "opponent": "lm:/etc"},
         "opponent_not_allowed"),
        ("/evaluate", {"task_id": 0, "seed": 0, "model": "m", "base_url": "http://allowed.example/v1",
                       "timeout": LONGEST_MATCH + 1, "key": "A"}, "wrong_field"),
        ("/reset", {"task_id": 10**12, "seed": 0}, "bad_request"),
        ("/reset", {"task_id": 0, "seed": -1}, "wrong_field"),
        ("/reset", {"task_id": 0, "seed": 0, "opponent": "../../etc/passwd"}, "opponent_not_allowed"),
        ("/step", {"action": "x", "episode_id": "../../etc/passwd"}, "no_episode"),
        ("/step", {"action": "x" * 200_000, "episode_id": "x"}, "wrong_field"),
        ("/state", {"episode_id": "x"}, "no_episode"),
        ("/stop", {"episode_id": "x"}, "no_episode"),
        ("/nothing", {}, "no_such_route"),
    ],
)  # fmt: skip
def test_invalid_requests_have_error_codes(serving, path: str, body: dict[str, Any], code: str) -> None:
    post = serving(base_urls=["http://allowed.example/v1"], keys=["A"])
    answer = post(path, **body)
    assert answer.code == code
    assert 400 <= answer.status < 500


def test_episodes_are_played_step_by_step(serving, tmp_path: Path) -> None:
    post = serving()
    task_id = encode_game("hex(board_size=5)")
    for seed in (0, 1):
        first = post("/reset", task_id=task_id, seed=seed, opponent="random").data
        assert set(first) == {"observation", "reward", "done", "truncated", "episode_id", "info"}
        assert first["info"]["seat"] == seed
        shown = post("/step", episode_id=first["episode_id"], action="no move").data
        assert (shown["reward"], shown["done"]) == (-0.01, False)
        while not shown["done"]:
            assert post("/state", episode_id=first["episode_id"]).data == shown
            shown = post("/step", episode_id=first["episode_id"], action=shown["info"]["legal_moves"][0]).data
        assert shown["reward"] in (0.0, 1.0)
        assert (shown["reward"] == 1.0) == (shown["info"]["result"] == "win")
        assert post("/step", episode_id=first["episode_id"], action="a1").status == 409
        assert post("/stop", episode_id=first["episode_id"]).data["stopped"] is True
        assert post("/state", episode_id=first["episode_id"]).status == 404
    verified = verify_file(tmp_path / "matches.jsonl")
    assert (verified.matches, verified.problems) == (2, [])


def test_equal_seeds_give_equal_episodes() -> None:
    """The search of affinetes' simulations is the opponent, and its moves follow from the seed."""
    shown = []
    for _ in range(2):
        episode = Episode(decode_task(encode_game("leduc_poker")), 5, "mcts", lambda played: None)
        texts = [episode.state()["observation"]]
        while not episode.state()["done"]:
            texts.append(episode.step(episode.state()["info"]["legal_moves"][0])["observation"])
        shown.append(texts)
    assert shown[0] == shown[1]


def test_episodes_are_bounded(monkeypatch: pytest.MonkeyPatch, serving) -> None:
    monkeypatch.setattr("gymposium_affinetes.episodes.MAX_EPISODES", 1)
    post = serving()
    task = {"task_id": encode_game("blackjack"), "seed": 0}
    first = post("/reset", **task).data["episode_id"]
    assert post("/reset", **task).code == "no_episode"
    post("/stop", episode_id=first)
    assert post("/reset", **task).status == 200


def test_token_is_required_if_set(start, tmp_path: Path) -> None:  # noqa: F811
    port = start(make_affinetes_app(lambda played: None, token="s3cret")).port
    assert ask(port, "POST", "/reset", b'{"task_id": 0, "seed": 0}', **JSON).status == 401
    assert ask(port, path="/health").status == 200
    assert (
        ask(port, "POST", "/reset", b'{"task_id": 0, "seed": 0}', Authorization="Bearer s3cret", **JSON).status == 200
    )
