"""A client's session: one seat in a series of matches."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gymposium.envs.learner import LearnerTable
from gymposium.errors import GymposiumError, is_actionable
from gymposium.http.environments.offer import OPTIONS, EnvOffer
from gymposium.http.environments.wire import WireError, extract_reply
from gymposium.match import EngineError, MatchResult
from gymposium.players.protocol import Reply

GREATEST_SEED = 2**63 - 1
_LONGEST_ID = 255
_log = logging.getLogger("gymposium.http")


class EnvSession:
    """One client's matches, played as in `gymposium.envs.gym.TextGameEnv`. Not thread-safe.

    The same seed, options and replies give the same observations and rewards as in that environment."""

    def __init__(self, offer: EnvOffer, game: str, keep: Callable[[MatchResult], object]) -> None:
        """`game` is the default game of `reset`. `keep` records a finished match."""
        self._offer, self._keep = offer, keep
        self._name = offer.game(game).name
        self._default = self._name
        self._table: LearnerTable | None = None
        self._episode: str | None = None
        self._steps = 0

    def reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a match, abandoning an unfinished one. Raises `WireError` for invalid options."""
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
            table.advance()
        if table.error is not None:
            self._break_off(table)
        if table.played is not None:  # the match ended before this seat was asked
            return self._make_outcome(table)
        text, info = table.observe()
        if table.error is not None:
            self._break_off(table)
        return self._make_observation(text, info, None, done=False)

    def step(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Play one reply, and continue to this seat's next decision or the end.

        Raises `WireError` if this is not possible."""
        text = extract_reply(data)
        table = self._table
        if table is None or table.needs_reset:
            raise WireError("EXECUTION_ERROR", "There is no match in progress. Send reset first.")
        self._steps += 1
        with self._contain_failures():
            table.step(Reply(text))
            table.advance()
        return self._make_outcome(table)

    def close(self) -> None:
        """Release an unfinished match's resources, such as a server."""
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
            raise WireError("EXECUTION_ERROR", "A player of this match failed. Send reset to begin another.") from None

    def _break_off(self, table: LearnerTable) -> None:
        """Record a match that broke off, and raise `WireError`, because it has no reward."""
        assert table.played is not None
        assert table.error is not None
        self._table = None
        self._keep(table.played)
        what = "world" if table.error.is_world_failure else "engine"
        raise WireError("EXECUTION_ERROR", f"The match broke off: the {what} of {self._name} failed. Send reset.")

    def _make_observation(self, text: str, info: dict[str, Any], reward: float | None, *, done: bool) -> dict[str, Any]:
        moves = info.pop("legal_moves", None)
        assert self._table is not None
        metadata = {"episode_id": self._episode, "match": self._table.job.id, "game": self._name, **info}
        observation = {"text": text, "legal_moves": moves, "metadata": metadata}
        return {"observation": observation, "reward": reward, "done": done, "metadata": metadata}
