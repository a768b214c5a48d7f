"""Worlds in Inspect: the model's tool calls are played, and their results are tool messages."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ModelOutput
from inspect_ai.tool import ToolCall, ToolInfo

from gymposium import load_game
from gymposium.records import Record
from gymposium.tasks.tools.random_calls import make_random_call

from .scripted import evaluated, verified, without_times

pytestmark = pytest.mark.usefixtures("echoes")


def calling(*calls: tuple[str, dict[str, Any]], text: str = "", error: str | None = None) -> ModelOutput:
    """An output with these tool calls."""
    made = [
        ToolCall(id=f"call-{number}", function=name, arguments=arguments, parse_error=error)
        for number, (name, arguments) in enumerate(calls)
    ]
    output = ModelOutput.from_content("mockllm/model", text, stop_reason="tool_calls")
    output.choices[0].message.tool_calls = made
    return output


def means(log: Any) -> dict[str, float]:
    return {score.name: score.metrics["mean"].value for score in log.results.scores}


def test_tool_tasks_are_played_by_tool_calls_and_verify(tmp_path: Path) -> None:
    pytest.importorskip("gymposium_worlds")
    tools = load_game("mail(mails=20)").tools
    told: list[ToolInfo] = []

    def answer(messages: Sequence[ChatMessage], given: Sequence[ToolInfo]) -> ModelOutput:
        told[:] = given
        rng = random.Random(messages[-1].text)
        calls = [make_random_call(tools, messages[-1].text, rng) for _ in range(1 + int(rng.random() * 2))]
        return calling(*((call.name, dict(call.arguments)) for call in calls), text="Let me see.")

    args = {"game": "mail(mails=20)", "matches": 16, "seed": 2}
    log = evaluated("gymposium/world", answer, args=args)
    found = verified(log, tmp_path)
    assert log.samples is not None
    assert sum(len(record.turns) for record in found) > 20
    for sample, record in zip(log.samples, found, strict=True):
        assert sample.scores is not None
        value, reported = sample.scores["outcome"].value, sample.scores["report"].value
        assert isinstance(value, dict)
        assert value["return"] == record.returns[0]
        assert reported == record.reports[0]
        assert {turn["reading"] for turn in record.turns} == {"move"}
        made = [message.tool_calls for message in sample.messages if isinstance(message, ChatMessageAssistant)]
        calls = [call for calls in made for call in calls or ()]
        answered = [message for message in sample.messages if isinstance(message, ChatMessageTool)]
        assert len(calls) == reported["calls"]
        assert [message.tool_call_id for message in answered] == [call.id for call in calls[: len(answered)]]
        assert "Arguments:" not in sample.messages[0].text, "the provider lists the tools"
    for tool, info in zip(tools, told, strict=True):
        assert (info.name, info.description) == (tool.name, tool.description)
        assert set(info.parameters.properties) == set(tool.parameters["properties"])
        assert info.parameters.required == tool.parameters.get("required", [])
        assert info.parameters.additionalProperties is False
    with zipfile.ZipFile(log.location) as archive:  # what a reader without Inspect sees, long results included
        documents = [json.loads(archive.read(f"samples/{number}_epoch_1.json")) for number in range(16)]
    stored = [Record.parse(json.dumps(document["store"]["gymposium_record"])) for document in documents]
    assert [*map(without_times, stored)] == [*map(without_times, found)]
    assert max(len(event.move) for record in stored for event in record.events) > 400
    again = verified(evaluated("gymposium/world", answer, args=args), tmp_path)
    assert [*map(without_times, again)] == [*map(without_times, found)]


def test_tool_results_and_errors_are_tool_messages(tmp_path: Path) -> None:
    said = [
        calling(("say", {"text": "a"}), ("say", {"word": "b"})),
        calling(("shout", {})),
        calling(("say", {"text": "c"}), ("say", {"text": "d"})),
    ]

    def answer(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> ModelOutput:
        turn = sum(message.role == "assistant" for message in messages)
        return said[turn].model_copy(deep=True)

    log = evaluated("gymposium/world", answer, args={"game": "echoes", "matches": 1})
    [record] = verified(log, tmp_path)
    assert record.returns == [1.0]
    assert log.samples is not None
    texts = [message.text.strip() for message in log.samples[0].messages if message.role == "tool"]
    assert texts[0] == "a!"
    assert texts[1].startswith("Wrong arguments for say:")
    assert texts[2] == "There is no tool 'shout'. Tools: say."
    assert means(log) | {"said": 3.0, "calls": 5.0, "invalid_calls": 2.0} == means(log)


@pytest.mark.parametrize(
    "first",
    [
        ModelOutput.from_content("m", "I would say it three times."),
        calling(("say", {}), error="the arguments are no JSON"),
        calling(("say", {"text": float("nan")})),
    ],
    ids=["no call", "no JSON", "NaN"],
)
def test_replies_without_a_valid_call_fail(first: ModelOutput, tmp_path: Path) -> None:
    def answer(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> ModelOutput:
        if len(messages) == 1:
            return first.model_copy(deep=True)
        last = messages[-1]
        why = last.error.message if isinstance(last, ChatMessageTool) and last.error else last.text
        if len(messages) == 3:
            assert why.startswith("The reply could not be read.")
        return calling(*[("say", {"text": "x"})] * 3)

    log = evaluated("gymposium/world", answer, args={"game": "echoes", "matches": 1, "on_illegal": "retry(1)"})
    [record] = verified(log, tmp_path)
    assert [turn["reading"] for turn in record.turns] == ["unparsable", "move"]
    assert record.returns == [1.0]
    forfeited = evaluated("gymposium/world", answer, args={"game": "echoes", "matches": 1})
    assert means(forfeited)["forfeit_unparsable"] == 1.0
    assert forfeited.samples is not None
    assert forfeited.samples[0].scores is not None
    assert forfeited.samples[0].scores["report"].reason == "no report"


def test_matches_with_failing_tools_are_recorded_unscored() -> None:
    log = evaluated(
        "gymposium/world",
        lambda messages, tools: calling(("say", {"text": "a"})),
        args={"game": "echoes(breaks=true)", "matches": 2},
    )
    assert log.samples is not None
    for sample in log.samples:
        assert sample.store["gymposium_record"]["ending"]["kind"] == "broke off"
        assert sample.scores is not None
        assert sample.scores["outcome"].reason == "broke off"
        assert "the echo is gone" in (sample.scores["outcome"].explanation or "")


def test_worlds_accept_calls_as_text(tmp_path: Path) -> None:
    def answer(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> str:
        assert not tools
        return '{"name": "say", "arguments": {"text": "a"}}'

    log = evaluated("gymposium/match", answer, args={"game": "echoes(schema=reference)", "matches": 2})
    assert [record.returns for record in verified(log, tmp_path)] == [[1.0], [1.0]]
    assert means(log)["said"] == 3.0
