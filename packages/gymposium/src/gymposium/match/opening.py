"""Openings: random moves with which a match may begin, before its players are asked.

Two deterministic players repeat the same match. Random first moves make the matches differ. They follow from the match
seed alone, so the matches of a group, in which the seats are swapped, all begin alike.
"""

from __future__ import annotations

from gymposium.errors import BadOption
from gymposium.games.protocol import Game, Match
from gymposium.util.streams import stream


def open_match(game: Game, seed: int, plies: int) -> tuple[Match, int]:
    """A new match after a number of random plies, and that number, which is less than `plies` if the next ply would end
    the match. In a ply every seat to move makes a legal move, drawn uniformly.

    Raises `BadOption` for a game that takes free text, which has no moves to draw from."""
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
        if not match.to_move():  # this ply ended the match: play those before it again
            match = game.new(seed)
            for moves in drawn:
                match.apply(moves)
            break
        drawn.append(moves)
    return match, len(drawn)
