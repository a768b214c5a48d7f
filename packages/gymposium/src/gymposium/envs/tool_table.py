"""A match in which one seat plays by calling tools: `ToolTable`."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.envs.table import OutsideSeat, Table
from gymposium.games.protocol import Game, Style
from gymposium.match import MatchJob, MatchResult
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Player, Reply
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import Reader, get_reader
from gymposium.tasks.tools import Call, Tool, format_calls, list_tools
from gymposium.tasks.tools.dialects import DIALECTS
from gymposium.tasks.tools.reader import ToolsReader

MOVE = Tool(
    "move",
    "Play your move. Returns the position at your next turn, or the result.",
    {
        "properties": {
            "move": {"type": "string", "description": "One legal move, or your answer if the game takes free text."}
        },
        "required": ["move"],
        "additionalProperties": False,
    },
)
"""The tool that plays a seat of a game without its own tools."""


class ToolTable:
    """A match in which outside code plays one seat by calling tools: those of the game, or `MOVE`.

    A call is a reply, so a call that is not a legal move fails as the policy for failed replies says."""

    def __init__(
        self,
        game: Game,
        seat: int,
        opponents: Sequence[Player],
        *,
        match_id: str,
        name: str,
        seed: int,
        player_seed: int | None = None,
        prompt: Style = "full",
        on_illegal: FailurePolicy,
    ) -> None:
        """`opponents` are the players of the other seats in order, and `name` is the seat's name in the record.

        Raises `EngineError` if the game's engine fails. Exceptions from opponents are passed on."""
        own = list_tools(game)
        reader: Reader = ToolsReader(DIALECTS["hermes"], own) if own else get_reader("move")
        self.tools = own or (MOVE,)
        """The tools to call."""
        self.seat = seat
        self._prompt = get_prompt(game, prompt, reader)
        others = iter(opponents)
        outside = OutsideSeat(reader, prompt, name)
        self._table = Table.from_job(
            MatchJob(
                id=match_id,
                game=game,
                players=[outside if one == seat else next(others) for one in range(game.seats)],
                seed=seed,
                player_seed=player_seed,
                on_illegal=on_illegal,
                store_returns=True,
            )
        )
        self._table.advance()
        if self._table.error is not None:
            raise self._table.error

    @property
    def over(self) -> bool:
        """Whether the match has finished."""
        return self._table.over

    def show(self) -> str:
        """Return the rules and the position, without instructions for the form of a reply."""
        return self._render(rules=True)

    def call(self, call: Call) -> str:
        """Play a call, and return its results, or the position at the seat's next turn. Raises `EngineError` if the
        game's engine fails."""
        if self.over:
            return "The match is over."
        how = self._prompt.reader
        if isinstance(how, ToolsReader):
            self._table.answer(self.seat, how.answer(format_calls([call])))
        else:
            self._table.answer(self.seat, str(call.arguments.get("move", "")))
        return self._render(rules=False)

    def finish(self) -> MatchResult:
        """Return the result. An unfinished match gets an empty reply, and is forfeited if it continues."""
        for last in (Reply(""), Reply("", "context")):
            if not self.over:
                self._table.answer(self.seat, last)
        assert self._table.played is not None, "a full context ends every match"
        return self._table.played

    def close(self) -> None:
        """Release an unfinished match's resources, such as a server."""
        self._table.close()

    def _render(self, *, rules: bool) -> str:
        table, prompt = self._table, self._prompt
        if table.played is not None:
            results = table.match.observe(self.seat, prompt.style).results
            return (
                "\n".join(result.text for result in results) or f"The match is over: {table.played.result(self.seat)}."
            )
        ask = table.asks[self.seat]
        observation = ask.observe(prompt.style)
        if observation.results and ask.reason is None and not rules:
            return "\n".join(result.text for result in observation.results)
        parts = prompt.parts(observation, ask.reason, rules=rules)
        return f"{parts.reason}{parts.rules}{parts.position}".rstrip("\n")
