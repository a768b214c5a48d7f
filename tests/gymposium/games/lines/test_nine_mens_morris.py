"""Nine men's morris against an independent model written from the rules text and the picture alone."""

from __future__ import annotations

import random
import re

import pytest

from gymposium import load_game
from gymposium.errors import IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import Event
from gymposium.replies.reading import READERS, read_reply

MORRIS: OpenSpielGame = load_game("nine_mens_morris")  # type: ignore[assignment]
COLORS, MARKS = ("White", "Black"), "WB"

Picture = dict[tuple[int, int], str]
"""What is drawn at each place, by line and column."""


def draw_picture(match: OpenSpielMatch, seat: int) -> tuple[Picture, dict[str, tuple[int, int]]]:
    """Return the board as drawn, and the places of its points."""
    *lines, columns = match.observe(seat).text.partition("The board:\n")[2].splitlines()
    drawn = {(y, x): mark for y, line in enumerate(lines) for x, mark in enumerate(line) if x > 1}
    points = {
        f"{columns[x]}{lines[y][0]}": (y, x) for (y, x), mark in drawn.items() if mark in ".WB" and lines[y][0] != " "
    }
    return drawn, points


EMPTY, POINTS = draw_picture(MORRIS.new(0), 0)
NAMES = {place: point for point, place in POINTS.items()}


def follow(point: str, down: int, right: int) -> str:
    """Return the next point along a line of the picture, or ""."""
    stroke, (y, x) = "|" if down else "-", POINTS[point]
    y, x = y + down, x + right
    length = 0
    while EMPTY.get((y, x)) == stroke:
        y, x, length = y + down, x + right, length + 1
    return NAMES.get((y, x), "") if length else ""


NEXT = {p: {q for way in ((1, 0), (-1, 0), (0, 1), (0, -1)) if (q := follow(p, *way))} for p in POINTS}
MILLS = [{p, q, r} for p in POINTS for way in ((1, 0), (0, 1)) if (q := follow(p, *way)) and (r := follow(q, *way))]


class RulesModel:
    """Model of a match, by the rules in the prompt."""

    def __init__(self) -> None:
        self.men: tuple[set[str], set[str]] = (set(), set())
        self.hand = [9, 9]
        self.seat, self.turns, self.removing = 0, 0, False

    def mills(self, seat: int) -> list[set[str]]:
        return [mill for mill in MILLS if mill <= self.men[seat]]

    def free(self) -> set[str]:
        return POINTS.keys() - self.men[0] - self.men[1]

    def legal(self) -> set[str]:
        if self.removing:
            theirs = self.men[1 - self.seat]
            return theirs.difference(*self.mills(1 - self.seat)) or theirs
        if self.hand[self.seat]:
            return self.free()
        mine = self.men[self.seat]
        return {p + q for p in mine for q in self.free() & (POINTS.keys() if len(mine) == 3 else NEXT[p])}

    def play(self, move: str) -> None:
        mine, theirs = self.men[self.seat], self.men[1 - self.seat]
        if self.removing:
            theirs.remove(move)
            self.removing = False
        else:
            if len(move) == 2:
                self.hand[self.seat] -= 1
            else:
                mine.remove(move[:2])
            mine.add(move[-2:])
            self.removing = any(move[-2:] in mill for mill in self.mills(self.seat))
        if not self.removing:
            self.seat, self.turns = 1 - self.seat, self.turns + 1

    def loser(self) -> int | None:
        few = [seat for seat in (0, 1) if len(self.men[seat]) + self.hand[seat] < 3]
        return few[0] if few else None if self.legal() else self.seat

    def task(self) -> str:
        if self.removing:
            return f"remove one of {COLORS[1 - self.seat]}'s men"
        if self.hand[self.seat]:
            return "place a man"
        return "move a man to any empty point" if len(self.men[self.seat]) == 3 else "move a man"


def parse_limit() -> int:
    found = re.search(
        r"After (\d+) turns, counting both players', the game is a draw, unless the last", MORRIS.rules(0)
    )
    assert found is not None
    return int(found[1])


def check_position(match: OpenSpielMatch, account: RulesModel) -> None:
    listed = [" ".join(point for point in POINTS if point in men) or "none" for men in account.men]
    for seat in (0, 1):
        drawn, points = draw_picture(match, seat)
        assert points == POINTS
        men = [{point for point, place in points.items() if drawn[place] == mark} for mark in MARKS]
        assert men == list(account.men)
        assert {at: mark for at, mark in drawn.items() if at not in NAMES} == {
            at: mark for at, mark in EMPTY.items() if at not in NAMES
        }
        text = match.observe(seat).text
        turn = f", to {account.task()}." if match.to_move() == (seat,) else "."
        assert text.startswith(f"You are {COLORS[seat]}{turn} ")
        assert (
            f" Turns so far: {account.turns}. Men to place: White {account.hand[0]}, Black {account.hand[1]}. "
            f"Men on the board: White {len(account.men[0])}, Black {len(account.men[1])}. "
        ) in text
        assert match.observe(seat, "compact").text == (
            f"turns {account.turns}\nW {listed[0]} hand {account.hand[0]}\nB {listed[1]} hand {account.hand[1]}\n"
            f"{'remove' if account.removing else 'move'}\nlegal {' '.join(match.legal_moves(seat)) or 'none'}\n"
        )


def play(rng: random.Random, *, kind: float, every: int) -> str:
    """Play a random match beside the model, closing mills at the rate of `kind`. Returns how it ended."""
    match: OpenSpielMatch = MORRIS.new(0)
    account, limit = RulesModel(), parse_limit()
    while account.loser() is None and account.turns < limit:
        assert match.to_move() == (account.seat,)
        legal = match.legal_moves(account.seat)
        assert set(legal) == account.legal()
        assert len(legal) == len(account.legal())
        if len(match.events) % every == 0 or account.removing:
            check_position(match, account)
        pool = legal
        if not account.removing and rng.random() < kind:
            mine = account.men[account.seat]
            pool = [m for m in legal if any(m[-2:] in mill and mill <= (mine - {m[:2]}) | {m[-2:]} for mill in MILLS)]
        move = rng.choice(pool or legal)
        match.apply({account.seat: move})
        account.play(move)
    check_position(match, account)
    assert match.to_move() == ()
    loser = account.loser()
    assert match.returns() == ((0.0, 0.0) if loser is None else (-1.0, 1.0) if loser == 0 else (1.0, -1.0))
    assert f"The game is over: {'a draw' if loser is None else f'{COLORS[1 - loser]} wins'}." in match.observe(0).text
    if loser is None:
        return "draw"
    return "two men" if len(account.men[loser]) + account.hand[loser] == 2 else "blocked"


def test_picture_has_the_usual_lines() -> None:
    assert len(POINTS) == 24
    assert len(MILLS) == 16
    assert sum(len(ends) for ends in NEXT.values()) == 2 * 32
    assert {"a1", "d1", "g1"} in MILLS
    assert {"d7", "d6", "d5"} in MILLS
    assert NEXT["d2"] == {"d1", "d3", "b2", "f2"}
    assert NEXT["d5"] == {"d6", "c5", "e5"}


def test_play_agrees_with_the_rules_model() -> None:
    ends = {play(random.Random(seed), kind=(0.0, 0.5, 1.0)[seed % 3], every=6) for seed in range(15)}
    assert ends == {"two men", "draw"}


def load(moves: str) -> OpenSpielMatch:
    """Load the match with these moves. Their seats follow from the rules."""
    account, events = RulesModel(), []
    for move in moves.split():
        events.append(Event(account.seat, move))
        account.play(move)
    return MORRIS.load(events)


def test_player_without_a_move_loses() -> None:
    match = load("c5 d3 d7 d6 a4 e5 f6 d5 d2 b2 e3 b4 d1 c3 e4 c4 b6 g4 d1g1 g4f4 g1g4 f4f2 g4f4")
    assert match.to_move() == ()
    assert "Men on the board: White 9, Black 9." in match.observe(0).text
    assert match.returns() == (1.0, -1.0)


def test_last_turn_can_still_win() -> None:
    rng, match = random.Random(219), MORRIS.new(0)
    account = RulesModel()
    while match.to_move():
        legal = match.legal_moves(account.seat)
        move = legal[int(rng.random() * len(legal))]
        match.apply({account.seat: move})
        account.play(move)
    assert account.turns == parse_limit()
    assert account.loser() is not None
    assert match.returns()[account.loser()] == -1.0


def test_two_mills_closed_at_once_remove_one_man() -> None:
    match = load("a7 b6 g7 b4 d6 f4 d5 d2 d7 b6")
    assert match.to_move() == (1,)
    assert "Men on the board: White 5, Black 3." in match.observe(0).text


def test_men_in_mills_are_safe_unless_all_are() -> None:
    match = load("a7 b6 d7 d6 a1 f6 a1 d2 c5 g7")
    assert match.to_move() == (0,)
    assert match.legal_moves(0) == ["c5"]
    match = load("a7 b6 d7 d6 a1 f6 a1 g7")
    assert match.to_move() == (0,)
    assert match.legal_moves(0) == ["b6", "d6", "f6"]


def test_prompts_tell_each_seat_its_side() -> None:
    assert MORRIS.new(0).to_move() == (0,)
    for seat in (0, 1):
        assert MORRIS.rules(seat).endswith(f"You play {COLORS[seat]} and move {('first', 'second')[seat]}.\n")
        assert MORRIS.rules(seat, "compact").endswith(f"you are {COLORS[seat]}\n")
        assert f"draw after {parse_limit()} turns of both players" in MORRIS.rules(seat, "compact")


def test_tensor_holds_what_the_board_does_not_show() -> None:
    match = load("a7 b6 d7 d6 g7")
    for seat in (0, 1):
        tensor = match.tensor(seat)
        assert tensor.shape == MORRIS.tensor_shape == (10, 7, 7)
        assert [float(tensor[plane].max()) for plane in range(5, 10)] == pytest.approx(
            [seat, 1, 6 / 9, 7 / 9, 4 / 200], abs=1e-6
        )
        assert (tensor[5:].min(axis=(1, 2)) == tensor[5:].max(axis=(1, 2))).all()


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("a7", "move"),
        ("a7d7", "illegal"),
        ("d4", "unparsable"),
        ("a2", "unparsable"),
        ("a7-d7", "unparsable"),
        ("place a7", "unparsable"),
        ("0", "unparsable"),
    ],
)
def test_replies_are_classified(reply: str, kind: str) -> None:
    match = MORRIS.new(0)
    assert read_reply(reply, match.legal_moves(0), READERS["move"], MORRIS.move_pattern).kind == kind
    if kind != "move":
        with pytest.raises(IllegalMove):
            match.apply({0: reply})
