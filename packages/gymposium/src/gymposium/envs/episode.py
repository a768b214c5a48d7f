"""One match with some seats answered from outside: what all environments are views of.

The driver plays it, with its failures, retries, penalties and joint moves; nothing here steps a game. Many
episodes go on together, so that a player who sits in all of them is asked once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from gymnasium.error import ResetNeeded

from gymposium.driver import (
    EngineError,
    Guard,
    Live,
    MatchJob,
    MatchResult,
    Underway,
    ask_players,
    broken_off,
    replies_of,
)
from gymposium.errors import GymposiumError
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Event, Game, Match, Style
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.reading import Kind, Reader
from gymposium.watchdog import Watchdog

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
    """A match up to the next reply that has to come from outside, or to its end. `go_on` must be called after
    it is made, and after every `answer`."""

    __slots__ = (
        "_answers",
        "_live",
        "_outside",
        "asks",
        "due",
        "error",
        "job",
        "match",
        "played",
        "underway",
    )

    def __init__(
        self,
        game: Game,
        players: Sequence[Player],
        seed: int,
        on_illegal: FailurePolicy,
        *,
        match_id: str | None = None,
    ) -> None:
        """`players` holds one for each seat; the seats of a `Caller` are answered from outside. A match that the
        game's engine cannot even begin has broken off already, and has no `match`. One that is to be recorded is given
        a `match_id`."""
        match_id = f"env-{next(_numbers)}" if match_id is None else match_id
        self.job = job = MatchJob(match_id, game, players, seed, on_illegal=on_illegal)
        self._outside = [isinstance(player, Caller) for player in players]
        self.played: MatchResult | None = None
        """The finished match; None while it goes on."""
        self.error: EngineError | None = None
        """Why the match broke off, where it did."""
        self.asks: dict[int, Ask] = {}
        """What waits for a reply from outside, by seat."""
        self._answers: list[Mapping[int, Reply]] = []
        underway: Underway | None = None
        self.due = False
        """Whether it can go on without a reply from outside."""
        try:
            self.match = game.new(seed)
            self.underway = underway = Underway(self.match)
            self._live = Live.begin(job, underway)
        except EngineError as error:
            self.error = error
        except GymposiumError:
            raise  # it says itself what to do
        except Exception as error:  # noqa: BLE001 - whatever an engine may raise
            self.error = broken_off(job, underway, error)
        else:
            self._look()

    def answer(self, replies: Mapping[int, Reply]) -> None:
        """Give one reply for each seat in `asks`; the others of a joint decision are asked when it goes on. Raises
        `ResetNeeded` where nothing is asked from outside, because a player raised."""
        if not self.asks:
            raise ResetNeeded("A player failed in this match, so it cannot go on: call reset() before step().")
        live = self._live
        self._answers.append(replies)
        self.asks = {}
        live.replies = [replies.get(ask.seat) for ask in live.asks]
        if None in live.replies:
            self.due = True
        else:
            self._hand_over()

    @property
    def over(self) -> bool:
        """Whether it is finished or broke off."""
        return self.played is not None or self.error is not None

    @property
    def ended(self) -> MatchResult | None:
        """The finished match, or as much of it as there was when it broke off, which then says so in its `error`;
        None while it goes on."""
        return self.played if self.error is None else self.error.played

    def break_off(self, error: Exception) -> None:
        """End it here, because the game's engine raised `error`."""
        self.error = error if isinstance(error, EngineError) else broken_off(self.job, self.underway, error)
        self.asks, self.due = {}, False

    def look_at_match(self) -> Match:
        """The match, for whoever looks on. Raises `EngineError` where the engine could not begin it."""
        if self.error is not None and self._lacks_match:
            raise self.error
        return self.match

    @property
    def _lacks_match(self) -> bool:
        return not hasattr(self, "match")

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

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is played again, since a match under way can be neither copied nor stored."""
        events = [] if self._lacks_match else list(self.match.events)
        job = self.job
        return _played_again, (job.game, job.players, job.seed, job.on_illegal, self._answers, events)

    def go_on(self) -> None:
        """As the function `go_on`, for this match alone."""
        while self.due:
            live = self._live
            asks = live.asks
            try:
                if len(asks) == 1:  # nothing to sort
                    (live.replies[0],) = replies_of(self.job.players[asks[0].seat], asks)
                else:
                    ask_players((live,))
            except EngineError as error:
                if error.played.job is not self.job:
                    raise  # of a match that some player plays on its own
                self.break_off(error)
                return
            self._hand_over()

    def _hand_over(self) -> None:
        """All replies are there: play them."""
        try:
            self.played = self._live.go_on()
        except EngineError as error:
            self.break_off(error)
            return
        if self.played is None:
            self._look()
        else:
            self.due = False

    def _look(self) -> None:
        mine, outside = self.asks, self._outside
        for ask in self._live.asks:
            if outside[ask.seat]:
                mine[ask.seat] = ask
        self.due = not mine


def go_on(episodes: Iterable[Episode], watchdog: Watchdog | None = None, guard: Guard | None = None) -> None:
    """Let the players reply until each match waits for somebody outside, or is over. A player that sits in
    several is asked for all of them in one call, and where one breaks off (`Episode.error`) the others go on. Where
    that comes out only as a player looks, the player is asked again for the others, and draws again for them.

    `watchdog` and `guard` are as in `gymposium.driver.play`."""
    due = [episode for episode in episodes if episode.due]
    while due:
        try:
            ask_players([episode._live for episode in due], watchdog, guard)
        except EngineError as error:
            broken = next((episode for episode in due if episode.job is error.played.job), None)
            if broken is None:
                raise  # of a match that some player plays on its own
            broken.break_off(error)
            due.remove(broken)
            continue
        for episode in due:
            episode._hand_over()
        due = [episode for episode in due if episode.due]


def _played_again(
    game: Game,
    players: Sequence[Player],
    seed: int,
    on_illegal: FailurePolicy,
    answers: Sequence[Mapping[int, Reply]],
    events: Sequence[Event],
) -> Episode:
    """The same episode, from its seed and what was answered from outside. The players are asked again."""
    episode = Episode(game, players, seed, on_illegal)
    episode.go_on()
    for replies in answers:
        episode.answer(replies)
        episode.go_on()
    if not episode._lacks_match and episode.match.events != events:
        names = ", ".join(dict.fromkeys(player.name for player in players if not isinstance(player, Caller)))
        raise GymposiumError(
            f"An environment is copied in mid-match by playing the match again, and that came out otherwise: {names} "
            f"does not follow from the seed alone. Copy it before reset() or after the end."
        )
    return episode
