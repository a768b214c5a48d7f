"""Checks of seeds: equal seeds give equal matches, independent of other matches, and other seeds give other chance."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gymposium.envs.gym import TextGameEnv
from gymposium.games.protocol import CHANCE, Event, Game
from gymposium.streams import stream
from gymposium.testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, after, events_in_words, short
from gymposium.testing.positions import difference, position
from gymposium.testing.walk import (
    BEGIN,
    AnyPlayer,
    any_moves,
    match_seed,
    play_moves,
    play_out,
    played,
    some_text,
    steps,
)

_DO = "draw chance from gymposium.streams.stream(seed, 'chance') alone, and let matches share nothing that changes."


def equal_seeds_give_equal_matches(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Two matches with one seed and the same moves are equal at every decision."""
    left, number = effort.decisions, 0
    while left > 0:
        one, other = (game.new(match_seed(seed, number)) for _ in range(2))
        given: list[dict[int, str]] = []
        for match in steps(one, stream(seed, "moves", number), given):
            if given:
                other.apply(given[-1])
            _same(
                match.events == other.events,
                f"events {events_in_words(match.events)} and {events_in_words(other.events)}",
                after(match),
            )
            differs = difference(here := position(match), there := position(other))
            _same(
                differs is None,
                f"{differs}: {short(here.get(differs or ''))} and {short(there.get(differs or ''))}",
                after(match),
            )
            left -= 1
        left -= BEGIN
        number += 1


def _same(holds: bool, what: str, where: str) -> None:
    if not holds:
        raise CheckFailed(f"equal seeds and moves give unequal matches: {what}.", where=where, do=_DO)


def other_matches_change_nothing(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A match and an environment behave the same alone and between the steps of other matches and environments."""
    left, number = effort.decisions // 3, 0
    while left > 0:
        one = match_seed(seed, number)
        alone = game.new(one)
        moves = play_out(alone, stream(seed, "moves", number))
        expected = list(alone.events), position(alone)
        match, beside = game.new(one), _Beside(game, stream(seed, "beside", number))
        for given in moves:
            beside.step()
            play_moves(match, [given])
            left -= 1
        differs = difference(expected[1], now := position(match))
        if list(match.events) != expected[0] or differs is not None:
            raise CheckFailed(
                f"a match goes another way where another is stepped in between: events "
                f"{events_in_words(match.events)} instead of {events_in_words(expected[0])}; "
                f"{differs}: {short(now.get(differs or ''))}.",
                where=after(alone),
                do=_DO,
            )
        first, second = _through_an_environment(game, one, None), _through_an_environment(game, one, beside)
        if first != second:
            raise CheckFailed(
                f"an environment goes another way where another is stepped in between: events "
                f"{events_in_words(second)} instead of {events_in_words(first)}.",
                where=f"{game.name}, seed {one}",
                do=_DO,
            )
        left -= BEGIN
        number += 1


class _Beside:
    """Another match and environment of the same game, whose steps come in between."""

    def __init__(self, game: Game, rng: random.Random) -> None:
        self.game, self.rng = game, rng
        self.match = game.new(rng.getrandbits(31))
        self.env = _environment(game)

    def step(self) -> None:
        if not self.match.to_move():
            self.match = self.game.new(self.rng.getrandbits(31))
        self.match.apply(any_moves(self.match, self.rng))
        text, info = self.env.reset(seed=self.rng.getrandbits(31))
        self.env.step(_reply(text, info, self.rng))


def _environment(game: Game) -> TextGameEnv:
    return TextGameEnv(game, opponent=[AnyPlayer()] * (game.seats - 1))


def _through_an_environment(game: Game, seed: int, beside: _Beside | None) -> list[Event]:
    """Return the events of a match played in an environment, alone or with steps of others in between."""
    env, rng, over = _environment(game), random.Random(seed), False
    text, info = env.reset(seed=seed)
    while not over:
        if beside is not None:
            beside.step()
        text, _, over, _, info = env.step(_reply(text, info, rng))
    return list(env.match.events)


def _reply(text: str, info: dict[str, Any], rng: random.Random) -> str:
    legal = info.get("legal_moves")
    return legal[int(rng.random() * len(legal))] if legal else some_text(text, rng)


@contextmanager
def generators_left_alone(where: str, do: str) -> Iterator[None]:
    """Raise `CheckFailed` if the block draws from, or seeds, the global generator of Python or NumPy.

    Both generators are as before when the block ends."""
    import numpy as np

    def states() -> tuple[object, object]:
        kind, keys, *rest = np.random.get_state()  # noqa: NPY002 (it is what must not change)
        return random.getstate(), (kind, keys.tobytes() if hasattr(keys, "tobytes") else keys, *rest)

    kept = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.setstate(random.Random("nobody else's").getstate())
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
                f"it draws from, or seeds, {name}: every other user of it in the process is disturbed.",
                where=where,
                do=do,
            )


def the_global_generators_are_left_alone(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Playing draws nothing from Python's or NumPy's global generator, and seeds neither."""
    do = "use gymposium.streams.stream(seed, …), or random.Random and numpy.random.Generator of your own."
    with generators_left_alone(game.name, do):
        for match in played(game, seed, effort.decisions // 4):
            position(match)
            match.fork(random.Random(seed))
        game.load(match.events)


def seeds_decide_what_chance_does(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A game with chance=True draws other outcomes for other seeds."""
    if not game.spec.chance:
        raise NotApplicable("the game says chance=False")
    drawn: list[tuple[Event, ...]] = []
    for number in range(16):
        match = game.new(match_seed(seed, number))
        play_out(match, stream(seed, "moves"))  # the same moves in all matches, so only chance can differ
        drawn.append(tuple(event for event in match.events if event.seat == CHANCE))
    if len(set(drawn)) > 1:
        return
    if game.params != game.spec.check_params({}):
        raise NotApplicable("nothing is left to chance with these parameters")
    raise CheckFailed(
        f"the spec says chance=True, but chance does the same whatever the seed: {events_in_words(drawn[0])}.",
        where=game.name,
        do="draw it from gymposium.streams.stream(seed, 'chance') and record it as events with seat CHANCE, or say "
        "chance=False.",
    )
