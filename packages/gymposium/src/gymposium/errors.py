"""Errors that tell the user what to do next. All errors that a user can cause derive from `GymposiumError`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class GymposiumError(Exception):
    """Base class of all errors that gymposium raises on purpose."""

    tells_what_to_do: ClassVar[bool] = True
    """True if the message tells the user what to do next: such an error is passed on as it is. False for a mistake of
    the code that called gymposium, such as a player's or a game engine's."""


class UnknownName(GymposiumError, LookupError):
    """No plugin registers a game, player, command or the like with this name; the message lists similar names."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str | None = None, remark: str = "") -> None:
        """`hint` says what to write instead; by default, similar names. `remark` follows it."""
        import difflib  # for the error alone: this module is part of every `import gymposium`

        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        if hint is None and near:
            hint = f"Did you mean {' or '.join(repr(n) for n in near)}?"
        elif hint is None:
            hint = f"Known: {', '.join(known)}." if known else "Nothing of that kind is registered."
        super().__init__(f"There is no {kind} called {name!r}. {hint} {remark}".rstrip())
        self.kind, self.name, self.near = kind, name, tuple(near)


class BadParameter(GymposiumError, ValueError):
    """A parameter of a game is unknown, of the wrong type or out of range."""


class BadOption(GymposiumError, ValueError):
    """The value of an option or a keyword is not one of the allowed forms."""


class WrongType(GymposiumError, TypeError):
    """An argument has the wrong type; the message says what was expected and what was given."""

    def __init__(self, what: str, expected: str, given: object) -> None:
        super().__init__(f"{what} must be {expected}, not {given!r} of type {type(given).__name__}.")


class NotAllowed(GymposiumError):
    """A file or a web form names a thing that needs the user's permission, which was not given."""

    def __init__(self, name: str, why: str, flag: str) -> None:
        """`why` is a clause that says what the name would do; `flag` allows it on the command line."""
        super().__init__(
            f"A file or a web form names {name!r}, which needs your permission: {why}. If you trust it, allow it:  "
            f"gymposium {flag} …  (or in the environment variable "
            f"{'GYMPOSIUM_ALLOW_ENV' if flag.startswith('--allow-env') else 'GYMPOSIUM_ALLOW'})"
        )
        self.name, self.why, self.flag = name, why, flag


class IllegalMove(GymposiumError, ValueError):
    """A move that is not legal in this position; `legal_moves` holds those that are."""

    tells_what_to_do = False

    def __init__(self, seat: int, move: object, legal: Iterable[str] | None) -> None:
        legal = list(legal or ())
        shown = ", ".join(legal[:20]) + (", …" if len(legal) > 20 else "")
        super().__init__(f"{move!r} is not legal for seat {seat}. Legal moves: {shown or 'none'}.")
        self.seat, self.move, self.legal_moves = seat, move, legal


class WrongSeat(GymposiumError, ValueError):
    """`Match.apply` was called with moves for other seats than those to move."""

    tells_what_to_do = False

    def __init__(self, given: Iterable[int], to_move: Iterable[int]) -> None:
        given, to_move = sorted(given), sorted(to_move)
        state = f"seats to move are {to_move}" if to_move else "the match is over"
        super().__init__(f"Moves were given for seats {given}, but {state}.")


class NotAsked(GymposiumError, ValueError):
    """A reply was given for a seat that has nothing to answer."""

    tells_what_to_do = False


class WorldBroke(GymposiumError):
    """What a match needs besides its game failed: a tool raised, took too long, or its server is gone. The match has no
    result."""

    tells_what_to_do = False


class CannotPlayOn(GymposiumError):
    """A recorded match cannot be played on, because its tools would not return the same again."""


class NoSampler(GymposiumError):
    """Search cannot sample worlds for this seat without looking at hidden information."""


class MissingExtra(GymposiumError, ImportError):
    """An optional part is not installed; the message holds the command that installs it."""

    def __init__(self, what: str, install: str) -> None:
        super().__init__(f"{what} is not installed. Install it with:  pip install {install}")
        self.install = install


class PluginError(GymposiumError):
    """A plugin is broken. Raised in strict mode and on use; otherwise `gymposium plugins list` shows it."""


class BadReward(GymposiumError, ValueError):
    """A reward function did not return one finite reward for each trajectory."""


class Unrated(GymposiumError):
    """A reward function could not rate this group of trajectories. Training drops the group and counts it under
    `reason`, a few words that are equal for all groups that failed in the same way."""

    def __init__(self, reason: str, detail: str = "") -> None:
        """`detail` is a sentence about this group."""
        super().__init__(f"The group was not rated: {reason}.{f' {detail}' if detail else ''}")
        self.reason = reason


class LoggerError(GymposiumError):
    """A logger could not start, or failed during a run; the cause is the exception that it raised."""


class BadRecord(GymposiumError, ValueError):
    """A match record cannot be read, or replaying it gives another match."""


def tells_what_to_do(error: BaseException) -> bool:
    """True for an error of gymposium whose message tells the user what to do next."""
    return isinstance(error, GymposiumError) and error.tells_what_to_do


def reason(error: BaseException) -> str:
    """Why something could not be read or written: what the operating system says, without its number and the path; the
    message of any other error."""
    return " ".join(str(getattr(error, "strerror", None) or error).split())


def describe(error: BaseException) -> str:
    """The error on one line: the message, after the name of the type if the error is not one of gymposium's."""
    text = " ".join(str(error).split())
    if isinstance(error, GymposiumError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
