"""Settings of play: the model's prompts, the matches of a step, the curriculum, and past versions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gymposium.games.protocol import Style
from gymposium.match import FORFEIT
from gymposium.match.failures import FailurePolicy
from gymposium_agents.chat.context import Pictures
from gymposium_agents.chat.settings import PlayerSettings, PromptName, split_prompt
from gymposium_agents.chat.tokens import History
from gymposium_train.util.settings import Settings

SHORT = 24
"""Default of `prompting.max_tokens` if no game has longer moves."""


class Prompting(Settings):
    """The model's prompts and the form of its replies."""

    prompt: PromptName = "compact"
    """Amount of explanation in the prompt (`compact`, `full`), or the full prompt with a picture of the position
    instead of its text (`image`) or beside it (`both`). Pictures need a vision model that plays in this process."""
    reply: str = "move"
    """Form of the replies: move, tags or json. Games with tools also allow `tools`: calls in the chat template's
    format. This needs a named model whose template supports tools."""
    context: str = "state"
    """The part of the match so far that a prompt contains: state, full, truncated or last-K. Default: state, or full if
    a game has tools, because later turns show only the latest tool results."""
    thinking: bool = False
    """Whether the model thinks before it replies, if its chat template supports that."""
    history: History = "template"
    """How past turns appear in prompts with `context = "full"`. `template`: as the chat template renders them. Some
    templates, such as Qwen3's, drop past thoughts, so that each turn becomes a separate row. `kept`: as they were
    sampled, so that a match is one row. The model then reads more text than with its template."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Maximum length of a reply in tokens. Longer replies are cut off and count as failed. By default, a run uses 24,
    or more if a game has longer moves. It uses 512 for a named model whose replies may contain more than a move or
    calls (`reply`, `thinking`)."""
    temperature: float = Field(default=1.0, gt=0.0)
    """Sampling temperature of the rollouts. For evaluations, see `evaluation.temperature`."""
    on_illegal: str | None = None
    """Policy for failed replies in rollouts: forfeit, or penalty(x,k), which asks the seat again. In evaluations, a
    failed reply always forfeits. By default, a run uses a penalty of half the standard deviation of random matches'
    returns, three times per match. In free-text games it uses `forfeit`."""

    @property
    def style(self) -> Style:
        """The prompt style."""
        return split_prompt(self.prompt)[0]

    @property
    def pictures(self) -> Pictures:
        """Whether prompts have pictures."""
        return split_prompt(self.prompt)[1]

    @property
    def reply_limit(self) -> int:
        """The value of `max_tokens`, or `SHORT` if it is omitted."""
        return SHORT if self.max_tokens is None else self.max_tokens

    def policy(self) -> FailurePolicy:
        """Return the policy for failed replies in rollouts. Raises `BadOption` for an unknown policy."""
        return FORFEIT if self.on_illegal is None else FailurePolicy.parse(self.on_illegal)

    def player_settings(self, temperature: float) -> PlayerSettings:
        """Return the settings of a player with these prompts."""
        return PlayerSettings(
            self.style,
            self.reply,
            self.reply_limit,
            self.context,
            temperature,
            self.thinking,
            self.history,
            pictures=self.pictures,
        )


Share = Annotated[float, Field(gt=0.0)]
Sampling = Literal["shares", "difficulty"]


class RolloutSettings(Settings):
    """The matches of one step."""

    groups: int | None = Field(default=None, ge=1)
    """Number of groups per step. Matches of a group share game, match seed, seat and opponent. Games and seats
    alternate over the groups. By default, `decisions` determines the number, so that steps take equally long in games
    with long and short matches."""
    sampling: Sampling = "shares"
    """How often each game is played. `shares`: in proportion to its share in `games`. `difficulty`: its share is
    multiplied by 4p(1 - p), but at least 0.1, where p is the moving mean of its match scores. Games that the policy
    wins half of the time are then played most often."""
    group_size: int = Field(default=4, ge=1)
    """Number of matches per group. If `groups` is set, the number in the first step."""
    decisions: int = Field(default=1024, ge=1)
    """Target number of model replies in the first step over all groups, divided by the games' shares, if `groups` is
    omitted. It is approximate, because the length of matches is unknown and each seat of each game has at least one
    group."""
    growth: float = Field(default=2.0, ge=1.0)
    """Ratio of `decisions` in the last step to `decisions` in the first. If `groups` is set, the ratio of group sizes.
    Steps grow geometrically: a good policy wins nearly all matches, so more matches are needed to tell moves apart. 1:
    constant size."""
    most_broken: float = Field(default=0.5, ge=0.0, le=1.0)
    """Maximum share of a step's matches that may break off because a tool failed. These matches are left out. If more
    break off, the run stops."""
    replace_tied: int = Field(default=0, ge=0)
    """Maximum number of tied groups per step to replace. A group is tied if all its matches earned the same reward, so
    that it teaches nothing. New matches of the same game and seat are played in its place (dynamic sampling, Yu et al.,
    2025, DAPO). In self-play, the groups of all seats are replaced together and count once. 0: tied groups are only
    dropped."""


class Overlong(Settings):
    """How learning treats replies cut off at `prompting.max_tokens`. In the match they fail in every mode."""

    mode: Literal["fail", "mask", "penalize"] = "fail"
    """`fail`: like other failed replies. `mask`: their tokens have no loss, so that a good reply that was only too long
    is not made less likely. `penalize`: replies within `buffer` tokens of the limit earn less, the longer they are
    (soft overlong punishment, Yu et al., 2025, DAPO)."""
    buffer: int | None = Field(default=None, ge=1)
    """Number of tokens before the limit. Over these tokens, the penalty rises from 0 to `penalty`. Default: a fifth of
    `prompting.max_tokens`."""
    penalty: float = Field(default=1.0, gt=0.0)
    """Penalty for a reply that was cut off. It is part of the turn's reward, so a match loses the sum over its
    turns."""

    def buffer_tokens(self, limit: int) -> int:
        """Return the value of `buffer`, or a fifth of `limit` if it is omitted."""
        return max(1, limit // 5) if self.buffer is None else self.buffer


class Stage(Settings):
    """One stage of the curriculum: a mixture of opponents, until the learner is good enough. Each game moves through
    the stages separately."""

    opponents: dict[str, Share] = Field(default={"random": 1.0}, min_length=1)
    """Players of the other seats and their shares of the matches. Any player by name, `self` for the current policy
    (whose trajectories are also learned from), or `past` for a past version. The shares need not add up to 1."""
    promote: float = Field(default=0.7, gt=0.0, le=1.0)
    """The next stage begins when the mean match score over the window is above this value. A win is 1, a draw 0.5."""
    demote: float = Field(default=0.0, ge=0.0, lt=1.0)
    """The previous stage begins again when the mean score is below this value. 0: never."""
    window: int = Field(default=200, ge=1)
    """Number of this stage's latest matches whose scores are averaged."""


class Pool(Settings):
    """Past versions of the policy as opponents."""

    every: int = Field(default=10, ge=1)
    """Number of steps between kept versions."""
    size: int = Field(default=8, ge=1)
    """Maximum number of kept versions. The oldest version is dropped."""
    prioritise: Literal["uniform", "hard", "even"] = "hard"
    """Versions to meet more often. `uniform`: all are met equally often. `hard`: versions that beat the learner.
    `even`: versions of equal strength (Vinyals et al., 2019)."""
