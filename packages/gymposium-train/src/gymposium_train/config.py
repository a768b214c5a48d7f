"""Everything that decides a run. Frozen, printable, written to the run directory as `config.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from gymposium.errors import BadOption
from gymposium.games.protocol import Style
from gymposium_agents.settings import PlayerSettings
from gymposium_agents.small import SmallModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStart:
    """Rejection sampling and SFT of the whole model: games of uniform random players, winners' moves kept."""

    steps: int = 240
    """0 skips the cold start, as for a model that already knows how to answer."""
    batch: int = 256
    """Moves in a batch."""
    games: int = 20_000
    learning_rate: float = 4e-3
    warmup: float = 0.1
    """Share of the steps in which the learning rate rises; it then falls along a cosine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grpo:
    """Group-relative policy optimization (Shao et al., 2024) with a clipped objective.

    What begins at `x` and ends at `final_x` goes there over the steps: the groups grow geometrically,
    because a better policy wins nearly always and then needs more matches to tell moves apart.
    """

    steps: int = 40
    groups: int = 2
    """Groups in a step; each has one match seed and one seat, and the seats take turns."""
    group_size: int = 128
    final_group_size: int = 768
    epochs: int = 2
    minibatches: int = 2
    learning_rate: float = 4e-3
    final_rate: float = 0.1
    """The learning rate falls linearly to this share of itself."""
    warmup_steps: int = 3
    clip_low: float = 0.2
    clip_high: float = 0.28
    entropy: float = 0.08
    final_entropy: float = 0.004
    normalise: bool = True
    """Divide advantages by the group's standard deviation."""
    temperature: float = 1.0
    max_grad_norm: float = 1.0

    def progress(self, step: int) -> float:
        """How far step 0 … steps - 1 is, from 0 to 1."""
        return step / max(1, self.steps - 1)

    def group_size_at(self, step: int) -> int:
        growth: float = (self.final_group_size / self.group_size) ** self.progress(step)
        return round(self.group_size * growth)

    def entropy_at(self, step: int) -> float:
        return self.entropy + (self.final_entropy - self.entropy) * self.progress(step)

    def learning_rate_at(self, step: int) -> float:
        rise = min(1.0, (step + 1) / max(1, self.warmup_steps))
        return self.learning_rate * rise * (1.0 - (1.0 - self.final_rate) * self.progress(step))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """LoRA on all linear layers (Hu et al., 2021), no dropout."""

    rank: int = 32
    alpha: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How the run is measured: greedy play, seats swapped."""

    opponents: tuple[str, ...] = ("random", "mcts-100")
    matches: int = 1000
    """Against random players; see `search_matches` for the others."""
    search_matches: int = 200
    curve_every: int = 10
    """Steps between two points of the learning curve; 0: no points between first and last."""
    curve_matches: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """One training run."""

    game: str
    opponent: str = "random"
    seed: int = 0
    model: str | None = None
    """A model directory or hub name; None makes a small model on the spot."""
    small: SmallModel = field(default_factory=SmallModel)
    prompt: Style = "compact"
    reply: str = "move"
    max_tokens: int = 8
    """Longest reply; a longer one is cut off, which costs what an illegal one does."""
    on_illegal: str = "forfeit"
    reward: str = "returns"
    """What is learned from, as `gymposium list` shows it: `returns`, `score`, `weighted(accuracy=1,efficiency=0.2)`.
    It changes no measure: those are of returns and results."""
    token_budget: int = 4_096
    """Tokens in one forward pass of the learner."""
    checkpoint_every: int = 10
    control: bool = False
    """Also spend the CPU time of the reinforcement learning on more SFT, to compare."""
    cold_start: ColdStart = field(default_factory=ColdStart)
    grpo: Grpo = field(default_factory=Grpo)
    lora: Lora = field(default_factory=Lora)
    evaluation: Evaluation = field(default_factory=Evaluation)

    def save_player(self, directory: Path) -> None:
        """Note beside a model or adapter how it was trained to be asked, for the player `lm:`."""
        PlayerSettings(self.prompt, self.reply, self.max_tokens).save(directory)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> TrainConfig:
        config = build(cls, json.loads(path.read_text(encoding="utf-8")))
        assert isinstance(config, cls)
        return config


def build(cls: Any, values: Mapping[str, Any]) -> Any:
    """An instance of a config class from nested plain data. Unknown keys and wrong types are errors."""
    hints = get_type_hints(cls)
    known = {f.name for f in fields(cls)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise BadOption(
            f"{cls.__name__} has no setting called {', '.join(unknown)}. Known: {', '.join(sorted(known))}."
        )
    given: dict[str, Any] = {}
    for name, value in values.items():
        kind = hints[name]
        if is_dataclass(kind):
            given[name] = build(kind, value)
        elif isinstance(value, list):
            given[name] = tuple(value)
        else:
            given[name] = value
    return cls(**given)
