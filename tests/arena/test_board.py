"""Boards: their suites, their entries, and their locks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gymposium.errors import BadOption, BadRecord, UnknownName
from gymposium_arena.board import Board
from gymposium_arena.suite import parse_suite

TEXT = 'name = "s"\nplayers = ["random", "greedy"]\n[[games]]\nname = "tic_tac_toe"\n[[games]]\nname = "kuhn_poker"\n'
SUITE = parse_suite(TEXT)


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return Board.open_or_create(tmp_path / "board", SUITE)


def test_new_board_has_the_players_of_its_suite(board: Board) -> None:
    assert board.suite == SUITE
    assert [(entry.number, entry.player, entry.seed, entry.own) for entry in board.entries()] == [
        (0, "random", 0, True),
        (1, "greedy", 0, True),
    ]
    assert Board.open_or_create(board.path, SUITE).entries() == Board(board.path).entries() == board.entries()


def test_refuses_another_suite(board: Board) -> None:
    with pytest.raises(BadOption, match=r"it has 'groups = 40' instead of 'groups = 41'\. .* another --out"):
        Board.open_or_create(board.path, parse_suite("groups = 41\n" + TEXT))


def test_players_are_added_once_at_the_end(board: Board) -> None:
    [entry] = board.add(["mcts-5"], None, ["kuhn_poker"])
    assert (entry.number, entry.seed, entry.own, entry.games) == (2, None, False, ("kuhn_poker",))
    assert board.add(["mcts-5"], None) == [entry]
    with pytest.raises(BadOption, match="--seed: mcts-5 is already on the board without --seed, not with 7"):
        board.add(["mcts-5"], 7)
    assert board.add(["mcts-6"], 7)[0].games == ("tic_tac_toe", "kuhn_poker")
    assert [one.number for one in board.entries()] == [0, 1, 2, 3]
    with pytest.raises(UnknownName):
        board.add(["mcst-5"], None)
    with pytest.raises(BadOption, match="has no game chess"):
        board.add(["mcts-7"], None, ["chess"])


@pytest.mark.parametrize(
    ("refused", "why"),
    [("mcst-5", "mcst-5"), ("cfr-5", "cannot be entered in tic_tac_toe"), ("random", "already on the board")],
)
def test_adding_players_is_atomic(board: Board, refused: str, why: str) -> None:
    before = board.entries()
    for players in (["mcts-5", refused], [refused, "mcts-5"], ["mcts-5", "mcts-6", refused, "mcts-7"]):
        with pytest.raises(BadOption, match=f"^--add {refused}: .*{why}.* None of the {len(players)} players was"):
            board.add(players, 7)
        assert board.entries() == before
    added = board.add(["mcts-5", "mcts-6", "mcts-5"], 7)
    assert [(entry.player, entry.number) for entry in added] == [("mcts-5", 2), ("mcts-6", 3), ("mcts-5", 2)]
    assert board.entries() == [*before, *added[:2]]


@pytest.mark.parametrize(
    ("player", "game", "why"),
    [
        ("cfr-5", "tic_tac_toe", "has perfect information"),
        ("hold-20", "tic_tac_toe", "plays only pig"),
        ("exact", "kuhn_poker", "need two seats that alternate, perfect information"),
        pytest.param("cfr-5", "phantom_ttt", "histories", marks=pytest.mark.slow),
        ("openspiel-bot:uniform_random", "kuhn_poker", "hide something"),
        ("mcts-5", "openspiel:battleship", "does not play openspiel:battleship"),
        ("greedy", "openspiel:battleship", "does not play openspiel:battleship"),
    ],
)
def test_refuses_players_that_cannot_play_the_game(player: str, game: str, why: str, tmp_path: Path) -> None:
    """Neither by a suite nor later, and nothing is written."""
    board = Board.open_or_create(tmp_path / "board", parse_suite(f'name = "s"\n[[games]]\nname = "{game}"\n'))
    with pytest.raises(BadOption, match=f"{player} cannot be entered in {game}: .*{why}"):
        board.add([player], 0)
    assert board.entries() == []
    if player != "cfr-5" or game != "phantom_ttt":
        with pytest.raises(BadOption, match="cannot be entered"):
            Board.open_or_create(
                tmp_path / "other", parse_suite(f'name = "s"\nplayers = ["{player}"]\n[[games]]\nname = "{game}"\n')
            )
        assert not (tmp_path / "other").exists()


def test_invalid_entries_are_refused(board: Board) -> None:
    file = board.entry_file("greedy")
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "player": "mcts-5"}))
    with pytest.raises(BadOption, match="belongs in the folder 'mcts-5'"):
        board.entries()
    file.write_text(json.dumps({**data, "number": 2}))
    with pytest.raises(BadOption, match="must count up from 0"):
        board.entries()
    for text in ("{", "[]", '{"format": "x"}', json.dumps({**data, "more": 1}), json.dumps({"format": data["format"]})):
        file.write_text(text)
        with pytest.raises(BadRecord, match=r"entry\.json holds no entry"):
            board.entries()


def test_board_lock_excludes_a_second_tournament(board: Board) -> None:
    with board.lock(), pytest.raises(BadOption, match="is running"), Board(board.path).lock():
        pass
    with board.lock():
        pass
