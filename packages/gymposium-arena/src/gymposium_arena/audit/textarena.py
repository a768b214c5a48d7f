"""TextArena episodes as gymposium-textarena writes them: lines in the format `textarena-episode-1`.

A line's digest covers the texts that TextArena showed. These are not in the line, so only TextArena can check it
(`gymposium_textarena.replay`). A line names no agents.

Only games with the same rules are replayed: those in `GAMES`. Games with the same name may have other rules. In
TextArena, pieces in Breakthrough capture but never step diagonally, captures are optional in Checkers, and Chess
continues after a threefold repetition. These logs lack chance outcomes, so games with dice and cards cannot be
replayed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.openspiel.lookup import load_by_engine_name
from gymposium.games.registry import load_game
from gymposium.players.protocol import Reply
from gymposium.util.visible import quantity
from gymposium_arena.audit.episode import Episode, entry, fail
from gymposium_arena.audit.logged_match import LoggedMatch, causes

NAME = "textarena"
FORMAT = "textarena-episode-1"

Act = Callable[[OpenSpielMatch, str], int | None]
"""Reads an agent's text as TextArena does: the engine's action, legal or not, or None if the text has no move."""


def _cell(match: OpenSpielMatch, text: str) -> int | None:
    found = re.search(r"\[\s*(\d+)\s*\]", text)
    return None if found is None else int(found[1])


def _column(match: OpenSpielMatch, text: str) -> int | None:
    found = re.search(r".*\[(?:col\s*)?(\d+)\].*", text, re.IGNORECASE)
    return None if found is None else int(found[1])


def _square(match: OpenSpielMatch, text: str) -> int | None:
    legal = match.legal_actions(match.to_move()[0])
    if legal == [_PASS]:  # any text counts as a skip
        return _PASS
    found = re.search(r"\[\s*(\d+)\s*,?\s*(\d+)\s*\]", text)
    if found is None:
        return None
    row, column = int(found[1]), int(found[2])
    return row * 8 + column if row < 8 and column < 8 else _NOWHERE


_PASS, _NOWHERE = 64, 1_000_000


def _take(match: OpenSpielMatch, text: str) -> int | None:
    found = re.search(r"\[\s*(\d+)\s+(\d+)\s*\]", text.strip())
    if found is None:
        return None
    piles = len(str(match.game.engine.get_parameters()["pile_sizes"]).split(";"))
    pile, quantity = int(found[1]), int(found[2])
    return (quantity - 1) * piles + pile if pile < piles and quantity > 0 else _NOWHERE


def _nim(piles: str) -> Callable[[], OpenSpielGame]:
    return lambda: load_by_engine_name(f"nim(is_misere=False,pile_sizes={piles})")


def _named(name: str) -> Callable[[], OpenSpielGame]:
    def load() -> OpenSpielGame:
        game = load_game(name)
        assert isinstance(game, OpenSpielGame), f"{name} is OpenSpiel's"
        return game

    return load


GAMES: Mapping[str, tuple[Callable[[], OpenSpielGame], Act]] = {
    "TicTacToe-v0": (_named("tic_tac_toe"), _cell),
    "ConnectFour-v0": (_named("connect_four"), _column),
    "ConnectFour-v0-blind": (_named("connect_four"), _column),
    "Othello-v0": (_named("othello"), _square),
    "Othello-v0-hard": (_named("othello"), _square),
    "Nim-v0": (_nim("3;4;5"), _take),
    "Nim-v0-medium": (_nim("4;2;3;7"), _take),
    "Nim-v0-large": (_nim("5;7;9;11;2"), _take),
}
"""Environments with the rules of an OpenSpiel game (textarena 0.7.4), without the suffixes `-raw` and `-train`. These
suffixes change only what agents read."""


def knows(data: Mapping[str, Any]) -> bool:
    """Return whether this is a TextArena episode."""
    return data.get("format") == FORMAT


def read(data: Mapping[str, Any], episode: Episode) -> None:
    """Fill in the episode of a line. Raises `BadLog` at the first mismatch."""
    env, seats = entry(data, "env", str), entry(data, "num_players", int)
    load, act = GAMES.get(re.sub(r"(-raw|-train)$", "", env), (None, None))
    if load is None or act is None:
        fail(f"no game here has the rules of {env} (supported: {', '.join(GAMES)})")
    game = load()
    episode.game = game.name
    if seats != game.seats:
        fail(f"num_players is {seats}, but {env} has {game.seats} seats")
    episode.name_agents(None, game.seats)
    seed, actions = entry(data, "seed", int), entry(data, "actions", list)
    if re.fullmatch("[0-9a-f]{64}", entry(data, "digest", str)) is None:
        fail("its digest is not a SHA-256")
    episode.id = _id(env, seed, actions)
    told = LoggedMatch(game, episode.id, episode.agents, "retry(1)", seed)
    for number, action in enumerate(actions):
        match action:
            case [int(seat), str(text)] if seat in range(game.seats):
                try:
                    _tell(told, act, seat, text)
                except ValueError as error:
                    fail(f"action {number} ({text[:60]!r} of player {seat}): {error}")
            case _:
                fail(f"action {number} is not [player, text]")
    result, record = told.play({"textarena": entry(data, "version", str)})
    rewards = _rewards(data.get("rewards"), game.seats)
    if result.ending.broke_off:
        if rewards:
            fail(f"the rewards belong to a finished match, but {result.ending.detail}")
        episode.unfinished = result.ending.detail
        return
    if rewards != list(result.utilities):
        fail(f"the rewards are {rewards}, but the match pays {list(result.utilities)} ({result.ending.describe()})")
    _check_info(data.get("game_info"), told, result.ending.seat)
    episode.record, episode.failures = record, causes(record)


def _id(*parts: Any) -> str:
    """Return an id for an episode; the log has none. Episodes with equal seeds and actions share it."""
    return f"textarena-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"


def _tell(told: LoggedMatch, act: Act, seat: int, text: str) -> None:
    match = told.match
    if seat not in match.to_move():
        told.moves({seat: -1}, {seat: text})  # raises
    action = act(match, text)
    if action is None:
        told.failed(seat, told.unparsable(text))
    elif action in match.legal_actions(seat):
        told.moves({seat: action}, {seat: text})
    else:
        told.failed(seat, Reply(text, action=action))


def _rewards(rewards: Any, seats: int) -> list[float]:
    """Return the rewards by seat; [] if the log has none."""
    if rewards is None or rewards == {}:
        return []
    if not isinstance(rewards, dict) or rewards.keys() != {str(seat) for seat in range(seats)}:
        fail(f"the rewards {rewards} do not match {quantity(seats, 'player')}")
    return [rewards[str(seat)] for seat in range(seats)]


def _check_info(info: Any, told: LoggedMatch, forfeit: int | None) -> None:
    """Check what TextArena notes about each player: whether its last move was invalid, and its number of turns."""
    if not isinstance(info, dict):
        return
    for seat in range(told.game.seats):
        noted = info.get(str(seat))
        if not isinstance(noted, dict):
            continue
        invalid = noted.get("invalid_move")
        if invalid is not None and invalid != (seat == forfeit):
            says = "ended the match with an invalid move" if invalid else "made no invalid move at the end"
            fail(f"game_info wrongly says that player {seat} {says}")
        turns = sum(event.seat == seat for event in told.match.events) + (seat == forfeit)
        if noted.get("turn_count", turns) != turns:
            fail(f"game_info counts {quantity(noted['turn_count'], 'turn')} of player {seat}, but there are {turns}")
