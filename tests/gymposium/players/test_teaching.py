"""Players recommend moves to learners."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from gymposium.analysis.exact.optima import compute_optima_against_random
from gymposium.analysis.exact.policy import tabulate_policy
from gymposium.analysis.exact.size import TooLarge
from gymposium.analysis.exact.value import compute_value
from gymposium.errors import GymposiumError
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import load_game
from gymposium.players.asking import get_blame_note
from gymposium.players.distribution import MoveDistribution
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, MatchContext, Player, Reply, check_size
from gymposium.players.teaching import CachedTeacher, ask_teacher, check_teaches, recommend_moves
from gymposium.replies.reading import READERS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "write-a-player.md"


class Scripted:
    """A player that gives one reply."""

    name = "scripted"
    reader = READERS["move"]
    style: Style = "compact"

    def __init__(self, text: str) -> None:
        self.text = text

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self.text) for _ in asks]


def recommend(player: Player | str, game: Game, moves: Sequence[str] = (), seed: int = 0) -> MoveDistribution:
    match = game.new(0)
    for move in moves:
        match.apply({match.to_move()[0]: move})
    teacher = make_player(player) if isinstance(player, str) else player
    [found] = ask_teacher(teacher, [MatchContext(match, "match", seed).ask(match.to_move()[0])])
    return found


def test_players_that_only_reply_recommend_their_move() -> None:
    game = load_game("kuhn_poker")
    assert recommend(Scripted("bet"), game).probabilities == (0.0, 1.0)
    nothing = recommend(Scripted("fold"), game)
    assert (nothing.probabilities, nothing.legal_mass) == ((0.0, 0.0), 0.0)


@pytest.mark.parametrize("odds", [(1.0, 1.0), (float("nan"), 1.0), (-1.0, 2.0), (1.0,), (float("inf"), 0.0)])
def test_recommendations_are_probabilities(odds: tuple[float, ...]) -> None:
    class Wrong(Scripted):
        def teach(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
            return [MoveDistribution(("pass", "bet"), odds, 1.0, None) for _ in asks]

    with pytest.raises(ValueError, match=r"player scripted returned the probabilities .* which add up to 1, or zeros"):
        recommend(Wrong("bet"), load_game("kuhn_poker"))


@pytest.mark.parametrize("what", ["teach", "distributions"])
@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        [],
        ["bet"],
        [None],
        [MoveDistribution(None, (1.0,), 1.0, None)],  # type: ignore[arg-type]
        [MoveDistribution(("pass", "bet"), ("0", "1"), 1.0, None)],  # type: ignore[arg-type]
    ],
)
def test_invalid_recommendations_are_blamed_on_the_teacher(what: str, wrong: Any) -> None:
    invalid = type("Invalid", (Scripted,), {what: lambda self, asks: wrong})
    with pytest.raises((TypeError, ValueError), match=r"^player scripted (returned|was asked)") as raised:
        recommend(invalid("bet"), load_game("kuhn_poker"))
    assert get_blame_note(raised.value) == f"The player 'scripted' failed in {__file__}."


def test_example_of_the_guide_recommends_free_corners() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    example: dict[str, Any] = {}
    exec("\n".join(blocks), example)
    teacher, game = example["TeachingCorners"](), load_game("tic_tac_toe")
    assert set(recommend(teacher, game, ("a1",)).likeliest) == {"a3", "c1", "c3"}
    assert recommend(teacher, game, ("a1", "a3", "c1", "c3")).likeliest == ()


def test_likeliest_moves_share_the_highest_probability() -> None:
    assert recommend_moves(("a", "b", "c"), (2.0, 1.0, 2.0)).likeliest == ("a", "c")
    assert recommend_moves(("a", "b"), (0.0, 0.0)).likeliest == ()


def test_moves_are_drawn_in_proportion_to_their_probabilities() -> None:
    rng = random.Random(0)
    drawn = Counter(recommend_moves(("a", "b", "c"), (1.0, 3.0, 0.0)).draw(rng) for _ in range(4000))
    assert drawn.keys() == {"a", "b"}
    assert drawn["b"] / 4000 == pytest.approx(0.75, abs=0.03)
    assert recommend_moves(("a", "b"), (0.0, 0.0)).draw(rng) is None


def test_players_of_free_text_recommend_their_reply() -> None:
    found = recommend(Scripted("forty-two "), load_game("qa"))
    assert (found.moves, found.probabilities, found.legal_mass) == (("forty-two ",), (1.0,), 1.0)
    nothing = recommend(Scripted(" "), load_game("qa"))
    assert (nothing.moves, nothing.draw(random.Random(0)), nothing.legal_mass) == ((), None, 0.0)


@pytest.mark.parametrize(
    ("player", "game", "why"),
    [("random", "mail", "no list of them"), ("exact", "kuhn_poker", "perfect information")],
)
def test_unsuitable_teachers_are_refused(player: str, game: str, why: str) -> None:
    with pytest.raises(GymposiumError, match=why):
        check_teaches(make_player(player), load_game(game))
    check_teaches(make_player("mcts-100"), load_game("kuhn_poker"))


@pytest.mark.parametrize(("most", "refused"), [(3_990, True), (5_000, False)])
def test_exact_refuses_games_that_are_too_large_to_teach(
    most: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In tic_tac_toe, one move needs 3,964 positions, and a recommendation up to 4,489."""
    monkeypatch.setattr("gymposium.analysis.exact.players.MOST_POSITIONS", most)
    player, game = make_player("exact"), load_game("tic_tac_toe")
    check_size(player, game)
    with pytest.raises(TooLarge, match="more than 3,990") if refused else nullcontext():
        check_teaches(player, game)


def test_cfr_refuses_games_with_too_many_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium.analysis.exact.equilibrium.MOST_POSITIONS", 100)
    check_size(make_player("cfr-1"), load_game("kuhn_poker"))
    with pytest.raises(TooLarge, match="more than 100 histories"):
        check_size(make_player("cfr-1"), load_game("leduc_poker"))


class Counting(Scripted):
    """A player that counts its asks."""

    asked = 0

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        self.asked += len(asks)
        return super().act(asks)


def test_cached_teacher_is_asked_once_per_game_seat_and_view() -> None:
    counting = Counting("1")
    teacher = CachedTeacher(counting)
    asks = [
        MatchContext(load_game(name).new(0), f"{name} {number}", 0).ask(0)
        for name in ("connect_four", "connect_four(rows=5,columns=4)")
        for number in range(3)
    ]
    found = teacher(asks) + teacher(asks[::-1])[::-1]
    assert counting.asked == 2
    assert [label.moves for label in found] == [tuple(ask.legal_moves or ()) for ask in asks * 2]


def test_cached_teacher_is_always_asked_about_free_text() -> None:
    """Its replies may depend on the match so far."""
    counting = Counting("42")
    teacher = CachedTeacher(counting)
    asks = [MatchContext(load_game("qa").new(0), f"match {number}", 0).ask(0) for number in range(3)]
    teacher(asks)
    assert counting.asked == 3


def test_cached_teacher_forgets_everything_once_it_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium.players.teaching.MOST_MOVES", 15)  # two empty boards of 7 columns fill it
    counting = Counting("1")
    teacher = CachedTeacher(counting)
    boards = [f"connect_four(rows={rows})" for rows in (5, 6, 7, 8)]
    asks = [MatchContext(load_game(name).new(0), name, 0).ask(0) for name in boards]
    for _ in range(2):
        for ask in asks:
            teacher([ask])
            teacher([ask])
    assert counting.asked == 8


def test_players_that_know_their_probabilities_recommend_them() -> None:
    assert recommend("random", load_game("kuhn_poker")).probabilities == (0.5, 0.5)


def test_recommendations_cover_the_legal_moves() -> None:
    class Wrong(Scripted):
        def teach(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
            return [recommend_moves(["call"], [1.0]) for _ in asks]

    with pytest.raises(ValueError, match=r"player scripted returned a distribution over .* legal moves are"):
        recommend(Wrong("bet"), load_game("kuhn_poker"))


@pytest.mark.parametrize(
    ("name", "moves", "best"),
    [
        ("tic_tac_toe", ("a1", "a2", "b1", "b2"), "c1"),  # searched by OpenSpiel
        ("leduc_poker", (), None),  # over worlds of the engine
        ("pig(winscore=20)", (), "roll"),
        ("blackjack", (), None),
    ],
)
def test_search_recommends_its_most_visited_moves(name: str, moves: Sequence[str], best: str | None) -> None:
    game = load_game(name)
    found = recommend("mcts-100", game, moves)
    assert sum(found.probabilities) == pytest.approx(1.0)
    assert found == recommend("mcts-100", game, moves)
    likeliest = max(zip(found.probabilities, found.moves, strict=True))
    if best is not None:
        assert likeliest[1] == best
        assert likeliest[0] > 0.8


def test_search_draws_nothing_from_the_seats_stream() -> None:
    """Recommendations therefore do not change a match that the teacher also plays."""
    for name in ("tic_tac_toe", "leduc_poker"):
        match = load_game(name).new(0)
        ask = MatchContext(match, "match", 0).ask(match.to_move()[0])
        before = ask.rng.getstate()
        ask_teacher(make_player("mcts-20"), [ask])
        assert ask.rng.getstate() == before


def test_search_recommends_the_only_legal_move_at_once() -> None:
    game = load_game("othello")
    match = game.new(0)
    while len(match.legal_moves(match.to_move()[0]) or ()) != 1:
        match.apply({(seat := match.to_move()[0]): (match.legal_moves(seat) or [""])[0]})
    [found] = ask_teacher(make_player("mcts-100000"), [MatchContext(match, "match", 0).ask(match.to_move()[0])])
    assert found.probabilities == (1.0,)


def test_exact_recommends_safe_moves_that_win_most_often() -> None:
    class Recommended(Scripted):
        name = "recommended"
        teacher = make_player("exact")

        def distributions(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
            return ask_teacher(self.teacher, asks)

    game = load_game("tic_tac_toe")
    found = compute_value(tabulate_policy(game, Recommended("")))
    optimum = compute_optima_against_random(game)["minimax-safe"]
    assert sum(seat.win for seat in found.seats) / 2 == pytest.approx(optimum.win)
    assert sum(seat.loss for seat in found.seats) == pytest.approx(0.0)
