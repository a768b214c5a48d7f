"""Crazy eights against an independent model written from the rules text alone."""

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

RANKS = "23456789TJQKA"
DECK = [rank + suit for rank in RANKS for suit in "cdhs"]
SUITS = ["clubs", "diamonds", "hearts", "spades"]
params = st.fixed_dictionaries(
    {
        "players": st.integers(2, 5),
        "max_draw_cards": st.sampled_from([1, 2, 5, 52]),
        "max_turns": st.sampled_from([1, 20, 100, 200]),
        "use_special_cards": st.booleans(),
        "reshuffle": st.booleans(),
    }
)
seeds = st.integers(0, 2**31)


def parse_lines(match: Match, seat: int) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in match.observe(seat, "compact").text.splitlines())


def parse_cards(match: Match) -> list[str]:
    """Return the cards that came from the deck, in order."""
    return [move[-1] + move[-2].lower() for seat, move in match.events[1:] if seat == CHANCE]


def points(card: str) -> int:
    if card[0] == "8":
        return 50
    if card[0] in "JQKA":
        return 10
    return 4 * (10 if card[0] == "T" else int(card[0])) - 6 + "cdhs".index(card[1])


class RulesModel:
    """Model of a hand, by the rules in the prompt."""

    def __init__(self, game: Game, match: Match) -> None:
        self.params, self.n = game.params, game.seats
        self.draws = self.params["max_draw_cards"]
        self.dealer = int(match.events[0].move.split()[2])
        came = parse_cards(match)
        self.hands: list[list[str]] = [[] for _ in range(self.n)]
        size = 7 if self.n == 2 else 5
        for i, card in enumerate(came[: size * self.n]):
            self.hands[(self.dealer + 1 + i) % self.n].append(card)
        up = came[size * self.n :]
        assert [card[0] for card in up[:-1]] == ["8"] * (len(up) - 1)
        self.pile = [up[-1]]
        self.used = len(came)
        self.stock = 52 - size * self.n - 1
        self.past = [f"P{self.dealer} turns up {' '.join(up)}"]
        self.seat, self.direction, self.due, self.drawn = self.dealer, 1, 0, 0
        self.named: str | None = None
        self.is_naming = self.finished = False
        self.passes = self.played = 0
        self.follow(up[-1])

    @property
    def top(self) -> str:
        return self.pile[-1]

    def follow(self, card: str) -> None:
        """Apply the effects of a card that is not an eight."""
        if self.params["use_special_cards"]:
            if card[0] == "A":
                self.direction = -self.direction
            if card[0] == "Q":
                self.next()
            if card[0] == "2" and self.stock:
                self.due += 2
        self.next()

    def next(self) -> None:
        self.seat = (self.seat + self.direction) % self.n

    def legal(self) -> set[str]:
        if self.is_naming:
            return set(SUITS)
        hand = self.hands[self.seat]
        if self.due:
            return {"draw", *(card for card in hand if card[0] == "2")}
        suit = self.named[0] if self.named else self.top[1]
        moves = {card for card in hand if card[0] in ("8", self.top[0]) or card[1] == suit}
        if self.stock and self.drawn < self.draws:
            return moves | {"draw"}
        return moves | {"pass"}

    def take(self, match: Match) -> None:
        self.hands[self.seat].append(parse_cards(match)[self.used])
        self.used += 1
        self.drawn += 1
        self.stock -= 1
        self.renew()

    def renew(self) -> None:
        if not self.stock and self.params["reshuffle"]:
            self.stock = len(self.pile) - 1
            self.pile = self.pile[-1:]

    def tell(self, what: str) -> None:
        drew = f" +{self.drawn}" if self.drawn else ""
        self.past.append(f"P{self.seat}{drew}{what}")
        self.drawn = 0

    def play(self, move: str, match: Match) -> None:
        """Apply a move, which `match` has applied already."""
        if self.is_naming:
            self.named, self.is_naming = move, False
            self.past[-1] += f" {move}"
            self.next()
        elif move == "draw" and self.due:
            self.passes = 0
            while self.due:
                self.take(match)
                self.due -= 1
                if not self.stock:
                    self.passes += not self.due
                    self.due = 0
            self.tell("")
            self.next()
        elif move == "draw":
            self.passes = 0
            self.take(match)
        elif move == "pass":
            self.passes = 0 if self.stock else self.passes + 1
            self.tell(" pass")
            self.finished = self.passes == self.n + 1
            self.next()
        else:
            self.passes = 0
            self.played += 1
            self.hands[self.seat].remove(move)
            self.pile.append(move)
            self.named = None
            self.finished = not self.hands[self.seat] or self.played == self.params["max_turns"]
            self.renew()
            self.tell(f" {move}")
            if move[0] == "8":
                self.is_naming = True
            else:
                self.follow(move)


def check_prompts(match: Match, told: RulesModel) -> None:
    for seat in range(told.n):
        lines, full = parse_lines(match, seat), match.observe(seat).text
        own = sorted(told.hands[seat])
        assert sorted(lines["hand"].split()) == (own or ["none"])
        assert sorted(re.findall(r"\b\w[cdhs]\b", full.partition("\n")[0])) == own
        named = f" {told.named}" if told.named else ""
        assert lines["top"] == f"{told.top}{named}"
        assert f"Top card: {told.top}{', and the suit named is' * bool(named)}{named}." in full
        held = [f"P{s} {len(hand)}" for s, hand in enumerate(told.hands)]
        assert lines["cards"] == f"{' '.join(held)} stock {told.stock}"
        assert f"Cards held: {', '.join(held)}. Stock: {told.stock}.\n" in full
        assert lines["turns"] == ", ".join(told.past)
        assert f"Turns so far: {', '.join(told.past)}.\n" in full
        way = "up" if told.direction > 0 else "down"
        assert (f"Turns go {way} by number." in full) == told.params["use_special_cards"]
        assert lines.get("way") == (f"{way} due {told.due}" if told.params["use_special_cards"] else None)
        assert lines["legal"] == (" ".join(match.legal_moves(seat) or []) or "none")
        if not told.finished:
            assert lines["now"] == f"P{told.seat} drawn {told.drawn}"
            act = f"P{told.seat} is to act."
            if told.seat == seat:
                count = f" Cards that you have drawn in this turn: {told.drawn} of at most {told.draws}."
                due = f": draw {min(told.due, told.stock)} cards at once, or play a 2."
                act = f"You are to act{': name a suit.' if told.is_naming else due if told.due else '.' + count}"
            assert full.endswith(f"{act}\n")


def play_beside(game: Game, seed: int, idle: float) -> RulesModel:
    """Play a random match beside the model. `idle` is the rate of drawing or passing when a card could be played."""
    match, rng = game.new(seed), random.Random(seed)
    told = RulesModel(game, match)
    while not told.finished:
        check_prompts(match, told)
        assert match.to_move() == (told.seat,)
        moves = match.legal_moves(told.seat) or []
        assert set(moves) == told.legal()
        waiting = [move for move in moves if move in ("draw", "pass")]
        move = rng.choice(waiting if waiting and rng.random() < idle else moves)
        match.apply({told.seat: move})
        told.play(move, match)
    check_prompts(match, told)
    assert match.to_move() == ()
    assert sum(event.seat != CHANCE for event in match.events) <= game.max_decisions
    for seat, hand in enumerate(told.hands):
        lost = sum(map(points, hand))
        assert match.returns()[seat] == -lost >= game.utility_range[0]
        assert f"result {-lost}\n" in match.observe(seat, "compact").text
        assert match.observe(seat).text.endswith(f"The hand is over. Your result: {-lost}.\n")
    return told


@given(params, seeds, st.sampled_from([0, 0.3, 0.8, 0.98]))
@settings(max_examples=25)
def test_play_agrees_with_the_rules_model(params: dict[str, int], seed: int, idle: float) -> None:
    play_beside(load_game("crazy_eights", **params), seed, idle)


def test_random_play_covers_all_rules() -> None:
    """Covers each kind of end, an eight put back, a first card with an effect, a renewed stock, and drawing for several
    twos."""
    seen: Counter[str] = Counter()
    special = load_game("crazy_eights", players=3, use_special_cards=True, reshuffle=True)
    plain = load_game("crazy_eights", max_turns=60)
    for seed in range(18):
        for told in (play_beside(special, seed, 0.1), play_beside(plain, seed, 0.2)):
            seen["out of cards"] += not all(told.hands)
            seen["played out"] += told.played == told.params["max_turns"] and all(told.hands)
            seen["passed out"] += told.passes == told.n + 1
            seen["put back"] += len(told.past[0].split()) > 4
            seen["renewed"] += told.params["reshuffle"] and len(told.pile) < told.played
            seen["first card counts"] += told.params["use_special_cards"] and told.past[0][-2] in "2QA"
            seen["four for twos"] += any(re.search(r"\+[468]$", turn) is not None for turn in told.past)
    assert all(seen.values()), seen
    assert len(seen) == 7


def test_drawing_the_last_cards_for_twos_is_a_pass() -> None:
    """After it, two more passes end a hand of two players, which otherwise takes three passes in a row."""
    game = load_game("crazy_eights", use_special_cards=True, max_draw_cards=1)
    for seed in range(200):
        match = game.new(seed)
        told, moves = RulesModel(game, match), []
        while not told.finished:
            idle = [move for move in ("draw", "pass") if move in told.legal()]
            twos = [move for move in told.legal() if move[0] == "2" and told.stock == 2 and not told.due]
            moves.append((twos or idle)[0] if twos or idle else min(told.legal()))
            match.apply({told.seat: moves[-1]})
            told.play(moves[-1], match)
        assert match.to_move() == ()
        if moves[-4][0] == "2":
            assert moves[-3:] == ["draw", "pass", "pass"]
            return
    raise AssertionError("nobody drew exactly the last cards for a 2")


@pytest.mark.parametrize("players", [2, 3, 5])
def test_rules_mention_the_parameters(players: int) -> None:
    game = load_game("crazy_eights", players=players, max_draw_cards=3, max_turns=77)
    assert game.seats == players
    for seat in range(players):
        full, compact = game.rules(seat), game.rules(seat, "compact")
        assert f"for {players} players ({', '.join(f'P{s}' for s in range(players))})" in full
        assert f"Everybody is dealt {7 if players == 2 else 5} cards" in full
        assert "at most 3 in a turn" in full
        assert "when 77 cards have been played" in full
        assert f"passed {players + 1} times in a row" in full
        assert full.endswith(f"You are P{seat}.\n")
        assert compact.endswith(f"you are P{seat}\n")
        assert f"{players} players, draw up to 3 a turn" in compact
        assert f"over after 77 cards played or {players + 1} passes in a row" in compact
    assert ("With two players" in load_game(game.name, use_special_cards=True).rules(0)) == (players == 2)
    worst = sum(map(points, DECK)) - points("2c")
    assert game.utility_range == (-worst, 0.0)


def test_point_examples_in_the_rules_are_correct() -> None:
    assert (points("2c"), points("Ts"), points("8d"), points("As")) == (2, 37, 50, 10)
    rules = load_game("crazy_eights").rules(0)
    assert "so 2c costs 2 and Ts 37" in rules


def test_parameter_ranges_are_playable_at_both_ends() -> None:
    ranges = {"players": (2, 5), "max_draw_cards": (1, 52), "max_turns": (1, 500)}
    assert {p.name: (p.low, p.high) for p in host().game("crazy_eights").parameters if p.low is not None} == ranges
    for key, ends in ranges.items():
        for value in ends:
            play_beside(load_game("crazy_eights", **{key: value}), 7, 0.2)
        for value in (ends[0] - 1, ends[1] + 1):
            with pytest.raises(BadParameter, match=f"from {ends[0]} to {ends[1]}"):
                load_game("crazy_eights", **{key: value})


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("crazy_eights").new(3)
    [seat] = match.to_move()
    legal = match.legal_moves(seat) or []
    texts = ["draw", "pass", "hearts", "10h", "8", "Draw", "play 7c", "8c hearts", "h"]
    kinds = [read_reply(text, legal, READERS["move"], match.game.move_pattern).kind for text in texts]
    assert kinds == ["move", "illegal", "illegal", *["unparsable"] * 6]


# -- worlds


def begun(*moves: str, hands: tuple[list[str], list[str]], up: list[str], drawn: list[str]) -> Match:
    """Start a hand of two players in which P0 deals and P1 begins. `moves` are played in turn, and cards come from
    `drawn`."""
    game = load_game("crazy_eights", reshuffle=True)
    deal = [card for pair in zip(hands[1], hands[0], strict=True) for card in pair]
    events = [Event(CHANCE, "Decide Player 0 to be the dealer"), *map(came, [*deal, *up])]
    supply = iter(drawn)
    for move in moves:
        [seat] = game.load(events).to_move()
        events.append(Event(seat, move))
        if move == "draw":
            events.append(came(next(supply)))
    return game.load(events)


def came(card: str) -> Event:
    return Event(CHANCE, f"Deal {card[1].upper()}{card[0]}")


def hidden(world: Match) -> list[str]:
    """Return the cards that P1 was dealt and drew, in order."""
    cards = [event.move for event in world.events[1:15:2]]
    drew = False
    for event in world.events[15:]:
        if drew:
            cards.append(event.move)
        drew = event == Event(1, "draw")
    return [move[-1] + move[-2].lower() for move in cards]


def chi_square(counts: Counter[str], kinds: int) -> float:
    """Return the distance from evenness, in standard deviations of the chi-square distribution."""
    total = sum(counts.values())
    distance = sum((n - total / kinds) ** 2 for n in counts.values()) / (total / kinds)
    distance += (kinds - len(counts)) * total / kinds
    return float((distance - (kinds - 1)) / (2 * (kinds - 1)) ** 0.5)


MINE = ["2c", "3c", "4c", "5c", "6c", "7c", "9c"]
THEIRS = ["2d", "3d", "4d", "5d", "6d", "7d", "Tc"]


@pytest.mark.slow
def test_unseen_cards_are_sampled_uniformly() -> None:
    match, rng = begun(hands=(MINE, THEIRS), up=["8h", "Jc"], drawn=[]), random.Random(0)
    held = Counter(card for _ in range(2000) for card in hidden(match.resample(0, rng)))
    assert not set(held) & {*MINE, "Jc", "8h"}
    assert len(held) == 52 - 7 - 2
    assert abs(chi_square(held, 43)) < 4


@pytest.mark.slow
def test_played_card_may_have_come_from_any_hidden_place() -> None:
    """P1 draws twice and plays Tc, P0 follows, and P1 draws once more and plays 2d, the neighbor of 5c."""
    match = begun(
        *("draw", "draw", "Tc", "2c", "draw", "2d"), hands=(MINE, THEIRS), up=["Jc"], drawn=["Kd", "Kh", "Ks"]
    )
    rng = random.Random(0)
    pairs: Counter[str] = Counter()
    rest: Counter[str] = Counter()
    for _ in range(4000):
        cards = hidden(match.resample(0, rng))
        assert len(cards) == 10
        pairs[f"{cards.index('Tc')} {cards.index('2d')}"] += 1
        rest.update(card for card in cards if card not in ("Tc", "2d"))
    assert len(pairs) == 9 * 9
    assert abs(chi_square(pairs, 81)) < 4
    assert abs(chi_square(rest, 52 - 7 - 1 - 2)) < 4


@pytest.mark.parametrize("name", ["crazy_eights", "crazy_eights(players=4,reshuffle=True,use_special_cards=True)"])
def test_worlds_are_consistent_with_the_seats_view(name: str) -> None:
    game, rng = load_game(name), random.Random(1)
    renewed = different = worlds = 0
    for seed in range(6):
        match = game.new(seed)
        told = RulesModel(game, match)
        while match.to_move():
            [seat] = match.to_move()
            if rng.random() < 0.1:
                world = match.resample(seat, rng)
                assert isinstance(world, OpenSpielMatch)
                assert world.view(seat) == match.view(seat)
                assert world.observe(seat) == match.observe(seat)
                again = game.load(world.events)
                assert str(again.state) == str(world.state)  # type: ignore[attr-defined]
                worlds, different = worlds + 1, different + (world.events != match.events)
                renewed += len(told.pile) <= told.played
            move = rng.choice(match.legal_moves(seat) or [])
            match.apply({seat: move})
            told.play(move, match)
    assert worlds > 30
    assert different >= 0.9 * worlds
    assert bool(renewed) == game.params["reshuffle"]
