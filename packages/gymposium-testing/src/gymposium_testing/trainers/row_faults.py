"""Find errors in rows, by comparing them with the prompts and replies of the replayed match."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from gymposium.games.protocol import Game
from gymposium.match.failures import compute_forfeit_returns
from gymposium.util.visible import quantity
from gymposium_testing.contract import CheckFailed, format_events
from gymposium_testing.trainers.protocol import ReadingModel, RolledOut, TokenIds, TrainedMatch, TrainedRow

RowFault = Literal["tokens", "mask", "cut replies", "retokenized turns", "last step"]


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """A decision of the model in a replayed match."""

    seat: int
    prompt: TokenIds
    """The tokens that the model read."""
    reply: TokenIds
    fresh: TokenIds
    """The part of the prompt that the seat has not read before."""
    begins: bool
    """Whether the turn begins a new row."""
    move: str | None
    legal: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplayedMatch:
    """A replayed match with the model's turns and the returns."""

    turns: tuple[ReplayedTurn, ...]
    returns: tuple[float, ...]
    forfeit: int | None


def replay_match(game: Game, model: ReadingModel, played: TrainedMatch) -> ReplayedMatch:
    """Replay a match. Raises `CheckFailed` if its events and replies are inconsistent."""
    turns: list[ReplayedTurn] = []
    before: dict[int, TokenIds] = {}
    replies = iter(played.replies)
    reply = next(replies, None)
    trained = {one.seat for one in played.replies}
    for number, event in enumerate(played.events):
        if event.seat not in trained:
            continue
        if reply is None or (reply.seat, reply.move) != event:
            raise _make_error(played, f"event {number} is {event.move!r} by seat {event.seat}, but no reply plays it")
        turns.append(_replay_turn(game, model, played, number, reply.seat, reply.tokens, reply.move, before))
        reply = next(replies, None)
    final = game.load(played.events)
    returns, forfeit = final.returns(), None
    if reply is not None:
        if reply.move is not None or next(replies, None) is not None:
            raise _make_error(played, f"the reply {reply.tokens} of seat {reply.seat} plays no event")
        forfeit = reply.seat
        turns.append(_replay_turn(game, model, played, len(played.events), reply.seat, reply.tokens, None, before))
        returns = compute_forfeit_returns(game, forfeit, returns)
    elif final.to_move():
        raise _make_error(played, "the match is not over, but no reply forfeits it")
    return ReplayedMatch(tuple(turns), tuple(returns), forfeit)


def _replay_turn(
    game: Game,
    model: ReadingModel,
    played: TrainedMatch,
    number: int,
    seat: int,
    reply: TokenIds,
    move: str | None,
    before: dict[int, TokenIds],
) -> ReplayedTurn:
    read = before.get(seat, ())
    position = game.load(played.events[:number])
    prompt = model.read(position, seat, read)
    begins = not read or prompt[: len(read)] != read
    before[seat] = prompt + reply
    fresh = prompt if begins else prompt[len(read) :]
    return ReplayedTurn(seat, prompt, reply, fresh, begins, move, tuple(position.legal_moves(seat) or ()))


def _make_error(played: TrainedMatch, why: str) -> CheckFailed:
    return CheckFailed(
        f"A match from roll_out cannot be replayed: {why}.",
        where=format_events(played.events),
        fix="return all events of the match, and one reply for each move of a seat that the model plays.",
    )


def find_faults(
    rolled: RolledOut, matches: Sequence[ReplayedMatch], model: ReadingModel
) -> dict[RowFault, tuple[str, str]]:
    """Return the first error of each kind, with its description and location."""
    rows: defaultdict[tuple[int, int], list[TrainedRow]] = defaultdict(list)
    for row in rolled.rows:
        rows[row.match, row.seat].append(row)
    found: dict[RowFault, tuple[str, str]] = {}
    for number, match in enumerate(matches):
        for turn in match.turns:
            if fault := _find_reply_fault(turn, model):
                found.setdefault(fault[0], (fault[1], f"match {number}, seat {turn.seat}"))
        for seat in sorted({turn.seat for turn in match.turns}):
            turns = [turn for turn in match.turns if turn.seat == seat]
            given = rows.pop((number, seat), [])
            if not given and match.forfeit not in (None, seat):
                continue  # a seat whose opponent forfeited may have no row
            where = f"match {number}, seat {seat}: {format_events(rolled.matches[number].events)}"
            for kind, what in _compare_rows(turns, given, model):
                found.setdefault(kind, (what, where))
    for match_number, seat in rows:
        found.setdefault("tokens", ("A row belongs to a seat that the model did not play", f"{match_number=}, {seat=}"))
    return found


def _find_reply_fault(turn: ReplayedTurn, model: ReadingModel) -> tuple[RowFault, str] | None:
    """Return an error in a reply, or None. Its move may differ from the one it spells, or it may be cut off."""
    for move in turn.legal:
        for reply in model.replies(move):
            if reply == turn.reply and move != turn.move:
                return "tokens", f"The reply {turn.reply} spells {move!r}, but it was read as {turn.move!r}"
            if turn.move is None and turn.reply == reply[: len(turn.reply)]:
                return "cut replies", f"The sampler stops in the middle of a reply: {turn.reply} instead of {reply}"
    return None


def _compare_rows(
    turns: Sequence[ReplayedTurn], given: Sequence[TrainedRow], model: ReadingModel
) -> Iterator[tuple[RowFault, str]]:
    """Yield the errors in one seat's rows for a match."""
    started = 0
    wanted = []
    for turn in turns:
        started += turn.begins
        wanted.append((started, turn))
    rows = iter(given)
    for _, of_row in groupby(wanted, key=lambda pair: pair[0]):
        row = next(rows, None)
        if row is None:
            yield "last step", "The seat's last turn is in no row"
            return
        yield from _compare_row([turn for _, turn in of_row], row, model)
    if next(rows, None) is not None:
        yield "tokens", "The seat has more rows than its turns need"


def _compare_row(turns: Sequence[ReplayedTurn], row: TrainedRow, model: ReadingModel) -> Iterator[tuple[RowFault, str]]:
    lengths = len(row.tokens), len(row.mask), len(row.log_probs)
    if len({*lengths}) > 1:
        yield (
            "tokens",
            f"A row has {quantity(lengths[0], 'token')}, a mask of {lengths[1]}, and {lengths[2]} log_probs",
        )
        return
    place = 0
    for number, turn in enumerate(turns):
        last, name = number == len(turns) - 1, f"turn {number + 1} of {len(turns)}"
        if place == len(row.tokens):
            yield "last step", f"{name} is missing in the row"
            return
        given = row.tokens[place : place + len(turn.fresh)]
        if given != turn.fresh:
            yield "tokens", f"The prompt of {name} is {given} in the row, but the seat read {turn.fresh}"
            return
        place += len(turn.fresh)
        if any(row.mask[place - len(turn.fresh) : place]):
            yield "mask", f"The mask of {name} begins in the prompt: {_format_mask(row, place, turn)}"
        written = _find_written_reply(row.tokens[place:], turn, () if last else turns[number + 1].fresh, model)
        sampled = f"but {turn.reply} was sampled"
        if written is None:
            yield (
                "tokens",
                f"The reply of {name} is {row.tokens[place : place + len(turn.reply)]} in the row, {sampled}",
            )
            return
        if not written and last:
            yield "last step", f"The reply of {name} is missing in the row, {sampled}"
        elif written != turn.reply and written == turn.reply[: len(written)]:
            yield "cut replies", f"The reply of {name} is cut: the row has {written}, {sampled}"
        elif written != turn.reply:
            yield "retokenized turns", f"The reply of {name} is {written} in the row, {sampled}"
        yield from _compare_mask(row, place, len(written), turn, name, last=last)
        place += len(written)
    if place < len(row.tokens):
        yield "tokens", f"After the last reply the row has {row.tokens[place:]}"


def _compare_mask(
    row: TrainedRow, place: int, length: int, turn: ReplayedTurn, name: str, *, last: bool
) -> Iterator[tuple[RowFault, str]]:
    """Yield the errors in the mask of a reply that begins at `place` in its row."""
    mask = row.mask[place : place + length]
    ones = sum(mask)
    if ones == length:
        return
    if not ones and last:
        yield "last step", f"No token of {name} is trained"
    elif not ones or mask != (1,) * ones + (0,) * (length - ones):
        yield "mask", f"The mask does not cover the reply of {name}: {_format_mask(row, place, turn)}"
    elif not row.mask[place - 1]:  # a mask that begins too early ends too early as well
        yield "cut replies", f"The end of the reply of {name} is not trained: {_format_mask(row, place, turn)}"


def _find_written_reply(tokens: TokenIds, turn: ReplayedTurn, after: TokenIds, model: ReadingModel) -> TokenIds | None:
    """Return the prefix of `tokens` that holds a turn's reply, in any spelling and possibly cut off, or None.

    `after` holds the tokens that the seat read next."""
    if tokens[: len(turn.reply)] == turn.reply:
        return turn.reply
    for spelling in model.replies(turn.move) if turn.move is not None else ():
        if tokens[: len(spelling)] == spelling:
            return spelling
    for length in reversed(range(len(turn.reply))):
        begun, rest = tokens[:length], tokens[length:]
        if begun == turn.reply[:length] and (rest[: len(after)] == after if after else not rest):
            return begun
    return None


def _format_mask(row: TrainedRow, place: int, turn: ReplayedTurn) -> str:
    begin, stop = max(0, place - 2), place + len(turn.reply) + 2
    return f"tokens {row.tokens[begin:stop]} have the mask {row.mask[begin:stop]}, and {turn.reply} was sampled"
