"""Which of several servers answers the requests of a conversation."""

from __future__ import annotations

from hashlib import blake2b


def ranking(conversation: str, servers: int) -> list[int]:
    """The places 0 to `servers - 1` in the order in which a conversation prefers them (rendezvous hashing).

    The order depends on the name of the conversation alone. Without one of the servers, only its conversations move,
    each to its next server; one more server at the end takes its share of the conversations, and the others stay."""
    return sorted(range(servers), key=lambda place: _weight(conversation, place), reverse=True)


def _weight(conversation: str, place: int) -> bytes:
    return blake2b(f"{place}/{conversation}".encode(), digest_size=8).digest()
