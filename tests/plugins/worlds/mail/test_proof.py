"""The checker derives answers from mail texts alone, compared with the generator and handwritten mails."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import gymposium_worlds.mail.proof as proof
from gymposium.util.streams import Draw, stream
from gymposium_worlds.mail.making.mailbox import make_mailbox
from gymposium_worlds.mail.making.questions import KINDS_OF_QUESTIONS, SPLITS, draw_question
from gymposium_worlds.mail.message import Mail
from gymposium_worlds.mail.proof import Checker, Finding, QuestionTarget, read_question
from gymposium_worlds.mail.scoring import is_right


@pytest.mark.parametrize(("size", "seeds"), [(20, 6), (60, 5), (200, 4)])
def test_questions_have_exactly_the_generated_answer(size: int, seeds: int) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(seeds):
        box = make_mailbox(seed, size)
        checker = Checker(box.mails)
        for number in range(20):
            draw = Draw(stream(seed, "question", number))
            question = draw_question(box, tuple(KINDS_OF_QUESTIONS), SPLITS[number % 2], draw)
            asked = read_question(question.text)
            assert asked is not None, question.text
            findings = checker.find_answers(asked)
            kinds[question.kind] += 1
            if question.kind == "absent":
                assert findings == [], question.text
                continue
            [finding] = findings
            assert is_right(finding.answer, question.answer), (question, finding)
            assert finding.sources == question.sources, (question, finding)
            if question.kind in ("look_up", "newest"):
                assert (len(set(checker.list_values(asked))) > 1) == (question.kind == "newest")
    assert min(kinds[kind] for kind in KINDS_OF_QUESTIONS) > 5


def test_checker_does_not_import_the_generator() -> None:
    assert "mail.making" not in Path(proof.__file__).read_text(encoding="utf-8")


def compose(number: int, text: str, sender: str = "Robert Miller", signed: str = "") -> Mail:
    body = f"Hello all,\n\n{text}\n\nBest regards\n{signed or sender}, sales"
    return Mail(f"m{number}", f"2024-01-{number:02} 09:00", f"{sender} <x{number}@arden.example>", "", "News", body)


def answers(question: str, *mails: Mail) -> list[Finding]:
    asked = read_question(question)
    assert asked is not None
    return Checker(mails).find_answers(asked)


DEADLINE = "What is the deadline of Project Blue Heron?"


def test_only_corrections_change_a_value() -> None:
    mails = [
        compose(1, "The deadline of Project Blue Heron is 3 May 2024."),
        compose(2, "The deadline of Project Blue Heron moves from 3 May 2024 to 9 June 2024."),
        compose(3, "Good.\n\nOn 1 January 2024, R wrote:\n> The deadline of Project Blue Heron is 3 May 2024."),
        compose(4, "Is the deadline of Project Blue Heron still 3 May 2024? Please tell me."),
        compose(5, "The deadline of Project Blue Finch is 7 July 2024."),
    ]
    assert answers(DEADLINE, *mails) == [Finding("9 June 2024", ("m2",))]
    again = compose(6, "Project Blue Heron has to be finished by 9 June 2024.")
    assert answers(DEADLINE, *mails, again) == [Finding("9 June 2024", ("m2", "m6"))]
    assert answers(DEADLINE, mails[2], mails[3]) == []


def test_conflicting_values_in_the_last_mail_are_two_answers() -> None:
    text = "Project Blue Heron has to be finished by 3 May 2024. We have to finish Project Blue Heron by 4 May 2024."
    assert len(answers(DEADLINE, compose(1, text))) == 2


def test_first_to_say_it_is_the_earliest_sender() -> None:
    question = "Who was the first to say that the lift in the Oslo office is out of order?"
    mails = [
        compose(1, "When was the lift in the Oslo office last looked at?", "Ada Berg"),
        compose(2, "The lift in the Bergen office is out of order.", "Ada Berg"),
        compose(3, "The lift in the Oslo office has broken down.", "Emil Roth"),
        compose(4, "The lift in the Oslo office is out of order.", "Olga Lund"),
    ]
    assert answers(question, *reversed(mails)) == [Finding("Emil Roth", ("m3",))]
    assert answers(question, *mails[:2]) == []


def test_nicknames_resolve_once_a_mail_shows_both_names() -> None:
    question = "Who said first that the lead of Project Blue Heron is Robert Miller?"
    claim = compose(1, "Bob Miller leads Project Blue Heron.", "Ada Berg")
    assert answers(question, claim) == []
    assert answers(question, claim, compose(2, "Hello.", signed="Bob Miller")) == [Finding("Ada Berg", ("m1",))]


def test_last_statement_per_person_counts() -> None:
    mails = [
        compose(1, "I will come to the Spring hike.", signed="Bob Miller"),
        compose(2, "Change of plan: Bob Miller cannot come to the Spring hike. Olga Lund will come to the Spring hike.",
                "Ada Berg"),
        compose(3, "Count me in for the Spring hike.", "Ada Berg"),
        compose(4, "Count me in for the Winter hike.", "Emil Roth"),
    ]  # fmt: skip
    assert answers("How many people will come to the Spring hike?", *mails) == [Finding("2", ("m2", "m3"))]


def test_changing_a_sentence_changes_the_answer() -> None:
    """The checker reads the mails and repeats nothing that it was told."""
    box = make_mailbox(3, 200)
    fact = next(f for s in box.stories for f in s.facts if f.attribute.noun == "price" and len(f.versions) == 1)
    value = fact.versions[0].value.text
    changed = [replace(mail, body=mail.body.replace(value, "1 euros")) for mail in box.mails]
    asked = QuestionTarget("value", fact.topic.name, "price")
    assert [found.answer for found in Checker(box.mails).find_answers(asked)] == [value]
    assert [found.answer for found in Checker(changed).find_answers(asked)] == ["1 euros"]


@pytest.mark.parametrize("text", ["", "What time is it?", "Who was the first to say that nothing is lost?"])
def test_unknown_questions_are_not_parsed(text: str) -> None:
    assert read_question(text) is None
