"""Klondike solitaire against an independent model written from the rules text alone: prompts, legal moves,
results."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import BadParameter
from gymposium.games.protocol import CHANCE, Event, Game, Match
from gymposium.plugins.host import host
from gymposium.replies.reading import READERS, read_reply

RANKS = "A23456789TJQK"
DECK = [rank + suit for suit in "shcd" for rank in RANKS]
POINTS = dict(zip(RANKS, [100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 10, 10, 10], strict=True))
GLYPHS = str.maketrans("♠♥♣♦", "shcd")
seeds = st.integers(0, 2**31)


def turned_up(match: Match) -> list[str]:
    return [move.removeprefix("Reveal").translate(GLYPHS) for seat, move in match.events if seat == CHANCE]


def can_follow(card: str, last: str) -> bool:
    red = [one[1] in "hd" for one in (card, last)]
    return RANKS.index(card[0]) + 1 == RANKS.index(last[0]) and red[0] != red[1]


class RulesModel:
    """Model of a match, by the rules in the prompt. A face-down card is ?."""

    def __init__(self, match: Match) -> None:
        self.limit = match.game.params["depth_limit"]
        cards = turned_up(match)
        self.piles = [["?"] * n + [cards[n]] for n in range(7)]
        self.waste = cards[7:31]
        self.built = dict.fromkeys("shcd", 0)
        self.points, self.steps, self.ended = 0, 31, False

    def over(self) -> bool:
        return self.ended or self.steps >= self.limit

    def taken(self) -> list[str]:
        return [card for i, card in enumerate(self.waste) if i % 3 == 0]

    def tops(self) -> list[str]:
        return [RANKS[n - 1] + suit for suit, n in self.built.items() if n]

    def legal(self) -> set[str]:
        lasts = [pile[-1] for pile in self.piles if pile]
        moves = {
            f"{card} to foundation" for card in [*self.taken(), *lasts] if RANKS.index(card[0]) == self.built[card[1]]
        }
        faces = [card for pile in self.piles for card in pile if card != "?"]
        for card in [*self.taken(), *self.tops(), *faces]:
            moves |= {f"{card} to {last}" for last in lasts if can_follow(card, last)}
        if [] in self.piles:
            kings = [card for pile in self.piles for card in pile[1:]] + self.taken()
            moves |= {f"{card} to empty pile" for card in kings if card[0] == "K"}
        return moves or {"end"}

    def play(self, move: str, match: Match) -> None:
        """Apply a move, which `match` has applied already."""
        self.steps += 1
        if move == "end":
            self.ended = True
            return
        card, _, where = move.partition(" to ")
        cards = [card]
        source = next((pile for pile in self.piles if card in pile), None)
        if card in self.waste:
            self.waste.remove(card)
            self.points += 20
        elif source is None:
            self.built[card[1]] -= 1
            self.points -= POINTS[card[0]]
        else:
            cards = source[source.index(card) :]
            del source[source.index(card) :]
        if where == "foundation":
            self.built[card[1]] += 1
            self.points += POINTS[card[0]]
        else:
            pile = next(p for p in self.piles if (not p if where == "empty pile" else p and p[-1] == where))
            pile += cards
        if source and source[-1] == "?":
            self.points += 20
            source[-1] = turned_up(match)[-1]
            self.steps += 1


def check_prompts(match: Match, told: RulesModel) -> None:
    full, compact = match.observe(0).text, match.observe(0, "compact").text.splitlines()
    lines = dict(line.split(" ", 1) for line in compact)
    waste = [card if i % 3 else f"[{card}]" for i, card in enumerate(told.waste)]
    assert lines["waste"].split() == (waste or ["none"])
    assert f"\nWaste: {' '.join(waste) or 'empty'}.\n" in full
    built = [(RANKS[n - 1] if n else "-") + suit for suit, n in told.built.items()]
    assert lines["foundations"].split() == built
    names = zip(("spades", "hearts", "clubs", "diamonds"), built, strict=True)
    words = ", ".join(f"{name} {'empty' if top[0] == '-' else top[0]}" for name, top in names)
    assert full.startswith(f"Foundations, by their last card: {words}.\n")
    piles = [" ".join(pile) for pile in told.piles if pile]
    assert [line.removeprefix("pile ") for line in compact if line.startswith("pile ")] == piles
    empty = told.piles.count([])
    assert "".join(f"{line}\n" for line in [f"(empty piles: {empty}):", *piles]) in full.replace("down (", "down\n(")
    assert lines["empty"] == str(empty)
    left = max(0, told.limit - told.steps)
    assert lines["steps"] == f"{left} points {told.points}"
    end = f"The match is over. Your result: {told.points}.\n"
    assert full.endswith(end if told.over() else f"Points: {told.points}. Steps left: {left}.\n")
    assert lines["legal"] == (", ".join(match.legal_moves(0) or []) or "none")


def greedy(moves: list[str], rng: random.Random) -> str:
    """Draw a move that mostly goes to a foundation, and seldom back from one."""
    up = [move for move in moves if move.endswith("foundation")]
    return rng.choice(up if up and rng.random() < 0.9 else moves)


def play_beside(game: Game, seed: int) -> RulesModel:
    match, rng = game.new(seed), random.Random(seed)
    told = RulesModel(match)
    while not told.over():
        check_prompts(match, told)
        assert match.to_move() == (0,)
        moves = match.legal_moves(0) or []
        assert set(moves) == told.legal()
        for move in moves:
            assert read_reply(move, moves, READERS["move"], game.move_pattern).kind == "move"
        move = greedy(moves, rng)
        match.apply({0: move})
        told.play(move, match)
        assert match.returns() == (told.points,)
    check_prompts(match, told)
    assert match.to_move() == ()
    assert sum(event.seat != CHANCE for event in match.events) <= game.max_decisions
    assert 0 <= told.points <= game.utility_range[1]
    return told


@given(st.integers(32, 200), seeds)
@settings(max_examples=10)
def test_play_agrees_with_the_rules_model(depth_limit: int, seed: int) -> None:
    play_beside(load_game("solitaire", depth_limit=depth_limit), seed)


def test_random_play_covers_all_rules() -> None:
    seen: Counter[str] = Counter()
    game = load_game("solitaire", depth_limit=200)
    for seed in range(5):
        told = play_beside(game, seed)
        seen["out of steps"] += told.steps >= told.limit
        seen["empty pile"] += [] in told.piles
        seen["some built"] += sum(told.built.values()) > 10
    assert len([what for what, n in seen.items() if n]) == 3, seen


def reveal(card: str) -> Event:
    return Event(CHANCE, f"Reveal{card[0]}{'♠♥♣♦'['shcd'.index(card[1])]}")


def test_solved_match_scores_all_points() -> None:
    """The deal lets each card go to its foundation as soon as it is turned up."""
    game = load_game("solitaire", depth_limit=1000)
    ends = ["As", "Ah", "Ac", "Ad", "2s", "2h", "2c"]
    high = [rank + suit for rank in "89TJQK" for suit in "shcd"]
    below = dict(zip(ends, range(7), strict=True))
    hidden = iter(["2d", *(rank + suit for rank in "34567" for suit in "shcd")])
    match = game.load(list(map(reveal, [*ends, *high])))
    while (moves := match.legal_moves(0) or []) != ["end"]:
        move = next(move for move in moves if move.endswith("foundation"))
        events = [*match.events, Event(0, move)]
        if below.get(move[:2]):
            card = next(hidden)
            below[card] = below[move[:2]] - 1
            events.append(reveal(card))
        match = game.load(events)
    assert match.observe(0).text.startswith(
        "Foundations, by their last card: spades K, hearts K, clubs K, diamonds K.\nWaste: empty.\n"
    )
    match.apply({0: "end"})
    assert match.to_move() == ()
    assert match.returns() == (game.utility_range[1],)


def test_parameter_range_is_playable_at_both_ends() -> None:
    [parameter] = host().game("solitaire").parameters
    assert (parameter.name, parameter.low, parameter.high) == ("depth_limit", 32, 1000)
    assert play_beside(load_game("solitaire", depth_limit=32), 3).steps >= 32
    for value in (31, 1001):
        with pytest.raises(BadParameter, match="from 32 to 1000"):
            load_game("solitaire", depth_limit=value)


def test_rules_mention_the_parameters() -> None:
    game = load_game("solitaire", depth_limit=77)
    assert "The match is over after 77 steps." in game.rules(0)
    assert "solitaire, 77 steps" in game.rules(0, "compact")
    for style in ("full", "compact"):
        rules = game.rules(0, style)  # type: ignore[arg-type]
        assert all(f"{rank} {points}" in rules for rank, points in POINTS.items() if points > 10)
    assert sum(POINTS.values()) * 4 + 24 * 20 + 21 * 20 == game.utility_range[1]
    assert len(turned_up(game.new(0))) == 31


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("solitaire").new(3)
    legal = match.legal_moves(0) or []
    texts = ["Ac to foundation", "Qh to Ks", "Kd to empty pile", "end"]
    texts += ["turn up As", "Kh to As", "Qh to empty pile", "10h to Js", "ac to foundation", "Ac"]
    kinds = [read_reply(text, legal, READERS["move"], match.game.move_pattern).kind for text in texts]
    assert kinds == ["move", *["illegal"] * 3, *["unparsable"] * 6]


@pytest.mark.slow
def test_turned_up_cards_are_sampled_uniformly() -> None:
    """Forks of a match turn up different cards, none of which was seen before."""
    match = load_game("solitaire").new(1)
    rng = random.Random(0)
    while True:
        [seat] = match.to_move()
        moves = match.legal_moves(seat) or []
        before = len(turned_up(match))
        trial = match.fork(random.Random(0))
        move = rng.choice(moves)
        trial.apply({0: move})
        if len(turned_up(trial)) > before:
            break
        match = trial
    seen = turned_up(match)
    came: Counter[str] = Counter()
    for number in range(2000):
        fork = match.fork(random.Random(number))
        fork.apply({0: move})
        came[turned_up(fork)[before]] += 1
    assert set(came) == set(DECK) - set(seen)
    share = 2000 / len(came)
    assert all(abs(n - share) < 5 * share**0.5 for n in came.values())
