"""SQL that could write, leave the database, be nondeterministic, or use unbounded time and memory."""

import re
import sqlite3

import pytest

from gymposium.errors import WorldFailure
from gymposium_worlds.tables.contents import make_database
from gymposium_worlds.tables.sql import guard
from gymposium_worlds.tables.sql.queries import QueryRunner
from gymposium_worlds.tables.sql.statements import QueryRefusal

_LONG = "x" * 320
_DOUBLED = "WITH a0 AS (SELECT 1 AS x)" + "".join(f", a{n + 1} AS (SELECT 1 AS x FROM a{n}, a{n})" for n in range(14))
_NESTED = "a AS (SELECT 1 AS x)"
for _ in range(10):
    _NESTED = f"a AS (WITH {_NESTED} SELECT 1 AS x FROM a, a)"
_ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
_STOPPED = "stopped after 500,000 steps"

REFUSED: dict[str, tuple[str, str]] = {
    # writing and leaving the database
    "insert": ("INSERT INTO {t} (id) VALUES (9999)", "begins with SELECT"),
    "update": ("UPDATE {t} SET id = id + 1", "begins with SELECT"),
    "delete": ("DELETE FROM {t}", "begins with SELECT"),
    "replace": ("REPLACE INTO {t} (id) VALUES (1)", "begins with SELECT"),
    "drop": ("DROP TABLE {t}", "begins with SELECT"),
    "alter": ("ALTER TABLE {t} RENAME TO gone", "begins with SELECT"),
    "create": ("CREATE TABLE mine (x)", "begins with SELECT"),
    "create temporary": ("CREATE TEMP TABLE mine AS SELECT 1", "begins with SELECT"),
    "index": ("CREATE INDEX mine ON {t}(id)", "begins with SELECT"),
    "delete after WITH": ("WITH a AS (SELECT 1) DELETE FROM {t}", "Only the tables of the database can be read"),
    "insert after WITH": ("WITH a AS (SELECT 1) INSERT INTO {t} (id) SELECT 9999", "Only the tables"),
    "update after WITH": ("WITH a AS (SELECT 1) UPDATE {t} SET id = 1", "Only the tables"),
    "returning": ("WITH a AS (SELECT 1) DELETE FROM {t} RETURNING *", "Only the tables"),
    "attach": ("ATTACH DATABASE '/tmp/stolen.db' AS other", "begins with SELECT"),
    "detach": ("DETACH DATABASE main", "begins with SELECT"),
    "vacuum": ("VACUUM INTO '/tmp/copy.db'", "begins with SELECT"),
    "reindex": ("REINDEX", "begins with SELECT"),
    "analyze": ("ANALYZE", "begins with SELECT"),
    "begin": ("BEGIN EXCLUSIVE", "begins with SELECT"),
    "pragma": ("PRAGMA query_only = OFF", "begins with SELECT"),
    "pragma as a table": ("SELECT * FROM pragma_database_list", "Only the tables"),
    "pragma with an argument": ("SELECT * FROM pragma_hard_heap_limit(1)", "Only the tables"),
    "explain": ("EXPLAIN QUERY PLAN SELECT * FROM {t}", "begins with SELECT"),
    "load_extension": ("SELECT load_extension('/tmp/evil.so')", "load_extension is not available"),
    "readfile": ("SELECT readfile('/etc/passwd')", "no such function: readfile"),
    "writefile": ("SELECT writefile('/tmp/x', 'y')", "no such function: writefile"),
    "pages": ("SELECT * FROM dbstat", "Only the tables"),
    "pages, counted": ("SELECT COUNT(*) FROM dbstat", "Only the tables"),
    "statements": ("SELECT * FROM sqlite_stmt", "Only the tables|no such table: sqlite_stmt"),
    "temporary schema": ("SELECT * FROM sqlite_temp_master", "sqlite_temp_master is not available"),
    "json as a table": (
        "SELECT * FROM json_each('[1, 2]')",
        "Only the tables|json_each is not available|no such table",
    ),
    "text search": ("SELECT * FROM {t} WHERE {t} MATCH 'x'", "match is not available"),
    "fts3_tokenizer": ("SELECT fts3_tokenizer('simple')", "fts3_tokenizer is not available|no such function"),
    # several statements, no statement, statements that are not text
    "two statements": ("SELECT 1; SELECT 2", "one statement"),
    "second after a comment": ("SELECT 1 /* ; */ ; -- x\nDROP TABLE {t}", "one statement"),
    "nothing": ("", "begins with SELECT"),
    "only a comment": ("-- SELECT 1", "begins with SELECT"),
    "only a semicolon": (";;", "begins with SELECT"),
    "parameter": ("SELECT ?", "Parameters"),
    "named parameter": ("SELECT * FROM {t} WHERE id = :id", "Parameters"),
    "null character": ("SELECT 1\0; DROP TABLE {t}", "not text"),
    "lone surrogate": ("SELECT '\ud800'", "not text"),
    "byte order mark": ("\ufeffSELECT 1", "not text"),
    "open quote": ("SELECT 'abc", "unrecognized token"),
    "open bracket": ("SELECT (1", "incomplete input|syntax error"),
    "wrong word": ("SELEC 1", "begins with SELECT"),
    "no such column": ("SELECT nought FROM {t}", "no such column: nought"),
    "text in double quotes": ('SELECT * FROM {t} WHERE id = "Anna"', "single quotes"),
    # what differs from one time to the next, or from one build to the next
    "random": ("SELECT random()", "random is not available"),
    "random order": ("SELECT * FROM {t} ORDER BY RANDOM()", "random is not available"),
    "randomblob": ("SELECT hex(randomblob(8))", "not available"),
    "now": ("SELECT datetime('now')", "datetime is not available"),
    "now in parts": ("SELECT strftime('%Y', 'n' || 'ow')", "strftime is not available"),
    "julianday": ("SELECT julianday()", "julianday is not available"),
    "current_timestamp": ("SELECT CURRENT_TIMESTAMP", "current_timestamp is not available"),
    "current_date": ("SELECT * FROM {t} WHERE current_date > '2020-01-01'", "current_date is not available"),
    "version": ("SELECT sqlite_version()", "sqlite_version is not available"),
    "options": ("SELECT sqlite_compileoption_get(0)", "sqlite_compileoption_get is not available"),
    "last_insert_rowid": ("SELECT last_insert_rowid()", "last_insert_rowid is not available"),
    "group_concat": ("SELECT group_concat(id) FROM {t}", "group_concat is not available"),
    # memory
    "zeroblob": ("SELECT zeroblob(1000000000)", "zeroblob is not available"),
    "randomblob, huge": ("SELECT randomblob(1000000000)", "randomblob is not available"),
    "printf": ("SELECT printf('%*d', 1000000000, 1)", "printf is not available"),
    "format": ("SELECT format('%.1000000000d', 1)", "format is not available"),
    "hex": ("SELECT hex(hex(hex('" + "a" * 100 + "')))", "hex is not available"),
    "replace, repeated": (
        "SELECT " + "replace(" * 6 + "'aaaaaaaaaa'" + ", 'a', 'aaaaaaaaaa')" * 6,
        "longer than 400 bytes",
    ),
    "concatenation": ("SELECT '" + "x" * 250 + "' || '" + "x" * 250 + "'", "longer than 400 bytes"),
    "long text": ("SELECT '" + "x" * 500 + "'", "longer than 400 bytes"),
    "long text that grows": (
        "WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT MAX(length(s)) FROM r",
        "longer than 400 bytes",
    ),
    "wide rows": (
        "SELECT " + ", ".join(f"a{n}.*" for n in range(8)) + " FROM " + ", ".join(f"{{t}} AS a{n}" for n in range(8)),
        "too many columns",
    ),
    "sort of a product": ("SELECT a.id FROM {t} a, {t} b, {t} c ORDER BY b.id + c.id, a.id", _STOPPED),
    "sort of long rows": (
        f"SELECT a.id, b.id, '{_LONG}' AS x FROM {{t}} a, {{t}} b, {{t}} c ORDER BY c.id + 0, a.id",
        _STOPPED,
    ),
    "kept part": (
        f"WITH r AS MATERIALIZED (SELECT '{_LONG}' AS x FROM {{t}} a, {{t}} b, {{t}} c) SELECT COUNT(*) FROM r",
        _STOPPED,
    ),
    "distinct long values": (
        f"SELECT COUNT(DISTINCT (a.id * 7919 % 1003) || b.id || c.id || '{_LONG}') FROM {{t}} a, {{t}} b, {{t}} c",
        _STOPPED,
    ),
    "window": (f"SELECT lag('{_LONG}' || c.id) OVER (PARTITION BY 1) AS x FROM {{t}} a, {{t}} b, {{t}} c", _STOPPED),
    # time
    "endless": (f"{_ENDLESS} SELECT COUNT(*) FROM r", _STOPPED),
    "endless, without rows": (f"{_ENDLESS} SELECT n FROM r WHERE n < 0", _STOPPED),
    "endless, distinct": (
        f"WITH RECURSIVE r(n, s) AS (SELECT 1, '{_LONG}' UNION SELECT n + 1, s FROM r) SELECT COUNT(*) FROM r",
        _STOPPED,
    ),
    "product": ("SELECT COUNT(*) FROM {t} a, {t} b, {t} c, {t} d WHERE a.id + b.id + c.id + d.id < 0", _STOPPED),
    "product of sixty": ("SELECT 1 FROM " + ", ".join(f"{{t}} AS a{n}" for n in range(60)) + " ORDER BY 1", _STOPPED),
    "product in steps": (
        "SELECT (SELECT COUNT(*) FROM {t} b, {t} c WHERE b.id + c.id + a.id < 0) AS n FROM {t} a",
        _STOPPED,
    ),
    "more tables than SQLite joins": (
        "SELECT 1 FROM " + ", ".join(f"{{t}} AS a{n}" for n in range(70)),
        "at most 64 tables",
    ),
    "LIKE": (
        f"SELECT COUNT(*) FROM {{t}} a, {{t}} b, {{t}} c WHERE (a.id + b.id + c.id) || '{_LONG}' LIKE '%x{'_' * 26}y'",
        "stopped after 50,000 steps",
    ),
    "LIKE, many": (
        f"WITH v(s) AS MATERIALIZED (SELECT '{_LONG}' || id FROM {{t}}) SELECT SUM(a.id + "
        + " + ".join(f"(c.s LIKE '%x{'_' * 26}{end}')" for end in "yzabc")
        + ") AS n FROM {t} a, {t} b, v c",
        "stopped after 50,000 steps",
    ),
    "LIKE, long pattern": (f"SELECT COUNT(*) FROM {{t}} WHERE id LIKE '{'%a' * 40}'", "pattern too complex"),
    "GLOB": (f"SELECT COUNT(*) FROM {{t}} WHERE id GLOB '{'*[a-z]' * 20}'", "glob is not available"),
    "trim": (f"SELECT trim('{_LONG}', 'abcdefghijklmnopqrstuvwxyz')", "trim is not available"),
    "doubled parts": (f"{_DOUBLED} SELECT COUNT(*) FROM a14", "used more than 100 times"),
    "doubled parts in quotes": (
        re.sub(r"FROM (a\d+), (a\d+)", r"FROM '\1', [\2]", re.sub(r"(a\d+) AS \(", r'"\1" AS (', _DOUBLED))
        + " SELECT 1 FROM `a14`",
        "used more than 100 times",
    ),
    "doubled parts of one name": (f"WITH {_NESTED} SELECT COUNT(*) FROM a", "Two parts of WITH are called a"),
    "parts that use each other": (
        "WITH a AS (SELECT * FROM b, b), b AS (SELECT * FROM a, a) SELECT 1 FROM a",
        "used more than",
    ),
    "doubled columns": ("SELECT *, * FROM (" * 30 + "SELECT 1 AS x" + ")" * 30, "too many|stack overflow"),
    "deep brackets": ("SELECT " + "(" * 500 + "1" + ")" * 500, "stack overflow|too large|syntax error"),
    "deep expression": ("SELECT " + "+".join(["1"] * 200), "Expression tree is too large"),
    "many SELECTs": (" UNION ALL ".join(["SELECT 1"] * 50), "too many terms in compound SELECT"),
    "long statement": ("SELECT 1 -- " + "x" * 3000, "longer than 2,000 characters"),
    "product without order": ("SELECT a.id FROM {t} a, {t} b", "Add ORDER BY"),
    "integer overflow": ("SELECT SUM(9223372036854775807) FROM {t}", "integer overflow"),
}
"""By name, a statement, in which `{t}` is a table of 200 rows, and a pattern of the refusal."""

DATABASE = make_database("train-1", 200)


def contents(queries: QueryRunner) -> list[tuple[object, ...]]:
    """The rows of all tables, and the tables."""
    sources = [*(f"{table.name} ORDER BY id" for table in DATABASE.tables), "sqlite_master ORDER BY name"]
    return [row for source in sources for row in queries.run(f"SELECT * FROM {source}").rows]


@pytest.fixture(scope="module")
def queries() -> QueryRunner:
    return QueryRunner(DATABASE)


@pytest.fixture(scope="module")
def initial_contents() -> list[tuple[object, ...]]:
    return contents(QueryRunner(DATABASE))


def test_refused_statements_are_numerous(initial_contents: list[tuple[object, ...]]) -> None:
    assert len(REFUSED) >= 50
    assert len(initial_contents) == sum(len(table.rows) for table in DATABASE.tables) + len(DATABASE.tables)


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_statements_are_refused_and_change_nothing(
    queries: QueryRunner, initial_contents: list[tuple[object, ...]], name: str
) -> None:
    sql, reason = REFUSED[name]
    with pytest.raises(QueryRefusal, match=reason) as refused:
        queries.run(sql.replace("{t}", DATABASE.event.name))
    assert len(str(refused.value)) <= 200
    assert "\n" not in str(refused.value)
    assert contents(queries) == initial_contents


def test_connection_refuses_writes_without_the_authorizer() -> None:
    """The checks of words, the authorizer and the connection each suffice."""
    queries = QueryRunner(DATABASE)
    connection = queries._connection
    connection.set_authorizer(None)
    for pragma in ("ON", "OFF"):
        connection.execute(f"PRAGMA query_only = {pragma}")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute(f"DELETE FROM {DATABASE.event.name}")


def test_queries_stop_at_a_deterministic_step() -> None:
    """What is stopped follows from the number of steps, so a query just below the limit always ends."""
    row = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {n}) SELECT MAX(n) FROM r"
    low, high = 1_000, 200_000
    while high - low > 50:
        middle = (low + high) // 2
        try:
            QueryRunner(DATABASE).run(row.format(n=middle))
            low = middle
        except QueryRefusal:
            high = middle
    queries = QueryRunner(DATABASE)
    for _ in range(3):
        assert queries.run(row.format(n=low)).rows == [(low,)]
        with pytest.raises(QueryRefusal, match="500,000 steps"):
            queries.run(row.format(n=high))


def test_query_timeouts_break_the_match(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MAX_SECONDS", -1.0)
    with pytest.raises(WorldFailure):
        QueryRunner(DATABASE).run(REFUSED["endless"][0])
