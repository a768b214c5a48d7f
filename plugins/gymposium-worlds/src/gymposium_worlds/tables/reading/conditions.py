"""Parser of conditions: from words to SQL."""

from __future__ import annotations

import re

from gymposium.errors import GymposiumError
from gymposium_worlds.tables.reading.shapes import TableShape

_COLUMN = "(?P<column>[a-z ]+?)"
_NUMBER = "(?P<value>-?[0-9]+(?:[.][0-9]+)?)"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CONDITIONS = tuple(
    (re.compile(f"{words}(?: and |$)"), sql)
    for words, sql in (
        (f'whose {_COLUMN} is "(?P<value>[^"]+)"', "{column} = {text}"),
        (f'with the {_COLUMN} "(?P<value>[^"]+)"', "{column} = {text}"),
        (f"whose {_COLUMN} is at least {_NUMBER}", "{column} >= {value}"),
        (f"with {_NUMBER} or more as {_COLUMN}", "{column} >= {value}"),
        (f"whose {_COLUMN} is at most {_NUMBER}", "{column} <= {value}"),
        (f"with {_NUMBER} or less as {_COLUMN}", "{column} <= {value}"),
        (f"whose {_COLUMN} is above {_NUMBER}", "{column} > {value}"),
        (f"with more than {_NUMBER} as {_COLUMN}", "{column} > {value}"),
        (f"whose {_COLUMN} is below {_NUMBER}", "{column} < {value}"),
        (f"with less than {_NUMBER} as {_COLUMN}", "{column} < {value}"),
        (f"whose {_COLUMN} is in (?P<value>[0-9]{{4}})", "substr({column}, 1, 4) = {text}"),
        (f"with a date in (?P<value>[0-9]{{4}}) as {_COLUMN}", "substr({column}, 1, 4) = {text}"),
        (
            f"whose {_COLUMN} is from (?P<value>{_DAY}) to (?P<last>{_DAY}), both included",
            "{column} BETWEEN {text} AND {last}",
        ),
        (
            f"with a date between (?P<value>{_DAY}) and (?P<last>{_DAY}), both included, as {_COLUMN}",
            "{column} BETWEEN {text} AND {last}",
        ),
    )
)


def translate_condition(words: str, table: TableShape) -> str:
    """Return the SQL of conditions joined by `and`. Raises `GymposiumError` for other words."""
    parts = []
    while words:
        for pattern, sql in _CONDITIONS:
            found = pattern.match(words)
            column = None if found is None else table.find_column(found["column"])
            if found is not None and column is not None:
                more = {"text": quote_text(found["value"]), "last": quote_text(found.groupdict().get("last") or "")}
                parts.append(sql.format(column=column, value=found["value"], **more))
                words = words[found.end() :]
                break
        else:
            raise GymposiumError(f"No known condition: {words[:200]!r}.")
    return " AND ".join(parts)


def quote_text(text: str) -> str:
    """Return the text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
