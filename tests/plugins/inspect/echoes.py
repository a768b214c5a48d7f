"""A plugin of one file: a world that echoes text, can break, and can have a schema that Inspect cannot hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gymposium import GameSpec, Parameter, hookimpl
from gymposium.games.protocol import Style
from gymposium.tasks import Call, Result, Tool, ToolGame, World, make_tool_game

_TEXT = {"type": "string", "maxLength": 40}
TOOLS = {
    "plain": {"type": "object", "properties": {"text": _TEXT}, "required": ["text"]},
    "reference": {
        "type": "object",
        "properties": {"text": {"$ref": "#/$defs/text"}},
        "$defs": {"text": _TEXT},
    },
}


class Echo:
    """A task under way."""

    def __init__(self, breaks: bool) -> None:
        self.breaks, self.said = breaks, 0

    def opening(self, style: Style) -> str:
        return "Say something three times."

    async def call(self, call: Call) -> Result:
        if self.breaks:
            raise OSError("the echo is gone")
        self.said += 1
        return Result(f"{call.arguments['text']}!")

    def over(self) -> bool:
        return self.said == 3

    def score(self) -> float:
        return self.said / 3

    def report(self) -> Mapping[str, float]:
        return {"said": float(self.said)}

    async def close(self) -> None:
        """Nothing is held."""


class Echoes:
    """The tasks, which are all alike."""

    utility_range = (0.0, 1.0)
    max_calls = 6

    def __init__(self, schema: str, breaks: bool) -> None:
        self.tools = (Tool("say", "Say it.", TOOLS[schema]),)
        self.breaks = breaks

    def rules(self, style: Style) -> str:
        return "Echoes.\n"

    def task(self, seed: int) -> Mapping[str, Any]:
        return {}

    async def open(self, task: Mapping[str, Any]) -> World:
        return Echo(self.breaks)


def game(spec: GameSpec, params: Mapping[str, Any]) -> ToolGame:
    return make_tool_game(spec, params, Echoes(**params))


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    yield GameSpec(
        name="echoes",
        title="Echoes",
        summary="Say something.",
        entry_point="echoes:game",
        seats=1,
        parameters=(
            Parameter(name="schema", default="plain", choices=tuple(TOOLS), help="The form of the schema."),
            Parameter(name="breaks", default=False, help="Whether the tool fails."),
        ),
        examples=({},),
        information="imperfect",
        chance=True,
        utility="score",
        free_text=True,
        tools="pure",
        unsearchable="search cannot guess what tools return",
    )
