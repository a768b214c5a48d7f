"""Search uses only what its seat knows: it plays the same moves whatever is hidden. The other worlds are found by the
seat's log, and their logs are compared before their moves.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from gymposium import load_game
from gymposium.games.protocol import CHANCE, Event, Game, Match
from gymposium.players.mcts import MctsPlayer
from gymposium.players.protocol import Ask, MatchContext, Reply
from gymposium.players.search.tree import search
from gymposium.players.search.viewlog import ViewLog
from gymposium.players.search.worlds import Worlds

GAMES = {
    "kuhn_poker": (12, 1),
    "leduc_poker": (12, 1),
    "liars_dice": (8, 1),
    "liars_dice(numdice=2,dice_sides=3)": (6, 1),
    "goofspiel(num_cards=4,points_order=descending)": (8, 1),
    "goofspiel(num_cards=5)": (8, 1),
    "phantom_ttt": (6, 1),
    "gin_rummy(hand_size=3)": (3, 8),
    "gin_rummy": (1, 12),
    "hearts": (2, 9),
}
"""Games that hide something: how many matches to look at, and every which decision of them."""
IN_EVERY_RUN = ("kuhn_poker", "liars_dice", "goofspiel(num_cards=5)", "phantom_ttt")


def walk(game: Game, seed: int) -> Iterator[tuple[Match, int]]:
    """A random match, and each seat to move at each decision."""
    match, rng = game.new(seed), random.Random(seed)
    while seats := match.to_move():
        for seat in seats:
            yield match, seat
        match.apply({seat: rng.choice(match.legal_moves(seat) or []) for seat in seats})


def others(match: Match, seat: int, rng: random.Random) -> list[Match]:
    """Matches with other events that the seat lived through alike."""
    log, legal = ViewLog(match, seat).items(), match.legal_moves(seat) or []
    if match.game.name.startswith(("gin_rummy", "hearts")):  # a random deal is never one that the seat saw
        found = [match.resample(seat, rng) for _ in range(2)]
    else:
        found = Worlds(match.game, seat).update(log, legal, 4, 100, rng)
    different = [world for world in found if world.events != match.events]
    for world in different:
        assert ViewLog(world, seat).items() == log
        assert world.legal_moves(seat) == legal
    return [match.game.load(world.events) for world in different]


def ask(match: Match, seat: int, seed: int) -> Ask:
    return Ask(MatchContext(match, "m", seed), seat, 0)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in IN_EVERY_RUN else pytest.mark.slow) for name in GAMES]
)
def test_hidden_information_does_not_change_a_move(name: str) -> None:
    game, player, rng, compared = load_game(name), MctsPlayer(12), random.Random(1), 0
    matches, step = GAMES[name]
    for seed in range(matches):
        for match, seat in islice(walk(game, seed), 0, None, step):
            if len(match.legal_moves(seat) or []) == 1:
                continue
            worlds = others(match, seat, rng)
            moves = {reply.text for reply in player.act([ask(one, seat, seed) for one in (match, *worlds)])}
            assert len(moves) == 1, f"seat {seat} after {match.events}"
            compared += len(worlds)
    assert compared >= 10


class Peeker(MctsPlayer):
    """What the test above is there to catch: it searches in the true match."""

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(search([a._context.match.fork(a.rng)], a.seat, self.simulations, a.rng)) for a in asks]


@pytest.mark.parametrize("name", [name for name in GAMES if name != "gin_rummy"])
def test_peeking_search_is_detected(name: str) -> None:
    game, player, rng = load_game(name), Peeker(60), random.Random(1)
    for seed in range(40):
        for match, seat in walk(game, seed):
            worlds = others(match, seat, rng)
            if len({reply.text for reply in player.act([ask(one, seat, seed) for one in (match, *worlds)])}) > 1:
                return
    pytest.fail("the test cannot tell a search that looks at the true match from one that does not")


def decisions(events: Sequence[Event], game: Game) -> Iterator[int]:
    """How many events stand before each decision."""
    end = 0
    while True:
        while end < len(events) and events[end].seat == CHANCE:
            end += 1
        yield end
        if end == len(events):
            return
        end += len(game.load(events[:end]).to_move())


class ReplayedMatch:
    """A match that is played once more as it was, decision by decision."""

    def __init__(self, game: Game, events: Sequence[Event]) -> None:
        self._stages = [game.load(events[:end]) for end in decisions(events, game)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stages[0], name)

    def go_on(self) -> bool:
        del self._stages[0]
        return bool(self._stages)


def search_moves(game: Game, events: Sequence[Event], seat: int, seed: int) -> list[str]:
    """What search answers at each decision of the seat along these events, remembering its worlds from one to the
    next as in play."""
    retold: Any = ReplayedMatch(game, events)
    sitting, player, answers = MatchContext(retold, "m", seed), MctsPlayer(12), []
    while True:
        if seat in retold.to_move():
            answers.append(player.act([sitting.ask(seat)])[0].text)
        if not retold.go_on():
            return answers


@pytest.mark.parametrize(
    "name", ["liars_dice", "goofspiel(num_cards=4,points_order=descending)", "goofspiel(num_cards=4)", "phantom_ttt"]
)
def test_remembered_worlds_do_not_leak_hidden_information(name: str) -> None:
    game, rng, compared = load_game(name), random.Random(2), 0
    for seed in range(5):
        for match, seat in walk(game, seed):
            if seat not in {event.seat for event in match.events}:
                continue  # its first decision: there is nothing to remember yet
            first = search_moves(game, match.events, seat, seed)
            for world in others(match, seat, rng):
                assert search_moves(game, world.events, seat, seed) == first
                compared += 1
    assert compared >= 12


@settings(max_examples=40)
@given(
    name=st.sampled_from(["kuhn_poker", "liars_dice", "goofspiel(num_cards=5)", "phantom_ttt(gameversion=abrupt)"]),
    seed=st.integers(0, 2**40),
    turn=st.integers(0, 8),
)
def test_every_world_matches_the_seats_history(name: str, seed: int, turn: int) -> None:
    """What the sampler gives, by whichever way: the same log, the same seat to move, the same legal moves, and a
    record that replays."""
    for match, seat in islice(walk(load_game(name), seed), turn, turn + 1):
        _, worlds = ask(match, seat, seed).sampler.worlds(5, random.Random(seed))
        assume(worlds)  # a rare log is not met within the steps
        for world in worlds:
            assert ViewLog(world, seat).items() == ViewLog(match, seat).items()
            assert seat in world.to_move()
            assert world.legal_moves(seat) == match.legal_moves(seat)
            assert match.game.load(world.events).view(1 - seat) == world.view(1 - seat)
