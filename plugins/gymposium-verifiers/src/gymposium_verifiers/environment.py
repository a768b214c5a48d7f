"""The environment: agents play some seats of a match, and gymposium's players play the rest."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import verifiers.v1 as vf
from pydantic import ValidationError

from gymposium.envs.table import Table
from gymposium.errors import BadOption
from gymposium.http.environments.offer import SharedPlayer
from gymposium.match import EngineError, MatchResult
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.tasks.tools import list_tools
from gymposium_verifiers.config import ID, MatchEnvConfig, MatchesConfig
from gymposium_verifiers.conversation import SeatConversation
from gymposium_verifiers.matches import Matches, MatchRow
from gymposium_verifiers.scores import record_match, record_score
from gymposium_verifiers.taskset import MatchTask, MatchTaskset


class MatchEnv(vf.Env[MatchEnvConfig]):
    """One episode is one match. The agent `playerN` plays each seat in the task in a separate rollout with its own
    trace. gymposium's players play the other seats and leave no traces or tokens.

    An agent that names its own model or endpoint is not trainable."""

    def __init__(self, config: MatchEnvConfig) -> None:
        """Raise `BadOption` for a taskset without matches, and the errors of `make_player`."""
        super().__init__(config)
        if not isinstance(self.taskset, MatchTaskset):
            raise BadOption(f"The taskset {config.taskset.id!r} has no matches to play. Use {ID}.")
        self.matches: Matches = self.taskset.matches
        names = self.matches.opponents if self.matches.has_opponents else ()
        self._opponents: dict[str, Player] = {name: SharedPlayer(make_player(name)) for name in names}

    async def setup(self, agents: vf.Agents) -> None:
        """Mark agents that do not use the run's own model as not trainable."""
        for role, spec in self._agent_specs.items():
            if spec.model is not None or spec.client is not None:
                getattr(agents, role).trainable = False

    async def run(self, task: MatchTask, agents: vf.Agents) -> None:
        """Play a task's match, and score the agents. Raises `SeatStopped` or `EngineError` if the match breaks off."""
        matches, data = self.matches, task.data
        if data.game != matches.game.name:
            raise BadOption(
                f"This task belongs to {data.game}, but the environment plays {matches.game.name}. Load the tasks with "
                "the environment's settings."
            )
        players = {seat: getattr(agents, f"player{seat}") for seat in data.seats}
        names = {seat: agent.config.model for seat, agent in players.items()}
        table = await asyncio.to_thread(matches.table, MatchRow(data.seed, data.seats), names, self._opponents)
        if matches.calls_tools:
            task = task.with_data(tools=[tool.as_function for tool in list_tools(matches.game)])
        async with AsyncExitStack() as stack:
            open_ = {seat: await stack.enter_async_context(agent.interaction(task)) for seat, agent in players.items()}
            traces = {seat: interaction.trace for seat, interaction in open_.items()}
            seats = {seat: SeatConversation(seat, interaction, matches.prompt) for seat, interaction in open_.items()}
            try:
                played = await _play(table, seats)
            except EngineError as error:
                _note_match(traces, error.played)
                raise
        _note_match(traces, played)
        for seat, trace in traces.items():
            await asyncio.to_thread(record_score, trace, played, seat, matches.reward)


def load_environment(game: str, **settings: Any) -> MatchEnv:
    """Return the environment of a game: `load_environment("goofspiel", opponents="mcts-100", seats="all")`. `settings`
    are the fields of `MatchesConfig`. Raises `BadOption` for invalid settings."""
    try:
        return MatchEnv(MatchEnvConfig(taskset=MatchesConfig(id=ID, game=game, **settings)))
    except ValidationError as error:
        raise BadOption("; ".join(_format_error(one) for one in error.errors())) from error


def _format_error(error: Any) -> str:
    """Return one of pydantic's errors as a clause. gymposium's errors stay unchanged."""
    where = ".".join(map(str, error["loc"]))
    said = str(error["msg"]).removeprefix("Value error, ")
    return f"{where}: {said}" if where else said


async def _play(table: Table, seats: dict[int, SeatConversation]) -> MatchResult:
    """Play a match to its end. Opponents run in a thread."""
    await asyncio.to_thread(table.advance)
    if table.error is not None:
        raise table.error
    while asked := table.asked:
        replies = await asyncio.gather(*(seats[one.seat].reply(one) for one in asked), return_exceptions=True)
        for one, reply in zip(asked, replies, strict=True):
            if isinstance(reply, BaseException):
                raise reply
            await asyncio.to_thread(table.answer, one.seat, reply)
    assert table.played is not None, "no one is asked, so the match is over"
    return table.played


def _note_match(traces: dict[int, vf.Trace], played: MatchResult) -> None:
    """Add the match to all traces, and its record to the first."""
    first = min(traces)
    for seat, trace in traces.items():
        record_match(trace, played, seat, record=seat == first)
