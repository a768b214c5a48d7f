"""Incidents: things that several people report as broken, and mails that only mention them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.util.streams import Draw
from gymposium_worlds.mail.making.facts import Topic, make_sentence
from gymposium_worlds.mail.making.outbox import Draft, Outbox

MAX_INCIDENT = 5
"""Maximum number of mails per incident."""

_REPORTS = (
    "{topic} is out of order.", "{topic} does not work any more.", "{topic} has broken down.",
    "{topic} is broken again.",
)  # fmt: skip
_OTHER = (
    "When was {topic} last looked at?", "{topic} works well since it was cleaned.",
    "Who is in charge of {topic}?", "I have asked for a new part for {topic}.", "Is {topic} out of order?",
)  # fmt: skip
_NOTED = ("Thank you, I will call somebody.", "Thank you for telling us.", "Many thanks, I have seen it.")


@dataclass(frozen=True, slots=True)
class Incident:
    """A thing and the mails that report it as broken, earliest first. The list may be empty."""

    topic: Topic
    claims: Sequence[Draft]


def write_incident(topic: Topic, minute: int, most: int, outbox: Outbox, draw: Draw, *, broken: bool) -> Incident:
    """Write at most `most` mails about an incident, starting at `minute`.

    If `broken` is False, mails mention the thing, but none reports it as broken.
    """
    name = topic.name.removeprefix("the ")
    steps = ["other"] if draw.chance(0.5) and most > 1 else []
    steps += ["claim"] * draw.between(1, 3) if broken else ["other"]
    if draw.chance(0.5):
        steps.append("noted" if broken else "other")
    claims: list[Draft] = []
    last: Draft | None = None
    others = draw.some(outbox.others, most)
    for step, author in zip(steps[:most], others):
        if last is not None:
            minute = last.minute + draw.between(15, 900)
        answers = claims[0] if claims and (step == "noted" or draw.chance(0.5)) else None
        if step == "noted":
            last = outbox.write(minute, author, name, [draw.pick(_NOTED)], answers)
            continue
        text = make_sentence(draw.pick(_REPORTS if step == "claim" else _OTHER), topic=topic.name)
        subject = draw.pick((f"Problem: {name}", f"About the {name}", "A short note", "Please read"))
        last = outbox.write(minute, author, subject, [text], answers)
        if step == "claim":
            claims.append(last)
    return Incident(topic, claims)
