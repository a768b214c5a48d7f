"""A model behind a chat service calls tools in the service's own form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from tests.agents.chat_server import Answer, ChatRequest, ChatServer, chat_server, check_body, completion, refusal
from tests.gymposium.tasks.guessing import guessing

from gymposium.errors import BadOption, GymposiumError
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium.records import Record
from gymposium.records.replay import find_replay_difference
from gymposium_agents.players.api_player import ApiPlayer, make_api_player


def call(number: object, id_: str = "call_1", name: str = "guess") -> dict[str, Any]:
    arguments = number if isinstance(number, str) else json.dumps({"number": number})
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: dict[str, Any], text: str | None = None, finish: str = "tool_calls", **message: Any) -> Answer:
    return completion(text, finish, tool_calls=list(calls), **message)


def play_guessing(
    answers: list[Answer], options: str = "", check: Callable[[ApiPlayer], None] = lambda player: None
) -> tuple[ChatServer, MatchResult]:
    with chat_server(lambda asked, number: answers[number]) as server:
        player = make_api_player("tiny", f"base_url={server.url}&reply=tools{options}")
        [played] = play([MatchJob("m", guessing(), [player], 4, on_illegal=FailurePolicy("retry", 1))])
        check(player)
    for asked in server.asked:
        check_body(CompletionCreateParamsNonStreaming, asked.body)
    return server, played


def test_tools_are_offered_and_results_answer_the_calls() -> None:
    first = calling(call(2), text="Low first.", reasoning_content="Between 0 and 9.", refusal=None, annotations=[])
    server, played = play_guessing([first, calling(call(7, "call_2")), calling(call(4, "call_3"))])
    assert played.paid == (1.0,)
    tools = [tool.as_function for tool in guessing().tools]
    assert [asked.body["tools"] for asked in server.asked] == [tools] * 3
    opening, *rest = server.asked[2].messages
    assert "Guess a number" in opening["content"]
    assert "as JSON" not in opening["content"]
    assert rest == [
        {
            "role": "assistant",
            "content": "Low first.",
            "reasoning_content": "Between 0 and 9.",
            "tool_calls": [call(2)],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "higher"},
        {"role": "assistant", "content": None, "tool_calls": [call(7, "call_2")]},
        {"role": "tool", "tool_call_id": "call_2", "content": "lower"},
    ]


def test_record_shows_the_calls_and_replays() -> None:
    answers = [calling(call(2), text="Low <think>first.</think>"), calling(call(7), call(4))]
    _, played = play_guessing(answers)
    record = Record.from_match(played)
    assert record.prompts[0]["reader"] == "tools-hermes"
    shown = [
        f'<tool_call>\n{{"name": "guess", "arguments": {{"number": {number}}}}}\n</tool_call>' for number in (2, 7, 4)
    ]
    assert [turn.text for turn in played.turns] == [f"<think>Low first.</think>\n{shown[0]}", "\n".join(shown[1:])]
    assert find_replay_difference(guessing(), record) is None


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (completion("It is 4."), "It is 4."),
        (calling(call('{"number": 4')), '{"number": 4'),
        (calling(call("4")), "guess 4"),
        (calling(call(4), call('{"number": NaN}')), "NaN"),
        (calling(call(4), finish="length"), "4"),
        (refusal(400, "error parsing tool call"), ""),
    ],
)
def test_replies_without_readable_calls_are_retried(answer: Answer, shown: str) -> None:
    server, played = play_guessing([answer, calling(call(4))])
    assert played.paid == (1.0,)
    assert [turn.reading for turn in played.turns][1:] == ["move"]
    assert played.turns[0].reading in ("unparsable", "cut off")
    assert shown in played.turns[0].text
    said, asked = server.asked[1].messages[1:]
    assert said["role"] == "assistant"
    assert said["content"].strip()
    assert "tool_calls" not in said  # nothing answers them
    assert asked["role"] == "user"


@pytest.mark.parametrize("made", [1.5, "guess", {"a": 1}, [None], ["guess"], [{}], [{"function": {"name": 3}}]])
def test_calls_of_another_form_are_errors_of_the_service(made: object) -> None:
    with pytest.raises(GymposiumError, match=r"did not return a chat completion \(message\.tool_calls"):
        play_guessing([completion(None, "tool_calls", tool_calls=made)])


def test_malformed_calls_are_counted() -> None:
    def check(player: ApiPlayer) -> None:
        assert "2 replies held a malformed tool call" in " ".join(player.remarks())

    play_guessing([calling(call("4")), calling(call("[]")), *[calling(call(4))] * 2], check=check)


def test_services_of_other_forms_are_read() -> None:
    """Ollama writes the arguments as an object, old services one call without an id, and some no arguments."""
    made = {"function": {"name": "guess", "arguments": {"number": 2}}}
    old = completion(None, "function_call", function_call={"name": "guess", "arguments": '{"number": 7}'})
    empty = calling({"id": "a", "type": "function", "function": {"name": "misbehave", "arguments": ""}})
    server, played = play_guessing([calling(made), old, empty, calling(call(4))])
    assert [turn.reading for turn in played.turns] == ["move"] * 4
    results = [message["tool_call_id"] for message in server.asked[-1].messages if message["role"] == "tool"]
    made_ids = [one["id"] for said in server.asked[-1].body["messages"] for one in said.get("tool_calls", ())]
    assert results == made_ids == ["000000001", "000000002", "a"]


def test_truncated_history_sends_no_thoughts() -> None:
    first = calling(call(2), text="<think>Low.</think>", reasoning_content="Low.")
    server, _ = play_guessing([first, calling(call(4))], "&context=truncated")
    said = server.asked[1].messages[1]
    assert said["content"] == "<think>[TRUNCATED]</think>"
    assert "reasoning_content" not in said


def test_key_in_a_call_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_KEY", "sk-canary-77aa01")
    answers = [calling(call('{"how": "sk-canary-77aa01"}', name="misbehave")), calling(call(4))]
    _, played = play_guessing(answers, "&key=THEIR_KEY")
    assert "[key]" in played.turns[0].text
    assert "canary" not in repr([(turn.text, turn.trace) for turn in played.turns])


def test_mail_is_played_through_tools(tmp_path: Path) -> None:
    game = load_game("mail")

    def answer(asked: ChatRequest, number: int) -> Answer:
        assert [tool["function"]["name"] for tool in asked.body["tools"]] == [tool.name for tool in game.tools]  # type: ignore[attr-defined]
        return calling({"id": "1", "function": {"name": game.tools[0].name, "arguments": "{}"}})  # type: ignore[attr-defined]

    with chat_server(answer) as server:
        player = make_api_player("tiny", f"base_url={server.url}&reply=tools")
        [played] = play([MatchJob("m", game, [player], 1)])
    assert {turn.reading for turn in played.turns} == {"move"}


def test_described_tools_are_remarked() -> None:
    with chat_server(
        lambda asked, number: completion('<move>{"name": "guess", "arguments": {"number": 4}}</move>')
    ) as server:
        player = make_api_player("tiny", f"base_url={server.url}&context=full")
        [played] = play([MatchJob("m", guessing(), [player], 4)])
    assert played.paid == (1.0,)
    assert "tools" not in server.asked[0].body
    assert player.remarks() == ["The tools of guessing were described in the prompt. reply=tools offers them."]


def test_game_without_tools_refuses_tool_replies() -> None:
    player = make_api_player("tiny", "base_url=http://127.0.0.1:9/v1&reply=tools")
    with pytest.raises(BadOption, match="tic_tac_toe has no tools"):
        [*play([MatchJob("m", load_game("tic_tac_toe"), [player, player], 0)])]
