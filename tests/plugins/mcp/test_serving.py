"""`gymposium serve-mcp`, played by the client of the library mcp."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from gymposium.errors import BadOption
from gymposium.games.protocol import Style
from gymposium.http.environments import EnvOffer
from gymposium.http.listening import Listener
from gymposium.match import MatchResult
from gymposium.players.protocol import Ask, Reply
from gymposium.records import RecordWriter, read_records, verify_file
from gymposium.replies.reading import READERS, Reader
from gymposium_mcp.cli import command
from gymposium_mcp.serving import MatchServer, list_served_tools


def make(*games: str, write: Any = lambda played: None, policy: str = "forfeit", **limits: Any) -> MatchServer:
    offer = EnvOffer.from_names(games, on_illegal=policy)
    return MatchServer(offer, list_served_tools(offer), write, **limits)


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a tool."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    told = result.structured_content
    assert result.content[0].text.endswith(told["text"])
    return told


async def refused(client: Client, name: str, **arguments: Any) -> str:
    """The text of an error."""
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return result.content[0].text


async def play(client: Client, **options: Any) -> dict[str, Any]:
    """Play a match with the first legal moves, and return the last result."""
    told = await call(client, "new_match", **options)
    while not told["done"]:
        told = await call(client, "move", match=told["match"], move=told["legal_moves"][0])
    return told


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_client_plays_and_matches_are_recorded(tmp_path: Path, mode: str) -> None:
    async def main() -> None:
        async with Client(server.build(), mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["new_match", "move", "legal_moves", "resign"]
            told = await play(client, game="kuhn_poker", seat=1)
            assert told["result"] in ("win", "loss")
            told = await call(client, "new_match")
            assert "take turns" in told["text"]
            assert "Answer with" not in told["text"]
            again = await call(client, "legal_moves", match=told["match"])
            assert again["legal_moves"] == told["legal_moves"]
            assert told["text"].endswith(again["text"])
            assert "take turns" not in again["text"]
            end = await call(client, "resign", match=told["match"])
            assert (end["done"], end["result"], end["reward"]) == (True, "loss", -1.0)
            assert "Unknown or finished match" in await refused(client, "move", match=told["match"], move="a1")

    with RecordWriter(tmp_path / "matches.jsonl") as records:
        server = make("tic_tac_toe", "kuhn_poker", write=records.write)
        anyio.run(main)
    assert [record.game for _, record in read_records(tmp_path / "matches.jsonl")] == ["kuhn_poker", "tic_tac_toe"]
    verified = verify_file(tmp_path / "matches.jsonl")
    assert (verified.matches, verified.problems) == (2, [])


def test_task_is_done_with_its_own_tools() -> None:
    async def main() -> None:
        async with Client(make("mail", write=played.append).build()) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert [*tools] == ["new_match", "search_inbox", "read_email", "return_final_answer"]
            assert tools["read_email"].input_schema["required"] == ["match", "message_id"]
            assert tools["new_match"].input_schema["properties"] == {}
            told = await call(client, "new_match")
            assert "Arguments:" not in told["text"]
            assert "You answer one question" in told["text"]
            found = await call(client, "search_inbox", match=told["match"], keywords=["order"])
            assert "Re: " in found["text"]
            assert "You answer one question" not in found["text"]
            end = await call(client, "return_final_answer", match=told["match"], answer="nobody knows", sources=[])
            assert (end["done"], end["reward"]) == (True, 0.0)

    played: list[MatchResult] = []
    anyio.run(main)
    assert [turn.reading for turn in played[0].turns] == ["move", "move"]


def test_what_a_client_reads_depends_only_on_what_its_seat_may_know() -> None:
    async def main() -> None:
        async with Client(server.build()) as client:
            listed = (await client.list_tools()).model_dump_json()
            for _ in range(40):
                told = await call(client, "new_match")
                match, answers, view = told["match"], list[str](), list[str]()
                while not told["done"]:
                    table = server._running[match]._table
                    assert table is not None
                    view.append(table.match.observe(0).text)
                    again = await call(client, "legal_moves", match=match)
                    answers += [json.dumps(one).replace(match, "") for one in (told, again)]
                    told = await call(client, "move", match=match, move="pass")
                read["".join(view)].add("".join(answers))
                deals["".join(view)].add(str(played[-1].events[:2]))
            assert (await client.list_tools()).model_dump_json() == listed

    played: list[MatchResult] = []
    read, deals = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    server = make("kuhn_poker", write=played.append)
    anyio.run(main)
    assert all(len(answers) == 1 for answers in read.values())
    assert any(len(hidden) > 1 for hidden in deals.values())


def test_invalid_calls_get_errors_that_say_what_to_do() -> None:
    async def main() -> None:
        async with Client(server.build()) as client:
            assert "Unknown tool 'fly'. Tools: new_match, move" in await refused(client, "fly")
            assert "Begin one with new_match" in await refused(client, "move", move="a1")
            assert "new_match: " in await refused(client, "new_match", seed=3)
            assert "new_match: " in await refused(client, "new_match", opponent="mcts-100")
            told = await call(client, "new_match")
            assert "limit of 1 match" in await refused(client, "new_match")
            assert "move: " in await refused(client, "move", match=told["match"], to="b2")
            told = await call(client, "move", match=told["match"], move="z9")
            assert (told["done"], told["reading"]) == (False, "unparsable")
            assert told["text"].startswith("The reply could not be read. Legal moves: ")

    server = make("tic_tac_toe", policy="retry(1)", sessions=1)
    anyio.run(main)


def test_idle_match_makes_room() -> None:
    server = make("tic_tac_toe", sessions=1, idle=0)
    first = server.call("new_match", {})["match"]
    assert server.call("new_match", {})["match"] != first
    with pytest.raises(Exception, match="Unknown or finished match"):
        server.call("legal_moves", {"match": first})


class FailingPlayer:
    name = "failing"
    reader: Reader = READERS["move"]
    style: Style = "full"

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        raise RuntimeError("the other seat holds the king")


def test_failing_opponent_reveals_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with Client(server.build()) as client:
            told = await call(client, "new_match")
            why = await refused(client, "move", match=told["match"], move="pass")
            assert why == "A player of this match failed. Call new_match to begin another."
            assert not server._running

    offer = EnvOffer.from_names(["kuhn_poker"])
    failing: Any = {"failing": FailingPlayer()}
    offer = EnvOffer(offer.games, failing, offer.on_illegal)
    server = MatchServer(offer, list_served_tools(offer), lambda played: None)
    anyio.run(main)


def test_opponents_need_a_seat() -> None:
    with pytest.raises(BadOption, match=r"--opponent mcts-100 has no effect: each game has one seat \(mail\)"):
        command(games=["mail"], opponent=["mcts-100"])


def test_task_with_tools_is_served_alone() -> None:
    with pytest.raises(BadOption, match="mail has its own tools"):
        list_served_tools(EnvOffer.from_names(["tic_tac_toe", "mail"]))


def test_http_clients_play_and_need_the_token() -> None:
    import httpx2
    from mcp.shared._httpx_utils import create_mcp_http_client

    async def main(address: str) -> None:
        async with create_mcp_http_client(headers={"Authorization": "Bearer s3cret"}) as http:
            for mode in ("legacy", "auto"):
                async with Client(streamable_http_client(address, http_client=http), mode=mode) as client:
                    assert (await play(client))["done"]
        async with httpx2.AsyncClient() as http:
            assert (await http.post(address, json={})).status_code == 401
            evil = {"Authorization": "Bearer s3cret", "Host": "evil.example"}
            assert (await http.post(address, json={}, headers=evil)).status_code == 421

    played: list[MatchResult] = []
    with Listener("127.0.0.1", 0) as listener:
        server = listener.server(make("tic_tac_toe", write=played.append).build_app(token="s3cret"))
        thread = threading.Thread(target=listener.run, args=(server,))
        thread.start()
        try:
            anyio.run(main, f"{listener.address}/mcp")
        finally:
            server.should_exit = True
            thread.join()
    assert len(played) == 2


@pytest.mark.slow
def test_command_serves_standard_input_and_output(tmp_path: Path) -> None:
    async def main() -> None:
        arguments = ["-m", "gymposium.cli.main", "serve-mcp", "tic_tac_toe", "--out", str(tmp_path / "run")]
        server = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ})
        async with Client(stdio_client(server)) as client:
            assert (await play(client))["done"]

    anyio.run(main)
    verified = verify_file(tmp_path / "run" / "matches.jsonl")
    assert (verified.matches, verified.problems) == (1, [])
