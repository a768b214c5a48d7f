"""Ratings of play, separate from failures to reply."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gymposium import load_game, make_player
from gymposium.analysis.review import ReviewCache
from gymposium.games.protocol import Style
from gymposium.match import MatchJob, play
from gymposium.players.protocol import Ask, Reply
from gymposium.records import Record
from gymposium.replies.reading import READERS
from gymposium_arena.outcomes import MatchOutcome, drop_duplicates, read_outcomes
from gymposium_arena.ratings.bootstrap import draw_deal_weights, make_generator
from gymposium_arena.ratings.comparisons import compare_players
from gymposium_arena.results.model import PlayStanding
from gymposium_arena.results.play import GameDecisions, make_play_result
from gymposium_arena.results.words import format_rating as in_words


class CarelessPlayer:
    """Plays at random, and fails to reply with this probability."""

    reader = READERS["move"]
    style: Style = "compact"

    def __init__(self, name: str, fails: float) -> None:
        self.name, self.fails = name, fails

    def act(self, asks: list[Ask]) -> list[Reply]:
        return [Reply("hm" if ask.rng.random() < self.fails else ask.rng.choice(ask.legal_moves or [])) for ask in asks]


def board(fails: float, deals: int = 60) -> tuple[GameDecisions, list[MatchOutcome]]:
    """Random play, the same with failures, and search, at tic-tac-toe."""
    game = load_game("tic_tac_toe")
    players = [make_player("random"), CarelessPlayer("careless", fails), make_player("mcts-20")]
    jobs = [
        MatchJob(f"{deal}-{i}-{j}", game, [players[i], players[j]], deal, deal * 9 + i * 3 + j)
        for deal in range(deals)
        for i in range(3)
        for j in range(3)
        if i != j
    ]
    decisions, records = GameDecisions(ReviewCache()), [Record.from_match(played) for played in play(jobs)]
    for record in records:
        decisions.add(Path("nowhere.jsonl"), record)
    return decisions, drop_duplicates(read_outcomes(records))


def rated(fails: float) -> dict[str, PlayStanding]:
    decisions, outcomes = board(fails)
    names = ["random", "careless", "mcts-20"]
    found = make_play_result(
        decisions,
        outcomes,
        names,
        names,
        lambda deals, alike: draw_deal_weights(make_generator(0, "test"), 200, deals, alike),
        make_generator(0, "prior"),
        lambda deals: draw_deal_weights(make_generator(0, "shares"), 200, len(deals)),
    )
    assert not found.reviewed
    return {row.player: row for row in found.players}


def test_play_rating_ignores_failures() -> None:
    rows = rated(0.1)
    careless, search = rows["careless"], rows["mcts-20"]
    assert careless.low <= 0 <= careless.high
    assert search.low > 100
    assert 0.55 < careless.reliability.value < 0.85
    assert search.reliability.value == 1.0
    assert careless.effective < search.effective
    assert 0.0 < careless.failing < 0.5


def test_rarely_replying_players_are_unrated() -> None:
    rows = rated(0.97)
    assert rows["careless"].rating is None
    assert in_words(rows["careless"]) == "not enough data"
    assert rows["mcts-20"].rating is not None


def test_outcome_weights_scale_comparisons() -> None:
    names = ["a", "b"]
    outcomes = [MatchOutcome("g", str(n), ("a", "b"), (1, -1) if n else (-1, 1), None, str(n)) for n in range(3)]
    plain, weighted = compare_players(outcomes, names), compare_players(outcomes, names, [3.0, 0.5, 0.0])
    assert plain.points.sum(axis=0).tolist() == [[0, 2], [1, 0]]
    assert weighted.points.sum(axis=0).tolist() == [[0, 0.5], [3, 0]]
    assert weighted.deals == ("0", "1")
    assert np.array_equal(compare_players(outcomes, names, [1.0] * 3).pairs, plain.pairs)


@pytest.mark.parametrize(("alike", "wider"), [(None, False), (30.0, False), (8.0, True)])
def test_fewer_effective_deals_widen_the_spread(alike: float | None, wider: bool) -> None:
    plain, other = (draw_deal_weights(make_generator(0, "test"), 500, 30, number) for number in (None, alike))
    assert (other.std() > plain.std()) == wider
