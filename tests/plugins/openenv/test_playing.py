"""Matches with servers: the example, gymposium's own server, and a misbehaving one."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.gymposium.http.conftest import start  # noqa: F401 (a fixture)
from tests.gymposium.tasks.guessing import ScriptedPlayer
from websockets.sync.server import ServerConnection, serve

import gymposium
from gymposium import load_game
from gymposium.errors import BadOption, BadParameter, GymposiumError, NotResumable, PermissionRequired, WorldFailure
from gymposium.games.registry import load_named_game
from gymposium.http.environments import EnvOffer, build_environments_app
from gymposium.match import MatchJob, MatchResult, play
from gymposium.plugins.allowed import VARIABLE
from gymposium.records import RecordWriter, verify_file
from gymposium_openenv import connection
from gymposium_openenv.match import MAX_TEXT, format_observation
from gymposium_testing import QUICK, GameConformance

Answer = Callable[[dict[str, Any]], str | None]


class TestOpenEnv(GameConformance):
    game = "openenv"
    effort = QUICK


def shown(text: str = "go on", reward: Any = 0.0, *, done: bool = False) -> str:
    return json.dumps({"type": "observation", "data": {"observation": {"text": text}, "reward": reward, "done": done}})


@pytest.fixture
def serving() -> Iterator[Callable[..., str]]:
    """`serving(answer)` starts a server that answers each message by a function; None ends the connection."""
    servers = []

    def begin(answer: Answer, schema: Any = None, status: int = 200, more: Any = ()) -> str:
        about = {
            "/schema": {"action": schema or {"type": "object", "properties": {"text": {"type": "string"}}}},
            "/metadata": {"name": "scripted", "description": "A scripted\n environment."},
        } | {f"/{path}": value for path, value in dict(more).items()}

        def http(socket: ServerConnection, request: Any) -> Any:
            if request.path == "/ws":
                return None
            return socket.respond(HTTPStatus(status), json.dumps(about[request.path]))

        def talk(socket: ServerConnection) -> None:
            for message in socket:
                text = answer(json.loads(message))
                if text is None:
                    socket.close_socket()
                    return
                socket.send(text)

        server = serve(talk, "127.0.0.1", 0, process_request=http)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        servers.append((server, thread))
        return f"openenv:http://127.0.0.1:{server.socket.getsockname()[1]}"

    yield begin
    for server, thread in servers:
        server.shutdown()
        thread.join()


def scripted(*answers: str | None) -> Answer:
    left = [shown("begin"), *answers]
    return lambda sent: left.pop(0) if sent["type"] != "close" else None


def played(game: str, *replies: str, file: Path | None = None) -> MatchResult:
    (result,) = play([MatchJob("m", load_game(game), [ScriptedPlayer(*replies)], 7)])
    if file is not None:
        with RecordWriter(file) as writer:
            writer.write(result)
    return result


def test_example_is_won_by_bisection() -> None:
    match = load_game("openenv").new(4)
    low, high = 1, 100
    while match.to_move():
        guess = (low + high) // 2
        match.apply({0: str(guess)})
        low, high = (guess + 1, high) if "Higher" in match.observe(0).text else (low, guess - 1)
    assert (match.observe(0).text, match.returns()) == ("That is it.\n", (1.0,))


def test_server_receives_the_seed() -> None:
    env = gymposium.envs.gym.TextGameEnv("openenv")
    ends = []
    for _ in range(2):
        env.reset(seed=3)
        ends.append([env.step("1")[0] for _ in range(6)])
    assert ends[0] == ends[1]


def test_records_verify_without_the_server(serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = serving(scripted(shown("one", 0.25), shown("two", 0.5, done=True)))
    result = played(game, "a", "b", file=tmp_path / "m.jsonl")
    assert (result.paid, result.reports[0]) == ((0.75,), {"steps": 2.0, "invalid_replies": 0.0})
    monkeypatch.setattr(connection, "DirectConnect", None)
    monkeypatch.setattr(connection, "httpx", None)
    verified = verify_file(tmp_path / "m.jsonl")
    assert (verified.matches, verified.unchecked, verified.problems) == (1, 1, [])


def test_changed_records_do_not_verify(serving, tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    played(serving(scripted(shown("one", 1.0, done=True))), "a", file=file)
    for old, new in (('"returns":[1.0]', '"returns":[0.5]'), ("one", "two"), ('[0,"a"]', '[0,"b"]')):
        text = file.read_text()
        assert old in text
        changed = tmp_path / "changed.jsonl"
        changed.write_text(text.replace(old, new))
        problems = verify_file(changed).problems
        # what the server said cannot be known any more: only a manifest finds that it was changed
        assert bool(problems) == (old != "one"), old


def test_files_need_permission_for_addresses() -> None:
    with pytest.raises(PermissionRequired, match="its parameter url opens an address"):
        load_named_game("openenv:http://192.0.2.1:8000")
    with pytest.raises(PermissionRequired, match="its parameter token opens a secret"):
        load_named_game("openenv(token=HOME)")
    assert load_named_game("openenv").name == "openenv"


def test_names_are_canonical() -> None:
    game = load_game("openenv:http://127.0.0.1:1/a(max_steps=5)")
    assert game.name == "openenv:http://127.0.0.1:1/a(max_steps=5)"
    assert load_game("openenv", url="http://127.0.0.1:1/a", max_steps=5) is game
    with pytest.raises(BadParameter, match="given twice"):
        load_game("openenv:http://127.0.0.1:1(url=http://127.0.0.1:2)")
    with pytest.raises(BadParameter, match="given twice"):
        load_game("openenv:http://127.0.0.1:1", url="http://127.0.0.1:2")


@pytest.mark.parametrize("url", ["ftp://host", "host:80", "file:///etc/passwd", "http://user:pass@host"])
def test_invalid_addresses_are_refused(url: str) -> None:
    with pytest.raises(BadParameter, match="use http:// or https:// and a host"):
        load_game("openenv", url=url).new(0)


def test_unreachable_server_is_an_error() -> None:
    with pytest.raises(GymposiumError, match="Is an OpenEnv server running there"):
        load_game("openenv:http://127.0.0.1:1").new(0)


def test_trickling_answers_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SECONDS", 0.3)
    begun, given_up = threading.Event(), threading.Event()

    def trickle(server: socket.socket) -> None:
        with suppress(OSError), server.accept()[0] as client:
            begun.set()
            for letter in "HTTP/1.1 200 OK\r\nX: " + "x" * 10_000:
                client.send(letter.encode())
                if given_up.wait(0.05):
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        trickling = threading.Thread(target=trickle, args=(server,))
        trickling.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(GymposiumError, match=r"Cannot read .*/schema: no answer within 0.3 s"):
            load_game(f"openenv:{url}").new(0)
        assert begun.is_set()
        given_up.set()
        trickling.join()


def test_closing_does_not_wait_for_a_stuck_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a match must not keep the place of another one."""
    monkeypatch.setattr(connection, "_CLOSE_SECONDS", 0.05)
    ended: list[str] = []

    class Stuck:
        transport = SimpleNamespace(abort=lambda: ended.append("aborted"))

        async def send(self, text: str) -> None:
            await asyncio.Event().wait()

    asyncio.run(asyncio.wait_for(connection.Connection(Stuck()).close(), 5))  # type: ignore[arg-type]
    assert ended == ["aborted"]


def test_redirections_are_not_followed(serving) -> None:
    with pytest.raises(GymposiumError, match="Is an OpenEnv server running there"):
        load_game(serving(scripted(), status=302)).new(0)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "The connection was lost"),
        ("no json", "The server sent invalid JSON"),
        ('{"type": "state", "data": {}}', "with an observation"),
        ('{"type": "error", "data": {"message": "it broke", "code": "EXECUTION_ERROR"}}', "refused step: it broke"),
        (shown(reward="1"), "which is not a number"),
        (shown(reward=True, done=True).replace("true", "1e999", 1), "The server sent invalid JSON"),
        (shown(reward=3.0, done=True), "outside 0 to 1. Set min_return and max_return"),
    ],
)
def test_failing_server_pays_nothing(serving, tmp_path: Path, answer: str | None, why: str) -> None:
    game = load_game(serving(scripted(answer)))
    (result,) = play([MatchJob("m", game, [ScriptedPlayer("a")], 7)], schedule="streaming")
    assert result.ending.broke_off
    assert why in result.ending.detail
    assert result.returns == ()


def test_lost_connection_ends_only_its_match(serving) -> None:
    def answer(sent: dict[str, Any]) -> str | None:
        if sent["type"] == "step":
            return None if sent["data"]["text"] == "lose" else shown("end", 1.0, done=True)
        return shown("begin")

    game = load_game(serving(answer))
    jobs = [MatchJob(f"m{n}", game, [ScriptedPlayer("lose" if n == 1 else "go")], n) for n in range(4)]
    results = {result.job.id: result for result in play(jobs, schedule="streaming")}
    assert [results[f"m{n}"].ending.broke_off for n in range(4)] == [False, True, False, False]
    assert results["m2"].returns == (1.0,)


def test_invalid_actions_cost_a_step(serving) -> None:
    schema = {"type": "object", "properties": {"row": {"type": "integer"}}, "required": ["row"]}
    game = load_game(serving(scripted(shown("good", 1.0, done=True)), schema), max_steps=3)
    assert '"row": {"type": "integer"}' in game.rules(0)
    match = game.new(0)
    match.apply({0: "row 2"})
    assert match.observe(0).text.startswith("Your reply is not JSON")
    assert match.observe(0).text.endswith("begin\n")
    match.apply({0: '{"row": 2}'})
    assert (match.returns(), match.report(0)) == ((1.0,), {"steps": 2.0, "invalid_replies": 1.0})


def test_refused_actions_cost_a_step(serving) -> None:
    refusal = '{"type": "error", "data": {"message": "too tall", "code": "VALIDATION_ERROR"}}'
    match = load_game(serving(scripted(refusal, shown("ok", done=True)))).new(0)
    match.apply({0: "a"})
    assert match.observe(0).text == "The environment refuses your reply: too tall.\nbegin\n"
    assert match.to_move() == (0,)


def test_steps_are_bounded(serving) -> None:
    match = load_game(serving(lambda sent: shown()), max_steps=2).new(0)
    match.apply({0: "a"})
    match.apply({0: "a"})
    assert match.to_move() == ()


def test_loaded_matches_cannot_be_continued(serving) -> None:
    game = load_game(serving(lambda sent: shown()))
    match = game.new(0)
    match.apply({0: "a"})
    with pytest.raises(NotResumable):
        game.load(match.events, 0).apply({0: "b"})


def test_token_is_sent_but_not_part_of_the_name(monkeypatch: pytest.MonkeyPatch, start) -> None:  # noqa: F811
    app = build_environments_app(EnvOffer.from_names(["tic_tac_toe"]), lambda played: None, token="s3cret")
    url = f"openenv:{start(app).address}"
    with pytest.raises(GymposiumError, match="401"):
        load_game(url).new(0)
    with pytest.raises(BadOption, match="set the environment variable THE_TOKEN"):
        load_game(url, token="THE_TOKEN").new(0)
    monkeypatch.setenv("THE_TOKEN", "s3cret")
    game = load_game(url, token="THE_TOKEN", min_return=-1.0)
    assert "s3cret" not in game.name
    assert "legal_moves:" in game.new(0).observe(0).text


def test_games_served_by_gymposium_are_playable(start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Rewards at the end of both are those of the same seed and moves."""
    with RecordWriter(tmp_path / "lent.jsonl") as lent:
        address = start(build_environments_app(EnvOffer.from_names(["tic_tac_toe", "kuhn_poker"]), lent.write)).address
        game = f"openenv:{address}/kuhn_poker(min_return=-2,max_return=2)"
        here = played(game, "pass", "pass", file=tmp_path / "m.jsonl")
    assert not here.ending.broke_off
    monkeypatch.setenv(VARIABLE, "openenv:*")
    assert verify_file(tmp_path / "m.jsonl").problems == []
    assert verify_file(tmp_path / "lent.jsonl").problems == []
    (there,) = map(json.loads, (tmp_path / "lent.jsonl").read_text(encoding="utf-8").splitlines())
    assert (there["seed"], there["returns"][0]) == (7, here.returns[0])


@pytest.mark.parametrize(
    ("observation", "text"),
    [
        ({"text": "hello", "metadata": {"a": 1}}, "hello\n"),
        ({"text": "hello", "score": 3, "done": False}, "text: hello\nscore: 3\n"),
        ({"board": [[1, 2]]}, "board: [[1, 2]]\n"),
        ({}, ""),
        ({"text": "\ud800"}, "The environment sent something that is not text.\n"),
    ],
)
def test_observations_are_formatted_as_text(observation: dict[str, Any], text: str) -> None:
    assert format_observation(observation) == text


def test_long_observations_are_truncated() -> None:
    text = format_observation({"text": "x" * (MAX_TEXT + 1)})
    assert text == f"{'x' * MAX_TEXT}\n[cut off: the whole observation has 20,001 characters]\n"


@pytest.mark.parametrize(
    "about",
    [
        *({"schema": {"action": schema}} for schema in (True, None, [], "x", {"properties": [1]}, {"type": 3})),
        {"schema": {}},
        {"schema": {"action": {"properties": {"te\ud800": {"type": "string", "description": "\udfff"}}}}},
        {"schema": {"action": {"properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}}},
        {"schema": json.loads('{"action":' * 200 + "1" + "}" * 200)},
        {"schema": [1]},
        {"metadata": {"description": "d \ud800"}},
    ],
    ids=lambda about: str(about)[:60],
)
def test_invalid_descriptions_name_the_server(serving, about: dict[str, Any]) -> None:
    game = load_game(serving(scripted(shown("end", 1.0, done=True)), more=about))
    for use in (lambda: game.new(0), lambda: game.rules(0)):
        with pytest.raises(GymposiumError, match=r"http://127\.0\.0\.1:\d+/(schema|metadata)"):
            use()


def test_server_errors_are_shown_without_control_characters(serving) -> None:
    """Lone surrogates can be recorded, and no escape sequence reaches a terminal."""
    refusal, failure = (
        json.dumps({"type": "error", "data": {"message": "bad \ud800 \x1b[31m", "code": code}})
        for code in ("VALIDATION_ERROR", "E\udc00\x1b]0;t\x07")
    )
    (result,) = play([MatchJob("m", load_game(serving(scripted(refusal, failure))), [ScriptedPlayer("a", "b")], 7)])
    assert result.ending.broke_off
    for text in (result.events[-1][1], result.ending.detail):
        assert "\x1b" not in json.loads(json.dumps(text))
        text.encode()


def compressed(times: int) -> bytes:
    """A response of 2 KB at most that is 40 MB when its encodings are undone."""
    body = b"0" * 40_000_000
    for _ in range(times):
        body = gzip.compress(body)
    coding = ", ".join(["gzip"] * times)
    return f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize("times", [1, 2])
def test_compressed_answers_cannot_exhaust_memory(answering, times: int) -> None:
    game = load_game(f"openenv:{answering(compressed(times))}")
    tracemalloc.start()
    try:
        with pytest.raises(GymposiumError, match=r"Cannot read .*/schema: "):
            game.new(0)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_websockets_are_not_redirected(serving, answering, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = serving(scripted(shown("stolen", 1.0, done=True))).partition(":http:")[2]
    for location in (f"{scheme}:{elsewhere}/ws", "ws://[bad", "/other"):
        address = answering(f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode())
        game = load_game(f"openenv:{address}")
        monkeypatch.setitem(vars(game), "about", {"schema": {}, "description": ""})
        with pytest.raises(WorldFailure, match="HTTP 302"):
            game.new(0)


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """`answering(response)` starts a server that answers one request with these bytes."""
    threads = []
    with ExitStack() as stack:

        def begin(response: bytes) -> str:
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def answer() -> None:
                with suppress(OSError), server.accept()[0] as client:
                    client.recv(65536)
                    client.sendall(response)

            threads.append(threading.Thread(target=answer))
            threads[-1].start()
            return f"http://127.0.0.1:{server.getsockname()[1]}"

        yield begin
        for thread in threads:
            thread.join()


def test_connection_lost_at_start_breaks_the_match(serving) -> None:
    with pytest.raises(WorldFailure, match="The connection was lost"):
        load_game(serving(lambda sent: None)).new(0)
