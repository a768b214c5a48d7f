"""Data to imitate: what seats of finished matches were asked and answered, as chats that other trainers read.

A chat looks exactly as it will look when the model plays: the prompts come from the same `Prompt`, the messages from
the same context that the language-model player uses. The positions are found by playing the recorded moves
again, so any players will do as authors, and a record is all that is needed.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from gymposium.errors import BadOption
from gymposium.games.protocol import CHANCE, Game
from gymposium.games.registry import load_game
from gymposium.prompt import prompt_for
from gymposium.reading import reader
from gymposium.records import Record
from gymposium_agents.context import Exchange, context
from gymposium_agents.settings import PlayerSettings

Per = Literal["match", "turn"]
"""What one line holds: all of a seat's turns in a match, or one turn with what was read before it."""

DATA = "gymposium"
"""The key of a line that says where it comes from; trainers pass over keys that they do not know."""

_RESULTS = ("win", "draw", "loss")
_KEEP_HELP = "Write all, return>=X, or results: win, draw, loss or several with commas between them."


@dataclass(frozen=True, slots=True)
class Keep:
    """Which outcomes of a seat are kept: some results, returns from `least` on, or all."""

    results: tuple[str, ...] = ()
    """() for whatever result."""
    least: float = -math.inf

    @classmethod
    def parse(cls, text: str) -> Keep:
        """Read `win`, `win,draw`, `return>=0.5` or `all`. Raises `BadOption` for anything else."""
        if text == "all":
            return cls()
        if found := re.fullmatch(r"return\s*>=\s*(.+)", text):
            try:
                least = float(found[1])
            except ValueError:
                least = math.nan
            if not math.isfinite(least):
                raise BadOption(f"--keep {text!r}: {found[1]!r} is not a number. {_KEEP_HELP}")
            return cls(least=least)
        results = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
        if not set(results) <= set(_RESULTS):
            raise BadOption(f"--keep {text!r} is no outcome. {_KEEP_HELP}")
        return cls(results)

    def check(self, game: Game) -> None:
        """Raises `BadOption` for results of a game in which nobody wins or loses."""
        if self.results and game.seats == 1:
            raise BadOption(f"{game.name} has one seat and no winner: keep by return, as in --keep 'return>=100'.")

    def __call__(self, result: str, reward: float) -> bool:
        return (not self.results or result in self.results) and reward >= self.least


def why_not(record: Record, seat: int, keep: Keep) -> str | None:
    """Why what `seat` did in this match is not kept; None where it is."""
    mine = [turn for turn in record.turns if turn["seat"] == seat]
    if record.ending.broke_off:
        return "the match broke off"
    if record.ending.seat == seat or any(turn["reading"] != "move" for turn in mine):
        return "a reply failed"
    if record.ending.seat is not None:
        return "an opponent forfeited"
    if not mine:
        return "the seat never moved"
    if not keep(record.results[seat], record.returns[seat]):
        return "another outcome"
    return None


def exchanges(record: Record, seat: int, settings: PlayerSettings) -> list[Exchange]:
    """What `seat` is asked in this match by `settings`, and its answers: an author's own words where it answered in
    the form asked for, else the canonical reply with its move. For a match in which no reply of the seat failed."""
    game = load_game(record.game)
    prompt = prompt_for(game, settings.style, reader(settings.reply))
    same_form = record.prompts[seat]["reader"] == settings.reply
    mine = iter([turn for turn in record.turns if turn["seat"] == seat])
    moves = iter([event for event in record.events if event.seat != CHANCE])
    match, found = game.new(record.seed), []
    while seats := match.to_move():
        joint = {event.seat: event.move for _, event in zip(seats, moves)}  # a seat first: zip takes no move too many
        if seat in joint:
            turn, observation = next(mine), match.observe(seat, settings.style)
            own_words = same_form and "action" not in turn
            said = turn["text"] if own_words else prompt.reader.answer(joint[seat])
            found.append(Exchange(prompt(observation), prompt(observation, rules=False), said))
        match.apply(joint)
    return found


def lines(record: Record, seat: int, settings: PlayerSettings, per: Per) -> Iterator[dict[str, Any]]:
    """The lines of data that one seat of one match gives.

    Per match: `messages`, every reply of the assistant to be learnt. Per turn: `prompt`, the messages before a reply,
    and `completion`, that reply alone."""
    how = context(settings.context)
    all_of_them = exchanges(record, seat, settings)
    about = {
        "game": record.game,
        "match": record.id,
        "player": record.players[seat],
        "result": record.results[seat],
        "return": record.returns[seat],
        "seat": seat,
    }
    template = {"chat_template_kwargs": {"enable_thinking": settings.thinking}}
    for turn, now in enumerate(all_of_them):
        if per == "match" and turn < len(all_of_them) - 1:
            continue  # the last turn's chat holds the others
        prompt = [dict(message) for message in how.messages(all_of_them[:turn], now)]
        reply = {"role": "assistant", "content": now.reply}
        if per == "match":
            yield {"messages": [*prompt, reply], **template, DATA: about}
        else:
            yield {"prompt": prompt, "completion": [reply], **template, DATA: {**about, "turn": turn}}


def per_of(settings: PlayerSettings, per: str | None) -> Per:
    """What a line holds: as asked for, or else a whole match where the context only grows. Raises `BadOption` for
    another word, and where the context rewrites history, so that no single chat shows every turn as it was asked."""
    if per not in (None, "match", "turn"):
        raise BadOption(f"--per {per}: write match or turn.")
    grows = context(settings.context).grows
    if per == "match" and not grows:
        raise BadOption(
            f"--per match: with context {settings.context!r} each turn is asked with another history, so a line can "
            f"hold one turn only. Leave --per out, or take --context full."
        )
    return "match" if per == "match" or (per is None and grows) else "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which turns of which seats become data, and how they are shown."""

    settings: PlayerSettings
    """How the model will be asked: context, form of reply, prompt style, thinking."""
    keep: Keep
    per: Per
    seats: tuple[int, ...] | None = None
    """None for all."""
    by: str | None = None
    """The name of the player whose seats are wanted; None for whoever sat there."""
    dedupe: bool = False
    """Whether a chat that was given before is passed over."""
    limit: int | None = None
    """At most so many lines."""

    def seats_of(self, record: Record) -> list[int]:
        """The seats of a match that are looked at."""
        return [
            seat
            for seat, player in enumerate(record.players)
            if (self.seats is None or seat in self.seats) and self.by in (None, player)
        ]


@dataclass(slots=True)
class Gathered:
    """What became of the seats that were looked at."""

    matches: int = 0
    kept: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """Seats by why they were not kept."""
    lines: int = 0
    duplicates: int = 0
    """Lines that were passed over, since their chat was there already."""

    def as_dict(self) -> dict[str, Any]:
        """As plain data, the most frequent reason first."""
        return {
            "matches": self.matches,
            "kept": self.kept,
            "left_out": dict(self.left_out.most_common()),
            "lines": self.lines,
            "duplicates": self.duplicates,
        }


def gather(records: Iterable[Record], wanted: Wanted, counts: Gathered) -> Iterator[dict[str, Any]]:
    """The lines of data that these matches give; `counts` says what became of each seat. Ends with the line that meets
    the limit, and looks at no match behind it."""
    known: set[str] = set()
    for record in records:
        counts.matches += 1
        for seat in wanted.seats_of(record):
            reason = why_not(record, seat, wanted.keep)
            if reason is not None:
                counts.left_out[reason] += 1
                continue
            counts.kept += 1
            for line in lines(record, seat, wanted.settings, wanted.per):
                if wanted.dedupe:
                    chat = json.dumps([line.get(key) for key in ("messages", "prompt", "completion")])
                    if chat in known:
                        counts.duplicates += 1
                        continue
                    known.add(chat)
                counts.lines += 1
                yield line
                if counts.lines == wanted.limit:
                    return
