"""Why a reply was not accepted, in words for the reader of a page."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.driver import Turn
from gymposium.reading import MAX_REPLY, Reader


def offered(turn: Turn, how: Reader) -> str:
    """The move that a reply offers, legal or not; empty if there is none in it."""
    if turn.action is not None:
        return f"action {turn.action}" if turn.reading != "move" else ""
    return (how.submission(turn.text) or "").strip() if len(turn.text) <= MAX_REPLY else ""


def why(turn: Turn, legal: Sequence[str] | None, how: Reader) -> str:
    """Why a reply was not accepted, in one or two sentences; empty for a move."""
    text = turn.text
    if turn.reading == "move":
        return ""
    if turn.reading == "cut off":
        return "It was cut off before it ended, by the limit of tokens that its player has for a reply."
    if turn.reading == "illegal":
        count = len(legal or ())
        return f"“{offered(turn, how)}” is a move of this game, but not one of the {count} that are legal here."
    if len(text) > MAX_REPLY:
        return f"It has {len(text):,} characters. A reply of more than {MAX_REPLY:,} is not read."
    submission = how.submission(text)
    if submission is None:
        asked = how.instructions("compact", free_text=legal is None)
        return f"It has not the form that was asked for: {asked}"
    if not submission.strip():
        return "It is empty where the move should stand." if how.name != "move" else "It is empty."
    written = submission.strip()
    where = "" if how.name == "move" else " in the place of the move"
    near = next(
        (move for move in legal or () if move.lower() in (written.lower(), written.lower().strip(".,!`*\"'"))), ""
    )
    hint = f" The legal move “{near}” must be written exactly so." if near else ""
    if len(written) > 80:
        return f"It has {len(written):,} characters{where}, and no move of this game is written so.{hint}"
    return f"“{written}”{where} is not written as a move of this game.{hint}"
