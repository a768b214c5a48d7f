"""Games made from a rules class match the engine, follow the protocol, and report author mistakes."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from hypothesis import given, settings, strategies as st

from gymposium import GameSpec, Parameter, make_player
from gymposium.errors import BadParameter, BadRecord, IllegalMove, NoSampler, PluginError, WrongSeat
from gymposium.games.protocol import Match
from gymposium.games.rules import CHANCE, Event, RulesError, RulesGame, Style, make_game_factory
from gymposium.match import EngineError, MatchJob, play
from gymposium.plugins.host import Host
from gymposium.util.streams import stream
from gymposium_testing import assert_no_leaks
from gymposium_testing.walk import load_positions

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
FILES = ("nim", "one_card_poker", "rock_paper_scissors")
seeds = st.integers(0, 2**31)


@pytest.fixture(scope="module")
def host() -> Host:
    host = Host(autoload=False)
    for name in FILES:
        host.load_file(EXAMPLES / f"{name}.py")
    return host


def spec(**facts: Any) -> GameSpec:
    return GameSpec(**{"name": "x", "title": "X", "summary": "X.", "entry_point": "x:game", **facts})


def some_moves(match: Match, rng: random.Random) -> dict[int, str]:
    return {seat: rng.choice(match.legal_moves(seat) or []) for seat in match.to_move()}


def play_out(match: Match, rng: random.Random) -> Match:
    while match.to_move():
        match.apply(some_moves(match, rng))
    return match


def looks(match: Match) -> list[object]:
    """Return everything that a match shows."""
    return [
        match.events.copy(),
        match.to_move(),
        match.returns(),
        [(match.observe(s), match.observe(s, "compact"), match.view(s)) for s in range(match.game.seats)],
        [(match.legal_moves(s), match.legal_actions(s)) for s in range(match.game.seats)],
    ]


# -- the same game as the engine's


class TicTacToe:
    """Rules with squares by the engine's numbers. The position is the sequence of moves."""

    moves = tuple(f"{column}{row}" for row in "321" for column in "abc")
    utility_range, max_decisions = (-1.0, 1.0), 9
    LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

    def start(self) -> str:
        return "." * 9

    def _winner(self, board: str) -> int | None:
        return next(("xo".index(board[a]) for a, b, c in self.LINES if board[a] == board[b] == board[c] != "."), None)

    def to_move(self, board: str) -> tuple[int, ...]:
        over = self._winner(board) is not None or "." not in board
        return () if over else ((9 - board.count(".")) % 2,)

    def legal_moves(self, board: str, seat: int) -> Sequence[str]:
        return [move for move, square in zip(self.moves, board) if square == "."][::-1]  # in any order

    def play(self, board: str, moves: Mapping[int, str]) -> str:
        [(seat, move)] = moves.items()
        at = self.moves.index(move)
        return board[:at] + "xo"[seat] + board[at + 1 :]

    def returns(self, board: str) -> tuple[float, ...]:
        return {None: (0.0, 0.0), 0: (1.0, -1.0), 1: (-1.0, 1.0)}[self._winner(board)]

    def rules(self, seat: int, style: Style) -> str:
        return f"You are {'xo'[seat]}.\n"

    def position(self, board: str, seat: int, style: Style) -> str:
        return f"{board}\n"


class Kuhn:
    """Rules of Kuhn poker with the engine's names of outcomes and moves."""

    moves = ("Pass", "Bet")
    utility_range, max_decisions = (-2.0, 2.0), 3

    def start(self) -> tuple[str, ...]:
        return ()

    def to_move(self, past: tuple[str, ...]) -> tuple[int, ...]:
        if len(past) < 2:
            return (CHANCE,)
        return () if "".join(past[2:]) in ("pp", "bp", "bb", "pbp", "pbb") else (len(past) % 2,)

    def chance(self, past: tuple[str, ...]) -> Mapping[str, float]:
        return {card: 1 for card in "210" if card not in past}

    def legal_moves(self, past: tuple[str, ...], seat: int) -> Sequence[str]:
        return self.moves

    def play(self, past: tuple[str, ...], moves: Mapping[int, str]) -> tuple[str, ...]:
        [(seat, move)] = moves.items()
        return (*past, move if seat == CHANCE else move[0].lower())

    def returns(self, past: tuple[str, ...]) -> tuple[float, ...]:
        if self.to_move(past):
            return (0.0, 0.0)
        said, higher = "".join(past[2:]), 0 if past[0] > past[1] else 1
        winner = {"bp": 0, "pbp": 1}.get(said, higher)
        won = 2.0 if said.endswith("bb") else 1.0
        return (won, -won) if winner == 0 else (-won, won)

    def view(self, past: tuple[str, ...], seat: int) -> str:
        return past[seat] + "".join(past[2:])

    def rules(self, seat: int, style: Style) -> str:
        return "Kuhn poker.\n"

    def position(self, past: tuple[str, ...], seat: int, style: Style) -> str:
        return f"{past[seat]}, then {' '.join(past[2:])}\n"


TIC_TAC_TOE = make_game_factory(TicTacToe)(spec(), {})
KUHN = make_game_factory(Kuhn)(spec(chance=True, information="imperfect"), {})


@given(seeds, st.sampled_from([("tic_tac_toe", TIC_TAC_TOE), ("kuhn_poker", KUHN)]))
@settings(max_examples=60)
def test_play_matches_the_engine(seed: int, pair: tuple[str, RulesGame[Any]]) -> None:
    name, game = pair
    rng, match, state = random.Random(seed), game.new(seed), pyspiel.load_game(name).new_initial_state()
    told = 0
    while True:
        for event in match.events[told:]:
            assert event.seat == CHANCE
            state.apply_action(int(event.move))
        assert match.returns() == tuple(state.returns())
        assert match.to_move() == (() if state.is_terminal() else (state.current_player(),))
        for seat in range(2):
            assert match.legal_actions(seat) == (state.legal_actions(seat) if seat in match.to_move() else [])
        if state.is_terminal():
            break
        [seat] = match.to_move()
        at = rng.randrange(len(match.legal_actions(seat)))
        action, move = match.legal_actions(seat)[at], (match.legal_moves(seat) or [])[at]
        assert game.moves is not None
        assert game.moves[action] == move
        told = len(match.events) + 1
        match.apply({seat: move})
        state.apply_action(action)
    assert looks(game.load(match.events)) == looks(match)


def test_views_match_the_engines_information_states() -> None:
    """Views distinguish the same positions as the engine's information states."""
    pairs = set()
    for seed in range(200):
        match, state = KUHN.new(seed), pyspiel.load_game("kuhn_poker").new_initial_state()
        rng = random.Random(seed)
        told = 0
        while match.to_move():
            for event in match.events[told:]:
                state.apply_action(int(event.move))
            pairs |= {(seat, match.view(seat), state.information_state_string(seat)) for seat in range(2)}
            told = len(match.events) + 1
            moves = some_moves(match, rng)
            match.apply(moves)
            state.apply_action(Kuhn.moves.index(*moves.values()))
    assert len({(seat, view) for seat, view, _ in pairs}) == len({(seat, state) for seat, _, state in pairs})
    assert len(pairs) == len({(seat, view) for seat, view, _ in pairs}) == 24


# -- a match as good as any other


@given(st.data(), seeds)
@settings(max_examples=60)
def test_match_is_determined_by_its_events(host: Host, data: st.DataObject, seed: int) -> None:
    name = data.draw(st.sampled_from(FILES))
    [parameter] = host.games[name].parameters
    value = data.draw(st.integers(int(parameter.low or 0), 12))
    game = host.make_game(name, {parameter.name: value})
    match = play_out(game.new(seed), random.Random(seed))
    assert sum(match.returns()) == 0
    assert all(game.utility_range[0] <= value <= game.utility_range[1] for value in match.returns())
    assert sum(event.seat != CHANCE for event in match.events) <= game.max_decisions
    again = game.load(match.events)
    assert looks(again) == looks(match)
    with pytest.raises(WrongSeat, match="the match is over"):
        again.apply({})
    # begun again from any decision, with its seed, it goes on as it did
    cut = data.draw(st.sampled_from([len(position.events) for position in load_positions(game.load, match.events)]))
    rest = game.load(match.events[:cut], seed)
    while seats := rest.to_move():
        ahead = match.events[len(rest.events) :]
        rest.apply({seat: next(event.move for event in ahead if event.seat == seat) for seat in seats})
    assert looks(rest) == looks(match)


class Dice:
    """Rules of five throws of a die, after each of which the player may continue or stop."""

    moves = ("throw", "stop")
    utility_range, max_decisions = (0.0, 30.0), 5

    def start(self) -> tuple[str, ...]:
        return ()

    def to_move(self, past: tuple[str, ...]) -> tuple[int, ...]:
        return (CHANCE,) if past[-1:] == ("throw",) else () if len(past) == 10 or past[-1:] == ("stop",) else (0,)

    def chance(self, past: tuple[str, ...]) -> Mapping[str, float]:
        return dict.fromkeys("123456", 1)

    def legal_moves(self, past: tuple[str, ...], seat: int) -> Sequence[str]:
        return self.moves

    def play(self, past: tuple[str, ...], moves: Mapping[int, str]) -> tuple[str, ...]:
        return (*past, *moves.values())

    def returns(self, past: tuple[str, ...]) -> tuple[float, ...]:
        return (float(sum(map(int, past[1::2]))) if past[-1:] != ("stop",) else float(sum(map(int, past[1:-1:2]))),)

    def rules(self, seat: int, style: Style) -> str:
        return "Throw.\n"

    def position(self, past: tuple[str, ...], seat: int, style: Style) -> str:
        return f"{' '.join(past)}\n"


DICE = make_game_factory(Dice)(spec(seats=1, utility="score", chance=True), {})


def thrown(match: Match) -> str:
    while match.to_move():
        match.apply({0: "throw"})
    return "".join(event.move for event in match.events if event.seat == CHANCE)


def test_chance_follows_the_seed_after_any_reload() -> None:
    whole = thrown(DICE.new(5))
    assert len(whole) == 5
    assert whole != thrown(DICE.new(6))
    match = DICE.new(5)
    for decision in range(5):
        assert thrown(DICE.load(match.events, 5)) == whole, f"taken up at decision {decision}"
        match.apply({0: "throw"})


def test_forks_draw_fresh_chance() -> None:
    match = DICE.new(5)
    match.apply({0: "throw"})
    before = looks(match)
    forks = {thrown(match.fork(random.Random(seed))) for seed in range(20)}
    assert len({fork[0] for fork in forks}) == 1  # what has happened has happened
    assert len(forks) > 15
    assert looks(match) == before
    assert thrown(match) == thrown(DICE.new(5))  # forks spent none of its draws
    assert {thrown(DICE.new(5).resample(0, random.Random(seed))) for seed in range(3)} == {
        thrown(DICE.new(5).fork(random.Random(seed))) for seed in range(3)
    }


def test_loading_before_chance_needs_the_seed() -> None:
    with pytest.raises(BadRecord, match=r"ends before a chance outcome\. Pass the match's seed"):
        DICE.load([Event(0, "throw")])


class Coin(Dice):
    """Rules of a coin that shows heads three times as often as tails, and never the edge. The weights come in two
    orders."""

    def __init__(self, backwards: bool) -> None:
        weights = {"heads": 3, "tails": 1, "edge": 0}
        self.weights = dict(reversed(weights.items())) if backwards else weights

    def chance(self, past: tuple[str, ...]) -> Mapping[str, float]:
        return self.weights

    def returns(self, past: tuple[str, ...]) -> tuple[float, ...]:
        return (0.0,)


def test_weights_are_probabilities_in_any_order() -> None:
    order = Parameter(name="backwards", default=False, help="The order.")
    about = spec(seats=1, chance=True, parameters=(order,))
    forwards, backwards = (make_game_factory(Coin)(about, {"backwards": value}) for value in (False, True))
    fell = [thrown(forwards.new(seed)) for seed in range(400)]
    assert fell == [thrown(backwards.new(seed)) for seed in range(400)]
    assert 0.71 < "".join(fell).count("heads") / 2000 < 0.79
    with pytest.raises(BadRecord, match="'edge' is not an outcome of chance here"):
        forwards.load([Event(0, "throw"), Event(CHANCE, "edge")])


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([Event(CHANCE, "4")], "belongs to seat -1, but it is not chance's turn"),
        ([Event(0, "throw"), Event(0, "stop")], "belongs to seat 0, but it is chance's turn"),
        ([Event(0, "throw"), Event(CHANCE, "7")], "Event 1: '7' is not an outcome of chance here"),
        ([Event(0, "jump")], "Event 0: 'jump' is not legal for seat 0. Legal moves: throw, stop"),
        ([Event(1, "throw")], "belongs to seat 1, but it is seat 0's turn"),
        ([Event(0, "stop"), Event(0, "stop")], "comes after the end of the match"),
    ],
)
def test_impossible_events_are_refused(events: list[Event], reason: str) -> None:
    with pytest.raises(BadRecord, match=reason):
        DICE.load(events, 0)


def test_refused_moves_change_nothing(host: Host) -> None:
    for name in FILES:
        match = host.make_game(name, {}).new(3)
        before, seats = looks(match), match.to_move()
        good = {seat: (match.legal_moves(seat) or [])[0] for seat in seats}
        for wrong in ({}, {7: "rock"}, {**good, 5: "rock"}, {seats[0] + 1: good[seats[0]]}):
            with pytest.raises(WrongSeat, match="Moves were given for seats"):
                match.apply(wrong)
        for bad in ("jump", "", None, "Rock"):
            with pytest.raises(IllegalMove, match="is not legal for seat"):
                match.apply({**good, seats[-1]: bad})  # the others' moves are good
        assert looks(match) == before


class ManyGuesses:
    """Rules whose moves are all legal, as the same object."""

    moves = tuple(map(str, range(5000)))
    utility_range, max_decisions = (0.0, 1.0), 2

    def start(self) -> int:
        return 0

    def to_move(self, made: int) -> tuple[int, ...]:
        return (0,) if made < 2 else ()

    def legal_moves(self, made: int, seat: int) -> Sequence[str]:
        return self.moves

    def play(self, made: int, moves: Mapping[int, str]) -> int:
        return made + 1

    def returns(self, made: int) -> tuple[float, ...]:
        return (0.0,)

    def rules(self, seat: int, style: Style) -> str:
        return "guess\n"

    def position(self, made: int, seat: int, style: Style) -> str:
        return "guess\n"


@pytest.mark.parametrize("move", ["5000", "", 7, ["7"]])
def test_moves_are_checked_if_all_are_legal(move: Any) -> None:
    match = make_game_factory(ManyGuesses)(spec(seats=1, utility="score"), {}).new(0)
    (match.legal_moves(0) or []).append("5000")
    assert match.legal_actions(0) == list(range(5000))
    with pytest.raises(IllegalMove):
        match.apply({0: move})
    match.apply({0: "7"})
    assert match.legal_moves(0) == list(ManyGuesses.moves)


def test_returned_lists_are_copies(host: Host) -> None:
    match = host.make_game("nim", {}).new(0)
    (match.legal_moves(0) or []).append("take 9")
    match.legal_actions(0).clear()
    (match.observe(0).legal_moves or []).clear()
    assert match.legal_moves(0) == ["take 1", "take 2", "take 3"]
    assert match.legal_actions(0) == [0, 1, 2]


def test_simultaneous_moves_are_recorded_in_seat_order(host: Host) -> None:
    match = host.make_game("rock_paper_scissors", {"rounds": 1}).new(0)
    match.apply({1: "rock", 0: "paper"})
    assert match.events == [(0, "paper"), (1, "rock")]
    assert match.returns() == (1.0, -1.0)
    with pytest.raises(BadRecord, match=r"middle of a joint move. Only these seats moved: \[0\]"):
        match.game.load(match.events[:1])


def test_tensors_have_the_declared_shape(host: Host) -> None:
    nim = host.make_game("nim", {"sticks": 4}).new(0)
    nim.apply({0: "take 3"})
    assert nim.game.tensor_shape == nim.tensor(0).shape == (5,)
    assert (str(nim.tensor(1).dtype), nim.tensor(1).tolist()) == ("float32", [0, 1, 0, 0, 0])
    with pytest.raises(ValueError, match="has no tensor observation; use observation='text'"):
        TIC_TAC_TOE.new(0).tensor(0)


# -- worlds that a seat cannot tell apart


@given(seeds, st.integers(0, 1))
@settings(max_examples=30)
def test_resampled_worlds_match_the_seats_view(host: Host, seed: int, seat: int) -> None:
    game, rng = host.make_game("one_card_poker", {}), random.Random(seed)
    match = game.new(seed)
    if rng.random() < 0.5:
        match.apply({0: "bet"})
    worlds = [match.resample(seat, stream(seed, "world", n)) for n in range(30)]
    assert {(world.view(seat), world.to_move()) for world in worlds} == {(match.view(seat), match.to_move())}
    assert len({world.view(1 - seat) for world in worlds}) == 4  # every card but its own
    for world in worlds[:3]:
        assert looks(game.load(world.events)) == looks(world)
        play_out(world, rng)


def test_resampling_needs_a_sampler() -> None:
    with pytest.raises(NoSampler, match=r"Kuhn has no method resample\(self, events, seat, rng\)"):
        KUHN.new(0).resample(0, random.Random(0))


def test_inconsistent_sampler_is_detected() -> None:
    class MarkedKuhn(Kuhn):
        def resample(self, events: Sequence[Event], seat: int, rng: random.Random) -> Sequence[Event]:
            return [Event(CHANCE, "0"), Event(CHANCE, "1"), *events[2:]]

    game = make_game_factory(MarkedKuhn)(spec(chance=True, information="imperfect"), {})
    match = game.load([Event(CHANCE, "2"), Event(CHANCE, "1")])
    assert match.resample(1, random.Random(0)).view(0) == "0"
    with pytest.raises(RulesError, match=r"MarkedKuhn\.resample returned a world that looks different to seat 0"):
        match.resample(0, random.Random(0))


@pytest.mark.parametrize("name", FILES)
def test_examples_leak_nothing(host: Host, name: str) -> None:
    for example in host.games[name].examples:
        assert_no_leaks(host.make_game(name, example), matches=8, tries=6)


def test_leaking_position_is_detected() -> None:
    class Open(Kuhn):
        def position(self, past: tuple[str, ...], seat: int, style: Style) -> str:
            return f"{past}\n"

    with pytest.raises(AssertionError, match="leak in the full prompt"):
        assert_no_leaks(make_game_factory(Open)(spec(chance=True, information="imperfect"), {}), matches=4)


# -- free text


class Echo:
    """Rules of repeating a word that chance draws."""

    moves, utility_range, max_decisions = None, (0.0, 1.0), 1

    def start(self) -> tuple[str, ...]:
        return ()

    def to_move(self, said: tuple[str, ...]) -> tuple[int, ...]:
        return ((CHANCE,), (0,), ())[len(said)]

    def chance(self, said: tuple[str, ...]) -> Mapping[str, float]:
        return {"yes": 1, "no": 1}

    def legal_moves(self, said: tuple[str, ...], seat: int) -> None:
        return None

    def play(self, said: tuple[str, ...], moves: Mapping[int, str]) -> tuple[str, ...]:
        return (*said, *moves.values())

    def returns(self, said: tuple[str, ...]) -> tuple[float, ...]:
        return (float(len(said) == 2 and said[0] == said[1]),)

    def rules(self, seat: int, style: Style) -> str:
        return "Say it.\n"

    def position(self, said: tuple[str, ...], seat: int, style: Style) -> str:
        return f"The word: {said[0]}.\n"


def test_free_text_game_plays() -> None:
    game = make_game_factory(Echo)(spec(seats=1, chance=True, free_text=True, utility="score"), {})
    match = game.new(0)
    word = match.events[0].move
    assert (game.num_actions, game.move_pattern) == (0, None)
    assert (match.legal_moves(0), match.legal_actions(0)) == (None, [])
    assert match.observe(0, "compact").text == f"The word: {word}.\n"
    other = match.fork(random.Random(0))
    match.apply({0: word})
    other.apply({0: "anything\nat all"})
    assert (match.returns(), other.returns()) == ((1.0,), (0.0,))
    assert other.events[-1] == (0, "anything\nat all")


# -- an author's mistakes


def without(name: str) -> Callable[[], Any]:
    part = {key: value for key, value in vars(TicTacToe).items() if key != name and not key.startswith("__")}
    return type("Ours", (), part)


def changed(**parts: Any) -> Callable[[], Any]:
    return type("Ours", (TicTacToe,), parts)


@pytest.mark.parametrize("name", ["start", "to_move", "legal_moves", "play", "returns", "rules", "position", "moves"])
def test_missing_method_error_says_what_to_write(name: str) -> None:
    with pytest.raises(PluginError, match=rf"Ours is incomplete\. Define {name}( = |\(self)"):
        make_game_factory(without(name))(spec(), {})


@pytest.mark.parametrize(
    ("parts", "facts", "reason"),
    [
        (
            {"position": lambda self, board: "x\n"},
            {},
            r"Ours\.position must have the signature  def position\(self, state, s",
        ),
        ({"moves": "abc"}, {}, "moves must be a list of names, not 'abc'"),
        ({"moves": []}, {}, "moves must be a list of names"),
        ({"moves": [*TicTacToe.moves, " a1"]}, {}, "moves contains ' a1'. A move must be one line of text"),
        ({"moves": [*TicTacToe.moves, "a1"]}, {}, "moves has duplicates: 'a1'"),
        ({"moves": None}, {}, "moves is None, but the spec says free_text=False"),
        ({}, {"free_text": True}, "moves is a list of moves, but the spec says free_text=True"),
        ({"utility_range": (1.0, -1.0)}, {}, "utility_range must be two numbers, the lower first"),
        ({"max_decisions": 0}, {}, "max_decisions must be a whole number, 1 or more, not 0"),
        ({}, {"chance": True}, "Ours has no method `chance`, but the spec says chance=True"),
        ({"chance": lambda self, state: {}}, {}, "Ours has a method `chance`, but the spec says chance=False"),
        ({}, {"information": "imperfect"}, r"does not say what a seat knows. Add  def view\(self, state, seat\)"),
        ({"tensor": lambda self, state, seat: []}, {}, "only one of `tensor` and `tensor_shape`"),
        ({"tensor": lambda self, state, seat: [1, 2], "tensor_shape": (3,)}, {}, "tensor does not have the shape"),
        ({"tensor": lambda self, state, seat: [], "tensor_shape": 3}, {}, "tensor_shape must be a tuple of sizes"),
        ({"start": lambda self: ["."] * 9}, {}, "must return an immutable position: unhashable type: 'list'"),
        ({"start": lambda self: object()}, {}, "returned two unequal positions. Use a NamedTuple"),
        ({"to_move": lambda self, state: 0}, {}, r"to_move must return a tuple of seats from 0 to 1, .*, not 0"),
        ({"to_move": lambda self, state: (2,)}, {}, r"must return a tuple of seats from 0 to 1, .*, not \(2,\)"),
        ({"to_move": lambda self, state: (0, 1)}, {}, "Set dynamics='simultaneous' in the spec"),
        ({"to_move": lambda self, state: (1, 0)}, {"dynamics": "simultaneous"}, "seats in ascending order"),
        ({"to_move": lambda self, state: ()}, {}, "over before any seat has moved"),
        ({"to_move": lambda self, state: (CHANCE,)}, {}, r"returned \(CHANCE,\), but Ours has no method `chance`"),
        ({"legal_moves": lambda self, state, seat: []}, {}, "returned no legal move for seat 0, which must move"),
        ({"legal_moves": lambda self, state, seat: ["d4"]}, {}, "returned 'd4', which is not in `moves`"),
        ({"legal_moves": lambda self, state, seat: ["a1", "a1"]}, {}, "legal_moves returned a duplicate move"),
        ({"play": lambda self, state, moves: None}, {}, "play returned None; it must return the position after"),
        ({"returns": lambda self, state: 0.0}, {}, "must return a tuple of 2 numbers, one for each seat, not 0.0"),
        ({"returns": lambda self, state: (1.0,)}, {}, "must return a tuple of 2 numbers"),
        ({"rules": lambda self, seat, style: None}, {}, "Ours.rules must return text that ends with a newline"),
        ({"position": lambda self, state, seat, style: "x"}, {}, "position must return text that ends with a newline"),
        ({"view": lambda self, state, seat: 3}, {}, "view must return text, not 3"),
    ],
)
def test_author_mistakes_are_reported_at_creation(parts: dict[str, Any], facts: dict[str, Any], reason: str) -> None:
    with pytest.raises(PluginError, match=reason):
        make_game_factory(changed(**parts))(spec(**facts), {})


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (["1", "2"], r"chance must map outcomes \(strings\) to weights, like \{'heads': 1, 'tails': 1\}"),
        ({1: 1, 2: 1}, "chance must map outcomes"),
        ({}, "weights that are not negative and not all 0"),
        ({"a": 0}, "weights that are not negative and not all 0"),
        ({"a": 2, "b": -1}, "weights that are not negative and not all 0"),
    ],
)
def test_invalid_chance_weights_are_refused(weights: Any, reason: str) -> None:
    author = type("Ours", (Dice,), {"chance": lambda self, past: weights})
    with pytest.raises(PluginError, match=reason):
        make_game_factory(author)(spec(seats=1, chance=True), {})


def test_mutated_position_is_detected() -> None:
    class Board:
        def __init__(self) -> None:
            self.squares = ["."] * 9

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Board) and self.squares == other.squares

        def __hash__(self) -> int:
            return 0

        def __repr__(self) -> str:
            return "".join(self.squares)

    def put(self: TicTacToe, board: Board, moves: Mapping[int, str]) -> Board:
        [(seat, move)] = moves.items()
        board.squares[self.moves.index(move)] = "xo"[seat]
        return board

    author = changed(
        start=lambda self: Board(),
        play=put,
        to_move=lambda self, board: (sum(square != "." for square in board.squares) % 2,),
        legal_moves=lambda self, board, seat: [m for m, s in zip(self.moves, board.squares) if s == "."],
        returns=lambda self, board: (0.0, 0.0),
    )
    with pytest.raises(PluginError, match="play modified its position argument"):
        make_game_factory(author)(spec(), {})


def test_parameters_reach_the_class_as_keywords() -> None:
    about = spec(parameters=(Parameter(name="size", default=3, help="Size."),))
    with pytest.raises(PluginError, match=r"Ours does not accept the parameters of the game x \(.*arguments.*: size\."):
        make_game_factory(changed())(about, {"size": 3})

    def picky(self: object, size: int) -> None:
        if size != 3:
            raise BadParameter(f"size={size}: only 3 so far.")

    assert make_game_factory(changed(__init__=picky))(about, {"size": 3}).name == "x"
    with pytest.raises(BadParameter, match="only 3 so far"):
        make_game_factory(changed(__init__=picky))(about, {"size": 4})


def test_author_mistake_during_play_carries_the_partial_match() -> None:
    def late(self: TicTacToe, board: str, seat: int) -> Sequence[str]:
        return TicTacToe.legal_moves(self, board, seat) if board.count(".") > 5 else []

    game = make_game_factory(changed(legal_moves=late))(spec(), {})
    with pytest.raises(
        EngineError, match=r"Ours\.legal_moves returned no legal move for seat 0, which must move"
    ) as failed:
        list(play([MatchJob("m", game, [make_player("random")] * 2, 0)]))
    assert len(failed.value.played.events) == 4


def test_games_and_environments_from_files_pickle() -> None:
    """Runs in a separate process, because the file stays loaded."""
    code = (
        "import pickle, sys, gymnasium\n"
        "from gymposium import load_game\n"
        "from gymposium.envs.registration import register_envs\n"
        "from gymposium.plugins.host import host\n"
        "host().load_file(sys.argv[1]); register_envs()\n"
        "game = load_game('nim(sticks=7)')\n"
        "assert pickle.loads(pickle.dumps(game)) is game\n"
        "env = gymnasium.make('examples/TextNim-v0', sticks=7)\n"
        "env.reset(seed=3); env.step('take 1')\n"
        "twin = pickle.loads(pickle.dumps(env))\n"
        "assert twin.unwrapped.match.events == env.unwrapped.match.events\n"
        "assert repr(twin.step('take 1')) == repr(env.step('take 1'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(EXAMPLES / "nim.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
