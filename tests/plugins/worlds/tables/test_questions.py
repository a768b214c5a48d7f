"""Every question has exactly one answer, which its words and the database prove."""

import ast
from pathlib import Path

import pytest

import gymposium_worlds.tables.reading as reading
from gymposium.errors import BadParameter
from gymposium.util.streams import Draw, stream
from gymposium_worlds.tables.answers import Answer
from gymposium_worlds.tables.checking import ProofError, prove_answer
from gymposium_worlds.tables.contents import make_database
from gymposium_worlds.tables.database import pluralize
from gymposium_worlds.tables.questions.kinds import MAKERS, draw_question, parse_kinds
from gymposium_worlds.tables.questions.question import Asker, draw_condition
from gymposium_worlds.tables.questions.wordings import CONDITIONS, WORDINGS, Split
from gymposium_worlds.tables.reading import TableShape, UnknownForm, read_question, read_shapes
from gymposium_worlds.tables.sql.queries import open_database
from gymposium_worlds.tables.themes import THEMES

SPLITS: tuple[Split, ...] = ("train", "test")
SIZES = (20, 60, 200, 400)


def test_checker_agrees_with_the_generator() -> None:
    for seed in range(300):
        split = SPLITS[seed % 2]
        database = make_database(f"{split}-{seed // 6}", SIZES[seed % 4])
        kind, question = draw_question(database, tuple(MAKERS), split, Draw(stream(seed, "test")))
        connection = open_database(database)
        proven = prove_answer(question.text, connection)
        connection.close()
        assert question.answer.matches(proven), (question, proven)
        assert (kind == "absent") == (question.answer.type == "unknown")


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kind", MAKERS)
def test_every_question_maker_works_in_small_databases(kind: str, split: Split) -> None:
    """Each maker finds a question in a database of the least size or says that there is none; none is wrong."""
    for maker in MAKERS[kind]:
        made = 0
        for seed in range(12):
            database = make_database(f"{split}-{seed}", 20)
            question = maker(Asker(database, split, Draw(stream(seed, "test"))))
            if question is None:
                continue
            made += 1
            connection = open_database(database)
            assert question.answer.matches(prove_answer(question.text, connection)), question
            connection.close()
            assert WORDINGS[question.form][split]
        held_out = split == "train" and maker.__name__ in ("ask_by_contact", "ask_product_sum")
        assert bool(made) != held_out, maker


def test_checker_refuses_ambiguous_questions() -> None:
    database = make_database("train-1", 200)
    subject, connection = database.subject, open_database(database)
    rows = [row[subject.find_place("category")] for row in subject.rows]
    assert len(rows) > len(set(rows))
    (column,) = subject.select_columns("category")
    with pytest.raises(ProofError, match="must have 1 winner, not "):
        prove_answer(f"Which {subject.noun} has the highest {column.phrase}?", connection)
    with pytest.raises(ProofError, match="rows to add up"):
        prove_answer(
            f"What is the average id of the {subject.plural} whose id is above 9999? Round to 1 decimal.", connection
        )
    with pytest.raises(ProofError, match="rounding boundary"):  # (1 + 2) / 2
        prove_answer(
            f"What is the average id of the {subject.plural} whose id is below 3? Round to 0 decimals.", connection
        )
    with pytest.raises(UnknownForm):
        prove_answer("What is the meaning of life?", connection)


def test_splits_share_no_wording_or_database() -> None:
    for wordings in WORDINGS.values():
        assert not set(wordings["train"]) & set(wordings["test"])
        assert wordings["test"]
    for conditions in CONDITIONS.values():
        assert conditions["train"] != conditions["test"]
    assert all(make_database(f"train-{n}", 20) != make_database(f"test-{n}", 20) for n in range(20))


def test_names_and_columns_vary() -> None:
    tables = [make_database(f"train-{n}", 20).tables for n in range(60)]
    assert len({tuple(table.create for table in one) for one in tables}) > 50
    assert len({one[3].name for one in tables}) >= 8


def test_databases_are_determined_by_their_names() -> None:
    make_database.cache_clear()
    first = make_database("test-7", 50)
    make_database.cache_clear()
    assert make_database("test-7", 50) == first
    assert len(first.event.rows) == 50
    for table in first.tables:
        assert not set(table.absent_labels) & {str(cell) for row in table.rows for cell in row}
        assert not set(table.absent_columns) & {column.phrase for one in first.tables for column in one.columns}


def test_conditions_match_at_least_one_row() -> None:
    for seed in range(200):
        table = make_database(f"train-{seed % 10}", 20).subject
        assert any(map(draw_condition(table, "test", Draw(stream(seed, "test"))).holds, table.rows))


def test_nouns_are_parsed_from_plurals() -> None:
    for theme in THEMES:
        nouns = [noun for entity in (theme.place, theme.subject, theme.item, theme.event) for noun in entity.nouns]
        assert len({*nouns}) == len(nouns)
        for noun in nouns:
            others = {one for other in nouns if other != noun for one in TableShape(pluralize(other), {}, {}).nouns}
            assert noun.replace("_", " ") in TableShape(pluralize(noun), {}, {}).nouns
            assert noun.replace("_", " ") not in others


def test_question_parser_does_not_import_the_generator() -> None:
    for node in ast.walk(ast.parse(Path(str(reading.__file__)).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not str(node.module).startswith("gymposium_worlds"), node.module


def test_quotes_in_names_are_escaped() -> None:
    shapes = read_shapes(["CREATE TABLE clients (id INTEGER PRIMARY KEY, name TEXT, age INTEGER)"])
    plan = read_question("""What is the age of the client "O'Neil"?""", shapes)
    assert plan.source == "FROM clients WHERE clients.name = 'O''Neil'"


@pytest.mark.parametrize("kinds", ["", "absent", "lookups", "lookup+lookup", "lookup,count", "all+count"])
def test_unknown_kinds_are_refused(kinds: str) -> None:
    with pytest.raises(BadParameter, match="kinds="):
        parse_kinds(kinds)


def test_only_requested_kinds_occur() -> None:
    assert parse_kinds("all") == tuple(MAKERS)
    kinds = parse_kinds("join+absent")
    database = make_database("train-3", 100)
    drawn = [draw_question(database, kinds, "train", Draw(stream(seed, "test")))[0] for seed in range(300)]
    assert set(drawn) == {"join", "absent"}
    assert drawn.count("absent") < 0.25 * len(drawn)


@pytest.mark.parametrize(
    ("answer", "right", "wrong"),
    [
        (Answer("integer", "12"), ["12", " 12\n", "+12", "012"], ["12.0", "13", "twelve", "", "١٢", "1_2", "12 items"]),
        (
            Answer("decimal", "12.50"),
            ["12.5", "12.50", "12.500", "+12.5"],
            ["12.49", "12,5", "1.25e1", "nan", "", "12.5001"],
        ),
        (Answer("decimal", "12.00"), ["12", "12.", "12.0"], ["12.001", "unknown"]),
        (Answer("text", "Ida Abel"), ["Ida Abel", " Ida Abel "], ["ida abel", "Ida", "Ida  Abel", ""]),
        (Answer("unknown", "unknown"), ["unknown", "Unknown"], ["", "0", "NULL", "not known"]),
    ],
)
def test_answers_are_compared_by_type(answer: Answer, right: list[str], wrong: list[str]) -> None:
    assert all(answer.score(given) == 1.0 for given in right)
    assert all(answer.score(given) == (0.1 if given == "unknown" else 0.0) for given in wrong)
    assert answer.score("unknown") == (1.0 if answer.type == "unknown" else 0.1)
