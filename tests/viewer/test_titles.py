"""Titles of games and seats: as in the rules, with the colors of the pieces."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gymposium import load_game
from gymposium.plugins.host import host
from gymposium.plugins.specs import GameSpec
from gymposium_viewer.titles import game_title, seat_class, seat_name, seat_title

from .conftest import write

NAMED = sorted(name for name, spec in host().games.items() if spec.seat_names)
SIDES = re.compile(r"\bYou (?:are|play|begin as) ([A-Za-z]+)\b")


@pytest.mark.parametrize("name", NAMED)
def test_seat_names_match_the_rules(name: str) -> None:
    game = load_game(name)
    assert len(game.spec.seat_names) == game.seats
    for seat in range(game.seats):
        assert seat_name(name, seat).split(", ")[-1] in SIDES.findall(game.rules(seat))


def test_rules_naming_sides_require_seat_names() -> None:
    """`You play x` or `You are Black`, different for each seat."""
    for name, spec in host().games.items():
        game = load_game(name)
        called = [SIDES.findall(game.rules(seat))[-1:] for seat in range(game.seats)]
        different = game.seats > 1 and len({*map(tuple, called)}) == game.seats and all(called)
        fixed = all(one.name != "players" for one in spec.parameters)
        if different and fixed and called[0] != ["first"]:
            assert spec.seat_names, (name, called)


def test_seats_have_the_colors_of_their_pieces() -> None:
    assert [seat_class("chess", seat) for seat in (0, 1)] == ["seat-0 black", "seat-1 white"]
    assert [seat_class("go(board_size=9)", seat) for seat in (0, 1)] == ["seat-0 black", "seat-1 white"]
    assert [seat_class("checkers", seat) for seat in (0, 1)] == ["seat-0 white", "seat-1 black"]
    assert [seat_class("tic_tac_toe", seat) for seat in (0, 1)] == ["seat-0", "seat-1"]
    assert seat_class("goofspiel", 7) == "seat-1"


def test_titles_replace_names() -> None:
    assert game_title("chess") == "Chess"
    assert game_title("goofspiel(num_cards=4)") == "Goofspiel (num_cards=4)"
    for other in ("openspiel:nim", "nobody_knows(a=1)", "<b>(", "", "gym:os:System-v0"):
        assert game_title(other) == other
        assert seat_title(other, 3) == "Seat 3"
    assert seat_title("chess", 0) == "Seat 0 (Black)"
    assert seat_title("chess", 5) == "Seat 5", "of a record that has too many players"


def test_all_seats_are_named_or_none() -> None:
    with pytest.raises(ValueError, match="seat_names must have 2 names or none"):
        GameSpec(name="a", title="A", summary="", entry_point="a:b", seat_names=("x",))


@pytest.mark.slow
def test_pages_say_who_is_black(serve: Any, look: Any, tmp_path: Path) -> None:
    write(tmp_path / "runs" / "chess.jsonl", "chess", ["random", "random"], seeds=[0])
    address = serve(tmp_path / "runs")
    page = look.at(f"{address}matches.html")
    assert page.locator("td.game").inner_text() == "Chess"
    page = look.at(f"{address}matches/chess.jsonl/1.html#step-0-all")
    assert page.locator("h1").inner_text() == "Chess"
    assert page.locator(".seats .line .who").all_inner_texts() == ["Seat 0 (Black)", "Seat 1 (White)"]
    assert "Seat 1 (White)" in page.locator("#step-0 .act h4").inner_text()
    dot = "element => getComputedStyle(element, '::before').backgroundColor"
    colors = [one.evaluate(dot) for one in page.locator(".seats .line .who").all()]
    assert colors == ["rgb(38, 38, 42)", "rgb(255, 255, 255)"]
    page = look.at(f"{address}play/new.html?game=chess")
    assert page.locator("#seat option").all_inner_texts() == ["drawn", "seat 0 (Black)", "seat 1 (White)"]
