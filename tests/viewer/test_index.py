"""The match index: partial parsing, growing files, problems, filters."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from gymposium import load_game, make_player
from gymposium.errors import BadOption, BadRecord
from gymposium.match import MatchJob, play
from gymposium.match.ending import OVER, Ending
from gymposium.records import Record, read_records
from gymposium.records.files import MOST_EMPTY, MOST_INVALID
from gymposium.util.strict_json import LARGEST_AMOUNT
from gymposium_viewer.replays.index import MatchIndex
from gymposium_viewer.replays.match_filter import MatchFilter, list_facts
from gymposium_viewer.replays.reply_search import search_rows
from gymposium_viewer.replays.rows import Row, RowReader

_LIKE_KEYS = ['","game":"', '],"seed":', '],"returns":[', ',"prompts":[', '"reading":"illegal"', '{"id":"', "\\", '"']
texts = st.text(st.characters(), max_size=12) | st.sampled_from(_LIKE_KEYS)


def build_index(directory: Path) -> MatchIndex:
    index = MatchIndex(directory)
    index.refresh()
    return index


def a_record() -> Record:
    [played] = play([MatchJob("m", load_game("tic_tac_toe"), [make_player("random")] * 2, 3)])
    return Record.from_match(played)


@given(
    match_id=texts,
    players=st.lists(texts, max_size=3),
    said=st.lists(st.tuples(texts, st.sampled_from(["move", "illegal", "unparsable", "cut off"])), max_size=5),
    error=st.none() | texts,
    report=st.dictionaries(texts, st.floats(-LARGEST_AMOUNT, LARGEST_AMOUNT), max_size=2),
)
def test_partial_parsing_agrees_with_full_parsing(
    match_id: str, players: list[str], said: list[tuple[str, str]], error: str | None, report: dict[str, float]
) -> None:
    """Also if its texts look like keys."""
    record = a_record()
    record.id, record.players, record.reports = match_id, players, [report]
    record.ending = OVER if error is None else Ending("broke off", detail=error)
    record.turns = [{"seat": 0, "reading": reading, "text": text} for text, reading in said]
    line = record.line()
    by_pieces = RowReader("f").read_row(line.encode() + b"\n", 1, 0)
    in_full = RowReader("f").read_row(json.dumps(json.loads(line), indent=0).replace("\n", " ").encode(), 1, 0)
    in_full.size = by_pieces.size
    assert repr(by_pieces) == repr(in_full)
    assert (by_pieces.id, by_pieces.replies) == (match_id, len(said))
    assert RowReader("f")._read_by_keys(line.encode(), 1, 0) is not None, "the quick way is never gone"


@pytest.mark.parametrize(
    ("written", "odd"),
    [
        ('"returns":[', f'"returns":[1{"0" * 400},'),
        ('"returns":[', '"returns":[NaN,'),
        ('"players":[', f'"players":[{"[" * 50_000}{"]" * 50_000},'),
        ('"text":', f'"tokens":[1,{"9" * 5000}],"text":'),
    ],
    ids=["integer", "nan", "nesting", "tokens"],
)
def test_unusual_values_do_not_break_the_index(written: str, odd: str, tmp_path: Path) -> None:
    line = a_record().line()
    (tmp_path / "m.jsonl").write_text(f"{line}\n{line.replace(written, odd, 1)}\n")
    index = build_index(tmp_path)
    assert index.rows[0].line == 1
    assert len(index.rows) + len(index.problems) == 2


def test_every_line_is_listed_or_reported(runs: Path) -> None:
    index = build_index(runs)
    assert len(index.rows) == 15
    assert [str(problem) for problem in index.problems] == [f"cards.jsonl:2: {index.problems[0].what}"]
    assert "not JSON" in index.problems[0].what
    assert [*index.foreign] == ["metrics.jsonl"]
    for row in index.rows:
        [record] = [found for number, found in read_records(runs / row.file) if number == row.line]
        assert index.read_record(row) == record
        assert isinstance(record, Record)
        assert (row.id, row.seed, row.replies) == (record.id, record.seed, len(record.turns))
        assert (row.lineup.game, list(row.lineup.players)) == (record.game, record.players)
        assert (list(row.result.results), row.result.ending) == (record.results, record.ending)
        assert index.find_row(row.file, row.line) is row
        assert index.find_by_id(row.id) is not None


def test_other_run_files_are_not_listed(training_run: Any, tmp_path: Path) -> None:
    run = training_run()
    run.log(1)
    run.keep(1)
    synth = tmp_path / "synth"
    synth.mkdir()
    (synth / "data.jsonl").write_text('{"messages": []}\n')
    (synth / "manifest.json").write_text('{"format": "gymposium-synth-2"}')
    (tmp_path / "metrics.jsonl").write_text("{}\n")  # of someone else
    for directory in (tmp_path, run.path):
        index = build_index(directory)
        assert len(index.rows) == 3
        assert [*index.foreign] == (["metrics.jsonl"] if directory == tmp_path else [])
        assert index.problems == []


def test_index_follows_growing_files(tmp_path: Path) -> None:
    file, line = tmp_path / "matches.jsonl", a_record().line()
    file.write_text(f"{line}\n{line[:40]}", encoding="utf-8")
    index = build_index(tmp_path)
    assert (len(index.rows), len(index.problems)) == (1, 1)
    with open(file, "a", encoding="utf-8") as more:  # the incomplete line is completed, and another begins
        more.write(f"{line[40:]}\n{line}")
    index.refresh()
    assert [row.line for row in index.rows] == [1, 2, 3]
    assert index.problems == []
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "more.jsonl").write_text(f"{line}\n", encoding="utf-8")
    index.refresh()
    assert [row.file for row in index.rows] == ["later/more.jsonl", *["matches.jsonl"] * 3]
    file.write_text(f"{line}\n", encoding="utf-8")  # the file is replaced
    index.refresh()
    assert len(index.rows) == 2
    file.unlink()
    index.refresh()
    assert len(index.rows) == 1


def test_compressed_files_are_listed_like_plain_ones(runs: Path, tmp_path: Path) -> None:
    plain, packed = build_index(runs), tmp_path / "packed"
    shutil.copytree(runs, packed)
    for file in packed.rglob("*.jsonl"):
        other = file.with_name(f"{file.name}.gz")
        other.write_bytes(gzip.compress(file.read_bytes()))
        shutil.copystat(file, other)
        file.unlink()
    index = build_index(packed)
    assert repr(index.rows).replace(".jsonl.gz", ".jsonl") == repr(plain.rows)
    assert str(index.problems).replace(".jsonl.gz", ".jsonl") == str(plain.problems)
    assert [*index.foreign] == ["metrics.jsonl.gz"]
    rows = [*index.rows, *reversed(index.rows)]
    assert [index.read_line(row) for row in rows] == [
        plain.read_line(row) for row in (*plain.rows, *reversed(plain.rows))
    ]
    query = MatchFilter(said="b2")
    assert [row.id for row in index.select(query)] == [row.id for row in plain.select(query)] != []
    assert {row.file for row in build_index(packed / "connect_four.jsonl.gz").rows} == {"connect_four.jsonl.gz"}
    index.refresh()
    assert index.rows[0] is rows[0], "read once"
    line = index.read_line(index.rows[0])
    file = packed / index.rows[0].file
    file.write_bytes(gzip.compress(b"\n" + line))
    index.refresh()
    assert (index.rows[0].line, index.read_line(index.rows[0])) == (2, line)


@pytest.mark.parametrize(("keep", "rows"), [(0, False), (9, False), (40, False), (-1, True)])
def test_damaged_compressed_file_is_reported(tmp_path: Path, keep: int, rows: bool) -> None:
    line = f"{a_record().line()}\n"
    (tmp_path / "a.jsonl").write_text(line)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(line.encode() * 300)[:keep])
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    index = build_index(tmp_path)
    for _ in range(2):
        assert sorted({row.file for row in index.rows}) == ["a.jsonl", *["b.jsonl.gz"] * rows, "c.jsonl.gz"]
        assert len(index.rows) < 302
        named = [str(problem) for problem in index.problems] if rows else [index.foreign["b.jsonl.gz"]]
        assert len(named) == 1
        assert ("cut off" if keep else "is not a gzip file") in named[0]
        index.refresh()
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(line.encode() * 2))
    index.refresh()
    assert (len(index.rows), index.problems, index.foreign) == (4, [], {})


def test_index_of_a_single_file(runs: Path) -> None:
    assert {row.file for row in build_index(runs / "connect_four.jsonl").rows} == {"connect_four.jsonl"}


def test_missing_file_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "matches.jsonl"
    file.write_text(a_record().line(), encoding="utf-8")
    index = build_index(tmp_path)
    file.unlink()
    with pytest.raises(BadRecord, match=r"matches\.jsonl can no longer be read"):
        index.read_record(index.rows[0])


def selected(index: MatchIndex, **query: str) -> list[Row]:
    return index.select(MatchFilter.from_query(query))


def test_filters(runs: Path) -> None:
    index = build_index(runs)
    assert len(selected(index, game="connect_four")) == 2
    assert [row.id for row in selected(index, player="lm:talks")] == ["unparsable-0"]
    assert {row.id for row in selected(index, ended="forfeit")} == {"illegal-0", "unparsable-0", "cut-0", "goof-0"}
    assert [row.id for row in selected(index, player="random", ended="forfeit")] == []
    assert [row.id for row in selected(index, player="lm:long", ended="lost")] == ["cut-0"]
    assert [row.id for row in selected(index, player="lm:long", ended="won")] == []
    assert {row.id for row in selected(index, failed="illegal")} == {"illegal-0", "retried-0", "goof-0"}
    assert {row.id for row in selected(index, failed="cut-off")} == {"cut-0"}
    assert {row.id for row in selected(index, failed="unparsable")} == {"unparsable-0", "retried-0"}
    assert len(selected(index, failed="failed")) == 5
    assert [row.id for row in selected(index, text="four")] == ["four-0", "four-1"]
    drawn = [row for row in index.rows if "draw" in row.result.results]
    assert selected(index, ended="drawn") == drawn
    long = selected(index, game="tic_tac_toe", long="yes")
    others = [row.replies for row in selected(index, game="tic_tac_toe") if row not in long]
    assert min(row.replies for row in long) > max(others)
    longest = [row.replies for row in selected(index, sort="longest")]
    assert longest == sorted(longest, reverse=True)
    with pytest.raises(BadOption, match=r"Invalid ended=never. Use one of won, lost"):
        selected(index, ended="never")


def test_search_in_replies(runs: Path) -> None:
    index = build_index(runs)
    assert [row.id for row in selected(index, said="i LIKE b2")] == ["unparsable-0"]
    assert [row.id for row in selected(index, said="<think>hm")] == ["cut-0"]
    assert {row.id for row in selected(index, said="b2", failed="illegal")} == {"illegal-0", "retried-0"}
    assert [row.id for row in selected(index, said="well", failed="failed", game="tic_tac_toe")] == ["retried-0"]
    assert selected(index, said="well", failed="illegal") == []
    for nowhere in ("lm:talks", "reading", "connect_four", "seat", 'b2"'):
        assert selected(index, said=nowhere) == [], nowhere


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(
        st.lists(st.text(alphabet='aB\\"\né😀,:{text}', max_size=6), min_size=1, max_size=3), min_size=1, max_size=4
    ),
    st.text(alphabet='abB\\"\né,:{txnu0e9', min_size=1, max_size=2),
    st.booleans(),
)
@example(said=[["\\"]], text='"', spaced=False)
@example(said=[["a\nb"]], text="n", spaced=False)
@example(said=[["é"]], text="e9", spaced=True)
def test_search_finds_text_in_replies(tmp_path: Path, said: list[list[str]], text: str, spaced: bool) -> None:
    record, lines = a_record(), []
    for replies in said:
        turns = [{"seat": 0, "reading": "move", "text": reply} for reply in replies]
        line = replace(record, turns=turns).line()
        lines.append(json.dumps(json.loads(line)) if spaced else line.strip())
    (tmp_path / "m.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def low(one: str) -> str:
        return "".join(letter.lower() if letter.isascii() else letter for letter in one)

    wanted = [number for number, replies in enumerate(said, 1) if any(low(text) in low(reply) for reply in replies)]
    assert [row.line for row in selected(build_index(tmp_path), said=text)] == wanted


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("where", ["reports", "turns"])
def test_search_time_is_linear_in_the_lines(where: str, spaced: bool, tmp_path: Path) -> None:
    """Even if the text is everywhere, but in no reply of the wanted reading."""
    record = a_record()
    if where == "reports":
        record.reports = [{"q" * 1_000_000: 1.0}]
    else:
        record.turns = [{"seat": 0, "reading": "move", "text": "q" * 1_000_000}]
    line = record.line()
    (tmp_path / "m.jsonl").write_text((json.dumps(json.loads(line)) if spaced else line.strip()) + "\n")
    began = time.process_time()
    assert selected(build_index(tmp_path), said="q", failed="illegal") == []
    [row] = build_index(tmp_path).rows
    assert [*search_rows([row], tmp_path / "m.jsonl", "q", ["illegal"])] == []
    assert time.process_time() - began < 20


def test_orders_by_tokens_and_date(tmp_path: Path) -> None:
    record = a_record()
    for number, (name, written) in enumerate((("old", 5), ("new", 900), ("none", None))):
        turns = [{"seat": 0, "reading": "move", "text": "a1", "tokens": [7, written]}] * (written is not None)
        file = tmp_path / f"{name}.jsonl"
        file.write_text(replace(record, id=name, turns=turns).line() + "\n", encoding="utf-8")
        os.utime(file, (0, 86_400 * (number + 1)))
    index = build_index(tmp_path)
    assert [(row.id, row.tokens) for row in selected(index, sort="tokens")] == [("new", 900), ("old", 5), ("none", 0)]
    assert [row.date for row in selected(index, sort="newest")] == ["1970-01-04", "1970-01-03", "1970-01-02"]


def test_every_ending_is_indexed(tmp_path: Path) -> None:
    record = a_record()
    endings = {
        "no-legal-move": Ending("no legal move", 0),
        "timed-out": Ending("timed out", 1),
        "out-of-context": Ending("out of context", 0),
        "crashed": Ending("crashed", 1, "boom"),
        "broke-off": Ending("broke off", detail="the engine broke"),
    }
    lines = [replace(record, ending=ending).line() for ending in endings.values()]
    (tmp_path / "m.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    index = build_index(tmp_path)
    for row, way in zip(index.rows, endings, strict=True):
        assert {way, f"{way} by random"} <= list_facts(row, index.long_threshold)
        assert selected(index, ended=way) == [row]


def test_filter_round_trips_through_a_url() -> None:
    wanted = MatchFilter.from_query(
        {"game": "goofspiel(num_cards=5)", "ended": "lost", "page": "3", "sort": "", "long": "yes"}
    )
    assert wanted.query(page=2) == "?game=goofspiel%28num_cards%3D5%29&ended=lost&long=yes&page=2"
    assert MatchFilter().query() == ""


def test_matches_of_one_deal_are_found(runs: Path) -> None:
    index = build_index(runs)
    first = index.find_by_id("random-0")
    assert first is not None
    assert {row.id for row in index.find_same_deal(first)} == {"illegal-0", "unparsable-0", "cut-0", "retried-0"}


@pytest.mark.parametrize("line", ["x\n", "\n"], ids=["invalid", "empty"])
@pytest.mark.parametrize("name", ["matches.jsonl", "matches.jsonl.gz"])
def test_no_file_makes_the_index_read_forever(name: str, line: str, tmp_path: Path) -> None:
    content = f"{a_record().line()}\n" + line * (MOST_EMPTY + 10)
    (tmp_path / name).write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    index = build_index(tmp_path)
    index.refresh()
    assert len(index.rows) == 1
    assert len(index.problems) <= MOST_INVALID
