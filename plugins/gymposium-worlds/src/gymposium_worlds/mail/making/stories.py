"""Stories: mails about one topic that state, correct and quote its attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gymposium.util.streams import Draw
from gymposium_worlds.mail.making.facts import Attribute, Topic, make_sentence
from gymposium_worlds.mail.making.outbox import Draft, Outbox
from gymposium_worlds.mail.making.people import Person
from gymposium_worlds.mail.making.values import Value, draw_value

MAX_STORY = 5
"""Maximum number of mails per story."""
MAX_ABOUT = 6
"""Maximum number of mails that name a story's topic: the story's own mails, and notes that repeat its facts."""

_LEADS = ("", "", "as agreed, ", "for your records: ", "just so you know: ", "as I said on the phone, ")
_SUBJECTS = ("{topic}", "{topic}: news", "About {topic}", "News", "A short note", "Please read", "For your records")
_MENTIONS = (
    "I will look at {topic} tomorrow.", "Let us talk about {topic} on the phone.", "I have no news about {topic} yet.",
)  # fmt: skip
_NOTED = ("Thank you, I have noted it.", "Thank you for this, I only saw it today.", "Good to know, many thanks.")


@dataclass(slots=True)
class Version:
    """One value of a fact, and the mails that state it outside quotes, earliest first."""

    value: Value
    claims: list[Draft] = field(default_factory=list)


@dataclass(slots=True)
class Fact:
    """An attribute of a topic, with its successive values."""

    topic: Topic
    attribute: Attribute
    versions: list[Version] = field(default_factory=list)

    def find_version(self, minute: int) -> Version | None:
        """Return the version that is current at this minute."""
        return next((one for one in reversed(self.versions) if one.claims[0].minute < minute), None)


@dataclass(slots=True)
class Story:
    """A topic, its facts, and the number of mails that name it."""

    topic: Topic
    facts: list[Fact]
    unstated: Sequence[Attribute]
    """Attributes whose value no mail states."""
    about: int


class StoryWriter:
    """A writer of stories."""

    def __init__(self, outbox: Outbox, draw: Draw) -> None:
        self._outbox, self._draw = outbox, draw

    def write_story(self, topic: Topic, minute: int, most: int, *, corrected: bool) -> Story:
        """Write a story about a topic, starting at `minute`, in at most `most` mails.

        `most` must be at least 2 if a fact is corrected.
        """
        draw, write = self._draw, self._outbox.write
        main, side, unstated = draw.some(topic.kind.attributes, 3)
        facts = [Fact(topic, main)]
        subject = draw.pick(_SUBJECTS).format(topic=topic.name.removeprefix("the "))
        statement, author = self._write_statement(facts[0], minute, None)
        sentences = [statement]
        if draw.chance(0.5):
            facts.append(Fact(topic, side))
            sentences.append(self._write_statement(facts[1], minute, author)[0])
        last = first = write(minute, author, subject, sentences)
        for fact in facts:
            fact.versions[-1].claims.append(first)
        plan = self._plan_story(most - 1, corrected)
        for step in plan:
            minute = last.minute + draw.between(20, 2400)
            match step:
                case "change":
                    statement, author = self._write_change(facts[0], minute)
                    answers = first if draw.chance(0.5) else None
                    last = write(minute, author, f"A change: {topic.name}", [statement], answers, draw.chance(0.6))
                    facts[0].versions[-1].claims.append(last)
                case "reply":
                    if len(facts) == 1 and draw.chance(0.5):
                        facts.append(Fact(topic, side))
                    fact = facts[-1]
                    statement, author = self._write_statement(fact, minute, None)
                    last = write(minute, author, subject, [statement], first)
                    fact.versions[-1].claims.append(last)
                case "ask":
                    text = self._write_question(facts[0], draw.pick((unstated, main)))
                    last = write(minute, self._pick_asker(), f"Question: {topic.name}", [text])
                case "mention":
                    text = draw.pick(_MENTIONS).format(topic=topic.name)
                    last = write(minute, self._pick_person(), subject, [text], first, draw.chance(0.4))
                case _:  # "late"
                    last = write(minute, self._pick_person(), subject, [draw.pick(_NOTED)], first)
        told = [fact.attribute for fact in facts]
        return Story(topic, facts, [one for one in topic.kind.attributes if one not in told], 1 + len(plan))

    def write_note(self, minute: int, stories: Sequence[Story]) -> None:
        """Write a mail that repeats the current value of one fact from each story. Each story must already have stated
        one."""
        minute = self._outbox.find_free_minute(minute)
        facts = [self._draw.pick([fact for fact in story.facts if fact.find_version(minute)]) for story in stories]
        versions = [version for fact in facts if (version := fact.find_version(minute))]
        author = self._pick_person([version.value.person for version in versions])
        sentences = [
            make_sentence(self._draw.pick(fact.attribute.states), topic=fact.topic.name, value=version.value.text)
            for fact, version in zip(facts, versions, strict=True)
        ]
        draft = self._outbox.write(minute, author, "Notes of the week", sentences)
        for story, version in zip(stories, versions, strict=True):
            version.claims.append(draft)
            story.about += 1

    def _plan_story(self, most: int, corrected: bool) -> list[str]:
        """Return the steps of a story after its first mail: at most `most` steps."""
        draw = self._draw
        before = [step for step, p in (("reply", 0.5), ("ask", 0.2), ("mention", 0.2)) if draw.chance(p)]
        after = [step for step, p in (("late", 0.6), ("ask", 0.3), ("mention", 0.3)) if draw.chance(p)]
        changes = 0 if not corrected else 2 if most > 1 and draw.chance(0.25) else 1
        room = most - changes
        before = before[: max(0, room)]
        return [*before, *["change"] * changes, *after[: max(0, room - len(before))]]

    def _write_statement(self, fact: Fact, minute: int, author: Person | None) -> tuple[str, Person]:
        """Return a sentence that states the current value, and its author. Draw a value if the fact has none."""
        draw, attribute, topic = self._draw, fact.attribute, fact.topic.name
        if not fact.versions:
            day = self._outbox.day(minute)
            value = draw_value(attribute.type, attribute.noun, day, self._outbox.others, draw)
            fact.versions.append(Version(value))
        value = fact.versions[-1].value
        if author is None:
            own = value.person is not None and draw.chance(0.4)
            author = value.person if own and value.person else self._pick_person([value.person])
        if author is value.person:
            return make_sentence(draw.pick(attribute.states_self), topic=topic), author
        form = draw.pick(_LEADS) + draw.pick(attribute.states)
        return make_sentence(form, topic=topic, value=value.text), author

    def _write_change(self, fact: Fact, minute: int) -> tuple[str, Person]:
        """Return a sentence that changes the value, and its author."""
        draw, attribute = self._draw, fact.attribute
        before = [answer for version in fact.versions for answer in version.value.accepted]
        old = fact.versions[-1].value
        day = self._outbox.day(minute)
        while True:
            value = draw_value(attribute.type, attribute.noun, day, self._outbox.others, draw)
            if value.accepted[0] not in before:
                break
        fact.versions.append(Version(value))
        form = draw.pick(attribute.changes)
        text = make_sentence(form, topic=fact.topic.name, value=value.text, old=old.text)
        return text, self._pick_person([value.person, old.person])

    def _write_question(self, fact: Fact, asked: Attribute) -> str:
        """Return a question about the topic that states no fact."""
        if asked is fact.attribute:
            value = self._draw.pick(fact.versions).value.text
            return f"Is the {asked.noun} of {fact.topic.name} still {value}?"
        return f"Can you tell me the {asked.noun} of {fact.topic.name}?"

    def _pick_asker(self) -> Person:
        return self._outbox.owner if self._draw.chance(0.4) else self._pick_person()

    def _pick_person(self, unless: Sequence[Person | None] = ()) -> Person:
        """Return someone other than the owner and these people."""
        while True:
            person = self._draw.pick(self._outbox.others)
            if person not in unless:
                return person
