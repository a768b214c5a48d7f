"""Mailboxes made by the generator."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings, strategies as st

from gymposium.util.streams import Draw, stream
from gymposium_worlds.mail.making.facts import GATHERING, INCIDENT, KINDS
from gymposium_worlds.mail.making.gatherings import MAX_COMING
from gymposium_worlds.mail.making.mailbox import make_mailbox
from gymposium_worlds.mail.making.people import make_people
from gymposium_worlds.mail.making.questions import KINDS_OF_QUESTIONS
from gymposium_worlds.mail.making.stories import MAX_ABOUT
from gymposium_worlds.mail.store import split_words

SEEDS = st.integers(0, 10**6)


@settings(max_examples=30)
@given(SEEDS, st.integers(20, 90))
def test_mailbox_has_the_requested_size(seed: int, size: int) -> None:
    box = make_mailbox.__wrapped__(seed, size)
    assert len(box.mails) == size
    assert [mail.id for mail in box.mails] == [f"m{number}" for number in range(1, size + 1)]
    times = [mail.sent for mail in box.mails]
    assert times == sorted(set(times))
    assert all(box.owner.header in f"{mail.sender}, {mail.recipients}" for mail in box.mails)


@settings(max_examples=30)
@given(SEEDS, st.integers(20, 90))
def test_each_kind_of_question_can_be_asked(seed: int, size: int) -> None:
    box = make_mailbox.__wrapped__(seed, size)
    for name, ask in KINDS_OF_QUESTIONS.items():
        assert ask(box, "train", Draw(stream(seed, name))).kind == name


def test_mailboxes_are_deterministic_by_seed() -> None:
    assert make_mailbox.__wrapped__(4, 60).mails == make_mailbox.__wrapped__(4, 60).mails
    assert len({make_mailbox.__wrapped__(seed, 20).mails for seed in range(20)}) == 20


def test_few_mails_name_a_topic() -> None:
    """So that ten calls are enough to read all that could matter."""
    box = make_mailbox(8, 600)
    texts = [" ".join(split_words(f"{mail.subject} . {mail.body}")) for mail in box.mails]
    for story in box.stories:
        phrase = " ".join(split_words(story.topic.name.removeprefix("the ")))
        assert 1 <= sum(phrase in text for text in texts) <= MAX_ABOUT


def test_stale_values_are_quoted_after_their_correction() -> None:
    box = make_mailbox(8, 600)
    stale = 0
    for fact in (fact for story in box.stories for fact in story.facts):
        for old, new in zip(fact.versions, fact.versions[1:]):
            after = [mail for mail in box.mails if int(mail.id[1:]) > int(new.claims[0].id[1:])]
            quotes = [line for mail in after for line in mail.body.split("\n") if line.startswith(">")]
            stale += any(fact.topic.name in line and old.value.text in line for line in quotes)
    assert stale > 20


def test_topics_resemble_each_other() -> None:
    """Most topics of a kind share a part of their name with another."""
    box = make_mailbox(8, 600)
    for kind in KINDS:
        topics = [story.topic for story in box.stories if story.topic.kind is kind]
        assert len({(topic.a, topic.b) for topic in topics}) == len(topics)
        parts = Counter([(0, topic.a) for topic in topics] + [(1, topic.b) for topic in topics])
        near = sum(parts[0, topic.a] > 1 or parts[1, topic.b] > 1 for topic in topics)
        assert near > len(topics) / 2


def test_names_are_unique_and_addresses_show_none() -> None:
    for seed in range(30):
        people = make_people(80, Draw(stream(seed)))
        names = [name for person in people for name in person.names]
        assert len(set(names)) == len(names)
        assert len({person.address for person in people}) == len(people)
        assert 20 < sum(person.name != person.alias for person in people) < 60
        parts = {part.lower() for person in people for name in person.names for part in name.split()}
        assert not any(part in person.address for person in people for part in parts)


def test_guest_numbers_are_uniform() -> None:
    """A blind guess is then right in one of eight, which is worth less than to say that one does not know."""
    counts = Counter(len(one.coming) for seed in range(3) for one in make_mailbox.__wrapped__(seed, 2000).gatherings)
    assert set(counts) == set(range(1, MAX_COMING + 1))
    assert max(counts.values()) < 1.5 * sum(counts.values()) / MAX_COMING


def test_topic_names_are_distinct_across_kinds() -> None:
    """No gathering is called like a meeting."""
    meetings = {word for kind in KINDS for word in (*kind.first, *kind.second)}
    assert not meetings.intersection((*GATHERING.second, *INCIDENT.first))
