"""Parser that translates questions to SQL. It shares no code with the generator, so it can check it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gymposium.errors import GymposiumError

_CREATE = re.compile(r"CREATE TABLE (\w+) \((.*)\)")
_DECLARATION = re.compile(r"(\w+) (\w+)(?: REFERENCES (\w+)\(id\)| PRIMARY KEY)?")


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table's name, columns and references."""

    name: str
    columns: Mapping[str, str]
    """The columns' names and types."""
    references: Mapping[str, str]
    """Columns that reference other tables, by table."""

    @property
    def plural(self) -> str:
        """Return the table's name in words."""
        return self.name.replace("_", " ")

    @property
    def nouns(self) -> tuple[str, str, str]:
        """Return the possible nouns for one row: the plural without -s or -es, or with -y in place of -ies."""
        return self.plural[:-1], self.plural[:-2], f"{self.plural[:-3]}y"

    @property
    def label(self) -> str:
        """Return the full name of the label column, which is the first text column."""
        return f"{self.name}.{next(name for name, kind in self.columns.items() if kind == 'TEXT')}"

    def find_column(self, words: str) -> str | None:
        """Return the full name of the column that the words name, or None."""
        name = words.replace(" ", "_")
        return f"{self.name}.{name}" if name in self.columns else None


Shapes = Mapping[str, TableShape]
"""Tables by name."""


def read_shapes(lines: Iterable[str]) -> Shapes:
    """Return the tables defined by the `CREATE TABLE` statements in these lines."""
    found = {}
    for line in lines:
        if (create := _CREATE.match(line)) is not None:
            parts = [part for one in create[2].split(", ") if (part := _DECLARATION.fullmatch(one)) is not None]
            columns = {part[1]: part[2] for part in parts}
            found[create[1]] = TableShape(create[1], columns, {part[3]: part[1] for part in parts if part[3]})
    return found


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
    """Return the SQL for conditions joined by `and`. Raises `GymposiumError` for other text."""
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


_WORDINGS = (
    ("count_both", "How many {plural} belong both to {owners} {where} and to {others} {other_where}[?]"),
    ("count_both", "What is the number of {plural} of {owners} {where} that are also of {others} {other_where}[?]"),
    (
        "count_different",
        'How many different {others} are there among the {plural} that belong to the {noun} "{name}"[?]',
    ),
    ("count_different", 'What is the number of different {others} in the {plural} of the {noun} "{name}"[?]'),
    ("count_place", 'How many {plural} belong to {owners} of the {noun} "{name}"[?]'),
    ("count_place", 'What is the number of {plural} of {owners} that belong to the {noun} "{name}"[?]'),
    ("count_owned", 'How many {plural} belong to the {noun} "{name}"[?]'),
    ("count_owned", 'What is the number of {plural} of the {noun} "{name}"[?]'),
    ("count_owned", "How many {plural} belong to {owners} {where}[?]"),
    ("count_owned", "What is the number of {plural} of {owners} {where}[?]"),
    ("count", "How many {plural} are there {where}[?]"),
    ("count", "Count the {plural} {where}[.]"),
    ("count", "What is the number of {plural} {where}[?]"),
    (
        "sum_product",
        'Over the {plural} of the {noun} "{name}", add up the {column} times the {other_column} of the {other_noun}[.]',
    ),
    ("sum_owned", 'What is the total {column} of the {plural} that belong to the {noun} "{name}"[?]'),
    ("sum_owned", 'Taken together, what is the {column} of the {plural} of the {noun} "{name}"[?]'),
    ("sum", "What is the total {column} of the {plural} {where}[?]"),
    ("sum", "Add up the {column} of the {plural} {where}[.]"),
    ("sum", "Taken together, what is the {column} of the {plural} {where}[?]"),
    ("average_owned", "What is the average {column} of the {plural} that belong to {owners} {where}[?]"),
    ("average_owned", "Work out the mean {column} of the {plural} of {owners} {where}[.]"),
    ("average", "What is the average {column} of the {plural} {where}[?]"),
    ("average", "Work out the mean {column} of the {plural} {where}[.]"),
    ("most", "Which {noun} has the most {plural}[?]"),
    ("most", "To which {noun} do the most {plural} belong[?]"),
    ("common", "Which {column} is the {most} common among the {plural}[?]"),
    ("common", "Which {column} do the {most} {plural} have[?]"),
    ("extreme", "Which {noun} has the {most} {column} among the {plural} {where}[?]"),
    ("extreme", "Of the {plural} {where}, which has the {most} {column}[?]"),
    ("extreme", "Which {noun} has the {most} {column}[?]"),
    ("extreme", "Name the {noun} with the {most} {column}[.]"),
    ("reverse", 'Which {noun} has the {column} "{name}"[?]'),
    ("owner", "What is the {column} of the {owner} to which the {noun} with the id {id} belongs[?]"),
    ("owner", "The {noun} with the id {id} belongs to one {owner}[.] What is the {column} of that {owner2}[?]"),
    ("numbered", "What is the {column} of the {noun} with the id {id}[?]"),
    ("numbered", "Give the {column} of the {noun} with the id {id}[.]"),
    ("numbered", "Which {column} does the {noun} with the id {id} have[?]"),
    ("numbered", "Tell me the {column} of the {noun} with the id {id}[.]"),
    ("numbered", "Find the {noun} with the id {id} and state its {column}[.]"),
    ("numbered", "I mean the {noun} with the id {id}[.] What is its {column}[?]"),
    ("numbered", "Look up the {noun} with the id {id}[.] We need its {column}[.]"),
    ("numbered", "I would like to know the {column} that the {noun} with the id {id} has[.]"),
    ("numbered", "There is one {noun} with the id {id}: report its {column}[.]"),
    ("numbered", "About the {noun} with the id {id}: which {column} is on record[?]"),
    ("numbered", "Of the {noun} with the id {id}, name the {column}[.]"),
    ("numbered", "Read the {column} of the {noun} with the id {id} from the data[.]"),
    ("numbered", "A customer asked about the {noun} with the id {id}[.] Say which {column} it has[.]"),
    ("numbered", "The {noun} with the id {id} has one {column}[.] Which[?]"),
    ("numbered", "For the {noun} with the id {id}, what is the {column}[?]"),
    ("named", 'What is the {column} of the {noun} "{name}"[?]'),
    ("named", 'Give the {column} of the {noun} "{name}"[.]'),
    ("named", 'Which {column} does the {noun} "{name}" have[?]'),
    ("named", 'Tell me the {column} of the {noun} "{name}"[.]'),
    ("named", 'Find the {noun} "{name}" and state its {column}[.]'),
    ("named", 'I mean the {noun} "{name}"[.] What is its {column}[?]'),
    ("named", 'Look up the {noun} "{name}"[.] We need its {column}[.]'),
    ("named", 'I would like to know the {column} that the {noun} "{name}" has[.]'),
    ("named", 'There is one {noun} "{name}": report its {column}[.]'),
    ("named", 'About the {noun} "{name}": which {column} is on record[?]'),
    ("named", 'Of the {noun} "{name}", name the {column}[.]'),
    ("named", 'Read the {column} of the {noun} "{name}" from the data[.]'),
    ("named", 'A customer asked about the {noun} "{name}"[.] Say which {column} it has[.]'),
    ("named", 'The {noun} "{name}" has one {column}[.] Which[?]'),
    ("named", 'For the {noun} "{name}", what is the {column}[?]'),
)
_PARTS = {
    **dict.fromkeys(("noun", "owner", "owner2", "other_noun", "plural", "owners", "others"), "[a-z ]+?"),
    **dict.fromkeys(("column", "other_column"), "[a-z ]+"),
    **dict.fromkeys(("where", "other_where"), "(?:whose|with) .+?"),
    "most": "[a-z]+",
    "name": '[^"]+',
    "id": "[0-9]+",
}
_NAMED = {part: f"(?P<{part}>{pattern})" for part, pattern in _PARTS.items()}
_ROUNDING = r"(?: Round to (?P<places>[0-9]) decimals?\.)?"

PATTERNS = tuple((form, re.compile(wording.format(**_NAMED) + _ROUNDING)) for form, wording in _WORDINGS)
"""Forms and their patterns. The first match whose nouns are tables is used."""


class UnknownForm(GymposiumError):
    """Error for text that matches no known question form."""


class MissingColumn(GymposiumError):
    """Error for a question about a column that no table has."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The query plan for a question."""

    kind: Literal["value", "count", "sum", "average", "extreme", "common"]
    value: str
    """The expression that is looked up, counted, added up, or compared."""
    source: str
    """The query, beginning with FROM."""
    places: int | None = None
    """Number of decimal places, if the question gives it."""
    label: str = ""
    """The expression that names the winner of a comparison."""
    descending: bool = True


_LEAST = ("lowest", "smallest", "earliest", "first", "least", "fewest")


def read_question(text: str, shapes: Shapes) -> Plan:
    """Return the plan of a question about these tables. Raises `UnknownForm` or `MissingColumn`."""
    for form, pattern in PATTERNS:
        if (found := pattern.fullmatch(text)) is not None:
            try:
                return _ParsedQuestion(found, shapes).make_plan(form)
            except UnknownForm:  # the words match this form by accident
                continue
    raise UnknownForm(f"No known form of question: {text[:200]!r}.")


class _ParsedQuestion:
    """The named parts of a question that matches a form."""

    def __init__(self, found: re.Match[str], shapes: Shapes) -> None:
        self._words = {name: words for name, words in found.groupdict().items() if words is not None}
        self._shapes = shapes

    def make_plan(self, form: str) -> Plan:
        places = int(self._words["places"]) if "places" in self._words else None
        descending = self._words.get("most") not in _LEAST
        match form:
            case "named":
                table = self._find_table("noun")
                return Plan("value", self._find_column(table), self._join_tables([table], self._match_name(table)))
            case "numbered":
                table = self._find_table("noun")
                return Plan("value", self._find_column(table), self._join_tables([table], self._match_id(table)))
            case "reverse":
                table = self._find_table("noun")
                same = f"{self._find_column(table)} = {quote_text(self._words['name'])}"
                return Plan("value", table.label, self._join_tables([table], same))
            case "owner":
                table, owner = self._find_table("noun"), self._find_table("owner")
                return Plan("value", self._find_column(owner), self._join_tables([table, owner], self._match_id(table)))
            case "extreme":
                table = self._find_table("plural" if "plural" in self._words else "noun")
                value, source = self._find_column(table), self._join_tables([table], self._match_condition(table))
                return Plan("extreme", value, source, label=table.label, descending=descending)
            case "common":
                table = self._find_table("plural")
                value = self._find_column(table)
                return Plan("common", value, self._join_tables([table]), label=value, descending=descending)
            case "most":
                table, owner = self._find_table("plural"), self._find_table("noun")
                return Plan("common", f"{owner.name}.id", self._join_tables([table, owner]), label=owner.label)
            case _:
                return self._plan_total(form, places)

    def _plan_total(self, form: str, places: int | None) -> Plan:
        """Return the plan of a count, a sum or an average."""
        table = self._find_table("plural")
        kind, _, how = form.partition("_")
        value = "*" if kind == "count" else self._find_column(table)
        if how == "":
            source = self._join_tables([table], self._match_condition(table))
        elif how == "owned":
            owner = self._find_table("owners" if "owners" in self._words else "noun")
            source = self._join_tables([table, owner], self._match_name(owner) or self._match_condition(owner))
        elif how == "place":
            owner, place = self._find_table("owners"), self._find_table("noun")
            source = self._join_tables([table, owner, place], self._match_name(place))
        elif how == "both":
            one, other = self._find_table("owners"), self._find_table("others")
            source = self._join_tables(
                [table, one, other], self._match_condition(one), self._match_condition(other, "other_where")
            )
        elif how == "different":
            owner = self._find_table("noun")
            value = f"DISTINCT {table.name}.{table.references[self._find_table('others').name]}"
            source = self._join_tables([table, owner], self._match_name(owner))
        else:
            owner, other = self._find_table("noun"), self._find_table("other_noun")
            value = f"{value} * {self._find_column(other, 'other_column')}"
            source = self._join_tables([table, owner, other], self._match_name(owner))
        kinds: dict[str, Literal["count", "sum", "average"]] = {"count": "count", "sum": "sum", "average": "average"}
        return Plan(kinds[kind], value, source, places)

    def _find_table(self, part: str) -> TableShape:
        words = self._words[part]
        found = next((one for one in self._shapes.values() if words in (one.plural, *one.nouns)), None)
        if found is None:
            raise UnknownForm(f"No table has rows called {words!r}.")
        return found

    def _find_column(self, table: TableShape, part: str = "column") -> str:
        if (column := table.find_column(self._words[part])) is None:
            raise MissingColumn(f"{table.name} has no column for {self._words[part]!r}.")
        return column

    def _match_name(self, table: TableShape) -> str:
        return f"{table.label} = {quote_text(self._words['name'])}" if "name" in self._words else ""

    def _match_id(self, table: TableShape) -> str:
        return f"{table.name}.id = {self._words['id']}"

    def _match_condition(self, table: TableShape, part: str = "where") -> str:
        return translate_condition(self._words[part], table) if part in self._words else ""

    def _join_tables(self, tables: Sequence[TableShape], *conditions: str) -> str:
        """Return the query, beginning with FROM. Each table after the first is joined to an earlier table."""
        joins = [f"FROM {tables[0].name}"]
        for n, table in enumerate(tables[1:], start=1):
            other = next(one for one in tables[:n] if table.name in one.references)
            joins.append(f"JOIN {table.name} ON {other.name}.{other.references[table.name]} = {table.name}.id")
        where = " AND ".join(condition for condition in conditions if condition)
        return " ".join(joins) + (f" WHERE {where}" if where else "")
