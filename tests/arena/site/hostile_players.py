"""A one-file plugin for tests: a player with scripts, escapes and direction marks in its name and replies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gymposium import hookimpl
from gymposium.players.protocol import Ask, Reply, Usage
from gymposium.plugins.specs import OpponentSpec
from gymposium.replies.reading import LENIENT

HOSTILE = "hostile:<script>document.title='owned'</script>\"'&\x1b[31m\u202ex"
REPLY = "</pre><script>document.title='owned'</script>\x1b[31m\u202e<img src=x onerror=\"document.title='owned'\">"


class Hostile:
    """Plays the first legal move. In some matches it begins with `REPLY` or with a reply that is cut off, in others
    with a sentence around its move."""

    reader, style = LENIENT["move-lenient"], "full"

    def __init__(self, text: str) -> None:
        self.name = f"hostile:{text}"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        group, _, rotation = ask.key.rpartition("/")[2].partition("-")
        spent = Usage(50, 8, 0.25, 0.002)
        if ask.turn == 0 and rotation == "0":
            return Reply(REPLY, usage=spent) if group == "0" else Reply("hm", "length", usage=spent)
        move = (ask.legal_moves or [""])[0]
        return Reply(f"I play <move>{move}</move>." if ask.turn == 0 else move, usage=spent)


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    yield OpponentSpec(
        name="hostile",
        form="hostile:TEXT",
        pattern="(?s)hostile:(?P<text>.*)",
        summary="Hostile.",
        entry_point="hostile_players:Hostile",
    )
