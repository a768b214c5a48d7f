"""Pictures show the board of the text, name places like moves, and mark the last move."""

from __future__ import annotations

import random
import runpy
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gymposium import load_game
from gymposium.games.pictures import (
    Picture,
    draw_cross,
    draw_grid,
    draw_hand,
    draw_hexes,
    draw_note,
    draw_table,
    find_last_turn,
    find_line,
    find_places,
)
from gymposium.games.protocol import Match, PictureMatch
from gymposium.plugins.host import Host

SVG = "{http://www.w3.org/2000/svg}"


def parse_root(picture: Picture) -> ET.Element:
    return ET.fromstring(picture.html[picture.html.index("<svg ") :].replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1))


def pieces(picture: Picture) -> list[list[str]]:
    """Return the drawing on each square, row by row from the top, or "" for an empty square."""
    root = parse_root(picture)
    looks = {f"#{one.get('id')}": ET.tostring(one[0], encoding="unicode") for one in root.iter(f"{SVG}symbol")}
    drawn = {(int(one.attrib["y"]), int(one.attrib["x"])): looks[one.attrib["href"]] for one in root.iter(f"{SVG}use")}
    squares = next(root.iter(f"{SVG}rect"))
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
        ("gomoku(size=7,connect=4)", ".bw"),
        ("othello", ".xo"),
        ("clobber", ".xo"),
        ("breakthrough", ".bw"),
        ("go", ".XO"),
        ("lines_of_action", ".xo"),
        ("phantom_ttt", ".xo"),
        ("chess", ".kqrbnpKQRBNP"),
    ],
)
def test_picture_shows_the_board_of_the_text(game: str, squares: str) -> None:
    rng, match = random.Random(3), load_game(game).new(0)
    looks: dict[str, str] = {".": ""}
    for _ in range(40):
        for seat in (0, 1):
            assert isinstance(match, PictureMatch)
            shown = match.draw_picture(seat)
            assert shown is not None
            picture, told = pieces(shown), words(match, seat, squares)
            assert [len(row) for row in picture] == [len(row) for row in told]
            for drawn, said in zip(chain(*picture), chain(*told)):
                assert looks.setdefault(said, drawn) == drawn
        if not match.to_move():
            break
        match.apply({seat: rng.choice(match.legal_moves(seat) or []) for seat in match.to_move()})
    assert len(set(looks.values())) == len(looks) == len(squares)  # each piece has a look of its own


NOT_ON_A_BOARD = {
    *("pass", "bet", "fold", "call", "raise", "check", "pot", "all-in", "liar", "hit", "stand", "roll", "stop"),
    *("agree", "draw", "knock", "alone", "partner", "end", "clubs", "diamonds", "hearts", "spades"),
}
"""Moves without a place on the board. So are offers, hints and messages."""


@pytest.mark.parametrize("game", [*Host(autoload=False).games])
def test_every_game_draws_and_its_moves_name_places(game: str) -> None:
    rng, match = random.Random(1), load_game(game).new(1)
    for _ in range(25):
        for seat in match.to_move():
            assert isinstance(match, PictureMatch)
            picture = match.draw_picture(seat)
            assert picture is not None
            names = {place.name for place in picture.places}
            for move in match.legal_moves(seat) or ():
                said = move.split()[0] in ("take", "say", "hint", "lay")
                said = said or game == "coin_game"  # where steps off the board are legal
                assert find_places(move, names) or move in NOT_ON_A_BOARD or said, (move, names)
        if not match.to_move():
            break
        match.apply({seat: rng.choice(match.legal_moves(seat) or []) for seat in match.to_move()})


def test_plugin_rules_can_draw() -> None:
    plugin = runpy.run_path(str(Path(__file__).parents[3] / "docs" / "examples" / "nim.py"))
    [spec] = plugin["gymposium_games"]()
    match = plugin["game"](spec, {"sticks": 5}).new(0)
    assert [place.name for place in match.draw_picture(0).places] == ["take 3", "take 2", "take 1"]


def test_plain_engine_games_have_no_picture() -> None:
    match = load_game("openspiel:tic_tac_toe").new(0)
    assert isinstance(match, PictureMatch)
    assert match.draw_picture(0) is None


@pytest.mark.parametrize(
    ("move", "names", "found"),
    [
        ("b2", "a1 b2", "b2"),
        ("e2e4", "e2 e4", "e2 e4"),
        ("e7e8q", "e7 e8", "e7 e8"),  # a promotion
        ("a1a11", "a1 a11", "a1 a11"),
        ("13/7 8/7", "13 7 8", "13 7 8 7"),
        ("bar/22 5/off", "bar 22 5 off", "bar 22 5 off"),
        ("7h to 8c", "7h 8c", "7h 8c"),
        ("discard 7h", "7h", "7h"),
        ("agree", "a g", ""),  # letters of a word are no places
        ("a2v", "a2", ""),  # nor is the square beside a wall
        ("play 1", "play_1", ""),
    ],
)
def test_places_are_found_in_a_move(move: str, names: str, found: str) -> None:
    assert find_places(move, names.split()) == found.split()


def test_move_named_like_a_place_names_no_other() -> None:
    assert find_places("5/3", {"5", "3", "5/3"}) == ["5/3"]


def test_last_turn_joins_a_seats_latest_moves() -> None:
    assert find_last_turn([]) == ""
    assert find_last_turn([(0, "a"), (1, "b"), (-1, "Roll 3"), (1, "c")]) == "b c"


def marked(picture: Picture) -> int:
    return picture.html.count('stroke="var(--mark-line)"')


def test_last_move_and_winning_line_are_marked() -> None:
    match = load_game("chess").new(0)
    assert isinstance(match, PictureMatch)
    assert marked(match.draw_picture(0) or Picture("", 1, 1)) == 0
    match.apply({1: "e2e4"})
    assert marked(match.draw_picture(0) or Picture("", 1, 1)) == 2
    match = load_game("tic_tac_toe").new(0)
    for number, move in enumerate(("a1", "a2", "b1", "b2", "c1")):
        assert isinstance(match, PictureMatch)
        assert "var(--won)" not in (match.draw_picture(0) or Picture("", 1, 1)).html.partition("</style>")[2]
        match.apply({number % 2: move})
    assert isinstance(match, PictureMatch)
    assert "M.5 2.5L1.5 2.5L2.5 2.5" in (match.draw_picture(0) or Picture("", 1, 1)).html.replace("0.5", ".5")


def test_winning_chain_is_marked() -> None:
    rows = ["x.", "xo"]
    names = [["a1", "b1"], ["a2", "b2"]]
    stones = {"x": "one", "o": "two"}
    drawn = Picture.from_parts(draw_hexes(rows, stones, starts=[0, 0.5], names=names, last="a2", won=True), told="hex")
    [chain] = [one.attrib["d"] for one in parse_root(drawn).iter(f"{SVG}path") if one.get("stroke") == "var(--won)"]
    assert chain.count("h0") == 2


def test_lines_are_found_in_every_direction() -> None:
    assert find_line(["..x", ".x.", "x.."], 3) == [(2, 0), (1, 1), (0, 2)]
    assert find_line(["xx.", "...", "..."], 3) == []


def test_parts_and_their_places_stack_vertically() -> None:
    board = draw_grid(["x."], {"x": draw_cross()}, row_names="1", column_names="ab")
    picture = Picture.from_parts(
        board, draw_hand(["Ah", "?"], "Your hand"), draw_table([["2x4"]], places=True), told="all"
    )
    tops = {place.name: place.y for place in picture.places}
    assert list(tops) == ["a1", "b1", "Ah", "2x4"]  # a card that is face down is no place
    assert tops["a1"] < board.height < tops["Ah"] < tops["2x4"] < picture.height


def test_picture_text_is_escaped() -> None:
    hostile = '"><script>alert(1)</script>'
    picture = Picture.from_parts(
        draw_note(hostile), draw_table([[hostile]]), draw_hand([hostile], hostile), told=hostile
    )
    assert "<script>" not in picture.html
    parse_root(picture)
