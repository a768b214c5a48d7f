"""Golden transcripts of all built-in games and the games of our plugins, with all examples. `python -m
gymposium_testing.golden` writes them; read the changes before you keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gymposium.games.openspiel.adapter import OpenSpielGame
from gymposium.games.protocol import Game, Match
from gymposium.plugins.host import host
from gymposium.plugins.specs import GameSpec
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import READERS
from gymposium_testing.golden import list_golden_games, main, make_file_name, make_transcript

from ..our_plugins import names_with_games

ROOT = Path(__file__).parents[3]
OURS, PLUGINS = ROOT / "tests" / "golden", ROOT / "tests" / "plugins" / "golden"
HOW = "Run  python -m gymposium_testing.golden FOLDER [PLUGIN]  and read what changed."


def list_plugin_games() -> dict[str, list[Game]]:
    """Return the games of the distributions in `plugins/`, by plugin."""
    found = {plugin.name: plugin.specs for plugin in host().plugins}
    return {name: list_golden_games([s for s in found[name] if isinstance(s, GameSpec)]) for name in names_with_games()}


KEPT = [(OURS, game) for game in list_golden_games()] + [
    (PLUGINS, game) for games in list_plugin_games().values() for game in games
]


@pytest.mark.parametrize(("folder", "game"), KEPT, ids=lambda part: part.name)
def test_transcript_is_unchanged(folder: Path, game: Game) -> None:
    path = folder / make_file_name(game)
    assert path.is_file(), f"{path.name} is missing. {HOW}"
    assert make_transcript(game) == path.read_text(encoding="utf-8"), HOW


@pytest.mark.parametrize("folder", [OURS, PLUGINS], ids=["ours", "plugins"])
def test_transcripts_match_the_games(folder: Path) -> None:
    assert {make_file_name(game) for where, game in KEPT if where == folder} == {path.name for path in folder.iterdir()}


def test_writes_transcripts_of_the_named_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(tmp_path), "goofspiel", "2048(max_tile=16)"])
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ours = {path.name: path.read_bytes() for path in OURS.glob("goofspiel*")}
    assert written == {**ours, "2048-max_tile=16.txt": (PLUGINS / "2048-max_tile=16.txt").read_bytes()}
    assert capsys.readouterr().out.count("\n") == len(written)
    with pytest.raises(SystemExit, match="Usage"):
        main([])


def test_long_match_shows_its_beginning_and_end() -> None:
    text = (PLUGINS / "2048.txt").read_text(encoding="utf-8")
    assert text.count("-- seat 0, full\n") == 15
    assert text.count(">> seat 0: ") > 50


def full(match: Match, seat: int) -> str:
    return get_prompt(match.game, "full", READERS["move"])(match.observe(seat))


@pytest.mark.parametrize("game", list_golden_games(), ids=lambda game: game.name)
def test_every_prompt_lists_the_legal_moves_and_the_side(game: OpenSpielGame) -> None:
    match = game.new(3)
    while seats := match.to_move():
        for seat in seats:
            assert f"Legal moves: {', '.join(match.legal_moves(seat))}\n" in full(match, seat)
            for style in ("full", "compact"):
                assert "you" in game.rules(seat, style).lower() or game.spec.name in ("goofspiel", "solitaire")
        match.apply({seat: match.legal_moves(seat)[-1] for seat in seats})
