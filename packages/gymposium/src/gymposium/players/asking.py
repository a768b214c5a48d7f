"""Calls to players. A note with the player's name and file is added to each exception from a player."""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any, get_args

from gymposium.errors import is_actionable
from gymposium.players.distribution import MoveDistribution, is_distribution
from gymposium.players.protocol import Ask, DistributionPlayer, FinishReason, Player, Reply, Usage
from gymposium.util.visible import quantity

_BEGINNING = "The player "
_FINISH_REASONS = get_args(FinishReason)


def ask_player(player: Player, asks: Sequence[Ask]) -> list[Reply]:
    """Return the player's replies to its asks, in order.

    Raises any exception from the player, and `TypeError` for replies that cannot be parsed and recorded."""
    try:
        return check_replies(player, player.act(asks), len(asks))
    except (Exception, SystemExit):
        with blame_errors(player):  # entered only for an exception, because every turn of a match passes here
            raise


def ask_distributions(player: DistributionPlayer, asks: Sequence[Ask]) -> list[MoveDistribution]:
    """Return the player's distributions over its moves for these asks, in order.

    Without asks, the player is not called. Raises any exception from the player, and the errors of
    `check_distributions`."""
    with blame_errors(player):
        return check_distributions(player, player.distributions(asks), asks) if asks else []


@contextmanager
def blame_errors(player: Player | DistributionPlayer) -> Iterator[None]:
    """Apply `blame` to exceptions in the block.

    If the player exits the program, raises `RuntimeError` instead."""
    try:
        try:
            yield
        except SystemExit as stop:
            raise RuntimeError(
                f"it ended the program (SystemExit: {stop}), but should raise another exception"
            ) from stop
    except Exception as error:
        blame(error, _get_name(player), type(player))
        raise


def blame(error: BaseException, name: str, made_by: Any) -> None:
    """Add a note to an exception that names the player and its file.

    The file is that of `made_by`, the player's class or factory. Nothing is added to gymposium errors that tell the
    user what to do, or to exceptions that already have a note."""
    if not (get_blame_note(error) or is_actionable(error)):
        error.add_note(f"{_BEGINNING}{name!r} failed in {_locate_error(error, made_by)}.")


def get_blame_note(error: BaseException) -> str:
    """Return the note from `blame`, or ""."""
    return next((note for note in getattr(error, "__notes__", ()) if note.startswith(_BEGINNING)), "")


def find_source_file(made_by: Any) -> str | None:
    """Return the file of a class or function, or None."""
    try:
        return inspect.getfile(made_by)
    except (TypeError, OSError):  # defined in an interactive session, or not a class or function
        return None


def _locate_error(error: BaseException, made_by: Any) -> str:
    """Return the last executed line in the player's file, or the file if no line ran.

    Without a file, return the line that raised."""
    own = find_source_file(made_by)
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if frame.filename == own or own is None:
            return f"{frame.filename}, line {frame.lineno}"
    return str(own)


def check_replies(player: Player, replies: Any, count: int) -> list[Reply]:
    """Return the replies as a list.

    Raises `TypeError` unless there are `count` replies that can be parsed and recorded."""
    if not isinstance(replies, Sequence) or len(replies) != count:
        raise TypeError(
            f"player {player.name} was asked for {quantity(count, 'reply', 'replies')} but returned "
            f"{_name_type(replies)}. Return one per ask"
        )
    for reply in replies:
        if wrong := _find_fault(reply):
            raise TypeError(f"player {player.name} returned {wrong}")
    return list(replies)


def check_distributions(player: object, found: Any, asks: Sequence[Ask]) -> list[MoveDistribution]:
    """Return the distributions as a list.

    Raises `TypeError` unless there is one `MoveDistribution` per ask, and `ValueError` unless it has a probability for
    each legal move, in order. They add up to 1, or all are 0."""
    if not isinstance(found, Sequence) or len(found) != len(asks):
        raise TypeError(
            f"player {_get_name(player)} was asked for {quantity(len(asks), 'distribution')} but returned "
            f"{_name_type(found)}. Return one MoveDistribution per ask"
        )
    for ask, one in zip(asks, found, strict=True):
        if not isinstance(one, MoveDistribution):
            raise TypeError(f"player {_get_name(player)} returned {_name_type(one)} instead of a MoveDistribution")
        moves: Any = one.moves
        if not isinstance(moves, Sequence) or list(moves) != ask.legal_moves:
            raise ValueError(
                f"player {_get_name(player)} returned a distribution over {moves}, but the legal moves are "
                f"{ask.legal_moves}. Return a probability for each legal move, in order"
            )
        if not _are_probabilities(one.probabilities, len(moves)):
            raise ValueError(
                f"player {_get_name(player)} returned the probabilities {one.probabilities} of {moves}. Return one "
                f"for each move, which add up to 1, or zeros for no legal move"
            )
    return list(found)


def _are_probabilities(odds: Any, count: int) -> bool:
    """Return whether these are `count` probabilities that add up to 1 or are all 0."""
    if not isinstance(odds, Sequence) or len(odds) != count or not all(isinstance(one, Real) for one in odds):
        return False
    return is_distribution(odds) or not any(odds)


def _get_name(player: object) -> str:
    return str(getattr(player, "name", type(player).__name__))


def _find_fault(reply: Any) -> str | None:
    if not isinstance(reply, Reply):
        return f"{_name_type(reply)} instead of a Reply"
    text: Any = reply.text
    if not isinstance(text, str):
        return f"a Reply whose text is {_name_type(text)}"
    if reply.finish_reason not in _FINISH_REASONS:
        return f"a Reply with finish_reason {str(reply.finish_reason)!r}, which is not one of {_FINISH_REASONS}"
    if reply.action is not None and type(reply.action) is not int:
        return f"a Reply whose action is {_name_type(reply.action)}, not an int"
    usage: Any = reply.usage
    if usage is not None:
        if not isinstance(usage, Usage):
            return f"a Reply whose usage is {_name_type(usage)}"
        counts = [count for count in (usage.prompt_tokens, usage.completion_tokens) if count is not None]
        if any(type(count) is not int or count < 0 for count in counts):
            return "a Reply whose token counts are not integers of 0 or more"
        for name, amount in (("seconds", usage.seconds), ("cost", 0 if usage.cost is None else usage.cost)):
            if type(amount) not in (int, float) or not 0 <= amount < math.inf:
                return f"a Reply with {name}={amount!r} in its usage, which is not a number of 0 or more"
    return None


def _name_type(what: object) -> str:
    number = f" of {len(what)}" if isinstance(what, Sequence) and not isinstance(what, str) else ""
    return f"a {type(what).__name__}{number}"
