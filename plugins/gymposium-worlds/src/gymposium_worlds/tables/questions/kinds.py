"""Kinds of questions, and drawing a question of a kind."""

from __future__ import annotations

from gymposium.errors import BadParameter, GymposiumError
from gymposium.util.streams import Draw
from gymposium_worlds.tables.database import Database
from gymposium_worlds.tables.questions.joins import JOINS
from gymposium_worlds.tables.questions.question import Asker, QuestionMaker, TableQuestion
from gymposium_worlds.tables.questions.rows import ABSENT, AVERAGES, COUNTS, LOOKUPS, SUMS, SUPERLATIVES
from gymposium_worlds.tables.questions.wordings import Split

MAKERS: dict[str, tuple[QuestionMaker, ...]] = {
    "lookup": LOOKUPS,
    "count": COUNTS,
    "sum": SUMS,
    "average": AVERAGES,
    "superlative": SUPERLATIVES,
    "join": JOINS,
    "absent": ABSENT,
}
"""Functions that make questions, by kind."""
ALL = "all"
_ABSENT_SHARE = 0.15
"""Share of unanswerable questions. It is low, so always answering `unknown` scores little."""
_TRIES = 2000


def parse_kinds(text: str) -> tuple[str, ...]:
    """Parse kinds of questions: `all`, or names joined by `+`. Raises `BadParameter`."""
    if text == ALL:
        return tuple(MAKERS)
    kinds = text.split("+")
    if len(set(kinds)) < len(kinds) or not set(kinds) <= set(MAKERS):
        raise BadParameter(f"kinds={text!r}: write all, or different kinds joined by +, of {', '.join(MAKERS)}.")
    if kinds == ["absent"]:
        raise BadParameter("kinds='absent': every question would have the same answer. Add another kind with +.")
    return tuple(kind for kind in MAKERS if kind in kinds)


def draw_question(database: Database, kinds: tuple[str, ...], split: Split, draw: Draw) -> tuple[str, TableQuestion]:
    """Draw a kind and a question of that kind. All kinds except `absent` are equally likely."""
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
