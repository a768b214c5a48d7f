"""Defects planted in a trainer that was written by hand: the check that names each of them fails, and says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.trainers.planting import Defect, defects, loop_trainer
from gymposium.testing.trainers import TrainerOutcome, outcomes, trainer_checks

TWELVE = defects(Path(__file__).parents[4] / "benchmarks" / "trainers" / "defects.toml")
MORE = [
    Defect(
        "log-probabilities at another temperature than samples",
        "temperature",
        "tokens = torch.multinomial(log_probs.exp(), 1, generator=generator)[:, 0]",
        "tokens = torch.multinomial(torch.softmax(logits, dim=-1), 1, generator=generator)[:, 0]",
    ),
    Defect("a sampler that never gets new weights", "staleness", "        self.version += 1\n        self.publish()\n", "        self.version += 1\n"),
    Defect("versions that stand still", "versions", "        self.version += 1\n", ""),
    Defect("gradients that add up", "fresh_gradient", "        self.optimizer.zero_grad()\n", ""),
    Defect("a loss shifted by one", "loss_of_sampled_tokens", "(losses * mask)", "(losses * mask.roll(1, dims=1))"),
    Defect("an optimizer that climbs the loss", "weights_follow", "lr=LEARNING_RATE)", "lr=LEARNING_RATE, maximize=True)"),
    Defect("a reference that moves", "kl", "self.reference = copy.deepcopy(self.policy)", "self.reference = self.policy"),
    Defect("a sampler that stops early", "cut_replies", "MOST_TOKENS = 4", "MOST_TOKENS = 2"),
    Defect("rewards of another match", "rewards", "rewards = torch.tensor([row.reward for row in rows]", "rewards = torch.tensor([row.reward for row in rows[2:] + rows[:2]]"),
    Defect("lost matches left out", "tokens", "        return episodes\n", "        return [one for one in episodes if one.returns[0] > 0]\n"),
]  # fmt: skip


def failures(scratch: Path, defect: Defect | None) -> dict[str, TrainerOutcome]:
    with loop_trainer(scratch, defect) as trainer:
        found = [*outcomes([check for check in trainer_checks(trainer) if check.level == "b"])]
    return {outcome.check: outcome for outcome in found if outcome.result == "failed"}


@pytest.mark.parametrize("defect", [*TWELVE, *MORE], ids=lambda defect: defect.name)
def test_each_defect_is_named_by_its_check(defect: Defect, tmp_path: Path) -> None:
    failed = failures(tmp_path, defect)
    assert defect.check in failed, failed
    assert "to do:" in failed[defect.check].message
    assert "no method of the adapter may raise that" not in failed[defect.check].message


def test_the_twelve_are_named_each_by_a_check_of_its_own() -> None:
    assert len({defect.check for defect in TWELVE}) == len(TWELVE) == 12


def test_a_clean_trainer_passes_every_check(tmp_path: Path) -> None:
    with loop_trainer(tmp_path) as trainer:
        found = [*outcomes([check for check in trainer_checks(trainer, seed=1) if check.level == "b"])]
    assert {outcome.result for outcome in found} == {"passed"}, found
