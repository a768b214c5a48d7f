"""The plugin gymposium-worlds: its games, and programs that solve them as players."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import GameSpec, OpponentSpec, Parameter, hookimpl


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    """Yield the games."""
    yield GameSpec(
        name="mail",
        title="Mail",
        summary="Answer a question about a mailbox by searching and reading it.",
        entry_point="gymposium_worlds.mail.tasks:game",
        family="tasks",
        seats=1,
        parameters=(
            Parameter(name="mails", default=200, low=20, high=5000, help="Number of mails in the mailbox."),
            Parameter(
                name="kinds",
                default="all",
                help="Kinds of questions: all, or some of look_up, newest, count, first, absent in this order, with + "
                "between them.",
            ),
            Parameter(
                name="split",
                default="train",
                choices=("train", "test"),
                help="Mailboxes and wordings of questions: no mailbox and no wording is in both.",
            ),
            Parameter(name="max_calls", default=10, low=2, high=100, help="Most calls of tools, the answer included."),
            Parameter(
                name="inbox",
                default="",
                help="A file of mails, JSONL or Enron's CSV, in place of made-up ones; questions must be given too.",
                opens="a file",
            ),
            Parameter(name="questions", default="", help="A JSONL file of questions about the inbox.", opens="a file"),
        ),
        examples=({}, {"mails": 20, "kinds": "count+absent", "split": "test"}),
        information="imperfect",
        chance=True,
        utility="score",
        free_text=True,
        tools="pure",
        unsearchable="search cannot guess what mails say",
    )
    yield GameSpec(
        name="tables",
        title="Tables",
        summary="Answer a question about a made-up database with SQL queries.",
        entry_point="gymposium_worlds.tables.tasks:game",
        family="tasks",
        seats=1,
        parameters=(
            Parameter(name="rows", default=200, low=20, high=400, help="Rows of the largest table."),
            Parameter(
                name="kinds",
                default="all",
                help="Kinds of questions: all, or some of lookup, count, sum, average, superlative, join, absent, with "
                "+ between them.",
            ),
            Parameter(
                name="split",
                default="train",
                choices=("train", "test"),
                help="Databases and wordings of questions: none is in both.",
            ),
            Parameter(name="max_calls", default=8, low=2, high=50, help="Most calls of tools, the answer included."),
        ),
        examples=({}, {"kinds": "lookup+absent", "split": "test", "rows": 40}),
        information="imperfect",
        chance=True,
        utility="score",
        free_text=True,
        tools="pure",
        unsearchable="its moves are calls of tools, and worlds would reveal the answer",
    )
    yield GameSpec(
        name="qa",
        title="Questions",
        summary="Answer a question that has one right answer, from your file or made-up arithmetic.",
        entry_point="gymposium_worlds.qa.game:QuestionsGame",
        null_agents={"zero": "Of small numbers, many differences and products are 0."},
        family="tasks",
        seats=1,
        parameters=(
            Parameter(
                name="file",
                default="",
                help="A file of questions, JSONL or what the library datasets loads. Without it, arithmetic is asked.",
                opens="a file",
            ),
            Parameter(name="digits", default=2, low=1, high=9, help="Digits of the numbers in arithmetic, at most."),
            Parameter(
                name="operations",
                default="add",
                choices=("add", "add_subtract", "add_subtract_multiply"),
                help="What is computed in arithmetic.",
            ),
            Parameter(
                name="split",
                default="train",
                choices=("train", "test"),
                help="The part of all arithmetic questions that is asked; no question is in both.",
            ),
        ),
        examples=({}, {"digits": 1, "operations": "add_subtract_multiply", "split": "test"}),
        chance=True,
        utility="score",
        free_text=True,
        unsearchable="its moves are free text, and worlds would reveal the answer",
    )


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    """Yield the players."""
    yield OpponentSpec(
        name="mail-expert",
        form="mail-expert",
        games=("mail",),
        pattern="mail-expert",
        summary="Mail: find the answer by the tools alone, and be right in every task with 10 calls.",
        entry_point="gymposium_worlds.mail.expert:MailExpert",
    )
    yield OpponentSpec(
        name="mail-expert-shuffled",
        form="mail-expert-shuffled",
        games=("mail",),
        pattern="mail-expert-shuffled",
        summary="Mail: as mail-expert, but read the mails that a search found in random order.",
        entry_point="gymposium_worlds.mail.expert:make_shuffled_expert",
    )
    yield OpponentSpec(
        name="tables-expert",
        form="tables-expert",
        games=("tables",),
        pattern="tables-expert",
        summary="Tables: turn the question into one query, and answer with its result.",
        entry_point="gymposium_worlds.tables.expert:TablesExpert",
    )
    yield OpponentSpec(
        name="arithmetic",
        form="arithmetic",
        games=("qa",),
        pattern="arithmetic",
        summary="Questions: compute the answer of an arithmetic question.",
        entry_point="gymposium_worlds.qa.arithmetic:ArithmeticPlayer",
    )
