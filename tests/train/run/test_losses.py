"""Evaluations measure the return that the policy loses per move, in small games."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gymposium.analysis.review import LossTally
from gymposium.analysis.review.update import review_file
from gymposium.games.registry import load_game
from gymposium.match import MatchResult
from gymposium.players.grammar import make_player
from gymposium.records import RecordWriter
from gymposium.runs.executors.local import LocalExecutor
from gymposium_train.run import losses, measures
from gymposium_train.run.losses import describe_judges


def evaluate(config: Any, game: str, matches: int, write: Any = lambda played: None) -> dict[str, Any]:
    """Return the score of random play against a search."""
    run: Any = SimpleNamespace(config=config, games=(load_game(game),))
    player = make_player("random")
    return measures._evaluate_player(run, player, run.games[0], "mcts-5", matches, "trained", write)[0]


@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker"])
def test_loss_per_move_equals_a_review_of_the_matches(quick_config: Any, tmp_path: Path, game: str) -> None:
    file = tmp_path / "matches.jsonl"
    with RecordWriter(file) as writer:
        score = evaluate(quick_config(), game, 12, writer.write)
    with closing(LocalExecutor(1)) as executor:
        found = review_file(file, None, executor)
    tally = LossTally()
    for record in found.records:
        tally.add(record.players, record.seed, found.reviews.matches[record.id], *found.reviews.returns)
    lost = next(lost for lost in tally.players() if lost.player == "random")
    assert score["lost_per_move"] == [lost.per_move, lost.low, lost.high]
    assert 0.0 < lost.per_move < 1.0
    figures = measures.flatten_score(load_game(game), "mcts-5", score)
    assert figures[f"eval/{game}/mcts-5/lost_per_move_low"] == lost.low


def test_only_the_first_matches_are_judged(quick_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones by number, because short matches finish first."""
    judged: list[int] = []
    add = losses.LossMeter.add

    def note(self: Any, played: MatchResult, number: int, seat: int) -> None:
        before = self._tally.matches
        add(self, played, number, seat)
        judged.extend([number] * (self._tally.matches - before))

    monkeypatch.setattr(losses.LossMeter, "add", note)
    monkeypatch.setattr(losses, "JUDGED_MATCHES", 4)
    evaluate(quick_config(), "tic_tac_toe", 12)
    assert sorted(judged) == [0, 1, 2, 3]


def test_single_deal_has_no_interval(quick_config: Any) -> None:
    score = evaluate(quick_config(), "tic_tac_toe", 2)
    assert score["lost_per_move"][1:] == [None, None]
    figures = measures.flatten_score(load_game("tic_tac_toe"), "mcts-5", score)
    assert "eval/tic_tac_toe/mcts-5/lost_per_move" in figures
    assert "eval/tic_tac_toe/mcts-5/lost_per_move_low" not in figures


def test_large_game_is_left_out_with_the_reason(quick_config: Any) -> None:
    games = [load_game(name) for name in ("tic_tac_toe", "leduc_poker")]
    found = describe_judges(games)
    assert found["tic_tac_toe"] == {"judge": "exact"}
    assert found["leduc_poker"]["reason"].startswith("leduc_poker has more than 1,000 positions")
    assert "lost_per_move" not in evaluate(quick_config(), "leduc_poker", 2)
