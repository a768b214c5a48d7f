"""SVG pictures of positions, for people who view matches in a browser (`gymposium.games.protocol.PictureMatch`).

A picture consists of parts, such as a board, a hand of cards or a line of text. People can click on its named places,
such as squares and cards. Pictures contain no scripts and load nothing. Their colors follow the browser's light or dark
scheme.
"""

from gymposium.games.pictures.boards import edges, find_line, grid, points, walled
from gymposium.games.pictures.cards import dice, hand, piles
from gymposium.games.pictures.hexagons import hexes
from gymposium.games.pictures.picture import Picture, PicturePart, PicturePlace, find_places, last_turn
from gymposium.games.pictures.pieces import cross, disc, glyph, ring, tile
from gymposium.games.pictures.rows import pits, stacks
from gymposium.games.pictures.tables import code, note, table, track

__all__ = [
    "Picture",
    "PicturePart",
    "PicturePlace",
    "code",
    "cross",
    "dice",
    "disc",
    "edges",
    "find_line",
    "find_places",
    "glyph",
    "grid",
    "hand",
    "hexes",
    "last_turn",
    "note",
    "piles",
    "pits",
    "points",
    "ring",
    "stacks",
    "table",
    "tile",
    "track",
    "walled",
]
