"""Rerun players while their recorded matches are replayed.

A player is asked again with the same random streams at the same decisions. Its reply is compared with the recorded
reply. The recorded reply is played, so each reply is judged separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from gymposium.errors import describe_error
from gymposium.match import Answer, Guard, PlayerFailure
from gymposium.match.watchdog import Watchdog
from gymposium.players.protocol import Ask, Player, Reply, TieReporter, Usage
from gymposium.records import ScriptedPlayer, Scripts
from gymposium.replies.reading import GENERAL, Reader
from gymposium_arena.entries import Entry, PlayerMismatch, make_entered_player
from gymposium_arena.verify.findings import Finding

_GUARD = Guard()
_DIED = "its process ended ("
"""Prefix of the recorded text for a player that ended its process."""


@dataclass(slots=True, eq=False)
class RecordedPlayer(ScriptedPlayer):
    """A player in a replayed match, as described in its entry."""

    deterministic: bool = False
    player: Player | None = None
    """The player to rerun, or None."""


def needs_process(answer: Answer) -> bool:
    """Return whether repeating this answer would end or block this process."""
    return answer is None or (isinstance(answer, PlayerFailure) and answer.text.startswith(_DIED))


@dataclass(slots=True)
class RerunScripts(Scripts):
    """A guard that returns the recorded answers and reruns players."""

    differences: dict[tuple[str, int], str] = field(default_factory=dict)
    """The first difference between a player's reply and the recorded one, by match and seat. The player is not rerun
    after it, since its memory may differ."""
    asked: Counter[str] = field(default_factory=Counter)
    """Number of rerun replies, by player."""
    same: Counter[str] = field(default_factory=Counter)
    """Number of rerun replies that equal the recorded replies, by player."""
    ties: set[tuple[str, int]] = field(default_factory=set)
    """Match and seat of replies that differ by a tie. As after a difference, the player is not rerun afterwards."""
    tied: Counter[str] = field(default_factory=Counter)
    """Number of ties, by player."""
    unreachable: dict[str, str] = field(default_factory=dict)
    """Reasons why players became unreachable, by player."""

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        recorded = Scripts.answers(self, player, asks)
        if isinstance(player, RecordedPlayer) and player.player is not None:
            self._ask(player.player, asks, recorded)
        return recorded

    def _ask(self, player: Player, asks: Sequence[Ask], recorded: Sequence[Answer]) -> None:
        pairs = [(ask, answer) for ask, answer in zip(asks, recorded, strict=True) if self._may_ask(ask, answer)]
        if not pairs or player.name in self.unreachable:
            return
        answers = _GUARD.answers(player, [ask for ask, _ in pairs])
        for (ask, answer), now in zip(pairs, answers, strict=True):
            if isinstance(now, PlayerFailure) and not now.own and getattr(player, "repeats", None) == "up_to_rounding":
                self.unreachable[player.name] = now.text  # a server is gone
                return
            self.asked[player.name] += 1
            if (how := describe_difference(answer, now)) is None:
                self.same[player.name] += 1
            elif _is_tie(player, ask, now, answer):
                self.tied[player.name] += 1
                self.ties.add((ask.key, ask.seat))
            else:
                self.differences[ask.key, ask.seat] = f"seat {ask.seat} ({player.name}) {how}"

    def _may_ask(self, ask: Ask, answer: Answer) -> bool:
        """Return whether to rerun the player: its answer is recorded, and no earlier answer differs."""
        seat = (ask.key, ask.seat)
        known = seat in self.differences or seat in self.ties
        missing = isinstance(answer, PlayerFailure) and not answer.own
        return not known and not missing and not needs_process(answer)


def _is_tie(player: Player, ask: Ask, now: Answer, recorded: Answer) -> bool:
    """Return whether the player declares its reply and the recorded reply equally likely, up to rounding."""
    if not (isinstance(player, TieReporter) and isinstance(now, Reply) and isinstance(recorded, Reply)):
        return False
    return player.is_tie(ask, now, recorded)


def describe_difference(recorded: Answer, now: Answer) -> str | None:
    """Describe how a player's answer differs from the recorded one, as the end of a sentence, or return None.

    Any error confirms a recorded crash, since its text may differ on another machine."""
    if isinstance(recorded, Reply) and isinstance(now, Reply):
        if recorded.text == now.text and recorded.usage is now.usage is None and _is_plain(recorded) and _is_plain(now):
            return None  # the fast path for almost all replies
        before, after = _describe_reply(recorded), _describe_reply(now)
        return None if before == after else f"{before}, but asked again {after}"
    if isinstance(recorded, Reply):
        failure = now.text if isinstance(now, PlayerFailure) else "no answer"
        return f"{_describe_reply(recorded)}, but asked again fails: {failure}"
    if isinstance(now, Reply):
        failed = "to have crashed" if isinstance(recorded, PlayerFailure) else "not to have answered in time"
        return f"is said {failed}, but asked again {_describe_reply(now)}"
    return None


def _is_plain(reply: Reply) -> bool:
    return reply.action is None and reply.finish_reason == "stop"


def _describe_reply(reply: Reply) -> str:
    """Describe everything that is recorded about a reply."""
    if reply.finish_reason == "context":
        return "has no context left to reply"
    replies = f"replies {reply.text!r}" if reply.action is None else f"replies with action {reply.action}"
    cut_off = ", cut off" if reply.finish_reason == "length" else ""
    return f"{replies}{cut_off}{_describe_usage(reply.usage)}"


def _describe_usage(usage: Usage | None) -> str:
    """Describe the repeatable part of a reply's usage: token counts, and whether time and cost are recorded."""
    if usage is None:
        return ""
    counted = (usage.prompt_tokens, usage.completion_tokens) != (None, None)
    tokens = f"{usage.prompt_tokens} tokens in, {usage.completion_tokens} out, " if counted else ""
    return f" ({tokens}its time recorded{'' if usage.cost is None else ', its cost too'})"


class PlayerPool:
    """A board's players in one process, each created once."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        """Findings about entries that differ from the installed player."""
        self.why_not: dict[str, str] = {}
        """Reasons why players cannot be made in this process, by player."""
        self._players: dict[str, Player] = {}
        self._seats: dict[tuple[str, bool], RecordedPlayer] = {}

    def seat(self, entry: Entry, *, asked: bool) -> RecordedPlayer:
        """Return an entry's recorded player. With `asked`, it holds the player to rerun, if the player can be
        created."""
        key = entry.player, asked
        if key not in self._seats:
            player = self._get_player(entry) if asked else None
            style, reader = entry.prompt.style, _get_reader(entry, player)
            self._seats[key] = RecordedPlayer(entry.player, style, reader, entry.deterministic, player)
        return self._seats[key]

    def _get_player(self, entry: Entry) -> Player | None:
        if entry.player not in self.why_not and entry.player not in self._players:
            try:
                self._players[entry.player] = make_entered_player(entry)
            except Exception as error:  # noqa: BLE001 - a player's own code may raise anything
                self.why_not[entry.player] = describe_error(error)
                if isinstance(error, PlayerMismatch) and not error.is_code_only:
                    self.findings.append(Finding("entry", f"entries/{entry.slug}/entry.json", str(error)))
        return self._players.get(entry.player)


def _get_reader(entry: Entry, player: Player | None) -> Reader:
    """Return an entry's reply reader: a built-in one, or the player's own."""
    if entry.prompt.reader in GENERAL:
        return GENERAL[entry.prompt.reader]
    return (make_entered_player(entry) if player is None else player).reader
