"""Search in games of third parties that implement only the protocol and forking."""

from __future__ import annotations

import importlib.util
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from gymposium import GameSpec
from gymposium.errors import BadRecord, IllegalMove, NoSampler, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Game, Observation, Style
from gymposium.match import MatchJob, play
from gymposium.players.mcts import MctsPlayer, Thought
from gymposium.players.protocol import Ask, MatchContext
from gymposium.players.random import RandomPlayer
from gymposium.players.search.viewlog import ViewLog
from gymposium.players.search.worlds import Worlds
from gymposium.records import Record
from gymposium.records.scores import Score

if TYPE_CHECKING:
    import numpy as np

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"


class Showdown:
    """Each seat is dealt one of six cards. Both at once keep it or swap it for another of the deck, and hear only
    what the other did. Then the first bets or folds, and the second calls or folds; the higher card wins."""

    seats = 2
    utility_range = (-3.0, 3.0)
    max_decisions = 4
    num_actions = 6
    tensor_shape: tuple[int, ...] | None = None
    move_pattern: re.Pattern[str] | None = re.compile("keep|swap|bet|fold|call")
    params: Mapping[str, Any] = MappingProxyType({})
    name = "showdown"
    moves = ("keep", "swap", "bet", "fold", "call")

    def __init__(self, information: Any = "imperfect", match: Any = None) -> None:
        self.match: type[ShowdownMatch] = match or ShowdownMatch
        self.spec = GameSpec(
            name="showdown",
            title="Showdown",
            summary="Keep or swap, bet or fold.",
            entry_point="tests:Showdown",
            information=information,
            dynamics="simultaneous",
            chance=True,
        )

    def rules(self, seat: int, style: Style = "full") -> str:
        return "Showdown.\n"

    def new(self, seed: int) -> ShowdownMatch:
        match = self.match(self, seed, random.Random(seed))
        match.deal(0)
        match.deal(1)
        return match

    def load(self, events: Sequence[Event], seed: int | None = None) -> ShowdownMatch:
        match = self.match(self, seed, random.Random(0))
        pending: dict[int, str] = {}
        for seat, move in events:
            if seat == CHANCE:
                match.take(move)
            else:
                pending[seat] = move
                if len(pending) == len(match.to_move()):
                    match.moved(pending)
                    pending = {}
        if pending:
            raise BadRecord("half a decision")
        return match


class ShowdownMatch:
    def __init__(self, game: Showdown, seed: int | None, rng: random.Random) -> None:
        self.game, self.seed, self.rng = game, seed, rng
        self.events: list[Event] = []
        self.cards: dict[int, int] = {}
        self.gone: set[int] = set()
        self.waiting: list[int] = []  # the seats that get the next cards
        self.said: list[str] = []

    def deal(self, seat: int) -> None:
        self.waiting = self.waiting or [seat]
        card = self.rng.choice([c for c in range(1, 7) if c not in self.gone])
        self.take(f"card {card} for {seat}")

    def take(self, outcome: str) -> None:
        _, card, _, seat = outcome.split()
        self.cards[int(seat)] = int(card)
        self.gone.add(int(card))
        self.events.append(Event(CHANCE, outcome))

    def to_move(self) -> tuple[int, ...]:
        if not self.said:
            return (0, 1)
        return () if len(self.said) > 2 and (self.said[2] == "fold" or len(self.said) > 3) else (len(self.said) - 2,)

    def legal_moves(self, seat: int) -> list[str] | None:
        if seat not in self.to_move():
            return []
        return [["keep", "swap"], ["bet", "fold"], ["call", "fold"]][max(len(self.said) - 1, 0)]

    def legal_actions(self, seat: int) -> list[int]:
        return sorted(self.game.moves.index(move) for move in self.legal_moves(seat) or [])

    def observe(self, seat: int, style: Style = "full") -> Observation:
        return Observation(seat, self.view(seat) + "\n", self.legal_moves(seat))

    def view(self, seat: int) -> str:
        return f"card {self.cards[seat]} said {self.said} returns {() if self.to_move() else self.returns()}"

    def tensor(self, seat: int) -> np.ndarray:
        raise ValueError("no tensor")

    def apply(self, moves: Mapping[int, str]) -> None:
        for seat in self.moved(moves):
            self.deal(seat)

    def moved(self, moves: Mapping[int, str]) -> list[int]:
        """Play these moves; the seats that then swap."""
        if set(moves) != set(self.to_move()):
            raise WrongSeat(moves, self.to_move())
        for seat, move in moves.items():
            if move not in (legal := self.legal_moves(seat) or []):
                raise IllegalMove(seat, move, legal)
        ordered = sorted(moves.items())
        self.said += [move for _, move in ordered]
        self.events += [Event(seat, move) for seat, move in ordered]
        return [seat for seat, move in ordered if move == "swap"]

    def returns(self) -> tuple[float, ...]:
        if self.to_move():
            return (0.0, 0.0)
        won = {"fold": -1.0}.get(self.said[2], 1.0 if self.said[-1] == "fold" else 3.0)
        if self.said[-1] == "call" and self.cards[0] < self.cards[1]:
            won = -won
        return (won, -won)

    def fork(self, rng: random.Random) -> ShowdownMatch:
        other = type(self)(self.game, None, rng)
        other.events, other.cards = list(self.events), dict(self.cards)
        other.gone, other.said = set(self.gone), list(self.said)
        return other

    def resample(self, seat: int, rng: random.Random) -> ShowdownMatch:
        raise NoSampler("showdown only forks")


def example(name: str) -> ModuleType:
    """A game of the guides, from its file."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_guide_game(name: str, params: Mapping[str, Any]) -> Callable[[], Game]:
    def make() -> Game:
        module = example(name)
        [spec] = module.gymposium_games()
        game: Game = module.game(spec, params)
        return game

    return make


GAMES: dict[str, Callable[[], Game]] = {
    "showdown": Showdown,
    "nim": make_guide_game("nim", {"sticks": 9}),
    "one_card_poker": make_guide_game("one_card_poker", {"ranks": 5}),
    "rock_paper_scissors": make_guide_game("rock_paper_scissors", {"rounds": 2}),
}


def matches(game: Game, player: str, n: int, at_once: int = 256) -> Iterator[Any]:
    mcts, other = MctsPlayer(player.removeprefix("mcts-")), RandomPlayer()
    jobs = [MatchJob(str(i), game, [mcts, other] if i % 2 else [other, mcts], i // 2) for i in range(n)]
    return play(jobs, at_once=at_once)


@pytest.mark.parametrize("name", [pytest.param("showdown", marks=pytest.mark.slow), "nim", "one_card_poker"])
def test_search_beats_random(name: str) -> None:
    total = Score()
    for played in matches(GAMES[name](), "mcts-60", 300):
        total.add(played, 1 - int(played.job.id) % 2)
    assert total.mean_return().low > 0.1, total.mean_return()
    assert total.readings["move"] == sum(total.readings.values())


@pytest.mark.parametrize("name", GAMES)
def test_equal_seeds_search_equally_in_any_batch(name: str) -> None:
    def records(at_once: int) -> list[str]:
        return sorted(Record.from_match(played).line() for played in matches(GAMES[name](), "mcts-20", 12, at_once))

    assert records(1) == records(12) == records(12)


def test_search_swaps_a_low_card_and_keeps_a_high_one() -> None:
    def chosen(cards: str) -> list[str]:
        deal = [Event(CHANCE, f"card {card} for {seat}") for seat, card in enumerate(cards)]
        match = Showdown().load(deal)
        return [MctsPlayer(200).act([Ask(MatchContext(match, "m", seed), 0, 0)])[0].text for seed in range(6)]

    assert set(chosen("13")) == {"swap"}
    assert set(chosen("62")) == {"keep"}


def test_hidden_information_does_not_change_a_move() -> None:
    """Every other card that the other may hold, before and after a swap: the same log, the same move."""
    game, player, compared = Showdown(), MctsPlayer(30), 0
    for said in (["keep", "keep"], ["keep", "swap"]):
        stories = []
        for other in range(1, 7):
            for drawn in range(1, 7):
                if len({3, other, drawn}) < 3:
                    continue
                events = [Event(CHANCE, "card 3 for 0"), Event(CHANCE, f"card {other} for 1")]
                events += [Event(seat, move) for seat, move in enumerate(said)]
                events += [Event(CHANCE, f"card {drawn} for 1")] if "swap" in said else []
                stories.append(game.load(events))
        logs = {tuple(ViewLog(match, 0).items()) for match in stories}
        assert len(logs) == 1
        for seed in range(4):
            moves = {player.act([Ask(MatchContext(match, "m", seed), 0, 1)])[0].text for match in stories}
            assert len(moves) == 1
            compared += len(stories)
    assert compared > 100


def test_search_without_worlds_plays_randomly_and_counts() -> None:
    """A view that no new match ever shows: search has nothing to go by."""

    class DatedMatch(ShowdownMatch):
        def view(self, seat: int) -> str:
            return f"{super().view(seat)} {self.seed}"

    player, texts = MctsPlayer(20), set()
    for seed in range(8):
        [reply] = player.act([Ask(MatchContext(Showdown(match=DatedMatch).new(seed), "m", seed), 0, 0)])
        assert reply.trace == Thought("views", 0, 0)
        texts.add(reply.text)
    assert texts == {"keep", "swap"}
    assert player.counts == {"moves": 8, "no world": 8}


def test_world_search_is_bounded_by_steps() -> None:
    """Matches begun and moves applied are counted at the game itself."""
    steps = 0

    class CountedMatch(ShowdownMatch):
        def apply(self, moves: Mapping[int, str]) -> None:
            nonlocal steps
            steps += 1
            super().apply(moves)

    class CountedShowdown(Showdown):
        def new(self, seed: int) -> ShowdownMatch:
            nonlocal steps
            steps += 1
            return super().new(seed)

    game = CountedShowdown(match=CountedMatch)
    match = game.load(
        [Event(CHANCE, "card 3 for 0"), Event(CHANCE, "card 4 for 1"), Event(0, "keep"), Event(1, "swap")]
    )
    match.take("card 1 for 1")
    log, legal = ViewLog(match, 0).items(), match.legal_moves(0) or []
    for per_world in (1, 5, 400):
        steps = 0
        found = Worlds(game, 0).update(log, legal, 10, per_world, random.Random(1))
        assert 0 < steps <= 10 * per_world
    assert len(found) == 10
    steps = 0
    assert Worlds(game, 0).update(log, ["no such move"], 20, 50, random.Random(1)) == []
    assert 400 < steps <= 500  # no more is spent on a first world, though ten would have twice as much


def test_remembered_worlds_are_continued() -> None:
    """At the second decision every world continues one of those of the first, as long as there are enough."""
    game, rng = Showdown(), random.Random(1)
    deal = [Event(CHANCE, "card 5 for 0"), Event(CHANCE, "card 4 for 1")]
    first, second = game.load(deal), game.load([*deal, Event(0, "keep"), Event(1, "keep")])
    worlds = Worlds(game, 0)
    before = worlds.update(ViewLog(first, 0).items(), ["keep", "swap"], 20, 100, rng)
    after = worlds.update(ViewLog(second, 0).items(), ["bet", "fold"], 20, 100, rng)
    assert len(before) == len(after) == 20
    assert [world.events[:2] for world in after] == [world.events for world in before]


def test_view_that_confuses_legal_moves_is_refused() -> None:
    class Coarse(ShowdownMatch):
        def view(self, seat: int) -> str:
            return "something"

    match = Showdown("perfect", Coarse).new(1)
    with pytest.raises(NoSampler, match=r"different legal moves in positions with equal view\(\)"):
        MctsPlayer(20).act([Ask(MatchContext(match, "m", 0), 0, 0)])


def test_world_inconsistent_with_the_view_is_refused() -> None:
    class Careless(ShowdownMatch):
        def resample(self, seat: int, rng: random.Random) -> ShowdownMatch:
            return self.game.new(rng.getrandbits(30))  # deals the seat's own card anew as well

    with pytest.raises(NoSampler, match=r"showdown: resample\(\) returned a match whose view differs for seat 0"):
        MctsPlayer(20).act([Ask(MatchContext(Showdown(match=Careless).new(1), "m", 0), 0, 0)])
