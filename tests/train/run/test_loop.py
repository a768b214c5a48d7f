"""The training loop with a real small model: rating, credit, learning, and step metrics."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from gymposium.errors import UnratedGroup
from gymposium.games.registry import load_game
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.protocol import CheckedReward, Reward
from gymposium.runs.samples import pick_first_replies
from gymposium.util.streams import stream
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.tokens import Sampling, TokenRequest, TurnTokens
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import LoadedModel, load_model
from gymposium_train.backends.local_model import LocalModel
from gymposium_train.backends.trainee import Trainee, make_trainee
from gymposium_train.config import (
    Distillation,
    Entropy,
    Kl,
    Legality,
    Model,
    Optimizer,
    Overlong,
    Prompting,
    RolloutSettings,
    Samples,
    Sft,
    Stage,
    TrainConfig,
)
from gymposium_train.config.schedules import RunProgress
from gymposium_train.credit.gae import GaeSettings
from gymposium_train.credit.grpo import GrpoSettings
from gymposium_train.credit.make import CREDITS, make_credit
from gymposium_train.credit.off import OffSettings
from gymposium_train.credit.protocol import Critic, is_tied
from gymposium_train.credit.rae import RaeSettings
from gymposium_train.learner import LocalLearner, Loss
from gymposium_train.learner.rows import Row, Span
from gymposium_train.rollout import Group, MatchPlanner, MatchRollouts
from gymposium_train.rollout.rating import rate_groups
from gymposium_train.run.loop import Training
from gymposium_train.run.samples_file import SamplesFile
from gymposium_train.run.teachers import make_token_teacher

SMALL: dict[str, Any] = {
    "games": ("tic_tac_toe",),
    "seed": 3,
    "steps": 4,
    "rollout": RolloutSettings(groups=4, group_size=8, growth=1.0),
    "entropy": Entropy(weight=0.01),
    "credit": GrpoSettings(),
}


SELF = (Stage(opponents={"self": 1.0}),)


def brief(group: Sequence[Trajectory]) -> list[Reward]:
    """Rewards that depend on the reply. The model is untrained, so it loses all matches at the first reply."""
    return [Reward(-float(len(t.turns[0].text)), {"letters": float(len(t.turns[0].text))}) for t in group]


@pytest.fixture(scope="module")
def pretrained(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model as if it had been trained elsewhere."""
    directory = tmp_path_factory.mktemp("models") / "pretrained"
    shutil.copytree(model_directory, directory, ignore=shutil.ignore_patterns(PlayerSettings.FILE))
    return directory


@pytest.fixture(scope="module")
def sharp_model(model_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model with less entropy."""
    directory = tmp_path_factory.mktemp("models") / "sharp"
    shutil.copytree(model_directory, directory)
    sharp = load_model(model_directory)
    with torch.no_grad():
        sharp.model.model.decoder.final_layer_norm.weight *= 3.0
    sharp.model.save_pretrained(directory)
    return directory


@contextmanager
def training(model: Path, directory: Path, /, reward: Any = brief, **settings: Any) -> Iterator[Training]:
    config = TrainConfig(**{**SMALL, **settings})
    base = load_model(model)
    loaded = LoadedModel(attach_lora(base.model, rank=4, alpha=8, seed=1), base.chat)
    learner = LocalLearner(loaded.model, loaded.pad, config.optimizer, loss=Loss.from_config(config))
    games = [load_game(name) for name in config.games]
    with make_trainee(config, directory, LocalModel(config, loaded, learner), games) as trainee:
        trainee.publish()
        yield Training(
            config=config,
            trainee=trainee,
            source=MatchRollouts(MatchPlanner(config, games, trainee.players)),
            credit=make_credit(config.credit),
            reward=CheckedReward("test", reward),
            pace=RunProgress(config),
            teach_tokens=make_token_teacher(config) if config.teaches_tokens else None,
        )


def steps(mine: Training, *numbers: int) -> list[dict[str, Any]]:
    found = []
    for step in numbers:
        groups, metrics = mine.play(step)
        metrics |= mine.learn(step, groups)
        mine.trainee.publish()
        found.append({name: value for name, value in metrics.items() if not name.startswith("perf/")})
    return found


@pytest.mark.parametrize("kind", ["grpo", "rloo", "baseline", "rae", "gae", "gigpo", "off"])
def test_each_credit_learns_on_policy(model_directory: Path, tmp_path: Path, kind: Any) -> None:
    with training(model_directory, tmp_path, credit=CREDITS.kinds()[kind]()) as mine:
        (metrics,) = steps(mine, 0)
    assert metrics["train/rows"] > 0
    assert metrics["train/first_log_ratio"] <= 1e-4
    assert metrics["train/mismatch_kl"] < 1e-8
    assert metrics["train/policy_version"] > 0
    assert metrics["rollout/reward"] == -metrics["rollout/reward/letters"] < 0.0
    assert ("train/value_loss" in metrics) == (kind == "gae")


@pytest.mark.parametrize(("bonus", "legality"), [(0.0, 0.0), (0.01, 0.0), (0.0, 1.0)])
def test_legal_replies_are_recorded_only_for_loss_terms(
    model_directory: Path, tmp_path: Path, bonus: float, legality: float
) -> None:
    spans: list[Span] = []
    settings = {"entropy": Entropy(weight=bonus), "legality": Legality(weight=legality), "stages": SELF}
    with training(model_directory, tmp_path, **settings) as mine:
        mine.keep = lambda step, groups: spans.extend(
            span for group in groups for episode in group for span in episode.spans
        )
        groups, metrics = mine.play(0)
        metrics |= mine.learn(0, groups)
    turns = [turn for group in groups for one in group.trajectories for turn in one.turns]
    assert [span.legal for span in spans] == [turn.trace.legal for turn in turns]
    noted = bonus + legality > 0.0
    assert {bool(span.legal) for span in spans} == {noted}
    assert ("train/move_entropy" in metrics) == noted
    assert ("train/illegality" in metrics) == (legality > 0.0)
    if noted:
        assert all(len(span.legal) == len(span) for span in spans)
        assert metrics["train/move_entropy"] > 0.0
    if legality:
        assert metrics["train/illegality"] > 0.0


@pytest.mark.slow
def test_learner_without_credit_approaches_the_probabilities_of_a_teacher_of_tokens(
    pretrained: Path, sharp_model: Path, tmp_path: Path
) -> None:
    settings = {
        "model": Model(name=str(pretrained)),
        "teacher": f"lm:{sharp_model}",
        "steps": 20,
        "distillation": Distillation(final_share=1.0),
        "credit": OffSettings(),
        "entropy": Entropy(),
        "kl": Kl(weight=0.0),
        "optimizer": Optimizer(learning_rate=1e-2, epochs=1, minibatches=1, warmup_steps=0),
        "rollout": RolloutSettings(groups=8, group_size=16, growth=1.0),
        "stages": SELF,
    }
    seen: list[Row] = []
    with training(pretrained, tmp_path, **settings) as mine:
        teach = mine.teach_tokens
        assert teach is not None

        def note_rows(rows: Sequence[Row], weight: float) -> tuple[list[Row], float]:
            found = teach(rows, weight)
            seen.extend(found[0])
            return found

        mine.teach_tokens = note_rows
        [first] = steps(mine, 0)
        rows = seen[:]
        later = steps(mine, *range(1, 10))
    teacher = load_model(sharp_model).model
    differences, gains = [], []
    for row in rows:
        with torch.no_grad():
            scores = teacher(torch.tensor([row.ids])).logits[0].float().log_softmax(-1)
        differences += [float(scores[place - 1, row.ids[place]]) for place in row.places]
        gains += [gain for span in row.spans for gain in span.token_advantages]
    sampled = [logprob for row in rows for span in row.spans for logprob in span.engine]
    differences = [theirs - ours for theirs, ours in zip(differences, sampled, strict=True)]
    mean = sum(differences) / len(differences)
    assert first["train/teacher_kl"] == pytest.approx(-mean, rel=1e-3)
    assert gains == pytest.approx([one - mean for one in differences], abs=1e-3)
    assert later[-1]["train/teacher_kl"] < 0.7 * first["train/teacher_kl"]


@pytest.mark.parametrize("mode", ["fail", "mask", "penalize"])
def test_cut_off_replies_are_treated_as_set(model_directory: Path, tmp_path: Path, mode: Any) -> None:
    """The untrained model hardly ever ends a reply within two tokens."""
    settings = {"overlong": Overlong(mode=mode), "prompting": Prompting(max_tokens=2), "stages": SELF}
    groups: list[Any] = []
    with training(model_directory, tmp_path, **settings) as mine:
        mine.keep = lambda step, rated: groups.extend(rated)
        played, _ = mine.play(0)
        metrics = mine.learn(0, played)
    episodes = [one for group in groups if not is_tied(group) for one in group]
    cut = [turn.reading == "cut off" for one in episodes for turn in one.trajectory.turns]
    assert cut.count(True) > 1
    assert any(cut)
    weights = [span.weight for one in episodes for span in one.spans]
    assert [not weight for weight in weights] == (cut if mode == "mask" else [False] * len(cut))
    assert metrics.get("train/turns_masked") == (cut.count(True) if mode == "mask" else None)
    assert metrics["train/rows_too_long"] == 0
    assert metrics.get("rollout/reward/overlong", 0.0) < 0.0 or mode != "penalize"


def test_step_reports_speed_and_times(model_directory: Path, tmp_path: Path) -> None:
    learned: list[int] = []
    with training(model_directory, tmp_path, entropy=Entropy()) as mine:
        mine.keep = lambda step, groups: learned.extend(
            len(row.ids) for group in groups if not is_tied(group) for episode in group for row in episode.rows
        )
        groups, metrics = mine.play(0)
        metrics |= mine.learn(0, groups)
    turns = [turn for group in groups for one in group.trajectories for turn in one.turns]
    sampled = sum(len(turn.trace.completion.ids) for turn in turns)
    assert metrics["perf/tokens_per_second_rollout"] * metrics["perf/seconds_rollout"] == pytest.approx(sampled)
    assert metrics["train/rows"] == len(learned) > 0
    assert metrics["perf/tokens_per_second_update"] * metrics["perf/seconds_update"] == pytest.approx(sum(learned))
    assert metrics["train/entropy"] > 0.0


def test_recomputed_step_is_identical(model_directory: Path, tmp_path: Path) -> None:
    settings = {"stages": (Stage(opponents={"self": 1.0, "random": 1.0}),), "credit": RaeSettings()}
    with training(model_directory, tmp_path / "a", **settings) as mine:
        first, tensors, state = steps(mine, 0), dict(mine.trainee.learner.tensors()), mine.state()
        tensors = {name: tensor.clone() for name, tensor in tensors.items()}
        expected = steps(mine, 1, 2)
    with training(model_directory, tmp_path / "b", **settings) as again:
        again.trainee.learner.load(tensors)
        again.restore(state)
        again.trainee.publish()
        assert steps(again, 1, 2) == expected
    with training(model_directory, tmp_path / "c", **settings) as anew:
        assert steps(anew, 0) == first


@pytest.mark.slow
def test_keeping_samples_changes_no_metrics(model_directory: Path, tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    found = []
    for name, every in (("a", 0), ("b", 1)):
        with training(model_directory, tmp_path / name, credit=GaeSettings()) as mine:
            pieces = mine.trainee.player.chat.pieces
            mine.keep = SamplesFile(file, Samples(every=every, groups=3), 4, pieces, critic=True).keep
            found.append(steps(mine, 0, 1))
            assert file.exists() == bool(every)
    assert found[0] == found[1]
    groups = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(group["step"], group["group"]) for group in groups] == [(step, n) for step in (1, 2) for n in range(3)]
    for one in (one for group in groups for one in group["trajectories"]):
        assert one["values"] == pytest.approx([0.0], abs=3.0)
        assert one["targets"] == one["rewards"] == [one["reward"]]
        assert one["advantages"][0] != 0.0


@pytest.mark.slow
def test_kept_replies_are_shown_best_to_worst(model_directory: Path, tmp_path: Path) -> None:
    shown: list[str] = []
    file = tmp_path / "samples.jsonl"
    with training(model_directory, tmp_path, lambda group: [Reward(float(n)) for n in range(len(group))]) as mine:
        pieces = mine.trainee.player.chat.pieces
        mine.keep = SamplesFile(file, Samples(every=2), 4, pieces, show=shown.append).keep
        steps(mine, 0, 1, 2)
    assert [text.partition(",")[0] for text in shown] == ["Replies at step 1", "Replies at step 2"]
    first = json.loads(file.read_text(encoding="utf-8").splitlines()[0])
    replies = pick_first_replies(first)
    rewards = [reward for _, reward in replies]
    assert rewards == sorted(rewards, reverse=True)
    assert rewards[0] == max(one["reward"] for one in first["trajectories"])
    assert rewards[-1] == 0.0
    assert shown[0].endswith(", ".join(f"{reply!r} ({reward:+.2f})" for reply, reward in replies))
    best = next(one for one in first["trajectories"] if one["reward"] == rewards[0])["rows"][0]
    turn = best["turns"][0]
    assert replies[0][0] == "".join(pieces(best["ids"][turn["start"] : turn["stop"]]))


def test_tied_groups_are_kept_without_weight(model_directory: Path, tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_text('{"format":"gymposium-samp', encoding="utf-8")  # an earlier writer was cut off
    with training(model_directory, tmp_path, lambda group: [Reward(0.5) for _ in group]) as mine:
        mine.keep = SamplesFile(file, Samples(), 4, mine.trainee.player.chat.pieces).keep
        steps(mine, 0)
    groups = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [group["tied"] for group in groups] == [True] * 4
    weights = {t["weight"] for g in groups for one in g["trajectories"] for row in one["rows"] for t in row["turns"]}
    assert weights == {0.0}


def test_tied_groups_are_skipped_and_counted(model_directory: Path, tmp_path: Path) -> None:
    def alike(group: Sequence[Trajectory]) -> list[Reward]:
        return [Reward(0.5) for _ in group]

    with training(model_directory, tmp_path, alike) as mine:
        (metrics,) = steps(mine, 0)
    assert metrics["rollout/groups_tied"] == metrics["rollout/groups"] == 4
    assert metrics["train/rows"] == metrics["train/policy_version"] == 0
    assert "train/policy_loss" not in metrics


def test_unrated_groups_are_dropped_and_counted(model_directory: Path, tmp_path: Path) -> None:
    def some(group: Sequence[Trajectory]) -> list[Reward]:
        if group[0].seat == 1:
            raise UnratedGroup("the judge is out")
        return [Reward(float(len(t.turns)), {"turns": float(len(t.turns))}) for t in group]

    with training(model_directory, tmp_path, some) as mine:
        (metrics,) = steps(mine, 0)
        assert mine.unrated == {"the judge is out": 2}
    assert (metrics["rollout/groups"], metrics["rollout/groups_unrated"]) == (4, 2)
    assert metrics["rollout/reward"] == metrics["rollout/reward/turns"]


def test_seats_of_a_match_never_share_a_baseline(model_directory: Path, tmp_path: Path) -> None:
    """One seat gets a reward of 1 and the other -1, for any reply: a shared baseline would reward the seat. (Both reply
    at once, because an untrained model's first reply ends the match.)"""

    def by_seat(group: Sequence[Trajectory]) -> list[Reward]:
        return [Reward(1.0 - 2.0 * t.seat) for t in group]

    for kind in ("grpo", "baseline"):
        settings = {"games": ("goofspiel(num_cards=3)",), "stages": SELF, "credit": CREDITS.kinds()[kind]()}
        with training(model_directory, tmp_path / kind, by_seat, **settings) as mine:
            groups, _ = mine.play(0)
            assert {group.seat for group in groups} == {0, 1}
            metrics = mine.learn(0, groups)
        assert metrics.get("train/advantage_std", 0.0) == pytest.approx(0.0)


def test_groups_are_rated_once_if_ties_are_replaced(model_directory: Path, tmp_path: Path) -> None:
    """The first group is tied, and another takes its place."""
    rated: list[str | None] = []

    def rate_by_size(group: Sequence[Trajectory]) -> list[Reward]:
        rated.append(group[0].match)
        return [Reward(float(n * (len(rated) > 1))) for n in range(len(group))]

    with training(model_directory, tmp_path, rate_by_size) as mine:
        source = mine.source
        assert isinstance(source, MatchRollouts)
        source.most_replaced = 1
        source.rate = lambda groups: rate_groups(mine.reward, groups, mine.config)
        (metrics,) = steps(mine, 0)
    assert metrics["rollout/groups_replaced"] == 1
    assert metrics["rollout/groups_tied"] == 0
    assert len(rated) == len({*rated}) == 5


def test_too_long_rows_are_dropped_and_counted(model_directory: Path, tmp_path: Path) -> None:
    with training(model_directory, tmp_path, optimizer=Optimizer(max_row=10)) as mine:
        (metrics,) = steps(mine, 0)
    assert metrics["train/rows"] == 0
    assert metrics["train/rows_too_long"] > 0


@pytest.mark.slow
def test_k1_penalty_lowers_rewards_after_drift(model_directory: Path, tmp_path: Path) -> None:
    kl = Kl(weight=10.0, estimator="k1")
    with training(model_directory, tmp_path, credit=GrpoSettings(normalise=False), kl=kl) as mine:
        steps(mine, 0, 1)
        groups, _ = mine.play(2)
        annotated = mine._annotate_groups(mine._rate_groups(groups), 10.0)
        episodes = [episode for group in annotated for episode in group]
        moved = [sum(sum(span.old) - sum(span.reference) for span in episode.spans) for episode in episodes]
        assert max(map(abs, moved)) > 1e-3
        for episode, distance in zip(episodes, moved, strict=True):
            assert episode.total == pytest.approx(episode.reward.total - 10.0 * distance, abs=1e-6)


def test_imitation_is_sampled_once_per_optimizer_step(model_directory: Path, tmp_path: Path) -> None:
    with training(model_directory, tmp_path, sft=Sft(weight=0.5), optimizer=Optimizer(epochs=2, minibatches=2)) as mine:
        chat, asked = mine.trainee.player.chat, []

        def pairs(step: int) -> Iterator[Any]:
            while True:
                asked.append(step)
                yield [(chat.prompt("x . o"), chat.reply("b2"))]

        mine.auxiliary_sft = pairs
        (metrics,) = steps(mine, 0)
        assert len(asked) == mine.trainee.learner.policy_version
    assert metrics["train/sft_loss"] > 0.0


def test_critic_warmup_keeps_the_policy(model_directory: Path, tmp_path: Path) -> None:
    settings = {"credit": GaeSettings(critic=Critic(warmup=1))}
    with training(model_directory, tmp_path, **settings) as mine:
        before = {name: p.clone() for name, p in mine.trainee.learner.named.items()}
        steps(mine, 0)
        assert all((p == before[name]).all() for name, p in mine.trainee.learner.named.items())
        steps(mine, 1)
        assert any((p != before[name]).any() for name, p in mine.trainee.learner.named.items())


@dataclass(frozen=True)
class TokenTurn:
    """A turn that has only tokens."""

    trace: TurnTokens


@dataclass(frozen=True)
class HandMadeTrajectory:
    """A trajectory without a match."""

    turns: tuple[TokenTurn, ...]
    truncated: bool = False
    unanswered: Any = None


@dataclass(frozen=True, kw_only=True)
class QuestionGroup(Group):
    """A group of answers to one question."""

    role: str = "arithmetic"

    def facts(self) -> dict[str, Any]:
        return {"question": "1 + 1"}

    def trajectory_facts(self, number: int) -> dict[str, Any]:
        return {"answer": number}


@dataclass
class HandMadeSource:
    """A `RolloutSource` without matches: the engine answers each question several times."""

    trainee: Trainee
    asked: int = 0

    def roll_out(self, step: int) -> tuple[list[QuestionGroup], dict[str, float]]:
        prompts = [self.trainee.player.chat.prompt(text) for text in ("1 + 1", "2 + 3")]
        groups = []
        for number, prompt in enumerate(prompts):
            requests = [TokenRequest(prompt, stream(step, "answer", number, n), None) for n in range(4)]
            completions = self.trainee.engine.generate(requests, Sampling(1.0, 3))
            answers = [HandMadeTrajectory((TokenTurn(TurnTokens(prompt, one)),)) for one in completions]
            groups.append(QuestionGroup(trajectories=answers))
        self.asked += len(prompts)
        return groups, {"rollout/questions": 2.0}

    def published(self, step: int) -> None:
        pass

    def learned(self, step: int, metrics: Mapping[str, Any]) -> None:
        pass

    def state(self) -> dict[str, Any]:
        return {"asked": self.asked}

    def restore(self, state: dict[str, Any]) -> None:
        self.asked = state["asked"]


def rate_odd_tokens(group: Sequence[HandMadeTrajectory]) -> list[Reward]:
    """A reward for odd tokens."""
    return [Reward(float(sum(token % 2 for turn in one.turns for token in turn.trace.completion.ids))) for one in group]


def test_distillation_weight_does_not_rise_in_a_longer_run(model_directory: Path, tmp_path: Path) -> None:
    found = []
    state = None
    for length, numbers in ((3, (0, 1)), (9, (2, 3)), (5, (4,))):
        with training(model_directory, tmp_path, teacher="random", **SMALL | {"steps": length}) as mine:
            if state is not None:
                mine.restore(state)
            found += [metrics["train/distillation_weight"] for metrics in steps(mine, *numbers)]
            state = mine.state()
    assert found == [1.0, 0.5, 0.5, 0.5, 0.0]


def test_step_learns_from_trajectories_without_a_match(model_directory: Path, tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    at_one = Prompting(temperature=1.0)  # as the source samples
    settings = {"credit": RaeSettings(), "stages": SELF, "entropy": Entropy(), "prompting": at_one}
    with training(model_directory, tmp_path, rate_odd_tokens, **settings) as mine:
        mine.source = HandMadeSource(mine.trainee)
        mine.keep = SamplesFile(file, Samples(every=1), 4, mine.trainee.player.chat.pieces).keep
        first, second = steps(mine, 0, 1)
        state = mine.state()
    assert second["train/policy_version"] > first["train/policy_version"] > 0
    assert first["train/rows"] == 8
    assert first["train/mismatch_kl"] < 1e-8
    assert first["rollout/questions"] == 2.0
    assert state["rollouts"] == {"asked": 4}
    assert "arithmetic" in str(state["credit"])
    line = json.loads(file.read_text().splitlines()[0])
    assert line["question"] == "1 + 1"
    assert [one["answer"] for one in line["trajectories"]] == [0, 1, 2, 3]
