"""Cold start, measures, and what is kept of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from gymposium_train.settings import Settings

Keep = Literal["winners", "all", "paid"]
IN_WORDS: Mapping[Keep, str] = {
    "winners": "winners' moves",
    "all": "all moves",
    "paid": "the moves that were paid for, and one in four others,",
}
"""Which moves `cold_start.keep` keeps, in words."""


class ColdStart(Settings):
    """SFT of the whole model before reinforcement learning: on files of chats, or on the moves of uniform random
    players."""

    steps: int = Field(default=240, ge=0)
    """0 skips the cold start, as for a model that already knows how to answer."""
    data: tuple[str, ...] = ()
    """Files of `gymposium synth` (chats, JSONL); left out, random players play."""
    games: int = Field(default=20_000, ge=1)
    """Random matches, shared evenly between the games."""
    keep: Keep = "winners"
    """Which moves are kept. Winners' are better moves where nothing is hidden. Where cards are, they never fold: with
    `all` the model begins with every legal move alike, and no good one is unlearned beforehand. With `paid`, those that
    were paid for before the seat's next turn, and one in four of the others, in games that pay on the way: the model
    begins by seeing what pays."""
    batch: int = Field(default=256, ge=1)
    """Replies in a batch."""
    learning_rate: float = Field(default=4e-3, gt=0.0)
    """At its height; the default is for the small model, and far too high for one that is trained already."""
    warmup: float = Field(default=0.1, ge=0.0, lt=1.0)
    """Share of the steps in which the learning rate rises; it then falls along a cosine."""


class Evaluation(Settings):
    """The fixed panel: greedy play, seats swapped."""

    opponents: tuple[str, ...] = Field(default=("random", "mcts-100"), min_length=1)
    """Who is met, by the names of `gymposium list`; a game with one seat is played alone."""
    matches: int = Field(default=1000, ge=2)
    """Against random players, or alone; see `search_matches` for the others."""
    search_matches: int = Field(default=200, ge=2)
    """Against each of the others, who take longer to decide."""
    every: int = Field(default=10, ge=0)
    """Steps between two points of the learning curve; 0: none between first and last."""
    curve_matches: int = Field(default=200, ge=1)
    """For each of these points, against the first opponent of the panel."""


class Samples(Settings):
    """What is kept of rollouts to be looked at, in `samples.jsonl`: a step's groups with what each trajectory got and
    deserved, and some of their tokens. Nothing that is learned depends on it."""

    every: int = Field(default=10, ge=0)
    """Steps between two that are kept, beside the first and the last; 0 keeps none."""
    groups: int = Field(default=4, ge=1)
    """So many groups of a step are kept, in the order in which they were planned."""
    tokens: int = Field(default=16, ge=0)
    """So many trajectories of a group are kept with their tokens: the best, the worst, and others evenly between them
    by what they got."""


class Checkpoints(Settings):
    """What an interrupted run goes on from."""

    every: int = Field(default=10, ge=1)
    """Steps between two of them."""
    keep: int = Field(default=2, ge=2)
    """So many are kept, the newest."""
