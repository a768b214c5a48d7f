"""The learner on the service matches the local learner: the same rows give the same adapters."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tinker
import torch

from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import load_model
from gymposium_tinker.learner import TinkerLearner
from gymposium_tinker.losses import choose_service_loss
from gymposium_tinker.service import resolve_result
from gymposium_train.config import TrainConfig
from gymposium_train.config.reading import build_config
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.learner.rows import Row, Span, fill_spans

from .stand_in.models import ALPHA
from .stand_in.running import Faults
from .stand_in.service import StandIn

RANK = 4
RATE = 1e-2
NEAR = 1e-6
"""The largest difference between two weights. The service sends log-probabilities as float32."""
Learners = tuple[LocalLearner, TinkerLearner]


def make_config(model: Path, *, several: bool = False, **tables: Any) -> TrainConfig:
    optimizer = {"layout": "padded", "target_kl": 0.0, "max_grad_norm": 0.5}
    optimizer |= {"epochs": 2, "minibatches": 2} if several else {"epochs": 1, "minibatches": 1}
    return build_config(
        {
            "games": ["tic_tac_toe"],
            "model": {"name": str(model), "tune": "lora", "lora": {"rank": RANK}},
            "backend": {"kind": "tinker"},
            "credit": {"kind": "grpo"},
            "legality": {"weight": 0.0},
            "optimizer": optimizer,
            "kl": {"weight": 0.0},
            "prompting": {"reply": "move"},
            **tables,
        }
    )


@pytest.fixture
def learners(model_directory: Path, client: tinker.ServiceClient) -> Callable[[TrainConfig], Learners]:
    """Makes the two learners of a config, whose adapters begin with the same weights."""

    def made(config: TrainConfig) -> Learners:
        loss = Loss.from_config(config)
        training = resolve_result(
            client.create_lora_training_client(str(model_directory), rank=RANK, seed=7, train_unembed=False)
        )
        there = TinkerLearner(
            client, training, config.optimizer, loss=loss, on_service=choose_service_loss(config), days=1
        )
        loaded = load_model(model_directory, dtype=torch.float64)
        model = attach_lora(loaded.model, rank=RANK, alpha=ALPHA, seed=7).double()
        return LocalLearner(model, loaded.pad, config.optimizer, loss=loss), there

    return made


@pytest.fixture
def rows(model_directory: Path) -> list[Row]:
    """Rows of one or two turns, of different lengths, with log-probabilities of an engine that differs a little."""
    rng, found = random.Random(3), []
    model = load_model(model_directory).model
    for number in range(13):
        ids = tuple(rng.randrange(5, 300) for _ in range(8 + number % 5))
        places = [(3, 5), (6, len(ids))] if number % 3 else [(4, len(ids))]
        with torch.no_grad():
            scores = torch.log_softmax(model(torch.tensor([ids])).logits[0], -1)
        spans = []
        for start, stop in places:
            exact = [float(scores[place - 1, ids[place]]) for place in range(start, stop)]
            engine = tuple(one + rng.uniform(-0.1, 0.1) for one in exact)
            spans.append(Span(start, stop, engine, advantage=rng.uniform(-2, 2), weight=1 / 60))
        found.append(Row(ids, tuple(spans)))
    return found


def largest_difference(service: StandIn, pair: Learners) -> float:
    here, there = pair
    weights = service.models[there.client.model_id].trained.named
    assert weights.keys() == here.named.keys()
    return max(float((weights[name] - p).detach().abs().max()) for name, p in here.named.items())


def step(pair: Learners, rows: Sequence[Row], seed: int, **options: Any) -> list[dict[str, float]]:
    return [one.update(one.annotate(rows), learning_rate=RATE, seed=seed, **options) for one in pair]


OBJECTIVES = [
    {"kind": "pg", "cap": 1.05},
    {"kind": "ppo", "clip_low": 0.05, "clip_high": 0.05},
    {"kind": "ppo", "clip_low": 0.05, "clip_high": 0.05, "clip_dual": 0.0},
    {"kind": "cispo", "clip_low": 0.05, "clip_high": 0.05},
    {"kind": "gspo", "clip_low": 0.05, "clip_high": 0.05},
]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: f"{objective['kind']} {len(objective)}")
def test_three_steps_match_the_local_learner(
    objective: dict[str, Any],
    model_directory: Path,
    learners: Callable[[TrainConfig], Learners],
    rows: list[Row],
    service: StandIn,
) -> None:
    """With several passes and minibatches, so that ratios leave their bounds."""
    pair = learners(make_config(model_directory, several=True, objective=objective))
    before = {name: p.detach().clone() for name, p in pair[0].named.items()}
    for seed in range(3):
        here, there = step(pair, rows, seed)
    assert largest_difference(service, pair) < NEAR
    assert max(float((p - before[name]).detach().abs().max()) for name, p in pair[0].named.items()) > 100 * NEAR
    assert here["train/clipfrac"] > 0.05
    for name in ("train/policy_loss", "train/approx_kl", "train/clipfrac", "train/mismatch_kl"):
        assert there[name] == pytest.approx(here[name], abs=1e-4), name


def test_first_pg_step_is_importance_sampling(
    model_directory: Path, learners: Callable[[TrainConfig], Learners], rows: list[Row], service: StandIn
) -> None:
    pair = learners(make_config(model_directory, objective={"kind": "pg"}))
    pairs = [(row.ids[: span.start], row.ids[span.start : span.stop]) for row in rows for span in row.spans]
    rows = fill_spans(rows, engine=pair[0].score(pairs))
    metrics = step(pair, rows, 0)
    assert largest_difference(service, pair) < NEAR
    assert [kind for kind, _ in service.asked][-2:] == ["importance_sampling", "optim_step"]
    assert metrics[1]["train/first_log_ratio"] < 1e-5


def test_imitation_matches_the_local_learner(
    model_directory: Path, learners: Callable[[TrainConfig], Learners], service: StandIn
) -> None:
    pair = learners(make_config(model_directory))
    lessons = [
        Demonstration((5, 6, 7), (8, 9)),
        Demonstration((5, 6, 7, 8, 9, 10, 11), (12,)),  # goes on with the conversation before
        Demonstration((20, 21), (22, 23, 24)),
        Demonstration((20, 21), (22, 23, 24)),
    ]
    for _ in range(3):
        here, there = (learner.imitate(lessons, RATE) for learner in pair)
        assert there["train/sft_loss"] == pytest.approx(here["train/sft_loss"], abs=1e-4)
    assert largest_difference(service, pair) < NEAR
    assert pair[1].policy_version == 3


@pytest.mark.parametrize(
    "tables",
    [
        {"kl": {"weight": 0.2, "estimator": "k2"}},
        {"kl": {"weight": 0.2, "estimator": "k3"}},
        {"mismatch": {"kind": "decoupled", "cap": 1.02}},
        {
            "mismatch": {"kind": "decoupled", "correction": "mask", "cap": 1.05},
            "kl": {"weight": 0.2, "estimator": "k3"},
        },
    ],
    ids=["k2", "k3", "decoupled", "decoupled and k3"],
)
def test_kl_and_decoupled_ratios_match_the_local_learner(
    tables: dict[str, Any],
    model_directory: Path,
    learners: Callable[[TrainConfig], Learners],
    rows: list[Row],
    service: StandIn,
) -> None:
    pair = learners(make_config(model_directory, several=True, objective={"kind": "ppo"}, **tables))
    for seed in range(3):
        step(pair, rows, seed)
    assert largest_difference(service, pair) < NEAR


def test_k1_logprobs_match_the_local_learner(
    model_directory: Path, learners: Callable[[TrainConfig], Learners], rows: list[Row]
) -> None:
    pair = learners(make_config(model_directory, kl={"weight": 0.2, "estimator": "k1"}))
    step(pair, rows, 0)
    noted = [[(span.old, span.reference) for row in one.annotate(rows) for span in row.spans] for one in pair]
    for here, there in zip(*noted, strict=True):
        assert here[0] != pytest.approx(here[1], abs=1e-3)  # the policy has left the reference
        for mine, theirs in zip(here, there, strict=True):
            assert theirs == pytest.approx(mine, abs=1e-4)


def test_lessons_during_updates_match_the_local_learner(
    model_directory: Path, learners: Callable[[TrainConfig], Learners], rows: list[Row], service: StandIn
) -> None:
    pair = learners(make_config(model_directory, several=True))
    lessons = [Demonstration((5, 6, 7), (8, 9)), Demonstration((20, 21), (22, 23, 24))]
    for learner in pair:
        learner.update(learner.annotate(rows), learning_rate=RATE, auxiliary_sft=iter([(0.3, lessons)] * 4))
    assert largest_difference(service, pair) < NEAR


def test_steps_are_sent_before_gradients_return(
    model_directory: Path,
    learners: Callable[[TrainConfig], Learners],
    rows: list[Row],
    service: StandIn,
    faults: Faults,
) -> None:
    """13 rows are three requests, whose results are only asked for afterwards."""
    _, there = learners(make_config(model_directory))
    there.update(rows, learning_rate=RATE)
    assert sorted(kind for kind, _ in service.asked) == ["optim_step", "ppo", "ppo", "ppo"]


def test_saved_learner_resumes_identically(
    model_directory: Path,
    learners: Callable[[TrainConfig], Learners],
    rows: list[Row],
    service: StandIn,
    tmp_path: Path,
) -> None:
    config = make_config(model_directory, several=True, kl={"weight": 0.2, "estimator": "k2"})
    _, straight = learners(config)
    for seed in range(2):
        straight.update(straight.annotate(rows), learning_rate=RATE, seed=seed)
    straight.save_state(tmp_path)
    straight.update(straight.annotate(rows), learning_rate=RATE, seed=2)

    _, resumed = learners(config)
    resumed.load_state(tmp_path)
    assert resumed.policy_version == straight.policy_version - 4
    resumed.update(resumed.annotate(rows), learning_rate=RATE, seed=2)
    there, again = (service.models[one.client.model_id].trained.named for one in (straight, resumed))
    assert all(torch.equal(there[name], again[name]) for name in there)


def test_each_version_is_saved_once(
    model_directory: Path, learners: Callable[[TrainConfig], Learners], service: StandIn, tmp_path: Path
) -> None:
    """Some servers refuse a name that exists, and the SDK repeats a refused request for minutes."""
    config = make_config(model_directory, kl={"weight": 0.2})
    _, there = learners(config)
    there.refresh_reference()
    for _ in range(2):
        there.save_state(tmp_path)
    assert [kind for kind, _ in service.asked] == ["save", "save"]
    assert sorted(path.rpartition("/")[2] for path in service.states) == ["reference-0", "state-0"]

    there.load_state(tmp_path)
    there.save_state(tmp_path)
    assert len(service.states) == 3  # of another model
