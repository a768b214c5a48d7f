"""Why a reply was not accepted, for a person who looks at it."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.games.protocol import Game
from gymposium.reading import MAX_REPLY, Reader, Reading, read, read_action


def read_again(
    text: str,
    action: int | None,
    recorded: str,
    legal: Sequence[str] | None,
    actions: Sequence[int],
    how: Reader,
    game: Game,
) -> Reading:
    """How the reply of a record reads; that one was cut off cannot be seen from its text."""
    if action is not None:
        return read_action(action, actions, legal)
    return read(text, legal, how, game.move_pattern, cut_off=recorded == "cut off")


def why(reading: Reading, text: str, legal: Sequence[str] | None, how: Reader) -> str:
    """In a sentence or two; empty for a move."""
    if reading.kind == "move":
        return ""
    if reading.kind == "cut off":
        return "It was cut off before it ended, by the limit of tokens that its player has for a reply."
    if reading.kind == "illegal":
        count = len(legal or ())
        return f"“{reading.move}” is a move of this game, but not one of the {count} that are legal here."
    if len(text) > MAX_REPLY:
        return f"It has {len(text):,} characters. A reply of more than {MAX_REPLY:,} is not read."
    submission = how.submission(text)
    if submission is None:
        asked = how.instructions("compact", free_text=legal is None)
        return f"It has not the form that was asked for: {asked}"
    if not submission.strip():
        return "It is empty where the move should stand." if how.name != "move" else "It is empty."
    offered = submission.strip()
    where = "" if how.name == "move" else " in the place of the move"
    near = next(
        (move for move in legal or () if move.lower() in (offered.lower(), offered.lower().strip(".,!`*\"'"))), ""
    )
    hint = f" The legal move “{near}” must be written exactly so." if near else ""
    if len(offered) > 80:
        return f"It has {len(offered):,} characters{where}, and no move of this game is written so.{hint}"
    return f"“{offered}”{where} is not written as a move of this game.{hint}"
