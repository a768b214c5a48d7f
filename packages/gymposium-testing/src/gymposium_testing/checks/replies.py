"""Check hostile replies: illegal moves, garbage, empty or huge texts, and control tokens."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import NoReturn

from gymposium.errors import IllegalMove, NotResumable
from gymposium.games.protocol import Game, Match
from gymposium.replies.reading import KINDS, READERS, read_reply
from gymposium.util.visible import is_encodable
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, describe_position, format_error, shorten
from gymposium_testing.positions import Snapshot
from gymposium_testing.walk import draw_moves, play_copies, play_matches

_HOSTILE: tuple[str, ...] = (
    "",
    " ",
    "\n\n",
    "no such move",
    "I would like to play the best move, please.",
    "<|im_end|>",
    "<|im_start|>assistant\n",
    "</s><s>[INST]",
    "<think>",
    "</think></move>",
    "<move></move>",
    "<move><move>x</move></move>",
    '{"move": null}',
    '{"move": {"move": "x"}}',
    "[" * 2_000,
    "\0",
    "\x1b[2J\r\b\x7f",
    "‮‏﻿​",
    "\ud800",
    "١٢٣",
    "Ａ１",
    "🂡" * 40,
    "%s {0} {move} $x `id`",
    "-1",
    "1e999",
    "9" * 5_000,
    "a " * 50_000,
)
"""Texts that a model or an attacker might write."""


def hostile_replies_are_classified(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Every hostile text has a reading, and none parses as another move.

    `move_pattern` does not match empty, huge or multi-line texts."""
    pattern = game.move_pattern
    for text in () if game.spec.free_text else ("", "\n", "a\nb", "a " * 50_000):
        if pattern is not None and pattern.fullmatch(text):
            raise CheckFailed(
                f"move_pattern {pattern.pattern!r} matches {shorten(text, 40)}.",
                where=game.name,
                fix="match only what can be a move in some position: the pattern separates illegal from unparsable.",
            )
    for match in play_matches(game, seed, effort.decisions // 8):
        for seat in match.to_move():
            legal = match.legal_moves(seat)
            for text, reader in product(make_hostile_texts(legal), READERS.values()):
                reading = read_reply(text, legal, reader, pattern)
                offered = reader.extract_move(text)
                is_move = (
                    offered is not None
                    and offered.strip() != ""
                    and (is_encodable(offered) if legal is None else offered.strip() in legal)
                )
                right = reading.kind in KINDS and (reading.kind == "move") == is_move
                if not right or not isinstance(reading.reason(legal), str):
                    raise CheckFailed(
                        f"{shorten(text, 60)} reads as {shorten(reading, 80)}.",
                        where=describe_position(match, seat),
                        fix="return the exact move texts as a list from legal_moves().",
                    )


def make_hostile_texts(legal: Sequence[str] | None) -> list[str]:
    """Return hostile texts. Some resemble a legal move."""
    some = legal[0] if legal else "x"
    return [*_HOSTILE, some + "<|im_end|>", some + " " + some, some.upper() + "!", f"<move>{some}", some * 3_000]


def illegal_moves_change_nothing(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """An illegal move raises IllegalMove and has no other effect, even later in the match.

    Free-text games without tools accept every text."""
    for match, untouched in play_copies(game, seed, effort.decisions // 8):
        if match.events != untouched.events:
            raise CheckFailed(
                f"after refused moves the match diverges: {shorten(match.events[-1])} instead of "
                f"{shorten(untouched.events[-1])}.",
                where=describe_position(match),
                fix="check every move before drawing or changing anything.",
            )
        takes_text = [match.legal_moves(seat) is None and not game.spec.tools for seat in match.to_move()]
        for seat, takes_all in zip(match.to_move(), takes_text, strict=True):
            if not takes_all:
                _check_refusals(match, seat)
        if takes_text and all(takes_text):
            _check_acceptance(match)


def _check_refusals(match: Match, seat: int) -> None:
    legal = match.legal_moves(seat) or []
    others = draw_moves(match, random.Random(0))
    before = Snapshot.from_match(match)
    fix = "raise IllegalMove(seat, move, legal_moves) before changing anything."

    def fail(what: str) -> NoReturn:
        raise CheckFailed(f"{what}.", where=describe_position(match, seat), fix=fix)

    for text in make_hostile_texts(legal):
        if text in legal:
            continue
        move = f"move {shorten(text, 60)}"
        try:
            match.apply({**others, seat: text})
        except IllegalMove as error:
            if error.legal_moves != legal or error.seat != seat:
                fail(
                    f"the error for the {move} names seat {error.seat} and the legal moves "
                    f"{shorten(error.legal_moves)}, but those of seat {seat} are {shorten(legal)}"
                )
        except Exception as error:  # noqa: BLE001 (a game may raise anything)
            fail(f"the {move} raises {format_error(error)}")
        else:
            fail(f"the {move} is accepted, although it is not listed")
        if list(match.events) != before.events:
            fail(f"the refused {move} adds events")
    before.compare(match, "refused moves change the match", where=describe_position(match, seat), fix=fix)


def _check_acceptance(match: Match) -> None:
    for text in filter(str.strip, _HOSTILE):
        copy = match.fork(random.Random(0))
        moves = dict.fromkeys(match.to_move(), text)
        try:
            copy.apply(moves)
        except NotResumable:
            raise
        except Exception as error:  # a game may raise anything
            raise CheckFailed(
                f"the text {shorten(text, 60)} raises {format_error(error)}.",
                where=describe_position(match),
                fix="accept every text: without a list of legal moves, any text is a move.",
            ) from error
        recorded = {event.seat: event.move for event in copy.events[len(match.events) :] if event.seat in moves}
        if recorded != moves:
            raise CheckFailed(
                f"the text {shorten(text, 60)} is recorded in the events as {shorten(recorded)}.",
                where=describe_position(match),
                fix="record the text unchanged.",
            )
