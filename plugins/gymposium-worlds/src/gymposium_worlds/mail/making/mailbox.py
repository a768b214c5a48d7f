"""Generated mailboxes: stories, incidents, gatherings, notes and chatter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from gymposium.util.streams import Draw, stream
from gymposium_worlds.mail.making.facts import GATHERING, INCIDENT, KINDS, Topic, TopicKind
from gymposium_worlds.mail.making.gatherings import Gathering, write_gathering
from gymposium_worlds.mail.making.incidents import MAX_INCIDENT, Incident, write_incident
from gymposium_worlds.mail.making.outbox import Outbox
from gymposium_worlds.mail.making.people import Person, make_people
from gymposium_worlds.mail.making.stories import MAX_ABOUT, MAX_STORY, Story, StoryWriter
from gymposium_worlds.mail.message import Mail

_SUBJECTS = (
    "Lunch", "Parking", "Thank you", "Holidays", "Coffee", "Keys", "A favour", "Bicycle", "Lost and found", "Welcome",
    "Printer paper", "Business cards", "Window", "Birthday", "Training", "Order forms", "Meeting rooms", "Deadlines",
)  # fmt: skip
_SENTENCES = (
    "The kitchen is closed on Friday afternoon.", "Somebody left a blue umbrella in the meeting room.",
    "Please park only in the places with our name.", "All order forms are in the second drawer.",
    "The deadline for travel expenses is the end of the month.", "Who has the key to the small meeting room?",
    "Thank you for your help with the boxes last week.", "I am away until Monday and will answer after that.",
    "The budget for office plants is used up.", "We have a new colleague in quality, please say hello.",
    "The price of coffee has gone up again.", "Could somebody water the plants while I am away?",
    "The supplier of our tea no longer delivers on Mondays.", "A red bicycle has stood in the yard for weeks.",
    "Please book meeting rooms at least a day before.", "There is cake in the kitchen for everybody.",
    "The window on the second floor does not close.", "I have ordered new business cards for all of us.",
    "The number of parking places will not change.", "Who took the projector home?",
    "My phone is broken, so please write to me.", "The hotel near the office has a good restaurant.",
    "The training room is being painted this week.", "Let us have lunch together one of these days.",
)  # fmt: skip


def write_chatter(minute: int, most: int, outbox: Outbox, draw: Draw) -> None:
    """Write up to `most` mails of small talk. All but the first are replies."""
    first = None
    for author in draw.some((outbox.owner, *outbox.others), min(most, draw.pick((1, 1, 1, 2, 3)))):
        minute = minute if first is None else first.minute + draw.between(5, 600)
        draft = outbox.write(minute, author, draw.pick(_SUBJECTS), draw.some(_SENTENCES, draw.between(1, 2)), first)
        first = first or draft


MIN_MAILS, MAX_MAILS = 20, 5_000
"""Minimum and maximum number of mails in a generated mailbox."""

_BEGIN = ("gathering", "story", "incident", "story")
"""Contents that every mailbox has. The first story has a correction, and the second does not."""
_MAX_GATHERING = 7
_SAME_PART = 0.6
"""Probability that a new topic shares a part of its name with an earlier topic of its kind."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A generated mailbox and its facts."""

    people: Sequence[Person]
    """The people of the mailbox, beginning with the owner."""
    first_day: date
    mails: tuple[Mail, ...]
    """The mails, earliest first. No two were sent in the same minute."""
    stories: Sequence[Story]
    incidents: Sequence[Incident]
    gatherings: Sequence[Gathering]
    topics: Topics
    senders: frozenset[Person]

    @property
    def owner(self) -> Person:
        return self.people[0]


class Topics:
    """The topics of a mailbox, which have distinct names."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._parts: dict[str, list[tuple[str, str]]] = {}  # by the form of the kind

    def add(self, kind: TopicKind) -> Topic:
        """Draw a topic and add it. Its name often shares a part with another topic's name."""
        topic = self.draw_similar(kind, self._draw)
        self._parts.setdefault(kind.form + kind.second[0], []).append((topic.a, topic.b))
        return topic

    def draw_similar(self, kind: TopicKind, draw: Draw) -> Topic:
        """Draw a topic that is not in the mailbox, without adding it."""
        before = self._parts.get(kind.form + kind.second[0], [])
        while True:
            a, b = draw.pick(kind.first), draw.pick(kind.second)
            if before and draw.chance(_SAME_PART):
                like = draw.pick(before)
                a, b = (like[0], b) if draw.chance(0.5) else (a, like[1])
            if (a, b) not in before:
                return Topic(kind, a, b)


@lru_cache(maxsize=4)
def make_mailbox(seed: int, mails: int) -> Mailbox:
    """Generate the mailbox for `seed`, with `mails` mails (from `MIN_MAILS` to `MAX_MAILS`).

    Each mailbox has at least one corrected fact, one uncorrected fact, an incident and a gathering.
    """
    draw = Draw(stream(seed, "mailbox", mails))
    people = make_people(min(80, 14 + mails // 25), draw)
    first = date(2024, 1, 1) + timedelta(days=draw.below(330))
    outbox = Outbox(people, first, max(30, min(330, mails // 4)), draw)
    teller, topics = StoryWriter(outbox, draw), Topics(draw)
    stories: list[Story] = []
    incidents: list[Incident] = []
    gatherings: list[Gathering] = []
    begin = list(_BEGIN)
    while (left := mails - len(outbox.drafts)) > 0:
        minute = draw.below(outbox.minutes)
        match begin.pop(0) if begin else _draw_content(draw):
            case "story":
                corrected = left > 1 and (draw.chance(0.6) if len(stories) > 1 else not stories)
                topic = topics.add(draw.pick(KINDS))
                stories.append(teller.write_story(topic, minute, min(left, MAX_STORY), corrected=corrected))
            case "incident":
                broken = not incidents or draw.chance(0.8)
                topic = topics.add(INCIDENT)
                incidents.append(write_incident(topic, minute, min(left, MAX_INCIDENT), outbox, draw, broken=broken))
            case "gathering" if left > 2:
                gatherings.append(
                    write_gathering(topics.add(GATHERING), minute, min(left, _MAX_GATHERING), outbox, draw)
                )
            case "notes":
                able = [one for one in stories[-40:] if one.about < MAX_ABOUT and _is_known(one, minute)]
                if able:
                    teller.write_note(minute, draw.some(able, draw.between(1, 3)))
            case _:
                write_chatter(minute, left, outbox, draw)
    senders = frozenset(draft.sender for draft in outbox.drafts)
    return Mailbox(people, first, outbox.mails(), stories, incidents, gatherings, topics, senders)


def _is_known(story: Story, minute: int) -> bool:
    return any(fact.find_version(minute) for fact in story.facts)


def _draw_content(draw: Draw) -> str:
    """Draw the kind of content to write next."""
    choice = draw.below(100)
    limits = ((50, "story"), (60, "incident"), (70, "gathering"), (82, "notes"))
    return next((name for limit, name in limits if choice < limit), "chatter")
