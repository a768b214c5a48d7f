"""Checks of seeds: equal seeds give equal matches, independent of other matches, and other seeds vary chance."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

from gymposium.envs.gym import TextGameEnv
from gymposium.games.protocol import Event, Game
from gymposium.util.streams import stream
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, after, events_in_words
from gymposium_testing.positions import Snapshot, position
from gymposium_testing.walk import (
    BEGIN,
    AnyPlayer,
    alike,
    any_moves,
    any_reply,
    match_seed,
    play_chance,
    play_moves,
    play_out,
    played,
)

_DO = "draw chance only from gymposium.util.streams.stream(seed, 'chance'), and share no mutable state between matches."


def equal_seeds_give_equal_matches(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Two matches with the same seed and moves are equal at every decision."""
    for one, other in alike(game, seed, effort.decisions):
        Snapshot.from_match(one).compare(other, "equal seeds and moves give unequal matches", do=_DO)


def other_matches_change_nothing(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A match and an environment behave the same alone and interleaved with other matches and environments."""
    left, number = effort.decisions // 3, 0
    while left > 0:
        own_seed = match_seed(seed, number)
        alone = game.new(own_seed)
        moves = play_out(alone, stream(seed, "moves", number))
        expected = Snapshot.from_match(alone)
        match, beside = game.new(own_seed), _Beside(game, stream(seed, "beside", number))
        for joint in moves:
            beside.step()
            play_moves(match, [joint])
        what = "a match diverges if another one is played in between"
        expected.compare(match, what, where=after(alone), do=_DO)
        first, second = (_through_an_environment(game, own_seed, other) for other in (None, beside))
        if first != second:
            raise CheckFailed(
                f"an environment diverges if another one is stepped in between: events "
                f"{events_in_words(second)} instead of {events_in_words(first)}.",
                where=f"{game.name}, seed {own_seed}",
                do=_DO,
            )
        left -= BEGIN + len(moves)
        number += 1


class _Beside:
    """Another match and environment of the same game, stepped in between."""

    def __init__(self, game: Game, rng: random.Random) -> None:
        self.game, self.rng = game, rng
        self.match = game.new(rng.getrandbits(31))
        self.env = _environment(game)

    def step(self) -> None:
        if not self.match.to_move():
            self.match = self.game.new(self.rng.getrandbits(31))
        self.match.apply(any_moves(self.match, self.rng))
        text, info = self.env.reset(seed=self.rng.getrandbits(31))
        self.env.step(any_reply(self.game, info, text, self.rng))


def _environment(game: Game) -> TextGameEnv:
    return TextGameEnv(game, opponent=[AnyPlayer()] * (game.seats - 1))


def _through_an_environment(game: Game, seed: int, beside: _Beside | None) -> list[Event]:
    """Return the events of a match played in an environment, alone or interleaved with others."""
    env, rng, over = _environment(game), random.Random(seed), False
    text, info = env.reset(seed=seed)
    while not over:
        if beside is not None:
            beside.step()
        text, _, over, _, info = env.step(any_reply(game, info, text, rng))
    return list(env.match.events)


@contextmanager
def generators_left_alone(where: str, do: str) -> Iterator[None]:
    """Raise `CheckFailed` if the block draws from, or seeds, the global generator of Python or NumPy.

    Both generators are restored when the block ends."""
    import numpy as np

    def states() -> tuple[object, object]:
        kind, keys, *rest = np.random.get_state()  # noqa: NPY002 (it is what must not change)
        return random.getstate(), (kind, keys.tobytes() if hasattr(keys, "tobytes") else keys, *rest)

    kept = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.setstate(random.Random("a known state").getstate())
    np.random.set_state(np.random.RandomState(271828).get_state())  # noqa: NPY002
    before = states()
    try:
        yield
        now = states()
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002
    for name, one, other in zip(("Python's random", "NumPy's random"), before, now):
        if one != other:
            raise CheckFailed(
                f"it draws from, or seeds, {name}, which is shared by the whole process.",
                where=where,
                do=do,
            )


def the_global_generators_are_left_alone(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Playing neither draws from nor seeds Python's and NumPy's global generators."""
    do = "use gymposium.util.streams.stream(seed, …), or your own random.Random and numpy.random.Generator."
    with generators_left_alone(game.name, do):
        for match in played(game, seed, effort.decisions // 4):
            position(match)
            match.fork(random.Random(seed))
        game.load(match.events)


def seeds_decide_what_chance_does(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A game with chance=True draws other outcomes for other seeds."""
    if not game.spec.chance:
        raise NotApplicable("the game says chance=False")
    # the same moves in all matches, so only chance can differ
    first, *others = {play_chance(game.new(match_seed(seed, n)), stream(seed, "moves")) for n in range(16)}
    if others:
        return
    if game.spec.check_params(game.params) != game.spec.check_params({}):
        raise NotApplicable("nothing is left to chance with these parameters")
    raise CheckFailed(
        f"the spec says chance=True, but chance is the same for all seeds: {events_in_words(first)}.",
        where=game.name,
        do="draw it from gymposium.util.streams.stream(seed, 'chance') and record it as events with seat CHANCE, or "
        "declare chance=False.",
    )
