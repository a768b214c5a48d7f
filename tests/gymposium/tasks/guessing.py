"""A small test world: a number is guessed with one tool, and another tool misbehaves on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gymposium import GameSpec
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks import Result, ToolGame, World, make_tool_game
from gymposium.tasks.tools import Call, Tool

SPEC = GameSpec(
    name="guessing", title="Guessing", summary="Guess a number.", entry_point="tests.nowhere:game", seats=1,
    information="imperfect", chance=True, utility="score", free_text=True, tools="pure",
    unsearchable="search cannot guess what tools return",
)  # fmt: skip


def guess(number: int) -> str:
    """Guess the number."""
    return str(number)


def misbehave(how: str = "not at all") -> str:
    """Misbehave."""
    return how


@dataclass(eq=False)
class Guessing:
    """One number that is to be guessed."""

    tasks: GuessingTasks
    number: int
    guesses: list[int] = field(default_factory=list)
    closed: int = 0

    def opening(self, style: Style) -> str:
        return "Guess a number from 0 to 9." if style == "full" else "0-9"

    async def call(self, call: Call) -> Result:
        if call.name == "misbehave":
            return await self._misbehave(call.arguments["how"])
        self.guesses.append(call.arguments["number"])
        right = self.guesses[-1] == self.number
        text = f"right{self.tasks.suffix}" if right else "higher" if self.guesses[-1] < self.number else "lower"
        return Result(text, value={"guess": len(self.guesses)})

    async def _misbehave(self, how: str) -> Result:
        match how:
            case "raise":
                raise OSError("the server is gone")
            case "hang":
                await asyncio.Event().wait()
            case "long":
                return Result("x" * 10_000_000)
            case "bytes":
                return Result(b"\0\1")  # type: ignore[arg-type]
            case "surrogate":
                return Result("\ud800")
            case "no result":
                return "text"  # type: ignore[return-value]
            case "no json":
                return Result("", value=object())
            case "meet":
                self.tasks.meeting.waiting += 1
                if self.tasks.meeting.waiting == self.tasks.meeting.size:
                    self.tasks.meeting.complete.set()
                await self.tasks.meeting.complete.wait()
        return Result("done")

    def over(self) -> bool:
        return self.number in self.guesses

    def score(self) -> float:
        return float(self.over())

    def report(self) -> Mapping[str, float]:
        return {"exact": self.score(), "guesses": float(len(self.guesses))}

    async def close(self) -> None:
        self.closed += 1


@dataclass(eq=False)
class Meeting:
    """Calls that all wait until `size` of them are there."""

    size: int
    waiting: int = 0
    complete: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False)
class GuessingTasks:
    """Numbers by seed."""

    suffix: str = ""
    reachable: bool = True
    meeting: Meeting = field(default_factory=lambda: Meeting(1))
    opened: list[Guessing] = field(default_factory=list)
    tools = (Tool.from_function(guess), Tool.from_function(misbehave))
    max_calls = 6
    utility_range = (0.0, 1.0)

    def rules(self, style: Style) -> str:
        return "Find the number.\n"

    def task(self, seed: int) -> Mapping[str, Any]:
        return {"number": seed % 10}

    async def open(self, task: Mapping[str, Any]) -> World:
        if not self.reachable:
            raise ConnectionError("no server answers")
        self.opened.append(Guessing(self, task["number"]))
        return self.opened[-1]


def guessing(purity: Literal["pure", "recorded"] = "pure", **given: Any) -> ToolGame:
    """The game."""
    return make_tool_game(replace(SPEC, tools=purity), {}, GuessingTasks(**given))


def a_guess(number: Any) -> str:
    """The move that guesses a number."""
    return Call("guess", {"number": number}).json


def misbehaving(how: str) -> str:
    """The move that lets the tool misbehave."""
    return Call("misbehave", {"how": how}).json


class ScriptedPlayer:
    """A player that gives these replies in order."""

    name = "says"
    style: Style = "full"
    reader: Reader = READERS["move"]

    def __init__(self, *replies: str) -> None:
        self._replies = replies

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._replies[ask.turn]) for ask in asks]
