"""SVG pictures of positions, for people who view matches in a browser (`gymposium.games.protocol.PictureMatch`).

A picture consists of parts, such as a board, a hand of cards or a line of text. People can click on its named places,
such as squares and cards. Pictures contain no scripts and load nothing. Their colors follow the browser's light or dark
scheme. `gymposium.games.pictures.pixels` renders them as images.
"""

from gymposium.games.pictures.boards import draw_edges, draw_grid, draw_points, draw_walled_board, find_line
from gymposium.games.pictures.cards import draw_dice, draw_hand, draw_piles
from gymposium.games.pictures.hexagons import draw_hexes
from gymposium.games.pictures.picture import Picture, PicturePart, PicturePlace, find_last_turn, find_places
from gymposium.games.pictures.pieces import draw_cross, draw_disc, draw_glyph, draw_ring, draw_tile
from gymposium.games.pictures.rows import draw_pits, draw_stacks
from gymposium.games.pictures.tables import draw_code, draw_note, draw_score_track, draw_table

__all__ = [
    "Picture",
    "PicturePart",
    "PicturePlace",
    "draw_code",
    "draw_cross",
    "draw_dice",
    "draw_disc",
    "draw_edges",
    "draw_glyph",
    "draw_grid",
    "draw_hand",
    "draw_hexes",
    "draw_note",
    "draw_piles",
    "draw_pits",
    "draw_points",
    "draw_ring",
    "draw_score_track",
    "draw_stacks",
    "draw_table",
    "draw_tile",
    "draw_walled_board",
    "find_last_turn",
    "find_line",
    "find_places",
]
