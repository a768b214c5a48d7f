"""Chatter: mails without facts, in the vocabulary of mails with facts."""

from __future__ import annotations

from gymposium.util.streams import Draw
from gymposium_worlds.mail.making.outbox import Outbox

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
    """Write up to `most` mails. All but the first are replies."""
    first = None
    for author in draw.some((outbox.owner, *outbox.others), min(most, draw.pick((1, 1, 1, 2, 3)))):
        minute = minute if first is None else first.minute + draw.between(5, 600)
        draft = outbox.write(minute, author, draw.pick(_SUBJECTS), draw.some(_SENTENCES, draw.between(1, 2)), first)
        first = first or draft
