"""The player `tables-expert`, which knows the forms of all questions."""

from __future__ import annotations

from collections.abc import Sequence

from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Ask, Repeats, Reply, check_only_game
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks.tools import Call
from gymposium_worlds.tables.reading import MissingColumn, Plan, read_question, read_shapes

_QUESTION = "The question: "


class TablesExpert:
    """Player that turns the question into one query and answers with the first cell of its result.

    It knows all question forms, and takes everything else from its prompts.
    """

    name = "tables-expert"
    reader: Reader = READERS["move"]
    style: Style = "full"
    deterministic = True
    repeats: Repeats = "quickly"

    def check_game(self, game: Game) -> None:
        """Raise `BadOption` for any game but `tables`."""
        check_only_game(self.name, "tables", game)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._choose_call(ask).json) for ask in asks]

    def _choose_call(self, ask: Ask) -> Call:
        self.check_game(ask.game)
        text = ask.observe("full").text
        first: Call | None = ask.memory.get("first call")
        if first is None:
            first = ask.memory["first call"] = _choose_first_call(text)
        elif first.name == "query" and (cell := _find_first_cell(text)) is not None:
            return Call("answer", {"value": cell})
        return first  # again, if another player's call failed in this seat


def _choose_first_call(opening: str) -> Call:
    """Return the query that finds the answer, or the answer if no column holds it."""
    *lines, question = opening.splitlines()
    try:
        plan = read_question(question.removeprefix(_QUESTION), read_shapes(lines))
    except MissingColumn:
        return Call("answer", {"value": "unknown"})
    return Call("query", {"sql": write_query(plan)})


def write_query(plan: Plan) -> str:
    """Return the query whose first cell is the answer."""
    order = "DESC" if plan.descending else "ASC"
    match plan.kind:
        case "value":
            return f"SELECT {plan.value} {plan.source}"
        case "count":
            return f"SELECT COUNT({plan.value}) {plan.source}"
        case "sum":
            return f"SELECT {_round_expression(f'SUM({plan.value})', plan.places)} {plan.source}"
        case "average":
            return f"SELECT {_round_expression(f'AVG({plan.value})', plan.places)} {plan.source}"
        case "extreme":
            return f"SELECT {plan.label} {plan.source} ORDER BY {plan.value} {order} LIMIT 1"
        case "common":
            return f"SELECT {plan.label} {plan.source} GROUP BY {plan.value} ORDER BY COUNT(*) {order} LIMIT 1"


def _round_expression(expression: str, places: int | None) -> str:
    return expression if places is None else f"ROUND({expression}, {places})"


def _find_first_cell(result: str) -> str | None:
    """Return the first cell below the column names; `unknown` if there is no row or the cell is empty. Returns None if
    the result is an error."""
    _, *rows = result.splitlines()
    return None if not rows else "unknown" if rows[0] in ("(no rows)", "NULL") else rows[0]
