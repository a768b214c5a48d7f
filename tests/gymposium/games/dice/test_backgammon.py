"""Backgammon against an independent model of its rules, in each player's own numbers, and against the engine."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

import pytest

from gymposium import load_game
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event, Match

from ..boards import (
    check_engine,
    check_forks,
    check_leaks_of_example,
    check_ranges,
    check_refused,
    check_seats,
    examples,
)

START = {24: 2, 13: 5, 8: 3, 6: 5}
BAR, OFF = 25, 0


@dataclass
class Side:
    """Checkers of one player, by that player's own numbers."""

    on: dict[int, int] = field(default_factory=lambda: dict(START))

    def count(self, place: int) -> int:
        return self.on.get(place, 0)

    def add(self, place: int, number: int) -> None:
        self.on[place] = self.count(place) + number

    def copy(self) -> Side:
        return Side(dict(self.on))


def steps(mine: Side, theirs: Side, die: int) -> list[int]:
    """Return the places from which a checker may move by this number."""
    found = []
    for start in range(BAR, 0, -1):
        if not mine.count(start) or (mine.count(BAR) and start != BAR):
            continue
        end = start - die
        if end > 0:
            legal = theirs.count(25 - end) <= 1
        else:
            home = not any(mine.count(place) for place in range(7, 26))
            legal = home and (end == 0 or not any(mine.count(place) for place in range(start + 1, 7)))
        if legal:
            found.append(start)
    return found


def moved(mine: Side, theirs: Side, start: int, end: int) -> tuple[Side, Side]:
    mine, theirs = mine.copy(), theirs.copy()
    mine.add(start, -1)
    mine.add(end, 1)
    if end and theirs.count(25 - end):
        theirs.add(25 - end, -1)
        theirs.add(BAR, 1)
    return mine, theirs


def step_name(start: int, end: int) -> str:
    return f"{'bar' if start == BAR else start}/{end or 'off'}"


def legal_plays(mine: Side, theirs: Side, dice: tuple[int, int]) -> list[str]:
    """Return the legal plays, sorted: both numbers in either order if possible, else the larger number that is
    possible, else pass. A play is listed once for each order of the dice that allows it."""
    pairs, singles = [], {}
    for first, second in dict.fromkeys([dice, dice[::-1]]):
        for start in steps(mine, theirs, first):
            end = max(start - first, OFF)
            singles.setdefault(first, set()).add(step_name(start, end))
            after = moved(mine, theirs, start, end)
            thens = [step_name(then, max(then - second, OFF)) for then in steps(*after, second)]
            pairs += [f"{step_name(start, end)} {then}" for then in thens]
    return sorted(pairs) or sorted(singles[max(singles)] if singles else ["pass"])


def read_full(match: Match, seat: int) -> tuple[Side, Side]:
    text = match.observe(seat).text
    rows = text.splitlines()
    assert [line.replace("|", "").split() for line in (rows[1], rows[4])] == [
        [str(p) for p in range(13, 25)],
        [str(p) for p in range(12, 0, -1)],
    ]
    mark = "xo"[seat]
    sides = Side({}), Side({})
    for labels, cells in ((rows[1], rows[2]), (rows[4], rows[3])):
        assert len(labels) == len(cells)
        for label in re.finditer(r"\d+", labels):
            cell = cells[label.end() - 3 : label.end()].strip()  # stands under or over its number
            if cell != ".":
                mine, point = cell[0] == mark, int(label[0])
                sides[not mine].add(point if mine else 25 - point, int(cell[1:]))
    found = re.fullmatch(
        r"On the bar: you (\d+), your opponent (\d+)\. Borne off: you (\d+), your opponent (\d+)\.", rows[5]
    )
    assert found is not None
    for place, numbers in ((BAR, found.groups()[:2]), (OFF, found.groups()[2:])):
        for side, number in zip(sides, numbers):
            side.add(place, int(number))
    return sides


def read_compact(match: Match, seat: int) -> tuple[Side, Side]:
    lines = dict(line.split(" ", 1) for line in match.observe(seat, "compact").text.splitlines())
    sides = Side({}), Side({})
    for side, key, theirs in ((sides[0], "you", False), (sides[1], "opponent", True)):
        *points, bar, bars, off, offs = lines[key].split()
        assert (bar, off) == ("bar", "off")
        side.on |= {BAR: int(bars), OFF: int(offs)}
        for item in points:
            point, number = map(int, item.split(":"))
            side.add(25 - point if theirs else point, number)
    return sides


def same(found: tuple[Side, Side], expected: tuple[Side, Side]) -> bool:
    return all(a.count(place) == b.count(place) for a, b in zip(found, expected) for place in range(26))


def rolled(event: Event) -> tuple[int, int]:
    """Return the two numbers of a roll such as `chance outcome 15 O starts, (roll: 52)`."""
    found = re.search(r"\(roll: (\d)(\d)\)", event.move)
    assert found is not None
    return int(found[1]), int(found[2])


def parse_dice(match: Match, seat: int) -> tuple[int, int]:
    found = re.search(r"Dice: (\d) (\d)[.,]", match.observe(seat).text)
    assert found is not None
    return int(found[1]), int(found[2])


def play(match: Match, rng: random.Random, racing: bool) -> tuple[list[Side], int | None, set[str]]:
    """Play to the end beside the model. Returns both sides, the winner or None, and the events that occurred."""
    sides, met, turns = [Side(), Side()], set(), 1
    begins = match.events[0].move
    [seat] = match.to_move()
    assert ("X starts", "O starts")[seat] in begins
    again = False
    last_turn = int(re.search(r"has won in (\d+) turns", match.game.rules(0))[1])  # type: ignore[index]
    while True:
        dice = parse_dice(match, seat)
        assert sorted(dice) == sorted(rolled([e for e in match.events if e.seat == CHANCE][-1]))
        for who in (0, 1):
            text, compact = match.observe(who).text, match.observe(who, "compact").text
            assert same(read_full(match, who), (sides[who], sides[1 - who]))
            assert same(read_compact(match, who), (sides[who], sides[1 - who]))
            turn = "to move" if who == seat else "your opponent is to move"
            half = ", the second half of the double" if again else ""
            head = (
                f"You are {'xo'[who]}, {turn}. Turn {turns} of at most {last_turn}. Dice: {dice[0]} {dice[1]}{half}. "
            )
            assert text.startswith(head)
            whose = "yours" if who == seat else "theirs"
            assert compact.startswith(f"turn {turns} {whose}\ndice {dice[0]} {dice[1]}{' again' * again}\n")
            assert f"draw after {last_turn} turns" in match.game.rules(who, "compact")
        mine, theirs = sides[seat], sides[1 - seat]
        legal = match.legal_moves(seat) or []
        assert sorted(move.removesuffix(" low die first") for move in legal) == legal_plays(mine, theirs, dice)
        for move in legal:
            if move.endswith(" low die first"):
                met.add("low die first")
                assert move.removesuffix(" low die first") in legal, "said only where there are two of them"
        move = max(legal, key=lambda m: (m.count("off"), rng.random())) if racing else rng.choice(legal)
        match.apply({seat: move})
        played = [] if move == "pass" else move.removesuffix(" low die first").split()
        for step in played:
            start, end = step.split("/")
            before = theirs
            mine, theirs = moved(mine, theirs, BAR if start == "bar" else int(start), OFF if end == "off" else int(end))
            if theirs.count(BAR) > before.count(BAR):
                met.add("hit")
            met |= {start, end} & {"bar", "off"}
        met.add(("pass", "one number", "both numbers")[len(played)])
        sides[seat], sides[1 - seat] = mine, theirs
        if mine.count(OFF) == 15:
            return sides, seat, met
        if turns == last_turn:
            return sides, None, met
        again = dice[0] == dice[1] and len(played) == 2 and not again
        if again:
            met.add("double")
        else:
            turns += 1
            seat = 1 - seat
        assert match.to_move() == (seat,)


def test_play_agrees_with_the_rules_model() -> None:
    met, scores = set(), set()
    for seed in range(16):
        match = load_game("backgammon(scoring_type=full_scoring)").new(seed)
        sides, winner, now = play(match, random.Random(seed), racing=seed % 2 == 0)
        met |= now
        assert match.to_move() == ()
        assert winner is not None
        loser = sides[1 - winner]
        score = 1
        if not loser.count(OFF):  # a gammon; a backgammon with a checker on the bar or in the winner's home board
            score = 3 if any(loser.count(place) for place in range(19, 26)) else 2
        scores.add(score)
        assert match.returns()[winner] == score
        assert match.returns()[1 - winner] == -score
        for who in (0, 1):
            assert same(read_full(match, who), (sides[who], sides[1 - who]))
            assert same(read_compact(match, who), (sides[who], sides[1 - who]))
            assert match.observe(who).text.startswith(f"You are {'xo'[who]}. The game is over after ")
            assert match.observe(who, "compact").text.endswith("\nlegal none\n")
        again = {
            scoring: load_game("backgammon", scoring_type=scoring).load(match.events).returns()[winner]
            for scoring in ("winloss_scoring", "enable_gammons")
        }
        assert again == {"winloss_scoring": 1, "enable_gammons": min(score, 2)}
    assert scores == {1, 2, 3}
    assert met == {"hit", "bar", "off", "pass", "one number", "both numbers", "double", "low die first"}


@pytest.mark.parametrize("limit", [1, 2, 9, 30])
def test_turn_limit_without_a_winner_is_a_draw(limit: int) -> None:
    for seed in range(6):
        match = load_game("backgammon", max_player_turns=limit).new(seed)
        assert f"has won in {limit + 1} turns" in match.game.rules(1)
        _, winner, _ = play(match, random.Random(seed), racing=False)
        assert winner is None
        assert match.to_move() == ()
        assert match.returns() == (0.0, 0.0)
        assert f"The game is over after {limit + 1} turns." in match.observe(0).text


@pytest.mark.parametrize(
    ("scoring", "told", "most"),
    [
        ("winloss_scoring", "A win counts 1 and a loss -1. A game that", 1),
        ("enable_gammons", "or 2 and -2 if the loser has borne off no checker (a gammon)", 2),
        ("full_scoring", "3 and -3 if besides one of the loser's checkers is on the bar or in the winner's home", 3),
    ],
)
def test_rules_state_the_scoring(scoring: str, told: str, most: int) -> None:
    game = load_game("backgammon", scoring_type=scoring)
    assert game.utility_range == (-most, most)
    for seat in (0, 1):
        assert told in game.rules(seat)
        assert f"You play {'xo'[seat]}, your opponent {'ox'[seat]}" in game.rules(seat)
        assert f"you are {'xo'[seat]}" in game.rules(seat, "compact")


def test_view_includes_the_number_of_turns() -> None:
    match = load_game("backgammon").new(5)
    rng = random.Random(5)
    assert isinstance(match, OpenSpielMatch)
    while seats := match.to_move():
        rolls = sum(event.seat == CHANCE for event in match.events)
        assert match.view(0).endswith(f"Turns: {rolls}\n")
        match.apply({seats[0]: rng.choice(match.legal_moves(seats[0]))})
    assert match.view(1).endswith(f"Turns: {sum(event.seat == CHANCE for event in match.events)}\n")


@pytest.mark.parametrize(
    "game",
    examples("backgammon", "backgammon(max_player_turns=1)", "backgammon(scoring_type=enable_gammons)"),
    ids=lambda game: game.name,
)
def test_moves_positions_and_returns_match_the_engine(game: OpenSpielGame) -> None:
    check_engine(game)


def test_parameter_ranges_are_enforced() -> None:
    check_ranges("backgammon", {"scoring_type": (None, None), "max_player_turns": (1, 5000)})


def test_prompts_tell_each_seat_its_side() -> None:
    check_seats("backgammon", "xo")


@pytest.mark.slow
def test_each_style_shows_exactly_what_the_seat_knows() -> None:
    check_leaks_of_example("backgammon")


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    check_refused(
        "backgammon",
        ["pass", "bar/20", "1/off", "24/23 24/23", "6/off 6/off low die first"],
        ["24/18*", "13/11(2)", "24/22/21", "25/24", "0/off", "24-18", "13/7, 8/7", "off/6", "1/bar"],
    )


def test_forks_continue_independently() -> None:
    check_forks("backgammon")
