"""Rules of the game, as players read them."""

from __future__ import annotations

from gymposium_worlds.mail.scoring import UNKNOWN_ANSWER, UNKNOWN_SCORE

_TOOLS = (
    "Mail. You answer one question about a mailbox. You find mails with search_inbox, read them with read_email, and "
    "answer with return_final_answer, which ends the task. You have {calls}.\n"
)
_MEANING = (
    "What mails mean: a mail speaks for its sender. Lines that begin with > are quotes of other mails; quotes and "
    "questions state nothing. If mails say different things, the latest one is right. For a number of people, the last "
    "word on each person counts. The first to say something is the sender of the earliest mail that says so. Some "
    "people are called by a short form of their first name: the name under a mail and the name after From: are the "
    "same person.\n"
)
_TYPES = (
    "How to write answers: people by first and family name; days like 2024-03-05 or 5 March 2024; amounts like 1,310 "
    "euros or 1310; numbers in digits; all else by its name in the mails. Write the answer and nothing else.\n"
)
_GIVEN = "How to write answers: as short as you can. Numbers in digits, days like 2024-03-05, and no further words.\n"
_SCORE = (
    f"If no mail shows the answer, answer: {UNKNOWN_ANSWER}\n"
    "As sources, give the ids of the mails that show the answer, or [] if there is none.\n"
    f"You score 1 for a right answer, {UNKNOWN_SCORE:g} for {UNKNOWN_ANSWER!r} if the mailbox shows the answer, and 0 "
    "for a wrong answer or none.\n"
)

RULES_COMPACT = f"mail: search_inbox, read_email, then return_final_answer; if no mail shows it: {UNKNOWN_ANSWER}\n"


def format_generated_rules(max_calls: int) -> str:
    """Return the rules for generated mailboxes."""
    return _TOOLS.format(calls=_calls(max_calls)) + _MEANING + _TYPES + _SCORE


def format_file_rules(max_calls: int) -> str:
    """Return the rules for mails from a file."""
    return _TOOLS.format(calls=_calls(max_calls)) + _GIVEN + _SCORE


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
