"""A client's session: one seat in a series of matches."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

from gymposium.envs.learner import LearnerTable
from gymposium.errors import GymposiumError, is_actionable
from gymposium.http.environments.offer import OPTIONS, EnvOffer
from gymposium.http.environments.tools import LEGAL_MOVES, RESIGN, list_seat_tools
from gymposium.http.environments.wire import WireError, check_length, extract_reply
from gymposium.match import EngineError, MatchResult
from gymposium.players.protocol import Reply
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import Reader
from gymposium.tasks.tools import Call, Tool, list_tools

GREATEST_SEED = 2**63 - 1
_LONGEST_ID = 255
_log = logging.getLogger("gymposium.http")


class EnvSession:
    """One client's matches, played as in `gymposium.envs.gym.TextGameEnv`. Thread-safe: one call runs at a time.

    The same seed, options and replies give the same observations and rewards as in that environment."""

    def __init__(
        self, offer: EnvOffer, game: str, keep: Callable[[MatchResult], object], begin: str = "Send reset"
    ) -> None:
        """`game` is the default game of `reset`. `keep` records a finished match.

        `begin` tells clients how to begin a match, in errors."""
        self._offer, self._keep, self._begin = offer, keep, begin
        self._name = offer.game(game).name
        self._default = self._name
        self._table: LearnerTable | None = None
        self._reader: Reader | None = None
        self._shown: dict[str, Any] = {}
        self._lock = RLock()
        self._episode: str | None = None
        self._steps = 0

    def reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a match, abandoning an unfinished one. Raises `WireError` for invalid options."""
        with self._lock:
            return self._reset(data)

    def _reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
        for key in data:
            if key not in ("seed", "episode_id", *OPTIONS):
                known = ", ".join(("seed", "episode_id", *OPTIONS))
                raise WireError("VALIDATION_ERROR", f"Unknown reset option {key[:80]!r}. Options: {known}.")
        seed = data.get("seed")
        if seed is not None and (type(seed) is not int or not 0 <= seed <= GREATEST_SEED):
            raise WireError("VALIDATION_ERROR", f"seed={str(seed)[:80]} must be an integer from 0 to {GREATEST_SEED}.")
        episode = data.get("episode_id")
        if episode is not None and (not isinstance(episode, str) or len(episode) > _LONGEST_ID):
            raise WireError(
                "VALIDATION_ERROR",
                f"episode_id={str(episode)[:80]!r} must be a string of at most {_LONGEST_ID} characters.",
            )
        given = {key: data[key] for key in OPTIONS if key in data and key != "seat"}
        seed = secrets.randbits(48) if seed is None else seed
        try:
            options = self._offer.choose_options(self._default, given)
            seat = options.choose_seat(seed, {"seat": data["seat"]} if "seat" in data else None)
        except GymposiumError as error:
            raise WireError("VALIDATION_ERROR", str(error)) from None
        self.close()
        number = f"env-{secrets.token_hex(8)}"
        self._table, self._name, self._steps = None, options.game.name, 0
        self._episode = number if episode is None else episode

        with self._contain_failures():
            self._table = table = LearnerTable.open(options, seed, seat, number)
            self._reader = options.outside.reader
            table.advance()
        if table.error is not None:
            self._break_off(table)
        if table.played is not None:  # the match ended before this seat was asked
            return self._make_outcome(table)
        text, info = table.observe()
        if table.error is not None:
            self._break_off(table)
        return self._make_observation(text, info, None, done=False)

    @property
    def is_playing(self) -> bool:
        """Return whether a match is in progress."""
        return self._table is not None and not self._table.needs_reset

    def step(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Play an action, and continue to this seat's next decision or the end.

        An action is a reply, or OpenEnv's call or list of tools. Raises `WireError` if this is not possible."""
        match data.get("type"):
            case "list_tools":
                return self._list_tools_as_observation()
            case "call_tool":
                return self.call_tool(data.get("tool_name"), data.get("arguments", {}))
        text = extract_reply(data)
        with self._lock:
            return self._play(self._get_table(), text)

    def list_tools(self) -> tuple[Tool, ...]:
        """Return the tools that play the current game, or the default game before the first match."""
        with self._lock, self._contain_failures():
            return list_seat_tools(self._offer.game(self._name), self._offer.on_illegal)

    def call_tool(self, name: object, arguments: object) -> dict[str, Any]:
        """Call one of `list_tools`, and return what `step` returns. Raises `WireError` if this is not possible."""
        with self._lock:
            tools = {tool.name: tool for tool in self.list_tools()}
            if not isinstance(name, str) or name not in tools:
                raise WireError("VALIDATION_ERROR", f"Unknown tool {str(name)[:80]!r}. Tools: {', '.join(tools)}.")
            if not isinstance(arguments, dict):
                raise WireError("VALIDATION_ERROR", f"The arguments of {name} must be a JSON object.")
            table = self._get_table()
            assert self._reader is not None
            if list_tools(table.job.game):
                return self._play(table, self._reader.answer(check_length(Call(name, arguments).json)))
            if objection := tools[name].find_objection(arguments):
                raise WireError("VALIDATION_ERROR", f"{name}: {objection}.")
            if name == LEGAL_MOVES.name:
                return {**self._shown, "reward": None}
            if name == RESIGN.name:
                return self._resign(table)
            return self._play(table, self._reader.answer(check_length(arguments["move"])))

    def describe_turn(self, *, rules: bool) -> str:
        """Return the text of the current observation without how to answer in text, and without the rules unless
        `rules`."""
        with self._lock:
            table = self._table
            ask = None if table is None else table.asks.get(table.seat)
            if table is None or ask is None or self._reader is None:
                return str(self._shown["observation"]["text"])
            prompt = get_prompt(table.job.game, "full", self._reader)
            parts = prompt.parts(ask.observe("full"), ask.reason, rules=rules)
            return parts.reason + parts.rules + parts.position

    def _list_tools_as_observation(self) -> dict[str, Any]:
        listed = self.list_tools()
        tools = [{"name": t.name, "description": t.description, "input_schema": t.parameters} for t in listed]
        return {"observation": {"tools": tools, "metadata": {}}, "reward": None, "done": False, "metadata": {}}

    def _get_table(self) -> LearnerTable:
        """Return the match's table. Raises `WireError` without a match in progress."""
        if self._table is None or self._table.needs_reset:
            raise WireError("EXECUTION_ERROR", f"There is no match in progress. {self._begin} first.")
        return self._table

    def _play(self, table: LearnerTable, text: str) -> dict[str, Any]:
        self._steps += 1
        with self._contain_failures():
            table.step(Reply(text))
            table.advance()
        return self._make_outcome(table)

    def _resign(self, table: LearnerTable) -> dict[str, Any]:
        """Give failed replies until the seat has forfeited."""
        self._steps += 1
        with self._contain_failures():
            while table.played is None:
                table.step(Reply("resign"))
                table.advance()
        return self._make_outcome(table)

    def close(self) -> None:
        """Release an unfinished match's resources, such as a server."""
        with self._lock:
            if self._table is not None:
                self._table.close()

    def state(self) -> dict[str, Any]:
        """Return the state in the format of OpenEnv's clients."""
        table = self._table
        return {
            "episode_id": self._episode,
            "step_count": self._steps,
            "game": self._name,
            "seat": None if table is None else table.seat,
            "done": table is not None and table.needs_reset,
        }

    def _make_outcome(self, table: LearnerTable) -> dict[str, Any]:
        text, reward, done, _, info = table.outcome()
        if table.error is not None:
            self._break_off(table)
        if table.played is not None:
            self._keep(table.played)
        info.pop("tools", None)  # they are in the first observation
        return self._make_observation(text, info, reward, done=done)

    @contextmanager
    def _contain_failures(self) -> Iterator[None]:
        """End the match if a player or an engine raises in the block, and raise `WireError`.

        The client does not see the exception, because it may reveal hidden information."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - players and engines may raise anything
            self._table = None
            if is_actionable(error) and not isinstance(error, EngineError):
                raise WireError("EXECUTION_ERROR", str(error)) from None
            _log.exception("A player failed in a match of %s.", self._name)
            why = f"A player of this match failed. {self._begin} to begin another."
            raise WireError("EXECUTION_ERROR", why) from None

    def _break_off(self, table: LearnerTable) -> None:
        """Record a match that broke off, and raise `WireError`, because it has no reward."""
        assert table.played is not None
        assert table.error is not None
        self._table = None
        self._keep(table.played)
        what = "world" if table.error.is_world_failure else "engine"
        raise WireError("EXECUTION_ERROR", f"The match broke off: the {what} of {self._name} failed. {self._begin}.")

    def _make_observation(self, text: str, info: dict[str, Any], reward: float | None, *, done: bool) -> dict[str, Any]:
        moves = info.pop("legal_moves", None)
        assert self._table is not None
        metadata = {"episode_id": self._episode, "match": self._table.job.id, "game": self._name, **info}
        observation = {"text": text, "legal_moves": moves, "metadata": metadata}
        self._shown = {"observation": observation, "reward": reward, "done": done, "metadata": metadata}
        return self._shown
