"""Entries: the players of a board, each with a folder of its own that holds who it is and what it played."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gymposium.arena.slugs import slug
from gymposium.arena.suite import Suite
from gymposium.errors import BadOption, BadRecord

FORMAT = "gymposium-entry-1"


@dataclass(frozen=True, slots=True)
class Entry:
    """One player on a board."""

    number: int
    """Its place: it plays with all entries of smaller number."""
    player: str
    """As players are written everywhere: `mcts-100`."""
    slug: str
    seed: int | None
    """What its matches are drawn from; None until they are."""
    own: bool
    """Whether it is one of the suite's own players, not a submission."""
    games: tuple[str, ...]
    """Which of the suite's games it plays, by full name."""
    suite: str
    """The digest of the suite that it was made for."""
    format: str = FORMAT

    def text(self) -> str:
        """As it stands in its file."""
        return json.dumps(asdict(self), indent=2) + "\n"

    def seeded(self, seed: int) -> Entry:
        """The same with its seed drawn."""
        return replace(self, seed=seed)


def own_entries(suite: Suite) -> list[Entry]:
    """The suite's own players."""
    return [
        new_entry(
            suite, player, number, suite.seed, own=True, games=[g.name for g in suite.games if player in g.players]
        )
        for number, player in enumerate(suite.players)
    ]


def new_entry(suite: Suite, player: str, number: int, seed: int | None, *, own: bool, games: Sequence[str]) -> Entry:
    """An entry that has played nothing yet."""
    return Entry(number, player, slug(player), seed, own, tuple(games), suite.digest)


def read_entry(path: Path) -> Entry:
    """The entry in a file. Raises `BadRecord` where there is none that can be read."""
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise BadRecord(f"{path} is no entry of format {FORMAT!r}.")
        entry = Entry(**{**data, "games": tuple(data["games"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        if isinstance(error, BadRecord):
            raise
        raise BadRecord(f"{path} is no entry: {error}") from error
    if entry.slug != path.parent.name or entry.slug != slug(entry.player):
        raise BadOption(f"{path}: the entry of {entry.player!r} belongs into a folder called {slug(entry.player)!r}.")
    return entry
