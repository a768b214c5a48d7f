"""Everything that decides a run."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gymposium_train.config.learn import Credit, Critic, Entropy, Kl, Mismatch, Objective, Optimizer, Sft
from gymposium_train.config.measure import Checkpoints, ColdStart, Evaluation, Samples
from gymposium_train.config.model import Engine, Model
from gymposium_train.config.part import Part
from gymposium_train.config.play import Asking, Pool, Rollout, Stage


class TrainConfig(Part):
    """One training run. Frozen and printable; it stands in the run directory as `config.json`."""

    games: tuple[str, ...] = Field(min_length=1)
    """The games that are learned, as `gymposium list` shows them; groups take turns over them."""
    seed: int = 0
    """Everything that is drawn follows from it."""
    steps: int = Field(default=40, ge=0)
    """Steps of reinforcement learning; 0: the cold start alone."""
    reward: str = "returns"
    """What is learned from: `returns`, `score`, `weighted(accuracy=1,efficiency=0.2)` … It changes no measure."""
    control: bool = False
    """Also spend the CPU time of the reinforcement learning on more SFT, to compare."""
    model: Model = Field(default_factory=Model)
    engine: Engine = Field(default_factory=Engine)
    asking: Asking = Field(default_factory=Asking)
    rollout: Rollout = Field(default_factory=Rollout)
    stages: tuple[Stage, ...] = Field(default=(Stage(),), min_length=1)
    """The curriculum, one stage after the other."""
    pool: Pool = Field(default_factory=Pool)
    credit: Credit = Field(default_factory=Credit)
    objective: Objective = Field(default_factory=Objective)
    entropy: Entropy = Field(default_factory=Entropy)
    kl: Kl = Field(default_factory=Kl)
    sft: Sft = Field(default_factory=Sft)
    critic: Critic = Field(default_factory=Critic)
    mismatch: Mismatch = Field(default_factory=Mismatch)
    optimizer: Optimizer = Field(default_factory=Optimizer)
    cold_start: ColdStart = Field(default_factory=ColdStart)
    evaluation: Evaluation = Field(default_factory=Evaluation)
    samples: Samples = Field(default_factory=Samples)
    checkpoints: Checkpoints = Field(default_factory=Checkpoints)
    loggers: dict[str, dict[str, Any]] = Field(default={})
    """Loggers beside the run's own metrics.jsonl, by name, each with its settings."""
