"""A recorded match as a page tells it: step by step what each seat saw, was asked, replied and did, and how it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from gymposium.ending import OVER
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Draws, Game, Match, Observation
from gymposium.games.registry import load_named_game, needs_isolation
from gymposium.isolated import CallFailed, isolated
from gymposium.prompt import PROMPT_VERSION, prompt_for
from gymposium.reading import reader
from gymposium.records import Decision, Record, first_difference, walk
from gymposium.viewer.replays.reasons import read_again, why
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
class View:
    """What one seat sees."""

    seat: int
    text: str
    picture: int | None = None
    """Its place among the story's pictures."""


@dataclass(slots=True)
class Step:
    """One decision, or the end."""

    number: int
    chance: list[str]
    views: list[View]
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
    told: int = 0
    """Prompts that were made again so far."""
    differs: str = ""
    """Why its prompts may not be those that were sent."""


@dataclass(slots=True)
class Story:
    """All that a page shows of a match."""

    record: Record
    seats: list[Seat]
    steps: list[Step]
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


def tell(record: Record) -> Story:
    """The story of a record, as far as it can be played again."""
    if needs_isolation(record.game):
        try:
            return isolated(_tell, record)
        except CallFailed as error:
            return _tell(record, trouble=str(error))
    return _tell(record)


def _tell(record: Record, trouble: str = "") -> Story:
    """With `trouble` the match is not played again at all."""
    seats = [_seat(record, number) for number in range(len(record.players))]
    steps: list[Step] = []
    pictures: dict[str, int] = {}
    difference = ""
    try:
        if not trouble:
            game = load_named_game(record.game)
            for seat, prompt in zip(seats, record.prompts, strict=False):
                _look_at_prompts(game, seat, prompt)
            for decision, match in walk(record):
                steps.append(_step(record, seats, decision, match, len(steps), pictures))
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


def _step(
    record: Record, seats: Sequence[Seat], decision: Decision, match: Match, number: int, pictures: dict[str, int]
) -> Step:
    views = []
    for seat in range(len(seats)):
        html = match.render_html(seat) if isinstance(match, Draws) else None
        picture = None if html is None else pictures.setdefault(visible(html), len(pictures))
        views.append(View(seat, match.observe(seat).text, picture))
    acts = [_act(record, seats[seat], decision, match) for seat in decision.seats]
    return Step(number, decision.chance, views, acts, ends=not decision.moves)


def _act(record: Record, who: Seat, decision: Decision, match: Match) -> Act:
    seat = who.number
    act = Act(seat, decision.moves.get(seat), opening=decision.opening)
    prompt = record.prompts[seat]
    how = reader(prompt["reader"])
    made = prompt_for(match.game, prompt["style"], how)
    observation = match.observe(seat, prompt["style"])
    legal = observation.legal_moves
    reason: str | None = None
    for turn in decision.replies.get(seat, []):
        action = turn.get("action")
        reading = read_again(turn["text"], action, turn["reading"], legal, match.legal_actions(seat), how, match.game)
        tokens = turn.get("tokens", [None, None])
        sent = _prompt(made(observation, reason), made(observation, reason, rules=False), reason)
        if who.context and who.told:
            sent.rules = ""
        who.told += 1
        act.tries.append(
            Try(
                turn["text"],
                turn["reading"],
                why(reading, turn["text"], legal, how) if reading.kind == turn["reading"] else "",
                (reading.move or how.submission(turn["text"]) or "").strip(),
                action,
                sent,
                "seconds" in turn,
                tokens[0],
                tokens[1],
                turn.get("seconds"),
            )
        )
        reason = reading.reason(legal)
    act.drawn = act.move is not None and bool(act.tries) and act.tries[-1].reading != "move"
    if not decision.moves:
        failure = record.ending.failure_of(seat)
        act.silent = failure.predicate if failure is not None and failure.kind != "no legal move" else ""
    return act


def _prompt(whole: str, without_rules: str, reason: str | None) -> PromptText:
    begin = 0 if reason is None else len(reason) + 1
    end = begin + len(whole) - len(without_rules)
    return PromptText(whole[:begin], whole[begin:end], whole[end:])


def _not_played(record: Record, steps: Sequence[Step]) -> list[Step]:
    """The replies behind those steps as they stand in the record, where it could not be played on."""
    shown = Counter(act.seat for step in steps for act in step.acts for _ in act.tries)
    found: list[Step] = []
    for turn in record.turns:
        if shown[turn["seat"]]:
            shown[turn["seat"]] -= 1
            continue
        read, written = turn.get("tokens", [None, None])
        one = Try(turn["text"], turn["reading"], action=turn.get("action"), seconds=turn.get("seconds"))
        one.prompt_tokens, one.reply_tokens = read, written
        found.append(Step(len(steps) + len(found), [], [], [Act(turn["seat"], None, [one])]))
    return found


def _verdict(record: Record, steps: Sequence[Step]) -> list[str]:
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
