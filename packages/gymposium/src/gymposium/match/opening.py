"""Openings: optional random moves at the start of a match, before any player is asked.

Two deterministic players would repeat the same match, and random first moves make their matches differ. The moves
depend only on the match seed, so the matches in a seat-swapped group begin alike.
"""

from __future__ import annotations

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Match
from gymposium.util.streams import stream


def open_match(game: Game, seed: int, plies: int) -> tuple[Match, int]:
    """Return a new match after random plies, and their number.

    The number is less than `plies` if the next ply would end the match. In a ply, every seat to move makes a uniformly
    drawn legal move.

    Raises `BadOption` for a free-text game, which has no moves to draw from."""
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
                    f"{game.name} is a free-text game without a list of moves to draw an opening from. Use opening=0."
                )
            moves[seat] = legal[int(rng.random() * len(legal))]
        match.apply(moves)
        if not match.to_move():  # this ply ended the match: replay the plies before it
            match = game.new(seed)
            for moves in drawn:
                match.apply(moves)
            break
        drawn.append(moves)
    return match, len(drawn)
