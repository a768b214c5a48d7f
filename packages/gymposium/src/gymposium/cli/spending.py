"""Tokens and cost of a run's replies, as printed by commands."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from gymposium.cli.text import note
from gymposium.records import Record
from gymposium.util.visible import plural


@dataclass(slots=True)
class _Spending:
    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


@dataclass(slots=True)
class Spending:
    """Each player's spending in a run, from its match records, including those before `--resume`."""

    _players: defaultdict[str, _Spending] = field(default_factory=lambda: defaultdict(_Spending))

    def add(self, record: Record) -> None:
        """Count the replies of a match whose players report tokens or a cost."""
        for turn in record.turns:
            if "tokens" not in turn and "cost" not in turn:
                continue
            spent = self._players[record.players[turn["seat"]]]
            prompt, completion = turn.get("tokens", (None, None))
            spent.replies += 1
            spent.prompt_tokens += prompt or 0
            spent.completion_tokens += completion or 0
            if "cost" in turn:
                spent.cost = (spent.cost or 0.0) + turn["cost"]

    def note(self) -> None:
        """Print each player's tokens and cost on stderr."""
        for player, spent in self._players.items():
            cost = "" if spent.cost is None else f", cost {spent.cost:.4f}"
            tokens = (
                f"{spent.prompt_tokens:,} {plural(spent.prompt_tokens, 'token')} in and {spent.completion_tokens:,} out"
            )
            note(f"{player}: {spent.replies:,} {plural(spent.replies, 'reply', 'replies')}, {tokens}{cost}.")
