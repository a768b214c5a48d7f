"""Kinds of questions, and the choice of a question."""

from __future__ import annotations

from gymposium.errors import BadParameter, GymposiumError
from gymposium.util.streams import Draw
from gymposium_worlds.tables.database import Database
from gymposium_worlds.tables.questions.joins import JOINS
from gymposium_worlds.tables.questions.lookups import ABSENT, LOOKUPS
from gymposium_worlds.tables.questions.question import Asker, Maker, TableQuestion
from gymposium_worlds.tables.questions.superlatives import SUPERLATIVES
from gymposium_worlds.tables.questions.totals import AVERAGES, COUNTS, SUMS
from gymposium_worlds.tables.questions.wordings import Split

MAKERS: dict[str, tuple[Maker, ...]] = {
    "lookup": LOOKUPS,
    "count": COUNTS,
    "sum": SUMS,
    "average": AVERAGES,
    "superlative": SUPERLATIVES,
    "join": JOINS,
    "absent": ABSENT,
}
"""By kind, the functions that make its questions."""
ALL = "all"
_ABSENT_SHARE = 0.15
"""Share of questions that the data do not answer, low, so that a player who always says so scores little."""
_TRIES = 2000


def parse_kinds(text: str) -> tuple[str, ...]:
    """The kinds that a text names: `all`, or names joined by `+`. Raises `BadParameter`."""
    if text == ALL:
        return tuple(MAKERS)
    kinds = text.split("+")
    if len(set(kinds)) < len(kinds) or not set(kinds) <= set(MAKERS):
        raise BadParameter(f"kinds={text!r}: write all, or different kinds joined by +, of {', '.join(MAKERS)}.")
    if kinds == ["absent"]:
        raise BadParameter("kinds='absent': the answer to every question would be the same; add another kind with +.")
    return tuple(kind for kind in MAKERS if kind in kinds)


def draw_question(database: Database, kinds: tuple[str, ...], split: Split, draw: Draw) -> tuple[str, TableQuestion]:
    """A question of one of the kinds, and its kind. Kinds are equally frequent, except `absent`."""
    if "absent" in kinds and draw.chance(_ABSENT_SHARE):
        kind = "absent"
    else:
        kind = draw.pick([one for one in kinds if one != "absent"])
    asker = Asker(database, split, draw)
    for _ in range(_TRIES):
        question = draw.pick(MAKERS[kind])(asker)
        if question is not None:
            return kind, question
    raise GymposiumError(f"No question of the kind {kind} has a single answer in this database. Choose more rows.")
