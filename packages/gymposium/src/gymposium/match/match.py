"""One match, as played by the driver.

This module decides which seats are asked, what a failed reply costs, and how a match ends. A schedule
(`gymposium.match.rounds`, `gymposium.match.streaming`) or a `gymposium.Table` decides when and how players are asked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from gymposium.errors import GymposiumError, WorldFailure, is_actionable
from gymposium.games.protocol import CHANCE, AsyncMatch, Match
from gymposium.match.ending import OVER, Ending
from gymposium.match.failures import FailureTally, choose_forfeit
from gymposium.match.guard import Answer, PlayerFailure
from gymposium.match.opening import open_match
from gymposium.match.promises import check_length, check_returns
from gymposium.match.result import EngineError, GameRefused, MatchJob, MatchResult, Turn
from gymposium.players.protocol import Ask, MatchContext, Reply, check_plays, list_legal_moves
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import bind_reader, read_action, read_reply
from gymposium.tasks.tools import list_tools
from gymposium.util.streams import stream
from gymposium.util.visible import quantity

if TYPE_CHECKING:
    from concurrent.futures import Future


class RunningMatch:
    """A match in progress.

    `begin` opens it. After that, `asks` holds the current asks. Put an answer to each, in order, into `answers`, and
    call `advance` to play them. Do not modify `match` and `turns`.

    In some games (`AsyncMatch`), moves such as tool calls take time. `advance(wait=False)` starts these moves. Then
    `waiting` is the future to wait for before calling `complete_moves`.
    """

    __slots__ = (
        "_context",
        "_decisions",
        "_moves",
        "_paid",
        "_readers",
        "_so_far",
        "_tally",
        "_tools",
        "answers",
        "asks",
        "job",
        "match",
        "opening",
        "penalties",
        "turns",
        "waiting",
    )

    match: Match
    """The game's match. Not set before `begin`, or if the game's engine cannot create it."""

    def __init__(self, job: MatchJob) -> None:
        if len(job.players) != job.game.seats:
            raise ValueError(
                f"{job.game.name} has {quantity(job.game.seats, 'seat')}, but got "
                f"{quantity(len(job.players), 'player')}. Pass one per seat."
            )
        self.job = job
        self._tools = list_tools(job.game)
        self._readers = [bind_reader(player.reader, self._tools, job.game.name) for player in job.players]
        self.turns: list[Turn] = []
        """Replies so far, from all seats."""
        self.asks: list[Ask] = []
        self.answers: list[Answer] = []
        """One answer per ask. None until the player has answered, or if the watchdog fired."""
        self.waiting: Future[Any] | None = None
        """The future of moves in progress; the match continues when it is done. None without such moves."""
        self.opening = 0
        """Number of random plies in the opening."""
        self._tally = FailureTally(job.on_illegal)
        self.penalties = self._tally.penalties
        """Each seat's total penalty so far, for seats with penalties."""
        self._moves: dict[int, str] = {}
        self._decisions = 0
        self._paid: tuple[float, ...] | None = None
        self._so_far = partial(_make_result_so_far, job, None, self.turns, self.penalties, 0)

    def begin(self) -> None:
        """Open the match and ask its first seats.

        Raises `EngineError` if the game's engine fails, and `GameRefused` if a player rejects this game
        (`SelectivePlayer`)."""
        job = self.job
        for seat, player in enumerate(job.players):
            try:
                check_plays(player, job.game)
            except GymposiumError as error:
                raise GameRefused(self._so_far(f"seat {seat} could not be asked: {error}"), error) from error
        try:
            self.match, self.opening = open_match(job.game, job.seed, job.opening)
            if self.opening:
                self._decisions = sum(event.seat != CHANCE for event in self.match.events)
            # the functions must not refer to `self`: a reference cycle would outlive the match
            self._so_far = partial(_make_result_so_far, job, self.match, self.turns, self.penalties, self.opening)
            self._context = MatchContext(
                self.match, job.id, job.seed_for_players, partial(_make_engine_error, self._so_far)
            )
            self._next_decision()
        except Exception as error:
            if is_actionable(error):
                raise
            raise self.make_engine_error(error) from error

    def make_engine_error(self, error: Exception) -> EngineError:
        """Return the error to raise after the game's engine raised `error`. The result holds the match so far."""
        self.close()
        return _make_engine_error(self._so_far, error)

    def close(self) -> None:
        """Release the match's resources, such as a server. Play cannot continue."""
        close = getattr(getattr(self, "match", None), "close", None)  # of `Closes`
        if close is not None:
            close()

    def advance(self, *, wait: bool = True) -> MatchResult | None:
        """Play the answers and return the result if the match is over.

        Returns None if the match has further asks or, without `wait`, is `waiting`. If a player could not be asked (a
        `PlayerFailure` that is not the player's fault), the match breaks off.

        Raises `EngineError` if the game's engine fails."""
        job, match, turns, moves, paid = self.job, self.match, self.turns, self._moves, self._paid
        again: list[Ask] = []
        failures: list[Ending] = []
        try:
            for ask, reply in zip(self.asks, self.answers, strict=True):  # read all of them, even after a failure
                seat = ask.seat
                if reply is None:
                    failures.append(Ending("timed out", seat))
                    continue
                if isinstance(reply, PlayerFailure):
                    if not reply.own:
                        self.close()
                        return self._so_far(reply.text)
                    failures.append(Ending("crashed", seat, reply.text))
                    continue
                if reply.finish_reason == "context":
                    failures.append(Ending("out of context", seat))
                    continue
                legal = list_legal_moves(ask)
                if reply.action is None:
                    cut_off = reply.finish_reason == "length"
                    pattern, calls = job.game.move_pattern, bool(self._tools)
                    reading = read_reply(reply.text, legal, self._readers[seat], pattern, cut_off=cut_off, calls=calls)
                else:
                    reading = read_action(reply.action, match.legal_actions(seat), legal)
                before = None if paid is None else paid[seat]
                turn = Turn(
                    seat,
                    reading.kind,
                    reply.text,
                    reply.trace,
                    reply.action,
                    reply.usage,
                    before,
                    repaired=reading.repaired,
                )
                turns.append(turn)
                if reading.kind == "move" and reading.move is not None:
                    moves[seat] = reading.move
                    continue
                outcome = self._tally.count_failure(seat, can_draw=bool(legal))
                if outcome == "random" and legal:
                    # not from the player's stream: a replay cannot know how much the player drew from it
                    rng = stream(ask.seed, "random move", seat, ask.turn)
                    moves[seat] = legal[int(rng.random() * len(legal))]
                elif outcome == "again":
                    turn.penalty = job.on_illegal.cost  # 0 if a retry is free
                    move_form = match.observe(seat).move_form if legal else ""
                    again.append(self._context.ask(seat, reading.reason(legal, move_form)))
                else:
                    failures.append(Ending("no legal move", seat))
            if failures:
                return self._make_result(choose_forfeit(failures, self._context.seed))
            if again:
                self.asks, self.answers = again, [None] * len(again)
                return None
            begin = getattr(match, "begin_moves", None)  # of `AsyncMatch`
            if begin is None:
                match.apply(moves)
                return self._next_decision()
            self.asks, self.answers, self.waiting = [], [], begin(moves)
        except Exception as error:
            if is_actionable(error):
                raise
            # players' exceptions do not get here, so it is the engine's
            raise self.make_engine_error(error) from error
        return self.complete_moves() if wait else None

    def complete_moves(self) -> MatchResult | None:
        """Wait for the moves in `waiting`, then play them. Returns the same as `advance`.

        Raises `EngineError` if the game's engine fails."""
        done, self.waiting = self.waiting, None
        assert done is not None, "the match waits for its moves"
        try:
            done.exception()  # waits
            cast(AsyncMatch, self.match).finish_moves(done)
            return self._next_decision()
        except Exception as error:
            if is_actionable(error):
                raise
            raise self.make_engine_error(error) from error

    def _next_decision(self) -> MatchResult | None:
        match, job = self.match, self.job
        seats = match.to_move()
        self._decisions += len(self._moves)
        if seats:
            check_length(job.game, self._decisions + len(seats))
            self._tally.next_decision()
            self._moves = {}
            self._paid = match.returns() if job.store_returns else None
            self.asks, self.answers = [*map(self._context.ask, seats)], [None] * len(seats)
            return None
        return self._make_result(OVER)

    def _make_result(self, ending: Ending) -> MatchResult:
        match, job = self.match, self.job
        returns = match.returns()
        if ending is OVER:
            check_returns(job.game, returns)
        self.close()
        reports: tuple[dict[str, float], ...] = ()
        unanswered: dict[int, Any] = {}
        if ending is OVER:
            # isinstance(match, Reports) takes longer than a game of tic-tac-toe
            report = getattr(match, "report", None)
            reports = () if report is None else tuple(dict(report(seat)) for seat in range(job.game.seats))
        else:
            for ask, reply in zip(self.asks, self.answers, strict=True):
                if isinstance(reply, Reply) and reply.finish_reason == "context" and reply.trace is not None:
                    unanswered[ask.seat] = reply.trace
        return MatchResult(
            job, match.events, self.turns, returns, ending, self.penalties, unanswered, self.opening, reports
        )


def _make_result_so_far(
    job: MatchJob, match: Match | None, turns: list[Turn], penalties: dict[int, float], opening: int, error: str
) -> MatchResult:
    """Return the result of a match that broke off. It has no events if the engine could not create the match."""
    events = [] if match is None else match.events
    return MatchResult(job, events, turns, (), Ending("broke off", detail=error), penalties, opening=opening)


def _make_engine_error(so_far: Callable[[str], MatchResult], error: Exception) -> EngineError:
    text = " ".join(str(error).split())
    return EngineError(so_far(text if isinstance(error, WorldFailure) else f"{type(error).__name__}: {text}"), error)


def get_prompt_hash(job: MatchJob, seat: int) -> str:
    """Return the digest of this seat's prompt."""
    player = job.players[seat]
    return get_prompt(job.game, player.style, player.reader).hash
