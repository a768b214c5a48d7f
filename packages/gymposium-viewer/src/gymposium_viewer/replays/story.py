"""The data for a recorded match's page: each seat's views, prompts, replies and moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from gymposium.errors import BadRecord, GymposiumError, UnknownName
from gymposium.games.protocol import Game, Match, NotationGame, Observation, PictureMatch
from gymposium.games.registry import needs_isolation
from gymposium.match.ending import OVER
from gymposium.players.protocol import Usage
from gymposium.records import Decision, Record, find_first_difference, replay_decisions
from gymposium.records.replay import load_record_game, prepare_replay, results_are_checked
from gymposium.replies.prompt import PROMPT_VERSION, get_prompt
from gymposium.replies.reading import get_reader, split_thoughts
from gymposium.tasks.transcript import Transcript
from gymposium.util.isolated import CallFailed, call_isolated
from gymposium.util.visible import quantity
from gymposium_viewer.frames import render_frame
from gymposium_viewer.replays.reasons import explain_failure, extract_move, is_free_text
from gymposium_viewer.replays.tasks import CallView, TaskView


@dataclass(slots=True)
class PromptText:
    """A prompt's text, split around its rules, which are the same in all of a seat's prompts."""

    before: str
    """Why the last reply was not accepted; empty if this is not a retry."""
    rules: str
    """The rules; empty in a later message of a conversation."""
    after: str


@dataclass(slots=True)
class ReplyAttempt:
    """One reply and its reading."""

    text: str
    reading: str
    thoughts: str
    """The part of the reply that its reader ignored as thoughts."""
    answer: str
    """The reply without its thoughts."""
    why: str = ""
    """Why the reply was not accepted; empty if it was."""
    offered: str = ""
    """The move in the reply, or the text given instead of a move."""
    action: int | None = None
    repaired: Sequence[str] = ()
    """What a lenient reader repaired in the reply."""
    prompt: PromptText | None = None
    sent: bool = False
    """True if the player reported usage, which proves that it read the prompt."""
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    seconds: float | None = None

    @property
    def tag(self) -> str:
        """The CSS class of the reading."""
        return self.reading.replace(" ", "-")

    @property
    def figures(self) -> list[str]:
        """Description of the reply's action, tokens and time."""
        repaired = f"repaired: {', '.join(self.repaired)}" if self.repaired else None
        figures = [
            (repaired, repaired or ""),
            (self.action, f"as action {self.action}"),
            (self.prompt_tokens, f"{quantity(self.prompt_tokens or 0, 'token')} read"),
            (self.reply_tokens, f"{self.reply_tokens or 0:,} written"),
            (self.seconds, f"{self.seconds or 0:,.2f} s"),
        ]
        return [words for figure, words in figures if figure is not None]


@dataclass(slots=True)
class Act:
    """One seat's part in a step."""

    seat: int
    move: str | None
    """The seat's move; None if it made none."""
    notation: str = ""
    """The move in the game's human notation, if any."""
    attempts: list[ReplyAttempt] = field(default_factory=list)
    """The seat's replies in order."""
    drawn: bool = False
    """True if the move was drawn at random because no reply contained a move."""
    opening: bool = False
    """True if the move belongs to the match's random opening."""
    no_reply: str = ""
    """Why the seat gave no reply, as a predicate: `did not answer in time`."""
    calls: list[CallView] = field(default_factory=list)
    """The tool calls that form the move; empty in games without tools."""

    @property
    def failed(self) -> ReplyAttempt | None:
        """The last reply that was not accepted, or None."""
        return next((reply for reply in reversed(self.attempts) if reply.reading != "move"), None)


@dataclass(slots=True)
class SeatPicture:
    """One seat's view of the position."""

    seat: int
    text: str
    picture: int | None = None
    """Index into the story's pictures; None if the game draws none."""


@dataclass(slots=True)
class StoryStep:
    """One decision in a match, or its end."""

    number: int
    chance: list[str]
    """Chance outcomes since the last step."""
    views: list[SeatPicture]
    acts: list[Act]
    ends: bool = False
    """True if the match ends here."""


@dataclass(slots=True)
class Seat:
    """One seat over the whole match."""

    number: int
    player: str
    label: str = ""
    """The player's display name on a board; empty to show the player as written."""
    result: str = ""
    value: float | None = None
    """The seat's return; None if the match broke off."""
    penalty: float = 0.0
    report: dict[str, float] = field(default_factory=dict)
    replies: int = 0
    """Number of replies."""
    failures: dict[str, int] = field(default_factory=dict)
    """Number of failed replies by reading."""
    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    seconds: float | None = None
    style: str = ""
    reader: str = ""
    context: str = ""
    """The context setting in the player's name: `full`, `last-4`; empty for the default."""
    rules: str = ""
    """The rules text in the seat's prompts."""
    prompt_count: int = 0
    """Number of the seat's prompts that the replay reproduced."""
    prompt_difference: str = ""
    """Why the seat's prompts may differ from those that were sent; empty if they are the same."""

    @property
    def name(self) -> str:
        """The label, or the player as written."""
        return self.label or self.player


@dataclass(slots=True)
class Story:
    """All data that a page shows about a match."""

    record: Record
    seats: list[Seat]
    steps: list[StoryStep]
    pictures: list[tuple[str, float]]
    """The match's distinct pictures.

    Each has its HTML, to be shown only in a frame without permissions, and the ratio of height to width."""
    verdict: list[str]
    """A description of the ending in sentences."""
    decisive: int
    """Number of the step that decided the match."""
    loser: int
    """The seat whose view of the end is shown: the forfeiting seat, else the first seat that lost, else seat 0."""
    is_unfinished: bool
    """True if the match was not played to the end of the game."""
    trouble: str = ""
    """Why the replay failed; empty if it reached the end."""
    difference: str = ""
    """The first difference between the record and its replay, if any."""
    is_unchecked: bool = False
    """True if the replay used recorded tool results, because the tools cannot be called again."""
    task: TaskView | None = None
    """The task, if the game is a world; otherwise None."""


def build_story(record: Record, labels: Mapping[str, str] | None = None) -> Story:
    """Return the story of a record, as far as it can be replayed. `labels` are the players' display names."""
    labels = {player: label for player, label in (labels or {}).items() if label != player}
    if needs_isolation(record.game):
        try:
            return call_isolated(_make_story, record, labels)
        except CallFailed as error:
            return _make_story(record, labels, trouble=str(error))
    return _make_story(record, labels)


def _make_story(record: Record, labels: Mapping[str, str], trouble: str = "") -> Story:
    """Return the story of a record. With `trouble`, the match is not replayed."""
    seats = [_make_seat(record, number, labels) for number in range(len(record.players))]
    steps: list[StoryStep] = []
    pictures: dict[tuple[str, float], int] = {}
    difference, unchecked = "", False
    try:
        if not trouble:
            game = prepare_replay(load_record_game(record), record)
            unchecked = not results_are_checked(game)
            for seat, prompt in zip(seats, record.prompts, strict=False):
                _describe_prompts(game, seat, prompt)
            played = None
            for decision in replay_decisions(record, partial(_observe, record, pictures)):
                played = decision.played
                acts = [_make_act(record, game, seats[number], decision) for number in decision.seats]
                steps.append(StoryStep(len(steps), decision.chance, decision.seen.views, acts, ends=not decision.moves))
            difference = find_first_difference(record, played) or ""
            if isinstance(game, NotationGame):
                _add_notation(steps, game.notation(record.events))
    except GymposiumError as error:
        trouble = str(error)
    except Exception as error:  # noqa: BLE001 - a third-party game may raise anything
        trouble = f"{type(error).__name__}: {error}"
    if trouble:
        steps += _list_unplayed(record, steps)
    lost = (seat.number for seat in seats if seat.result == "loss")
    return Story(
        record,
        seats,
        steps,
        [*pictures],
        _describe_ending(record, steps, seats),
        decisive=steps[-1].number if steps else 0,
        loser=next(lost, 0) if record.ending.seat is None else record.ending.seat,
        is_unfinished=record.ending != OVER,
        trouble=trouble,
        difference=difference,
        is_unchecked=unchecked and not trouble,
        task=_make_task(record, steps),
    )


def _make_seat(record: Record, number: int, labels: Mapping[str, str]) -> Seat:
    turns = [turn for turn in record.turns if turn["seat"] == number]
    tokens = [turn["tokens"] for turn in turns if "tokens" in turn]
    seconds = [turn["seconds"] for turn in turns if "seconds" in turn]
    player = record.players[number]
    context = dict(parse_qsl(player.partition("?")[2])).get("context", "state")
    return Seat(
        number,
        player,
        labels.get(player, ""),
        result=dict(enumerate(record.results)).get(number, ""),
        value=dict(enumerate(record.returns)).get(number),
        penalty=record.penalties.get(str(number), 0.0),
        report=dict(enumerate(record.reports)).get(number, {}),
        replies=len(turns),
        failures=Counter(turn["reading"] for turn in turns if turn["reading"] != "move"),
        prompt_tokens=sum(read or 0 for read, _ in tokens) if tokens else None,
        reply_tokens=sum(written or 0 for _, written in tokens) if tokens else None,
        seconds=sum(seconds) if seconds else None,
        context="" if context == "state" else context,
    )


def _describe_prompts(game: Game, seat: Seat, prompt: dict[str, Any]) -> None:
    seat.style, seat.reader = prompt["style"], prompt["reader"]
    render = get_prompt(game, prompt["style"], get_reader(prompt["reader"]))
    seat.rules = render.parts(Observation(seat.number, "", None)).rules
    if prompt["version"] != PROMPT_VERSION:
        seat.prompt_difference = (
            f"They used wording version {prompt['version']}; this page shows version {PROMPT_VERSION}."
        )
    elif render.hash != prompt["hash"]:
        seat.prompt_difference = (
            f"Their digest in the record is {prompt['hash']}, but the digest of those shown is {render.hash}."
        )


@dataclass(slots=True)
class _Position:
    """A position in the match: each seat's view, and the observations of the seats to move."""

    views: list[SeatPicture]
    asked: dict[int, Observation]


def _observe(record: Record, pictures: dict[tuple[str, float], int], match: Match) -> _Position:
    views = []
    for seat in range(match.game.seats):
        drawn = match.draw_picture(seat) if isinstance(match, PictureMatch) else None
        picture = None if drawn is None else pictures.setdefault(render_frame(drawn), len(pictures))
        views.append(SeatPicture(seat, match.observe(seat).text, picture))
    return _Position(views, {seat: match.observe(seat, record.prompts[seat]["style"]) for seat in match.to_move()})


def _make_act(record: Record, game: Game, seat: Seat, decision: Decision[_Position]) -> Act:
    act = Act(seat.number, decision.moves.get(seat.number), opening=decision.opening)
    how = get_reader(record.prompts[seat.number]["reader"])
    render = get_prompt(game, record.prompts[seat.number]["style"], how)
    observation = decision.seen.asked[seat.number]
    for reply in decision.replies.get(seat.number, ()):
        turn, usage = reply.turn, reply.turn.usage or Usage()
        parts = render.parts(observation, reply.reason, rules=not (seat.context and seat.prompt_count))
        prompt = PromptText(parts.reason, parts.rules, parts.position + parts.instructions)
        seat.prompt_count += 1
        act.attempts.append(
            ReplyAttempt(
                turn.text,
                turn.reading,
                *split_thoughts(turn.text, how, is_free_text=is_free_text(observation.legal_moves, game)),
                explain_failure(turn, observation.legal_moves, how, game),
                extract_move(turn, observation.legal_moves, how, game),
                turn.action,
                turn.repaired,
                prompt,
                turn.usage is not None,
                usage.prompt_tokens,
                usage.completion_tokens,
                None if turn.usage is None else usage.seconds,
            )
        )
    act.drawn = act.move is not None and bool(act.attempts) and act.attempts[-1].reading != "move"
    if not decision.moves:
        failure = record.ending.find_failure(seat.number)
        act.no_reply = failure.predicate if failure is not None and failure.kind != "no legal move" else ""
    return act


def _add_notation(steps: Sequence[StoryStep], written: Sequence[str]) -> None:
    """Add the game's human notation to the moves."""
    moved = (act for step in steps for act in step.acts if act.move is not None)
    for act, notation in zip(moved, written, strict=False):
        act.notation = notation


def _list_unplayed(record: Record, steps: Sequence[StoryStep]) -> list[StoryStep]:
    """Return the recorded replies after `steps`, one step for each, if the match could not be replayed further."""
    shown = Counter(act.seat for step in steps for act in step.acts for _ in act.attempts)
    unplayed: list[StoryStep] = []
    for turn in record.turns:
        if shown[turn["seat"]]:
            shown[turn["seat"]] -= 1
            continue
        read, written = turn.get("tokens", (None, None))
        reply = ReplyAttempt(
            turn["text"],
            turn["reading"],
            *_split_unplayed(record, turn),
            action=turn.get("action"),
            repaired=turn.get("repaired", ()),
            prompt_tokens=read,
            reply_tokens=written,
            seconds=turn.get("seconds"),
        )
        unplayed.append(StoryStep(len(steps) + len(unplayed), [], [], [Act(turn["seat"], None, attempts=[reply])]))
    return unplayed


def _split_unplayed(record: Record, turn: Mapping[str, Any]) -> tuple[str, str]:
    """Return the thoughts and the answer in a recorded reply whose position is unknown."""
    try:
        how = get_reader(record.prompts[turn["seat"]]["reader"])
    except (IndexError, UnknownName):
        return "", turn["text"]
    return split_thoughts(turn["text"], how, is_free_text=False)


def _make_task(record: Record, steps: Sequence[StoryStep]) -> TaskView | None:
    """Return the task of a match in a world, and add its calls to the steps. Returns None for other games."""
    try:
        told = Transcript.from_events(record.events)
    except BadRecord:
        return None
    moved = [
        (step.number, act)
        for step in steps
        for act in step.acts
        if act.move is not None or (act.attempts and act.attempts[-1].reading == "move")
    ]
    for (_, act), move in zip(moved, told.moves, strict=False):
        act.calls = [CallView.from_call(call, result) for call, result in move]
    return TaskView.from_transcript(told, [number for number, _ in moved])


def _describe_ending(record: Record, steps: Sequence[StoryStep], seats: Sequence[Seat]) -> list[str]:
    """Return how the match ended, in sentences."""

    def format_name(seat: int) -> str:
        if seat >= len(seats):
            return f"Seat {seat} (no one)"
        return f"Seat {seat} ({seats[seat].label or seats[seat].player.partition('?')[0]})"

    ending = record.ending
    if ending != OVER:
        last = next((act for act in (steps[-1].acts if steps else ()) if act.seat == ending.seat), None)
        failed = None if last is None or last.no_reply else last.failed
        why = [] if failed is None else [f"Its last reply was {failed.reading}. {failed.why}"]
        return [ending.describe(format_name), *why]
    if len(record.results) == 1:
        return [f"The match is over with a return of {record.returns[0]:g}."]
    winners = [seat for seat, result in enumerate(record.results) if result == "win"]
    if winners:
        return [" and ".join(map(format_name, winners)) + (" wins." if len(winners) == 1 else " win.")]
    level = [seat for seat, result in enumerate(record.results) if result == "draw"]
    if len(level) == len(record.results):
        return ["A draw."]
    return [" and ".join(map(format_name, level)) + " share the first place." if level else "Nobody wins."]
