"""What stands in `results.json`: everything that a leaderboard shows, as plain data.

These classes are the file's JSON schema too (`gymposium leaderboard rate --schema`).
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from gymposium.ending import EndingKind

FORMAT: Final = "gymposium-results-2"

Kind = Literal["versus", "solo", "cooperative", "general_sum"]
Model = Literal["Bradley–Terry", "Plackett–Luce"]


class _Plain(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Interval(_Plain):
    """A figure with the ends of its 95 % interval; an end that does not exist is null."""

    value: float
    low: float | None
    high: float | None


class Method(_Plain):
    """How figures were made. With the records this is all that is needed to make them again."""

    scale: str
    anchor: str = Field(description="The player who is rated 0.")
    confidence: float
    samples: int = Field(description="Of the bootstrap, which resamples deals.")
    seed: int = Field(description="Of the bootstrap.")
    virtual_matches: float = Field(description="The prior: virtual matches of each player, drawn.")
    each_game: float = Field(description="The matches that a pairing counts for in each game of the joint board.")
    notes: list[str] = Field(description="All of that in sentences.")


class Conduct(_Plain):
    """How a player behaved, over all its seats."""

    matches: int
    replies: dict[str, int] = Field(description="By reading: move, illegal, unparsable, cut off.")
    forfeits: int
    failures: dict[EndingKind, int] = Field(
        description="Matches that ended in a step in which the player failed, by how: no legal move, timed out, out of "
        "context, crashed."
    )
    prompt_tokens: int = Field(description="As far as they were counted, as are the next.")
    completion_tokens: int


class Contender(_Plain):
    """A player on the board."""

    player: str
    label: str = Field(description="What people call it.")
    slug: str = Field(description="Its folder under entries/.")
    number: int
    conduct: Conduct


class Place(_Plain):
    """Where a player stands, and among whom."""

    rank: int
    best: int = Field(description="One more than the players that are surely above.")
    worst: int = Field(description="As many as are not surely below, itself included.")
    group: str = Field(description="Players that share a letter cannot be told apart.")


class Standing(_Plain):
    """A player's rating. Where there is not enough data, everything but the player and its matches is null."""

    player: str
    matches: int
    bound: Literal["interval", "at least", "at most"] | None = Field(
        description="What is known of the rating. 'at least': it never lost a point to the anchor or whoever the "
        "anchor scored against, so only the lower end is known; 'at most': the reverse."
    )
    rating: float | None = Field(description="In Elo points. Where an end of the interval is missing, the prior's.")
    low: float | None
    high: float | None
    place: Place | None
    returned: Interval | None = Field(description="Its mean return; null on the joint board.")


class Pairing(_Plain):
    """How a player did against another."""

    share: float = Field(description="Of the points: 1 for a match won, 0.5 for a draw.")
    low: float
    high: float
    wins: int
    draws: int
    losses: int


class RatedBoard(_Plain):
    """Players rated against each other."""

    standings: list[Standing] = Field(description="Best first; those that are not rated last.")
    players: list[str] = Field(description="Of the rows and columns of `payoff`, in the order of their entries.")
    payoff: list[list[Pairing | None]] = Field(
        description="A row for each player, a column for each opponent. On the joint board the mean share over games, "
        "and the sums of matches."
    )
    cycles: list[list[str]] = Field(description="Rings of players: each surely beats the next, the last the first.")


class Mean(_Plain):
    """A player's mean return in a game without winners."""

    player: str
    matches: int
    returned: Interval | None
    over_anchor: Interval | None = Field(description="How much more than the anchor, on the same deals where shared.")
    place: Place | None


class Measured(_Plain):
    """What `gymposium.exact` says of a player in a small game."""

    player: str
    exact: bool = Field(
        description="Whether this is the player as it plays: computed, with a legal mass of 0.999 or more."
    )
    estimated: bool = Field(description="Whether it was counted from samples.")
    legal_mass: float = Field(description="The least share of its replies that play a legal move, over all positions.")
    win_rate_against_random: float
    return_against_random: float
    exploitability: float | None = Field(
        description="As it plays, illegal replies forfeits: NashConv / 2. Null where it is not known."
    )
    restricted_exploitability: float | None = Field(description="The same of its legal moves alone.")


class Yardsticks(_Plain):
    """What is known of a game apart from who plays it."""

    most_wins_against_random: float | None = Field(description="By any player at all; null where nobody has counted.")
    best_return_against_random: float | None
    best_play: str = Field(description="What is known of best play, in words.")
    players: list[Measured]


class GameResult(_Plain):
    """One game."""

    game: str
    title: str
    kind: Kind
    seats: int
    players: list[str] = Field(description="Who has played it, in the order of their entries.")
    model: Model | None = Field(description="Null where mean returns are compared.")
    matches: int
    deals: int
    duplicates: int = Field(description="Matches that were the same as another, which count once.")
    errors: int = Field(description="Matches that broke off, by nobody's fault. They are not in `matches`.")
    forfeits: int
    board: RatedBoard | None = Field(description="Of a game between rivals.")
    means: list[Mean] | None = Field(description="Best first; of the other games.")
    returns: list[list[float | None]] | None = Field(
        description="Mean return of the row's player in matches with the column's, in the order of `players`; null in "
        "games for one."
    )
    yardsticks: Yardsticks


class SuiteResult(_Plain):
    """The suite that was played."""

    name: str
    title: str
    seed: int


class Results(_Plain):
    """All of it."""

    format: Literal["gymposium-results-2"] = FORMAT
    suite: SuiteResult
    method: Method
    players: list[Contender] = Field(description="In the order of their entries.")
    joint: RatedBoard | None = Field(
        description="Over all games between rivals, each of equal weight, for players that have played all of them."
    )
    joint_games: list[str]
    joint_lacks: dict[str, list[str]] = Field(
        description="The players that are not on the joint board, with the games that they have not played."
    )
    games: list[GameResult]
    unreadable: int = Field(description="Lines of record files that are no records.")
