"""Who plays whom, how the model is asked, and what a match is worth."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gymposium.games.protocol import Style
from gymposium_train.settings import Settings


class Prompting(Settings):
    """How the model is asked, and how it answers."""

    prompt: Style = "compact"
    """How much the prompt explains."""
    reply: str = "move"
    """The form of its replies: move, tags or json."""
    context: str = "state"
    """What it reads of the match so far: state, full, truncated or last-K."""
    thinking: bool = False
    """Whether a model whose template can let it think first does so."""
    max_tokens: int = Field(default=8, ge=1)
    """Longest reply; a longer one is cut off, which costs what an illegal one does."""
    temperature: float = Field(default=1.0, gt=0.0)
    """Of the rollouts. Measures are greedy."""
    on_illegal: str = "forfeit"
    """What a failed reply costs: forfeit or penalty(x)."""


class Rollout(Settings):
    """What one step plays."""

    groups: int = Field(default=2, ge=1)
    """Groups in a step. A group shares game, match seed, seat and opponent; games and seats take turns."""
    group_size: int = Field(default=128, ge=1)
    """Matches in a group of the first step."""
    growth: float = Field(default=6.0, ge=1.0)
    """Groups of the last step are so many times as large; they grow geometrically, because a better policy wins nearly
    always and then needs more matches to tell moves apart. 1: they stay as they are."""


Share = Annotated[float, Field(gt=0.0)]


class Stage(Settings):
    """Whom the learner meets, until it is good enough. One stage alone is a fixed mixture."""

    opponents: dict[str, Share] = Field(default={"random": 1.0}, min_length=1)
    """Who takes the other seats, and how often: any player by its name, `self` for the policy as it is now (its
    trajectories teach as well), `past` for one of its past versions. The shares need not add up to 1."""
    promote: float = Field(default=0.7, gt=0.0, le=1.0)
    """The next stage begins when the mean match score over the window passes this: a win is 1, a draw a half."""
    demote: float = Field(default=0.0, ge=0.0, lt=1.0)
    """The stage before begins again when it falls below this; 0: never."""
    window: int = Field(default=200, ge=1)
    """So many of the newest matches are looked at, all of this stage."""


class Pool(Settings):
    """Past versions of the policy as opponents."""

    every: int = Field(default=10, ge=1)
    """Steps between versions that are kept."""
    size: int = Field(default=8, ge=1)
    """So many are kept; the oldest goes."""
    prioritise: Literal["uniform", "hard", "even"] = "hard"
    """Who is met more often: all alike, those that beat the learner, or those that are its equals (Vinyals et al.,
    2019)."""
