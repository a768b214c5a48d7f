"""The data of a session's page: facts about the session, token rows, and turns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gymposium.runs.sessions import SessionRow, TurnRow, group_turns_into_rows
from gymposium.runs.sessions_reader import SessionsReader
from gymposium_viewer.pages import format_json
from gymposium_viewer.training.tokens import Token, make_tokens

MAX_TURNS = 300
"""Maximum number of turns on the page. If there are more, the last ones are shown."""
MAX_TOKENS = 20_000
"""Maximum number of tokens shown one by one."""
MAX_SIBLINGS = 64
"""Maximum number of other sessions in the group shown on the page."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


def has_page(name: str) -> bool:
    """Return whether a session has a page. Its id must be a safe path."""
    return _ID.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message in a conversation."""

    role: str
    text: str
    calls: Sequence[tuple[str, str]]
    """The name and JSON arguments of each tool call."""


@dataclass(frozen=True, slots=True)
class ToolView:
    """A tool that the model may call."""

    name: str
    description: str
    parameters: str
    """The JSON schema of the tool's arguments."""


@dataclass(frozen=True, slots=True)
class TurnView:
    """A request and its reply."""

    number: int
    row: int
    """The number of the turn's token row, counted from 1."""
    parent: int | None
    beginning: str
    differs: str
    overridden: str
    """Comma-separated request fields that the run overrode."""
    messages: Sequence[MessageView]
    tools: Sequence[ToolView]
    reply: MessageView
    thoughts: str
    finish: str
    prompt: int
    """Number of tokens of the prompt."""
    sampled: int
    """Number of sampled tokens."""
    tokens: Sequence[Token] | None
    """The sampled tokens; None if the page has too many."""
    reward: float | None


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A row of tokens. Each turn extends the turn before."""

    number: int
    turns: Sequence[int]
    beginning: str
    branches: int | None
    """The turn where this row branches off; None if it starts a new conversation."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """A session in the same group."""

    id: str
    member: int
    state: str
    reward: float | None


@dataclass(frozen=True, slots=True)
class SessionView:
    """The data of a session's page."""

    id: str
    state: str
    why: str
    facts: Mapping[str, str]
    """Further facts about the session, in words."""
    reward: float | None
    parts: Mapping[str, float]
    truncated: bool
    metadata: str
    """The client's metadata as JSON; empty without metadata."""
    group: str
    member: int
    group_size: int
    """Number of sessions in the group."""
    group_state: str
    group_why: str
    siblings: Sequence[Sibling]
    rows: Sequence[TokenRow]
    turns: Sequence[TurnView]
    omitted: int
    """Number of earlier turns that are not shown."""


def view_session(file: SessionsReader, row: SessionRow) -> SessionView:
    """Return the data of a session's page."""
    ending, turns, group = row.ending or {}, file.turns(row.id), file.group(row.group)
    rows = _make_rows(turns)
    facts = {
        "policy": f"{row.policy}, version {int(row.version)}",
        "published": f"after step {int(row.step)}" if row.step else "before the first step",
        "client": str(row.client),
        "began": format_time(row.began),
        "last request": format_time(row.seen),
        "seed": str(row.seed),
    }
    return SessionView(
        id=str(row.id),
        state=str(row.state),
        why=str(row.why),
        facts=facts,
        reward=None if row.ending is None else float(ending["reward"]),
        parts={str(name): float(value) for name, value in ending.get("parts", {}).items()},
        truncated=bool(ending.get("truncated")),
        metadata=format_json(row.metadata, indent=2) if row.metadata else "",
        group=str(row.group),
        member=int(row.member),
        group_size=0 if group is None else int(group.size),
        group_state="" if group is None else str(group.state),
        group_why="" if group is None else str(group.why),
        siblings=[_make_sibling(other) for other in file.sessions(group=row.group)[:MAX_SIBLINGS]],
        rows=rows,
        turns=_make_turns(turns[-MAX_TURNS:], rows, ending.get("turn_rewards")),
        omitted=max(0, len(turns) - MAX_TURNS),
    )


def format_time(seconds: float) -> str:
    """Format a Unix time in seconds as text, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _make_sibling(row: SessionRow) -> Sibling:
    reward = None if row.ending is None else float(row.ending["reward"])
    return Sibling(str(row.id), int(row.member), str(row.state), reward)


def _make_rows(turns: Sequence[TurnRow]) -> list[TokenRow]:
    """Return a session's token rows, in the order of their first turns.

    The first turn that extends another turn continues its row. Later ones branch off."""
    rows = sorted(group_turns_into_rows({turn.number: turn.data["parent"] for turn in turns}))
    by_number = {turn.number: turn for turn in turns}
    first = [by_number[row[0]] for row in rows]
    return [
        TokenRow(number, [int(member) for member in row], str(turn.data["beginning"]), turn.data["parent"])
        for number, (row, turn) in enumerate(zip(rows, first, strict=True), start=1)
    ]


def _make_turns(turns: Sequence[TurnRow], rows: Sequence[TokenRow], rewards: Sequence[Any] | None) -> list[TurnView]:
    row_of = {number: row.number for row in rows for number in row.turns}
    shown, space = [], MAX_TOKENS
    for turn in turns:
        data = turn.data
        fits = len(turn.ids) <= space
        space -= len(turn.ids) if fits else 0
        pieces = [str(piece) for piece in data["pieces"]]
        shown.append(
            TurnView(
                number=int(turn.number),
                row=row_of[turn.number],
                parent=None if data["parent"] is None else int(data["parent"]),
                beginning=str(data["beginning"]),
                differs=str(data["differs"]),
                overridden=", ".join(map(str, data["overridden"])),
                messages=[_make_message(message) for message in data["messages"]],
                tools=[
                    ToolView(str(tool["name"]), str(tool["description"]), format_json(tool["parameters"], indent=2))
                    for tool in data["tools"]
                ],
                reply=_make_message(data["said"]),
                thoughts=str(data["thoughts"]),
                finish=str(data["finish"]),
                prompt=int(data["prompt_tokens"]),
                sampled=len(turn.ids),
                tokens=make_tokens(pieces, turn.ids, turn.logprobs) if fits else None,
                reward=None if rewards is None else float(rewards[turn.number]),
            )
        )
    return shown


def _make_message(data: Mapping[str, Any]) -> MessageView:
    content = data["content"]
    text = content if isinstance(content, str) else "" if content is None else format_json(content, indent=2)
    calls = [(str(call["name"]), format_json(call["arguments"], indent=2)) for call in data.get("tool_calls", ())]
    return MessageView(str(data["role"]), text, calls)
