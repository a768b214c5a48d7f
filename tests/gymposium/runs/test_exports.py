"""Exports hold what each seat was shown and replied, and the tokens that a run sampled."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.commands import run_command
from tests.gymposium.test_records import matches, parsed

from gymposium.errors import BadOption
from gymposium.games.protocol import Style
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Reply, Usage
from gymposium.records import Record, write_records
from gymposium.records.conversation import list_conversations
from gymposium.replies.reading import READERS
from gymposium.runs.exports.atif import make_trajectory
from gymposium.runs.exports.chats import make_chat, read_chat_lines, to_anthropic, to_openai
from gymposium.runs.exports.dataset import write_dataset

CALLED = {
    "messages": [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "How warm is it in Oslo and Rome?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"type": "function", "function": {"name": "weather", "arguments": {"city": city}}}
                for city in ("Oslo", "Rome")
            ],
        },
        {"role": "tool", "content": "4"},
        {"role": "tool", "content": "17"},
        {"role": "assistant", "content": "4 and 17."},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "weather",
                "description": "Read the temperature.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
            },
        }
    ],
}


class Thinker:
    """Replies with an illegal move, then with the first legal one, after thoughts."""

    name, style, reader = "thinker", "full", READERS["tags"]
    style: Style

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [
            Reply("<move>z9</move>", usage=Usage(30, 4, 0.5, 0.25))
            if ask.reason is None
            else Reply(f"<think>Not z9.</think><move>{(ask.legal_moves or [''])[0]}</move>", usage=Usage(40, 9, 0.5))
            for ask in asks
        ]


def play_thinkers() -> Record:
    job = MatchJob("m", load_game("tic_tac_toe"), [Thinker()] * 2, 1, on_illegal=FailurePolicy.parse("retry(1)"))
    [played] = play([job])
    return parsed(played)


def test_trajectory_has_prompts_replies_thoughts_and_costs() -> None:
    record = play_thinkers()
    trajectory = make_trajectory(record, 1, list_conversations(record)[1])
    first, illegal, again, second, later = trajectory["steps"][:5]
    assert [step["source"] for step in (first, illegal, again, second)] == ["user", "agent"] * 2
    assert first["message"].startswith("Tic-tac-toe on a 3 by 3 board.")
    assert (illegal["message"], illegal["extra"]) == ("<move>z9</move>", {"reading": "unparsable"})
    assert illegal["metrics"] == {
        "prompt_tokens": 30,
        "completion_tokens": 4,
        "extra": {"seconds": 0.5, "cost": 0.25},
    }
    assert again["message"] != first["message"]
    assert (second["reasoning_content"], second["message"]) == ("Not z9.", "<move>b3</move>")
    assert len(later["message"]) < len(first["message"])  # without the rules
    metrics = trajectory["final_metrics"]
    assert metrics["extra"] == {"return": record.returns[1], "result": record.results[1]}
    assert metrics["total_steps"] == len(trajectory["steps"])
    assert metrics["total_completion_tokens"] == sum(turn["tokens"][1] for turn in record.turns if turn["seat"] == 1)


def test_samples_give_tokens_rewards_and_advantages(training_run: Callable[..., Any], tmp_path: Path) -> None:
    run = training_run()
    record = parsed(matches("kuhn_poker", n=1, share=0)[0])
    run.keep(1)
    group = json.loads((run.path / "samples.jsonl").read_text(encoding="utf-8"))
    turns = sum(turn["seat"] == 0 for turn in record.turns)
    trajectory = group["trajectories"][0] | {
        "match": record.id,
        "readings": ["move"] * turns,
        "rewards": [0.5] * turns,
        "advantages": [float(n) for n in range(turns)],
        "rows": [trajectory_row(n) for n in range(turns)],
    }
    run.add("samples.jsonl", json.dumps(group | {"step": 2, "trajectories": [trajectory]}) + "\n")
    write_records(run.path / "matches" / "train.jsonl", [record])
    done = run_command("export", run.path, "--format", "atif", "--out", tmp_path / "o", folder=tmp_path, env={})
    assert done.returncode == 0, done.stderr
    learner, opponent = map(json.loads, (tmp_path / "o").read_text(encoding="utf-8").splitlines())
    assert learner["extra"]["training"] == {
        "step": 2,
        "group": 0,
        "policy": 4,
        "reward": 1.0,
        "parts": {"utility": 1.0},
    }
    said = [step for step in learner["steps"] if step["source"] == "agent"]
    assert [step["metrics"] for step in said] == [
        {
            "prompt_tokens": 2,
            "completion_tokens": 2,
            "prompt_token_ids": [n, 7],
            "completion_token_ids": [8, 9],
            "logprobs": [-0.5, -0.25],
        }
        for n in range(turns)
    ]
    assert [step["extra"]["training"]["advantage"] for step in said] == trajectory["advantages"]
    assert "training" not in opponent["extra"]


def trajectory_row(number: int) -> dict[str, Any]:
    turn = {"start": 2, "stop": 4, "engine": [-0.5, -0.25], "old": [], "reference": [], "weight": 0.1}
    return {"ids": [number, 7, 8, 9], "pieces": ["a", "b", "c", "d"], "turns": [turn]}


def test_openai_calls_have_ids_and_arguments_as_text() -> None:
    chat = to_openai(CALLED)
    called, oslo, rome = chat["messages"][2:5]
    assert [json.loads(call["function"]["arguments"]) for call in called["tool_calls"]] == [
        {"city": "Oslo"},
        {"city": "Rome"},
    ]
    assert [call["id"] for call in called["tool_calls"]] == [oslo["tool_call_id"], rome["tool_call_id"]]
    assert chat["tools"] == CALLED["tools"]


def test_openai_learns_only_the_completion() -> None:
    turn = {"prompt": CALLED["messages"][:5], "completion": CALLED["messages"][5:]}
    assert [message.get("weight") for message in to_openai(turn)["messages"]] == [None, None, 0, None, None, None]


def test_anthropic_roles_alternate_and_results_follow_calls() -> None:
    chat = to_anthropic(CALLED)
    assert chat["system"] == "You are an agent."
    assert [message["role"] for message in chat["messages"]] == ["user", "assistant", "user", "assistant"]
    said, called, results, answer = (message["content"] for message in chat["messages"])
    assert said == [{"type": "text", "text": "How warm is it in Oslo and Rome?"}]
    assert [block["type"] for block in called] == ["text", "tool_use", "tool_use"]
    assert [block["input"] for block in called[1:]] == [{"city": "Oslo"}, {"city": "Rome"}]
    assert [(block["tool_use_id"], block["content"]) for block in results] == [
        (called[1]["id"], "4"),
        (called[2]["id"], "17"),
    ]
    assert answer == [{"type": "text", "text": "4 and 17."}]
    assert chat["tools"] == [
        {
            "name": "weather",
            "description": "Read the temperature.",
            "input_schema": CALLED["tools"][0]["function"]["parameters"],  # type: ignore[index]
        }
    ]


def test_parquet_equals_the_lines(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason='datasets is not installed: pip install "gymposium[hub]"')
    record = parsed(matches("kuhn_poker", n=1, share=0)[0])
    lines = [make_chat(record, seat, one) for seat, one in enumerate(list_conversations(record))]
    turn = {"prompt": CALLED["messages"][:5], "completion": CALLED["messages"][5:], "gymposium": {"taught": [{"a": 1}]}}
    lines += [CALLED, turn]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert [*read_chat_lines(data)] == lines
    write_dataset(tmp_path / "out", lines)
    rows = datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    assert [{name: value for name, value in row.items() if value is not None} for row in rows] == lines
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| kuhn_poker | 2 |" in card
    assert "path: data/train-*" in card


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[]", "not a JSON object"),
        ('{"messages": 1}', "messages must be a list of messages"),
        ('{"prompt": []}', "completion must be a list of messages"),
        ('{"messages": [{"role": "user"}]}', "with role and content"),
        ('{"messages": [{"role": "robot", "content": ""}]}', "with role and content"),
        ('{"messages": [{"role": "assistant", "content": "", "tool_calls": [1]}]}', "tool_calls must be"),
        ('{"messages": [], "tools": [1]}', "tools must be"),
        ("{", "Expecting"),
    ],
)
def test_invalid_chats_are_named(line: str, reason: str, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(f"\n{line}\n", encoding="utf-8")
    with pytest.raises(BadOption, match=r"data\.jsonl:2: neither a match record nor a chat") as raised:
        list(read_chat_lines(data))
    assert reason in str(raised.value)


def test_kept_seats_and_bad_lines_are_counted(tmp_path: Path) -> None:
    records = [parsed(played) for played in matches("tic_tac_toe", n=8, share=0.02)]
    path = tmp_path / "matches.jsonl"
    path.write_text("".join(f"{record.line()}\n" for record in records) + "{}\n", encoding="utf-8")
    arguments = ("export", path, "--format", "openai", "--keep", "win", "--player", "clumsy", "--json")
    done = run_command(*arguments, "--out", tmp_path / "o", folder=tmp_path, env={})
    assert done.returncode == 1
    counts = json.loads(done.stdout)
    won = sum(record.results.count("win") for record in records if record.ending.seat is None)
    assert counts["lines"] == won == len((tmp_path / "o").read_text(encoding="utf-8").splitlines())
    assert counts["lines"] + sum(counts["left_out"].values()) == 16
    assert [problem["where"] for problem in counts["problems"]] == [f"{path}:9"]
    again = run_command(*arguments, "--out", tmp_path / "o", folder=tmp_path, env={})
    assert "it exists" in again.stderr
    none = run_command(
        "export", path, "--format", "atif", "--player", "x", "--out", tmp_path / "p", folder=tmp_path, env={}
    )
    assert "Nothing to export (left out: another player 16)" in none.stderr
    assert not (tmp_path / "p").exists()
