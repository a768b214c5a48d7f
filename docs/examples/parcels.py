"""Parcels: find out where a parcel is that was repacked on its way, by calling tools.

gymposium --plugin parcels.py run parcels --players tracker -n 20
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from gymposium import GameSpec, OpponentSpec, Parameter, hookimpl
from gymposium.errors import BadOption
from gymposium.games.protocol import Style
from gymposium.players.protocol import Ask, Reply
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks import Call, Result, Tool, ToolGame, World, make_tool_game
from gymposium.util.streams import stream

CITIES = ("Bonn", "Graz", "Lyon", "Nice", "Oslo", "Porto", "Riga", "Turku")
NUMBERS = range(10, 40)


def track(number: Annotated[int, Field(ge=10, le=39, description="The number of a parcel.")]) -> None:
    """Look up where a parcel is, and its new number if it was repacked there and sent on."""


def answer(city: Annotated[str, Field(description="The name of a city.", max_length=40)]) -> None:
    """Say where the parcel is now. This ends the task."""


class Journey:
    """One task in progress: a parcel and its route."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        self.numbers: list[int] = task["numbers"]
        self.cities: list[str] = task["cities"]
        self.tracked: set[int] = set()
        self.said: str | None = None

    def opening(self, style: Style) -> str:
        if style == "compact":
            return f"parcel {self.numbers[0]}"
        return f"Your parcel was sent with the number {self.numbers[0]}. In which city is it now?"

    async def call(self, call: Call) -> Result:
        if call.name == "track":
            return self.track(call.arguments["number"])
        self.said = call.arguments["city"]
        return Result("Right." if self.score() else f"Wrong: it is in {self.cities[-1]}.")

    def track(self, number: int) -> Result:
        if number not in self.numbers:
            return Result(f"There is no parcel {number}.", error=True)
        self.tracked.add(number)
        stop = self.numbers.index(number)
        if stop == len(self.numbers) - 1:
            return Result(f"Parcel {number} is in {self.cities[stop]}.")
        return Result(f"Parcel {number} was repacked in {self.cities[stop]} as parcel {self.numbers[stop + 1]}.")

    def over(self) -> bool:
        return self.said is not None

    def score(self) -> float:
        return float(self.said == self.cities[-1])

    def report(self) -> Mapping[str, float]:
        return {"tracked": len(self.tracked) / len(self.numbers)}

    async def close(self) -> None:
        """Do nothing, because no resource is open."""


class Journeys:
    """The tasks: a journey for each seed."""

    tools = (Tool.from_function(track), Tool.from_function(answer))
    utility_range = (0.0, 1.0)

    def __init__(self, numbers: int) -> None:
        self.numbers = numbers
        self.max_calls = numbers + 3

    def rules(self, style: Style) -> str:
        if style == "compact":
            return f"parcels, {self.numbers} numbers, {self.max_calls} calls\n"
        return (
            f"Find out where a parcel is. It had {self.numbers} numbers on its way: when it was repacked in a city, it "
            f"got a new one. You have {self.max_calls} calls of tools. You score 1 for the right city, else 0.\n"
        )

    def task(self, seed: int) -> Mapping[str, Any]:
        rng = stream(seed, "journey", self.numbers)
        return {"numbers": rng.sample(NUMBERS, self.numbers), "cities": rng.choices(CITIES, k=self.numbers)}

    async def open(self, task: Mapping[str, Any]) -> World:
        return Journey(task)


def game(spec: GameSpec, params: Mapping[str, Any]) -> ToolGame:
    """Return the game of these tasks."""
    return make_tool_game(spec, params, Journeys(**params))


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    yield GameSpec(
        name="parcels",
        title="Parcels",
        summary="Find out where a parcel is, by tracking its numbers.",
        entry_point="parcels:game",
        seats=1,
        parameters=(Parameter(name="numbers", default=3, low=2, high=9, help="How many numbers the parcel had."),),
        examples=({}, {"numbers": 2}),
        information="imperfect",
        chance=True,
        utility="score",
        free_text=True,
        tools="pure",
        unsearchable="search cannot guess what tools return",
        namespace="examples",
    )


class Tracker:
    """An expert that tracks each number until the parcel is in a city."""

    name = "tracker"
    reader: Reader = READERS["move"]
    style: Style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self.call(ask).json) for ask in asks]

    def call(self, ask: Ask) -> Call:
        text = ask.observe(self.style).text
        if arrived := re.search(r"is in (\w+)", text):
            return Call("answer", {"city": arrived[1]})
        if not (numbers := re.findall(r"parcel (\d+)", text)):
            raise BadOption(f"{self.name} plays parcels alone, not {ask.game.name}.")
        last = numbers[-1]  # the number of its last dispatch
        return Call("track", {"number": int(last)})


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    yield OpponentSpec(
        name="tracker",
        form="tracker",
        pattern="tracker",
        summary="Parcels: track every number, then answer.",
        entry_point="parcels:Tracker",
    )
