"""Checks of players: replies can be parsed, follow from the seed, and do not depend on the batch."""

from __future__ import annotations

from typing import get_args

from gymposium.games.protocol import Game, Style
from gymposium.match import MatchJob, MatchResult, play
from gymposium.players.protocol import Player
from gymposium_testing.checks.seeds import generators_left_alone
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, require, short
from gymposium_testing.parts import PluginPart, games_that_it_plays, seeds_for


def _play(part: PluginPart, game: Game, seed: int, count: int, at_once: int) -> list[MatchResult]:
    """Play `count` matches of a new player against itself, and return them in order."""
    player: Player = part.make()
    jobs = [
        MatchJob(str(number), game, [player] * game.seats, match_seed)
        for number, match_seed in enumerate(seeds_for(seed, count))
    ]
    return sorted(play(jobs, at_once=at_once), key=lambda result: int(result.job.id))


def players_are_whole(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A player has its canonical name, a reply reader and a prompt style."""
    player: Player = part.make()
    name, reader, style = (getattr(player, attribute, None) for attribute in ("name", "reader", "style"))
    require(name == part.name, f"its name is {name!r}", f"set name to its canonical name {part.name!r}.")
    reads = all(callable(getattr(reader, method, None)) for method in ("submission", "answer"))
    require(reads, f"its reader is {reader!r}", "choose one of gymposium.replies.reading.READERS.")
    require(style in get_args(Style), f"its style is {style!r}", f"choose one of {', '.join(get_args(Style))}.")


def players_answer_every_ask(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A player answers each ask, many in one call, with a reply that parses as a legal move."""
    for game in games_that_it_plays(part):
        for result in _play(part, game, seed, effort.draws, at_once=effort.draws):
            for turn in result.turns:
                if turn.reading != "move":
                    raise CheckFailed(
                        f"seat {turn.seat} replies {short(turn.text)}, which is {turn.reading}.",
                        where=f"{part.name} in {game.name}, seed {result.job.seed}",
                        do="return one reply for each ask, in order, with self.reader.answer(move) as its text.",
                    )


def equal_seeds_give_equal_replies(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Two new players give the same replies in matches with the same seeds."""
    _same_replies(
        part,
        seed,
        effort,
        (1, 1),
        what="two new players give different replies to equal asks with equal seeds.",
        do="draw from ask.rng alone, and keep nothing outside ask.memory.",
    )


def many_asks_at_once_change_nothing(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A player gives the same replies whether asked about one match at a time or many in one call."""
    _same_replies(
        part,
        seed,
        effort,
        (1, effort.draws),
        what="its replies depend on the other asks in the same call.",
        do="answer each ask independently; keep a match's state in ask.memory.",
    )


def _same_replies(part: PluginPart, seed: int, effort: Effort, at_once: tuple[int, int], *, what: str, do: str) -> None:
    """Raise `CheckFailed` unless a new player with these numbers of simultaneous matches replies the same both
    times."""
    for game in games_that_it_plays(part):
        first, second = (
            [[(turn.seat, turn.text) for turn in result.turns] for result in _play(part, game, seed, effort.draws, at)]
            for at in at_once
        )
        if first != second:
            raise CheckFailed(what, where=f"{part.name} in {game.name}, seed {seed}", do=do)


def players_leave_the_global_generators_alone(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A player neither draws from nor seeds the global generators of Python and NumPy."""
    for game in games_that_it_plays(part):
        with generators_left_alone(f"{part.name} in {game.name}", "use ask.rng, the seat's own stream."):
            _play(part, game, seed, effort.draws, at_once=effort.draws)
