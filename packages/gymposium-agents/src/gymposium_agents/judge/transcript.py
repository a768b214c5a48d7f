"""The transcript of a trajectory: the positions, replies and outcome of one seat of a match, in words.

The positions come from a replay of the match, so a transcript contains exactly what the seat could see. The style and
context of the player's prompts do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gymposium.errors import BadReward
from gymposium.games.protocol import CHANCE, Match, make_replay_game
from gymposium.match import Turn
from gymposium.records.trajectories import Trajectory
from gymposium.replies.reading import Kind

Part = Literal["told", "reply", "refused", "outcome"]
PARTS: tuple[Part, ...] = ("told", "reply", "refused", "outcome")
"""The kinds of parts: a position, a reply with its thoughts, the rejection of a reply with its consequence, and the
match's ending."""

_FAILED: dict[Kind, str] = {
    "illegal": "This is no legal move.",
    "unparsable": "This could not be read as a move.",
    "cut off": "This was cut off before it ended.",
}


@dataclass(frozen=True, slots=True)
class TranscriptPart:
    """One part of a transcript."""

    part: Part
    text: str


Transcript = tuple[TranscriptPart, ...]


def make_transcript(trajectory: Trajectory) -> Transcript:
    """Make the transcript of a trajectory, in order, with the outcome last. Raises `BadReward` for a trajectory without
    a seed, because its match cannot be replayed."""
    seat, seed = trajectory.seat, trajectory.seed
    if seed is None:
        raise BadReward(
            f"A trajectory of {trajectory.game.name} has no seed, so its match cannot be replayed. Set the seed of its "
            "match."
        )
    match, parts = make_replay_game(trajectory.game, trajectory.events).new(seed), []
    turns = iter(trajectory.turns)
    moves = iter([event for event in trajectory.events if event.seat != CHANCE])
    while seats := match.to_move():
        joint = {event.seat: event.move for _, event in zip(seats, moves)}  # seats first: zip then takes no extra move
        if seat in seats:
            parts.append(TranscriptPart("told", _describe_position(match, seat)))
            parts += _list_reply_parts(turns, trajectory, joint.get(seat))
        if len(joint) < len(seats):  # the match ended at this decision
            break
        match.apply(joint)
    return (*parts, TranscriptPart("outcome", _describe_outcome(trajectory)))


def _describe_position(match: Match, seat: int) -> str:
    observation = match.observe(seat, "full")
    if observation.legal_moves is None:
        return observation.text
    return f"{observation.text}Legal moves: {observation.describe_moves()}"


def _list_reply_parts(turns: Iterator[Turn], trajectory: Trajectory, played: str | None) -> Iterator[TranscriptPart]:
    """Yield the replies of one decision. `played` is the decision's move, or None if the match ended there."""
    for turn in turns:
        yield TranscriptPart("reply", turn.text if turn.action is None else f"action {turn.action}")
        if turn.reading == "move":
            return
        why = _FAILED[turn.reading]
        if trajectory.on_illegal.kind == "random" and played is not None:
            yield TranscriptPart("refused", f"{why} {played} was played instead, at random.")
            return
        yield TranscriptPart("refused", f"{why} It cost {turn.penalty:g}." if turn.penalty else why)


def _describe_outcome(trajectory: Trajectory) -> str:
    if trajectory.truncated:
        how = "The match broke off: it had grown longer than the player can read."
    elif trajectory.forfeited:
        how = "The player forfeited the match."
    elif trajectory.ending.seat is not None:
        how = "An opponent forfeited the match."
    else:
        how = "The match was played to its end."
    result = trajectory.result
    ended = "" if result == "score" else f" Result for the player: {result}."
    reported = "".join(f" {name}: {value:g}." for name, value in sorted(trajectory.report.items()))
    return f"{how}{ended} The match paid {trajectory.utilities[trajectory.seat]:g}.{reported}"
