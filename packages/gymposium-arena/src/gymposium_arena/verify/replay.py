"""Players that are asked again in replays: the driver replays the recorded match with the recorded replies.

A player is asked again with the same random streams at the same decisions. Its reply is compared with the record and
not played, so each reply is judged separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from gymposium.match import Answer, Guard, PlayerFailure
from gymposium.match.watchdog import Watchdog
from gymposium.players.protocol import Ask, Player, Reply, TieReporter, Usage
from gymposium.records import ScriptedPlayer, Scripts

_GUARD = Guard()
_DIED = "its process ended ("
"""Beginning of the text that a tournament records for a player that ended its process."""


@dataclass(slots=True, eq=False)
class RecordedPlayer(ScriptedPlayer):
    """A player as its entry describes it, in a replayed match."""

    deterministic: bool = False
    player: Player | None = None
    """The player to ask again; None if it is not asked."""


def needs_a_process(answer: Answer) -> bool:
    """Return whether a player that repeats this answer would end this process or block it."""
    return answer is None or (isinstance(answer, PlayerFailure) and answer.text.startswith(_DIED))


@dataclass(slots=True)
class AskingScripts(Scripts):
    """A guard that gives the driver the recorded answers and also asks players again."""

    differences: dict[tuple[str, int], str] = field(default_factory=dict)
    """The first difference between a player's reply and the recorded one, by match and seat. The player is not asked
    again in that match, since its memory may differ from then on."""
    asked: Counter[str] = field(default_factory=Counter)
    """Number of repeated replies, by player."""
    same: Counter[str] = field(default_factory=Counter)
    """Number of repeated replies that equal the recorded ones, by player."""
    ties: set[tuple[str, int]] = field(default_factory=set)
    """Match and seat of replies that differ from the recorded ones by a tie. The player is not asked again in that
    match, as after a difference."""
    tied: Counter[str] = field(default_factory=Counter)
    """Number of ties, by player."""
    unreachable: dict[str, str] = field(default_factory=dict)
    """Why a player could no longer be asked, by player."""

    def answers(self, player: Player, asks: Sequence[Ask], watchdog: Watchdog | None = None) -> list[Answer]:
        recorded = Scripts.answers(self, player, asks)
        if isinstance(player, RecordedPlayer) and player.player is not None:
            self._ask(player.player, asks, recorded)
        return recorded

    def _ask(self, player: Player, asks: Sequence[Ask], recorded: Sequence[Answer]) -> None:
        pairs = [(ask, answer) for ask, answer in zip(asks, recorded, strict=True) if self._may(ask, answer)]
        if not pairs or player.name in self.unreachable:
            return
        answers = _GUARD.answers(player, [ask for ask, _ in pairs])
        for (ask, answer), now in zip(pairs, answers, strict=True):
            if isinstance(now, PlayerFailure) and not now.own and getattr(player, "repeats", None) == "up_to_rounding":
                self.unreachable[player.name] = now.text  # a server is gone
                return
            self.asked[player.name] += 1
            if (how := difference(answer, now)) is None:
                self.same[player.name] += 1
            elif _is_tie(player, ask, now, answer):
                self.tied[player.name] += 1
                self.ties.add((ask.key, ask.seat))
            else:
                self.differences[ask.key, ask.seat] = f"seat {ask.seat} ({player.name}) {how}"

    def _may(self, ask: Ask, answer: Answer) -> bool:
        """Return whether the player is asked again here: its answer is recorded, and no difference is known."""
        seat = (ask.key, ask.seat)
        known = seat in self.differences or seat in self.ties
        missing = isinstance(answer, PlayerFailure) and not answer.own
        return not known and not missing and not needs_a_process(answer)


def _is_tie(player: Player, ask: Ask, now: Answer, recorded: Answer) -> bool:
    """Return whether rounding decides between a player's reply and the recorded one, as the player declares."""
    if not (isinstance(player, TieReporter) and isinstance(now, Reply) and isinstance(recorded, Reply)):
        return False
    return player.is_tie(ask, now, recorded)


def difference(recorded: Answer, now: Answer) -> str | None:
    """Return the difference between a player's answer and the recorded one, as the end of a sentence, or None. Any
    error confirms a recorded crash, since its text may differ on another machine."""
    if isinstance(recorded, Reply) and isinstance(now, Reply):
        if recorded.text == now.text and recorded.usage is now.usage is None and _plain(recorded) and _plain(now):
            return None  # a shortcut for almost all replies
        before, after = _described(recorded), _described(now)
        return None if before == after else f"{before}, but asked again {after}"
    if isinstance(recorded, Reply):
        failure = now.text if isinstance(now, PlayerFailure) else "no answer"
        return f"{_described(recorded)}, but asked again fails: {failure}"
    if isinstance(now, Reply):
        failed = "to have crashed" if isinstance(recorded, PlayerFailure) else "not to have answered in time"
        return f"is said {failed}, but asked again {_described(now)}"
    return None


def _plain(reply: Reply) -> bool:
    return reply.action is None and reply.finish_reason == "stop"


def _described(reply: Reply) -> str:
    """Return all recorded facts about a reply, in words."""
    if reply.finish_reason == "context":
        return "has no context left to reply"
    replies = f"replies {reply.text!r}" if reply.action is None else f"replies with action {reply.action}"
    cut_off = ", cut off" if reply.finish_reason == "length" else ""
    return f"{replies}{cut_off}{_spent(reply.usage)}"


def _spent(usage: Usage | None) -> str:
    """Return the repeatable part of a reply's usage: its token counts, and whether time and cost are recorded."""
    if usage is None:
        return ""
    counted = (usage.prompt_tokens, usage.completion_tokens) != (None, None)
    tokens = f"{usage.prompt_tokens} tokens in, {usage.completion_tokens} out, " if counted else ""
    return f" ({tokens}its time recorded{'' if usage.cost is None else ', its cost too'})"
