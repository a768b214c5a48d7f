"""Compute a board's results from tallied records, independent of their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gymposium.games.protocol import Game
from gymposium_arena.entries import Entry
from gymposium_arena.luck import LuckCorrection, make_luck_result
from gymposium_arena.outcomes import MatchOutcome, drop_duplicates
from gymposium_arena.ratings.bootstrap import CONFIDENCE, SAMPLES, draw_deal_weights, make_generator
from gymposium_arena.ratings.comparisons import Comparisons, Floats, compare_players
from gymposium_arena.ratings.evidence import EACH_GAME, Evidence, sum_game, sum_games
from gymposium_arena.ratings.fit import find_anchor, fit_ratings
from gymposium_arena.ratings.luck import correct_for_luck
from gymposium_arena.ratings.payoff import Payoff, average_payoffs, compute_payoff
from gymposium_arena.ratings.prior import VIRTUAL
from gymposium_arena.ratings.returns import Means, compute_means, sum_returns
from gymposium_arena.results.model import (
    AdversaryResult,
    Contender,
    GameResult,
    Kind,
    LostResult,
    Method,
    PlayResult,
    RatedBoard,
    Results,
    SuiteInfo,
    Yardsticks,
)
from gymposium_arena.results.play import GameDecisions, make_play_result
from gymposium_arena.results.standings import make_board, make_interval, make_means, make_returns_table
from gymposium_arena.results.tally import BoardTally, GameTally
from gymposium_arena.suite import Suite

_RATINGS = """
Ratings are Elo points above {anchor}, who is rated 0: a difference of 400 is odds of ten to one.
They are fitted to all matches at once, by the model of Bradley and Terry where two play, of Plackett and Luce where \
more do. A draw is half a win for each, a forfeit a loss.
Prior: each player has {virtual:g} virtual match, drawn, shared out evenly among those that it has met.
≥ and ≤: who never lost a point to those below, or never won one from those above, is that far from {anchor} or farther.
"""
_JOINT = """
On the joint board each game counts alike: for each pairing as {each:g} matches, however many were played, won by the \
share of points that was won. Only who has played all of these games is on it.
"""
_INTERVALS = """
Intervals hold {confidence:.0%}, by {samples} bootstrap samples: all matches on one deal are drawn together.
Players that share a letter cannot be told apart. Rank 3 (2–4): one player is surely above, and 4 are not surely \
below. All that is said of who is above whom is right together on {confidence:.0%} of boards.
"""
_FLIP = """
Flip distance: the fewest deals found without which another player is first, by a fit without them.
"""

_PLAY = """
The play is rated from completed matches, weighted as if no reply had failed. Assumption: given what a player saw, \
whether its reply fails does not depend on the move that it would have been.
"""
_LUCK = """
Returns corrected for luck have the same mean and less spread: chance, and what a player with a known policy draws \
from it, is taken out, as far as a table that was fixed before the match knows its worth.
"""

SEED = 0
"""Seed of the bootstrap, fixed so that no one can pick a favorable seed."""


def make_results(
    suite: Suite,
    entries: Sequence[Entry],
    tally: BoardTally,
    yardsticks: Mapping[str, Yardsticks],
    lost: Mapping[str, LostResult | None],
    luck: Mapping[str, LuckCorrection | None],
    decisions: Mapping[str, GameDecisions],
    *,
    unreadable: int = 0,
    samples: int = SAMPLES,
) -> Results:
    """Compute a board's results from its suite, entries and tallied records.

    `yardsticks`, `lost` and `luck` hold values by game. `decisions` holds them only for games with failed replies.
    `unreadable` is the number of lines that are not records. `samples` is the number of bootstrap samples."""
    players = [entry.player for entry in entries if entry.fitted_to is None]
    named = {entry.player: entry for entry in entries}
    fitted = {
        entry.player: _Target(entry.fitted_to, changed=target is not None and target.has_changed_since(entry))
        for entry in entries
        if entry.fitted_to is not None
        for target in [named.get(entry.fitted_to)]
    }
    games = [
        _PlayedGame.from_tally(
            game.load(), tally.games[game.name], fitted, luck[game.name], decisions.get(game.name), samples
        )
        for game in suite.games
    ]
    rivals = [game for game in games if game.kind == "versus"]
    several = len(rivals) > 1  # a single game needs no joint board
    lacks = {
        player: absent
        for player in players
        if several and (absent := [one.game.name for one in rivals if not one.matches[player]])
    }
    complete = [player for player in players if player not in lacks]
    anchor = find_anchor(players)
    parts = (
        (_RATINGS, rivals),
        (_JOINT, several),
        (_INTERVALS, True),
        (_FLIP, rivals),
        (_LUCK, any(luck.values())),
        (_PLAY, any(game.decisions for game in rivals)),
    )
    notes = "".join(text for text, fits in parts if fits)
    notes = notes.format(anchor=anchor, virtual=VIRTUAL, each=EACH_GAME, confidence=CONFIDENCE, samples=samples)
    return Results(
        suite=SuiteInfo(name=suite.name, title=suite.title, seed=suite.seed),
        method=Method(
            scale="Elo points",
            anchor=anchor,
            confidence=CONFIDENCE,
            samples=samples,
            seed=SEED,
            virtual_matches=VIRTUAL,
            each_game=EACH_GAME,
            notes=[line for line in notes.splitlines() if line],
        ),
        players=[
            Contender(
                player=entry.player,
                label=entry.label,
                slug=entry.slug,
                number=entry.number,
                conduct=tally.players[entry.player].to_conduct(),
            )
            for entry in entries
        ],
        joint=_make_joint_board(complete, rivals) if several and len(complete) > 1 else None,
        joint_games=[game.game.name for game in rivals],
        joint_lacks=lacks,
        games=[game.make_result(players, yardsticks[game.game.name], lost[game.game.name]) for game in games],
        unreadable=unreadable,
    )


def pays_amounts(game: Game) -> bool:
    """Return whether a game has chance, hidden information and returns above 1, as in poker.

    Its players are ordered by how much they win instead of how often."""
    spec = game.spec
    return spec.chance and spec.information == "imperfect" and max(map(abs, game.utility_range)) > 1


def find_kind(game: Game) -> Kind:
    """Return a game's kind, which decides how its players are compared."""
    if game.seats == 1:
        return "solo"
    if game.spec.utility == "cooperative":
        return "cooperative"
    return "versus" if game.spec.utility == "zero_sum" else "general_sum"


@dataclass(frozen=True, slots=True)
class _Target:
    """An adversary's target."""

    player: str
    changed: bool
    """Whether the target's files have changed since the adversary was fitted."""


@dataclass(frozen=True, slots=True)
class _PlayedGame:
    """A game with its matches."""

    game: Game
    kind: Kind
    tally: GameTally
    outcomes: Sequence[MatchOutcome]
    """Outcomes without duplicates and without adversaries' matches."""
    adversary_outcomes: Sequence[MatchOutcome]
    fitted: Mapping[str, _Target]
    """The target of each adversary."""
    luck: LuckCorrection | None
    """The luck correction; None if the game is not corrected."""
    decisions: GameDecisions | None
    """The matches' decisions; None if no reply failed."""
    matches: Counter[str]
    """Number of matches of each player."""
    samples: int

    @classmethod
    def from_tally(
        cls,
        game: Game,
        tally: GameTally,
        fitted: Mapping[str, _Target],
        luck: LuckCorrection | None,
        decisions: GameDecisions | None,
        samples: int,
    ) -> _PlayedGame:
        played = drop_duplicates(tally.outcomes)
        outcomes = [outcome for outcome in played if fitted.keys().isdisjoint(outcome.players)]
        others = [outcome for outcome in played if not fitted.keys().isdisjoint(outcome.players)]
        return cls(
            game, find_kind(game), tally, outcomes, others, fitted, luck, decisions, _count_matches(outcomes), samples
        )

    def find_outcomes(self, players: Sequence[str]) -> list[MatchOutcome]:
        """Return the matches between these players only."""
        return [outcome for outcome in self.outcomes if set(players).issuperset(outcome.players)]

    def make_comparisons(self, players: Sequence[str]) -> tuple[Comparisons, Floats, Payoff]:
        """Return these players' comparisons, deal weights and pay-off matrix."""
        comparisons = compare_players(self.find_outcomes(players), players)
        weights = self.draw_weights(comparisons.deals)
        return (
            comparisons,
            weights,
            compute_payoff(comparisons, weights, make_generator(SEED, "payoff", self.game.name)),
        )

    def draw_weights(self, deals: Sequence[str]) -> Floats:
        """Draw the deal weights of each bootstrap sample, shape (samples, deals)."""
        return draw_deal_weights(make_generator(SEED, "deals", self.game.name), self.samples, len(deals))

    @property
    def by_return(self) -> bool:
        """Whether players are ordered by mean return instead of rating."""
        return self.kind == "versus" and pays_amounts(self.game)

    def make_result(self, everybody: Sequence[str], yardsticks: Yardsticks, lost: LostResult | None) -> GameResult:
        """Return the game's results."""
        game, versus = self.game, self.kind == "versus"
        players = [player for player in everybody if self.matches[player]]
        returns = sum_returns(self.outcomes, players)
        means = self._compute_means(self.outcomes, players) if players else None
        corrected = (
            None if self.luck is None or not players else self._compute_means(correct_for_luck(self.outcomes), players)
        )
        board, several = None, False
        if versus and means is not None:
            comparisons, weights, payoff = self.make_comparisons(players)
            ratings = fit_ratings(sum_game(comparisons, weights), make_generator(SEED, "prior", game.name))
            several, deals = len(comparisons.sets) > 0, len(comparisons.deals)
            by = (corrected or means) if self.by_return else None
            evidence = partial(sum_game, comparisons)
            board = make_board(ratings, payoff, self.matches, deals, comparisons.played, evidence, means, corrected, by)
        return GameResult(
            game=game.name,
            title=game.spec.title,
            kind=self.kind,
            seats=game.seats,
            players=players,
            model=None if board is None else "Plackett–Luce" if several else "Bradley–Terry",
            matches=len(self.outcomes),
            deals=len(returns.deals),
            duplicates=len(self.tally.outcomes) - len(self.outcomes) - len(self.adversary_outcomes),
            errors=len(self.tally.broken - self.tally.finished),
            forfeits=sum(outcome.forfeit is not None for outcome in self.outcomes),
            board=board,
            by_return=self.by_return,
            means=None if versus or means is None else make_means(returns, means, self.matches, find_anchor(everybody)),
            returns=make_returns_table(returns) if game.seats > 1 and self.kind != "cooperative" else None,
            yardsticks=yardsticks,
            adversaries=[*self._rate_adversaries()],
            lost=lost,
            luck=None
            if self.luck is None
            else make_luck_result(self.luck, self.outcomes, players, self._compute_means),
            play=None if board is None or self.decisions is None else self._rate_play(self.decisions, board, players),
        )

    def _rate_play(self, decisions: GameDecisions, board: RatedBoard, players: Sequence[str]) -> PlayResult:
        def draw_deals(deals: int, alike: float) -> Floats:
            return draw_deal_weights(make_generator(SEED, "play", self.game.name), self.samples, deals, alike)

        order = [row.player for row in board.standings]
        prior = make_generator(SEED, "prior", self.game.name)
        return make_play_result(decisions, self.outcomes, players, order, draw_deals, prior, self.draw_weights)

    def _compute_means(self, outcomes: Sequence[MatchOutcome], players: Sequence[str]) -> Means:
        returns = sum_returns(outcomes, players)
        return compute_means(returns, self.draw_weights(returns.deals), self.game.utility_range)

    def _rate_adversaries(self) -> Iterator[AdversaryResult]:
        for player, target in self.fitted.items():
            between = [
                outcome for outcome in self.adversary_outcomes if set(outcome.players) == {player, target.player}
            ]
            if between:
                means = self._compute_means(between, [player, target.player])
                yield AdversaryResult(
                    player=player,
                    target=target.player,
                    target_changed=target.changed,
                    matches=len(between),
                    returned=make_interval(means.values[0], means.low[0], means.high[0]),
                )


def _make_joint_board(players: Sequence[str], games: Sequence[_PlayedGame]) -> RatedBoard:
    parts = [game.make_comparisons(players) for game in games]
    evidence = sum_games([comparisons for comparisons, _, _ in parts], [weights for _, weights, _ in parts])
    ratings = fit_ratings(evidence, make_generator(SEED, "prior", "joint"))
    matches = _count_matches(outcome for game in games for outcome in game.find_outcomes(players))
    played = [comparisons for comparisons, _, _ in parts]
    ends = np.cumsum([len(comparisons.deals) for comparisons in played])

    def weigh_evidence(weights: Floats) -> Evidence:
        return sum_games(played, np.split(weights, ends[:-1], axis=1))

    payoff, deals = (
        average_payoffs([payoff for _, _, payoff in parts]),
        np.sum([game.played for game in played], axis=0),
    )
    return make_board(ratings, payoff, matches, int(ends[-1]), deals, weigh_evidence)


def _count_matches(outcomes: Iterable[MatchOutcome]) -> Counter[str]:
    """Return the number of matches of each player."""
    return Counter(player for outcome in outcomes for player in set(outcome.players))
