"""The tools of the world."""

from __future__ import annotations

from gymposium.tasks.tools import Tool
from gymposium_worlds.tables.sql.showing import SHOWN_ROWS


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
