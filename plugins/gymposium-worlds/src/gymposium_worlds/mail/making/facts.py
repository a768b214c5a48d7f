"""Facts of a mailbox: their topics, their attributes, and the sentences that state them.

A topic is a thing with a two-part name, such as Project Blue Heron or order 4127. Topics of one kind share parts of
their names, so many mails are about a topic whose name resembles that in a question. A fact assigns a value to a
topic's attribute, such as a project's deadline.
"""

from __future__ import annotations

from dataclasses import dataclass

from gymposium_worlds.mail.making.values import PARTNERS, TRADES, ValueType
from gymposium_worlds.mail.message import MONTHS


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property of a topic. A fact states its value.

    In sentences, `{topic}` stands for the topic, `{value}` for the value and `{old}` for the previous value.
    """

    noun: str
    """Name in questions: `deadline` in *the deadline of Project Blue Heron*."""
    type: ValueType
    states: tuple[str, ...]
    changes: tuple[str, ...]
    """Sentences that correct the value."""
    states_self: tuple[str, ...] = ()
    """For names: sentences by a sender who is the value."""


@dataclass(frozen=True, slots=True)
class TopicKind:
    """A kind of topics, such as projects."""

    form: str
    """The name, with `{a}` and `{b}` for its parts."""
    first: tuple[str, ...]
    second: tuple[str, ...]
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic."""

    kind: TopicKind
    a: str
    b: str

    @property
    def name(self) -> str:
        """Return the name as used within a sentence: `the pricing workshop`."""
        return self.kind.form.format(a=self.a, b=self.b)


def make_sentence(form: str, **parts: str) -> str:
    """Return the sentence with these parts filled in, capitalized."""
    text = form.format(**parts)
    return text[0].upper() + text[1:]


_CITIES = tuple(
    "Athens Barcelona Basel Bergen Bilbao Bologna Bordeaux Bremen Brno Cork Dresden Geneva Genoa Ghent Gothenburg "
    "Hamburg Helsinki Krakow Leeds Lille Lisbon Ljubljana Lyon Malaga Milan Nantes Naples Oslo Porto Prague Riga "
    "Rotterdam Seville Tallinn Turin Utrecht Valencia Vienna Warsaw Zagreb".split()
)
_TWO_DIGITS = tuple(map(str, range(10, 100)))

KINDS: tuple[TopicKind, ...] = (
    TopicKind(
        "Project {a} {b}",
        tuple("Amber Blue Bright Copper Coral Crimson Early Golden Green Grey Ivory Jade Misty Northern Quiet Red "
              "Scarlet Silver Swift Tall Violet White Wild Yellow".split()),
        tuple("Badger Bear Crane Curlew Eagle Falcon Finch Fox Hare Heron Lynx Marten Osprey Otter Owl Pike Raven Seal "
              "Sparrow Stag Stork Swan Wolf Wren".split()),
        (
            Attribute(
                "deadline", "date",
                ("the deadline of {topic} is {value}.", "{topic} has to be finished by {value}.",
                 "we have to finish {topic} by {value}."),
                ("the deadline of {topic} moves from {old} to {value}.",
                 "correction: the deadline of {topic} is {value}, not {old}.",
                 "{topic} now has to be finished by {value}."),
            ),
            Attribute(
                "lead", "name",
                ("the lead of {topic} is {value}.", "{value} leads {topic}.", "{topic} is led by {value}."),
                ("{value} takes over {topic} from {old}.", "{value} now leads {topic}.",
                 "correction: the lead of {topic} is {value}, not {old}."),
                ("I lead {topic}.", "I am in charge of {topic} from now on."),
            ),
            Attribute(
                "budget", "amount",
                ("the budget of {topic} is {value}.", "we may spend {value} on {topic}."),
                ("the budget of {topic} changes from {old} to {value}.",
                 "we may now spend {value} on {topic}, not {old}."),
            ),
        ),
    ),
    TopicKind(
        "order {a}{b}", _TWO_DIGITS, _TWO_DIGITS,
        (
            Attribute(
                "price", "amount",
                ("the price of {topic} is {value}.", "{topic} costs {value}.", "we pay {value} for {topic}."),
                ("the price of {topic} changes from {old} to {value}.",
                 "correction: {topic} costs {value}, not {old}.", "we now pay {value} for {topic}."),
            ),
            Attribute(
                "supplier", "text",
                ("the supplier of {topic} is {value}.", "{topic} comes from {value}.", "{value} delivers {topic}."),
                ("the supplier of {topic} is now {value}.", "{topic} comes from {value}, not from {old}.",
                 "{value} delivers {topic} in place of {old}."),
            ),
            Attribute(
                "delivery date", "date",
                ("the delivery date of {topic} is {value}.", "{topic} will arrive on {value}."),
                ("the delivery date of {topic} moves from {old} to {value}.",
                 "correction: {topic} will arrive on {value}, not on {old}."),
            ),
        ),
    ),
    TopicKind(
        "the {a} {b}",
        tuple("audit budget catalogue customer data design energy export fire furniture hiring inventory invoice "
              "language legal packaging payroll planning pricing privacy quality recycling safety security shipping "
              "software stock tax training travel warehouse website".split()),
        tuple("briefing call check course forum hearing lecture meeting panel presentation review round seminar "
              "session tour workshop".split()),
        (
            Attribute(
                "room", "text",
                ("the room of {topic} is {value}.", "we meet in {value} for {topic}.",
                 "{topic} takes place in {value}."),
                ("{topic} moves from {old} to {value}.", "correction: we meet in {value} for {topic}, not in {old}.",
                 "{topic} now takes place in {value}."),
            ),
            Attribute(
                "date", "date",
                ("the date of {topic} is {value}.", "{topic} takes place on {value}.",
                 "we meet on {value} for {topic}."),
                ("{topic} moves from {old} to {value}.",
                 "correction: {topic} takes place on {value}, not on {old}.", "the date of {topic} is now {value}."),
            ),
            Attribute(
                "host", "name",
                ("the host of {topic} is {value}.", "{value} hosts {topic}."),
                ("{value} now hosts {topic}.", "{value} hosts {topic} in place of {old}."),
                ("I host {topic}.", "I am the host of {topic} from now on."),
            ),
        ),
    ),
    TopicKind(
        "the contract with {a} {b}", tuple(PARTNERS), tuple(TRADES),
        (
            Attribute(
                "fee", "amount",
                ("the fee of {topic} is {value}.", "we pay {value} a year for {topic}."),
                ("the fee of {topic} changes from {old} to {value}.",
                 "correction: we pay {value} a year for {topic}, not {old}."),
            ),
            Attribute(
                "end date", "date",
                ("the end date of {topic} is {value}.", "{topic} runs until {value}."),
                ("the end date of {topic} moves from {old} to {value}.", "{topic} now runs until {value}."),
            ),
            Attribute(
                "keeper", "name",
                ("the keeper of {topic} is {value}.", "{value} looks after {topic}."),
                ("{value} now looks after {topic}.", "{value} takes over {topic} from {old}."),
                ("I look after {topic}.", "I am the keeper of {topic} from now on."),
            ),
        ),
    ),
    TopicKind(
        "the {a} trip to {b}", MONTHS, _CITIES,
        (
            Attribute(
                "hotel", "text",
                ("the hotel of {topic} is {value}.", "we stay at {value} on {topic}."),
                ("the hotel of {topic} changes from {old} to {value}.",
                 "correction: we stay at {value} on {topic}, not at {old}."),
            ),
            Attribute(
                "departure date", "date",
                ("the departure date of {topic} is {value}.", "{topic} begins on {value}."),
                ("the departure date of {topic} moves from {old} to {value}.",
                 "correction: {topic} begins on {value}, not on {old}."),
            ),
            Attribute(
                "number of travellers", "number",
                ("the number of travellers of {topic} is {value}.", "{value} of us go on {topic}.",
                 "{topic} is for {value} people."),
                ("the number of travellers of {topic} changes from {old} to {value}.",
                 "correction: {value} of us go on {topic}, not {old}.", "{topic} is now for {value} people."),
            ),
        ),
    ),
)  # fmt: skip
"""The kinds of topics whose attributes have values."""

INCIDENT = TopicKind(
    "the {a} in the {b} office",
    tuple("alarm boiler camera copier doorbell fan freezer fridge heating intercom lift light microwave "
          "modem oven phone printer projector radiator router scanner shredder tap".split()),
    _CITIES,
)  # fmt: skip
"""Things that people report as broken."""

GATHERING = TopicKind(
    "the {a} {b}",
    tuple("Alpine Autumn Carnival Charity Christmas Easter Family Friday Garden Harbour Jubilee Lakeside Midsummer "
          "Monday Moonlight Riverside Saturday Spring Summer Sunday Sunset Thursday Tuesday Winter".split()),
    tuple("barbecue bowling breakfast concert dinner fair hike lunch march party picnic quiz regatta run supper "
          "tournament".split()),
)  # fmt: skip
"""Gatherings that people say they will attend."""
