"""Replays of TextArena's episodes in a separate process.

TextArena's environments seed Python's global generator, and some call a service with the user's key. So the process has
a time limit per episode, gets no keys, and cannot open connections.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Timer
from typing import Any

import textarena as ta

from gymposium.errors import describe_error
from gymposium.util.child_process import make_python_command, make_python_environment
from gymposium.util.isolated import limit_process
from gymposium_textarena.episodes import Episode
from gymposium_textarena.recorded import RecordedEnv

SECONDS = 60.0
"""Time limit of one episode, in seconds."""
_PASSED_ON = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "NLTK_DATA", "PATH", "PYTHONPATH", "TMPDIR")
"""Environment variables passed to the process."""
_CONNECTS = {f"socket.{name}" for name in ("bind", "connect", "getaddrinfo", "gethostbyname", "sendmsg", "sendto")}
"""Python audit events that a replay blocks."""


@dataclass(frozen=True, slots=True)
class ReplayedEpisode:
    """A replayed episode with the first difference."""

    episode: Episode
    difference: str
    """The first difference found, in a sentence; empty if the episode matches."""

    @property
    def same(self) -> bool:
        """True if observations, rewards and infos match."""
        return not self.difference


def replay_episodes(*episodes: Episode, seconds: float = SECONDS) -> list[ReplayedEpisode]:
    """Replay episodes with the installed TextArena, from their seeds and actions. `seconds` is the time limit per
    episode."""
    found: list[ReplayedEpisode] = []
    while len(found) < len(episodes):  # a process that ended is started anew
        left = episodes[len(found) :]
        found += [ReplayedEpisode(episode, told) for told, episode in zip(_find_differences(left, seconds), left)]
    return found


def _find_differences(episodes: tuple[Episode, ...], seconds: float) -> Iterator[str]:
    """Yield each episode's difference, up to the first episode that ends the process."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    with subprocess.Popen(
        make_python_command("-c", "from gymposium_textarena.replaying import _serve; _serve()"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=make_python_environment(environment),
        encoding="utf-8",
    ) as process:
        for episode in episodes:
            answer, late = _ask(process, episode, seconds)
            if not answer:
                yield f"The replay took more than {seconds:g} s." if late else "The replay ended its process."
                return
            yield json.loads(answer)


def _ask(process: subprocess.Popen[str], episode: Episode, seconds: float) -> tuple[str, bool]:
    """Return the process's answer, empty if it ended, and whether it exceeded the time limit."""
    assert process.stdin is not None
    assert process.stdout is not None
    late = Event()

    def kill() -> None:
        late.set()
        process.kill()

    timer = Timer(seconds, kill)
    timer.start()
    try:
        print(episode.line(), file=process.stdin, flush=True)
        return process.stdout.readline(), late.is_set()
    except BrokenPipeError:  # it ended before it read the episode
        with suppress(BrokenPipeError):
            process.stdin.close()
        return "", late.is_set()
    finally:
        timer.cancel()


def _find_difference(episode: Episode) -> str:
    """Replay an episode in this process, and return the first difference."""
    env = RecordedEnv(ta.make(episode.env))
    env.reset(num_players=episode.num_players, seed=episode.seed)
    done = False
    for number, (player, action) in enumerate(episode.actions):
        current, _ = env.get_observation()
        if done or current != player:
            asked = "nobody" if done else f"player {current}"
            return f"Action {number} is of player {player}, but {asked} is to act."
        done, _ = env.step(action)
    env.close()
    again = env.episode
    if again.rewards != episode.rewards:
        return f"The rewards are {dict(again.rewards)}, not {dict(episode.rewards)}."
    if again.game_info != episode.game_info:
        return f"The infos are {dict(again.game_info)}, not {dict(episode.game_info)}."
    return "" if again.digest == episode.digest else "An observation differs, or its digest was changed."


def _refuse_connections(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse connections, as an audit hook (`sys.addaudithook`)."""
    if event in _CONNECTS:
        raise PermissionError("A replay cannot open connections.")


def _serve() -> None:
    """Read episodes from standard input, and answer each with its difference."""
    sys.addaudithook(_refuse_connections)
    limit_process()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an environment prints must not mix with the answers
    for line in sys.stdin:
        episode = Episode.parse(line)
        try:
            told = _find_difference(episode)
        except Exception as error:  # noqa: BLE001 - an environment may raise anything
            told = f"The replay failed: {describe_error(error)}"
        if told and episode.version != ta.__version__:
            told += f" The episode is of TextArena {episode.version}, and {ta.__version__} is installed."
        print(json.dumps(told), file=answers, flush=True)
