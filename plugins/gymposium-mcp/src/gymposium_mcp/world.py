"""The game: questions to answer with a server's tools."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from gymposium import GameSpec
from gymposium.errors import BadParameter, GymposiumError
from gymposium.games.protocol import Style
from gymposium.tasks import Result, ToolGame, World, make_tool_game
from gymposium.tasks.questions import Question, QuestionFile
from gymposium.tasks.running import start_coroutine
from gymposium.tasks.tools import Call, Tool
from gymposium_mcp.catalog import ANSWER, ToolOffer, compute_digest, describe_changes
from gymposium_mcp.connection import Connection
from gymposium_mcp.server import Server, get_server
from gymposium_mcp.settings import read_world

EXAMPLE = Path(__file__).parent / "example" / "world.toml"
"""The default file of the game: notes about a harbor, to read and convert."""

_RULES = (
    "You are asked a question that has one right answer. Find it with the tools, and give it with the tool answer, "
    "which ends the task. You have {calls} calls, the answer included. You score 1 if it is right, else 0.\n"
)
_RULES_COMPACT = "question; call answer to end; calls {calls}\n"


def game(spec: GameSpec, params: Mapping[str, Any]) -> ToolGame:
    """Return the game of a file. Its server starts when tools are first needed. Replays need no server."""
    return make_tool_game(spec, params, McpTasks(params["file"] or EXAMPLE, params["split"]))


class McpTasks:
    """The questions in one split of a file."""

    utility_range = (0.0, 1.0)

    def __init__(self, file: str | Path, split: str) -> None:
        self.settings = read_world(file)
        questions = self.settings.questions.test if split == "test" else self.settings.questions.train
        if not questions:
            raise BadParameter(f"split={split}: {file} has no such questions. Add {split} to its table [questions].")
        self.max_calls = self.settings.tools.max_calls
        self.server = get_server(self.settings)
        self.at_once = self.settings.server.max_servers
        self._questions = QuestionFile(self.settings.folder / questions)

    @cached_property
    def server_tools(self) -> tuple[Tool, ...]:
        """The server's tools as of this process's first use; starts the server if needed."""
        return start_coroutine(self._fetch_tools()).result()

    async def _fetch_tools(self) -> tuple[Tool, ...]:
        connection, offer = await self.server.acquire()
        await self.server.release(connection)
        return offer.tools

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (*self.server_tools, ANSWER)

    def rules(self, style: Style) -> str:
        return (_RULES if style == "full" else _RULES_COMPACT).format(calls=self.max_calls)

    def task(self, seed: int) -> Mapping[str, Any]:
        return {"question": self._questions.draw(seed).dump(), "tools_digest": compute_digest(self.server_tools)}

    async def open(self, task: Mapping[str, Any]) -> World:
        """Begin a task. Raises `GymposiumError` if the server's tools no longer match the task's."""
        connection, offer = await self.server.acquire()
        if compute_digest(offer.tools) != task["tools_digest"]:
            await self.server.release(connection)
            changes = describe_changes(self.server_tools, offer.tools)
            raise GymposiumError(
                f"{self.settings.path}: the server's tools have changed ({changes}), so results are not comparable. "
                f"Restore the server's old tools, or start a new run with the changed ones."
            )
        return McpWorld(self.server, connection, offer, Question.load(task["question"]))


class McpWorld:
    """One question in progress, in one session. The match ends with the session."""

    def __init__(self, server: Server, connection: Connection, offer: ToolOffer, question: Question) -> None:
        self._server = server
        self._connection, self._offer, self._question = connection, offer, question
        self._answer: str | None = None

    def opening(self, style: Style) -> str:
        return self._question.text

    async def call(self, call: Call) -> Result:
        if call.name != ANSWER.name:
            return await self._connection.call(Call(self._offer.server_name(call.name), call.arguments))
        self._answer = call.arguments["text"]
        return Result("That is right." if self.score() else f"That is wrong. Right is: {self._question.answer}")

    def over(self) -> bool:
        return self._answer is not None

    def score(self) -> float:
        return float(self._answer is not None and self._question.is_right(self._answer))

    def report(self) -> Mapping[str, float]:
        return {"exact": self.score(), "answered": float(self.over())}

    async def close(self) -> None:
        """Release the session."""
        await self._server.release(self._connection)
