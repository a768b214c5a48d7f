"""The content of `results.json`, as pydantic models.

These classes define the file's JSON schema (`gymposium leaderboard rate --schema`).
"""

from __future__ import annotations

import math
from typing import Literal

from gymposium.match.ending import EndingKind
from gymposium.util.json_file import FileModel
from gymposium_arena.ratings.connectivity import Bound
from gymposium_arena.ratings.ranks import Place

Kind = Literal["versus", "solo", "cooperative", "general_sum"]
Model = Literal["Bradley–Terry", "Plackett–Luce"]


class Interval(FileModel):
    """A figure with the ends of its 95% interval; an end that does not exist is null."""

    value: float
    low: float | None
    high: float | None


class Method(FileModel):
    """How the figures were computed. Together with the records, this is enough to recompute them."""

    scale: str
    anchor: str
    """The player rated 0."""
    confidence: float
    """Confidence level of every interval."""
    samples: int
    """Number of bootstrap samples."""
    seed: int
    """Seed of the bootstrap."""
    virtual_matches: float
    """The prior: number of virtual drawn matches of each player."""
    each_game: float
    """Number of matches that each pairing counts for in each game of the joint board."""
    notes: list[str]
    """The method, described in sentences."""


class Conduct(FileModel):
    """A player's conduct over all its seats."""

    matches: int
    replies: dict[str, int]
    """Number of replies by reading: move, illegal, unparsable, cut off."""
    repaired: int = 0
    """Number of replies whose move only a lenient reader found, because they do not have the requested form."""
    forfeits: int
    failures: dict[EndingKind, int]
    """Number of matches that ended with a failure of the player, by kind: no legal move, timed out, out of context,
    crashed."""
    prompt_tokens: int
    """Number of tokens read, if the player reports them."""
    completion_tokens: int
    """Number of tokens written, if the player reports them."""

    @property
    def strictly_unparsable(self) -> int:
        """Number of replies that a strict reader cannot parse."""
        return self.replies["unparsable"] + self.repaired


class Contender(FileModel):
    """A player on the board."""

    player: str
    label: str
    """The player's display name."""
    slug: str
    """The name of the player's folder under entries/."""
    number: int
    """The number of the player's entry."""
    conduct: Conduct


class Standing(FileModel):
    """A player's rating. Without enough data, all fields but the player and its matches are null."""

    player: str
    matches: int
    bound: Bound | None
    """Which ends of the interval exist. 'at least': the player never lost a point to the anchor or to a player that the
    anchor scored against, so only the lower end exists; 'at most': the reverse."""
    rating: float | None
    """Rating in Elo points. If an end of the interval is missing, the prior determines it."""
    low: float | None
    high: float | None
    place: Place | None
    """Place by rating or, in a game of chance that pays amounts, such as poker, by mean return."""
    returned: Interval | None
    """Mean return; null on the joint board."""
    corrected: Interval | None
    """Mean return corrected for luck; null if the game's returns are not corrected."""


class Pairing(FileModel):
    """The results of one player against another."""

    share: float
    """Share of the points: 1 for a win, 0.5 for a draw."""
    low: float
    high: float
    wins: int
    draws: int
    losses: int


class FlipDistance(FileModel):
    """The smallest set of deals found whose removal puts another player first (`gymposium_arena.ratings.flip`)."""

    deals: int
    of: int
    """Total number of deals."""
    first: str
    """The player who is first without these deals."""


class RatedBoard(FileModel):
    """The ratings of players who met as rivals."""

    standings: list[Standing]
    """The players from best to worst; players without a rating are last."""
    players: list[str]
    """The players in the rows and columns of `payoff`, in the order of their entries."""
    payoff: list[list[Pairing | None]]
    """A row for each player and a column for each opponent. On the joint board, shares are means over games, and
    matches are summed."""
    cycles: list[list[str]]
    """Players that beat each other in a cycle: each surely beats the next, and the last surely beats the first."""
    flip: FlipDistance | None
    """Null if the first two players cannot be told apart, or if no set of deals was found."""


class Mean(FileModel):
    """A player's mean return in a game without winners."""

    player: str
    matches: int
    returned: Interval | None
    """Mean return."""
    over_anchor: Interval | None
    """Mean return minus the anchor's, on shared deals where possible. None if the anchor did not play."""
    place: Place | None


class Measured(FileModel):
    """A player's figures in a small game by traversal (`gymposium.analysis.exact`)."""

    player: str
    exact: bool
    """True if the figures describe the player's actual play, with a legal mass of at least 0.999."""
    estimated: bool
    """True if the player's move probabilities are estimated from samples."""
    legal_mass: float
    """Least probability of a legal move over all positions."""
    win_rate_against_random: float
    return_against_random: float
    """Mean return against random play."""
    exploitability: float | None
    """NashConv / 2 if illegal replies forfeit; null if unknown."""
    restricted_exploitability: float | None
    """NashConv / 2 of the player's legal moves alone; null if unknown."""


class Yardsticks(FileModel):
    """Facts about a game that do not depend on the players on the board."""

    most_wins_against_random: float | None
    """Highest win rate of any player against random play; null if unknown."""
    best_return_against_random: float | None
    """Highest mean return of any player against random play; null if unknown."""
    best_play: str
    """A description of best play."""
    players: list[Measured]


class AdversaryResult(FileModel):
    """The mean return of a player fitted to one opponent. Its matches do not count in ratings and ranks."""

    player: str
    target: str
    target_changed: bool
    """True if the target's files have changed since the adversary was fitted."""
    matches: int
    returned: Interval | None
    """The adversary's mean return."""


class PlayStanding(FileModel):
    """A player's rating without its failed replies, and how often it replies."""

    player: str
    bound: Bound | None
    """As in `Standing`. Null without enough data, for example if a player hardly ever replies in some positions."""
    rating: float | None
    """The rating of the player's policy restricted to legal moves, in Elo points."""
    low: float | None
    high: float | None
    effective: float
    """The effective number of completed matches. This many matches of equal weight carry the same information."""
    failing: float
    """The greatest estimated failure probability in any of the player's decisions."""
    reliability: Interval
    """Share of matches in which no reply of the player failed."""


class PlayResult(FileModel):
    """Ratings that separate playing badly from failing to reply (`gymposium_arena.ratings.completed`)."""

    players: list[PlayStanding]
    """The players, ordered by rating."""
    reviewed: bool
    """True if positions' values were known from reviews, so that failures may depend on them."""


class PairReturn(FileModel):
    """A player's mean return against another, in a game whose returns are corrected for luck."""

    player: str
    opponent: str
    matches: int
    plain: Interval
    corrected: Interval
    exact: bool
    """True if both policies are known: `corrected` is then the exact value, without an interval."""


class LuckResult(FileModel):
    """Returns corrected for luck (`gymposium.analysis.exact.corrected`)."""

    table: str
    """The table whose values define luck: `cfr-N`."""
    digest: str
    """The table's digest."""
    known: list[str]
    """The players whose policies are known. Results are also corrected for luck in their draws."""
    pairs: list[PairReturn]


class PlayerLost(FileModel):
    """Losses by a player's decisions in a game, as shares of the game's range of returns."""

    player: str
    matches: int
    """Number of the player's reviewed matches."""
    moves: int
    """Number of the player's judged moves; failed replies are counted separately."""
    per_move: Interval
    """Mean loss per judged move."""
    failures: int
    """Number of decisions without a legal reply."""
    per_failure: float | None
    """Mean loss per decision without a legal reply."""


class LostResult(FileModel):
    """Losses by the decisions of a game's players, according to the reviews beside the matches (`gymposium review`)."""

    judge: str
    """The judge of the reviews: `exact`, `cfr-N` or `search-N`."""
    table: str
    """The digest of the table of `cfr-N`; empty for other judges."""
    exact: bool
    """False if the judge estimates."""
    matches: int
    """Number of reviewed matches."""
    players: list[PlayerLost]
    """The players, from the lowest loss per move to the highest."""


class GameResult(FileModel):
    """One game's results."""

    game: str
    """The game's full name."""
    title: str
    kind: Kind
    seats: int
    players: list[str]
    """The players with matches, in the order of their entries."""
    model: Model | None
    """The model of the ratings; null if mean returns are compared."""
    matches: int
    deals: int
    duplicates: int
    """Repeated matches, which count once."""
    errors: int
    """Matches that broke off without a result. They are not in `matches`."""
    forfeits: int
    board: RatedBoard | None
    """The ratings in a zero-sum game."""
    by_return: bool
    """True if the players of `board` are ordered by mean return, since the game pays amounts; false if they are ordered
    by rating. Mean returns are corrected for luck if known."""
    means: list[Mean] | None
    """The mean returns in other games, from best to worst."""
    returns: list[list[float | None]] | None
    """The row player's mean return in matches with the column player, in the order of `players`; null in single-player
    games."""
    yardsticks: Yardsticks
    adversaries: list[AdversaryResult]
    lost: LostResult | None
    """Losses by the players' decisions; null if no match was reviewed."""
    luck: LuckResult | None
    """The returns corrected for luck; null in games that are not corrected."""
    play: PlayResult | None
    """Ratings of play alone; null in games without winners, and if no reply failed."""


class SuiteInfo(FileModel):
    """The suite that was played."""

    name: str
    title: str
    seed: int


class Results(FileModel):
    """The content of the file."""

    format: Literal["gymposium-results-2"] = "gymposium-results-2"
    suite: SuiteInfo
    method: Method
    players: list[Contender]
    """The players in the order of their entries."""
    joint: RatedBoard | None
    """The ratings over all zero-sum games, equally weighted, of players with matches in all of them."""
    joint_games: list[str]
    """Full names of the joint board's games."""
    joint_lacks: dict[str, list[str]]
    """The players missing from the joint board, with the games that they have not played."""
    games: list[GameResult]
    unreadable: int
    """Number of lines in record files that are not records."""


def round_figure(value: float, digits: int) -> float:
    """Round a figure to decimal digits for storage, without a negative zero."""
    return round(float(value), digits) + 0.0


def round_known(value: float | None, digits: int) -> float | None:
    """Round a figure like `round_figure`; None for None and NaN."""
    return None if value is None or math.isnan(value) else round_figure(value, digits)
