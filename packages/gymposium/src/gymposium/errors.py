"""Errors that say what to do next. Every error a user can cause derives from `GymposiumError`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gymposium.driver import MatchResult


class GymposiumError(Exception):
    """Base of all errors that gymposium raises on purpose."""


class UnknownName(GymposiumError, LookupError):
    """A game, opponent or command that nobody registered; the message names the nearest ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str | None = None) -> None:
        """`hint` says what to write, where more is known than names that look alike."""
        import difflib  # for the error alone: this module is part of every `import gymposium`

        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        if hint is None and near:
            hint = f"Did you mean {' or '.join(repr(n) for n in near)}?"
        elif hint is None:
            hint = f"Known: {', '.join(known)}." if known else "Nothing of that kind is registered."
        super().__init__(f"There is no {kind} called {name!r}. {hint}")
        self.kind, self.name, self.near = kind, name, tuple(near)


class BadParameter(GymposiumError, ValueError):
    """A game parameter that is unknown, of the wrong type or out of range."""


class BadOption(GymposiumError, ValueError):
    """A keyword or command-line value that is not one of the allowed forms."""


class WrongType(GymposiumError, TypeError):
    """An argument of the wrong type; the message says what was expected and what was given."""

    def __init__(self, what: str, expected: str, given: object) -> None:
        super().__init__(f"{what} must be {expected}, not {given!r} of type {type(given).__name__}.")


class NotAllowed(GymposiumError):
    """A file or a web form names a game or player that only the user may name, and the user has not allowed it."""

    def __init__(self, name: str, why: str, flag: str) -> None:
        """`why` says in a clause what is wrong with it, `flag` how it is allowed on the command line."""
        super().__init__(
            f"A file or a web form names {name!r}, which needs your permission: {why}. If you trust it, allow it:  "
            f"gymposium {flag} …  (or in the environment variable GYMPOSIUM_ALLOW)"
        )
        self.name = name


class IllegalMove(GymposiumError, ValueError):
    """A move that is not legal in this position; carries the legal ones."""

    def __init__(self, seat: int, move: object, legal: Iterable[str] | None) -> None:
        legal = list(legal or ())
        shown = ", ".join(legal[:20]) + (", …" if len(legal) > 20 else "")
        super().__init__(f"{move!r} is not legal for seat {seat}. Legal moves: {shown or 'none'}.")
        self.seat, self.move, self.legal_moves = seat, move, legal


class WrongSeat(GymposiumError, ValueError):
    """`Match.apply` was given moves for other seats than those to move."""

    def __init__(self, given: Iterable[int], to_move: Iterable[int]) -> None:
        given, to_move = sorted(given), sorted(to_move)
        state = f"seats to move are {to_move}" if to_move else "the match is over"
        super().__init__(f"Moves were given for seats {given}, but {state}.")


class NoSampler(GymposiumError):
    """Search cannot sample worlds for this seat without seeing what it may not see."""


class MissingExtra(GymposiumError, ImportError):
    """An optional part is not installed; the message is the exact line that installs it."""

    def __init__(self, what: str, install: str) -> None:
        super().__init__(f"{what} is not installed. Install it with:  pip install {install}")
        self.install = install


class PluginError(GymposiumError):
    """A plugin is broken; raised only in strict mode, otherwise listed by `gymposium plugins list`."""


class BadReward(GymposiumError, ValueError):
    """A reward function that did not give one finite reward for each trajectory."""


class Unrated(GymposiumError):
    """A reward function could not rate this group, and says why; another may go well. Whoever learns drops the group
    and counts it under `reason`, a few words that are the same for all groups that failed alike."""

    def __init__(self, reason: str, detail: str = "") -> None:
        """`detail` is what was wrong with this one, in a sentence."""
        super().__init__(f"The group was not rated: {reason}.{f' {detail}' if detail else ''}")
        self.reason = reason


class LoggerError(GymposiumError):
    """A logger that could not start, or failed in the middle of a run; the cause is what it raised itself."""


class BadRecord(GymposiumError, ValueError):
    """A match record that cannot be read or does not replay."""


class EngineError(GymposiumError):
    """A game's engine raised in the middle of a match. `played` is the match so far, as a record writer takes it;
    the engine's own exception is the cause."""

    def __init__(self, played: MatchResult, error: Exception) -> None:
        events = played.events
        last = f", the last {events[-1].move!r} of seat {events[-1].seat}" if events else ""
        super().__init__(
            f"The engine of {played.job.game.name} failed in match {played.job.id} (seed {played.job.seed}) after "
            f"{len(events)} events{last}: {played.error}."
        )
        self.add_note("The match so far stands in this error's `played`.")
        self.played = played
        self.__cause__ = error
