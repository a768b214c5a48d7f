"""Transcripts beside these tests, word for word. Written anew by
`python -m gymposium.testing.golden tests/golden`, and read by somebody before they are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from gymposium.testing.golden import file_name, golden_games, main, transcript

FOLDER = Path(__file__).parents[2] / "golden"
HOW = "Run  python -m gymposium.testing.golden tests/golden  and read what changed."


@pytest.mark.parametrize("game", golden_games(), ids=lambda game: game.name)
def test_the_transcript_is_as_it_was(game: object) -> None:
    path = FOLDER / file_name(game)  # type: ignore[arg-type]
    assert path.is_file(), f"{path.name} is missing. {HOW}"
    assert transcript(game) == path.read_text(encoding="utf-8"), HOW  # type: ignore[arg-type]


def test_there_is_a_transcript_for_every_game_and_none_besides() -> None:
    assert {file_name(game) for game in golden_games()} == {path.name for path in FOLDER.iterdir()}


def test_writing_them_anew_changes_nothing(tmp_path: Path) -> None:
    main([str(tmp_path)])
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_bytes() for path in FOLDER.iterdir()}
