"""Suites: defaults, refused settings, and round trips through TOML."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gymposium.errors import GymposiumError
from gymposium_arena.suite import parse_suite, read_suite

SUITES = sorted((Path(__file__).parents[2] / "benchmarks/leaderboard").glob("*.toml"))
TINY = 'name = "tiny"\nplayers = ["random", "greedy"]\n[[games]]\nname = "tic_tac_toe"\n'


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_bundled_suites_are_playable(path: Path) -> None:
    suite = read_suite(path)
    assert suite.name == path.stem
    assert parse_suite(suite.text()) == suite
    for game in suite.games:
        assert len(game.players) >= 2


def test_quick_suite_has_six_games_and_players() -> None:
    quick = next(read_suite(path) for path in SUITES if path.stem == "quick")
    assert [(game.groups, len(game.players)) for game in quick.games] == [(40, 6)] * 6


def test_defaults_are_written_out() -> None:
    suite = parse_suite(TINY + '[[games]]\nname = "leduc_poker()"\ngroups = 3\nplayers = ["cfr-10"]\n')
    one, other = suite.games
    assert (one.groups, one.opening, one.players) == (40, 4, ("random", "greedy"))
    assert (other.name, other.groups, other.opening, other.players) == ("leduc_poker", 3, 0, ("cfr-10",))
    assert suite.players == ("random", "greedy", "cfr-10")
    assert parse_suite(suite.text()).digest == suite.digest != parse_suite(TINY).digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "invalid TOML"),
        ('name = "a"', "no games"),
        (TINY.replace("players", "plyers"), "'plyers'. Did you mean 'players'?"),
        (TINY + "gruops = 3\n", "option of game 1 'gruops'. Did you mean 'groups'?"),
        (TINY + "groups = 0\n", "groups = 0: give 1 or more"),
        (TINY + 'groups = "many"\n', "must be an integer"),
        (TINY + "opening = -1\n", "opening = -1: give 0 or more"),
        (TINY.replace("tic_tac_toe", "tic_tac_to"), "Did you mean 'tic_tac_toe'"),
        (TINY.replace("greedy", "greedi"), "'greedi'. Did you mean 'greedy'"),
        (TINY.replace("greedy", "human"), "players human: a person can play only one match"),
        (TINY.replace("greedy", "random"), "duplicate in players of tic_tac_toe: random"),
        (TINY + '[[games]]\nname = "tic_tac_toe"\n', "duplicate in games: tic_tac_toe"),
        (TINY.replace('"tiny"', '"Tiny one"'), "lower-case letters"),
        ("watchdog = 0.0\n" + TINY, "seconds greater than 0"),
        ('on_illegal = "sometimes"\n' + TINY, "Unknown policy"),
        (TINY + '[[games]]\nname = "trace"\nopening = 2\n', "takes free text"),
    ],
)
def test_invalid_suites_are_refused_with_a_reason(text: str, said: str) -> None:
    with pytest.raises(GymposiumError, match=re.escape(said)):
        parse_suite(text)


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(GymposiumError, match=re.escape(f"Cannot read the suite {tmp_path / 'no.toml'}")):
        read_suite(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("x = 1")
    with pytest.raises(GymposiumError, match=re.escape(f"Invalid suite {tmp_path / 'bad.toml'}: no games")):
        read_suite(tmp_path / "bad.toml")
