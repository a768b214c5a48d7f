"""Settings of the cold start, the evaluation, and the files kept by a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from gymposium_train.config.model import Tune
from gymposium_train.util.settings import Settings

Keep = Literal["winners", "all", "paid"]
IN_WORDS: Mapping[Keep, str] = {
    "winners": "winners' moves",
    "all": "all moves",
    "paid": "the rewarded moves, and one in four others,",
}
"""Phrases for the moves selected by each value of `cold_start.keep`."""


class Records(Settings):
    """The turns to imitate in match records (`cold_start.data`). Seats with a failed reply are never imitated, nor are
    matches that a seat forfeited."""

    keep: str = "win"
    """The outcomes of the seats to imitate: win, draw, loss (separated by commas), return>=X, or all. Single-player
    games have no winners and need return>=X or all."""
    player: str | None = None
    """The player to imitate, named as in the records. By default, all players."""


class ColdStart(Settings):
    """SFT before reinforcement learning, on chat files or on the moves of uniform random players."""

    steps: int = Field(default=2_000, ge=0)
    """Maximum number of steps. 0 skips the cold start, for a model that already answers in the right form."""
    budget: float | None = Field(default=None, gt=0.0)
    """CPU seconds of a cold start with a teacher. By default, it takes half of the run's budget, or `steps` steps in a
    run with a fixed number of steps. With `steps=0` for the whole run, it is distillation alone."""
    tune: Tune = "full"
    """The weights trained by imitation and by the control: all, or a LoRA (`model.lora`) that is merged into the model
    afterwards. A LoRA takes less memory, and less time if the frozen weights have 16 bits."""
    failed: float = Field(default=0.03, ge=0.0, lt=1.0)
    """The cold start ends soon after the share of failed replies drops to this value, or once it has used a quarter of
    the budget. The share is sampled on new lessons at temperature 1. With `data`, the cold start always uses the full
    quarter, because files teach more than the form of replies. 0: always take all steps."""
    data: tuple[str, ...] = ()
    """Files of chats (JSONL), such as those of `gymposium synth`, and files of match records. By default, the moves of
    random players are imitated."""
    records: Records = Field(default_factory=Records)
    epochs: int | None = Field(default=None, ge=1)
    """Number of passes over `data`, instead of `steps`. Each pass imitates every conversation once, in random order."""
    validation: float = Field(default=0.0, ge=0.0, lt=1.0)
    """With `epochs`, the share of the conversations that are not imitated. After each pass, their loss and token
    accuracy are measured. The cold start ends with the weights of the pass with the lowest loss."""
    matches: int | None = Field(default=None, ge=1)
    """Maximum number of random matches, shared evenly between the games. By default, as many as the lessons require."""
    keep: Keep | None = None
    """Which moves are imitated. `winners`: the winners' moves, including those of ties for first place. This is better
    in games without hidden information. In card games, winners never fold. `all`: every move, so that no legal move is
    unlearned. `paid`: moves rewarded before the seat's next turn, plus a quarter of the other moves, for games with
    rewards before the end. By default, a run uses `winners`, or `all` if a game has chance or hidden information."""
    batch: int = Field(default=32, ge=1)
    """Number of replies in a batch."""
    learning_rate: float = Field(default=3e-3, gt=0.0)
    """Peak learning rate."""
    warmup: float = Field(default=0.06, ge=0.0, lt=1.0)
    """Share of the steps until the learning rate reaches its peak. It then decreases along a cosine, faster once few
    enough replies fail or the budget share is used."""

    @property
    def is_used(self) -> bool:
        """True if the run has a cold start."""
        return self.steps > 0 or self.epochs is not None or self.budget is not None

    @property
    def kept(self) -> Keep:
        """The value of `keep`, or `winners` if it is omitted."""
        return self.keep or "winners"


class Evaluation(Settings):
    """The evaluation: play against fixed opponents, from every seat."""

    opponents: tuple[str, ...] = Field(default=("random", "mcts-100"), min_length=1)
    """The opponents, named as in `gymposium list`. Not used in single-player games."""
    matches: int = Field(default=1000, ge=2)
    """Number of matches against random players, or in single-player games. See `search_matches` for other opponents. In
    each game, the number is rounded up to a multiple of the number of seats."""
    search_matches: int = Field(default=200, ge=2)
    """Number of matches against each other opponent. These opponents take longer to move."""
    every: int | None = Field(default=None, ge=0)
    """Number of steps between points of the learning curve. 0: no points between the first and the last. By default,
    there are ten points. A run with a budget has fewer if they would take more than a tenth of it."""
    curve_matches: int = Field(default=100, ge=2)
    """Number of matches per point of the learning curve, against the first opponent. They count toward the budget."""
    temperature: float | None = Field(default=None, ge=0.0)
    """Sampling temperature of the trained policy in evaluations, and of the saved player unless its name sets another.
    0: greedy. Default: 0, or 0.6 with `prompting.thinking`, because thinking models may repeat themselves forever with
    greedy decoding."""


class Samples(Settings):
    """Rollout samples for inspection, in `samples.jsonl`: groups with each trajectory's reward and advantages, and the
    tokens of some trajectories. They have no effect on learning, nor has what is measured on them."""

    every: int = Field(default=10, ge=0)
    """Number of steps between kept samples. The first and last steps are always kept. 0 keeps none."""
    groups: int = Field(default=4, ge=1)
    """Maximum number of groups kept per step, in planned order."""
    tokens: int = Field(default=16, ge=0)
    """Number of trajectories per group that are kept with their tokens: the best, the worst, and more between them,
    spaced evenly by reward."""
    prompts: int = Field(default=8, ge=0)
    """Number of prompts for the mutual information between prompts and replies (`train/mutual_information`), at steps
    whose samples are kept. One reply to each prompt is scored under all of them. 0: not measured."""

    def keeps(self, step: int, steps: int | None) -> bool:
        """Return whether samples of this step, counted from 1, are kept in a run of this many steps."""
        return self.every > 0 and (step % self.every == 0 or step in (1, steps))


class Checkpoints(Settings):
    """Checkpoints for resuming an interrupted run."""

    every: int = Field(default=10, ge=1)
    """Number of steps between checkpoints."""
    keep: int = Field(default=2, ge=2)
    """Number of latest checkpoints to keep. The last healthy checkpoint is kept, too."""
    best: bool = True
    """Whether a run ends with the weights of its learning curve's best point if the last point is clearly worse. It
    must be worse by more than the interval of the difference in equal deals. Needs points (`evaluation.every`)."""
    rollback: bool | None = None
    """Whether a run returns to the last healthy weights, and halves the learning rate, if most replies begin to fail or
    an update changes the policy too much. Otherwise it only warns. By default, runs with a `budget` return, and runs
    with a number of `steps`, such as those of pretrained models, warn."""
