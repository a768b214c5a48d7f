"""Hanabi against an independent model written from the rules text alone: prompts, legal moves, results."""

from __future__ import annotations

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

COLORS = ["red", "yellow", "green", "white", "blue"]
params = st.fixed_dictionaries(
    {
        "players": st.integers(2, 5),
        "colors": st.integers(2, 5),
        "ranks": st.integers(2, 5),
        "hand_size": st.sampled_from([1, 2]),
        "max_information_tokens": st.sampled_from([1, 3, 8]),
        "max_life_tokens": st.integers(1, 3),
    }
)
seeds = st.integers(0, 2**31)


def dealt(match: Match) -> list[str]:
    return [move[-3:-1] for seat, move in match.events if seat == CHANCE]


class RulesModel:
    """Model of a match, by the rules in the prompt."""

    def __init__(self, game: Game, match: Match) -> None:
        params = game.params
        self.n = params["players"]
        self.size = params["hand_size"]
        self.colors = COLORS[: params["colors"]]
        self.numbers = list(range(1, params["ranks"] + 1))
        self.tokens = self.hints = params["max_information_tokens"]
        self.lives = params["max_life_tokens"]
        copies = dict.fromkeys(self.numbers, 2) | {self.numbers[-1]: 1} | {1: 3}
        self.deck = len(self.colors) * sum(copies.values())
        self.cards = iter(dealt(match))
        self.hands: list[list[str]] = [[next(self.cards) for _ in range(self.size)] for _ in range(self.n)]
        self.deck -= self.n * self.size
        self.may = [[self.anything() for _ in hand] for hand in self.hands]
        self.stacks = {color[0].upper(): 0 for color in self.colors}
        self.gone: list[str] = []
        self.past: list[str] = []
        self.seat = 0
        self.more = self.n if not self.deck else None

    def anything(self) -> tuple[set[str], set[int]]:
        return {color[0].upper() for color in self.colors}, set(self.numbers)

    def over(self) -> bool:
        return not self.lives or self.more == 0 or all(n == self.numbers[-1] for n in self.stacks.values())

    def result(self) -> int:
        return sum(self.stacks.values()) if self.lives else 0

    def legal(self) -> set[str]:
        places = range(1, len(self.hands[self.seat]) + 1)
        moves = {f"play {i}" for i in places}
        if self.hints < self.tokens:
            moves |= {f"discard {i}" for i in places}
        if self.hints:
            for other, hand in enumerate(self.hands):
                if other != self.seat:
                    moves |= {f"hint P{other} {c}" for c in self.colors if any(c[0].upper() in card for card in hand)}
                    moves |= {f"hint P{other} {n}" for n in self.numbers if any(str(n) in card for card in hand)}
        return moves

    def play(self, move: str, match: Match) -> None:
        """Apply a move, which `match` has applied already."""
        what, where, *kind = move.split()
        if self.more is not None:
            self.more -= 1
        if kind:
            self.hints -= 1
            other, key = int(where[1:]), kind[0][0].upper()
            meant = [i for i, card in enumerate(self.hands[other]) if key in card]
            for i, (colors, numbers) in enumerate(self.may[other]):
                if key.isdigit():
                    numbers &= {int(key)} if i in meant else numbers - {int(key)}
                else:
                    colors &= {key} if i in meant else colors - {key}
            note = f"({' '.join(str(i + 1) for i in meant)})"
        else:
            place = int(where) - 1
            note = card = self.hands[self.seat].pop(place)
            self.may[self.seat].pop(place)
            if what == "play" and self.stacks[card[0]] == int(card[1]) - 1:
                self.stacks[card[0]] += 1
                self.hints += int(card[1]) == self.numbers[-1] and self.hints < self.tokens
            else:
                self.gone.append(card)
                self.hints += what == "discard"
                self.lives -= what == "play"
                note += " x" * (what == "play")
            if self.deck and not self.over():
                self.cards = iter(dealt(match)[-1:])
                self.hands[self.seat].append(next(self.cards))
                self.may[self.seat].append(self.anything())
                self.deck -= 1
                self.more = None if self.deck else self.n
        self.past.append(f"P{self.seat} {move} {note}")
        self.seat = (self.seat + 1) % self.n


def known(card: tuple[set[str], set[int]]) -> tuple[str, str]:
    return "".join(c for c in "RYGWB" if c in card[0]), "".join(map(str, sorted(card[1])))


def check_prompts(match: Match, told: RulesModel) -> None:
    stacks = " ".join(f"{color}{n}" for color, n in told.stacks.items())
    for seat in range(told.n):
        full, compact = match.observe(seat).text, match.observe(seat, "compact").text
        lines = dict(line.split(" ", 1) for line in compact.splitlines())
        assert lines["lives"].startswith(f"{told.lives} hints {told.hints} deck {told.deck}")
        assert f"Lives: {told.lives}. Hint tokens: {told.hints}. Cards in the deck: {told.deck}." in full
        last = told.more is not None and not told.over()
        assert (lines["lives"].partition(" turns ")[2] == str(told.more)) == last
        assert (f"{told.more} turn{'s' * (told.more != 1)} to go." in full) == last
        assert lines["stacks"] == stacks
        assert lines["gone"] == (" ".join(told.gone) or "none")
        assert f"Stacks: {stacks}. Discarded: {' '.join(told.gone) or 'none'}.\n" in full
        assert lines["turns"] == (", ".join(told.past) or "none")
        assert f"Turns so far: {', '.join(told.past) or 'none'}.\n" in full
        for s, (hand, may) in enumerate(zip(told.hands, told.may, strict=True)):
            short = ["".join(known(m)) if s == seat else f"{card}:{''.join(known(m))}" for card, m in zip(hand, may)]
            assert lines[f"P{s}"] == (" ".join(short) or "none")
            whose = "Your hand, as far as you know it" if s == seat else f"P{s}'s hand (as far as P{s} knows it)"
            cards = [
                " ".join(known(m)) if s == seat else f"{card} ({' '.join(known(m))})" for card, m in zip(hand, may)
            ]
            told_cards = ", ".join(f"{i}: {card}" for i, card in enumerate(cards, start=1))
            assert f"{whose}: {told_cards or 'empty'}.\n" in full
        assert lines["legal"] == (", ".join(match.legal_moves(seat) or []) or "none")
        if told.over():
            assert lines["result"] == str(told.result())
            assert full.endswith(f"The match is over. The result: {told.result()}.\n")
        else:
            assert lines["now"] == f"P{told.seat}"
            assert full.endswith(f"{'You are' if seat == told.seat else f'P{told.seat} is'} to move.\n")


def careful(told: RulesModel, moves: list[str], rng: random.Random) -> str:
    """Draw a move that loses no life, or sometimes any move."""
    fits = [f"play {i}" for i, (c, n) in enumerate(told.hands[told.seat], start=1) if told.stacks[c] == int(n) - 1]
    safe = fits or [move for move in moves if not move.startswith("play")] or moves
    return rng.choice(safe if rng.random() < 0.95 else moves)


def play_beside(game: Game, seed: int) -> RulesModel:
    match, rng = game.new(seed), random.Random(seed)
    told = RulesModel(game, match)
    while not told.over():
        check_prompts(match, told)
        assert match.to_move() == (told.seat,)
        moves = match.legal_moves(told.seat) or []
        assert set(moves) == told.legal()
        for move in moves:
            assert read_reply(move, moves, READERS["move"], game.move_pattern).kind == "move"
        move = careful(told, moves, rng)
        match.apply({told.seat: move})
        told.play(move, match)
    check_prompts(match, told)
    assert match.to_move() == ()
    assert match.returns() == (told.result(),) * told.n
    assert sum(event.seat != CHANCE for event in match.events) <= game.max_decisions
    return told


@given(params, seeds)
@settings(max_examples=25)
def test_play_agrees_with_the_rules_model(params: dict[str, int], seed: int) -> None:
    if params["players"] * params["hand_size"] <= params["colors"] * (3, 4, 6, 8, 10)[params["ranks"] - 1]:
        play_beside(load_game("hanabi", **params), seed)


def test_random_play_covers_all_rules() -> None:
    seen: Counter[str] = Counter()
    games = [load_game("hanabi", max_life_tokens=1), load_game("hanabi", colors=2, ranks=2, hand_size=2)]
    for seed in range(6):
        for game in games:
            told = play_beside(game, seed)
            seen["lost"] += not told.lives
            seen["all stacks complete"] += set(told.stacks.values()) == {told.numbers[-1]} and told.lives > 0
            seen["last turns"] += told.more == 0
    assert seen["last turns"]
    assert seen["lost"]
    assert seen["all stacks complete"]


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_rules_mention_the_parameters(players: int) -> None:
    given = {"colors": 4, "ranks": 4, "hand_size": 3, "max_information_tokens": 5, "max_life_tokens": 2}
    game = load_game("hanabi", players=players, **given)
    assert game.seats == players
    assert game.utility_range == (0.0, 16.0)
    for seat in range(players):
        full = game.rules(seat)
        assert f"for {players} players ({', '.join(f'P{s}' for s in range(players))})" in full
        assert "4 colours, red (R), yellow (Y), green (G), white (W), with numbers from 1 to 4" in full
        assert "in each colour 3 of 1, 2 of 2, 2 of 3, 1 of 4, 32 cards in all" in full
        assert "Everybody holds 3 cards." in full
        assert f"hint P{(seat + 1) % players} red or hint P{(seat + 1) % players} 1" in full
        assert "a hint token, of which there are 5" in full
        assert "a life is lost, of which there are 2" in full
        assert full.endswith(f"You are P{seat}.\n")
        assert "hints 5, lives 2" in game.rules(seat, "compact")
    copies = Counter(dealt(game.new(0))) | Counter(card for seed in range(9) for card in set(dealt(game.new(seed))))
    assert set(copies) <= {f"{c}{n}" for c in "RYGW" for n in range(1, 5)}


@pytest.mark.parametrize(("players", "cards"), [(2, 5), (3, 5), (4, 4), (5, 4)])
def test_hand_size_depends_on_the_number_of_players(players: int, cards: int) -> None:
    game = load_game("hanabi", players=players)
    assert len(dealt(game.new(0))) == players * cards
    assert f"Everybody holds {cards} cards." in game.rules(0)
    assert load_game(f"hanabi(players={players},hand_size={cards})").name == game.name
    other = load_game("hanabi", players=players, hand_size=9 - cards)
    assert load_game(other.name).params["hand_size"] == 9 - cards
    assert len(dealt(other.new(0))) == players * (9 - cards)


def test_parameter_ranges_are_playable_at_both_ends() -> None:
    ranges = {p.name: (p.low, p.high) for p in host().game("hanabi").parameters}
    assert ranges == {
        "players": (2, 5),
        "colors": (1, 5),
        "ranks": (1, 5),
        "hand_size": (1, 5),
        "max_information_tokens": (1, 8),
        "max_life_tokens": (1, 3),
    }
    for key, (low, high) in ranges.items():
        assert low is not None
        assert high is not None
        for value in (int(low), int(high)):
            play_beside(load_game("hanabi", **{key: value}), 7)
        for value in (int(low) - 1, int(high) + 1):
            with pytest.raises(BadParameter, match=f"from {low} to {high}"):
                load_game("hanabi", **{key: value})
    with pytest.raises(BadParameter, match="5 players with 4 cards each need more than the 10 cards"):
        load_game("hanabi", players=5, colors=1)


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("hanabi").new(3)
    legal = match.legal_moves(0) or []
    texts = ["play 5", "discard 1", "hint P0 red", "hint P1 6", "play 0", "play 6", "hint red", "hint P2 1", "Play 1"]
    kinds = [read_reply(text, legal, READERS["move"], match.game.move_pattern).kind for text in texts]
    assert kinds == ["move", "illegal", "illegal", *["unparsable"] * 6]


# -- worlds


def begun(own: list[str], theirs: list[str], *moves: str) -> Match:
    """Start a match of two players with hands of two. P0 begins, and cards that have gone are replaced from `drawn`."""
    game = load_game("hanabi", colors=2, ranks=3, hand_size=2)
    events = [Event(CHANCE, f"(Deal {card})") for card in [*own, *theirs]]
    for move in moves:
        if len(move) == 2:
            events.append(Event(CHANCE, f"(Deal {move})"))
        else:
            events.append(Event(game.load(events).to_move()[0], move))
    return game.load(events)


def held(world: Match) -> str:
    """Return P0's hand, read from P1's prompt."""
    lines = dict(line.split(" ", 1) for line in world.observe(1, "compact").text.splitlines())
    return " ".join(re.findall(r"(\w\d):", lines["P0"]))


def chi_square(counts: Counter[str], expected: dict[str, float]) -> float:
    """Return the distance from the expected counts, in standard deviations of the chi-square distribution."""
    total = sum(counts.values())
    whole = sum(expected.values())
    distance = sum((counts[key] - total * n / whole) ** 2 / (total * n / whole) for key, n in expected.items())
    return float((distance - (len(expected) - 1)) / (2 * (len(expected) - 1)) ** 0.5)


@pytest.mark.slow
def test_sampled_hands_agree_with_the_hints() -> None:
    """P0 holds R1 and Y2, P1 Y1 and R3. P1 hints that the second card is P0's only 2, P0 plays R1 and draws a card, and
    P1 hints the red cards."""
    moves = ["hint P1 3", "hint P0 2", "play 1", "Y1", "hint P0 yellow"]
    match = begun(["R1", "Y2"], ["Y1", "R3"], *moves, "hint P1 red", "hint P0 1")
    assert match.to_move() == (0,)
    left = Counter(["R1", "R1", "R1", "Y1", "Y1", "Y1", "R2", "R2", "Y2", "Y2", "R3", "Y3"])
    left -= Counter(["Y1", "R3", "R1"])
    pairs = {"Y2 Y1": float(left["Y2"] * left["Y1"])}  # the older card, then the new one: both yellow, 2 and 1
    rng = random.Random(0)
    assert {held(match.resample(0, rng)) for _ in range(50)} == set(pairs)

    match = begun(["R1", "Y2"], ["Y1", "R3"], "hint P1 3", "hint P0 2")
    left = Counter(["R1", "R1", "R1", "Y1", "Y1", "Y1", "R2", "R2", "Y2", "Y2", "R3", "Y3"]) - Counter(["Y1", "R3"])
    expected = {
        f"{one} {two}": float(left[one] * left[two]) for one in left if one[1] != "2" for two in left if two[1] == "2"
    }
    counts = Counter(held(match.resample(0, rng)) for _ in range(3000))
    assert set(counts) == set(expected)
    assert abs(chi_square(counts, expected)) < 4


@pytest.mark.parametrize("name", ["hanabi", "hanabi(players=4)"])
def test_worlds_are_consistent_with_the_seats_view(name: str) -> None:
    game, rng = load_game(name), random.Random(1)
    different = worlds = 0
    for seed in range(4):
        match = game.new(seed)
        told = RulesModel(game, match)
        while match.to_move():
            [seat] = match.to_move()
            if rng.random() < 0.3:
                world = match.resample(seat, rng)
                assert isinstance(world, OpenSpielMatch)
                assert world.view(seat) == match.view(seat)
                assert world.observe(seat) == match.observe(seat)
                again = game.load(world.events)
                assert str(again.state) == str(world.state)  # type: ignore[attr-defined]
                worlds, different = worlds + 1, different + (world.events != match.events)
            move = careful(told, match.legal_moves(seat) or [], rng)
            match.apply({seat: move})
            told.play(move, match)
    assert worlds > 15
    assert different >= 0.9 * worlds
