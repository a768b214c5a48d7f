"""One finished match as one line of JSON."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gymposium.driver import MatchResult, Turn, prompt_hash
from gymposium.ending import Ending
from gymposium.errors import BadRecord
from gymposium.games.protocol import Event
from gymposium.prompt import PROMPT_VERSION
from gymposium.reading import KINDS

FORMAT = "gymposium-match-4"

_TURN = frozenset(["seat", "reading", "text", "action", "tokens", "seconds", "cost"])
_PROMPT = frozenset(["style", "reader", "version", "hash"])
"""The keys that may stand in a turn, and those that stand in a prompt."""


@dataclass(slots=True)
class Record:
    """One finished match as it stands in a file."""

    id: str
    game: str
    game_version: int
    players: list[str]
    seed: int
    player_seed: int
    on_illegal: str
    opening: int
    """Random plies with which it began; nobody was asked for those moves."""
    events: list[Event]
    turns: list[dict[str, Any]]
    """Every reply: `seat`, `reading` and `text`; `action` where it was an index into the action space; where its
    player counts them `tokens`, of the prompt and of the reply, `seconds`, and `cost`."""
    returns: list[float]
    results: list[str]
    ending: Ending
    """How the match ended. If it broke off, there are no returns and no results."""
    reports: list[dict[str, float]]
    """What the match itself reports of each seat beside its return; [] where it reports nothing."""
    penalties: dict[str, float]
    prompts: list[dict[str, Any]]
    """For each seat: prompt style, reader, prompt version and the digest of the prompt's fixed parts."""
    versions: dict[str, str]
    number: int | None = None
    """The match's place in the plan of its run, from 0; None if it was not planned with others."""
    format: str = FORMAT

    @classmethod
    def of(cls, played: MatchResult) -> Record:
        """The record of a match that the driver played."""
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
            turns=[_turn(turn) for turn in played.turns],
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
                    "hash": prompt_hash(job, seat),
                }
                for seat, p in enumerate(job.players)
            ],
            versions=dict(versions()),
            number=job.number,
        )

    @classmethod
    def parse(cls, line: str) -> Record:
        """Read one line. Raises `BadRecord` with what is wrong with it."""
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadRecord(f"not JSON ({error})") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise BadRecord(f"not a match record of format {FORMAT!r}")
        try:
            record = cls(**data)
            _check_types(data)
            record.events = [Event(seat, move) for seat, move in record.events]
            record.ending = Ending.parse(data["ending"])
        except (TypeError, ValueError) as error:
            raise BadRecord(f"fields are missing or wrong ({error})") from error
        return record

    def line(self) -> str:
        # ASCII only: a reply may hold half a surrogate pair, which no file can
        return json.dumps(asdict(self), separators=(",", ":"))


def _turn(turn: Turn) -> dict[str, Any]:
    said: dict[str, Any] = {"seat": turn.seat, "reading": turn.reading, "text": turn.text}
    if turn.action is not None:
        said["action"] = turn.action
    if (usage := turn.usage) is not None:
        if usage.prompt_tokens is not None or usage.completion_tokens is not None:
            said["tokens"] = [usage.prompt_tokens, usage.completion_tokens]
        said["seconds"] = round(usage.seconds, 6)
        if usage.cost is not None:
            said["cost"] = usage.cost
    return said


def _check_types(data: Mapping[str, Any]) -> None:
    """TypeError or ValueError where a field that is relied on is not what a writer would have written."""
    for name in ("id", "game", "on_illegal"):
        _need(isinstance(data[name], str), name)
    for name in ("seed", "player_seed"):
        _need(type(data[name]) is int, name)
    for name in ("game_version", "opening"):
        _need(_is_count(data[name]), name)
    for name in ("players", "events", "turns", "returns", "results", "prompts", "reports"):
        _need(isinstance(data[name], list), name)
    for name in ("players", "results"):
        _need(all(isinstance(one, str) for one in data[name]), name)
    for name in ("penalties", "versions"):
        _need(isinstance(data[name], dict), name)
    _need(all(isinstance(version, str) for version in data["versions"].values()), "versions")
    _need(all(_is_number(cost) and cost >= 0 for cost in data["penalties"].values()), "penalties")
    _need(data["number"] is None or _is_count(data["number"]), "number")
    for report in data["reports"]:
        _need(isinstance(report, dict) and all(map(_is_number, report.values())), "reports")
    _need(all(type(seat) is int and isinstance(move, str) for seat, move in data["events"]), "events")
    _need(all(_is_number(value) for value in data["returns"]), "returns")
    for turn in data["turns"]:
        _need(isinstance(turn, dict) and _is_count(turn.get("seat")) and turn.keys() <= _TURN, "turns")
        _need(turn.get("reading") in KINDS and isinstance(turn.get("text"), str), "turns")
        _need(type(turn.get("action", 0)) is int, "turns")
        tokens = turn.get("tokens", [None, None])
        _need(isinstance(tokens, list) and len(tokens) == 2, "turns")
        _need(all(count is None or _is_count(count) for count in tokens), "turns")
        for spent in (turn.get("seconds", 0.0), turn.get("cost", 0.0)):
            _need(_is_number(spent) and 0 <= spent < math.inf, "turns")
    for prompt in data["prompts"]:
        _need(isinstance(prompt, dict) and _is_count(prompt.get("version")) and prompt.keys() == _PROMPT, "prompts")
        _need(all(isinstance(prompt.get(name), str) for name in ("style", "reader", "hash")), "prompts")


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _need(holds: bool, name: str) -> None:
    if not holds:
        raise ValueError(f"{name} is not of the right form")


@cache
def versions() -> Mapping[str, str]:
    """What plays here, by name."""
    found = {"python": platform.python_version()}
    for name in ("gymposium", "open_spiel"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a source tree on the path, not installed
            found[name] = "unknown"
    return found
