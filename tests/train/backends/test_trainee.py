"""The trainee publishes what was learned, keeps the weights of versions, and does not affect the learner."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.train.learning import RANK, Pairs, learn, learning, make_pairs

from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium_agents.chat.tokens import Policy, Sampling, TokenRequest
from gymposium_agents.engines.adapters import compute_lora_digest
from gymposium_agents.engines.canary import EngineMismatch
from gymposium_agents.lora.store import AdapterStore
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.backends.local_model import LocalModel
from gymposium_train.backends.trainee import Trainee, make_trainee
from gymposium_train.config import Lora, Model, Pool, Prompting, RolloutSettings, Stage, TrainConfig, make_engine_table
from gymposium_train.learner import LocalLearner
from gymposium_train.rollout import MatchPlanner, MatchRollouts
from gymposium_train.rollout.protocol import PlayerSource

WAYS = [("shared", "lora"), ("own", "lora"), ("shared", "full"), ("own", "full")]
every_way = pytest.mark.parametrize(("kind", "tune"), WAYS)
lagging = pytest.mark.parametrize(("kind", "tune"), [way for way in WAYS if way[0] == "own"])


@dataclass(slots=True)
class TraineeParts:
    """A trainee with its parts."""

    who: Trainee
    learner: LocalLearner
    loaded: LoadedModel
    config: TrainConfig

    @property
    def pairs(self) -> Pairs:
        return make_pairs(self.loaded)

    def learned(self) -> list[tuple[float, ...]]:
        return self.learner.score(self.pairs)

    def played(self, policy: Policy | None = None) -> list[tuple[float, ...]]:
        """The log-probabilities of the pairs by the players' engine, for the newest published version or a past one."""
        player = self.who.player if policy is None else self.who.players.past(policy)
        return player.engine.score(self.pairs, policy=player.policy)

    def step(self) -> Policy:
        learn(self.learner, self.loaded)
        self.who.publish()
        return self.who.policy


@contextmanager
def start_trainee(
    model: Path, run: Path, kind: Any, tune: Any, staleness: int = 0, resume_from: dict[str, Any] | None = None
) -> Iterator[TraineeParts]:
    """A trainee of a model; `resume_from` holds the tensors of a checkpoint of its learner."""
    config = TrainConfig(
        games=("kuhn_poker", "tic_tac_toe"),
        model=Model(name=str(model), tune=tune, lora=Lora(rank=RANK)),
        engine=make_engine_table(kind, staleness=staleness),
        prompting=Prompting(max_tokens=4),
    )
    loaded, learner = learning(model, tune)
    games = [load_game(game) for game in config.games]
    with make_trainee(config, run, LocalModel(config, loaded, learner), games) as who:
        if resume_from is not None:
            learner.load(resume_from)
        yield TraineeParts(who, learner, loaded, config)


def approximate(scores: list[tuple[float, ...]]) -> list[Any]:
    return [pytest.approx(one, abs=1e-5) for one in scores]


@every_way
def test_publishes_the_learned_weights(model_directory: Path, tmp_path: Path, kind: str, tune: str) -> None:
    with start_trainee(model_directory, tmp_path, kind, tune) as it:
        with pytest.raises(GymposiumError, match=r"Call publish\(\) first"):
            _ = it.who.player
        cast: PlayerSource = it.who.players
        seen = []
        for version in range(3):
            metrics = it.who.publish()
            assert metrics.keys() - {"sync/correlation"} == {"sync/canary", "sync/canary_mean", "perf/seconds_publish"}
            assert version == 0 or metrics["sync/correlation"] > 0.99
            assert 0.0 <= metrics["sync/canary"] < 1e-5
            assert it.who.policy == Policy("learner", version) == it.who.player.policy == it.who.evaluated.policy
            assert it.played() == approximate(it.learned())
            seen.append(it.played())
            learn(it.learner, it.loaded)
        assert seen[0] != approximate(seen[1])
        assert cast.learner().name == it.who.evaluated.name == f"lm:{tmp_path / 'learner'}"
        assert (it.who.player.sampling, it.who.evaluated.sampling) == (Sampling(1.0, 4), Sampling(0.0, 4))


@every_way
def test_past_versions_keep_their_weights(model_directory: Path, tmp_path: Path, kind: str, tune: str) -> None:
    with start_trainee(model_directory, tmp_path, kind, tune) as it:
        it.who.publish()
        it.step()
        expected = it.played()
        kept = it.who.players.keep()
        assert it.who.players.keep() == kept == Policy("learner", 1)
        player = it.who.players.past(kept)  # while it is the present version
        for _ in range(3):
            it.step()
            assert it.played(kept) == approximate(expected)
            assert player.engine.score(it.pairs, policy=player.policy) == approximate(expected)
            assert it.played() == approximate(it.learned())
        assert it.learned() != approximate(expected)
        assert (player.name, player.sampling) == (f"lm:{tmp_path / 'learner-v1'}", it.who.player.sampling)
        it.who.players.let_go(kept)
        it.step()
        assert it.played(kept) == approximate(expected)  # its files stayed
        with pytest.raises(GymposiumError, match="learner-v2"):
            it.who.players.past(Policy("learner", 2))


@every_way
def test_playing_does_not_affect_learning(model_directory: Path, tmp_path: Path, kind: str, tune: str) -> None:
    """To the bit, while past versions are kept, released and played."""

    def weights(crowded: bool) -> dict[str, torch.Tensor]:
        with start_trainee(model_directory, tmp_path / str(crowded), kind, tune) as it:
            drawn = torch.random.get_rng_state()
            for number in range(4):
                if crowded:
                    it.who.publish()
                    before = it.loaded.model.training, [p.requires_grad for p in it.learner.named.values()]
                    kept = it.who.players.keep()
                    for policy in (kept, Policy("learner", 0)):
                        it.played(policy)
                        player = it.who.players.past(policy)
                        requests = [TokenRequest(p, random.Random(0), policy) for p, _ in it.pairs]
                        player.engine.generate(requests, player.sampling)
                    if number == 2:
                        it.who.players.let_go(Policy("learner", 1))
                    assert before == (it.loaded.model.training, [p.requires_grad for p in it.learner.named.values()])
                learn(it.learner, it.loaded)
            assert torch.equal(torch.random.get_rng_state(), drawn)
            return {name: tensor.clone() for name, tensor in it.learner.tensors()}

    alone, crowded = weights(False), weights(True)
    assert alone.keys() == crowded.keys()
    assert [name for name in alone if not torch.equal(alone[name], crowded[name])] == []


@lagging
def test_matches_finish_with_their_initial_policy(model_directory: Path, tmp_path: Path, kind: str, tune: str) -> None:
    """With a bound of two, a player continues for two more publishes."""
    with start_trainee(model_directory, tmp_path, kind, tune, staleness=2) as it:
        it.who.publish()
        begun, expected = it.who.player, it.played()
        for _ in range(2):
            it.step()
            assert begun.engine.score(it.pairs, policy=begun.policy) == approximate(expected)
            (said,) = begun.engine.generate(
                [TokenRequest(it.pairs[0][0], random.Random(0), begun.policy)], begun.sampling
            )
            assert said.policy == Policy("learner", 0)
        it.step()
        with pytest.raises(GymposiumError, match="Unknown policy 'learner-v0'"):
            begun.engine.score(it.pairs, policy=begun.policy)


@pytest.mark.parametrize(
    ("kind", "tune"), [pytest.param(*way, marks=() if way[0] == "shared" else pytest.mark.slow) for way in WAYS]
)
def test_resumed_run_republishes_its_versions(model_directory: Path, tmp_path: Path, kind: str, tune: str) -> None:
    """The run was interrupted two versions later, and learns them again: once with the same numbers, once with
    others."""
    with start_trainee(model_directory, tmp_path, kind, tune) as it:
        it.who.publish()
        first = it.who.players.keep()
        past, second = it.played(), it.step()
        checkpoint = {name: tensor.clone() for name, tensor in it.learner.tensors()}
        at_checkpoint = it.played()
        for _ in range(2):
            third = it.step()
            it.who.players.keep()
        lost = it.played()
    for steps in (2, 1, 2):
        with start_trainee(model_directory, tmp_path, kind, tune, resume_from=checkpoint) as it:
            it.who.publish()
            assert it.who.policy == second
            assert it.played() == approximate(at_checkpoint)
            assert it.played(first) == approximate(past)
            it.who.players.keep()
            with pytest.raises(GymposiumError, match="learner-v3"):
                it.who.players.past(third)
            for _ in range(2):
                learn(it.learner, it.loaded, 3 - steps)
                it.learner.policy_version -= 2 - steps  # the same version by another way
                it.who.publish()
                it.who.players.keep()
            assert it.who.policy == third
            assert (it.played(third) == approximate(lost)) == (steps == 2)


def test_concurrent_rollouts_use_one_policy_each(model_directory: Path, tmp_path: Path) -> None:
    """Two threads share the trainee: one plays matches, some of them against past versions, while the other learns."""
    with start_trainee(model_directory, tmp_path, "own", "lora", staleness=1) as it:
        config = it.config.model_copy(
            update={
                "rollout": RolloutSettings(groups=4, group_size=4, growth=1.0),
                "stages": (Stage(opponents={"random": 1.0, "past": 2.0}),),
                "pool": Pool(every=1, size=2),
            }
        )
        games = [load_game(game) for game in config.games]
        it.who.publish()
        versions = []
        source = MatchRollouts(MatchPlanner(config, games, it.who.players), staleness=1, steps=6)
        with closing(source):
            for step in range(6):
                groups, _ = source.roll_out(step)
                sampled = {
                    turn.trace.completion.policy
                    for group in groups
                    for trajectory in group.trajectories
                    for turn in trajectory.turns
                }
                assert len(sampled) == 1
                versions += [policy.version for policy in sampled]
                learn(it.learner, it.loaded)
                it.who.publish()
                source.published(step + 1)
    assert versions[0] == 0
    assert all(step - 1 <= version <= step for step, version in enumerate(versions))


def test_unneeded_versions_are_released(model_directory: Path, tmp_path: Path) -> None:
    """In memory those within the bound and the past ones; on disk also the version released last and the kept ones."""
    with start_trainee(model_directory, tmp_path, "own", "lora", staleness=1) as it:
        store = AdapterStore(tmp_path / "versions")
        held, there = [], []
        for number in range(7):
            it.who.publish()
            if number == 1:
                kept = it.who.players.keep()
                it.who.players.past(kept)
            if number == 5:
                it.who.players.let_go(kept)
            held.append([policy.version for policy in it.who.player.engine.adapters])
            there.append([policy.version for policy in store.list()])
            assert store.current() == it.who.policy
            learn(it.learner, it.loaded)
    assert held == [[0], [0, 1], [1, 2], [1, 2, 3], [1, 3, 4], [4, 5], [5, 6]]
    assert there == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [1, 2, 3, 4], [1, 3, 4, 5], [1, 4, 5, 6]]


@pytest.mark.parametrize("kind", ["shared", "own"])
def test_missing_update_stops_the_run(model_directory: Path, tmp_path: Path, kind: str) -> None:
    """The model that learns is not the one that is published."""
    with start_trainee(model_directory, tmp_path, kind, "lora") as it:
        other, it.who.learner = learning(model_directory)
        it.who.digest = partial(compute_lora_digest, other.model)
        it.who.publish()
        learn(it.who.learner, it.loaded)
        before = it.who.player
        with pytest.raises(EngineMismatch, match="learner-v1 was published, but the engine holds other weights"):
            it.who.publish()
        assert it.who.player.policy == before.policy  # nobody is given what is not right


@pytest.mark.parametrize("kind", ["shared", "own"])
def test_four_bit_learner_matches_its_engine(model_directory: Path, tmp_path: Path, kind: Any) -> None:
    """Both sides quantize alike, and compute in float32 on a CPU, so the difference is as small as without
    quantization."""
    pytest.importorskip("bitsandbytes")
    config = TrainConfig(
        games=("kuhn_poker",),
        model=Model(tune="lora", load="4bit", lora=Lora(rank=RANK)),
        engine=make_engine_table(kind),
    )
    loaded, learner = learning(model_directory, load="4bit")
    with make_trainee(config, tmp_path, LocalModel(config, loaded, learner), [load_game("kuhn_poker")]) as who:
        for _ in range(3):
            assert who.publish()["sync/canary"] < 1e-5
            learn(learner, loaded)
