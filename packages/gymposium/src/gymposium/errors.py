"""Errors with a fix in the message. All errors that a user can cause derive from `GymposiumError`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class GymposiumError(Exception):
    """Base class of all errors that gymposium raises deliberately."""

    is_actionable: ClassVar[bool] = True
    """Whether the message tells the user what to do next. Such an error is passed on unchanged.

    False for a mistake in the calling code, such as a player or a game engine."""


class UnknownName(GymposiumError, LookupError):
    """An unknown name for a game, player, command or other object. The message lists similar names."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str | None = None, remark: str = "") -> None:
        """`hint` says what to use instead, by default similar names. `remark` follows the hint."""
        import difflib  # imported late, because every `import gymposium` loads this module

        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        if hint is None and near:
            hint = f"Did you mean {' or '.join(repr(n) for n in near)}?"
        elif hint is None:
            hint = f"Known: {', '.join(known)}." if known else "Nothing of that kind is registered."
        super().__init__(f"Unknown {kind} {name!r}. {hint} {remark}".rstrip())
        self.kind, self.name, self.near = kind, name, tuple(near)


class BadParameter(GymposiumError, ValueError):
    """A game parameter that is unknown, of the wrong type or out of range."""


class BadOption(GymposiumError, ValueError):
    """An invalid value for an option or keyword argument."""


class WrongType(GymposiumError, TypeError):
    """An argument of the wrong type. The message gives the expected and the actual type."""

    def __init__(self, what: str, expected: str, given: object) -> None:
        super().__init__(f"{what} must be {expected}, not {given!r} of type {type(given).__name__}.")


class PermissionRequired(GymposiumError):
    """A name in a file or web form that needs the user's permission."""

    def __init__(self, name: str, why: str, flag: str) -> None:
        """`why` is a clause that says what the name would do. `flag` is the command-line option that allows it."""
        super().__init__(
            f"A file or a web form names {name!r}, which needs your permission: {why}. If you trust it, allow it:  "
            f"gymposium {flag} …  (or in the environment variable "
            f"{'GYMPOSIUM_ALLOW_ENV' if flag.startswith('--allow-env') else 'GYMPOSIUM_ALLOW'})"
        )
        self.name, self.why, self.flag = name, why, flag


class IllegalMove(GymposiumError, ValueError):
    """A move that is illegal in this position. `legal_moves` holds the legal moves."""

    is_actionable = False

    def __init__(self, seat: int, move: object, legal: Iterable[str] | None) -> None:
        legal = list(legal or ())
        shown = ", ".join(legal[:20]) + (", …" if len(legal) > 20 else "")
        super().__init__(f"{move!r} is not legal for seat {seat}. Legal moves: {shown or 'none'}.")
        self.seat, self.move, self.legal_moves = seat, move, legal


class WrongSeat(GymposiumError, ValueError):
    """A call of `Match.apply` with moves for the wrong seats."""

    is_actionable = False

    def __init__(self, given: Iterable[int], to_move: Iterable[int]) -> None:
        given, to_move = sorted(given), sorted(to_move)
        state = f"seats to move are {to_move}" if to_move else "the match is over"
        super().__init__(f"Moves were given for seats {given}, but {state}.")


class UnexpectedReply(GymposiumError, ValueError):
    """A reply for a seat whose turn it is not."""

    is_actionable = False


class WorldFailure(GymposiumError):
    """A failure outside the game: a tool raised an exception or timed out, or its server became unreachable.

    The match has no result."""

    is_actionable = False


class NotResumable(GymposiumError):
    """A recorded match that cannot be resumed, because its tools may now return different results."""


class NoSampler(GymposiumError):
    """A game that cannot sample hidden information consistent with what this seat knows."""


class MissingExtra(GymposiumError, ImportError):
    """A missing optional dependency. The message has the install command."""

    def __init__(self, what: str, install: str) -> None:
        super().__init__(f"{what} is not installed. Install it with:  pip install {install}")
        self.install = install


class PluginError(GymposiumError):
    """A broken plugin.

    Raised on use, and on loading in strict mode; otherwise only `gymposium plugins list` shows it."""


class BadReward(GymposiumError, ValueError):
    """A reward function that did not return one finite reward per trajectory."""


class UnratedGroup(GymposiumError):
    """A group of trajectories that a reward function could not rate.

    Training drops the group and counts it under `reason`, a short phrase shared by all groups that fail in the same
    way."""

    def __init__(self, reason: str, detail: str = "") -> None:
        """`detail` is a sentence about this group's failure."""
        super().__init__(f"The group was not rated: {reason}.{f' {detail}' if detail else ''}")
        self.reason = reason


class LoggerError(GymposiumError):
    """A logger that could not start or failed during a run. Its exception is the cause (`__cause__`)."""


class BadRecord(GymposiumError, ValueError):
    """A match record that is unreadable or whose replay differs."""


def is_actionable(error: BaseException) -> bool:
    """Return whether an error's message tells the user what to do next."""
    return isinstance(error, GymposiumError) and error.is_actionable


def describe_cause(error: BaseException) -> str:
    """Return why something could not be read or written.

    For an `OSError`, this is the system's message without errno and path."""
    return " ".join(str(getattr(error, "strerror", None) or error).split())


def describe_error(error: BaseException) -> str:
    """Return the error on one line: its message, prefixed by its type unless it is a gymposium error."""
    text = " ".join(str(error).split())
    if isinstance(error, GymposiumError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
