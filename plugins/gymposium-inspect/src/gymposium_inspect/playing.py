"""The solver, which plays one match per sample."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Final, TypeVar, cast

from anyio import to_thread
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolCall, ToolDef

from gymposium.envs.table import OutsideSeat, Table, advance_tables
from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import load_game
from gymposium.match import MatchJob
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_opponents, make_player
from gymposium.players.protocol import Player, Reply
from gymposium.replies.prompt import Prompt, get_prompt
from gymposium.replies.reading import READERS, get_reader
from gymposium.tasks.tools import list_tools
from gymposium_inspect.messages import declare_tool, extract_reply, make_messages
from gymposium_inspect.naming import name_in_gymposium
from gymposium_inspect.seats import MatchSeat

T = TypeVar("T")

RECORD: Final = "gymposium_record"
"""The key of the match's record in a sample's store."""
CALLS: Final = "calls"
"""The reply form for Inspect's native tool calls."""
_CALLS_READER: Final = "tools-hermes"
"""The reader whose format records use for such replies."""


QUICK: Final = 0.02
"""Maximum number of seconds that a step may block Inspect's event loop."""
_WITHOUT_TOOLS: Final = frozenset(
    ["nnterp", "openai-api-completions", "perplexity", "transformer_lens", "vllm-completions"]
)
"""Inspect providers that do not pass tools to their models."""


def make_prompt(game: Game, reply: str, style: str) -> Prompt:
    """Return the prompts for a model that replies in the form `reply`. Raises `BadOption` for an unknown form or style,
    and if the game does not accept replies in this form."""
    if reply not in (*READERS, CALLS):
        raise BadOption(f"reply={reply!r}: use one of {', '.join((*READERS, CALLS))}.")
    how = get_reader(_CALLS_READER if reply == CALLS else reply)
    if reply == CALLS and not list_tools(game):
        raise BadOption(f"{game.name} has no tools to call. Use the task gymposium/match.")
    return get_prompt(game, cast(Style, style), how)


class Contest:
    """The opponents and rules of an evaluation's matches.

    Once a step takes longer than `QUICK`, later steps run in worker threads. Steps of free-text games, which may wait
    for tools and servers, always run in worker threads. One thread at a time asks the opponents of all waiting matches
    in one call."""

    def __init__(self, opponent: str | Sequence[str], on_illegal: str) -> None:
        """Raise `BadOption` and `UnknownName` for invalid arguments, and any error from creating a player."""
        self._players: Player | Sequence[Player]
        self._players = make_player(opponent) if isinstance(opponent, str) else [*map(make_player, opponent)]
        self._on_illegal = FailurePolicy.parse(on_illegal)
        self._waiting: list[Table] = []
        self._asking = Lock()
        self._slow = False

    def job(self, game: Game, played: MatchSeat, epoch: int, model: OutsideSeat) -> MatchJob:
        """Return a match with the model in its seat. Raises `BadOption` for a wrong number of opponents."""
        players = make_opponents(self._players, game.seats - 1)
        players.insert(played.seat, model)
        return MatchJob(
            id=f"inspect-{played.number}" if epoch == 1 else f"inspect-{played.number}-{epoch}",
            game=game,
            players=players,
            seed=played.seed,
            player_seed=played.player_seed,
            on_illegal=self._on_illegal,
            number=played.number,
        )

    async def step(self, game: Game, make: Callable[[], T]) -> T:
        """Return the result of `make`, which plays a match of `game`. Quick steps run in this thread, because most
        opponents move faster than a thread switch."""
        if self._slow or game.num_actions == 0:
            return await to_thread.run_sync(make)
        began = time.perf_counter()
        made = make()
        self._slow = time.perf_counter() - began > QUICK
        return made

    def begin(self, job: MatchJob) -> Table:
        """Return a match's table, advanced to the model's first turn. Raises like `advance`."""
        table = Table.from_job(job)
        self.advance(table)
        return table

    def advance(self, table: Table, replies: Mapping[int, Reply] | None = None) -> None:
        """Play the model's replies and advance to its next turn or to the end. Raises an opponent's errors; an
        engine failure sets the table's `error`."""
        if replies is not None:
            table.submit(replies)
        if not table.due:
            return
        self._waiting.append(table)
        try:
            with self._asking:
                try:
                    advance_tables(self._waiting)  # no-op if another thread has advanced this table
                except Exception:  # noqa: BLE001 - a player may raise anything, and perhaps in another match
                    advance_tables([table])
        finally:
            self._waiting.remove(table)


@solver
@name_in_gymposium
def play(
    opponent: str | list[str] = "random", reply: str = "move", prompt: str = "full", on_illegal: str = "forfeit"
) -> Solver:
    """Return the solver that plays a sample's match (`samples`) and puts its record into the store.

    The model is asked through `generate`, and `state.messages` keeps the conversation. System messages stay at the
    beginning.

    Args:
        opponent: The player in the other seats, by name, or a list with one per seat.
        reply: The form of the model's replies: `move`, `tags`, `json`, or `calls` for the tool calls of a world.
        prompt: The style of the prompts, `full` or `compact`.
        on_illegal: The policy for failed replies, such as `forfeit` or `retry(2)`.
    """
    contest = Contest(opponent, on_illegal)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        played = MatchSeat.from_metadata(state.metadata)
        game = load_game(played.game)
        how = make_prompt(game, reply, prompt)
        if reply == CALLS:
            state.tools = _declare_tools(game, state)
        state.messages = [message for message in state.messages if message.role == "system"]
        job = contest.job(game, played, state.epoch, OutsideSeat(how.reader, how.style, str(state.model)))
        table = await contest.step(game, partial(contest.begin, job))
        first, calls = True, list[ToolCall]()
        while table.asks:
            state.messages.extend(make_messages(table.asks[played.seat], how, calls, first=first))
            state = await generate(state, tool_calls="none")
            first, calls = False, (state.output.message.tool_calls or []) if reply == CALLS else []
            replies = {played.seat: extract_reply(state.output, how)}
            await contest.step(game, partial(contest.advance, table, replies))
        state.store.set(RECORD, json.loads(table.record().line()))
        if table.error is not None and not table.error.is_world_failure:
            raise table.error
        return state

    return solve


def _declare_tools(game: Game, state: TaskState) -> list[Tool | ToolDef]:
    """Return the game's tools for a sample's model. Raises `BadOption` if it cannot receive them."""
    if state.model.api in _WITHOUT_TOOLS:
        raise BadOption(
            f"{state.model} takes no tools, because Inspect's provider {state.model.api} does not pass them on. Let "
            f"the model write its calls as text:  gymposium/match"
        )
    return [declare_tool(tool) for tool in list_tools(game)]
