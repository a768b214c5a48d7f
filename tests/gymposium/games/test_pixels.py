"""Pictures as pixels: sharp, equal on every machine, and of the seat's view alone."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from gymposium import load_game
from gymposium.errors import MissingExtra, PluginError
from gymposium.games.pictures import Picture, draw_note
from gymposium.games.pictures.pixels import SIDE, draw_position, render_pixels, render_png

pytest.importorskip("resvg_py", reason='resvg-py is not installed: pip install "gymposium[images]"')


def count_marked(pixels: np.ndarray) -> int:
    """Return the number of pixels in the color of the last move, `--mark` of the light scheme."""
    return int((pixels == (0xFF, 0xE0, 0x8A)).all(axis=2).sum())


def test_a_board_fills_a_square_and_marks_the_last_move() -> None:
    match = load_game("tic_tac_toe").new(0)
    empty = render_pixels(draw_position(match, 0))
    assert (empty.shape, empty.dtype) == ((SIDE, SIDE, 3), np.uint8)
    match.apply({0: "b2"})
    played = render_pixels(draw_position(match, 0))
    changed = np.argwhere((empty != played).any(axis=2))
    assert changed.min(axis=0).tolist() > [SIDE / 4] * 2  # only the middle square
    assert changed.max(axis=0).tolist() < [SIDE * 3 / 4] * 2
    assert count_marked(empty) == 0
    assert count_marked(played) > 5_000


def test_text_and_pieces_have_the_font_that_is_shipped() -> None:
    """Without a font, resvg draws no text. Kings and pawns of chess, and a note, cover hundreds of pixels."""
    for picture in (Picture.from_parts(draw_note("♔♟♥ 10"), told="text"), draw_position(load_game("chess").new(0), 0)):
        blank = Picture(picture.html.replace("<text", "<desc").replace("</text", "</desc"), 1, 1)
        assert (render_pixels(picture) != render_pixels(blank)).any(axis=2).sum() > 400


def test_every_position_of_a_match_draws() -> None:
    match, rng = load_game("universal_poker").new(3), random.Random(0)
    while match.to_move():
        for seat in range(match.game.seats):
            assert render_png(draw_position(match, seat)).startswith(b"\x89PNG")
        match.apply({seat: rng.choice(match.legal_moves(seat) or []) for seat in match.to_move()})


def test_seats_of_a_hidden_deal_see_pictures_of_their_own() -> None:
    """A card that a seat cannot see changes no pixel of its picture."""
    views: dict[tuple[int, str], bytes] = {}
    worlds: dict[tuple[int, str], set[str]] = {}
    for seed in range(30):
        match = load_game("kuhn_poker").new(seed)
        for seat in (0, 1):
            key = seat, match.view(seat)
            png = render_png(draw_position(match, seat))
            assert views.setdefault(key, png) == png
            worlds.setdefault(key, set()).add(str(match.events))
    assert len(set(views.values())) == 3  # of three cards, one each
    assert all(len(deals) == 2 for deals in worlds.values())


def test_a_match_without_a_picture_shows_its_text() -> None:
    match = load_game("openspiel:tic_tac_toe").new(0)
    match.apply({0: "x(1,1)"})
    assert ">.x.</text>" in draw_position(match, 0).html


def test_third_party_pictures_may_have_sizes_fallback_colors_and_a_dark_scheme() -> None:
    style = "<style>svg{--a:#ff0000} @media (prefers-color-scheme:dark){svg{--a:#000}}</style>"
    svg = '<svg viewBox="0 0 2 1" width="9" height="7"><path fill="var(--a)" d="M0 0h1v1H0z"/>'
    picture = Picture(f'{style}{svg}<path fill="var(--b, #00f)" d="M1 0h1v1H1z"/></svg>', 2, 1)
    pixels = render_pixels(picture)
    assert pixels[SIDE // 2, SIDE // 4].tolist() == [255, 0, 0]
    assert pixels[SIDE // 2, SIDE * 3 // 4].tolist() == [0, 0, 255]
    assert pixels[20, SIDE // 2].tolist() == [255, 255, 255]


@pytest.mark.parametrize("html", ["<p>a table</p>", "<svg viewBox='0 0 1 1'><g></svg>"])
def test_other_pictures_are_an_error_of_their_plugin(html: str) -> None:
    with pytest.raises(PluginError, match="draw_picture"):
        render_png(Picture(html, 1, 1))


@pytest.mark.parametrize("library", ["resvg_py", "PIL"])
def test_a_missing_library_names_the_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    picture = Picture.from_parts(draw_note(f"without {library}"), told="a note")
    with pytest.raises(MissingExtra, match=r'pip install "gymposium\[images\]"'):
        render_pixels(picture)
