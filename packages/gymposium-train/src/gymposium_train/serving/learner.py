"""The state of the learner that the service's clients depend on: its phase, step and policies, and the lock for all
changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from gymposium.util.visible import quantity
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.serving.errors import NotReady, RunOver


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies that answer requests."""

    newest: Callable[[], LanguageModelPlayer]
    """Returns a player of the newest policy. Raises `GymposiumError` before the first policy."""
    recent: Callable[[Policy], LanguageModelPlayer]
    """Returns a player of a policy that may still answer. Raises `GymposiumError` for other policies."""
    staleness: int = 0
    """Maximum lag of a policy, in steps, when the run learns from its sessions."""


@dataclass(slots=True)
class ServedLearner:
    """The state of the learner. Clients' calls come from one event loop, and the learner's from another thread."""

    policies: Policies
    learned: int = -1
    """The latest step that an earlier process of this run learned from, or -1."""
    steps: int | None = None
    """The number of steps of the run."""
    phase: Literal["starting", "waiting", "learning", "ended"] = "starting"
    step: int | None = None
    """The step that the learner waits for or learns from, counted from 0. None before the first step."""
    listeners: set[Callable[[], object]] = field(default_factory=set)
    """Functions that are called after each change, in any thread."""
    _policy_steps: dict[Policy, int] = field(default_factory=dict)
    """The step of each policy seen."""
    _changed: threading.Condition = field(default_factory=lambda: threading.Condition(threading.RLock()))

    @contextmanager
    def change(self) -> Iterator[None]:
        """Hold the lock during the block. Then wake waiting threads and call the listeners. Blocks may be nested."""
        try:
            with self._changed:
                try:
                    yield
                finally:
                    self._changed.notify_all()
        finally:
            self.tell()

    def tell(self) -> None:
        """Call the listeners."""
        for listener in [*self.listeners]:
            listener()

    def wait(self, seconds: float) -> None:
        """Release the lock until another thread's change, or for `seconds`."""
        self._changed.wait(seconds)

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> None:
        """Release the lock until other threads' changes make `condition` true, or for `seconds`."""
        self._changed.wait_for(condition, seconds)

    def begin_step(self, step: int) -> None:
        """Wait for the job of a step, with the newest policy."""
        self._policy_steps[self.policies.newest().current_policy] = step
        self.step, self.phase = step, "waiting"

    def check_unfinished(self) -> None:
        """Raise `RunOver` after the last step."""
        if self.phase == "ended":
            over = f"completed its {quantity(self.steps, 'step')}" if self.steps else "ended"
            raise RunOver(f"The run has {over}. Stop this client, or connect it to another run.")

    def newest(self) -> LanguageModelPlayer:
        """Return a player of the newest policy. Raises `NotReady` before the first step, and after a restart until the
        run has caught up."""
        if self.step is None:
            raise NotReady("The model is not ready yet. Try again soon.")
        if self.step <= self.learned:
            raise NotReady(
                f"The run is catching up after a restart: it is at step {self.step} and had done step "
                f"{self.learned}. Try again soon."
            )
        return self.policies.newest()

    def find_step(self, policy: Policy) -> int:
        """Return the number of steps done when a policy was published. A policy not seen before was published by the
        latest step."""
        if policy not in self._policy_steps:
            self._policy_steps[policy] = max(self._policy_steps.values(), default=-1) + 1
        return self._policy_steps[policy]
