"""Openings: the random moves with which a match may begin, before anybody is asked.

Two players who draw nothing by lot play one match again and again. Random first moves make different ones of it, and
as they follow from the match seed alone, the matches of a group, in which the seats are swapped, all begin alike.
"""

from __future__ import annotations

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Match
from gymposium.streams import stream


def open_match(game: Game, seed: int, plies: int) -> tuple[Match, int]:
    """A new match after so many random plies, and their number: fewer where the next one would end the match. In a ply
    all seats to move do, each by any legal move, each as likely.

    Raises `BadOption` for a game that takes free text, where there is nothing to draw from."""
    match = game.new(seed)
    if plies == 0:
        return match, 0
    rng = stream(seed, "opening")
    drawn: list[dict[int, str]] = []
    while len(drawn) < plies:
        moves: dict[int, str] = {}
        for seat in match.to_move():
            legal = match.legal_moves(seat)
            if legal is None:
                raise BadOption(
                    f"{game.name} takes free text, so there are no moves to draw an opening from: opening=0."
                )
            moves[seat] = legal[int(rng.random() * len(legal))]
        match.apply(moves)
        if not match.to_move():
            return _played(game, seed, drawn), len(drawn)
        drawn.append(moves)
    return match, plies


def _played(game: Game, seed: int, plies: list[dict[int, str]]) -> Match:
    match = game.new(seed)
    for moves in plies:
        match.apply(moves)
    return match
