"""Parse TextArena episodes written by gymposium-textarena: lines in the format `textarena-episode-1`.

A line's digest covers the texts that TextArena showed. The line omits these, so only TextArena can check the digest
(`gymposium_textarena.replay_episodes`). Agents have no names.

Only the games in `GAMES` have the same rules and are replayed. Other games differ despite their names: in TextArena,
Breakthrough pieces never step diagonally, Checkers captures are optional, and Chess ignores threefold repetition. Games
with dice or cards cannot be replayed, since the logs lack chance outcomes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.openspiel.lookup import load_by_engine_name
from gymposium.players.protocol import Reply
from gymposium.util.visible import quantity
from gymposium_arena.audit.episode import Episode, fail, get_entry
from gymposium_arena.audit.logged_match import LoggedMatch, find_causes

NAME = "textarena"
FORMAT = "textarena-episode-1"

ActionParser = Callable[[OpenSpielMatch, str], int | None]
"""Parses text as TextArena does. Returns the engine's action, which may be illegal, or None for text without a move."""


def _parse_cell(match: OpenSpielMatch, text: str) -> int | None:
    found = re.search(r"\[\s*(\d+)\s*\]", text)
    return None if found is None else int(found[1])


def _parse_column(match: OpenSpielMatch, text: str) -> int | None:
    found = re.search(r".*\[(?:col\s*)?(\d+)\].*", text, re.IGNORECASE)
    return None if found is None else int(found[1])


def _parse_square(match: OpenSpielMatch, text: str) -> int | None:
    legal = match.legal_actions(match.to_move()[0])
    if legal == [_PASS]:  # any text counts as a skip
        return _PASS
    found = re.search(r"\[\s*(\d+)\s*,?\s*(\d+)\s*\]", text)
    if found is None:
        return None
    row, column = int(found[1]), int(found[2])
    return row * 8 + column if row < 8 and column < 8 else _INVALID


_PASS, _INVALID = 64, 1_000_000


def _parse_nim_move(match: OpenSpielMatch, text: str) -> int | None:
    found = re.search(r"\[\s*(\d+)\s+(\d+)\s*\]", text.strip())
    if found is None:
        return None
    piles = len(str(match.game.engine.get_parameters()["pile_sizes"]).split(";"))
    pile, quantity = int(found[1]), int(found[2])
    return (quantity - 1) * piles + pile if pile < piles and quantity > 0 else _INVALID


GAMES: Mapping[str, tuple[str, ActionParser]] = {
    "TicTacToe-v0": ("tic_tac_toe", _parse_cell),
    "ConnectFour-v0": ("connect_four", _parse_column),
    "ConnectFour-v0-blind": ("connect_four", _parse_column),
    "Othello-v0": ("othello", _parse_square),
    "Othello-v0-hard": ("othello", _parse_square),
    "Nim-v0": ("nim(is_misere=False,pile_sizes=3;4;5)", _parse_nim_move),
    "Nim-v0-medium": ("nim(is_misere=False,pile_sizes=4;2;3;7)", _parse_nim_move),
    "Nim-v0-large": ("nim(is_misere=False,pile_sizes=5;7;9;11;2)", _parse_nim_move),
}
"""Environments of textarena 0.7.4 with the same rules as an OpenSpiel game, mapped to the game's name in OpenSpiel.

The suffixes `-raw` and `-train` are left out, since they change only what agents read."""


def recognizes(data: Mapping[str, Any]) -> bool:
    """Return whether this is a TextArena episode."""
    return data.get("format") == FORMAT


def read(data: Mapping[str, Any], episode: Episode) -> None:
    """Parse and replay a line into `episode`. Raises `BadLog` at the first mismatch."""
    env, seats = get_entry(data, "env", str), get_entry(data, "num_players", int)
    name, act = GAMES.get(re.sub(r"(-raw|-train)$", "", env), (None, None))
    if name is None or act is None:
        fail(f"unsupported environment {env!r} (supported: {', '.join(GAMES)})")
    game = load_by_engine_name(name)
    episode.game = game.name
    if seats != game.seats:
        fail(f"num_players is {seats}, but {env} has {game.seats} seats")
    episode.name_agents(None, game.seats)
    seed, actions = get_entry(data, "seed", int), get_entry(data, "actions", list)
    if re.fullmatch("[0-9a-f]{64}", get_entry(data, "digest", str)) is None:
        fail(f"its digest {data['digest'][:80]!r} is not a SHA-256")
    episode.id = _make_id(env, seed, actions)
    logged = LoggedMatch(game, episode.id, episode.agents, "retry(1)", seed)
    for number, action in enumerate(actions):
        match action:
            case [int(seat), str(text)] if seat in range(game.seats):
                try:
                    _report_action(logged, act, seat, text)
                except ValueError as error:
                    fail(f"action {number} ({text[:60]!r} of player {seat}): {error}")
            case _:
                fail(f"action {number} must be [player, text], not {action!r:.80}")
    result, record = logged.play({"textarena": get_entry(data, "version", str)})
    rewards = _parse_rewards(data.get("rewards"), game.seats)
    if result.ending.broke_off:
        if rewards:
            fail(f"the rewards belong to a finished match, but {result.ending.detail}")
        episode.unfinished = result.ending.detail
        return
    if rewards != list(result.utilities):
        fail(f"the rewards are {rewards}, but the match pays {list(result.utilities)} ({result.ending.describe()})")
    _check_info(data.get("game_info"), logged, result.ending.seat)
    episode.record, episode.failures = record, find_causes(record)


def _make_id(*parts: Any) -> str:
    """Return an id for an episode, since the log has none. Equal seeds and actions give equal ids."""
    return f"textarena-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"


def _report_action(logged: LoggedMatch, act: ActionParser, seat: int, text: str) -> None:
    match = logged.match
    if seat not in match.to_move():
        logged.add_moves({seat: -1}, {seat: text})  # raises
    action = act(match, text)
    if action is None:
        logged.add_failure(seat, logged.make_unparsable(text))
    elif action in match.legal_actions(seat):
        logged.add_moves({seat: action}, {seat: text})
    else:
        logged.add_failure(seat, Reply(text, action=action))


def _parse_rewards(rewards: Any, seats: int) -> list[float]:
    """Return the rewards by seat, or [] without rewards."""
    if rewards is None or rewards == {}:
        return []
    if not isinstance(rewards, dict) or rewards.keys() != {str(seat) for seat in range(seats)}:
        fail(f"the rewards {rewards} do not match {quantity(seats, 'player')}")
    return [rewards[str(seat)] for seat in range(seats)]


def _check_info(info: Any, logged: LoggedMatch, forfeit: int | None) -> None:
    """Check TextArena's `game_info`: whether each player's last move was invalid, and each player's number of turns."""
    if not isinstance(info, dict):
        return
    for seat in range(logged.game.seats):
        noted = info.get(str(seat))
        if not isinstance(noted, dict):
            continue
        invalid = noted.get("invalid_move")
        if invalid is not None and invalid != (seat == forfeit):
            says = "ended the match with an invalid move" if invalid else "made no invalid move at the end"
            fail(f"game_info wrongly says that player {seat} {says}")
        turns = sum(event.seat == seat for event in logged.match.events) + (seat == forfeit)
        if noted.get("turn_count", turns) != turns:
            fail(f"game_info counts {quantity(noted['turn_count'], 'turn')} of player {seat}, but there are {turns}")
