"""The world of a match: a database, its question, and the answer."""

from __future__ import annotations

from collections.abc import Mapping

from gymposium.games.protocol import Style
from gymposium.tasks import Call, Result
from gymposium.tasks.tools import Tool
from gymposium_worlds.tables.answers import Answer, is_unknown
from gymposium_worlds.tables.database import Database
from gymposium_worlds.tables.sql.queries import QueryRunner
from gymposium_worlds.tables.sql.showing import SHOWN_ROWS, format_rows
from gymposium_worlds.tables.sql.statements import QueryRefusal


def _make_text_tool(name: str, description: str, argument: str, meaning: str) -> Tool:
    """Return a tool with one text argument."""
    schema = {
        "additionalProperties": False,
        "type": "object",
        "properties": {argument: {"type": "string", "description": meaning}},
        "required": [argument],
    }
    return Tool(name, description, schema)


QUERY = _make_text_tool(
    "query",
    f"Run one SQLite query on the database, which can only be read. At most {SHOWN_ROWS} rows are shown.",
    "sql",
    "One statement that begins with SELECT, WITH or VALUES.",
)
ANSWER = _make_text_tool(
    "answer",
    "Give the final answer to the question. This ends the task.",
    "value",
    "A number, a text as it stands in the data, or the word unknown.",
)


class TablesWorld:
    """A database, a question about it, and the answer if one was given."""

    def __init__(self, database: Database, question: str, answer: Answer) -> None:
        self._database, self._question, self._answer = database, question, answer
        self._queries = QueryRunner(database)
        self._given: str | None = None
        self._asked = self._errors = 0

    def opening(self, style: Style) -> str:
        tables = self._database.tables
        if style == "compact":
            lines = [f"{table.name}({', '.join(column.name for column in table.columns)})" for table in tables]
            return "".join(f"{line}\n" for line in (*lines, self._question))
        lines = [f"{table.create};" for table in tables]
        return "".join(
            f"{line}\n" for line in ("The tables of the database:", *lines, f"The question: {self._question}")
        )

    async def call(self, call: Call) -> Result:
        if call.name != QUERY.name:
            self._given = call.arguments["value"]
            return Result("The answer is noted.")
        self._asked += 1
        try:
            result = self._queries.run(call.arguments["sql"])
        except QueryRefusal as refused:
            self._errors += 1
            return Result(str(refused), error=True)
        return Result(format_rows(result), value={"rows": len(result.rows)})

    def over(self) -> bool:
        return self._given is not None

    def score(self) -> float:
        return 0.0 if self._given is None else self._answer.score(self._given)

    def report(self) -> Mapping[str, float]:
        """Return `exact` and `unknown`, each 0 or 1, the number of queries, and the number of failed queries."""
        given = self._given
        return {
            "exact": float(given is not None and self._answer.matches(given)),
            "unknown": float(given is not None and is_unknown(given)),
            "queries": float(self._asked),
            "errors": float(self._errors),
        }

    async def close(self) -> None:
        self._queries.close()
