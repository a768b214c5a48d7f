"""Texas hold'em against an independent model written from the rules text alone."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event, Game, Match
from gymposium.plugins.host import host
from gymposium.replies.reading import READERS, read_reply

RANKS = "23456789TJQKA"
ROUNDS = ["before the flop", "flop", "turn", "river"]
ORDERS = {
    2: ["BB", "SB"],  # as they act after the flop
    3: ["SB", "BB", "BTN"],
    4: ["SB", "BB", "CO", "BTN"],
    5: ["SB", "BB", "UTG", "CO", "BTN"],
    6: ["SB", "BB", "UTG", "HJ", "CO", "BTN"],
}
tables = st.one_of(
    st.fixed_dictionaries(
        {"players": st.integers(2, 6), "stack": st.integers(40, 2000), "small_blind": st.integers(1, 10)}
    ),
    st.fixed_dictionaries(
        {"players": st.integers(2, 4), "betting": st.just("limit"), "small_blind": st.integers(1, 10)}
    ),
)
seeds = st.integers(0, 2**31)


def worth(five: tuple[str, ...]) -> tuple[int, list[int]]:
    """Return the kind of five cards, and their ranks in the order in which they decide."""
    ranks = sorted([RANKS.index(card[0]) for card in five], reverse=True)
    if ranks == [12, 3, 2, 1, 0]:
        ranks = [3, 2, 1, 0, -1]
    counts = sorted(Counter(ranks).items(), key=lambda item: (-item[1], -item[0]))
    shape = [count for _, count in counts]
    straight = ranks == list(range(ranks[0], ranks[0] - 5, -1))
    flush = len({card[1] for card in five}) == 1
    if straight and flush:
        kind = 8
    else:
        kinds = {(4, 1): 7, (3, 2): 6, (3, 1, 1): 3, (2, 2, 1): 2, (2, 1, 1, 1): 1}
        kind = kinds.get(tuple(shape), 5 if flush else 4 if straight else 0)
    return kind, [rank for rank, _ in counts]


def best(cards: list[str]) -> tuple[int, list[int]]:
    return max(worth(five) for five in itertools.combinations(cards, 5))


class RulesModel:
    """Model of the table, by the rules in the prompt."""

    def __init__(self, game: Game) -> None:
        params = game.params
        self.names = ORDERS[params["players"]]
        self.limit = params["betting"] == "limit"
        self.stack = 10**9 if self.limit else params["stack"]
        self.small = params["small_blind"]
        self.paid = dict.fromkeys(self.names, 0) | {"SB": self.small, "BB": 2 * self.small}
        self.before = dict.fromkeys(self.names, 0)
        self.inside = self.names.copy()
        self.past: list[list[str]] = [[]]
        self.due: list[str] = []
        self.raises = 0
        self.begin(["SB", "BB"] if len(self.names) == 2 else [*self.names[2:], "SB", "BB"])

    def begin(self, order: list[str]) -> None:
        self.due = [name for name in order if name in self.inside]
        self.raises = 0

    @property
    def round(self) -> int:
        return len(self.past) - 1

    def lacks(self, name: str) -> int:
        return max(self.paid.values()) - self.paid[name]

    def costs(self, name: str) -> dict[str, int]:
        """Return the chips that each move costs, and the legal moves."""
        lacks = self.lacks(name)
        moves = {"fold": 0, "call": lacks} if lacks else {"check": 0}
        left = self.stack - self.paid[name]
        if lacks == left:
            return moves
        if self.limit:
            if self.raises < (4 if self.round else 3):
                moves["raise"] = lacks + 2 * self.small * (1 if self.round < 2 else 2)
            return moves
        pot = lacks + (sum(self.paid.values()) + lacks)
        if pot <= left:
            moves["pot"] = pot
        if pot != left:
            moves["all-in"] = left
        return moves

    def play(self, name: str, move: str) -> None:
        chips = self.costs(name)[move]
        self.paid[name] += chips
        self.due.remove(name)
        if move == "fold":
            self.inside.remove(name)
        if move in ("raise", "pot", "all-in"):
            self.raises += 1
            at = self.names.index(name)
            self.due = [n for n in [*self.names[at + 1 :], *self.names[:at]] if n in self.inside]
        number = f" {self.paid[name] - self.before[name]}" if chips else ""
        self.past[-1].append(f"{name} {move}{number}")
        if not self.due and len(self.inside) > 1:
            while len(self.past) < 4 and not self.due:
                self.past.append([])
                self.before = self.paid.copy()
                if self.paid[self.inside[0]] < self.stack:
                    self.begin(self.names)

    def over(self) -> bool:
        return len(self.inside) == 1 or not self.due

    def results(self, cards: dict[str, list[str]], board: list[str]) -> dict[str, float]:
        winners = self.inside
        if len(winners) > 1:
            most = max(best(cards[name] + board) for name in winners)
            winners = [name for name in winners if best(cards[name] + board) == most]
        share = sum(self.paid.values()) / len(winners)
        return {name: (share if name in winners else 0) - self.paid[name] for name in self.names}


def dealt(match: Match) -> tuple[dict[str, list[str]], list[str]]:
    """Return the cards of each seat and the board, from the record."""
    cards = [event.move.split()[-1] for event in match.events if event.seat == CHANCE]
    names = ORDERS[match.game.seats]
    return {name: cards[2 * s : 2 * s + 2] for s, name in enumerate(names)}, cards[2 * len(names) :]


def check_prompts(match: Match, told: RulesModel) -> None:
    cards, board = dealt(match)
    names = told.names
    assert len(board) == [0, 3, 4, 5][told.round]
    for seat, me in enumerate(names):
        legal = match.legal_moves(seat) or []
        costs = told.costs(told.due[0]) if not told.over() else {}
        assert set(legal) == (set(costs) if not told.over() and me == told.due[0] else set())
        compact = match.observe(seat, "compact").text
        lines = dict(line.split(" ", 1) for line in compact.splitlines())
        assert sorted(lines["cards"].split()) == sorted(cards[me])
        assert sorted(lines["board"].split()) == sorted(board or ["none"])
        assert lines["board"].split()[3:] == board[3:]
        assert lines["legal"] == (" ".join(legal) or "none")
        assert lines["pot"] == f"{sum(told.paid.values())} of {' '.join(f'{n} {told.paid[n]}' for n in names)}"
        for number, past in enumerate(told.past):
            assert f"{ROUNDS[number]} {', '.join(past) or 'none'}\n" in compact
        paying = " ".join(f"{move} {chips}" for move, chips in costs.items() if chips)
        assert lines.get("costs") == (None if told.over() else paying or "none")
        check_full(match.observe(seat).text, told, me, cards[me], paying)


def check_full(text: str, told: RulesModel, me: str, mine: list[str], paying: str) -> None:
    verbs = {"folds": "fold", "checks": "check", "calls": "call", "raises": "raise"}
    verbs |= {"bets the pot": "pot", "bet the pot": "pot", "goes all-in": "all-in", "go all-in": "all-in"}
    assert text.startswith(f"You are {me}. Your cards: ")
    assert sorted(re.findall(r"\b[2-9TJQKA][cdhs]\b", text.partition("\n")[0])) == sorted(mine)
    rounds = [line for line in text.splitlines() if line.lower().startswith(tuple(ROUNDS))]
    for line, past in zip(rounds, told.past, strict=True):
        moves = []
        for step in line.rstrip(".").partition(": ")[2].split(", "):
            name, verb, chips = re.fullmatch(r"(\S+) (.*?)(?: \((\d+)\))?", step).groups()  # type: ignore[union-attr]
            if step != "no moves":
                name = me if name == "you" else name
                moves.append(f"{name} {verbs.get(verb, verb)}{f' {chips}' if chips else ''}")
        assert moves == past
    names = [name if name != me else "you" for name in told.names]
    assert f"Pot: {sum(told.paid.values())} chips (" in text
    paid = ", ".join(f"{name} {chips}" for name, chips in zip(names, told.paid.values()))
    assert f"({paid})." in text
    left = ", ".join(f"{name} {told.stack - chips}" for name, chips in zip(names, told.paid.values()))
    assert (f"Chips left: {left}." in text) != told.limit
    if not told.over():
        act = f"Chips that it takes: {re.sub(r'(?<=[0-9]) ', ', ', paying)}." if told.due[0] == me else "is to act."
        assert text.endswith(f"{act}\n")


@given(tables, seeds)
@settings(max_examples=60)
def test_play_agrees_with_the_rules_model(params: dict[str, int], seed: int) -> None:
    game = load_game("universal_poker", **params)
    match, rng, told = game.new(seed), random.Random(seed), RulesModel(game)
    bold = rng.random()
    decisions = 0
    while not told.over():
        check_prompts(match, told)
        name = told.due[0]
        assert match.to_move() == (told.names.index(name),)
        moves = match.legal_moves(told.names.index(name)) or []
        for move in moves:
            assert read_reply(move, moves, READERS["move"], game.move_pattern).kind == "move"
        move = rng.choice(moves[1:] if rng.random() < bold and len(moves) > 1 else moves)
        match.apply({told.names.index(name): move})
        told.play(name, move)
        decisions += 1
    check_prompts(match, told)
    assert match.to_move() == ()
    cards, board = dealt(match)
    results = told.results(cards, board)
    assert match.returns() == pytest.approx(tuple(results.values()))
    assert decisions <= game.max_decisions
    for seat, name in enumerate(told.names):
        full, compact = match.observe(seat).text, match.observe(seat, "compact").text
        assert full.endswith(f"The hand is over. Your result: {results[name]:+g}.\n")
        assert f"result {results[name]:+g}\n" in compact
        open_cards = re.findall(r"(\w+) (\w\w) (\w\w)", compact.partition("shown ")[2].partition("\n")[0])
        assert {n: sorted(two) for n, *two in open_cards} == (
            {n: sorted(cards[n]) for n in told.inside} if len(told.inside) > 1 else {}
        )
        assert ("Cards shown: " in full) == bool(open_cards)


def test_better_hand_wins_the_showdown() -> None:
    """Plays each kind of hand against the next, with a prepared deck."""
    board = ["9h", "8h", "7h", "2c", "2s"]
    holdings = [["Jh", "Th"], ["2d", "2h"], ["9c", "9d"], ["Ah", "3h"], ["Jc", "Tc"], ["Ac", "2d"], ["9c", "Ad"]]
    holdings += [["Ac", "Kd"], ["As", "Qd"]]
    assert [best(two + board)[0] for two in holdings] == [8, 7, 6, 5, 4, 3, 2, 1, 1]
    for better, worse in itertools.pairwise(holdings):
        assert best(better + board) > best(worse + board)
        assert showdown(better, worse, board) == (2.0, -2.0)
        assert showdown(worse, better, board) == (-2.0, 2.0)
    low = ["Kh", "3h", "4d", "5c", "Js"]
    assert showdown(["Ac", "2d"], ["Kc", "Kd"], low) == (2.0, -2.0), "an ace below the 2"
    assert showdown(["Ac", "2d"], ["As", "2h"], low) == (0.0, 0.0), "equal hands share"
    assert showdown(["Ac", "7d"], ["As", "2h"], ["Kh", "Qh", "Jd", "9c", "4s"]) == (0.0, 0.0), "only five cards count"


def showdown(one: list[str], other: list[str], board: list[str]) -> tuple[float, ...]:
    game = load_game("universal_poker")
    deal = [Event(CHANCE, f"player=-1 move=Deal {card}") for card in [*one, *other]]
    turned = [Event(CHANCE, f"player=-1 move=Deal {card}") for card in board]
    check = [Event(0, "check"), Event(1, "check")]
    events = [*deal, Event(1, "call"), Event(0, "check"), *turned[:3], *check, turned[3], *check, turned[4], *check]
    return game.load(events).returns()


def test_split_pot_may_be_a_fraction_of_a_chip() -> None:
    """Two of three players share the small blind of 1 that the third has left."""
    game = load_game("universal_poker", players=3)
    deal = ["2c", "7d", "Ac", "Kd", "Ah", "Ks", "3s", "4s", "9d", "Jd", "Jc"]
    events = [Event(CHANCE, f"player=-1 move=Deal {card}") for card in deal]
    checks = [Event(1, "check"), Event(2, "check")]
    moves = [Event(2, "call"), Event(0, "fold"), Event(1, "check"), *events[6:9], *checks, events[9], *checks]
    match = game.load([*events[:6], *moves, events[10], *checks])
    assert match.returns() == (-1.0, 0.5, 0.5)
    assert match.observe(2).text.endswith("Your result: +0.5.\n")


@pytest.mark.parametrize("players", ORDERS)
def test_rules_mention_seats_and_parameters(players: int) -> None:
    game = load_game("universal_poker", players=players, stack=70, small_blind=3)
    assert game.seats == players
    for seat, name in enumerate(ORDERS[players]):
        for style in ("full", "compact"):
            rules = game.rules(seat, style)  # type: ignore[arg-type]
            assert f"ou are {name}" in rules
            assert re.findall(r"\b(?:SB|BB|UTG|HJ|CO|BTN)\b", rules)
        full = game.rules(seat)
        assert f"for {players} players" in full
        assert "Everybody has 70 chips. SB puts 3 chips into the pot and BB 6 chips." in full
        assert f"from -70 to {70 * (players - 1)}" in full
    assert game.utility_range == (-70.0, 70.0 * (players - 1))


def test_limit_betting_follows_its_rules() -> None:
    game = load_game("universal_poker", betting="limit", small_blind=5)
    rules = game.rules(0)
    assert "10 chips more, after turn and river 20 chips more" in rules
    assert "Before the flop there are at most 3 raises, counting everybody's, and 4 in each later round." in rules
    match, most = game.new(0), 0
    while match.to_move():
        [seat] = match.to_move()
        moves = match.legal_moves(seat) or []
        most += "raise" in moves
        match.apply({seat: moves[-1]})
    assert most == 3 + 4 + 4 + 4
    assert f"from -{max(match.returns()):g} to {max(match.returns()):g}" in rules
    assert game.utility_range == (min(match.returns()), max(match.returns()))


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"players": 7}, "players=7"),
        ({"players": 5, "betting": "limit"}, "at most 4 players"),
        ({"stack": 100, "betting": "limit"}, "betting=limit has no stacks"),
        ({"stack": 39}, "from 40 to 20000"),
        ({"small_blind": 11}, "from 1 to 10"),
    ],
)
def test_unplayable_parameters_are_refused(params: dict[str, object], why: str) -> None:
    with pytest.raises(BadParameter, match=why):
        load_game("universal_poker", **params)


@pytest.mark.parametrize(
    "params",
    [
        {"stack": 40, "small_blind": 10, "players": 6},
        {"stack": 20_000, "players": 6},
        {"stack": 20_000},
        {"betting": "limit", "players": 4},
        {"betting": "limit", "small_blind": 10},
    ],
)
def test_extreme_tables_are_playable_at_any_length(params: dict[str, object]) -> None:
    """Hands in which all players raise whenever they can have a tensor throughout."""
    assert {p.name for p in host().game("universal_poker").parameters} >= set(params)
    game = load_game("universal_poker", **params)
    for seed in range(20):
        match, rng, decisions = game.new(seed), random.Random(seed), 0
        while match.to_move():
            [seat] = match.to_move()
            moves = [move for move in match.legal_moves(seat) or [] if move not in ("fold", "all-in")]
            match.apply({seat: moves[-1] if rng.random() < seed / 20 else moves[0]})
            assert match.tensor(seat).shape == game.tensor_shape
            decisions += 1
        assert decisions <= game.max_decisions
        low, high = game.utility_range
        assert all(low <= value <= high for value in match.returns())


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("universal_poker").new(1)
    legal, pattern = match.legal_moves(1), match.game.move_pattern
    kinds = {
        m: read_reply(m, legal, READERS["move"], pattern).kind for m in ["call", "check", "raise", "pot 6", "Fold", ""]
    }
    assert kinds == {
        "call": "move",
        "check": "illegal",
        "raise": "unparsable",
        "pot 6": "unparsable",
        "Fold": "unparsable",
        "": "unparsable",
    }


@pytest.mark.parametrize("players", [2, 4])
def test_hidden_cards_are_sampled_uniformly(players: int) -> None:
    game, rng = load_game("universal_poker", players=players), random.Random(0)
    match = game.new(5)
    for _ in range(2 * players):
        [seat] = match.to_move()
        match.apply({seat: "call" if "call" in (match.legal_moves(seat) or []) else "check"})
    [seat] = match.to_move()
    cards, board = dealt(match)
    assert len(board) == 4
    me = ORDERS[players][seat]
    counts: Counter[str] = Counter()
    pairs = 2000
    for _ in range(pairs):
        world = match.resample(seat, rng)
        others, same = dealt(world)
        assert same == board
        assert others.pop(me) == cards[me]
        assert world.view(seat) == match.view(seat)
        counts.update(card for two in others.values() for card in two)
    assert not set(counts) & {*board, *cards[me]}
    share = pairs * 2 * (players - 1) / 46
    assert len(counts) == 46
    assert all(abs(n - share) < 5 * share**0.5 for n in counts.values())


def test_world_after_the_showdown_keeps_shown_cards() -> None:
    game, rng = load_game("universal_poker", players=3), random.Random(0)
    match = game.new(5)
    match.apply({2: "fold"})
    while match.to_move():
        [seat] = match.to_move()
        match.apply({seat: (match.legal_moves(seat) or [])[-1]})
    assert isinstance(match, OpenSpielMatch)
    worlds = [match.resample(0, rng) for _ in range(20)]
    assert {world.view(0) for world in worlds} == {match.view(0)}
    assert len({tuple(dealt(world)[0]["BTN"]) for world in worlds}) > 10
