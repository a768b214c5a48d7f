"""Settings of the cold start, the evaluation, and the files that a run keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from gymposium_train.util.settings import Settings

Keep = Literal["winners", "all", "paid"]
IN_WORDS: Mapping[Keep, str] = {
    "winners": "winners' moves",
    "all": "all moves",
    "paid": "the rewarded moves, and one in four others,",
}
"""Description of the moves that each value of `cold_start.keep` selects."""


class ColdStart(Settings):
    """SFT before reinforcement learning: on files of chats, or on the moves of uniform random players."""

    steps: int = Field(default=2_000, ge=0)
    """Maximum number of steps; 0 skips the cold start, for a model that already answers in the right form."""
    tune: Literal["lora", "full"] = "full"
    """The weights that imitation trains, and the control: all, or a LoRA (`model.lora`), which is merged into the model
    afterwards. A LoRA takes less memory, and less time where the frozen weights are in 16 bits."""
    failed: float = Field(default=0.03, ge=0.0, lt=1.0)
    """The cold start ends soon after the share of failed replies, sampled for new lessons at temperature 1, is this or
    less, or it has used a quarter of the budget. With `data` it uses that quarter whole, since files teach more than
    the form of replies. 0: it always takes all steps."""
    data: tuple[str, ...] = ()
    """Files of `gymposium synth` (chats, JSONL). By default the moves of random players are imitated."""
    matches: int | None = Field(default=None, ge=1)
    """Maximum number of random matches, shared evenly between the games. By default as many are played as imitation
    takes lessons from."""
    keep: Keep | None = None
    """Which moves are imitated. `winners`: those of the winners, which are better moves in games without hidden
    information; in card games winners never fold. `all`: every move, so that no legal move is unlearned beforehand.
    `paid`: those rewarded before the seat's next turn, and one in four of the others, for games with rewards before
    the end. By default a run takes `winners`, or `all` if one of its games has chance or hidden information."""
    batch: int = Field(default=32, ge=1)
    """Number of replies in a batch."""
    learning_rate: float = Field(default=3e-3, gt=0.0)
    """Peak learning rate."""
    warmup: float = Field(default=0.06, ge=0.0, lt=1.0)
    """Share of the steps in which the learning rate rises; it then decreases along a cosine, faster as soon as the end
    is known."""

    @property
    def kept(self) -> Keep:
        """The value of `keep`, or `winners` if it is left out."""
        return self.keep or "winners"


class Evaluation(Settings):
    """The evaluation: greedy play against fixed opponents, from every seat."""

    opponents: tuple[str, ...] = Field(default=("random", "mcts-100"), min_length=1)
    """The opponents, by the names of `gymposium list`. A game with one seat is played alone."""
    matches: int = Field(default=1000, ge=2)
    """Number of matches against random players, or alone; see `search_matches` for the others. In each game, this and
    the numbers below are rounded up to a multiple of the number of seats."""
    search_matches: int = Field(default=200, ge=2)
    """Number of matches against each of the other opponents, which take longer to decide."""
    every: int | None = Field(default=None, ge=0)
    """Number of steps between two points of the learning curve; 0: none between first and last. By default there are
    ten points, or fewer in a run with a budget of which they would take more than a tenth."""
    curve_matches: int = Field(default=100, ge=2)
    """Number of matches for each of these points, against the first opponent. They count in the budget."""


class Samples(Settings):
    """Samples of rollouts for inspection, in `samples.jsonl`: groups of a step with the reward and advantages of each
    trajectory, and some of their tokens. Learning does not depend on them."""

    every: int = Field(default=10, ge=0)
    """Number of steps between two kept ones; the first and the last are always kept. 0 keeps none."""
    groups: int = Field(default=4, ge=1)
    """Maximum number of groups kept of a step, in the order of their plan."""
    tokens: int = Field(default=16, ge=0)
    """Number of trajectories of a group that are kept with their tokens: the best, the worst, and others evenly between
    them by reward."""


class Checkpoints(Settings):
    """Checkpoints, from which an interrupted run resumes."""

    every: int = Field(default=10, ge=1)
    """Number of steps between two checkpoints."""
    keep: int = Field(default=2, ge=2)
    """Number of newest checkpoints that are kept. The newest whose policy was found to be well is kept, too."""
    best: bool = True
    """Whether a run ends with the weights of the best point of its learning curve if the last point is clearly worse:
    by more than the interval of their difference. Needs points (`evaluation.every`)."""
