"""Check seeds: equal seeds give equal matches, independent of other matches, and different seeds vary chance."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from gymposium.envs.gym import TextGameEnv
from gymposium.games.protocol import Event, Game
from gymposium.util.streams import stream
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, describe_position, format_events
from gymposium_testing.positions import Snapshot, observe_position
from gymposium_testing.walk import (
    START_COST,
    AnyPlayer,
    derive_match_seed,
    draw_moves,
    draw_reply,
    play_chance,
    play_copies,
    play_matches,
    play_moves,
    play_out,
)

_DO = "draw chance only from gymposium.util.streams.stream(seed, 'chance'), and share no mutable state between matches."


def equal_seeds_give_equal_matches(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Two matches with the same seed and moves are equal at every decision."""
    for one, other in play_copies(game, seed, effort.decisions):
        Snapshot.from_match(one).compare(other, "equal seeds and moves give unequal matches", fix=_DO)


def matches_are_independent(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Matches and environments behave the same alone and interleaved with others."""
    left, number = effort.decisions // 3, 0
    while left > 0:
        own_seed = derive_match_seed(seed, number)
        alone = game.new(own_seed)
        moves = play_out(alone, stream(seed, "moves", number))
        expected = Snapshot.from_match(alone)
        match, beside = game.new(own_seed), _OtherMatch(game, stream(seed, "beside", number))
        for joint in moves:
            beside.step()
            play_moves(match, [joint])
        what = "a match diverges if another one is played in between"
        expected.compare(match, what, where=describe_position(alone), fix=_DO)
        first, second = (_play_in_environment(game, own_seed, other) for other in (None, beside))
        if first != second:
            raise CheckFailed(
                f"an environment diverges if another one is stepped in between: events "
                f"{format_events(second)} instead of {format_events(first)}.",
                where=f"{game.name}, seed {own_seed}",
                fix=_DO,
            )
        left -= START_COST + len(moves)
        number += 1


class _OtherMatch:
    """Another match and environment of the same game, played alternately with the checked one."""

    def __init__(self, game: Game, rng: random.Random) -> None:
        self.game, self.rng = game, rng
        self.match = game.new(rng.getrandbits(31))
        self.env = _make_environment(game)

    def step(self) -> None:
        if not self.match.to_move():
            self.match = self.game.new(self.rng.getrandbits(31))
        self.match.apply(draw_moves(self.match, self.rng))
        text, info = self.env.reset(seed=self.rng.getrandbits(31))
        self.env.step(draw_reply(self.game, info, text, self.rng))


def _make_environment(game: Game) -> TextGameEnv:
    return TextGameEnv(game, opponent=[AnyPlayer()] * (game.seats - 1))


def _play_in_environment(game: Game, seed: int, beside: _OtherMatch | None) -> list[Event]:
    """Return the events of a match in an environment, alone or interleaved with another."""
    env, rng, over = _make_environment(game), random.Random(seed), False
    text, info = env.reset(seed=seed)
    while not over:
        if beside is not None:
            beside.step()
        text, _, over, _, info = env.step(draw_reply(game, info, text, rng))
    return list(env.match.events)


@contextmanager
def guard_generators(where: str, fix: str) -> Iterator[None]:
    """Raise `CheckFailed` if the block draws from or seeds the global generators of Python or NumPy.

    The generators are restored when the block ends."""
    import numpy as np

    def read_states() -> tuple[object, object]:
        kind, keys, *rest = np.random.get_state()  # noqa: NPY002 (it is what must not change)
        return random.getstate(), (kind, keys.tobytes() if hasattr(keys, "tobytes") else keys, *rest)

    kept = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.setstate(random.Random("a known state").getstate())
    np.random.set_state(np.random.RandomState(271828).get_state())  # noqa: NPY002
    before = read_states()
    try:
        yield
        now = read_states()
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002
    for name, one, other in zip(("Python's random", "NumPy's random"), before, now):
        if one != other:
            raise CheckFailed(
                f"it draws from, or seeds, {name}, which is shared by the whole process.",
                where=where,
                fix=fix,
            )


def games_leave_global_generators_alone(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Playing neither draws from nor seeds Python's and NumPy's global generators."""
    fix = "use gymposium.util.streams.stream(seed, …), or your own random.Random and numpy.random.Generator."
    with guard_generators(game.name, fix):
        for match in play_matches(game, seed, effort.decisions // 4):
            observe_position(match)
            match.fork(random.Random(seed))
        game.load(match.events)


def seeds_determine_chance(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """In a game with chance=True, chance outcomes vary with the seed."""
    if not game.spec.chance:
        raise NotApplicable("the game says chance=False")
    # the moves are the same in all matches, so only chance can differ
    first, *others = {play_chance(game.new(derive_match_seed(seed, n)), stream(seed, "moves")) for n in range(16)}
    if others:
        return
    if game.spec.check_params(game.params) != game.spec.check_params({}):
        raise NotApplicable(f"{game.name} has no chance events")
    raise CheckFailed(
        f"the spec says chance=True, but chance is the same for all seeds: {format_events(first)}.",
        where=game.name,
        fix="draw it from gymposium.util.streams.stream(seed, 'chance') and record it as events with seat CHANCE, or "
        "declare chance=False.",
    )
