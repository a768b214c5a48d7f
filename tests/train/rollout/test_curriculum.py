"""Stages: promotion, demotion, and refusal of invalid stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.train.rollout.playing import play_sets

from gymposium import load_game, make_player
from gymposium.errors import BadOption, GymposiumError
from gymposium_train.config import Stage
from gymposium_train.config.stages import check_stages
from gymposium_train.rollout import MatchGroup, MatchPlanner
from gymposium_train.rollout.curriculum import Curriculum

Who = Callable[..., MatchPlanner]
WIN, DRAW, LOSS = 1.0, 0.5, 0.0


def make_three_stages(**settings: Any) -> Curriculum:
    return Curriculum([Stage(), Stage(opponents={"mcts-10": 1.0}, demote=0.3, **settings), Stage(demote=0.3)])


def stage_after(curriculum: Curriculum, *scores: float) -> int:
    curriculum.note(scores)
    curriculum.move()
    return curriculum.number


def test_full_window_above_threshold_promotes() -> None:
    curriculum = Curriculum([Stage(window=4, promote=0.75), Stage()])
    assert stage_after(curriculum, WIN, WIN, WIN) == 0, "three matches say too little"
    assert stage_after(curriculum, LOSS, DRAW) == 0
    assert curriculum.score == 0.625, "of the newest four"
    assert stage_after(curriculum, WIN, WIN) == 0
    assert stage_after(curriculum, WIN) == 1, "0.875"
    assert curriculum.score is None, "the new stage has a window of its own"


def test_full_window_below_threshold_demotes() -> None:
    curriculum = make_three_stages(window=2)
    curriculum.restore({"stage": 1, "scores": []})
    assert stage_after(curriculum, LOSS) == 1, "not full"
    assert stage_after(curriculum, DRAW) == 0
    assert curriculum.stage == Stage()
    assert curriculum.score is None


def test_first_and_last_stages_continue() -> None:
    curriculum = Curriculum([Stage(window=1)])
    assert [stage_after(curriculum, score) for score in (WIN, LOSS, WIN)] == [0, 0, 0]


@given(st.lists(st.lists(st.sampled_from([WIN, DRAW, LOSS]), max_size=6), max_size=30))
def test_moves_by_one_stage_from_its_own_scores(steps: list[list[float]]) -> None:
    stages = [Stage(window=3), Stage(window=5, demote=0.4), Stage(window=2, demote=0.2)]
    curriculum, seen = Curriculum(stages), list[float]()
    for scores in steps:
        before, window = curriculum.number, curriculum.stage.window
        now = stage_after(curriculum, *scores)
        seen += scores
        full, newest = len(seen) >= window, seen[-window:]
        mean = sum(newest) / window
        expected = before
        if full and mean >= stages[before].promote and before < 2:
            expected = before + 1
        elif full and mean < stages[before].demote:
            expected = before - 1
        assert now == expected
        if now != before:
            seen = []


def test_refuses_to_restore_a_missing_stage() -> None:
    with pytest.raises(GymposiumError, match="in stage 3, but the config has 2"):
        Curriculum([Stage(), Stage()]).restore({"stage": 2, "scores": []})


@pytest.mark.parametrize(
    ("games", "stages", "reason"),
    [
        (["tic_tac_toe"], [{"opponents": {"self": 1.0}}, {}], "never end"),
        (["tic_tac_toe"], [{}, {"opponents": {"self": 1.0}, "demote": 0.2}], "never end"),
        (["tic_tac_toe"], [{"demote": 0.2}, {}], "no stage before the first"),
        (["tic_tac_toe"], [{}, {"demote": 0.7}], "would alternate"),
        (["tic_tac_toe"], [{"opponents": {"alone": 1.0}}], "is not an opponent"),
        (["blackjack"], [{}, {}], "single-player games"),
        (["blackjack", "2048"], [{"opponents": {"self": 1.0}}], "single-player games"),
    ],
)
def test_invalid_stages_are_refused(games: list[str], stages: list[Any], reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        check_stages([Stage(**stage) for stage in stages], [load_game(name) for name in games])


@pytest.mark.parametrize(
    ("games", "stages"),
    [
        (["tic_tac_toe"], [{"opponents": {"self": 1.0}}]),
        (["tic_tac_toe"], [{}, {"opponents": {"self": 1.0}}]),
        (["tic_tac_toe"], [{"opponents": {"self": 3.0, "random": 1.0}}, {"demote": 0.3}]),
        (["blackjack", "tic_tac_toe"], [{}, {}]),
        (["blackjack"], [{}]),
    ],
)
def test_valid_stages_are_accepted(games: list[str], stages: list[Any]) -> None:
    check_stages([Stage(**stage) for stage in stages], [load_game(name) for name in games])


@pytest.mark.parametrize("stages", [[Stage(), Stage()], [Stage(opponents={"past": 1.0})]])
def test_games_without_scores_allow_one_stage(monkeypatch: pytest.MonkeyPatch, stages: list[Stage]) -> None:
    together = load_game("leduc_poker")  # as if its seats were partners who can win without end
    monkeypatch.setattr(together, "spec", replace(together.spec, utility="cooperative"))
    check_stages(stages, [together])
    monkeypatch.setattr(together, "utility_range", (0.0, float("inf")))
    check_stages([Stage()], [together])
    with pytest.raises(BadOption, match="unbounded returns"):
        check_stages(stages, [together])


def played(plays: MatchPlanner, step: int) -> tuple[Sequence[MatchGroup], dict[str, float]]:
    groups, _ = play_sets(plays.plan(step))
    return groups, plays.note(groups)


def test_strong_learners_are_promoted_and_weak_ones_demoted(who: Who, new_cast: Any) -> None:
    cast = new_cast(player=make_player("mcts-50"))
    stages = (Stage(window=12), Stage(opponents={"mcts-50": 1.0, "random": 1.0}, demote=0.6, promote=1.0, window=12))
    plays = who(cast, ["tic_tac_toe"], *stages, groups=2, group_size=6)
    groups, metrics = played(plays, 0)
    assert {group.stage for group in groups} == {0}
    assert metrics["rollout/stage"] == 1, "the one that was played"
    assert metrics["rollout/stage_score"] >= 0.7
    assert {one.stage for one in plays.plan(1)} == {1}
    cast.player = make_player("random")
    _, metrics = played(plays, 1)
    assert metrics["rollout/stage"] == 2
    assert metrics["rollout/stage_score"] < 0.6
    assert plays.curricula["tic_tac_toe"].number == 0


def test_self_play_and_single_player_games_never_promote(who: Who, new_cast: Any) -> None:
    stages = (Stage(opponents={"self": 1.0, "random": 1e-9}, promote=0.1, window=1), Stage())
    plays = who(new_cast(), ["tic_tac_toe", "blackjack"], *stages)
    for step in range(3):
        groups, metrics = played(plays, step)
        assert {group.opponent for group in groups} == {"self", "alone"}
        assert metrics == {"rollout/stage": 1, "rollout/tic_tac_toe/stage": 1}


def test_each_game_has_its_own_stage(who: Who, new_cast: Any) -> None:
    stages = (Stage(window=12), Stage(opponents={"mcts-10": 1.0}))
    games = ["tic_tac_toe", "kuhn_poker"]  # in three sets: two of tic-tac-toe, one of Kuhn poker, which fills no window
    plays = who(new_cast(player=make_player("mcts-50")), games, *stages, groups=3, group_size=6)
    _, metrics = played(plays, 0)
    assert {name: metrics[f"rollout/{name}/stage"] for name in games} == {"tic_tac_toe": 1, "kuhn_poker": 1}
    assert {(one.game.name, one.stage, one.opponent) for one in plays.plan(1)} == {
        ("tic_tac_toe", 1, "mcts-10"),
        ("kuhn_poker", 0, "random"),
    }
    resumed = who(new_cast(), games, *stages)
    resumed.restore(plays.state())
    assert [resumed.curricula[name].number for name in games] == [1, 0]
    _, metrics = played(plays, 1)
    assert metrics["rollout/stage"] == 1.5, "the mean over the games"


def test_matches_planned_in_another_stage_do_not_count(who: Who, new_cast: Any) -> None:
    """This happens if a step is planned before the previous one is noted."""
    plays = who(new_cast(), ["tic_tac_toe"], *2 * [Stage(window=12, promote=0.01)], Stage())
    (first, _), (second, _) = (play_sets(plays.plan(step)) for step in range(2))
    plays.note(first)
    assert plays.curricula["tic_tac_toe"].number == 1
    assert "rollout/stage_score" not in plays.note(second)
    assert plays.curricula["tic_tac_toe"].number == 1


def test_window_is_balanced_across_seats(who: Who, new_cast: Any) -> None:
    """The order of seats must not matter: the first seat wins more often, at random 0.58 to 0.29."""
    plays = who(new_cast(), ["tic_tac_toe"], Stage(window=8), groups=2, group_size=10)
    groups, _ = play_sets(plays.plan(0))
    plays.note(groups)
    newest = [trajectory for group in groups for trajectory in group.trajectories[-4:]]
    expected = {"win": 1.0, "draw": 0.5, "loss": 0.0}
    assert sorted(plays.curricula["tic_tac_toe"].scores) == sorted(expected[trajectory.result] for trajectory in newest)
