"""A match driven by outside code: `gymposium.Table`.

The driver handles failed replies, retries, penalties and simultaneous moves. The environments and the browser's play
page are built on tables. `advance_tables` advances many tables at once, so a player at several of them gets one batched
call.
"""

from __future__ import annotations

import operator
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Self

from gymposium.errors import BadOption, GymposiumError, UnexpectedReply, WrongType
from gymposium.games.protocol import CHANCE, Event, Game, Match, Style, require_seat
from gymposium.games.registry import load_game
from gymposium.match import EngineError, Guard, MatchJob, MatchResult, RunningMatch, ask_players, collect_replies
from gymposium.match.failures import FailurePolicy
from gymposium.match.result import check_type
from gymposium.match.watchdog import Watchdog
from gymposium.players.grammar import make_opponents
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records import Record
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import Reader, get_reader

_numbers = count()


@dataclass(slots=True, eq=False)
class OutsideSeat:
    """A placeholder player for a seat that outside code answers for.

    It holds the reader and the prompt style, and is never asked."""

    reader: Reader
    style: Style
    name: str = "outside"
    """The player's name in records."""

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        raise GymposiumError("This seat is answered by outside code. Use Table.answer() or an environment's step().")


@dataclass(frozen=True, slots=True)
class AskedSeat:
    """A seat to answer for, with its prompt."""

    seat: int
    text: str
    """The prompt. After a failed reply, it begins with the reason for the failure."""
    legal_moves: list[str] | None
    """The legal moves as text; None in free-text games."""
    ask: Ask
    """The ask that a player would get, with the tensor, legal move indices and the seat's random stream."""


class Table:
    """A match where outside code answers for some seats and players answer for the others.

    `asked` lists the seats to answer for, each with its prompt. `answer` plays one reply and the opponents' moves that
    follow. `played` is the result once the match is over::

        table = gymposium.Table("kuhn_poker", seats=0, opponents=["mcts-100"], seed=7)
        while table.asked:
            for asked in table.asked:
                table.answer(asked.seat, my_agent(asked.text))
        print(table.played.result(0), table.record())

    `gymposium.match.play` plays the same match from the same job, with the same record. A table belongs to one thread.
    A copy (`copy.deepcopy`, `pickle`) replays the match from its seed, and raises `GymposiumError` if an opponent then
    plays differently.
    """

    __slots__ = (
        "_answers",
        "_outside",
        "_pending_replies",
        "_running",
        "asks",
        "due",
        "error",
        "job",
        "match",
        "played",
        "turns",
    )

    match: Match
    """The game's match: `events`, `to_move()`, `observe(seat)`. It must not be modified."""

    def __init__(
        self,
        game: str | Game,
        *,
        seats: int | Iterable[int] = 0,
        opponents: str | Player | Sequence[str | Player] = "random",
        seed: int | None = None,
        player_seed: int | None = None,
        on_illegal: str | FailurePolicy = "forfeit",
        opening: int = 0,
        reply: str = "move",
        prompt: Style = "full",
        name: str = "outside",
        match_id: str | None = None,
    ) -> None:
        """`game` is a name or a `Game`, and `seats` are the seats that outside code answers for.

        `opponents` is one player for all other seats, or one player per other seat in order, as names or objects.
        `seed` determines chance, and the players' streams unless `player_seed` is given; by default it is drawn.
        `on_illegal`, `reply` (`"move"`, `"tags"`, `"json"`) and `prompt` (`"full"`, `"compact"`) are as for the
        environments, and `opening` as in `MatchJob`. `name` is the name of the outside seats in the record.

        Raises `BadOption` and `UnknownName` for invalid arguments, and `EngineError` if the game's engine fails.
        Exceptions from opponents are passed on."""
        opened = load_game(game) if isinstance(game, str) else game
        outside = _check_seats(seats, opened.seats)
        others = iter(make_opponents(opponents, opened.seats - len(outside)))
        check_type("Table: name", name, str, "text")
        check_type("Table: prompt", prompt, str, "'full' or 'compact'")
        caller = OutsideSeat(get_reader(reply), prompt, name)
        get_prompt(opened, prompt, caller.reader)  # reject an unknown style now, not at the first prompt
        self._open(
            MatchJob(
                id=f"table-{secrets.token_hex(6)}" if match_id is None else match_id,
                game=opened,
                players=[caller if seat in outside else next(others) for seat in range(opened.seats)],
                seed=secrets.randbits(48) if seed is None else seed,
                player_seed=player_seed,
                on_illegal=on_illegal if isinstance(on_illegal, FailurePolicy) else FailurePolicy.parse(on_illegal),
                opening=opening,
            )
        )
        self._advance_or_raise()

    @classmethod
    def from_job(cls, job: MatchJob) -> Self:
        """Return the table for a job with an `OutsideSeat` player in each outside seat.

        No player has been asked yet: call `advance`, or `advance_tables` for many tables. An engine failure does not
        raise; it sets `error`."""
        table = cls.__new__(cls)
        table._open(job)
        return table

    def _open(self, job: MatchJob) -> None:
        self.job = job
        """The job: game, players and seeds."""
        self.played: MatchResult | None = None
        """The result; None during the match. A match that broke off has an `error`."""
        self.error: EngineError | None = None
        """The engine's error if the engine failed. The match is then over."""
        self.asks: dict[int, Ask] = {}
        """The pending asks for outside code, by seat."""
        self.due = False
        """True if the match can continue without an outside answer."""
        self._outside = [isinstance(player, OutsideSeat) for player in job.players]
        self._pending_replies: dict[int, Reply] = {}
        self._answers: list[Mapping[int, Reply]] = []
        self._running = running = RunningMatch(job)
        self.turns = running.turns
        """Replies so far, from all seats."""
        try:
            running.begin()
        except EngineError as error:
            self.break_off(error)
        else:
            self._open_decision()
        if hasattr(running, "match"):
            self.match = running.match

    # -- who is asked

    @property
    def asked(self) -> list[AskedSeat]:
        """Seats to answer for now; empty if the match is over.

        In a simultaneous move, seats that have already answered are omitted."""
        return [
            AskedSeat(seat, self._make_prompt(ask), ask.legal_moves, ask)
            for seat, ask in self.asks.items()
            if seat not in self._pending_replies
        ]

    def _make_prompt(self, ask: Ask) -> str:
        player = self.job.players[ask.seat]
        return get_prompt(self.job.game, player.style, player.reader)(ask.observe(player.style), ask.reason)

    def answer(self, seat: int, reply: str | int | Reply) -> None:
        """Answer for one seat with text, an action index, or a `Reply`.

        When every seat in the decision has answered, the moves are played. Then the opponents play up to the next
        outside decision or the end.

        Raises `UnexpectedReply` if it is not the seat's turn, and `WrongType` for a reply of another type. Nothing is
        played then. Raises `EngineError` if the game's engine fails, and passes on exceptions from opponents."""
        if seat not in self.asks or seat in self._pending_replies:
            raise UnexpectedReply(self._explain_not_asked(seat))
        self._pending_replies[seat] = reply if isinstance(reply, Reply) else make_reply(reply, self.job.game)
        if len(self._pending_replies) == len(self.asks):
            replies, self._pending_replies = self._pending_replies, {}
            self.submit(replies)
            self._advance_or_raise()

    def _explain_not_asked(self, seat: object) -> str:
        if self.over:
            return "The match is over. Set up a new Table for another one."
        if not self.asks:
            return "A player failed in this match, so it cannot continue. Set up a new Table."
        waiting = " and ".join(str(other) for other in self.asks if other not in self._pending_replies)
        why = "has already answered" if seat in self._pending_replies else "is not asked now"
        return f"Seat {seat} {why}. Answer for seat {waiting}."

    # -- the state of the match

    @property
    def over(self) -> bool:
        """Whether the match has finished or broken off."""
        return self.played is not None

    @property
    def penalties(self) -> Mapping[int, float]:
        """Each seat's total penalty so far, for seats with penalties."""
        return self._running.penalties

    def get_return(self, seat: int) -> float:
        """Return the seat's return so far, including penalties. Raises `BadOption` for an unknown seat."""
        require_seat(seat, self.job.game.seats)
        if self.played is not None:
            return self.played.returns[seat]
        return self.match.returns()[seat] - self._running.penalties.get(seat, 0.0)

    def record(self) -> Record:
        """Return the match's record. Raises `GymposiumError` before its end."""
        if self.played is None:
            raise GymposiumError("The match is not over, so it has no record yet. Answer for the seats in `asked`.")
        return Record.from_match(self.played)

    def close(self) -> None:
        """Release an unfinished match's resources, such as a server. Afterwards the match can only be read."""
        self._running.close()

    # -- for environments, which own the loop

    def submit(self, replies: Mapping[int, Reply]) -> None:
        """Hand over one reply per seat in `asks`.

        The moves are played unless a player is asked in the same decision; `advance` or `advance_tables` does the rest.
        An engine failure sets `error`."""
        running = self._running
        self._answers.append(replies)
        self.asks = {}
        running.answers = [replies.get(ask.seat) for ask in running.asks]
        if None in running.answers:
            self.due = True
        else:
            self._play()

    def advance(self) -> None:
        """Ask the players until an outside seat is asked or the match ends. An engine failure sets `error`."""
        running = self._running
        while self.due:
            asks = running.asks
            try:
                if len(asks) == 1:  # nothing to sort
                    (running.answers[0],) = collect_replies(self.job.players[asks[0].seat], asks)
                else:
                    ask_players((running,))
            except EngineError as error:
                if error.played.job is not self.job:
                    raise  # from another match that a player plays itself
                self.break_off(error)
                return
            self._play()

    def break_off(self, error: Exception) -> None:
        """Break off the match because the game's engine raised `error`."""
        self.error = error if isinstance(error, EngineError) else self._running.make_engine_error(error)
        self.played = self.error.played
        self.asks, self.due = {}, False

    def require_match(self) -> Match:
        """Return the match. Raises `EngineError` if the engine could not start it."""
        if self.error is not None and not hasattr(self, "match"):
            raise self.error
        return self.match

    def _advance_or_raise(self) -> None:
        self.advance()
        if self.error is not None:
            raise self.error

    def _play(self) -> None:
        """Play the answers of a complete decision."""
        try:
            self.played = self._running.advance()
        except EngineError as error:
            self.break_off(error)
            return
        if self.played is None:
            self._open_decision()
        else:
            self.due = False

    def _open_decision(self) -> None:
        asks, outside = self.asks, self._outside
        for ask in self._running.asks:
            if outside[ask.seat]:
                asks[ask.seat] = ask
        self.due = not asks

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle the table as instructions to replay the match, because a running match can be neither copied
        nor stored."""
        events = list(self.match.events) if hasattr(self, "match") else []
        return _replay_table, (type(self), self.job, self._answers, self._pending_replies, events)


def advance_tables(tables: Iterable[Table], watchdog: Watchdog | None = None, guard: Guard | None = None) -> None:
    """Ask the players until every match waits for an outside seat or is over.

    A player at several tables gets one call for all of them. If one match breaks off (`Table.error`), the others
    continue. If this happens during a player's call, the player is called again for the other matches, with new draws.

    `watchdog` and `guard` are as in `gymposium.match.play`."""
    due = [table for table in tables if table.due]
    while due:
        try:
            ask_players([table._running for table in due], watchdog, guard)
        except EngineError as error:
            broken = next((table for table in due if table.job is error.played.job), None)
            if broken is None:
                raise  # from another match that a player plays itself
            broken.break_off(error)
            due.remove(broken)
            continue
        for table in due:
            table._play()
        due = [table for table in due if table.due]


def make_reply(answer: object, game: Game) -> Reply:
    """Return the reply for an answer: text or an action index. Raises `WrongType` for any other type."""
    if isinstance(answer, str):
        return Reply(answer)
    try:
        index = operator.index(answer)  # type: ignore[arg-type]
    except TypeError:
        index = -1
    if 0 <= index < game.num_actions:
        return Reply(str(index), action=index)
    expected = f"text or an index from 0 to {game.num_actions - 1}" if game.num_actions else "text"
    raise WrongType(f"An answer in {game.name}", expected, answer)


def make_match_id(tag: str) -> str:
    """Return a match id that is unique in this process."""
    return f"{tag}-{next(_numbers)}"


def _check_seats(seats: int | Iterable[int], count: int) -> set[int]:
    """Return the outside seats. Raises `BadOption` if a seat is invalid."""
    given: list[object] = [*seats] if isinstance(seats, Iterable) else [seats]
    for seat in given:
        if isinstance(seat, bool) or not isinstance(seat, int) or seat not in range(count):
            raise BadOption(f"seats={seats!r} must be a seat from 0 to {count - 1}, or a list of them.")
    if not given or len(set(given)) < len(given):
        raise BadOption(f"seats={seats!r} must have at least one seat and no duplicates. Name each seat once.")
    return {seat for seat in range(count) if seat in given}


def _replay_table(
    kind: type[Table],
    job: MatchJob,
    answers: Sequence[Mapping[int, Reply]],
    given: Mapping[int, Reply],
    events: Sequence[Event],
) -> Table:
    """Replay a match from its seed and the outside answers. The players are asked again."""
    table = kind.from_job(replace(job, id=make_match_id("copy")))
    table.advance()
    for replies in answers:
        table.submit(replies)
        table.advance()
    table._pending_replies.update(given)
    if hasattr(table, "match") and table.match.events != events:
        names = ", ".join(dict.fromkeys(p.name for p in job.players if not isinstance(p, OutsideSeat)))
        raise GymposiumError(
            f"Copying a match replays it, and the replay diverged: {names} does not depend only on the seed. Copy an "
            f"environment before reset() or after the end."
        )
    return table


def list_other_moves(match: Match, seat: int, since: int) -> list[tuple[int, str]]:
    """Return other seats' moves, as (seat, move), after the first `since` events.

    With hidden information, the list is empty, because a seat then learns of moves only from its observations."""
    if match.game.spec.information != "perfect":
        return []
    return [(event.seat, event.move) for event in match.events[since:] if event.seat not in (seat, CHANCE)]
