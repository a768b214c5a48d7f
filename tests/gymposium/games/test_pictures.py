"""Pictures of boards agree with the words on every square."""

from __future__ import annotations

import random
from itertools import chain
from xml.etree import ElementTree as ET

import pytest

from gymposium import load_game
from gymposium.games.pictures import board, cross
from gymposium.games.protocol import Draws, Match

SVG = "{http://www.w3.org/2000/svg}"


def pieces(picture: str) -> list[list[str]]:
    """Return the drawing on each square, row by row from the top, or "" for an empty square."""
    markup = picture[picture.index("<svg ") :].replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    root = ET.fromstring(markup)
    looks = {f"#{one.get('id')}": ET.tostring(one[0], encoding="unicode") for one in root.iter(f"{SVG}symbol")}
    drawn = {(int(one.attrib["y"]), int(one.attrib["x"])): looks[one.attrib["href"]] for one in root.iter(f"{SVG}use")}
    [squares] = root.iter(f"{SVG}rect")
    height, width = int(squares.attrib["height"]), int(squares.attrib["width"])
    assert all(y < height and x < width for y, x in drawn)
    return [[drawn.get((y, x), "") for x in range(width)] for y in range(height)]


def words(match: Match, seat: int, squares: str) -> list[list[str]]:
    """Return the board in the text: the lines that hold only squares, after the names of rows."""
    lines = [line.split() for line in match.observe(seat).text.split("\n")]
    cells = [[cell for cell in line if cell in squares and len(cell) == 1] for line in lines]
    return [row for row, line in zip(cells, lines) if row and len(line) - len(row) <= 1]


@pytest.mark.parametrize(
    ("game", "squares"),
    [
        ("tic_tac_toe", ".xo"),
        ("connect_four", ".xo"),
        ("connect_four(columns=12,rows=5,x_in_row=4)", ".xo"),
        ("chess", ".kqrbnpKQRBNP"),
    ],
)
def test_a_picture_shows_the_board_that_the_words_tell(game: str, squares: str) -> None:
    rng, match = random.Random(3), load_game(game).new(0)
    looks: dict[str, str] = {".": ""}
    for _ in range(40):
        for seat in (0, 1):
            assert isinstance(match, Draws)
            picture, told = pieces(match.render_html(seat) or ""), words(match, seat, squares)
            assert [len(row) for row in picture] == [len(row) for row in told]
            for drawn, said in zip(chain(*picture), chain(*told)):
                assert looks.setdefault(said, drawn) == drawn
        if not match.to_move():
            break
        match.apply({seat: rng.choice(match.legal_moves(seat) or []) for seat in match.to_move()})
    assert len(set(looks.values())) == len(looks) == len(squares)  # each piece has a look of its own


def test_a_match_without_pictures_has_none() -> None:
    for game in ("kuhn_poker", "openspiel:tic_tac_toe"):
        match = load_game(game).new(0)
        assert not isinstance(match, Draws) or match.render_html(0) is None


def test_what_a_picture_tells_in_words_is_escaped() -> None:
    assert "<script>" not in board(["x"], {"x": cross()}, told='"><script>alert(1)</script>')
