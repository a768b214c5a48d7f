"""Models of Inspect's own provider `mockllm` whose outputs are computed from what they are asked, and evals with them.

Each output says how many tokens it took: otherwise the provider counts them with an encoding that it fetches.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolChoice, ToolInfo

from gymposium.records import Record, verify_file
from gymposium_inspect import list_records

Answer = Callable[[Sequence[ChatMessage], Sequence[ToolInfo]], ModelOutput | str]


def scripted(answer: Answer) -> Model:
    """A model that answers by a function of the messages and tools that it is given."""

    def output(
        messages: list[ChatMessage], tools: list[ToolInfo], choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        given = answer(messages, tools)
        made = ModelOutput.from_content("mockllm/model", given) if isinstance(given, str) else given
        made.usage = ModelUsage(input_tokens=len(messages), output_tokens=3, total_tokens=len(messages) + 3)
        return made

    return get_model("mockllm/model", custom_outputs=output)


def legal_moves(text: str) -> list[str]:
    """The legal moves that a prompt lists."""
    [line] = [line for line in text.split("\n") if line.startswith("Legal moves: ")]
    return line.removeprefix("Legal moves: ").split(", ")


def some_move(text: str, name: str = "") -> str:
    """A legal move, drawn from the list of legal moves: the same for equal lists."""
    moves = legal_moves(text)
    return random.Random(f"{name}{moves}").choice(moves)


def legal(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> str:
    """The answer with some legal move."""
    return some_move(messages[-1].text)


def evaluated(task: Any, answer: Answer = legal, *, status: str = "success", **options: Any) -> EvalLog:
    """The log of one task, which ended with this status. `args` are the task's arguments."""
    [log] = inspect_eval(
        task,
        task_args=options.pop("args", {}),
        model=scripted(answer),
        display="none",
        **{"log_level": "error", **options},
    )
    assert log.status == status, log.error and log.error.message
    return log


def verified(log: EvalLog, folder: Path) -> list[Record]:
    """The records of a log, which were replayed without a difference."""
    found = [*list_records(log.location)]
    file = folder / "matches.jsonl"
    file.write_text("".join(f"{record.line()}\n" for record in found), encoding="utf-8")
    checked = verify_file(file)
    assert checked.problems == []
    assert checked.matches == len(found)
    return found


def without_times(record: Record) -> Record:
    """The record without what differs from one play of a match to the next."""
    for turn in record.turns:
        turn.pop("seconds", None)
    return record
