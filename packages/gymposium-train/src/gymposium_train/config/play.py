"""Settings of play: how the model is prompted, the matches of a step, the curriculum, past versions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gymposium.games.protocol import Style
from gymposium.match import FORFEIT
from gymposium.match.failures import FailurePolicy
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.tokens import History
from gymposium_train.util.settings import Settings

SHORT = 24
"""Default of `prompting.max_tokens`, if the moves of no game are longer."""


class Prompting(Settings):
    """The prompts of the model and the form of its replies."""

    prompt: Style = "compact"
    """Amount of explanation in the prompt."""
    reply: str = "move"
    """Form of the replies: move, tags or json. In games with tools also tools: calls in the way of the chat template,
    for a named model whose template has tools."""
    context: str = "state"
    """The part of the match so far that a prompt contains: state, full, truncated or last-K. By default state, and full
    if a game has tools, whose later turns show only what the last tools returned."""
    thinking: bool = False
    """Whether the model thinks before it replies, if its chat template supports that."""
    history: History = "template"
    """What becomes of past turns in prompts with `context = "full"`. `template`: what the chat template makes of them.
    A template such as Qwen3's drops past thoughts, so that each turn becomes a row of its own. `kept`: they stay as
    they were sampled, so that a match is one row. The model then reads more than it does where its template renders
    the conversation."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Maximum length of a reply in tokens. A longer one is cut off and counts as failed. By default a run takes 24, or
    more if a game has longer moves; and 512 for a named model whose replies may have other text than a move or calls
    (`reply`, `thinking`)."""
    temperature: float = Field(default=1.0, gt=0.0)
    """Sampling temperature of the rollouts. Evaluation is greedy."""
    on_illegal: str | None = None
    """Policy for failed replies of the rollouts: forfeit, or penalty(x,k), by which the seat is asked again. In an
    evaluation a failed reply always forfeits. By default a run takes a penalty of half the standard deviation of
    the returns of random matches, three times in a match, and `forfeit` in games of free text."""

    @property
    def room(self) -> int:
        """The value of `max_tokens`, or `SHORT` if it is left out."""
        return SHORT if self.max_tokens is None else self.max_tokens

    def policy(self) -> FailurePolicy:
        """The policy for failed replies of the rollouts. Raises `BadOption` if there is no such policy."""
        return FORFEIT if self.on_illegal is None else FailurePolicy.parse(self.on_illegal)

    def player_settings(self, temperature: float = 0.0) -> PlayerSettings:
        """The settings of a player with these prompts, by default a greedy one."""
        return PlayerSettings(
            self.prompt, self.reply, self.room, self.context, temperature, self.thinking, self.history
        )


class RolloutSettings(Settings):
    """The matches of one step."""

    groups: int | None = Field(default=None, ge=1)
    """Number of groups in a step. The matches of a group share game, match seed, seat and opponent; games and seats
    alternate over the groups. By default there are as many as `decisions` asks for, so that a step of a game with long
    matches takes no longer than one of a game with short ones."""
    group_size: int = Field(default=4, ge=1)
    """Number of matches in a group, in the first step if the number of groups is given."""
    decisions: int = Field(default=1024, ge=1)
    """Number of the model's replies that the groups of the first step are to have together, shared evenly between the
    games, if `groups` is left out. It is reached approximately, since the length of matches is not known beforehand,
    and each seat of each game has at least one group."""
    growth: float = Field(default=2.0, ge=1.0)
    """Ratio of `decisions` in the last step to that in the first, or of the group size if the number of groups is
    given. Steps grow geometrically: a good policy wins nearly all matches, so more of them are needed to tell moves
    apart. 1: the size is constant."""
    most_broken: float = Field(default=0.5, ge=0.0, le=1.0)
    """Largest share of a step's matches that may break off because a tool failed. They are left out. If more of them
    break off, the run stops."""


Share = Annotated[float, Field(gt=0.0)]


class Stage(Settings):
    """One stage of the curriculum: a mixture of opponents, until the learner is good enough. Each game has its own
    stage."""

    opponents: dict[str, Share] = Field(default={"random": 1.0}, min_length=1)
    """Players of the other seats and their shares of the matches: any player by its name, `self` for the current policy
    (its trajectories are learned from as well), `past` for one of its past versions. The shares need not add up to
    1."""
    promote: float = Field(default=0.7, gt=0.0, le=1.0)
    """The next stage begins when the mean match score over the window is above this. A win is 1, a draw 0.5."""
    demote: float = Field(default=0.0, ge=0.0, lt=1.0)
    """The previous stage begins again when the mean score is below this; 0: never."""
    window: int = Field(default=200, ge=1)
    """Number of newest matches of this stage over which the score is averaged."""


class Pool(Settings):
    """Past versions of the policy as opponents."""

    every: int = Field(default=10, ge=1)
    """Number of steps between kept versions."""
    size: int = Field(default=8, ge=1)
    """Maximum number of kept versions; the oldest is dropped."""
    prioritise: Literal["uniform", "hard", "even"] = "hard"
    """The versions that are met more often. `uniform`: none. `hard`: those that beat the learner. `even`: those of
    equal strength (Vinyals et al., 2019)."""
