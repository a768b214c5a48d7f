"""Gatherings: invitations, and replies of people who accept, decline or change their minds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gymposium.util.streams import Draw
from gymposium_worlds.mail.making.facts import Topic, make_sentence
from gymposium_worlds.mail.making.outbox import Draft, Outbox
from gymposium_worlds.mail.making.people import Person

MAX_ANSWERS = 6
"""Maximum number of answers to an invitation."""
MAX_COMING = 8
"""Maximum number of people who come. All numbers from 1 to this maximum are equally likely."""

_INVITATIONS = (
    "You are all invited to {topic}. Please tell me if you can come to it.",
    "We are planning {topic} and I would like to know who can join us.",
)  # fmt: skip
_COMES = ("I will come to {topic}.", "count me in for {topic}.", "I am happy to join {topic}.")
_STAYS = ("I cannot come to {topic}.", "I will not be there for {topic}.", "please do not count on me for {topic}.")
_OTHER_COMES = ("{name} will come to {topic}.", "{name} wants to join {topic} as well.")
_OTHER_STAYS = ("{name} cannot come to {topic}.", "{name} will not be there for {topic}.")
_CHANGE = "change of plan: "


@dataclass(frozen=True, slots=True)
class Gathering:
    """A gathering, with the last mail about each person who comes."""

    topic: Topic
    coming: Mapping[str, Draft]
    """The last mail about each person who comes, by the person's name."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement in a reply: whether one person comes."""

    person: Person
    name: str
    comes: bool
    lead: str
    """Prefix of the sentence."""
    is_last: bool
    """False if a later answer says the opposite."""


def write_gathering(topic: Topic, minute: int, most: int, outbox: Outbox, draw: Draw) -> Gathering:
    """Write an invitation and its replies, starting at `minute`. `most` is the maximum number of mails, at least 2."""
    count = draw.between(1, MAX_COMING)
    host, *guests = draw.some(outbox.others, 1 + count + draw.between(0, 3))
    comes = {guest.name: number < count for number, guest in enumerate(guests)}
    text = draw.pick(_INVITATIONS).format(topic=topic.name)
    invitation = last = outbox.write(minute, host, f"Invitation: {topic.name}", [text])
    coming: dict[str, Draft] = {}
    for author, words in _plan_answers(guests, comes, min(MAX_ANSWERS, most - 1), draw):
        sentences = [_write_statement(topic, author, word, draw) for word in words]
        minute = last.minute + draw.between(5, 300)
        last = outbox.write(minute, author, "", sentences, draw.pick((invitation, last)), draw.chance(0.5))
        coming.update({word.person.name: last for word in words if word.comes and word.is_last})
    return Gathering(topic, coming)


def _plan_answers(
    guests: Sequence[Person], comes: Mapping[str, bool], most: int, draw: Draw
) -> list[tuple[Person, list[_Statement]]]:
    """Return the authors of the answers in order, with the people that each answer mentions. An author's last answer is
    about the author, and may also be about guests who do not write.
    """
    order = draw.some(guests, len(guests))
    authors = order[: draw.between(max(1, most - 2), most)]
    changed = [author for author in authors if draw.chance(0.35)][: most - len(authors)]
    answers: list[tuple[Person, list[_Statement]]] = [(author, []) for author in (*changed, *authors)]

    def say(number: int, person: Person, name: str, is_last: bool, lead: str = "") -> None:
        answers[number][1].append(_Statement(person, name, comes[person.name] == is_last, lead, is_last))

    for number, author in enumerate(changed):
        say(number, author, author.name, False)
    for number, author in enumerate(authors, start=len(changed)):
        is_wrong_before = author not in changed and number > 0 and draw.chance(0.25)
        if is_wrong_before:
            say(draw.below(number), author, draw.pick(author.names), False)
        say(number, author, author.name, True, _CHANGE if is_wrong_before or author in changed else "")
    for guest in order[len(authors) :]:
        name = draw.pick(guest.names)  # the same name in all mails: the guest writes none, so nothing links two names
        number = len(changed) + draw.below(len(authors))
        is_wrong_before = number > 0 and draw.chance(0.3)
        if is_wrong_before:
            say(draw.below(number), guest, name, False)
        say(number, guest, name, True, _CHANGE if is_wrong_before else "")
    return answers


def _write_statement(topic: Topic, author: Person, word: _Statement, draw: Draw) -> str:
    if word.person is author:
        form = draw.pick(_COMES if word.comes else _STAYS)
    else:
        form = draw.pick(_OTHER_COMES if word.comes else _OTHER_STAYS)
    return make_sentence(word.lead + form, topic=topic.name, name=word.name)
