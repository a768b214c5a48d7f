"""Imitation data from recorded matches: chats of a seat's prompts and answers, for supervised fine-tuning.

A chat is exactly what the language-model player reads when it plays: its prompts come from the same `Prompt`, and its
messages from the same context. Positions are restored by replaying the recorded moves, so records of any players work.
With a teacher, the replies are the moves that it recommends in these positions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from gymposium.errors import BadOption
from gymposium.games.protocol import CHANCE, Game, make_replay_game
from gymposium.players.distribution import MoveDistribution
from gymposium.records import Keep, MatchSeat, Record, explain_rejection, load_record_game
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import Reader, get_lenient_reader
from gymposium.tasks.tools import list_tools
from gymposium.tasks.tools.reader import ToolsReader, list_tools_readers
from gymposium.util.streams import stream
from gymposium_agents.chat.context import Exchange, list_template_tools, parse_context
from gymposium_agents.chat.settings import PlayerSettings, find_reply_form
from gymposium_agents.chat.tokens import Message

Per = Literal["match", "turn"]
"""The content of one line: all turns of a seat in a match, or one turn with the messages before it."""

DATA = "gymposium"
"""The key of a line's origin. Trainers ignore unknown keys."""
LEGAL = "legal"
"""The key of the legal moves in an origin."""
TAUGHT = "taught"
"""The key of a teacher's probabilities of the legal moves in an origin."""

LegalMoves = tuple[str, ...] | None
"""The legal moves of a decision, or None for moves in free text."""


def list_decisions(record: Record, seat: int, settings: PlayerSettings) -> list[tuple[Exchange, LegalMoves]]:
    """Return each decision of `seat` in this match, with its prompt according to `settings`, and the legal moves.

    A reply is the author's original text if it has the form of `settings`, else the canonical reply with the author's
    move. The seat's replies must all have been valid."""
    game = load_record_game(record)
    prompt = get_prompt(game, settings.style, find_reply_form(settings.reply))
    recorded = make_replay_game(game, record.events)
    own = _find_same_form(record.prompts[seat]["reader"], prompt.reader, recorded)
    mine = iter([turn for turn in record.turns if turn["seat"] == seat])
    moves = iter([event for event in record.events if event.seat != CHANCE])
    match, asked = recorded.new(record.seed), list[tuple[Exchange, LegalMoves]]()
    while seats := match.to_move():
        joint = {event.seat: event.move for _, event in zip(seats, moves)}  # seats first: zip then takes no extra move
        if seat in joint:
            turn, observation = next(mine), match.observe(seat, settings.style)
            shown, moves_here = Exchange.showing(observation, prompt), observation.legal_moves
            answered = (
                shown.answered(joint[seat], prompt.reader)
                if own is None or "action" in turn or "repaired" in turn
                else shown.replied(turn["text"], own)
            )
            asked.append((answered, None if moves_here is None else tuple(moves_here)))
        match.apply(joint)
    return asked


def _find_same_form(name: str, how: Reader, game: Game) -> Reader | None:
    """Return the reader called `name` if it reads the same form of replies as `how`, else None. All dialects count as
    one form, because their chats store calls separately from the text."""
    if not isinstance(how, ToolsReader):
        return how if name in (how.name, get_lenient_reader(how).name) else None
    return next((one.bind(list_tools(game)) for one in list_tools_readers() if one.name == name), None)


def _convert_message(message: Message) -> dict[str, Any]:
    """Convert a message to the format of tool calls in TRL and other trainers."""
    if not (calls := message.get("tool_calls")):
        return {**message}
    functions = [{"name": call.name, "arguments": dict(call.arguments)} for call in calls]
    return {**message, "tool_calls": [{"type": "function", "function": function} for function in functions]}


def make_lines(record: Record, seat: int, settings: PlayerSettings, per: Per) -> Iterator[dict[str, Any]]:
    """Yield the lines of data of one seat in one match.

    Per match, a line has `messages`, and every assistant reply should be learned. Per turn, it has `prompt`, the
    messages before a reply, and `completion`, that reply. With `reply=tools`, it also has the `tools`. Its origin lists
    the legal moves of each reply: one list per turn, or a list of lists per match."""
    shown = parse_context(settings.context)
    decided = list_decisions(record, seat, settings)
    asked, legal = [exchange for exchange, _ in decided], [moves for _, moves in decided]
    about = {
        "game": record.game,
        "match": record.id,
        "player": record.players[seat],
        "result": record.results[seat],
        "return": record.returns[seat],
        "seat": seat,
    }
    template: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": settings.thinking}}
    if tools := list_template_tools(
        find_reply_form(settings.reply), make_replay_game(load_record_game(record), record.events)
    ):
        template["tools"] = [tool.as_function for tool in tools]
    for turn, now in enumerate(asked):
        if per == "match" and turn < len(asked) - 1:
            continue  # the chat of the last turn contains the others
        prompt = [_convert_message(message) for message in shown.messages(asked[:turn], now)]
        reply = _convert_message(now.said)
        if per == "match":
            yield {"messages": [*prompt, reply], **template, DATA: {**about, LEGAL: legal}}
        else:
            yield {
                "prompt": prompt,
                "completion": [reply],
                **template,
                DATA: {**about, "turn": turn, LEGAL: legal[turn]},
            }


def make_taught_lines(
    record: Record, seat: int, settings: PlayerSettings, teacher: str, recommended: Sequence[MoveDistribution]
) -> Iterator[dict[str, Any]]:
    """Yield the lines of one seat's turns in one match, with a teacher's replies. `recommended` are its recommendations
    at the seat's decisions. Turns without one are omitted.

    A reply is a move drawn from the recommendation, because the trainer's loss over the teacher's probabilities is
    unbiased only then. Earlier turns in the prompt keep the seat's own replies. The origin also names the teacher, and
    lists its probabilities of the legal moves."""
    how = find_reply_form(settings.reply)
    for turn, (line, label) in enumerate(zip(make_lines(record, seat, settings, "turn"), recommended, strict=True)):
        move = label.draw(stream(record.player_seed, "teacher", seat, turn))
        if move is not None:
            reply = {"role": "assistant", "content": how.answer(move)}
            origin = {**line[DATA], "teacher": teacher, TAUGHT: label.probabilities}
            yield {**line, "completion": [reply], DATA: origin}


def choose_per(settings: PlayerSettings, per: str | None, *, taught: bool = False) -> Per:
    """Return the content of a line: `per` if given, else a whole match if the context only grows. Lines that a teacher
    answers (`taught`) are single turns.

    Raises `BadOption` for any other word. Also raises it for whole matches with a context that rewrites history,
    because no single chat then contains every turn's prompt."""
    if per not in (None, "match", "turn"):
        raise BadOption(f"Invalid --per {per}. Use match or turn.")
    if taught:
        if per == "match":
            raise BadOption(
                "--per match conflicts with --teacher: a whole match continues with the player's moves, not with the "
                "teacher's. Omit --per."
            )
        return "turn"
    grows = parse_context(settings.context).grows
    if per == "match" and not grows:
        raise BadOption(
            f"--per match conflicts with context {settings.context!r}, which rewrites the history in each turn, so a "
            f"line can have only one turn. Omit --per, or use --context full."
        )
    return "match" if per == "match" or (per is None and grows) else "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthSelection:
    """The selection of seats and turns for the data, and its format."""

    settings: PlayerSettings
    """The model's prompt settings: context, form of reply, prompt style, thinking."""
    keep: Keep
    """The outcomes to keep."""
    per: Per
    """The content of one line."""
    seats: tuple[int, ...] | None = None
    """The selected seats, or None for all."""
    by: str | None = None
    """The name of the player whose seats are selected, or None for all players."""
    dedupe: bool = False
    """Whether to omit duplicate chats."""
    limit: int | None = None
    """The maximum number of lines, or None for no limit."""
    teacher: str | None = None
    """The name of the teacher whose moves replace the players', or None."""

    def select_seats(self, record: Record) -> list[int]:
        """Return the selected seats of a match."""
        return [
            seat
            for seat, player in enumerate(record.players)
            if (self.seats is None or seat in self.seats) and self.by in (None, player)
        ]

    def list_kept_seats(self, record: Record) -> list[MatchSeat]:
        """Return the kept seats of a match."""
        return [
            (record.id, seat)
            for seat in self.select_seats(record)
            if explain_rejection(record, seat, self.keep) is None
        ]


@dataclass(slots=True)
class SynthData:
    """Data made of matches, one after the other, with counts of the matches and seats read."""

    wanted: SynthSelection
    matches: int = 0
    """Number of matches."""
    kept: int = 0
    """Number of kept seats."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of seats left out, by reason."""
    lines: int = 0
    """Number of lines of data."""
    duplicates: int = 0
    """Number of lines omitted as duplicates."""
    untaught: int = 0
    """Number of turns left out because the teacher recommends nothing."""
    _known: set[str] = field(default_factory=set)
    """The chats so far, to find duplicates."""

    def counts(self) -> dict[str, Any]:
        """Return the counts as plain data, with the most frequent reason first."""
        names = ("matches", "kept", "left_out", "lines", "duplicates", "untaught")
        counts = {name: getattr(self, name) for name in names}
        return {**counts, "left_out": dict(self.left_out.most_common())}

    def add(
        self, record: Record, recommended: Mapping[MatchSeat, Sequence[MoveDistribution]] = MappingProxyType({})
    ) -> Iterator[dict[str, Any]]:
        """Yield a match's lines of data. No match is read after the line that reaches the limit. With a teacher,
        `recommended` are its recommendations at all decisions of the kept seats."""
        wanted = self.wanted
        if self.lines == wanted.limit:
            return
        self.matches += 1
        for seat in wanted.select_seats(record):
            reason = explain_rejection(record, seat, wanted.keep)
            if reason is not None:
                self.left_out[reason] += 1
                continue
            self.kept += 1
            for line in self._make_lines(record, seat, recommended):
                if wanted.dedupe:
                    chat = json.dumps([line.get(key) for key in ("messages", "prompt", "completion")])
                    if chat in self._known:
                        self.duplicates += 1
                        continue
                    self._known.add(chat)
                self.lines += 1
                yield line
                if self.lines == wanted.limit:
                    return

    def _make_lines(
        self, record: Record, seat: int, recommended: Mapping[MatchSeat, Sequence[MoveDistribution]]
    ) -> Iterator[dict[str, Any]]:
        wanted = self.wanted
        if wanted.teacher is None:
            return make_lines(record, seat, wanted.settings, wanted.per)
        labels = recommended[record.id, seat]
        self.untaught += sum(not label.likeliest for label in labels)
        return make_taught_lines(record, seat, wanted.settings, wanted.teacher, labels)
