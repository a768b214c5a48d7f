"""One match with some seats answered from outside: what all environments are views of.

The driver plays it, with its failures, retries, penalties and joint moves; nothing here steps a game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from gymposium.driver import MatchJob, Played, Underway, play_match
from gymposium.errors import GymposiumError
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game, Style
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.reading import Kind, Reader

_numbers = count()


class Caller:
    """Holds the seats that whoever calls `step` decides for."""

    name = "env"

    def __init__(self, reader: Reader, style: Style) -> None:
        self.reader = reader
        self.style: Style = style

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        raise GymposiumError("This seat is answered through an environment's step().")


class Episode:
    """A match up to the next reply that has to come from outside, or to its end."""

    __slots__ = ("_asking", "_asks", "_outside", "_players", "asks", "match", "played", "underway")

    def __init__(self, game: Game, players: Sequence[Player], seed: int, on_illegal: FailurePolicy) -> None:
        """`players` holds one for each seat; the seats of a `Caller` are answered from outside."""
        self._players = players
        self._outside = [isinstance(player, Caller) for player in players]
        self.match = game.new(seed)
        self.underway = Underway(self.match)
        self.played: Played | None = None
        """The finished match; None while it goes on."""
        self.asks: dict[int, Ask] = {}
        """What waits for a reply from outside, by seat."""
        job = MatchJob(f"env-{next(_numbers)}", game, players, seed, on_illegal=on_illegal)
        self._asking = play_match(job, self.underway)
        self._asks = next(self._asking)  # every game asks at least once
        self._go_on()

    def answer(self, replies: Mapping[int, Reply]) -> None:
        """Go on with one reply for each seat in `asks`; the others of a joint decision are asked now."""
        given = self._collect(replies)
        self.asks = {}
        try:
            self._asks = self._asking.send(given)
        except StopIteration as end:
            self.played = end.value
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Let the players answer until somebody outside has to, or the match is over."""
        try:
            while True:
                for ask in self._asks:
                    if self._outside[ask.seat]:
                        self.asks[ask.seat] = ask
                if self.asks:
                    return
                self._asks = self._asking.send(self._collect({}))
        except StopIteration as end:
            self.played = end.value

    def _collect(self, given: Mapping[int, Reply]) -> list[Reply]:
        """One reply for each ask: the one given from outside, or the player's."""
        replies: list[Reply] = []
        for ask in self._asks:
            if self._outside[ask.seat]:
                replies.append(given[ask.seat])
            else:
                replies.extend(self._players[ask.seat].act((ask,)))
        if len(replies) != len(self._asks):
            names = ", ".join(player.name for player in self._players)
            raise ValueError(
                f"A player must give one reply to each ask: {len(self._asks)} asks, {len(replies)} replies ({names})."
            )
        return replies

    def reading(self, seat: int, since: int) -> Kind | None:
        """What the seat's first reply after the first `since` turns was read as; None where it gave none."""
        for turn in self.underway.turns[since:]:
            if turn.seat == seat:
                return turn.reading
        return None

    def return_of(self, seat: int) -> float:
        """The seat's return so far, penalties included."""
        if self.played is not None:
            return self.played.returns[seat]
        return self.match.returns()[seat] - self.underway.penalties.get(seat, 0.0)
