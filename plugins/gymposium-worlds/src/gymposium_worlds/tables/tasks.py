"""Tasks of the game tables: a database and a question for each seed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from gymposium import GameSpec
from gymposium.errors import BadRecord
from gymposium.games.protocol import Style
from gymposium.tasks import ToolGame, make_tool_game
from gymposium.tasks.tools import Tool
from gymposium.util.streams import Draw, stream
from gymposium.util.visible import shorten
from gymposium_worlds.tables.answers import UNKNOWN_SCORE, Answer
from gymposium_worlds.tables.contents import MAX_ROWS, MIN_ROWS, make_database
from gymposium_worlds.tables.questions.kinds import draw_question, parse_kinds
from gymposium_worlds.tables.questions.wordings import Split
from gymposium_worlds.tables.world import ANSWER, QUERY, TablesWorld

_RULES = (
    "You answer one question about a database. Look the answer up with the tool query, which runs SQLite's SQL and can "
    "only read, and give it with the tool answer, once. {calls} calls are allowed in all, and a task without an answer "
    "scores 0.\n"
    "Answer with a whole number, with a decimal number that has the digits the question asks for (halves are rounded "
    "away from zero), or with a text exactly as it stands in the data. Dates are text: 2024-01-31. If the data do not "
    "hold what is asked, answer unknown: that scores 1 then, and {unknown} where the data do hold it. The right answer "
    "scores 1, a wrong one 0.\n"
    "A query must be a single SELECT of modest size. Rows come in the order of its ORDER BY, and sorted by their "
    "columns if it has none.\n"
)
_COMPACT = "answer from the database, or unknown\n"
_WORLD = re.compile(r"(?:train|test)-[0-9]{1,7}")
_WORLDS = 1_000_000


@dataclass(frozen=True)
class TablesTasks:
    """Questions about databases of one size. `train` and `test` have different databases and wordings.

    Results follow from the task and the calls. Versions of SQLite may plan a query differently. They may then stop a
    query near the step limit at different points, and order rows that are equal under ORDER BY differently.
    """

    rows: int
    kinds: str
    split: Split
    max_calls: int

    tools: ClassVar[tuple[Tool, ...]] = (QUERY, ANSWER)
    utility_range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Check the kinds of questions. Raises `BadParameter`."""
        parse_kinds(self.kinds)

    def rules(self, style: Style) -> str:
        return _COMPACT if style == "compact" else _RULES.format(calls=self.max_calls, unknown=UNKNOWN_SCORE)

    def task(self, seed: int) -> Mapping[str, Any]:
        draw = Draw(stream(seed, "tables", "question"))
        world = f"{self.split}-{draw.below(_WORLDS)}"
        kind, question = draw_question(make_database(world, self.rows), parse_kinds(self.kinds), self.split, draw)
        return {"world": world, "rows": self.rows, "kind": kind, **asdict(question)}

    async def open(self, task: Mapping[str, Any]) -> TablesWorld:
        """Open a task's database. Raises `BadRecord` for an invalid task."""
        match task:
            case {"world": str(world), "rows": int(rows), "text": str(text), "answer": answer}:
                if _WORLD.fullmatch(world) and MIN_ROWS <= rows <= MAX_ROWS:
                    return TablesWorld(make_database(world, rows), text, Answer.load(answer))
        raise BadRecord(
            f"The task must have a database's name, its rows, a question and an answer, not {shorten(task)}."
        )


def game(spec: GameSpec, params: Mapping[str, Any]) -> ToolGame:
    """Return the game. Raises `BadParameter` for unknown kinds of questions."""
    return make_tool_game(spec, params, TablesTasks(**params))
