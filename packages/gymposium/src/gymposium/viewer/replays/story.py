"""A recorded match as a page tells it: step by step what each seat saw, was asked, replied and did, and how it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from gymposium.ending import OVER
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Draws, Game, Match, Observation
from gymposium.games.registry import load_named_game, needs_isolation
from gymposium.isolated import CallFailed, isolated
from gymposium.players.protocol import Usage
from gymposium.prompt import PROMPT_VERSION, prompt_for
from gymposium.reading import reader
from gymposium.records import Decision, Record, first_difference, walk
from gymposium.viewer.replays.reasons import offered, why
from gymposium.visible import visible


@dataclass(slots=True)
class PromptText:
    """A prompt as it was sent, its rules apart, for they are the same in all prompts of a seat."""

    before: str
    """Why the last reply was not accepted, where this is a retry."""
    rules: str
    """Empty in a later message of a conversation."""
    after: str


@dataclass(slots=True)
class Try:
    """One reply and how it was read."""

    text: str
    reading: str
    why: str = ""
    offered: str = ""
    """The move, or what stands in its place."""
    action: int | None = None
    prompt: PromptText | None = None
    sent: bool = False
    """Whether the player is known to have read the prompt: it told what reading took."""
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    seconds: float | None = None

    @property
    def tag(self) -> str:
        return self.reading.replace(" ", "-")

    @property
    def figures(self) -> list[str]:
        """What it took, in words."""
        figures = [
            (self.action, f"as action {self.action}"),
            (self.prompt_tokens, f"{self.prompt_tokens or 0:,} tokens read"),
            (self.reply_tokens, f"{self.reply_tokens or 0:,} written"),
            (self.seconds, f"{self.seconds or 0:,.2f} s"),
        ]
        return [words for figure, words in figures if figure is not None]


@dataclass(slots=True)
class Act:
    """What one seat did in one step."""

    seat: int
    move: str | None
    tries: list[Try] = field(default_factory=list)
    drawn: bool = False
    """Whether the move was drawn at random, since no reply was one."""
    opening: bool = False
    silent: str = ""
    """Why it gave no reply in the end, where it gave none."""

    @property
    def failed(self) -> Try | None:
        """The last reply that was not accepted."""
        return next((one for one in reversed(self.tries) if one.reading != "move"), None)


@dataclass(slots=True)
class SeatPicture:
    """What one seat sees."""

    seat: int
    text: str
    picture: int | None = None
    """Its place among the story's pictures."""


@dataclass(slots=True)
class StoryStep:
    """One decision, or the end."""

    number: int
    chance: list[str]
    views: list[SeatPicture]
    acts: list[Act]
    ends: bool = False


@dataclass(slots=True)
class Seat:
    """One seat over the whole match."""

    number: int
    player: str
    result: str = ""
    value: float | None = None
    """Its return."""
    penalty: float = 0.0
    report: dict[str, float] = field(default_factory=dict)
    replies: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    seconds: float | None = None
    style: str = ""
    reader: str = ""
    context: str = ""
    """Which of its earlier turns its player was told again, where its name says so: `full`, `last-4`."""
    rules: str = ""
    asked: int = 0
    """Prompts that were made again so far."""
    differs: str = ""
    """Why its prompts may not be those that were sent."""


@dataclass(slots=True)
class Story:
    """All that a page shows of a match."""

    record: Record
    seats: list[Seat]
    steps: list[StoryStep]
    pictures: list[str]
    """HTML by the game, each once, to be shown where it can do nothing."""
    verdict: list[str]
    decisive: int
    """The step that decided it: where a page begins."""
    loser: int
    """The seat whose end tells most: who forfeits, or else has lost, or else the first."""
    bad: bool
    """Whether somebody failed, instead of playing on to the end."""
    trouble: str = ""
    """Why it could not be played again to its end, where that is so."""
    difference: str = ""
    """The first thing in it that does not follow from its events and seeds."""


def build_story(record: Record) -> Story:
    """The story of a record, as far as it can be played again."""
    if needs_isolation(record.game):
        try:
            return isolated(_build, record)
        except CallFailed as error:
            return _build(record, trouble=str(error))
    return _build(record)


def _build(record: Record, trouble: str = "") -> Story:
    """With `trouble` the match is not played again at all."""
    seats = [_seat(record, number) for number in range(len(record.players))]
    steps: list[StoryStep] = []
    pictures: dict[str, int] = {}
    difference = ""
    try:
        if not trouble:
            game = load_named_game(record.game)
            for seat, prompt in zip(seats, record.prompts, strict=False):
                _look_at_prompts(game, seat, prompt)
            for decision in walk(record, partial(_look, record, pictures)):
                steps.append(_step(record, game, seats, decision, len(steps)))
            difference = first_difference(record) or ""
    except GymposiumError as error:
        trouble = str(error)
    except Exception as error:  # noqa: BLE001 - whatever a stranger's game may raise at a record
        trouble = f"{type(error).__name__}: {error}"
    if trouble:
        steps += _not_played(record, steps)
    decisive = steps[-1].number if steps else 0
    bad = record.ending != OVER
    lost = [seat.number for seat in seats if seat.result == "loss"]
    loser = record.ending.seat if record.ending.seat is not None else lost[0] if lost else 0
    return Story(record, seats, steps, [*pictures], _verdict(record, steps), decisive, loser, bad, trouble, difference)


def _seat(record: Record, number: int) -> Seat:
    turns = [turn for turn in record.turns if turn["seat"] == number]
    seat = Seat(number, record.players[number], replies=len(turns))
    context = dict(parse_qsl(seat.player.partition("?")[2])).get("context", "state")
    seat.context = "" if context == "state" else context
    seat.result = dict(enumerate(record.results)).get(number, "")
    seat.value = dict(enumerate(record.returns)).get(number)
    seat.penalty = record.penalties.get(str(number), 0.0)
    seat.report = dict(enumerate(record.reports)).get(number, {})
    for turn in turns:
        if turn["reading"] != "move":
            seat.failures[turn["reading"]] = seat.failures.get(turn["reading"], 0) + 1
    counted = [turn["tokens"] for turn in turns if "tokens" in turn]
    if counted:
        seat.prompt_tokens = sum(tokens[0] or 0 for tokens in counted)
        seat.reply_tokens = sum(tokens[1] or 0 for tokens in counted)
    times = [turn["seconds"] for turn in turns if "seconds" in turn]
    seat.seconds = sum(times) if times else None
    return seat


def _look_at_prompts(game: Game, seat: Seat, prompt: dict[str, Any]) -> None:
    seat.style, seat.reader = prompt["style"], prompt["reader"]
    made = prompt_for(game, prompt["style"], reader(prompt["reader"]))
    nothing = Observation(seat.number, "", None)
    whole, without = made(nothing), made(nothing, rules=False)
    seat.rules = whole[: len(whole) - len(without)]
    if prompt["version"] != PROMPT_VERSION:
        seat.differs = f"They were worded by version {prompt['version']}; what is shown is by version {PROMPT_VERSION}."
    elif made.hash != prompt["hash"]:
        seat.differs = f"The record says that their digest is {prompt['hash']}; of what is shown it is {made.hash}."


@dataclass(slots=True)
class _Position:
    """A position of the match: what each seat sees, and what the seats to move are asked."""

    views: list[SeatPicture]
    asked: dict[int, Observation]


def _look(record: Record, pictures: dict[str, int], match: Match) -> _Position:
    views = []
    for seat in range(match.game.seats):
        html = match.render_html(seat) if isinstance(match, Draws) else None
        picture = None if html is None else pictures.setdefault(visible(html), len(pictures))
        views.append(SeatPicture(seat, match.observe(seat).text, picture))
    return _Position(views, {seat: match.observe(seat, record.prompts[seat]["style"]) for seat in match.to_move()})


def _step(record: Record, game: Game, seats: Sequence[Seat], decision: Decision[_Position], number: int) -> StoryStep:
    acts = [_act(record, game, seats[seat], decision) for seat in decision.seats]
    return StoryStep(number, decision.chance, decision.seen.views, acts, ends=not decision.moves)


def _act(record: Record, game: Game, who: Seat, decision: Decision[_Position]) -> Act:
    act = Act(who.number, decision.moves.get(who.number), opening=decision.opening)
    prompt = record.prompts[who.number]
    how = reader(prompt["reader"])
    made = prompt_for(game, prompt["style"], how)
    observation = decision.seen.asked[who.number]
    for reply in decision.replies.get(who.number, ()):
        turn, usage = reply.turn, reply.turn.usage or Usage()
        sent = _prompt(made(observation, reply.reason), made(observation, reply.reason, rules=False), reply.reason)
        if who.context and who.asked:
            sent.rules = ""
        who.asked += 1
        act.tries.append(
            Try(
                turn.text,
                turn.reading,
                why(turn, observation.legal_moves, how),
                offered(turn, how),
                turn.action,
                sent,
                turn.usage is not None,
                usage.prompt_tokens,
                usage.completion_tokens,
                None if turn.usage is None else usage.seconds,
            )
        )
    act.drawn = act.move is not None and bool(act.tries) and act.tries[-1].reading != "move"
    if not decision.moves:
        failure = record.ending.failure_of(who.number)
        act.silent = failure.predicate if failure is not None and failure.kind != "no legal move" else ""
    return act


def _prompt(whole: str, without_rules: str, reason: str | None) -> PromptText:
    begin = 0 if reason is None else len(reason) + 1
    end = begin + len(whole) - len(without_rules)
    return PromptText(whole[:begin], whole[begin:end], whole[end:])


def _not_played(record: Record, steps: Sequence[StoryStep]) -> list[StoryStep]:
    """The replies behind those steps as they stand in the record, where it could not be played on."""
    shown = Counter(act.seat for step in steps for act in step.acts for _ in act.tries)
    found: list[StoryStep] = []
    for turn in record.turns:
        if shown[turn["seat"]]:
            shown[turn["seat"]] -= 1
            continue
        read, written = turn.get("tokens", [None, None])
        one = Try(turn["text"], turn["reading"], action=turn.get("action"), seconds=turn.get("seconds"))
        one.prompt_tokens, one.reply_tokens = read, written
        found.append(StoryStep(len(steps) + len(found), [], [], [Act(turn["seat"], None, [one])]))
    return found


def _verdict(record: Record, steps: Sequence[StoryStep]) -> list[str]:
    """How it ended, in sentences."""

    def who(seat: int) -> str:
        player = record.players[seat] if seat < len(record.players) else "nobody"
        return f"Seat {seat} ({player.partition('?')[0]})"

    ending = record.ending
    if ending != OVER:
        last = next((act for act in (steps[-1].acts if steps else ()) if act.seat == ending.seat), None)
        failed = None if last is None or last.silent else last.failed
        why = [] if failed is None else [f"Its last reply was {failed.reading}. {failed.why}"]
        return [ending.in_words(who), *why]
    if len(record.results) == 1:
        return [f"The match is over with a return of {record.returns[0]:g}."]
    winners = [seat for seat, result in enumerate(record.results) if result == "win"]
    if winners:
        return [" and ".join(map(who, winners)) + (" wins." if len(winners) == 1 else " win.")]
    level = [seat for seat, result in enumerate(record.results) if result == "draw"]
    if len(level) == len(record.results):
        return ["A draw."]
    return [" and ".join(map(who, level)) + " share the first place." if level else "Nobody wins."]
