"""Training through a server: after each update the server loads the adapter and agrees with the learner."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from gymposium.games.registry import load_game
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.protocol import CheckedReward, Reward
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.engines.vllm.make import make_server_settings
from gymposium_agents.engines.vllm.server import Server
from gymposium_agents.engines.vllm.settings import VllmSettings
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train.backends.engines import make_engine_start
from gymposium_train.backends.local_model import LocalModel
from gymposium_train.backends.trainee import make_trainee
from gymposium_train.config import (
    Lora,
    Model,
    Optimizer,
    Pool,
    Prompting,
    RolloutSettings,
    Stage,
    TrainConfig,
    make_engine_table,
)
from gymposium_train.config.reading import change_config
from gymposium_train.config.schedules import RunProgress
from gymposium_train.credit.make import make_credit
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.rollout import Group, LocalExecutor, MatchPlanner, MatchRollouts
from gymposium_train.run.loop import Training
from gymposium_train.run.start import start_run

from .conftest import RANK

GAME = "kuhn_poker"
UPDATES = 4
"""Number of optimizer steps in each update."""


def config_for(model: Path, **engine: Any) -> TrainConfig:
    return TrainConfig(
        games=(GAME,),
        steps=4,
        model=Model(name=str(model), tune="lora", lora=Lora(rank=RANK, alpha=16)),
        engine=make_engine_table("vllm", schedule="streaming", **engine),
        prompting=Prompting(max_tokens=4),
        rollout=RolloutSettings(groups=3, group_size=12, growth=1.0),
        stages=(Stage(opponents={"random": 1.0, "past": 2.0}),),
        pool=Pool(every=1, size=2),
        optimizer=Optimizer(learning_rate=1e-2, warmup_steps=0, epochs=2, minibatches=2, target_kl=0.0),
    )


@contextmanager
def training(config: TrainConfig, run: Path) -> Iterator[tuple[Training, LoadedModel]]:
    """A run in progress. Its reward depends on tokens alone, so that an untrained model has something to learn."""
    assert config.model.name is not None
    loaded = load_model(config.model.name)
    if config.model.tune == "lora":
        lora = config.model.lora
        loaded.model = attach_lora(loaded.model, rank=lora.rank, alpha=lora.alpha, seed=0)
    learner = LocalLearner(loaded.model, loaded.pad, config.optimizer, loss=Loss.from_config(config))
    games = [load_game(name) for name in config.games]
    with make_trainee(config, run, LocalModel(config, loaded, learner), games) as trainee:
        source = MatchRollouts(
            MatchPlanner(config, games, trainee.players),
            LocalExecutor(config.engine.schedule),
            staleness=config.engine.staleness,
            steps=config.steps,
        )
        paid, credit = CheckedReward("odd", count_odd_tokens), make_credit(config.credit)
        made = {"trainee": trainee, "source": source, "credit": credit, "reward": paid, "pace": RunProgress(config)}
        with closing(source):
            yield Training(config=config, **made), loaded


def count_odd_tokens(group: Sequence[Trajectory]) -> list[Reward]:
    """The number of odd ids among the tokens that each seat sampled."""
    return [Reward(sum(float(n % 2) for turn in one.turns for n in turn.trace.completion.ids)) for one in group]


def served(url: str) -> dict[str, str]:
    """The adapters that a server holds, and their directories."""
    cards = httpx.get(f"{url}/v1/models", trust_env=False).json()["data"]
    return {card["id"]: card["root"] for card in cards if card.get("parent") is not None}


@pytest.mark.parametrize("staleness", [0, 1])
def test_each_update_reaches_the_server(server: Server, model_directory: Path, tmp_path: Path, staleness: int) -> None:
    """Past versions play in the same batches as the current one."""
    config = config_for(model_directory, url=server.url, staleness=staleness)
    with training(config, tmp_path) as (run, _):
        assert run.trainee.publish()["sync/canary"] < 1e-4
        versions = [run.trainee.policy]
        for step in range(config.steps):
            groups, played = run.play(step)
            assert policies(groups) == {versions[step - played["rollout/staleness"]]}
            metrics = run.learn(step, groups)
            if staleness == 0:
                assert metrics["train/first_log_ratio"] < 1e-4
            metrics |= run.trainee.publish()
            assert metrics["sync/canary"] < 1e-4
            run.source.published(step + 1)
            versions.append(run.trainee.policy)
        assert len(set(versions)) == config.steps + 1
        assert played["rollout/staleness"] == staleness
        there = served(server.url)
        assert str(versions[-1]) in there
        assert len([name for name in there if name.startswith(f"{versions[0].name}-v")]) <= 2 * staleness + 2 + 2
        assert there[str(versions[-1])] == str(
            tmp_path / "versions" / f"{versions[0].name}-v{UPDATES * config.steps:06d}"
        )


def policies(groups: Sequence[Group]) -> set[Policy]:
    """The policies that sampled the learner's turns."""
    return {
        turn.trace.completion.policy
        for group in groups
        for trajectory in group.trajectories
        for turn in trajectory.turns
    }


@pytest.mark.slow
def test_run_starts_and_stops_its_server(model_directory: Path, tmp_path: Path) -> None:
    config = config_for(model_directory)
    with training(config, tmp_path) as (run, loaded):
        start = make_engine_start(config, model_directory, loaded.stops)
        [settings] = make_server_settings(start, VllmSettings())
        assert (settings.lora_rank, settings.max_loras, settings.dtype) == (RANK, 4, "float32")
        for step in range(2):
            assert run.trainee.publish()["sync/canary"] < 1e-4
            kept = run.trainee.players.keep()
            groups, _ = run.play(step)
            run.learn(step, groups)
        [url] = run.trainee.engine.urls
        assert set(served(url)) == {"learner-v0", str(kept)}
        assert json.loads((tmp_path / "versions" / "learner.current").read_text())["current"] == kept.version
    with pytest.raises(httpx.ConnectError):
        served(url)


@pytest.mark.slow
@pytest.mark.parametrize("tuned", [(), ("model.tune=full", "model.lora=")])
def test_one_server_plays_training_and_evaluations(
    model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tuned: Sequence[str]
) -> None:
    urls: list[str] = []
    start = Server.start

    def note_start(server: Server) -> None:
        urls.append(server.url)
        start(server)

    monkeypatch.setattr(Server, "start", note_start)
    panel = ("evaluation.every=0", "evaluation.matches=8", 'evaluation.opponents=["random"]')
    config = change_config(config_for(model_directory), "steps=1", "cold_start.steps=0", *panel, *tuned)
    run = start_run(tmp_path / "run", config)
    assert {"cold start", "trained"} <= run.results()["evaluations"].keys()
    [url] = urls
    with pytest.raises(httpx.ConnectError):
        served(url)
