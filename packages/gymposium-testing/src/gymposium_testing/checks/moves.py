"""Check moves: lists of legal moves, their indices and their texts."""

from __future__ import annotations

import random
from typing import NoReturn

import pyspiel

from gymposium.envs.gym import TextGameEnv
from gymposium.errors import WrongSeat
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import Game, Match
from gymposium.replies.reading import READERS, read_reply
from gymposium.util.streams import stream
from gymposium_testing.contract import (
    NORMAL,
    CheckFailed,
    Effort,
    NotApplicable,
    describe_position,
    format_error,
    shorten,
)
from gymposium_testing.positions import STYLES, Snapshot
from gymposium_testing.walk import START_COST, AnyPlayer, derive_match_seed, draw_moves, play_matches

_FIX_INDEX = "let legal_moves[i] be the name of legal_actions[i]."
_FIX_SEATS = "raise WrongSeat(moves, self.to_move()) before anything is changed."


def legal_moves_match_indices(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Legal moves and their indices correspond one to one, in order and within the action space.

    Waiting seats have none. An OpenSpiel game has its engine's moves, except those that lead to a dead end."""
    for match in play_matches(game, seed, effort.decisions):
        for seat in range(game.seats):
            moves, actions = match.legal_moves(seat), match.legal_actions(seat)
            for style in STYLES:
                if (shown := match.observe(seat, style).legal_moves) != moves:
                    _fail_list(match, seat, f"observe() lists {shorten(shown)}, but legal_moves() {shorten(moves)}")
            if game.spec.free_text:
                if (moves is not None and not game.spec.talk) or actions != []:
                    _fail_list(
                        match, seat, f"a game of free text lists the moves {shorten(moves)}, indices {shorten(actions)}"
                    )
                continue
            if moves is None:
                _fail_list(match, seat, "the list of moves is None, but the spec says free_text=False")
            if bool(moves) != (seat in match.to_move()):
                _fail_list(match, seat, f"seats {match.to_move()} are to move, but the list is {shorten(moves)}")
            if len(moves) != len(actions) or len(set(moves)) != len(moves):
                _fail_list(
                    match, seat, f"moves {shorten(moves)} do not correspond one to one to indices {shorten(actions)}"
                )
            if actions != sorted(set(actions)) or (actions and not 0 <= actions[0] <= actions[-1] < game.num_actions):
                _fail_list(match, seat, f"indices {shorten(actions)} are not ascending and below {game.num_actions}")
            if isinstance(match, OpenSpielMatch) and (engines := match.state.legal_actions(seat)) != actions:
                playable = [a for a in engines if a in actions or not _is_dead_end(match.state.child(a))]
                if actions != playable:
                    _fail_list(match, seat, f"indices {shorten(actions)} are not the engine's, {shorten(playable)}")


def _is_dead_end(state: pyspiel.State) -> bool:
    """Return whether the seat to move has no legal action. Games omit actions that lead to such a dead end."""
    return state.is_player_node() and not state.legal_actions()


def _fail_list(match: Match, seat: int, what: str) -> NoReturn:
    raise CheckFailed(
        f"{what}.",
        where=describe_position(match, seat),
        fix="list each legal move once, by ascending index, for the seats to move; [] for waiting seats; "
        "None and [] for free text.",
    )


def moves_parse_as_themselves(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Every reader parses the text of a legal move as that move, and `move_pattern` matches it."""
    if game.spec.free_text:
        raise NotApplicable("any text is a move")
    known: set[str] = set()
    for match in play_matches(game, seed, effort.decisions):
        for seat in match.to_move():
            legal = match.legal_moves(seat) or []
            new = [move for move in legal if move not in known]
            known.update(new)
            for move in new:
                if not move.isprintable():
                    _fail_text(match, seat, move, "it is not printable on one line")
                if game.move_pattern is not None and not game.move_pattern.fullmatch(move):
                    _fail_text(match, seat, move, f"move_pattern {game.move_pattern.pattern!r} does not match it")
                for reader in READERS.values():
                    reading = read_reply(reader.answer(move), legal, reader, game.move_pattern)
                    if reading.kind != "move" or reading.move != move:
                        _fail_text(match, seat, move, f"as {reader.answer(move)!r} it reads as {reading}")


def _fail_text(match: Match, seat: int, move: str, why: str) -> None:
    raise CheckFailed(
        f"the legal move {move!r} cannot be played as text: {why}.",
        where=describe_position(match, seat),
        fix="use short printable texts without < and surrounding white space, and let move_pattern match them all.",
    )


def text_and_index_are_equivalent(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A move's text and index have the same effect in an environment and in OpenSpiel's engine."""
    if game.spec.free_text:
        raise NotApplicable("there are no indices")
    _check_engine_indices(game, seed, effort)
    left, number = effort.decisions // 2, 0
    others = [AnyPlayer()] * (game.seats - 1)
    while left > 0:
        own_seed = derive_match_seed(seed, number)
        by_text, by_index = (TextGameEnv(game, opponent=others) for _ in range(2))
        for env in (by_text, by_index):
            env.reset(seed=own_seed)
        rng, over = random.Random(own_seed), by_text.played is not None
        while not over:
            actions = [int(action) for action in by_index.action_masks().nonzero()[0]]
            chosen = int(rng.random() * len(actions))
            over = by_text.step((by_text.match.legal_moves(0) or [])[chosen])[2]
            by_index.step(actions[chosen])
            if by_text.match.events != by_index.match.events:
                raise CheckFailed(
                    f"the move {by_text.match.events[-1].move!r} and index {actions[chosen]} have different effects.",
                    where=describe_position(by_index.match, 0),
                    fix=_FIX_INDEX,
                )
            left -= 1
        left -= START_COST
        number += 1


def _check_engine_indices(game: Game, seed: int, effort: Effort) -> None:
    rng = stream(seed, "indices")
    for match in play_matches(game, seed, effort.decisions // 2):
        if not isinstance(match, OpenSpielMatch):
            return
        past = len(match.state.full_history())
        for seat, move in (moves := draw_moves(match, rng)).items():
            index = match.legal_actions(seat)[match.legal_moves(seat).index(move)]
            fork = match.fork(random.Random(0))
            fork.apply(moves)
            [taken] = [step.action for step in fork.state.full_history()[past:] if step.player == seat]
            if taken != index:
                raise CheckFailed(
                    f"the move {move!r} has the index {index}, but the engine takes it as {taken}.",
                    where=describe_position(match, seat),
                    fix=_FIX_INDEX,
                )


def wrong_seats_are_rejected(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """`apply` raises WrongSeat if a seat to move is missing, a waiting seat moves or the match is over."""
    rng = random.Random(seed)
    for match in play_matches(game, seed, effort.decisions // 2):
        moves = draw_moves(match, rng)
        some = next(iter(moves.values()), "x")
        wrong = [{}, {**moves, game.seats: some}] if moves else [{0: some}]
        wrong += [{**moves, seat: some} for seat in range(game.seats) if seat not in moves]
        wrong += [{seat: moves[seat]} for seat in moves if len(moves) > 1]
        before = Snapshot.from_match(match)
        for joint in wrong:
            what = f"apply() with moves of seats {sorted(joint)} if seats {match.to_move()} are to move"
            try:
                match.apply(joint)
            except WrongSeat:
                if list(match.events) != before.events:
                    _fail_refusal(match, f"{what} is refused, but adds events")
            except Exception as error:  # noqa: BLE001 (a game may raise anything)
                _fail_refusal(match, f"{what} raises {format_error(error)}")
            else:
                _fail_refusal(match, f"{what} is accepted")
        before.compare(match, "refused moves of wrong seats change the match", fix=_FIX_SEATS)


def _fail_refusal(match: Match, what: str) -> None:
    raise CheckFailed(f"{what}.", where=describe_position(match), fix=_FIX_SEATS)
