"""Agents as commands: the run starts them, and a function computes the reward of each session."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, GymposiumError, describe_error
from gymposium.http.client import EmptyStep, Server, Session, parse_ending
from gymposium.util.child_process import make_user_environment
from gymposium_agents.serving.turns import convert_to_data, list_messages
from gymposium_train.serving.service import Service
from gymposium_train.serving.settings import SessionSettings
from gymposium_train.serving.trajectories import list_turns

SECONDS = 1800.0
"""Time limit of a command."""
SHOWN = 2000
"""Maximum number of characters to show from a command's errors."""
DEFAULT_GROUPS = 16

Score = Callable[["CommandResult"], float | Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A finished command, with the model's conversations in its session."""

    seed: int
    """The seed of the task, passed to the command in GYMPOSIUM_SEED. All sessions of a group share it."""
    output: str
    """The command's standard output."""
    conversations: Sequence[Sequence[Mapping[str, Any]]]
    """The messages of each conversation of the command, including replies. A message is an object with `role` and
    `content` and, in replies that call tools, `tool_calls`."""


@cache
def load_score_function(text: str) -> Score:
    """Load the function named by `module:function` or `file.py:function`. A file is run once. Raises `BadOption`."""
    place, _, name = text.rpartition(":")
    if not (place and name.isidentifier()):
        raise BadOption(f"Invalid function {text!r}. Write module:function or file.py:function.")
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(place).stem, place)
            assert spec is not None
            assert spec.loader is not None, "a .py file has a loader"
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
    except (ImportError, OSError) as error:
        raise BadOption(f"{text!r}: cannot import {place} ({error}). Correct its name, or install it.") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise BadOption(f"{text!r}: {place} has no function {name}.")
    score: Score = function
    return score


def parse_command(text: str) -> list[str]:
    """Split a command line as a shell does. Raises `BadOption` if the program does not exist."""
    command = shlex.split(text)
    if not command or shutil.which(command[0]) is None:
        raise BadOption(f"--run {text!r}: program {command[0] if command else text!r} not found. Give its path.")
    return command


class CommandRunner:
    """A background thread that plays one step after another with a command. `failure` is the error that ended it."""

    def __init__(self, service: Service, settings: SessionSettings, address: str, token: str | None) -> None:
        assert settings.run is not None
        assert settings.scores is not None, "a run with a command has a function for rewards"
        self._command = parse_command(settings.run)
        self._score = load_score_function(settings.scores)
        self._service, self._settings = service, settings
        self._address, self._token = address, token
        self._ended = threading.Event()
        self._running: set[subprocess.Popen[str]] = set()
        """The commands under way."""
        self._lock = threading.Lock()
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._play_steps, name="commands", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise the error that ended the thread, if any."""
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        """Stop the commands under way, and start no more."""
        self._ended.set()
        with self._lock:
            for process in self._running:
                _kill(process)

    def _play_steps(self) -> None:
        groups, size = self._settings.groups or DEFAULT_GROUPS, self._service.sessions.group_size
        try:
            with Server(self._address, self._token) as server:
                while not self._ended.is_set():
                    server.play(self._play_session, groups=groups, size=size, at_once=self._settings.at_once)
                    if self._settings.groups is None and not self._ended.is_set():
                        with suppress(EmptyStep):  # the policy of all its sessions was too old
                            server.train()
        except Exception as error:  # noqa: BLE001 - the thread of the run raises it
            if not self._ended.is_set():
                self.failure = error

    def _play_session(self, session: Session[Server]) -> float | Mapping[str, Any]:
        """Play one session. After the first error, the step's remaining sessions are not started."""
        if self._ended.is_set():
            raise GymposiumError(
                "An earlier session of this step failed, so this one was not started. Fix the cause and resume the run."
            )
        try:
            return self._run_session(session)
        except Exception as error:
            if not self._ended.is_set():
                self.failure = error
                self._ended.set()
            raise

    def _run_session(self, session: Session[Server]) -> float | Mapping[str, Any]:
        environment = {
            **make_user_environment(),
            "OPENAI_BASE_URL": session.base_url,
            "ANTHROPIC_BASE_URL": session.base_url.removesuffix("/v1"),  # its clients add /v1
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_API_KEY": "none",  # the address opens the session, and the key to end it stays here
            "GYMPOSIUM_SEED": str(session.seed),
        }
        environment.pop("GYMPOSIUM_SERVE_TOKEN", None)
        ran = CommandResult(session.seed, self._run_command(environment), self._list_conversations(session.id))
        try:
            score = self._score(ran)
            parse_ending(score)
        except Exception as error:
            raise GymposiumError(f"--reward {self._settings.scores}: {describe_error(error)}") from error
        return score

    def _run_command(self, environment: Mapping[str, str]) -> str:
        """Run the command to its end, and return its standard output. Raises `GymposiumError` if it fails, takes too
        long or is stopped by `close`."""
        with self._lock:
            if self._ended.is_set():
                raise GymposiumError("The run is over, so this session was not started.")
            process = subprocess.Popen(
                self._command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # so that what the command starts ends with it
            )
            self._running.add(process)
        try:
            output, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            _kill(process)
            process.communicate()
            raise GymposiumError(f"{shlex.join(self._command)} took more than {SECONDS / 60:.0f} minutes.") from None
        finally:
            with self._lock:
                self._running.remove(process)
        if process.returncode:
            raise GymposiumError(
                f"{shlex.join(self._command)} failed with exit status {process.returncode}: {errors[-SHOWN:].strip()}"
            )
        return output

    def _list_conversations(self, name: str) -> list[list[dict[str, Any]]]:
        """Return those of a session's conversations that no later turn continues. Each includes its last reply."""
        row = self._service.file.session(name)
        assert row is not None, "the session has just been played"
        turns = list_turns(row, self._service.file.turns(name))
        continued = {turn.parent for turn in turns}
        last = [turn for turn in turns if turn.number not in continued]
        return [convert_to_data([*list_messages(turns, turn.number), turn.said.message]) for turn in last]


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process and all that it started, unless it has ended."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
