"""affinetes' training interface: episodes that a client plays step by step, as one seat in a task's match."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from gymposium.errors import GymposiumError
from gymposium.http.environments.offer import EnvOffer, SharedPlayer
from gymposium.http.environments.session import EnvSession
from gymposium.match import MatchResult
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium_affinetes.tasks import Task, decode_task

POLICY = FailurePolicy("penalty", 1000, 0.01)
"""The policy for illegal actions: each costs 0.01 and the match continues, for up to a thousand illegal actions."""
MAX_EPISODES = 256
"""Maximum number of episodes at once."""
IDLE_SECONDS = 3600.0
"""Seconds without a request before an episode may be dropped for another."""


class EpisodeError(GymposiumError):
    """An unknown episode id, or too many episodes."""


class Episode:
    """One match of a task. The client's seat is the seed modulo the number of seats."""

    def __init__(self, task: Task, seed: int, opponent: str, write: Callable[[MatchResult], object]) -> None:
        game, player = task.load(), task.name_player(opponent)
        offer = EnvOffer({game.name: game}, {player: SharedPlayer(make_player(player))}, POLICY)
        self.id = secrets.token_urlsafe(16)
        self.seat, self.last_request, self.lock = seed % game.seats, time.monotonic(), Lock()
        self._task, self._write = task, write
        self._played: MatchResult | None = None
        self._session = EnvSession(offer, game.name, self._record_match)
        self._last = self._make_answer(self._session.reset({"seed": seed, "seat": self.seat, "episode_id": self.id}))

    def step(self, action: str) -> dict[str, Any]:
        """Play one action. Raises `WireError` if the match is over."""
        self._last = self._make_answer(self._session.step({"text": action}))
        return self._last

    def state(self) -> dict[str, Any]:
        """Return the last answer again."""
        return self._last

    def _record_match(self, played: MatchResult) -> None:
        self._played = played
        self._write(played)

    def _make_answer(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        """Return affinetes' fields. The reward is -0.01 for an illegal action, affinetes' score at the end, else 0."""
        info = {"legal_moves": shown["observation"]["legal_moves"], **shown["metadata"]}
        reward = 0.0 if info.get("reading", "move") == "move" else -POLICY.cost
        if shown["done"]:
            assert self._played is not None, "a finished match was recorded"
            reward = self._task.score(self._played, self.seat)
        return {
            "observation": shown["observation"]["text"],
            "reward": reward,
            "done": shown["done"],
            "truncated": False,
            "episode_id": self.id,
            "info": info,
        }


class Episodes:
    """The episodes in progress, by id."""

    def __init__(self, write: Callable[[MatchResult], object]) -> None:
        """Create an empty set of episodes. `write` records each finished match and is called from one thread at a
        time."""
        self._lock, self._writing = Lock(), Lock()
        self._record = write
        self._open: OrderedDict[str, Episode] = OrderedDict()

    def reset(self, task_id: int, seed: int, opponent: str) -> dict[str, Any]:
        """Start an episode. Raises `GymposiumError` for an invalid task, and `EpisodeError` if there are too many."""
        self._make_room()
        episode = Episode(decode_task(task_id), seed, opponent, self._write)
        with self._lock:
            self._open[episode.id] = episode
        return episode.state()

    def episode(self, episode_id: str) -> Episode:
        """Return the episode with this id. Raises `EpisodeError`."""
        with self._lock:
            episode = self._open.get(episode_id)
            if episode is None:
                raise EpisodeError(f"Unknown episode {episode_id[:80]!r}: it was stopped or dropped. Send reset.")
            episode.last_request = time.monotonic()
            self._open.move_to_end(episode_id)
            return episode

    def stop(self, episode_id: str) -> None:
        """Drop an episode. Raises `EpisodeError`."""
        with self._lock:
            if self._open.pop(episode_id, None) is None:
                raise EpisodeError("Unknown episode.")

    def _make_room(self) -> None:
        with self._lock:
            if len(self._open) < MAX_EPISODES:
                return
            oldest = next(iter(self._open.values()))
            if time.monotonic() - oldest.last_request < IDLE_SECONDS:
                raise EpisodeError(f"{MAX_EPISODES} episodes are in progress. Stop one of them, or try again later.")
            del self._open[oldest.id]

    def _write(self, played: MatchResult) -> None:
        with self._writing:
            self._record(played)
