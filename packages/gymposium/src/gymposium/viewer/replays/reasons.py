"""Explanations of why a reply was not accepted, for the reader of a page."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.driver import Turn
from gymposium.lenient import find_marks, undress
from gymposium.reading import MAX_REPLY, LenientReader, Reader
from gymposium.repetition import ends_in_loop
from gymposium.thoughts import remove_thoughts


def offered(turn: Turn, how: Reader) -> str:
    """The move in a reply, legal or not; empty if the reply holds none."""
    if turn.action is not None:
        return f"action {turn.action}" if turn.reading != "move" else ""
    return (_submission(turn, how) or "").strip() if len(turn.text) <= MAX_REPLY else ""


def _submission(turn: Turn, how: Reader) -> str | None:
    """The text of the move that was read."""
    repaired = how.repair(turn.text) if turn.repaired and isinstance(how, LenientReader) else None
    submission = how.submission(turn.text) if repaired is None else repaired[0]
    return undress(submission)[0] if turn.repaired and submission is not None else submission


def why(turn: Turn, legal: Sequence[str] | None, how: Reader) -> str:
    """The reason why a reply was not accepted, in one or two sentences; empty for a move."""
    text = turn.text
    if turn.reading == "move":
        return ""
    if turn.reading == "cut off" and ends_in_loop(text):
        return "It reached the limit of tokens of a reply in a loop: it repeats the same text to the end."
    if turn.reading == "cut off":
        return "It reached the limit of tokens of a reply. If it was on its way to a move, raise max_tokens."
    if turn.reading == "illegal":
        count = len(legal or ())
        return f"“{offered(turn, how)}” is a move of this game, but not one of the {count} that are legal here."
    if len(text) > MAX_REPLY:
        return f"It has {len(text):,} characters. A reply of more than {MAX_REPLY:,} is not read."
    submission, bare = _submission(turn, how), how.name.startswith("move")
    if submission is None:
        if isinstance(how, LenientReader):
            marks = [mark.text for mark in find_marks(remove_thoughts(text))]
            moves = dict.fromkeys(move.strip() for move in marks if move is not None)
            if len(moves) > 1:
                return f"It has several final moves: {', '.join(f'“{move}”' for move in moves)}."
            if marks and marks[-1] is None:
                return "Its last mark of a move is broken."
        form = how.instructions("compact", wanted="your text" if legal is None else "one legal move")
        return f"It does not have the form that was asked for: {form}" if form else "It is no call of a tool."
    written = submission.strip()
    if not written:
        return "It is empty where the move should stand." if not bare else "It is empty."
    where = "" if bare else " in the place of the move"
    spellings = (written.lower(), written.lower().strip(".,!`*\"'"))
    near = next((move for move in legal or () if move.lower() in spellings), "")
    hint = f" The legal move “{near}” must be written exactly like this." if near else ""
    if len(written) > 80:
        return f"It has {len(written):,} characters{where}, and no move of this game is written like that.{hint}"
    return f"“{written}”{where} is not written like a move of this game.{hint}"
