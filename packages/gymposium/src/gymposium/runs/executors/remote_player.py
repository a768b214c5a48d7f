"""The player `remote:PLAYER`. An executor's workers answer its asks."""

from __future__ import annotations

import random
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any

from gymposium.errors import BadOption, GymposiumError
from gymposium.games.protocol import Event
from gymposium.games.registry import load_game
from gymposium.players.asking import ask_player
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, MatchContext, Reply, get_repeats
from gymposium.runs.executors.make import open_executor
from gymposium.runs.executors.protocol import Executor, ExecutorStart

BATCHES = 4
"""Number of batches per worker. It is more than one because some asks take longer than others."""
OPTIONS = ("executor", "workers", "address")


@dataclass(frozen=True, slots=True)
class AskSnapshot:
    """An ask as data: the match so far and the seat to move."""

    game: str
    events: tuple[Event, ...]
    key: str
    seed: int
    seat: int
    turn: int
    reason: str | None
    rng: tuple[Any, ...]
    """State of the seat's random stream."""

    @classmethod
    def from_ask(cls, ask: Ask) -> AskSnapshot:
        """Take a snapshot of an ask."""
        match = ask._context.match
        return cls(
            ask.game.name,
            tuple(match.events),
            ask.key,
            ask.seed,
            ask.seat,
            ask.turn,
            ask.reason,
            ask.rng.getstate(),
        )

    def ask(self) -> Ask:
        """Restore the ask in a match loaded from its events. The player sees the same as in the original match."""
        context = MatchContext(load_game(self.game).load(self.events), self.key, self.seed)
        context.asked[self.seat] = self.turn
        rng = context.rngs[self.seat] = random.Random()
        rng.setstate(self.rng)
        return context.ask(self.seat, self.reason)


@dataclass(frozen=True, slots=True)
class AskBatch:
    """Asks that one worker answers together."""

    player: str
    asks: tuple[AskSnapshot, ...]


class RemotePlayer:
    """A player that runs on an executor's workers, for opponents with slow search.

    It replies like the local player, except that search samples new worlds at each decision. The player must not keep
    state between turns, because another worker may answer the next ask."""

    def __init__(self, player: str, executor: str, start: ExecutorStart, name: str | None = None) -> None:
        """`name` is this player's name, by default `remote:PLAYER`.

        Raises `BadOption` for a player whose replies depend on more than the ask and its seed, and any error from the
        executor's start."""
        inner = make_player(player)
        if get_repeats(inner) not in ("quickly", "slowly"):
            raise BadOption(
                f"remote:{player}: {player} cannot run remotely, because its replies depend on more than the match and "
                f"its seed. To run a language model remotely, use a server: engine=URL."
            )
        self.name = name or f"remote:{player}"
        self.reader, self.style = inner.reader, inner.style
        self.deterministic = bool(getattr(inner, "deterministic", False))
        self.repeats = get_repeats(inner)
        self._player = player
        stack = ExitStack()
        self._executor: Executor = stack.enter_context(open_executor(executor, start))
        self._batches = BATCHES * (start.workers or 8)
        self._end = weakref.finalize(self, stack.close)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        size = -(-len(asks) // self._batches)
        batches = [
            AskBatch(self._player, tuple(map(AskSnapshot.from_ask, asks[start : start + size])))
            for start in range(0, len(asks), size)
        ]
        answers = dict(self._executor.map(answer_asks, batches))
        replies: list[Reply] = []
        for number in range(len(batches)):
            for reply, state in answers[number]:
                asks[len(replies)].rng.setstate(state)
                replies.append(reply)
        return replies

    def close(self) -> None:
        """Stop the workers."""
        self._end()


def answer_asks(batch: AskBatch) -> list[tuple[Reply, tuple[Any, ...]]]:
    """Answer asks with this process's player. Returns the replies with the states of the random streams.

    Raises `GymposiumError` if the player keeps state for its next turn."""
    asks = [snapshot.ask() for snapshot in batch.asks]
    replies = ask_player(_load_player(batch.player), asks)
    if any(ask._context.memory.get(ask.seat) for ask in asks):
        raise GymposiumError(
            f"{batch.player} keeps state between turns, so it cannot run remotely. Omit remote: from its name."
        )
    return [(reply, ask.rng.getstate()) for reply, ask in zip(replies, asks, strict=True)]


_load_player = cache(make_player)


def make_remote(player: str, options: str | None) -> RemotePlayer:
    """Return the player `remote:PLAYER?OPTIONS`. Raises `BadOption` for unknown options."""
    name = f"remote:{player}" if options is None else f"remote:{player}?{options}"
    given = {pair.partition("=")[0]: pair.partition("=")[2] for pair in (options or "").split("&") if pair}
    if unknown := [name for name in given if name not in OPTIONS]:
        raise BadOption(f"{name}: unknown option {unknown[0]!r}. Options: {', '.join(OPTIONS)}.")
    workers = given.get("workers")
    if workers is not None and not (workers.isdecimal() and int(workers) > 0):
        raise BadOption(f"{name}: workers={workers} must be an integer, 1 or more.")
    start = ExecutorStart(workers=None if workers is None else int(workers), address=given.get("address"))
    return RemotePlayer(player, given.get("executor", "local"), start, name)
