"""From matches to rows: whose turns are learned from, and what they were paid."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gymposium import load_game, make_player, make_reward
from gymposium.driver import FORFEIT, Played
from gymposium.failures import FailurePolicy
from gymposium.players.protocol import Player
from gymposium.reading import reader
from gymposium_agents.loading import load_model
from gymposium_agents.player import LanguageModelPlayer
from gymposium_agents.tokens import Sampling
from gymposium_train.cold_start import batches, random_games, tokenized, winners_moves
from gymposium_train.config import Grpo
from gymposium_train.credit import group_advantages
from gymposium_train.learner import Learner
from gymposium_train.loop import mean_parts, rows_of
from gymposium_train.rollout import Rollout, group_jobs, roll_out

GROUPS, SIZE = 4, 24
PENALTY = FailurePolicy.parse("penalty(0.25,2)")


def rollout(learner: Player, opponent: Player, policy: FailurePolicy = FORFEIT) -> tuple[Rollout, dict[str, Played]]:
    game, finished = load_game("kuhn_poker"), dict[str, Played]()
    jobs = group_jobs(game, learner, opponent, step=1, groups=GROUPS, group_size=SIZE, seed=5, on_illegal=policy)
    return roll_out(jobs, lambda played: finished.setdefault(played.job.id, played)), finished


@pytest.fixture(scope="module")
def learner(model_directory: Path) -> LanguageModelPlayer:
    """Taught for a moment, so that some of its replies are moves and some fail."""
    loaded = load_model(model_directory)
    finished = random_games(
        load_game("kuhn_poker"), "compact", reader("move"), matches=60, seed=1, tag="t", each=lambda played: None
    )
    taught = Learner(loaded.model.train(), loaded.pad, token_budget=4096)
    pairs = batches(tokenized(winners_moves(finished), loaded.chat), 64, 1)
    for _ in range(12):
        taught.imitate(next(pairs), 1e-2)
    return LanguageModelPlayer("learner", loaded.engine(), loaded.chat, sampling=Sampling(1.0, 8))


class Coin:
    """Answers with a legal move or with nothing at all, by the flip of a coin, and says so in its trace."""

    def __init__(self) -> None:
        self._random = make_player("random")
        self.name, self.reader, self.style = "coin", self._random.reader, self._random.style

    def act(self, asks):  # type: ignore[no-untyped-def]
        replies = self._random.act(asks)
        for ask, reply in zip(asks, replies, strict=True):
            if ask.rng.random() < 0.5:
                reply.text = ""
        return replies


def test_a_group_is_one_seat_of_one_deal_and_trajectories_are_the_learners(learner: LanguageModelPlayer) -> None:
    played, finished = rollout(learner, make_player("random"), PENALTY)
    assert [len(group) for group in played.groups] == [SIZE] * GROUPS
    assert [{t.seat for t in group} for group in played.groups] == [{0}, {1}, {0}, {1}]
    for number, group in enumerate(played.groups):
        assert len({tuple(e for e in t.events if e.seat < 0) for t in group}) == 1, "the same cards"
        mine = [finished[f"train-1-{number}-{member}"] for member in range(SIZE)]
        assert sorted(t.returns for t in group) == sorted(p.returns for p in mine)
    every = [turn for group in played.groups for t in group for turn in t.turns]
    assert all(turn.trace.completion.ids for turn in every)
    assert sum(played.readings.values()) == len(every)


def test_by_default_the_advantage_is_that_of_the_games_own_returns(learner: LanguageModelPlayer) -> None:
    """To the bit: what a run without a reward of its own learns from is the return, penalties taken off."""
    played, _ = rollout(learner, make_player("random"), PENALTY)
    settings, reward = Grpo(), make_reward("returns")
    rows, kept = rows_of(played.groups, [reward(group) for group in played.groups], settings)
    expected = []
    for group in played.groups:
        paid = [t.utilities[t.seat] - t.penalties.get(t.seat, 0.0) for t in group]
        advantages = group_advantages(paid, normalise=settings.normalise)
        for trajectory, advantage in zip(group, advantages or (), strict=advantages is not None):
            expected += [(turn.trace.completion.ids, advantage) for turn in trajectory.turns]
    assert kept > 0
    assert [(row.completion, row.advantage) for row in rows] == expected
    assert any(t.penalty for group in played.groups for t in group)


def test_who_is_paid_alike_teaches_nothing_and_who_writes_well_is_told_apart(learner: LanguageModelPlayer) -> None:
    played, _ = rollout(learner, make_player("random"), FORFEIT)
    forfeits = [[t for t in group if t.forfeited] for group in played.groups]
    forfeits = [group for group in forfeits if len(group) > 1]
    assert forfeits
    for name in ("returns", "score", "weighted(accuracy=1,efficiency=1,completeness=1)"):
        reward = make_reward(name)
        assert rows_of(forfeits, [reward(group) for group in forfeits], Grpo()) == ([], 0)


def test_matches_that_an_opponent_forfeited_are_dropped() -> None:
    played, finished = rollout(make_player("random"), Coin())
    dropped = sum(p.forfeit is not None for p in finished.values())
    assert played.dropped == dropped > 0
    assert sum(map(len, played.groups)) == GROUPS * SIZE - dropped
    assert all(t.forfeit is None for group in played.groups for t in group)


def test_the_parts_of_rewards_are_reported_as_means() -> None:
    played, _ = rollout(make_player("random"), make_player("random"))
    reward = make_reward("weighted(accuracy=2,completeness=0)")
    rewards = [one for group in played.groups for one in reward(group)]
    means = mean_parts(rewards)
    assert means.keys() == {"accuracy", "completeness", "penalties"}
    assert means["completeness"] == 1.0
    assert 2 * means["accuracy"] == pytest.approx(sum(one.total for one in rewards) / len(rewards))
    assert mean_parts([]) == {}


def test_rolling_out_touches_no_global_generator() -> None:
    before = random.getstate()
    rollout(make_player("random"), make_player("random"))
    assert random.getstate() == before
