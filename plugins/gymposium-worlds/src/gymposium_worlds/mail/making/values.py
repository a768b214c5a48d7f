"""Values of facts, such as dates, amounts and names, as written in mails and as compared in answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from gymposium.util.streams import Draw
from gymposium_worlds.mail.making.people import Person
from gymposium_worlds.mail.message import MONTHS

ValueType = Literal["date", "amount", "number", "name", "text"]
"""The type of an answer, which determines how it is compared. `unknown` is for answers that the mailbox lacks."""

PARTNERS = (
    "Delmar Hartmann Norwood Calder Brightwell Ostrava Kestrel Lindgren Marlowe Pinnacle Redfern Solway Tamworth "
    "Ulster Verity Westbrook Ashford Belmont Corvus Draper Eastgate Fairfax Granite Halden"
).split()
"""First words of contract partners' names. Suppliers have other names, so a subject line never names one."""
TRADES = "Paper Foods Systems Logistics Glass Tools Energy Textiles Printing Motors Timber Optics".split()
_SUPPLIERS = (
    "Aldgate Bancroft Carlisle Dunmore Everett Fenwick Garrick Hollis Keswick Langdon Merrick Northgate Oakley "
    "Prescott Rutland Stanton"
).split()
_ROOMS = (
    "Acacia Alder Aspen Beech Birch Cedar Chestnut Cypress Elder Elm Fir Hawthorn Hazel Hickory Juniper Larch Laurel "
    "Linden Magnolia Maple Oak Pine Poplar Rowan Spruce Sycamore Willow Yew"
).split()
_HOTELS = (
    "Astoria Bellevue Bristol Continental Excelsior Europa Imperial Miramar Metropole Monopol Palace Panorama Regent "
    "Ritz Royal Savoy Splendid Terminus Victoria Windsor"
).split()


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a fact."""

    text: str
    """The value as written in mails: `12 June 2024`, `1,310 euros`, `Bob Miller`."""
    accepted: tuple[str, ...]
    """The right answers, in the form that `scoring` compares: `2024-06-12`, `1310`."""
    person: Person | None = None
    """The person, if the value is a name."""

    def answer(self, kind: ValueType) -> Mapping[str, object]:
        """Return the right answer in the JSON form of a task."""
        return {"type": kind, "accepted": list(self.accepted)}


def format_day(day: date) -> str:
    """Return the date as written in mails: `12 June 2024`."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def draw_value(kind: ValueType, noun: str, day: date, people: Sequence[Person], draw: Draw) -> Value:
    """Draw a value for the fact `noun`, stated on `day`. Dates are later than `day`."""
    match kind:
        case "date":
            then = day + timedelta(days=draw.between(5, 400))
            return Value(format_day(then), (then.isoformat(),))
        case "amount":
            amount = draw.between(40, 999) * draw.pick((5, 10, 50, 100))
            return Value(f"{amount:,} euros", (str(amount),))
        case "number":
            number = draw.between(3, 60)
            return Value(str(number), (str(number),))
        case "name":
            person = draw.pick(people)
            return Value(draw.pick(person.names), person.names, person)
    if noun == "room":
        room = draw.pick(_ROOMS)
        return Value(f"room {room}", (room, f"room {room}"))
    if noun == "hotel":
        hotel = draw.pick(_HOTELS)
        return Value(f"Hotel {hotel}", (f"Hotel {hotel}", hotel))
    company = f"{draw.pick(_SUPPLIERS)} {draw.pick(TRADES)}"
    return Value(company, (company,))
