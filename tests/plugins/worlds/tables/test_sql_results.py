"""Query results are deterministic and displayed safely."""

import random

import pytest
from hypothesis import given, settings, strategies as st

from gymposium_worlds.tables.contents import make_database
from gymposium_worlds.tables.sql.queries import MAX_ROWS, QueryRunner, Rows
from gymposium_worlds.tables.sql.showing import SHOWN_ROWS, SHOWN_TEXT, format_cell, format_rows
from gymposium_worlds.tables.sql.statements import QueryRefusal

DATABASE = make_database("train-1", 200)
QUERIES, TWIN = QueryRunner(DATABASE), QueryRunner(DATABASE)
EVENT = DATABASE.event
LABELS = [str(row[1]) for row in DATABASE.subject.rows]
LABEL = DATABASE.subject.columns[1].name


def run_query(sql: str) -> list[tuple[object, ...]]:
    return list(QUERIES.run(sql).rows)


def test_only_unordered_rows_are_sorted() -> None:
    assert run_query(f"SELECT {LABEL} FROM {DATABASE.subject.name}") == [(label,) for label in sorted(LABELS)]
    backwards = f"SELECT {LABEL} FROM {DATABASE.subject.name} ORDER BY {LABEL} DESC"
    assert run_query(backwards) == [(label,) for label in sorted(LABELS, reverse=True)]
    assert run_query(f"SELECT * FROM ({backwards})") == [
        (label,) for label in sorted(LABELS)
    ]  # only the inner query is ordered
    assert run_query("SELECT 2 AS x UNION ALL SELECT 3 UNION ALL SELECT 1 ORDER BY x DESC") == [(3,), (2,), (1,)]


def test_null_sorts_before_numbers_text_and_blobs() -> None:
    values = ["x'00'", "'a'", "'B'", "2", "1.5", "NULL", "-1"]
    random.Random(0).shuffle(values)
    assert [row[0] for row in run_query("VALUES " + ", ".join(f"({value})" for value in values))] == [
        None, -1, 1.5, 2, "B", "a", b"\0",
    ]  # fmt: skip


def test_order_by_in_text_and_comments_is_ignored() -> None:
    union = "SELECT 2 AS x, 'order by x' AS y UNION ALL SELECT 1, '' /* order by x */ -- order by x desc"
    assert [row[0] for row in run_query(union)] == [1, 2]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "NULL"),
        (7, "7"),
        (0.1 + 0.2, "0.3"),
        (12.0, "12.0"),
        (-0.0, "0.0"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        ("a\nb\tc\x1b[31m", "a␊b␉c␛[31m"),
        ("\u202e", "⟨U+202E⟩"),
        (b"\x00\xff", "x'00ff'"),
        ("x" * 400, "x" * 299 + "…"),
    ],
)
def test_cells_are_shown_on_one_line(cell: int | float | str | bytes | None, text: str) -> None:
    assert format_cell(cell) == text


def test_text_that_is_not_utf_8_is_shown() -> None:
    assert format_rows(QUERIES.run("SELECT CAST(x'ff61' AS TEXT) AS x")) == "x\n\ufffda\n(1 row)"


def test_long_results_are_truncated_with_a_note() -> None:
    text = format_rows(QUERIES.run(f"SELECT id FROM {EVENT.name}"))
    assert text.splitlines()[1] == "1"
    assert len(text.splitlines()) == SHOWN_ROWS + 2
    assert text.endswith("(50 of 200 rows are shown)")
    assert format_rows(QUERIES.run(f"SELECT a.id FROM {EVENT.name} a, {EVENT.name} b ORDER BY 1")).endswith(
        f"(50 of more than {MAX_ROWS:,} rows are shown)"
    )
    assert format_rows(QUERIES.run(f"SELECT id FROM {EVENT.name} WHERE id < 0")) == "id\n(no rows)"


@given(st.lists(st.text(max_size=500) | st.floats(allow_nan=False) | st.just("x" * 500), max_size=5))
@settings(max_examples=30)
def test_results_never_exceed_the_limit(cells: list[str | float]) -> None:
    names = tuple("n" * 400 for _ in range(30))
    text = format_rows(Rows(names, [(cell,) * 30 for cell in cells], True))
    assert len(text) <= SHOWN_TEXT
    if cells:
        assert len(text.splitlines()) >= 3  # the names, one row, and how many there are


WORDS = (
    "SELECT FROM WHERE WITH RECURSIVE AS NOT MATERIALIZED JOIN USING ON GROUP BY ORDER LIMIT UNION ALL LIKE IN EXISTS "
    "CASE WHEN THEN END NULL IS OVER PARTITION CAST TEXT COUNT(*) MAX( ( ) ( ) , , . ; * + || = < 'a' \"id\" `id` "
    "[id] 1 2.5 x'00' id r ? :a /* */ -- ' \" é"
).split()


@given(st.data())
@settings(max_examples=100)
def test_any_text_gives_rows_or_a_refusal(data: st.DataObject) -> None:
    words = st.sampled_from([*WORDS, EVENT.name, DATABASE.subject.name, LABEL, "\n"])
    sql = "SELECT " * data.draw(st.booleans()) + " ".join(data.draw(st.lists(words, max_size=25)))
    try:
        first: object = QUERIES.run(sql)
    except QueryRefusal as refused:
        first = str(refused)
    try:
        again: object = TWIN.run(sql)
    except QueryRefusal as refused:
        again = str(refused)
    assert again == first


def test_schema_can_be_queried() -> None:
    for number in range(40):
        database = make_database(f"test-{number}", 20)
        rows = QueryRunner(database).run("SELECT name, sql FROM sqlite_master").rows
        assert sorted(rows) == sorted((table.name, table.create) for table in database.tables)


def test_double_quotes_enclose_names() -> None:
    sql = f'SELECT "id" AS "No", count(*) AS n FROM "{EVENT.name}" WHERE "id" < 3 GROUP BY "id" ORDER BY "No" DESC'
    assert run_query(sql) == [(2, 1), (1, 1)]


def test_with_clauses_may_be_reused() -> None:
    sql = (
        f"WITH big AS (SELECT * FROM {EVENT.name} WHERE id > 100), "
        "few AS (SELECT big.id, big.id AS b FROM big LIMIT 5) "
        "SELECT COUNT(*) FROM few JOIN big ON few.id = big.id WHERE few.b IN (SELECT id FROM big)"
    )
    assert run_query(sql) == [(5,)]
    assert run_query(
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT SUM(n) FROM r"
    ) == [(45,)]
