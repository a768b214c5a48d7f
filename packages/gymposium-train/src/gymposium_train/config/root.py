"""The config of a training run: its settings and their tables."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from gymposium_agents.chat.settings import PlayerSettings
from gymposium_train.config.backend import BACKENDS, BackendSettings, LocalSettings
from gymposium_train.config.defaults import fill_defaults, is_pretrained
from gymposium_train.config.engine import ENGINES, ENGINES_HERE, Engine, find_engine, make_engine_table
from gymposium_train.config.learn import (
    MISMATCHES,
    Bypass,
    DecoupledMismatch,
    Distillation,
    Entropy,
    Kl,
    Legality,
    Mismatch,
    Optimizer,
    Sft,
)
from gymposium_train.config.measure import Checkpoints, ColdStart, Evaluation, Samples
from gymposium_train.config.model import Model
from gymposium_train.config.play import Overlong, Pool, Prompting, RolloutSettings, Share, Stage
from gymposium_train.config.source import SOURCES, MatchSettings, SourceSettings
from gymposium_train.credit.gae import GaeSettings
from gymposium_train.credit.grpo import GrpoSettings
from gymposium_train.credit.make import CREDITS
from gymposium_train.credit.protocol import CreditSettings
from gymposium_train.objective.make import OBJECTIVES
from gymposium_train.objective.ppo import PpoSettings
from gymposium_train.objective.protocol import ObjectiveSettings
from gymposium_train.util.processes import count_processes
from gymposium_train.util.settings import Settings

NO_TEACHER, AUTO_TEACHER = "none", "auto"
"""The values of `teacher` for a run without a teacher, and for one that chooses it."""
TEACHER_SHARE = 0.5
"""Default share of the budget for a cold start with a teacher."""
THINKING_TEMPERATURE = 0.6
"""Temperature in evaluations of thinking models, as recommended by Qwen3's authors."""


class TrainConfig(Settings):
    """The config of a training run. It is frozen, and a run directory stores it as `config.json`. Omitted settings have
    defaults. Some depend on `model.name` (`gymposium_train.config.defaults`)."""

    games: tuple[str, ...] | dict[str, Share] = ()
    """The games to learn, named as in `gymposium list`. Groups rotate over them. A table gives each game a share of the
    groups, such as `{ connect_four = 2, mail = 1 }`. Shares need not add up to 1. A run with another source of
    trajectories (`source.kind`) needs no games. It is evaluated in the games named here."""
    seed: int = 0
    """Seed of all random numbers of the run."""
    budget: float = Field(default=300.0, gt=0.0)
    """CPU seconds of the learner's process for the cold start and reinforcement learning together. Points of the
    learning curve after the cold start are included, but not the evaluations before and after. The number of steps and
    all schedules adapt to it. No effect if `steps` is set."""
    steps: int | None = Field(default=None, ge=0)
    """Number of reinforcement learning steps, instead of a budget. 0: only the cold start. A run with fixed steps does
    the same on every machine. With a budget, a faster machine takes more steps."""
    reward: str = "returns"
    """The reward to learn from: `returns`, `score`, `weighted(accuracy=1,efficiency=0.2)` … It does not affect the
    evaluation."""
    teacher: str = NO_TEACHER
    """The player to learn from, in place of random players in the cold start, and beside the rewards in reinforcement
    learning (`distillation`). Any player of the games, such as `exact`, `mcts-1000`, `cfr-500`, `expectimax-2`,
    `lm:MODEL` or `api:MODEL`. It recommends moves in the states that the model itself reaches, and sees only what its
    seat sees. In games without a list of legal moves, it teaches its replies, in the cold start only. `auto`: the
    strongest fast one that suits the games and the opponents, if any. `none`: no teacher. To a pretrained model,
    `lm:MODEL` teaches tokens, so both need the same tokenizer and chat template."""
    control: bool = False
    """Whether to also spend the CPU time of reinforcement learning on more SFT, for comparison."""
    model: Model = Field(default_factory=Model)
    backend: Annotated[BackendSettings, BACKENDS] = Field(default_factory=LocalSettings)
    """The backend that holds the learner's model. Plugins add kinds with the hook `gymposium_backends`."""
    engine: Annotated[Engine, ENGINES] = Field(default_factory=lambda: make_engine_table("shared"))
    """The engine that samples the rollouts. Default: `shared`, or a backend's own engine if the backend is not `local`.
    Plugins add kinds with the hook `gymposium_engines`."""
    prompting: Prompting = Field(default_factory=Prompting)
    source: Annotated[SourceSettings, SOURCES] = Field(default_factory=MatchSettings)
    """The source of the trajectories. Plugins add kinds with the hook `gymposium_sources`."""
    rollout: RolloutSettings = Field(default_factory=RolloutSettings)
    overlong: Overlong = Field(default_factory=Overlong)
    stages: tuple[Stage, ...] = Field(default=(Stage(),), min_length=1)
    """The stages of the curriculum, in order."""
    pool: Pool = Field(default_factory=Pool)
    credit: Annotated[CreditSettings, CREDITS] = Field(default_factory=GaeSettings)
    """How rewards become an advantage for each turn. Default: `gae`, or `grpo` with a pretrained model. Plugins add
    kinds with the hook `gymposium_credits`."""
    objective: Annotated[ObjectiveSettings, OBJECTIVES] = Field(default_factory=PpoSettings)
    """The policy loss. Plugins add kinds with the hook `gymposium_objectives`."""
    entropy: Entropy = Field(default_factory=Entropy)
    legality: Legality = Field(default_factory=Legality)
    distillation: Distillation = Field(default_factory=Distillation)
    kl: Kl = Field(default_factory=Kl)
    sft: Sft | None = None
    mismatch: Annotated[Mismatch, MISMATCHES] = Field(default_factory=Bypass)
    """How the difference between the engine's log-probabilities and the learner's is handled. Default: `bypass`, or
    `decoupled` with `objective.kind=gspo`."""
    optimizer: Optimizer = Field(default_factory=Optimizer)
    cold_start: ColdStart = Field(default_factory=ColdStart)
    evaluation: Evaluation = Field(default_factory=Evaluation)
    samples: Samples = Field(default_factory=Samples)
    checkpoints: Checkpoints = Field(default_factory=Checkpoints)
    loggers: dict[str, dict[str, Any]] = Field(default={})
    """Loggers in addition to the run's own metrics.jsonl, by name, each with its settings."""

    @property
    def evaluated_player(self) -> PlayerSettings:
        """The settings of the player that is evaluated and saved."""
        default = THINKING_TEMPERATURE if self.prompting.thinking else 0.0
        temperature = self.evaluation.temperature
        return self.prompting.player_settings(default if temperature is None else temperature)

    @property
    def can_show_pictures(self) -> bool:
        """Whether pictures reach the model. Pixels stay in this process, so it must play and learn here."""
        return self.engine.kind in ENGINES_HERE and count_processes() == 1

    @property
    def has_teacher(self) -> bool:
        """Whether the run has a teacher."""
        return self.teacher != NO_TEACHER

    @property
    def teaches_tokens(self) -> bool:
        """Whether the teacher scores the learner's tokens: a language model teaches a pretrained one."""
        return self.teacher.startswith("lm:") and is_pretrained(self.model)

    @property
    def teaches_moves(self) -> bool:
        """Whether the teacher recommends moves. It then also teaches in the cold start."""
        return self.has_teacher and not self.teaches_tokens

    @property
    def distillation_weight(self) -> float:
        """Initial weight of distillation in reinforcement learning. 0 without a teacher."""
        return self.distillation.weight if self.has_teacher else 0.0

    @property
    def cold_start_budget(self) -> float | None:
        """CPU seconds of a cold start with a teacher. None without one, or if `cold_start.steps` ends it."""
        if self.cold_start.budget is not None:
            return self.cold_start.budget
        return TEACHER_SHARE * self.budget if self.steps is None and self.cold_start.is_used else None

    @property
    def game_shares(self) -> tuple[float, ...]:
        """Each game's share of the groups, in order. The shares need not add up to 1."""
        return tuple(self.games.values()) if isinstance(self.games, dict) else (1.0,) * len(self.games)

    @property
    def rolls_back(self) -> bool:
        """Whether the run returns to the last healthy weights if its policy breaks."""
        wanted = self.checkpoints.rollback
        return self.steps is None if wanted is None else wanted

    @property
    def legality_weight(self) -> float:
        """Weight of the legality term. 0 if replies contain more than a move, because legal replies cannot be listed
        then."""
        return self.legality.weight if self.prompting.reply == "move" else 0.0

    @model_validator(mode="after")
    def _complete_settings(self) -> TrainConfig:
        if "credit" not in self.model_fields_set and is_pretrained(self.model):
            object.__setattr__(self, "credit", GrpoSettings())  # it is frozen for callers
        for name, table in fill_defaults(self, self.model, self.backend.other_defaults).items():
            object.__setattr__(self, name, table)
        if self.objective.prefers_decoupled and "mismatch" not in self.model_fields_set:
            object.__setattr__(self, "mismatch", DecoupledMismatch())
        if self.backend.kind != "local" and "engine" not in self.model_fields_set:
            object.__setattr__(self, "engine", make_engine_table(find_engine(self.backend.kind)))
        return self
