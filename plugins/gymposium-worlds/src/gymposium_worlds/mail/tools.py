"""Mailbox tools, like those of OpenPipe's e-mail agent ART·E: search, read, answer."""

from __future__ import annotations

from typing import Any

from gymposium.tasks.tools import Tool

_MAX_WORDS = 100


def _describe_text(description: str) -> dict[str, Any]:
    return {"type": "string", "maxLength": _MAX_WORDS, "description": description}


SEARCH = Tool(
    "search_inbox",
    "Find mails, the latest first, 10 at most. Shows id, date, address of the sender and subject of each. A mail must "
    "fit everything that is given.",
    {
        "additionalProperties": False,
        "type": "object",
        "properties": {
            "keywords": {
                "type": "array",
                "items": {"type": "string", "maxLength": _MAX_WORDS},
                "maxItems": 10,
                "description": "Whole words that the subject or the text has, all of them. Words in one entry stand "
                "next to each other.",
            },
            "sender": _describe_text("A name or an address, or a part of whole words."),
            "recipient": _describe_text("A name or an address, or a part of whole words."),
            "sent_after": _describe_text("A day such as 2024-03-05: sent on this day or later."),
            "sent_before": _describe_text("A day such as 2024-03-05: sent on an earlier day."),
        },
    },
)
READ = Tool(
    "read_email",
    "Read a mail.",
    {
        "additionalProperties": False,
        "type": "object",
        "properties": {"message_id": {"type": "string", "maxLength": 200, "description": "Its id, from a search."}},
        "required": ["message_id"],
    },
)
ANSWER = Tool(
    "return_final_answer",
    "Answer the question. This ends the task.",
    {
        "additionalProperties": False,
        "type": "object",
        "properties": {
            "answer": {"type": "string", "maxLength": 1000, "description": "The answer and nothing else."},
            "sources": {
                "type": "array",
                "items": {"type": "string", "maxLength": 200},
                "maxItems": 50,
                "description": "Ids of the mails that show it.",
            },
        },
        "required": ["answer", "sources"],
    },
)

TOOLS = (SEARCH, READ, ANSWER)
