"""Ended sessions as trajectories, read only from the sessions file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.errors import GymposiumError, describe_error
from gymposium.rewards.protocol import Reward
from gymposium.runs.sessions import SessionRow, SessionsFile, TurnRow
from gymposium.tasks.tools import Tool
from gymposium_agents.chat.messages import list_pictures
from gymposium_agents.chat.tokens import Completion, Policy, Tokens, TurnTokens
from gymposium_agents.modeling.pictures import keep_picture
from gymposium_agents.serving.replies import ParsedReply
from gymposium_agents.serving.turns import ServedTurn, convert_from_data, convert_to_data, sort_by_rows
from gymposium_train.rollout import Group
from gymposium_train.serving.bodies import EndRequest
from gymposium_train.serving.errors import ServiceError

MOST_TOKENS = 50_000_000
"""The largest number of tokens in all prompts of a session. Each prompt repeats the earlier ones, so a small file could
fill memory."""
ROLE = "session"
"""The role of all sessions. A credit with a mean per role keeps one mean for all of them."""


class BadGroup(GymposiumError):
    """Error for a group with sessions that a run cannot learn from."""


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """A turn to learn from, with its reply as text."""

    trace: TurnTokens
    text: str
    overridden: bool
    """Whether the run overrode a field of the request."""
    reading: str = "move"


@dataclass(frozen=True, slots=True)
class SessionTrajectory:
    """An ended session (a `gymposium_train.rollout.samples.TokenTrajectory`)."""

    session: SessionRow
    turns: Sequence[SessionTurn]
    """The turns in the order of their rows."""
    reward: Reward
    """The reward given by the client."""

    @property
    def truncated(self) -> bool:
        assert self.session.ending is not None, "the session has ended"
        return bool(self.session.ending["truncated"])

    @property
    def unanswered(self) -> Tokens | None:
        """The last request's prompt if the session was truncated. It replaces the missing next prompt, so that a
        critic can value what the session could still have earned."""
        return self.turns[-1].trace.prompt if self.truncated else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionGroup(Group):
    """The ended sessions of a group."""

    role: str = ROLE
    trajectories: Sequence[SessionTrajectory]
    key: str

    def facts(self) -> dict[str, Any]:
        return {"game": f"group {self.key}", "seat": 0, "opponent": "alone", "version": None, "stage": 1}

    def trajectory_facts(self, number: int) -> dict[str, Any]:
        trajectory = self.trajectories[number]
        return {
            "match": trajectory.session.id,
            "result": "score",
            "end": "context" if trajectory.truncated else None,
            "return": trajectory.reward.total,
            "readings": [turn.reading for turn in trajectory.turns],
        }


def make_posted_reward() -> Callable[[Sequence[SessionTrajectory]], list[Reward]]:
    """Make the reward `posted`: the reward that clients give at the end of their sessions."""
    return lambda group: [trajectory.reward for trajectory in group]


def read_group(file: SessionsFile, key: str) -> SessionGroup:
    """Return the ended sessions of a group, by member. Raises `BadGroup` if a run cannot learn from the file's
    contents, such as a reward accepted by an earlier release."""
    ended = file.sessions(key, state="ended")
    try:
        for row in ended:
            EndRequest.read(row.ending)
        found = [_read_trajectory(file, row) for row in ended]
        return SessionGroup(key=key, trajectories=[one for one in found if one is not None])
    except (ServiceError, LookupError, TypeError, ValueError) as error:
        raise BadGroup(f"cannot learn from its sessions: {describe_error(error)}") from error


def _read_trajectory(file: SessionsFile, row: SessionRow) -> SessionTrajectory | None:
    """Return the trajectory of an ended session, or None if it has no turns."""
    turns = list_turns(row, file.turns(row.id))
    if not turns or row.ending is None:
        return None
    ordered = sort_by_rows(turns)
    by_turn = row.ending["turn_rewards"]
    reward = Reward(
        row.ending["reward"],
        row.ending["parts"],
        None if by_turn is None else tuple(by_turn[turn.number] for turn in ordered),
    )
    learned = [SessionTurn(turn.tokens, _join_text(turn), bool(turn.overridden)) for turn in ordered]
    return SessionTrajectory(row, learned, reward)


def _join_text(turn: ServedTurn) -> str:
    message = turn.said.message
    calls = "".join(call.json for call in message.get("tool_calls", ()))
    return f"{turn.said.thoughts}{message['content']}{calls}"


def list_turns(row: SessionRow, kept: Sequence[TurnRow]) -> list[ServedTurn]:
    """Return the turns of a session, as stored. Keeps their pictures for the learner's model.

    Raises `ValueError` if a turn's parent does not come before it, or if the prompts have more than `MOST_TOKENS`."""
    policy = Policy(row.policy, row.version)
    turns: list[ServedTurn] = []
    tokens = 0
    for one in kept:
        data: Mapping[str, Any] = one.data
        prompt, parent = one.prompt, data["parent"]
        if parent is not None:
            if not 0 <= parent < len(turns):
                raise ValueError(f"turn {one.number} has the parent {parent}, which is not an earlier turn")
            before = turns[parent].tokens
            prompt = (*before.prompt, *before.completion.ids, *prompt)
        tokens += len(prompt)
        if tokens > MOST_TOKENS:
            raise ValueError(f"the prompts have {tokens:,} tokens, more than {MOST_TOKENS:,}")
        messages = convert_from_data(data["messages"])
        for picture in list_pictures(messages):
            keep_picture(picture)
        turns.append(
            ServedTurn(
                number=one.number,
                key=data["key"],
                beginning=data["beginning"],
                parent=parent,
                differs=data["differs"],
                messages=messages,
                tools=tuple(Tool(tool["name"], tool["description"], tool["parameters"]) for tool in data["tools"]),
                overridden=tuple(data["overridden"]),
                said=ParsedReply(convert_from_data([data["said"]])[0], data["thoughts"]),
                tokens=TurnTokens(prompt, Completion(one.ids, one.logprobs, data["finish"], policy)),
                answer=data["answer"],
            )
        )
    return turns


def make_turn_row(turn: ServedTurn, turns: Sequence[ServedTurn], pieces: Sequence[str]) -> TurnRow:
    """Convert a turn for storage. `turns` are the turns before it, and `pieces` the text of each sampled token."""
    read = 0
    if turn.parent is not None:
        before = turns[turn.parent].tokens
        read = len(before.prompt) + len(before.completion.ids)
    completion = turn.tokens.completion
    data = {
        "key": turn.key,
        "beginning": turn.beginning,
        "parent": turn.parent,
        "differs": turn.differs,
        "messages": convert_to_data(turn.messages),
        "tools": [tool.as_function["function"] for tool in turn.tools],
        "overridden": [*turn.overridden],
        "said": convert_to_data([turn.said.message])[0],
        "thoughts": turn.said.thoughts,
        "finish": completion.finish_reason,
        "pieces": list(pieces),
        "prompt_tokens": len(turn.tokens.prompt),
        "answer": dict(turn.answer),
    }
    return TurnRow(turn.number, data, turn.tokens.prompt[read:], completion.ids, completion.logprobs)
