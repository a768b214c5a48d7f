"""The game and match for tasks: a single seat whose moves are tool calls.

Everything shown is determined by events, which hold the calls and their results.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from types import MappingProxyType
from typing import Any

from gymposium.errors import BadRecord, IllegalMove, NoSampler, NotResumable, WorldFailure, WrongSeat
from gymposium.games.pictures import Picture, draw_code, draw_note, draw_table
from gymposium.games.protocol import CHANCE, Event, Observation, Style, ToolText
from gymposium.plugins.specs import GameSpec
from gymposium.tasks.one_seat import OneSeatMatch, get_first_event
from gymposium.tasks.protocol import Result, Tasks, World
from gymposium.tasks.recorded import STYLES, RecordedTasks, describe_tasks, read_tools
from gymposium.tasks.running import run_limited, start_coroutine
from gymposium.tasks.tools import Call, Tool, parse_calls
from gymposium.util.visible import is_encodable, quantity

LONGEST = 20_000
"""Maximum number of characters shown from a result. The text says if the result was shortened."""
_DRAWN, _CALLS = 1500, 6
"""Maximum number of characters in a picture, for a text and for calls with results."""


class ToolGame:
    """A game whose matches are tasks in a world. Made by `make_tool_game`."""

    seats = 1
    num_actions = 0
    tensor_shape: tuple[int, ...] | None = None
    move_pattern: re.Pattern[str] | None = None

    def __init__(
        self, spec: GameSpec, params: Mapping[str, Any], tasks: Tasks, record: Sequence[Event] | None = None
    ) -> None:
        """`record` holds events that replace the world: new matches take their task and results from them."""
        self.spec = spec
        self.params: Mapping[str, Any] = MappingProxyType(dict(params))
        self.name = spec.full_name(params)
        self.tasks = tasks
        self.record = None if record is None else tuple(record)
        self.utility_range = tasks.utility_range
        self.max_decisions: int = tasks.max_calls

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """Tools of the world, or the recorded tools of an impure world.

        They are looked up on first use, because a world may have to query a server."""
        recorded = () if self.record is None else read_tools(get_first_event(self.record))
        tools = recorded or tuple(self.tasks.tools)
        if len({tool.name for tool in tools}) != len(tools) or not tools:
            raise ValueError(
                f"{self.name}: a world needs at least one tool and unique tool names, not "
                f"{[tool.name for tool in tools]}"
            )
        for tool in () if recorded else tools:
            try:
                tool.schema.check()
            except ValueError as error:
                raise ValueError(f"{self.name}: invalid parameters of tool {tool.name!r}: {error}") from error
        return tools

    @cached_property
    def by_name(self) -> Mapping[str, Tool]:
        """The tools by name."""
        return {tool.name: tool for tool in self.tools}

    def __reduce__(self) -> tuple[Any, ...]:
        from gymposium.games.registry import load_game, load_recorded_game

        return (load_game, (self.name,)) if self.record is None else (load_recorded_game, (self.name, self.record))

    def __deepcopy__(self, memo: dict[int, Any]) -> ToolGame:
        return self  # immutable

    def rules(self, seat: int, style: Style = "full") -> str:
        return self.tasks.rules(style)

    def new(self, seed: int) -> ToolMatch:
        return ToolMatch(self, seed)

    def load(self, events: Sequence[Event], seed: int | None = None) -> ToolMatch:
        return ToolMatch(self, seed, events)

    @property
    def pure(self) -> bool:
        return self.spec.tools == "pure"

    @property
    def at_once(self) -> int | None:
        bound: int | None = getattr(self.tasks, "at_once", None)  # of `BoundedTasks`
        return bound

    def recorded(self, events: Sequence[Event]) -> ToolGame:
        return ToolGame(self.spec, self.params, self.tasks, events)


def make_recorded_tool_game(spec: GameSpec, params: Mapping[str, Any], events: Sequence[Event]) -> ToolGame:
    """Return the game for a record with these events, without opening its world.

    This is the `GameSpec.replay` of worlds with `tools="recorded"`. Raises `BadRecord` if the first event is not a task
    of such a world."""
    return ToolGame(spec, params, RecordedTasks.from_events(events), events)


def make_tool_game(spec: GameSpec, params: Mapping[str, Any], tasks: Tasks) -> ToolGame:
    """Return the game for these tasks.

    `spec` must have `seats=1`, `free_text=True`, `chance=True`, `utility="score"`, and `tools="pure"` or
    `tools="recorded"`. Raises `ValueError` otherwise."""
    expected = {"seats": 1, "free_text": True, "chance": True, "utility": "score"}
    for name, value in expected.items():
        if getattr(spec, name) != value:
            raise ValueError(
                f"game {spec.name}: the spec of a world must have {name}={value!r}, not {getattr(spec, name)!r}"
            )
    if spec.tools not in ("pure", "recorded"):
        raise ValueError(
            f"game {spec.name}: the spec of a world must have tools='pure' or tools='recorded', not {spec.tools!r}"
        )
    return ToolGame(spec, params, tasks)


class ToolMatch(OneSeatMatch):
    """A match that consists of one task.

    Its first event is the task with its opening. Then each move follows, with its results. If the world is impure, the
    first event also holds the tools. A new match opens a world immediately. A loaded match opens one when play
    continues."""

    def __init__(self, game: ToolGame, seed: int | None, events: Sequence[Event] = ()) -> None:
        super().__init__(game)
        self._game, self.seed = game, seed
        self.events: list[Event] = []
        self._used, self._invalid = 0, 0
        self._steps: list[tuple[str, tuple[ToolText, ...], Mapping[str, Any]]] = []
        """Each move, with its results and the task's state afterwards."""
        self._world: World | None = None
        self._closing: weakref.finalize[[World], ToolMatch] | None = None
        if events:
            self._load(events)
        elif game.record is not None:
            self._begin(get_first_event(game.record))
        else:
            assert seed is not None, "a new match has a seed"
            first: dict[str, Any] = {} if game.pure else describe_tasks(game.tools, game.tasks)
            first["task"] = game.tasks.task(seed)
            first["opening"] = start_coroutine(self._describe_opening(first["task"])).result()
            self._begin(Event(CHANCE, _dump_json(first, sort=game.pure)))  # prompts list arguments in schema order

    # -- what the match shows

    def observe(self, seat: int, style: Style = "full") -> Observation:
        if not self._steps:
            return Observation(seat, self._opening[style], None)
        results = self._steps[-1][1]
        return Observation(seat, "".join(f"{_end_line(result.text)}" for result in results), None, results)

    def draw_picture(self, seat: int) -> Picture:
        """Return a picture of the task, the calls so far, and the first lines of the latest results."""
        calls = [[str(number), move] for number, (move, _, _) in enumerate(self._steps, start=1)]
        parts = [draw_note(self._opening["full"].strip()[:_DRAWN])]
        if calls:
            parts.append(
                draw_table([[n, move[:_DRAWN]] for n, move in calls[-_CALLS:]], head=["", "calls"], widths=(1, 9))
            )
            for tool, text in self._steps[-1][1][:_CALLS]:
                lines = text.rstrip("\n")[:_DRAWN].split("\n")
                parts += [draw_note(f"{tool} returned:"), draw_code(lines)]
        return Picture.from_parts(*parts, told=f"The task, and {quantity(len(calls), 'move')} so far")

    def view(self, seat: int) -> str:
        shown = [[move, [result.text for result in results]] for move, results, _ in self._steps]
        return _dump_json([self._opening["full"], shown])

    def returns(self) -> tuple[float, ...]:
        return (float(self._steps[-1][2]["score"]) if self._steps else 0.0,)

    def report(self, seat: int) -> Mapping[str, float]:
        """Return the world's figures, the number of calls, and the number of invalid calls."""
        named = dict(self._steps[-1][2]["report"]) if self._steps else {}
        return {**named, "calls": float(self._used), "invalid_calls": float(self._invalid)}

    # -- moves

    def begin_moves(self, moves: Mapping[int, str]) -> Future[tuple[Event, Event]]:
        if self.is_over or set(moves) != {0}:
            raise WrongSeat(moves, self.to_move())
        try:
            calls = parse_calls(moves[0])
        except ValueError as error:
            raise IllegalMove(0, moves[0], ()) from error
        return start_coroutine(self._play_calls(Event(0, moves[0]), calls))

    def finish_moves(self, done: Future[tuple[Event, Event]]) -> None:
        self._add_step(*done.result())

    def fork(self, rng: random.Random) -> ToolMatch:
        return self._game.load(self.events, self.seed)

    def resample(self, seat: int, rng: random.Random) -> ToolMatch:
        raise NoSampler(f"{self._game.name}: search cannot guess what tools would return. Use a player without search.")

    def close(self) -> None:
        """Close the world without waiting for it."""
        if self._closing is not None:
            self._closing()

    # -- the world

    async def _open_world(self, task: Mapping[str, Any]) -> World:
        world = self._world = await run_limited(self._game.tasks.open(task), "The opening of the task")
        self._closing = weakref.finalize(self, _close, world)
        self._closing.atexit = False
        return world

    async def _describe_opening(self, task: Mapping[str, Any]) -> dict[str, str]:
        world = await self._open_world(task)
        async with self._close_on_failure():
            return {style: world.opening(style) for style in STYLES}

    @asynccontextmanager
    async def _close_on_failure(self) -> AsyncIterator[None]:
        """Close the world if the block raises, because the match is then dropped.

        Its servers end immediately instead of at garbage collection."""
        try:
            yield
        except BaseException:
            with suppress(WorldFailure):  # the first failure is the reason
                await self._close()
            raise

    async def _close(self) -> None:
        if self._world is not None and self._closing is not None and self._closing.detach():
            await run_limited(self._world.close(), "The end of the task")

    async def _play_calls(self, move: Event, calls: Sequence[Call]) -> tuple[Event, Event]:
        """Return the move and its results, from the world or the record."""
        if (record := self._game.record) is not None:
            if len(self.events) + 1 >= len(record):
                raise WorldFailure(
                    f"The record ends after event {len(self.events) - 1}, before the results of this move."
                )
            return move, record[len(self.events) + 1]
        async with self._close_on_failure():
            world = self._world or await self._resume_world()
            # in a thread, because a third-party schema may be slow
            objections = [await asyncio.to_thread(self._find_objection, call) for call in calls]
            results: list[Result] = []
            for call, objection in zip(calls, objections, strict=True):
                results.append(await self._call_tool(world, call, objection, self._used + len(results)))
            over = world.over() or self._used + len(calls) >= self._game.tasks.max_calls
            invalid = sum(objection is not None for objection in objections)
            state = {"over": over, "score": world.score(), "report": world.report(), "invalid_calls": invalid}
            outcome = _format_outcome(self._game, calls, results, state)
        if over:
            await self._close()
        return move, Event(CHANCE, outcome)

    async def _call_tool(self, world: World, call: Call, objection: str | None, used: int) -> Result:
        """Return the result of a call, after `used` earlier calls. `objection` says why it is invalid."""
        if used >= self._game.tasks.max_calls:
            return Result("No calls are left.", error=True)
        if world.over():
            return Result("The task is over.", error=True)
        if objection is not None:
            return Result(objection, error=True)
        whole = Call(call.name, self._game.by_name[call.name].fill_defaults(call.arguments))
        return _limit_result(await run_limited(world.call(whole), f"The tool {call.name}"))

    def _find_objection(self, call: Call) -> str | None:
        """Return why the call is invalid, as a sentence, or None if it is valid."""
        tool = self._game.by_name.get(call.name)
        if tool is None:
            return f"There is no tool {call.name!r}. Tools: {', '.join(self._game.by_name)}."
        reason = tool.find_objection(call.arguments)
        return None if reason is None else f"Wrong arguments for {call.name}: {reason}."

    async def _resume_world(self) -> World:
        """Open a world and repeat every recorded call, to reach a loaded match's position."""
        if not self._game.pure:
            raise NotResumable(
                f"{self._game.name}: cannot continue a recorded match, because its tools may now return different "
                f"results. Start a new match."
            )
        world = await self._open_world(json.loads(self.events[0].move)["task"])
        used = 0
        for move, shown, _ in self._steps:
            for call, was in zip(parse_calls(move), shown, strict=True):
                result = await self._call_tool(world, call, self._find_objection(call), used)
                used += 1
                if result.text != was.text:
                    raise BadRecord(
                        f"{call.name} returned {was.text[:80]!r} in the record, but now {result.text[:80]!r}. The tool "
                        "has changed."
                    )
        return world

    # -- events

    @property
    def is_over(self) -> bool:
        return bool(self._steps) and bool(self._steps[-1][2]["over"])

    def _begin(self, event: Event) -> None:
        try:
            opening = json.loads(event.move)["opening"]
            self._opening = {style: _end_line(opening[style]) for style in STYLES}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadRecord(f"Event 0 must be a task with its opening, not {event.move[:80]!r}.") from error
        self.events.append(event)

    def _add_step(self, move: Event, outcome: Event) -> None:
        """Add a move and its outcome."""
        state = json.loads(outcome.move)
        results = tuple(ToolText(one["tool"], one["text"]) for one in state.pop("results"))
        if len(results) != (calls := len(parse_calls(move.move))):
            raise ValueError(f"got {quantity(len(results), 'result')} for {quantity(calls, 'call')}")
        self._used += len(results)
        self._invalid += int(state.pop("invalid_calls"))
        self._steps.append((move.move, results, state))
        self.events += move, outcome

    def _load(self, events: Sequence[Event]) -> None:
        if events[0].seat != CHANCE or len(events) % 2 == 0:
            raise BadRecord(
                f"The events must be a task, then moves with their results, not {quantity(len(events), 'event')}."
            )
        self._begin(Event(*events[0]))
        for number in range(1, len(events), 2):
            move, outcome = Event(*events[number]), Event(*events[number + 1])
            if move.seat != 0 or outcome.seat != CHANCE or self.is_over:
                raise BadRecord(
                    f"Event {number} ({move.move[:80]!r}) belongs to seat {move.seat}, which is not to move."
                )
            try:
                self._add_step(move, outcome)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise BadRecord(
                    f"Event {number} must be a call with its results ({type(error).__name__}: {error})."
                ) from error


def _close(world: World) -> None:
    """Close the world without waiting for it."""
    start_coroutine(world.close())


def _format_outcome(game: ToolGame, calls: Sequence[Call], results: Sequence[Result], state: Mapping[str, Any]) -> str:
    """Return the event that records the results of calls.

    Raises `WorldFailure` for a score outside the game's range, and for values that are not JSON."""
    least, most = game.tasks.utility_range
    if not least - 1e-9 <= state["score"] <= most + 1e-9:
        raise WorldFailure(
            f"The score {state['score']!r} is outside the range {least:g} to {most:g}. Correct the world's "
            "utility_range."
        )
    shown = [
        {"tool": call.name, "text": result.text, "error": result.error, "value": result.value}
        for call, result in zip(calls, results, strict=True)
    ]
    try:
        return _dump_json({**state, "report": dict(state["report"]), "results": shown})
    except (TypeError, ValueError) as error:
        raise WorldFailure(f"A report or a result's value is not valid JSON: {error}") from error


def _limit_result(result: Result) -> Result:
    """Return the result, with its text shortened so it can be shown and recorded."""
    if not isinstance(result, Result):
        raise WorldFailure(f"A tool returned {type(result).__name__}; it must return a Result.")
    text: Any = result.text
    if not isinstance(text, str) or not is_encodable(text):
        return Result("The tool returned something that is not text.", error=True)
    if len(text) <= LONGEST:
        return result
    cut = f"{text[:LONGEST]}\n[cut off: the whole result has {len(text):,} characters]"
    return Result(cut, result.error, result.value)


def _end_line(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


def _dump_json(value: Any, *, sort: bool = True) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=sort)
