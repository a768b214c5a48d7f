"""Questions about a mailbox, with answers and sources from the generator. The splits `train` and `test` have different
wordings. Every word in a test wording also occurs in a train wording or in a mail, so a trained player can read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gymposium.util.streams import Draw
from gymposium_worlds.mail.making.facts import INCIDENT, KINDS, Attribute, Topic
from gymposium_worlds.mail.making.mailbox import Mailbox
from gymposium_worlds.mail.making.stories import Fact
from gymposium_worlds.mail.making.values import Value, draw_value

Split = Literal["train", "test"]
SPLITS: tuple[Split, ...] = ("train", "test")

VALUE: Mapping[Split, tuple[str, ...]] = {
    "train": (
        "{what} is the {noun} of {topic}?",
        "{what} is the {noun} of {topic} now?",
        "Please tell me the {noun} of {topic}.",
        "Find out the {noun} of {topic}.",
        "I would like to know the {noun} of {topic}. Can you look it up?",
        "Somebody asked me about the {noun} of {topic}. {what} is it?",
    ),
    "test": (
        "Can you find out {what_within} the {noun} of {topic} is?",
        "I have to know the {noun} of {topic} now. Please look it up.",
        "Look up the {noun} of {topic} for me, please.",
    ),
}
"""Questions about a value: look-up, newest value, and values that the mailbox lacks."""

FIRST: Mapping[Split, tuple[str, ...]] = {
    "train": (
        "Who was the first to say that {claim}?",
        "Who said first that {claim}?",
        "Find out who was the first to write that {claim}.",
        "I would like to know who first said that {claim}.",
    ),
    "test": (
        "Please tell me who was the first to say that {claim}.",
        "Who was the first to write to me that {claim}?",
    ),
}
"""Questions about who said something first."""

COUNT: Mapping[Split, tuple[str, ...]] = {
    "train": (
        "How many people will come to {topic}?",
        "Find out how many people will come to {topic}.",
        "How many of us will be there for {topic}?",
        "Please tell me how many people want to join {topic}.",
    ),
    "test": (
        "How many people want to come to {topic}?",
        "I would like to know how many of us will come to {topic}.",
    ),
}
"""Questions about the number of people who come to a gathering."""


UNKNOWN: Mapping[str, Any] = {"type": "unknown", "accepted": []}
"""The right answer to a question that the mailbox does not answer."""


@dataclass(frozen=True, slots=True)
class MailQuestion:
    """A question and its hidden answer."""

    kind: str
    """One of `KINDS_OF_QUESTIONS`."""
    text: str
    answer: Mapping[str, Any]
    """`{"type": "date", "accepted": ["2024-06-12"]}`, as `scoring.is_right` takes it."""
    sources: tuple[str, ...]
    """Ids of the mails that show the answer."""
    all_sources: bool = False
    """Whether the answer needs all sources. If not, each source alone shows it."""


def ask_look_up(box: Mailbox, split: Split, draw: Draw) -> MailQuestion:
    """Draw a question about an uncorrected fact."""
    fact = draw.pick([fact for story in box.stories for fact in story.facts if len(fact.versions) == 1])
    return _ask_newest_version("look_up", fact, split, draw)


def ask_newest(box: Mailbox, split: Split, draw: Draw) -> MailQuestion:
    """Draw a question about a corrected fact."""
    fact = draw.pick([fact for story in box.stories for fact in story.facts if len(fact.versions) > 1])
    return _ask_newest_version("newest", fact, split, draw)


def ask_count(box: Mailbox, split: Split, draw: Draw) -> MailQuestion:
    """Draw a question about how many people come to a gathering, according to the latest statement about each
    person."""
    gathering = draw.pick(box.gatherings)
    text = draw.pick(COUNT[split]).format(topic=gathering.topic.name)
    answer = {"type": "number", "accepted": [str(len(gathering.coming))]}
    sources = dict.fromkeys(draft.id for draft in sorted(gathering.coming.values(), key=lambda draft: draft.minute))
    return MailQuestion("count", text, answer, tuple(sources), all_sources=True)


def ask_first(box: Mailbox, split: Split, draw: Draw) -> MailQuestion:
    """Draw a question about who said something first."""
    reported = [incident for incident in box.incidents if incident.claims]
    if draw.chance(0.5):
        incident = draw.pick(reported)
        claim, drafts = f"{incident.topic.name} is out of order", incident.claims
    else:
        fact = draw.pick([fact for story in box.stories for fact in story.facts])
        version = draw.pick(fact.versions)
        claim, drafts = _word_claim(fact, _name_value(version.value, box)), version.claims
    draft = min(drafts, key=lambda draft: draft.minute)
    answer = {"type": "name", "accepted": list(draft.sender.names)}
    return MailQuestion("first", draw.pick(FIRST[split]).format(claim=claim), answer, (draft.id,))


def ask_absent(box: Mailbox, split: Split, draw: Draw) -> MailQuestion:
    """Draw a question that the mailbox does not answer. It has the same form as answerable questions."""
    if draw.chance(0.65):
        topic, attribute = _draw_unstated(box, draw) if draw.chance(0.5) else _draw_unknown(box, draw)
        text = _word_value_question(topic, attribute, split, draw)
    else:
        text = draw.pick(FIRST[split]).format(claim=_draw_unsaid(box, draw))
    return MailQuestion("absent", text, UNKNOWN, ())


KINDS_OF_QUESTIONS: Mapping[str, Callable[[Mailbox, Split, Draw], MailQuestion]] = {
    "look_up": ask_look_up,
    "newest": ask_newest,
    "count": ask_count,
    "first": ask_first,
    "absent": ask_absent,
}
"""The kinds of questions, by name."""

ABSENT_SHARE = 0.2
"""Share of unanswerable questions if questions are of several kinds."""


def draw_question(box: Mailbox, kinds: Sequence[str], split: Split, draw: Draw) -> MailQuestion:
    """Draw a question of one of these kinds. If `ask_absent` is one of several kinds, one question in five is of this
    kind."""
    others = [kind for kind in kinds if kind != "absent"]
    is_absent = "absent" in kinds and (not others or draw.chance(ABSENT_SHARE))
    return KINDS_OF_QUESTIONS["absent" if is_absent else draw.pick(others)](box, split, draw)


def _ask_newest_version(kind: str, fact: Fact, split: Split, draw: Draw) -> MailQuestion:
    version = fact.versions[-1]
    text = _word_value_question(fact.topic, fact.attribute, split, draw)
    sources = tuple(draft.id for draft in sorted(version.claims, key=lambda draft: draft.minute))
    return MailQuestion(kind, text, version.value.answer(fact.attribute.type), sources)


def _word_value_question(topic: Topic, attribute: Attribute, split: Split, draw: Draw) -> str:
    what = "Who" if attribute.type == "name" else "What"
    form = draw.pick(VALUE[split])
    return form.format(what=what, what_within=what.lower(), noun=attribute.noun, topic=topic.name)


def _word_claim(fact: Fact, value: str) -> str:
    return f"the {fact.attribute.noun} of {fact.topic.name} is {value}"


def _name_value(value: Value, box: Mailbox) -> str:
    """Return the value as a question states it. A person who has sent a mail is named as in its header, even if mail
    texts use another name.
    """
    if value.person is None or value.person not in box.senders:
        return value.text
    return value.person.name


def _draw_unstated(box: Mailbox, draw: Draw) -> tuple[Topic, Attribute]:
    """Return a topic of the mailbox and an attribute with no stated value."""
    story = draw.pick([story for story in box.stories if story.unstated])
    return story.topic, draw.pick(story.unstated)


def _draw_unknown(box: Mailbox, draw: Draw) -> tuple[Topic, Attribute]:
    """Return an attribute, and a topic that no mail names but whose name resembles another topic's."""
    kind = draw.pick(KINDS)
    return box.topics.draw_similar(kind, draw), draw.pick(kind.attributes)


def _draw_unsaid(box: Mailbox, draw: Draw) -> str:
    """Draw a claim that no mail makes."""
    if draw.chance(0.5):
        quiet = [incident.topic for incident in box.incidents if not incident.claims]
        topic = draw.pick(quiet) if quiet and draw.chance(0.5) else box.topics.draw_similar(INCIDENT, draw)
        return f"{topic.name} is out of order"
    fact = draw.pick([fact for story in box.stories for fact in story.facts])
    while True:
        value = draw_value(fact.attribute.type, fact.attribute.noun, box.first_day, box.people[1:], draw)
        if all(value.accepted[0] != version.value.accepted[0] for version in fact.versions):
            return _word_claim(fact, _name_value(value, box))
