"""The question game: generated arithmetic, files, and the calculating player."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gymposium import load_game, make_player
from gymposium.errors import BadParameter, BadRecord, GymposiumError
from gymposium.games.protocol import CHANCE, Event
from gymposium.match import MatchJob, play
from gymposium_testing import QUICK, GameConformance
from gymposium_worlds.qa.arithmetic import Arithmetic


class TestQuestions(GameConformance):
    game = "qa"
    effort = QUICK


def list_questions(name: str, count: int = 300) -> list[str]:
    game = load_game(name)
    return [game.new(seed).observe(0, "compact").text for seed in range(count)]


def test_player_answers_all_arithmetic() -> None:
    game = load_game("qa", digits=3, operations="add_subtract_multiply")
    results = [*play(MatchJob(f"m{n}", game, [make_player("arithmetic")], n) for n in range(100))]
    assert [result.paid for result in results] == [(1.0,)] * 100


def test_splits_are_disjoint() -> None:
    train, test = {*list_questions("qa")}, {*list_questions("qa(split=test)")}
    assert not train & test
    assert len(train) > 250
    assert all(text.count("+") == 1 for text in train | test)


def test_all_digit_counts_and_operations_occur() -> None:
    drawn = [Arithmetic(2, "add_subtract_multiply", "train").draw(seed).question for seed in range(500)]
    numbers = {len(part) for question in drawn for part in question.split() if part.isdigit()}
    assert numbers == {1, 2}
    assert {question.split()[1] for question in drawn} == {"+", "-", "*"}


def test_questions_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    rows = [
        {"question": "Two and two?", "answer": 4},
        {"question": "Sky?", "answer": "blue", "choices": ["red", "blue"]},
    ]
    file.write_text("\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    game = load_game("qa", file=str(file))
    assert {game.new(seed).observe(0).text for seed in range(20)} == {"Two and two?\n", "Sky?\nA. red\nB. blue\n"}
    match = game.new(0)
    match.apply({0: "4.0" if "Two" in match.observe(0).text else "b"})
    assert match.returns() == (1.0,)
    assert "which is right" in match.observe(0).text
    file.unlink()
    assert game.load(match.events).returns() == (1.0,), "a record needs no file"


def test_arithmetic_parameters_are_refused_with_a_file() -> None:
    with pytest.raises(BadParameter, match="split applies only to arithmetic"):
        load_game("qa", file="mine.jsonl", split="test")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "contains no questions"),
        (b'{"question": "?", "answer": 1}\n{"question": "?"}\n', "line 2 is not a valid question"),
        (b'\n{"question": "?", "answer": 1}\n\n{"question": "?"}\n', "line 4 is not a valid question"),
        (
            b'{"question": "?", "question": "!", "answer": 1}\n',
            "line 1 is not a valid question: the key 'question' is repeated",
        ),
        (b"\xff\xfe", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_invalid_files_are_named_with_their_line(content: bytes | None, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadParameter, match=reason):
        load_game("qa", file=str(file)).new(0)


def test_csv_files_are_read_by_datasets(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    file = tmp_path / "mine.csv"
    file.write_text("question,answer\nOne and one?,2\n", encoding="utf-8")
    assert load_game("qa", file=str(file)).new(0).observe(0).text == "One and one?\n"


def test_invalid_records_are_refused() -> None:
    game = load_game("qa")
    for events in ([], [Event(0, "4")], [Event(CHANCE, "{}")], [*game.new(0).events, Event(1, "4")]):
        with pytest.raises(BadRecord):
            game.load(events)


def test_player_refuses_other_questions(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"question": "Sky?", "answer": "blue"}', encoding="utf-8")
    game = load_game("qa", file=str(file))
    with pytest.raises(GymposiumError, match="answers only arithmetic questions"):
        [*play([MatchJob("m", game, [make_player("arithmetic")], 0)])]
