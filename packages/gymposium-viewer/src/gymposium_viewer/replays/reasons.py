"""Explanations, for people, of why a reply was not accepted."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.games.protocol import Game
from gymposium.match import Turn
from gymposium.replies.lenient import find_marks
from gymposium.replies.reading import MAX_REPLY, LenientReader, Reader, read_reply
from gymposium.replies.repetition import ends_in_loop
from gymposium.tasks.tools import list_tools


def extract_move(turn: Turn, legal: Sequence[str] | None, how: Reader, game: Game) -> str:
    """Return the move in a reply, legal or not, or the text given instead of a move; empty if there is neither."""
    if turn.action is not None:
        return f"action {turn.action}" if turn.reading != "move" else ""
    if len(turn.text) > MAX_REPLY:
        return ""
    if turn.reading in ("move", "illegal"):
        return (read_reply(turn.text, legal, how, game.move_pattern, calls=bool(list_tools(game))).move or "").strip()
    return (_extract_submission(turn, how, is_free_text=is_free_text(legal, game)) or "").strip()


def is_free_text(legal: Sequence[str] | None, game: Game) -> bool:
    """Return whether a move is free text rather than a tool call."""
    return legal is None and not list_tools(game)


def _extract_submission(turn: Turn, how: Reader, *, is_free_text: bool) -> str | None:
    """Return the text that a reply without a move gives instead of a move."""
    repaired = how.repair(turn.text, is_free_text=is_free_text) if isinstance(how, LenientReader) else None
    if repaired is not None:
        return repaired.move
    return (how.strict if isinstance(how, LenientReader) else how).extract_move(turn.text)


def explain_failure(turn: Turn, legal: Sequence[str] | None, how: Reader, game: Game) -> str:
    """Return why a reply was not accepted, in one or two sentences; empty for a move."""
    text = turn.text
    if turn.reading == "move":
        return ""
    if turn.reading == "cut off" and ends_in_loop(text):
        return "It reached the token limit in a loop, repeating the same text to the end."
    if turn.reading == "cut off":
        return "It reached the token limit. If it was heading for a move, raise max_tokens."
    if turn.reading == "illegal":
        count = len(legal or ())
        move = extract_move(turn, legal, how, game)
        return f"“{move}” is a move in this game, but not one of the {count} legal ones here."
    if len(text) > MAX_REPLY:
        return f"It has {len(text):,} characters. Replies over {MAX_REPLY:,} are not read."
    is_free = is_free_text(legal, game)
    submission, bare = _extract_submission(turn, how, is_free_text=is_free), how.name.startswith("move")
    if submission is None:
        if isinstance(how, LenientReader):
            marks = [mark.text for mark in find_marks(how.find_answer(text, is_free_text=is_free).text)]
            moves = dict.fromkeys(map(str.strip, marks))
            if len(moves) > 1:
                return f"It has several final moves: {', '.join(f'“{move}”' for move in moves)}."
        form = how.instructions("compact", wanted="your text" if legal is None else "one legal move")
        return f"It does not have the requested form: {form}" if form else "It is not a tool call."
    written = submission.strip()
    if written in (legal or ()):
        return f"It marks “{written}”, but only after a turn that the model invented."
    if not written:
        return "The place for the move is empty." if not bare else "It is empty."
    where = "" if bare else " in the place of the move"
    spellings = (written.lower(), written.lower().strip(".,!`*\"'"))
    near = next((move for move in legal or () if move.lower() in spellings), "")
    hint = f" The legal move “{near}” must be written exactly like this." if near else ""
    if len(written) > 80:
        return f"It has {len(written):,} characters{where}, and does not look like a move in this game.{hint}"
    return f"“{written}”{where} does not look like a move in this game.{hint}"
