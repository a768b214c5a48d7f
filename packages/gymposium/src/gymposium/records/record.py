"""Match records, each written as one line of JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gymposium.errors import BadRecord
from gymposium.games.protocol import Event
from gymposium.match import MatchResult, Turn, get_prompt_hash
from gymposium.match.ending import Ending, find_cut_off_seats
from gymposium.replies.lenient import REPAIRS
from gymposium.replies.prompt import PROMPT_VERSION
from gymposium.replies.reading import KINDS
from gymposium.util.strict_json import is_amount, is_count, is_integer, is_number, parse_strict_json

FORMAT = "gymposium-match-4"


@dataclass(slots=True)
class Record:
    """A match that ended or broke off, as stored in a file."""

    id: str
    game: str
    game_version: int
    players: list[str]
    seed: int
    player_seed: int
    on_illegal: str
    opening: int
    """Number of random plies in the opening. No player was asked for these moves."""
    events: list[Event]
    turns: list[dict[str, Any]]
    """Every reply, with `seat`, `reading` and `text`. Optional keys:

    - `action`: index into the action space
    - `repaired`: repairs by a lenient reader
    - `tokens` (of prompt and reply), `seconds` and `cost`, if the player reports them"""
    returns: list[float]
    results: list[str]
    ending: Ending
    """How the match ended. If it broke off, it has no returns and no results."""
    reports: list[dict[str, float]]
    """Extra figures that the match reports per seat, or []."""
    penalties: dict[str, float]
    prompts: list[dict[str, Any]]
    """For each seat: prompt style, reader, prompt version, and digest of the prompt's fixed parts."""
    versions: dict[str, str]
    number: int | None = None
    """The match's index in its run's plan, from 0; None for a single match."""
    format: str = FORMAT

    @property
    def cut_off(self) -> frozenset[int]:
        """The seats with a cut-off last reply."""
        return find_cut_off_seats((turn["seat"], turn["reading"]) for turn in self.turns)

    @property
    def utilities(self) -> tuple[float, ...]:
        """Each seat's return without penalties."""
        return tuple(paid + self.penalties.get(str(seat), 0.0) for seat, paid in enumerate(self.returns))

    @classmethod
    def from_match(cls, played: MatchResult) -> Record:
        """Return the record of a match played by the driver."""
        job = played.job
        return cls(
            id=job.id,
            game=job.game.name,
            game_version=job.game.spec.version,
            players=[p.name for p in job.players],
            seed=job.seed,
            player_seed=job.seed_for_players,
            on_illegal=str(job.on_illegal),
            opening=played.opening,
            events=list(played.events),
            turns=[_turn_data(turn) for turn in played.turns],
            returns=list(played.returns),
            results=[played.result(seat) for seat in range(len(played.utilities))],
            ending=played.ending,
            reports=list(played.reports),
            penalties={str(seat): cost for seat, cost in played.penalties.items()},
            prompts=[
                {
                    "style": p.style,
                    "reader": p.reader.name,
                    "version": PROMPT_VERSION,
                    "hash": get_prompt_hash(job, seat),
                }
                for seat, p in enumerate(job.players)
            ],
            versions=dict(get_versions()),
            number=job.number,
        )

    @classmethod
    def parse(cls, line: str) -> Record:
        """Parse a record from a line. Raises `BadRecord` with the problem."""
        try:
            data = parse_strict_json(line.removeprefix("\ufeff"))  # a byte order mark, which some editors write
        except ValueError as error:
            raise BadRecord(f"not JSON ({error})") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise BadRecord(f"not a match record in format {FORMAT!r}")
        try:
            record = cls(**data)
            for name, fits in _FORMS.items():
                if not fits(data[name]):
                    raise ValueError(f"{name} is malformed")
            record.events = [Event(seat, move) for seat, move in record.events]
            record.ending = Ending.parse(data["ending"])
        except (KeyError, TypeError, ValueError) as error:
            raise BadRecord(f"fields are missing or invalid ({error})") from error
        return record

    def line(self) -> str:
        """The record as ASCII JSON, because a reply may contain a lone surrogate, which UTF-8 cannot encode."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # asdict would copy every turn
        return json.dumps({**values, "ending": asdict(self.ending)}, separators=(",", ":"))


def _turn_data(turn: Turn) -> dict[str, Any]:
    data: dict[str, Any] = {"seat": turn.seat, "reading": turn.reading, "text": turn.text}
    if turn.action is not None:
        data["action"] = turn.action
    if turn.repaired:
        data["repaired"] = list(turn.repaired)
    if (usage := turn.usage) is not None:
        if usage.prompt_tokens is not None or usage.completion_tokens is not None:
            data["tokens"] = [usage.prompt_tokens, usage.completion_tokens]
        data["seconds"] = round(usage.seconds, 6)
        if usage.cost is not None:
            data["cost"] = usage.cost
    return data


# -- forms of the fields, as read from JSON


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count_or_none(value: Any) -> bool:
    return value is None or is_count(value)


def _is_list(fits: Callable[[Any], bool], values: Any) -> bool:
    return isinstance(values, list) and all(map(fits, values))


def _is_table(fits: Callable[[Any], bool], values: Any) -> bool:
    return isinstance(values, dict) and all(map(fits, values.values()))


def _is_pair_of_counts(values: Any) -> bool:
    return _is_list(_is_count_or_none, values) and len(values) == 2


def _is_event(event: Any) -> bool:
    return isinstance(event, list) and len(event) == 2 and is_integer(event[0]) and isinstance(event[1], str)


def _is_turn(turn: Any) -> bool:
    return (
        isinstance(turn, dict)
        and turn.keys() <= _TURN
        and is_count(turn.get("seat"))
        and turn.get("reading") in KINDS
        and isinstance(turn.get("text"), str)
        and is_integer(turn.get("action", 0))
        and _is_list(REPAIRS.__contains__, turn.get("repaired", []))
        and _is_pair_of_counts(turn.get("tokens", [None, None]))
        and is_amount(turn.get("seconds", 0.0))
        and is_amount(turn.get("cost", 0.0))
    )


def _is_prompt(prompt: Any) -> bool:
    return (
        isinstance(prompt, dict)
        and prompt.keys() == _PROMPT
        and is_count(prompt["version"])
        and all(isinstance(prompt[name], str) for name in ("style", "reader", "hash"))
    )


_TURN = frozenset(["seat", "reading", "text", "action", "repaired", "tokens", "seconds", "cost"])
_PROMPT = frozenset(["style", "reader", "version", "hash"])
"""The keys of a turn, the optional ones among them, and the keys of a prompt."""

_FORMS: dict[str, Callable[[Any], bool]] = {
    "id": _is_text,
    "game": _is_text,
    "game_version": is_count,
    "players": partial(_is_list, _is_text),
    "seed": is_integer,
    "player_seed": is_integer,
    "on_illegal": _is_text,
    "opening": is_count,
    "events": partial(_is_list, _is_event),
    "turns": partial(_is_list, _is_turn),
    "returns": partial(_is_list, is_number),
    "results": partial(_is_list, _is_text),
    "reports": partial(_is_list, partial(_is_table, is_number)),
    "penalties": partial(_is_table, is_amount),
    "prompts": partial(_is_list, _is_prompt),
    "versions": partial(_is_table, _is_text),
    "number": _is_count_or_none,
}
"""The check for each field except `ending`, which `Ending.parse` checks."""


@cache
def get_versions() -> Mapping[str, str]:
    """Return the installed versions of the software that plays matches, by name."""
    installed = {"python": platform.python_version()}
    for name in ("gymposium", "open_spiel"):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:  # a source tree on the path, not installed
            installed[name] = "unknown"
    return installed
