"""Agents of the seats: conversations, limits, and how their failures end a match."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf

from gymposium import load_game
from gymposium_verifiers import read_records
from gymposium_verifiers.conversation import write_reply

from .endpoint import Said, Script, legal_moves, plays
from .evaluations import MODEL, evaluate, only_trace, verified

CAUSES = ("illegal", "unparsable", "cut_off", "out_of_context")


def says(*replies: str | Said) -> Script:
    """A script of these replies in order; the last one is repeated."""

    def script(request: Mapping[str, Any], rng: random.Random) -> Said:
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        reply = replies[min(turn, len(replies) - 1)]
        return {"content": reply} if isinstance(reply, str) else reply

    return script


def call(name: str, arguments: str, number: str = "call-1") -> dict[str, Any]:
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(
    ("cause", "reply"),
    [
        ("illegal", "9"),
        ("unparsable", "I would like to take the middle."),
        ("cut_off", {"content": "4", "finish_reason": "length"}),
        ("out_of_context", {"status": 400, "error": {"message": "This model's maximum context length is 8 tokens."}}),
    ],
)
def test_forfeits_are_counted_by_cause(cause: str, reply: str | Said, tmp_path: Path) -> None:
    trace = only_trace(evaluate(tmp_path / "run", script=says(reply), tasks=1, game="connect_four", seats=0)[0])
    assert trace.reward == -1.0
    assert trace.metrics["loss"] == trace.metrics["forfeit"] == 1.0
    assert {name: trace.metrics[f"forfeit_{name}"] for name in CAUSES} == {
        name: float(name == cause) for name in CAUSES
    }
    [record] = verified(tmp_path / "run")
    assert record.returns == [-1.0, 1.0]
    assert record.ending.kind == ("out of context" if cause == "out_of_context" else "no legal move")


def test_spent_budget_ends_the_match(tmp_path: Path) -> None:
    env = {"player0": {"max_turns": 2}}
    trace = only_trace(evaluate(tmp_path / "run", tasks=1, game="connect_four", seats=0, env=env)[0])
    assert trace.ok
    assert trace.metrics["forfeit_out_of_context"] == 1.0
    assert trace.metrics["replies"] == trace.num_turns == 2
    assert trace.stop_condition == "max_turns"
    verified(tmp_path / "run")


def test_refused_replies_are_answered_with_the_reason(tmp_path: Path) -> None:
    script = says("the middle", "b2", "b2")
    episodes, requests = evaluate(
        tmp_path / "run", script=script, tasks=1, game="tic_tac_toe", seats=0, on_illegal="penalty(0.25,2)"
    )
    trace = only_trace(episodes)
    assert requests[1]["messages"][-1]["content"].startswith("The reply could not be read.")
    assert "Tic-tac-toe" not in requests[1]["messages"][-1]["content"].split("\n")[1]
    assert trace.metrics["unparsable"] == 1.0
    [record] = verified(tmp_path / "run")
    assert trace.reward == record.returns[0]
    assert record.penalties["0"] == -trace.metrics["reward.penalties"] >= 0.25


@pytest.mark.parametrize(
    ("reply", "form"), [("tags", "<think>hm</think><move>{}</move>"), ("json", '{{"move": "{}"}}')]
)
def test_replies_use_the_requested_form(reply: str, form: str, tmp_path: Path) -> None:
    def script(request: Mapping[str, Any], rng: random.Random) -> Said:
        return {"content": form.format(legal_moves(request["messages"][-1]["content"])[0]), "reasoning_content": "hm"}

    trace = only_trace(evaluate(tmp_path / "run", script=script, tasks=1, game="kuhn_poker", seats=0, reply=reply)[0])
    assert trace.metrics["forfeit"] == 0.0
    assert [record.prompts[0]["reader"] for record in verified(tmp_path / "run")] == [reply]


def test_system_prompt_of_the_run_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "system.txt"
    file.write_text("You play to win.", encoding="utf-8")
    _, requests = evaluate(tmp_path / "run", tasks=1, game="kuhn_poker", seats=0, system_prompt=file)
    for request in requests:
        assert request["messages"][0] == {"role": "system", "content": "You play to win."}
        assert [message["role"] for message in request["messages"][1:]] == (["user", "assistant"] * 9)[
            : len(request["messages"]) - 1
        ]


def test_white_space_of_free_text_is_kept(tmp_path: Path) -> None:
    trace = only_trace(evaluate(tmp_path / "run", script=says("\n  7 \n"), tasks=1, game="trace")[0])
    [record] = verified(tmp_path / "run")
    assert [turn["text"] for turn in record.turns] == ["\n  7 \n"]
    assert trace.metrics["replies"] == 1.0


# -- tools


def test_calls_are_answered_by_tool_messages(tmp_path: Path) -> None:
    search = {
        "content": "Let me look.",
        "tool_calls": [
            call("search_inbox", '{"keywords": ["the"]}', "first"),
            call("read_email", '{"message_id": "m1"}', "second"),
        ],
    }
    answer = {"content": None, "tool_calls": [call("return_final_answer", '{"answer": "x", "sources": []}', "third")]}
    episodes, requests = evaluate(tmp_path / "run", script=says(search, answer), tasks=1, game="mail")
    trace = only_trace(episodes)
    names = [tool["function"]["name"] for tool in requests[0]["tools"]]
    assert names == ["search_inbox", "read_email", "return_final_answer"] == [tool.name for tool in trace.tools]
    assert "search_inbox" not in requests[0]["messages"][0]["content"].split("Question:")[1]
    said, *results = requests[1]["messages"][-3:]
    assert [one["id"] for one in said["tool_calls"]] == ["first", "second"]
    assert [(one["role"], one["tool_call_id"], one["name"]) for one in results] == [
        ("tool", "first", "search_inbox"),
        ("tool", "second", "read_email"),
    ]
    [record] = verified(tmp_path / "run")
    shown = json.loads(record.events[2].move)["results"]
    assert [one["content"] for one in results] == [result["text"] for result in shown]
    assert record.turns[0]["text"].startswith("<think>Let me look.</think>\n<tool_call>")
    assert trace.metrics["report.calls"] == 3.0
    assert trace.metrics["report.exact"] == record.reports[0]["exact"]
    assert trace.num_branches == 1


def test_invalid_call_arguments_return_the_reason(tmp_path: Path) -> None:
    broken = {
        "content": None,
        "tool_calls": [call("read_email", '{"message_id": '), call("read_email", "[1]", "other")],
    }
    answer = {"content": None, "tool_calls": [call("return_final_answer", '{"answer": "x", "sources": []}', "last")]}
    episodes, requests = evaluate(
        tmp_path / "run", script=says(broken, answer), tasks=1, game="mail", on_illegal="retry(1)"
    )
    assert only_trace(episodes).metrics["unparsable"] == 1.0
    results = requests[1]["messages"][-2:]
    assert [one["tool_call_id"] for one in results] == ["call-1", "other"]
    assert all(one["content"].startswith("The reply could not be read.") for one in results)
    verified(tmp_path / "run")


def test_worlds_accept_calls_as_text(tmp_path: Path) -> None:
    text = '{"name": "return_final_answer", "arguments": {"answer": "x", "sources": []}}'
    episodes, requests = evaluate(tmp_path / "run", script=says(text), tasks=1, game="mail", reply="move")
    assert "tools" not in requests[0]
    assert "- return_final_answer:" in requests[0]["messages"][0]["content"]
    assert only_trace(episodes).metrics["report.calls"] == 1.0
    verified(tmp_path / "run")


@pytest.mark.parametrize(
    ("content", "arguments", "thoughts", "written"),
    [
        ("", '{"b": 1, "a": "</tool_call>"}', "", r'{"a": "<\/tool_call>", "b": 1}'),
        ("", "", "", "{}"),
        ("<think>so</think> then", "{}", "<think>so then</think>\n", "{}"),
        ("", '{"a": 1, "a": 2}', "", '"{\\"a\\": 1, \\"a\\": 2}"'),
    ],
)
def test_native_calls_are_recorded_in_one_dialect(content: str, arguments: str, thoughts: str, written: str) -> None:
    text = write_reply(content, [vf.ToolCall(id="1", name="f", arguments=arguments)])
    assert text == f'{thoughts}<tool_call>\n{{"name": "f", "arguments": {written}}}\n</tool_call>'


# -- who plays, and what is trained


def test_self_play_seats_are_separate_trainable_agents(tmp_path: Path) -> None:
    episodes, _ = evaluate(tmp_path / "run", tasks=4, game="kuhn_poker", seats="all")
    for episode in episodes:
        first, second = sorted(episode.traces, key=lambda trace: trace.agent.name)
        assert [(trace.agent.name, trace.agent.trainable) for trace in (first, second)] == [
            ("player0", True),
            ("player1", True),
        ]
        assert first.reward == -second.reward != 0.0
        assert first.info["gymposium"]["match"] == second.info["gymposium"]["match"]
        assert "record" not in second.info["gymposium"]


def test_agents_with_their_own_model_are_not_trained(tmp_path: Path) -> None:
    env = {"player1": {"model": "frozen"}}
    episodes, requests = evaluate(tmp_path / "run", tasks=2, game="kuhn_poker", seats="all", env=env)
    for episode in episodes:
        trained = {trace.agent.name: trace.agent.trainable for trace in episode.traces}
        assert trained == {"player0": True, "player1": False}
    assert {request["model"] for request in requests} == {MODEL, "frozen"}
    assert {tuple(record.players) for record in verified(tmp_path / "run")} == {(MODEL, "frozen")}


def test_opponents_are_not_agents(tmp_path: Path) -> None:
    episodes, _ = evaluate(tmp_path / "run", tasks=1, game="tic_tac_toe", opponents="mcts-10", seats=1)
    trace = only_trace(episodes)
    [record] = verified(tmp_path / "run")
    mine = [turn["text"] for turn in record.turns if turn["seat"] == 1]
    assert all(turn["tokens"][0] > 0 == turn["tokens"][1] - 1 for turn in record.turns if turn["seat"] == 1)
    assert [node.message.content for node in trace.nodes if node.sampled] == mine
    assert {node.message.role for node in trace.nodes if not node.sampled} == {"user"}


# -- matches that break off


def test_failing_model_aborts_the_match_unscored(tmp_path: Path) -> None:
    def script(request: Mapping[str, Any], rng: random.Random) -> Said:
        broken = request["model"] == "broken"
        return {"status": 422, "error": {"message": "no such model"}} if broken else plays(request, rng)

    env = {"player1": {"model": "broken"}}
    [episode], _ = evaluate(
        tmp_path / "run", script=script, tasks=1, game="goofspiel(num_cards=4)", seats="all", env=env
    )
    assert not episode.ok
    assert "the agent of seat 1 failed with ProviderError" in episode.errors[0].message
    assert len(episode.traces) == 2
    assert [(trace.ok, trace.rewards, trace.info) for trace in episode.traces] == [(False, {}, {})] * 2
    assert list(read_records(tmp_path / "run")) == []


def test_stopped_agent_aborts_the_match(tmp_path: Path) -> None:
    env = {"player0": {"timeout": {"rollout": 1e-9}}}
    [episode], _ = evaluate(tmp_path / "run", tasks=1, game="tic_tac_toe", seats=0, env=env)
    assert not episode.ok
    assert "the agent of seat 0 was stopped (agent_timeout)" in episode.errors[0].message
    assert episode.traces[0].rewards == {}


def test_failing_engine_aborts_the_match_with_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    match_type = type(load_game("tic_tac_toe").new(0))
    monkeypatch.setattr(match_type, "apply", lambda self, moves: 1 / 0)
    [episode], _ = evaluate(tmp_path / "run", tasks=1, game="tic_tac_toe", seats=0)
    assert not episode.ok
    assert episode.traces[0].rewards == {}
    [record] = read_records(tmp_path / "run")
    assert record.ending.kind == "broke off"
    assert "ZeroDivisionError" in record.ending.detail
