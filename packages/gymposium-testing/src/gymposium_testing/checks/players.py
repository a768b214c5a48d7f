"""Check players: replies can be parsed, are determined by the seed, and do not depend on the batch. Recommendations to
learners use only what the seat has observed."""

from __future__ import annotations

from typing import get_args

from gymposium.games.protocol import Game, Match, Style
from gymposium.match import MatchJob, MatchResult, play
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import MatchContext, Player
from gymposium.players.teaching import ask_teacher
from gymposium.util.streams import stream
from gymposium_testing.checks.hiding import find_worlds
from gymposium_testing.checks.seeds import guard_generators
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, describe_position, require, shorten
from gymposium_testing.parts import PluginPart, derive_seeds, find_playable_games


def _play_matches(part: PluginPart, game: Game, seed: int, count: int, at_once: int) -> list[MatchResult]:
    """Play `count` self-play matches with a new player, and return them in order."""
    player: Player = part.make()
    jobs = [
        MatchJob(str(number), game, [player] * game.seats, match_seed)
        for number, match_seed in enumerate(derive_seeds(seed, count))
    ]
    return sorted(play(jobs, at_once=at_once), key=lambda result: int(result.job.id))


def players_are_complete(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A player has its canonical name, a reply reader and a prompt style."""
    player: Player = part.make()
    name, reader, style = (getattr(player, attribute, None) for attribute in ("name", "reader", "style"))
    require(name == part.name, f"its name is {name!r}", f"set name to its canonical name {part.name!r}.")
    reads = all(callable(getattr(reader, method, None)) for method in ("extract_move", "answer"))
    require(reads, f"its reader is {reader!r}", "choose one of gymposium.replies.reading.READERS.")
    require(style in get_args(Style), f"its style is {style!r}", f"choose one of {', '.join(get_args(Style))}.")


def players_answer_every_ask(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A player answers every ask in a batch with a reply that parses as a legal move."""
    for game in find_playable_games(part):
        for result in _play_matches(part, game, seed, effort.draws, at_once=effort.draws):
            for turn in result.turns:
                if turn.reading != "move":
                    raise CheckFailed(
                        f"seat {turn.seat} replies {shorten(turn.text)}, which is {turn.reading}.",
                        where=f"{part.name} in {game.name}, seed {result.job.seed}",
                        fix="return one reply for each ask, in order, with self.reader.answer(move) as its text.",
                    )


def equal_seeds_give_equal_replies(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Two new players give the same replies in matches with equal seeds."""
    _check_same_replies(
        part,
        seed,
        effort,
        (1, 1),
        what="two new players give different replies to equal asks with equal seeds.",
        fix="draw from ask.rng alone, and keep nothing outside ask.memory.",
    )


def batching_changes_nothing(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A player gives the same replies with and without batching."""
    _check_same_replies(
        part,
        seed,
        effort,
        (1, effort.draws),
        what="its replies depend on the other asks in the same call.",
        fix="answer each ask independently; keep a match's state in ask.memory.",
    )


def _check_same_replies(
    part: PluginPart, seed: int, effort: Effort, at_once: tuple[int, int], *, what: str, fix: str
) -> None:
    """Raise `CheckFailed` unless new players give the same replies for both numbers of simultaneous matches."""
    for game in find_playable_games(part):
        first, second = (
            [
                [(turn.seat, turn.text) for turn in result.turns]
                for result in _play_matches(part, game, seed, effort.draws, at)
            ]
            for at in at_once
        )
        if first != second:
            raise CheckFailed(what, where=f"{part.name} in {game.name}, seed {seed}", fix=fix)


def players_leave_global_generators_alone(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A player neither draws from nor seeds the global generators of Python and NumPy."""
    for game in find_playable_games(part):
        with guard_generators(f"{part.name} in {game.name}", "use ask.rng, the seat's own stream."):
            _play_matches(part, game, seed, effort.draws, at_once=effort.draws)


def recommendations_leak_nothing(part: PluginPart, seed: int = 0, effort: Effort = NORMAL) -> None:
    """As a teacher, a player recommends the same moves in worlds that the seat cannot tell apart."""
    looks, compared = max(4, effort.decisions // 64), 0
    for game in find_playable_games(part):
        if game.spec.information == "perfect" or game.spec.free_text:
            continue
        worlds = (world for world in find_worlds(game, seed, effort) if world.seat in world.match.to_move())
        for number, world in enumerate(worlds):
            if number == looks:
                break
            compared += 1
            key = stream(seed, "recommendations", number).getrandbits(31)
            base, other = game.load(world.base), game.load(world.events)
            first, second = (_recommend(part.make(), match, world.seat, key) for match in (base, other))
            if first != second:
                raise CheckFailed(
                    f"what it recommends depends on what seat {world.seat} cannot see: with equal seeds it gives "
                    f"{_describe(first)}, and {_describe(second)} in another world with the same view.",
                    where=f"{part.name}, {describe_position(base, world.seat)}",
                    fix="use only the ask: its view, its observation, its log and its sampler.",
                )
    if not compared:
        raise NotApplicable("no two worlds were found in a game with hidden information")


def _recommend(player: Player, match: Match, seat: int, seed: int) -> MoveDistribution:
    [found] = ask_teacher(player, [MatchContext(match, "world", seed).ask(seat)])
    return found


def _describe(found: MoveDistribution) -> str:
    return ", ".join(f"{move} {odds:.3g}" for move, odds in zip(found.moves, found.probabilities, strict=True))
