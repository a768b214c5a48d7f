"""Chat files: the lessons of each line, and errors that name file and line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadOption
from gymposium.tasks.tools import Call, Tool
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.run.lessons import Lesson, list_texts, read_chats, tokenize_lessons

ASKED = {"role": "user", "content": "x . o"}
SAID = {"role": "assistant", "content": "b2"}
AGAIN = {"role": "user", "content": "x x o"}
MORE = {"role": "assistant", "content": "c3"}
CALL = {"type": "function", "function": {"name": "look", "arguments": {"at": "b2"}}}
LOOK = {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}}
TOOL = {"type": "function", "function": LOOK}


def write_chats(path: Path, *lines: Any) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines))
    return path


def test_each_reply_is_learned_after_its_history(tmp_path: Path) -> None:
    found = read_chats([write_chats(tmp_path / "a.jsonl", {"messages": [ASKED, SAID, AGAIN, MORE]})], thinking=False)
    where = f"{tmp_path / 'a.jsonl'}:1"
    assert found == [Lesson((ASKED,), "b2", where), Lesson((ASKED, SAID, AGAIN), "c3", where)]  # type: ignore[arg-type]


def test_only_the_completion_is_learned(tmp_path: Path) -> None:
    line = {"prompt": [ASKED, SAID, AGAIN], "completion": [MORE], "from": "elsewhere"}
    found = read_chats([write_chats(tmp_path / "a.jsonl", line)], thinking=False)
    assert [lesson.reply for lesson in found] == ["c3"]
    assert len(found[0].messages) == 3


def test_calls_and_their_results_are_read(tmp_path: Path) -> None:
    called, result = {"role": "assistant", "content": None, "tool_calls": [CALL]}, {"role": "tool", "content": "x"}
    line = {"messages": [ASKED, called, result, SAID], "tools": [TOOL]}
    first, second = read_chats([write_chats(tmp_path / "a.jsonl", line)], thinking=False)
    call = Call("look", {"at": "b2"})
    assert (first.reply, first.calls, second.reply, second.calls) == ("", (call,), "b2", ())
    assert second.messages == (ASKED, {"role": "assistant", "content": "", "tool_calls": (call,)}, result)
    assert first.tools == second.tools == (Tool("look", "Look.", LOOK["parameters"]),)  # type: ignore[arg-type]


def test_files_are_concatenated_and_blank_lines_skipped(tmp_path: Path) -> None:
    first = write_chats(tmp_path / "a.jsonl", {"messages": [ASKED, SAID]}, "")
    second = write_chats(tmp_path / "b.jsonl", "", {"messages": [AGAIN, MORE]})
    found = read_chats([first, second], thinking=False)
    assert [(lesson.reply, lesson.where) for lesson in found] == [("b2", f"{first}:1"), ("c3", f"{second}:2")]
    assert list(list_texts(found)) == ["x . o", "b2", "x x o", "c3"]


def called(argument: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "look", "arguments": {"at": argument}}}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"messages": [', "invalid JSON"),
        ("[]", "not a JSON object"),
        ({"text": "b2"}, "neither messages nor prompt"),
        ({"messages": "b2"}, "must be a list of messages"),
        ({"prompt": "x . o", "completion": "b2"}, "prompt must be a list of messages"),
        ({"messages": [ASKED, "b2"]}, "message 1 is not an object"),
        ({"messages": [ASKED, {"role": "function", "content": "b2"}]}, "the unknown role 'function'"),
        ({"messages": [{**ASKED, "tool_calls": [CALL]}, SAID]}, "role 'user' and tool calls"),
        ({"messages": [ASKED, {**SAID, "tool_calls": [{**CALL, "function": "look"}]}]}, "tool_calls must be a list"),
        ({"messages": [ASKED, {**SAID, "tool_calls": 1}]}, "tool_calls must be a list"),
        ({"messages": [ASKED, SAID], "tools": [{"name": "look"}]}, "tools must be a list"),
        ({"messages": [ASKED, SAID], "tools": [{**TOOL, "function": {**LOOK, "name": "look up"}}]}, "letters, digits"),
        ({"messages": [ASKED, {"role": "assistant", "content": None}]}, "content of type NoneType"),
        ({"messages": [ASKED]}, "reply is missing or empty"),
        ({"prompt": [ASKED, SAID], "completion": [AGAIN]}, "reply is missing or empty"),
        ({"messages": [ASKED, SAID] * 2049}, "4,098 messages, more than 4,096. Split the conversation"),
        ({"messages": [SAID]}, "without a prompt"),
        ({"messages": [ASKED, SAID, MORE]}, "without a prompt"),
        ({"messages": [ASKED, SAID], "chat_template_kwargs": {"enable_thinking": True}}, "prompting.thinking = true"),
        ({"messages": [{**ASKED, "content": "\ud83d"}, SAID]}, "a lone surrogate"),
        ({"messages": [ASKED, {**SAID, "content": "\udc00"}]}, "a lone surrogate"),
        ({"messages": [ASKED, {**SAID, "tool_calls": [called("\ud83d")]}]}, "a lone surrogate"),
        ({"messages": [ASKED, {**SAID, "tool_calls": [called(nested(900))]}]}, "nested too deeply"),
    ],
)
def test_invalid_chats_are_refused_with_their_location(tmp_path: Path, line: Any, message: str) -> None:
    path = write_chats(tmp_path / "a.jsonl", {"messages": [ASKED, SAID]}, line)
    with pytest.raises(BadOption, match=message) as caught:
        read_chats([path], thinking=False)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_thinking_data_requires_a_thinking_model(tmp_path: Path) -> None:
    line = {"messages": [ASKED, SAID], "chat_template_kwargs": {"enable_thinking": True}}
    assert len(read_chats([write_chats(tmp_path / "a.jsonl", line)], thinking=True)) == 1


def test_empty_and_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="has no chats"):
        read_chats([write_chats(tmp_path / "empty.jsonl")], thinking=False)
    with pytest.raises(BadOption, match=r"Cannot read .*nowhere\.jsonl"):
        read_chats([tmp_path / "nowhere.jsonl"], thinking=False)


def test_chats_refused_by_the_template_are_named(tmp_path: Path, tiny: LoadedModel) -> None:
    tokenizer = tiny.chat.tokenizer
    before = tokenizer.chat_template
    refuses = "{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    tokenizer.chat_template = "{% for m in messages %}" + refuses + "{% endfor %}"
    lesson = Lesson(({"role": "system", "content": "Play."}, {"role": "user", "content": "?"}), "b2", "a.jsonl:7")
    try:
        with pytest.raises(BadOption, match=r"^a\.jsonl:7: .*no system role"):
            tokenize_lessons([lesson], tiny.chat, context=100, max_tokens=8)
    finally:
        tokenizer.chat_template = before


def make_synth_line(**legal: Any) -> dict[str, Any]:
    """A line as `gymposium synth` writes it."""
    return {"prompt": [ASKED], "completion": [SAID], "gymposium": {"game": "tic_tac_toe", **legal}}


def test_synth_lines_name_the_legal_moves(tmp_path: Path) -> None:
    both = {"messages": [ASKED, SAID, AGAIN, MORE], "gymposium": {"legal": [["b2", "c3"], None]}}
    found = read_chats([write_chats(tmp_path / "a.jsonl", make_synth_line(legal=["b2", "a1"]), both)], thinking=False)
    assert [lesson.legal for lesson in found] == [("b2", "a1"), ("b2", "c3"), None]
    with pytest.raises(BadOption, match=r"b\.jsonl:1: the line lists no legal moves.*synth --resume"):
        read_chats([write_chats(tmp_path / "b.jsonl", make_synth_line())], thinking=False)


@pytest.mark.parametrize("legal", ["b2", [1], {"b2": 1}, [["b2"]], 7, True])
def test_invalid_legal_moves_are_refused(tmp_path: Path, legal: Any) -> None:
    with pytest.raises(BadOption, match=r"a\.jsonl:1: gymposium\.legal must list the legal moves"):
        read_chats([write_chats(tmp_path / "a.jsonl", make_synth_line(legal=legal))], thinking=False)
    for wrong in ([["b2"]], ["b2", "c3"], None):  # a match of two replies
        line = {"messages": [ASKED, SAID, AGAIN, MORE], "gymposium": {"legal": wrong}}
        with pytest.raises(BadOption, match=r"of each reply"):
            read_chats([write_chats(tmp_path / "a.jsonl", line)], thinking=False)


def test_synth_lines_name_a_teachers_probabilities(tmp_path: Path, tiny: LoadedModel) -> None:
    taught = make_synth_line(legal=["b2", "b1", "a1"], taught=[0.5, 0.125, 0.375])
    lines = [taught, make_synth_line(legal=["b2", "a1"])]
    lessons = read_chats([write_chats(tmp_path / "a.jsonl", *lines)], thinking=False)
    assert [lesson.taught for lesson in lessons] == [(0.5, 0.125, 0.375), ()]
    first, second = tokenize_lessons(lessons, tiny.chat, context=100, max_tokens=8).demonstrations
    assert [len(odds) for odds in first.taught] == [len(ids) for ids in first.legal]
    assert second.taught == ()
    never = make_synth_line(legal=["b2", "a1"], taught=[0, 1])
    lessons = read_chats([write_chats(tmp_path / "b.jsonl", never)], thinking=False)
    with pytest.raises(BadOption, match=r"b\.jsonl:1: the teacher's probability of the reply 'b2' is 0"):
        tokenize_lessons(lessons, tiny.chat, context=100, max_tokens=8)


@pytest.mark.parametrize("taught", ["b2", None, [1], [0.5, 0.25], [2, -1], [True, False], [10**400, 0], [[0.5], 0.5]])
def test_invalid_probabilities_are_refused(tmp_path: Path, taught: Any) -> None:
    whole = {"messages": [ASKED, SAID, AGAIN, MORE], "gymposium": {"legal": [["b2", "c3"]] * 2, "taught": [0.5, 0.5]}}
    for line in (make_synth_line(legal=["b2", "a1"], taught=taught), make_synth_line(legal=None, taught=[]), whole):
        with pytest.raises(BadOption, match=r"a\.jsonl:1: gymposium\.taught must list a probability"):
            read_chats([write_chats(tmp_path / "a.jsonl", line)], thinking=False)


@pytest.mark.parametrize("context", ["state", "full"])
def test_reads_output_of_gymposium_synth(tmp_path: Path, context: str, tiny: LoadedModel) -> None:
    out = tmp_path / "moves"
    command = ["-m", "gymposium.cli.main", "synth", "--game", "tic_tac_toe", "--players", "random,random", "-n", "6"]
    subprocess.run(
        [sys.executable, *command, "--keep", "win", "--context", context, "--out", str(out)],
        check=True,
        capture_output=True,
    )
    lessons = read_chats([out / "data.jsonl"], thinking=False)
    assert lessons
    assert all(lesson.messages[-1]["role"] == "user" for lesson in lessons)
    assert any(len(lesson.messages) > 1 for lesson in lessons) == (context == "full")
    found = tokenize_lessons(lessons, tiny.chat, context=1024, max_tokens=8)
    assert len(found.demonstrations) == len(lessons)
    assert found.unguided == 0
    for lesson, demonstration in zip(lessons, found.demonstrations, strict=True):
        assert lesson.legal is not None
        assert lesson.reply in lesson.legal
        assert f"legal {' '.join(lesson.legal)}" in lesson.messages[-1]["content"]
        assert len(demonstration.legal) == len(demonstration.completion)


def make_sparse(path: Path) -> None:
    with open(path, "wb") as sparse:
        sparse.truncate(3 * 2**30)


@pytest.mark.parametrize("make", [os.mkfifo, make_sparse, Path.mkdir])
def test_pipes_and_endless_lines_are_refused_at_once(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a.jsonl")
    with pytest.raises(BadOption, match=r"Cannot read .*a\.jsonl"):
        read_chats([tmp_path / "a.jsonl"], thinking=False)


def test_ambiguous_json_is_refused(tmp_path: Path) -> None:
    for line in ('{"messages": [], "messages": []}', '{"messages": NaN}', "[" * 100_000):
        with pytest.raises(BadOption, match=r"a\.jsonl:1: invalid JSON"):
            read_chats([write_chats(tmp_path / "a.jsonl", line)], thinking=False)
