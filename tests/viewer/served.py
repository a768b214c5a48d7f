"""A sessions file, as `gymposium serve` writes one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gymposium.runs.sessions import SessionRow, SessionsFile, TurnRow

BEGAN = 1_795_700_000.0
"""Time of the first session."""
TOOLS = [
    {
        "name": "search",
        "description": "Search the mail.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
    }
]


class ServedRun:
    """The sessions of a run."""

    def __init__(self, directory: Path) -> None:
        self.file = SessionsFile(directory / "sessions.sqlite")
        self._begun = 0

    def begin(
        self,
        name: str,
        group: str = "task-1",
        member: int = 0,
        *,
        size: int = 2,
        client: str = "agent/1.0",
        **metadata: Any,
    ) -> str:
        """Add a session, and its group if it is new. Returns its id."""
        if self.file.group(group) is None:
            self.file.add_group(group, size, "train")
        now = BEGAN + self._begun
        self._begun += 1
        self.file.add_session(
            SessionRow(
                id=name,
                secret=f"secret-{name}",
                group=group,
                member=member,
                seed=7,
                metadata=metadata,
                client=client,
                policy="learner",
                version=16,
                step=1,
                began=now,
                seen=now,
                state="open",
                why="",
                ending=None,
            )
        )
        return name

    def turn(
        self,
        session: str,
        text: str,
        messages: Sequence[dict[str, Any]] = ({"role": "user", "content": "Your move."},),
        *,
        beginning: str = "fresh",
        parent: int | None = None,
        differs: str = "",
        thoughts: str = "",
        calls: Sequence[dict[str, Any]] = (),
        tools: Sequence[dict[str, Any]] = (),
        finish: str = "stop",
    ) -> int:
        """Add a turn with this reply, of which each word is a token. Returns its number."""
        number = len(self.file.turns(session))
        said: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            said["tool_calls"] = list(calls)
        words = f"{thoughts} {text or 'call'}".split(" ")
        pieces = [word if n == 0 else f" {word}" for n, word in enumerate(words)] + ["<|end|>"]
        data = {
            "key": f"key-{number}",
            "beginning": beginning,
            "parent": parent,
            "differs": differs,
            "overridden": [differs] if differs else [],
            "messages": list(messages),
            "tools": list(tools),
            "said": said,
            "thoughts": thoughts,
            "finish": finish,
            "pieces": pieces,
            "prompt_tokens": 31,
            "answer": {},
        }
        logprobs = [-0.001 if n % 2 else -2.5 for n in range(len(pieces))]
        ids = tuple(range(100, 100 + len(pieces)))
        self.file.add_turn(session, TurnRow(number, data, (1, 2, 3), ids, tuple(logprobs)), BEGAN + 100 + number)
        return number

    def end(self, session: str, reward: float, **parts: float) -> None:
        """End a session with its reward."""
        ending = {"reward": reward, "parts": parts, "truncated": False, "turn_rewards": None}
        self.file.set_session(session, "ended", ending=ending)

    def learn(self, group: str, reward: float) -> None:
        """A job that has learned from a group."""
        job = self.file.add_job()
        self.file.set_job(job, "done", step=job - 1, metrics={"rollout/reward": reward, "rollout/matches": 2})
        self.file.set_group(group, "learned", job=job)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool."""
    return {"name": name, "arguments": arguments}


def mail(served: ServedRun) -> str:
    """A session with tools, a sub-agent, a branch, a history that was written anew and one that was changed."""
    name = served.begin("s-mail", size=3, task="mail", user={"name": "Ada"})
    system = {"role": "system", "content": "You answer questions about the mail."}
    ask = {"role": "user", "content": "When does the train leave?"}
    search = call("search", query="train")
    served.turn(name, "", [system, ask], thoughts="<think>I search first.</think>", calls=[search], tools=TOOLS)
    found = {"role": "tool", "content": "3 messages found:\n1  Train  18:40"}
    served.turn(name, "It leaves at 18:40.", [found], beginning="grown", parent=0, tools=TOOLS)
    served.turn(name, "The summary of a sub-agent.", [{"role": "user", "content": "Summarise: Train 18:40."}])
    served.turn(name, "It leaves late.", [{"role": "tool", "content": "Nothing."}], beginning="grown", parent=0)
    past = [system, ask, {"role": "assistant", "content": "", "tool_calls": [search]}, found]
    more = [*past, {"role": "assistant", "content": "It leaves at 18:40."}, {"role": "user", "content": "Sure?"}]
    served.turn(name, "Yes.", more, beginning="rewritten", finish="length")
    served.turn(name, "No.", more, beginning="diverged", differs="messages[4].content")
    served.end(name, 0.75, answer=1.0, length=-0.25)
    return name
