"""Files of chats and of match records: the lessons that a cold start imitates."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gymposium import load_game, make_player
from gymposium.errors import BadOption
from gymposium.match import MatchJob, play
from gymposium.players.teaching import CachedTeacher
from gymposium.records import Keep, Record, compress_records, recommend_in_records, write_records
from gymposium.replies.reading import READERS
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.players.synth import SynthData, SynthSelection, choose_per
from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import change_config
from gymposium_train.run.lessons import Lesson, TaughtPlay, read_chats, read_files


def make_config(*files: Path, **records: Any) -> TrainConfig:
    settings = [f"cold_start.records.{name}={value}" for name, value in records.items()]
    return change_config(TrainConfig(), f"cold_start.data={json.dumps([*map(str, files)])}", *settings)


def play_records(name: str, *players: str, matches: int = 4) -> list[Record]:
    game, seated = load_game(name), [make_player(player) for player in players]
    jobs = (MatchJob(f"m-{n}", game, seated, n, player_seed=n) for n in range(matches))
    return [Record.from_match(played) for played in play(jobs)]


@pytest.fixture
def records() -> list[Record]:
    return play_records("tic_tac_toe", "random", "mcts-5")


@pytest.fixture
def matches(tmp_path: Path, records: list[Record]) -> Path:
    write_records(tmp_path / "matches.jsonl", records)
    return tmp_path / "matches.jsonl"


@pytest.mark.parametrize("context", ["state", "full"])
@pytest.mark.parametrize(("keep", "player"), [("win", None), ("win,draw", "mcts-5"), ("all", "random")])
def test_records_give_the_lessons_of_their_chats(
    tmp_path: Path, records: list[Record], matches: Path, context: str, keep: str, player: str | None
) -> None:
    wanted = {"keep": keep} if player is None else {"keep": keep, "player": player}
    config = change_config(make_config(matches, **wanted), f"prompting.context={context}")
    settings = config.prompting.player_settings(0.0)
    per = choose_per(settings, None)
    data = SynthData(SynthSelection(settings=settings, keep=Keep.parse(keep), per=per, by=player))
    chats = tmp_path / "chats.jsonl"
    chats.write_text("".join(json.dumps(line) + "\n" for record in records for line in data.add(record)))
    expected = [replace(lesson, where="") for lesson in read_chats([chats], thinking=False)]
    assert [replace(lesson, where="") for lesson in read_files(config)] == expected
    assert {lesson.where.rpartition(":")[0] for lesson in read_files(config)} == {str(matches)}


@pytest.mark.parametrize("context", ["state", "full"])
@pytest.mark.parametrize(("name", "player"), [("tic_tac_toe", "exact"), ("kuhn_poker", "cfr-20")])
def test_chats_with_a_teacher_give_the_lessons_of_a_cold_start(
    tmp_path: Path, name: str, player: str, context: str
) -> None:
    records: list[Record] = []
    teacher, form = CachedTeacher(make_player(player)), READERS["move"]
    game = load_game(name)
    play = TaughtPlay(
        game,
        teacher,
        "compact",
        form,
        {},
        seed=0,
        tag="t",
        context=context,
        each=lambda one: records.append(Record.from_match(one)),
    )
    lessons, _ = play.lot(100, None)
    settings = PlayerSettings("compact", "move", context=context)
    data = SynthData(SynthSelection(settings=settings, keep=Keep(), per="turn", teacher=player))
    seats = [seat for record in records for seat in data.wanted.list_kept_seats(record)]
    recommended = recommend_in_records(CachedTeacher(make_player(player)), records, seats)
    chats = tmp_path / "chats.jsonl"
    chats.write_text("".join(json.dumps(line) + "\n" for one in records for line in data.add(one, recommended)))

    def list_all(found: list[Lesson]) -> list[Any]:
        return sorted((repr(one.messages), one.legal, one.taught) for one in found)

    assert list_all(read_chats([chats], thinking=False)) == list_all(lessons)


@pytest.mark.parametrize("form", ["records", "chats"])
def test_lines_of_games_that_are_not_learned_are_refused(tmp_path: Path, form: str) -> None:
    records, data = play_records("kuhn_poker", "random", "random"), tmp_path / "data.jsonl"
    if form == "records":
        write_records(data, records)
    else:
        lines = SynthData(SynthSelection(settings=PlayerSettings("compact", "move"), keep=Keep(), per="turn"))
        data.write_text("".join(json.dumps(line) + "\n" for record in records for line in lines.add(record)))
    config = make_config(data, keep="all")
    with pytest.raises(BadOption, match=r"data\.jsonl:1: from a match of kuhn_poker, but this run learns pig, hex"):
        read_files(change_config(config, 'games=["pig", "hex"]'))
    lessons = read_files(config)
    assert lessons == read_files(change_config(config, 'games=["pig", "kuhn_poker(players=3)"]'))


def test_chats_and_compressed_records_may_be_mixed(tmp_path: Path, matches: Path) -> None:
    plain = read_files(make_config(matches))
    chats = tmp_path / "chats.jsonl"
    chat = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    chats.write_text(json.dumps({"messages": chat}) + "\n")
    packed = compress_records(matches)
    assert packed.suffix == ".gz"
    found = read_files(make_config(chats, packed))
    assert [lesson.reply for lesson in found] == ["y", *(lesson.reply for lesson in plain)]


@pytest.mark.parametrize(
    ("records_of", "wanted", "message"),
    [
        (
            ("tic_tac_toe", "random", "mcts-5"),
            {"player": "mcts-50"},
            "no match of mcts-50. Its players: random",
        ),
        (("tic_tac_toe", "random", "mcts-5"), {"keep": '"return>=2"'}, "no seat of 4 matches is imitated"),
        (("tic_tac_toe", "random", "mcts-5"), {"keep": "best"}, "is not an outcome"),
        (("blackjack", "random"), {}, "single-player game"),
    ],
)
def test_records_without_lessons_are_refused(
    tmp_path: Path, records_of: tuple[str, ...], wanted: dict[str, str], message: str
) -> None:
    write_records(tmp_path / "matches.jsonl", play_records(*records_of))
    with pytest.raises(BadOption, match=message):
        read_files(make_config(tmp_path / "matches.jsonl", **wanted))


def test_invalid_records_are_refused_with_their_line(matches: Path) -> None:
    with matches.open("a") as file:
        file.write("{}\n")
    with pytest.raises(BadOption, match=r"matches\.jsonl:5: not a match record"):
        read_files(make_config(matches))
