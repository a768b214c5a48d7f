"""Results from records. Equal records give equal results, in whatever order they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gymposium.arena.outcomes import MatchOutcome
from gymposium.arena.ratings.bootstrap import SAMPLES, deal_weights, generator
from gymposium.arena.ratings.comparisons import Comparisons, Floats, compare
from gymposium.arena.ratings.evidence import EACH_GAME, of_one_game, of_several
from gymposium.arena.ratings.fit import anchor_of, rate
from gymposium.arena.ratings.payoff import Payoff, over_games, payoff_of
from gymposium.arena.ratings.prior import VIRTUAL
from gymposium.arena.ratings.returns import means_of, returns_of
from gymposium.arena.ratings.scale import CONFIDENCE
from gymposium.arena.results.model import (
    Contender,
    GameResult,
    Kind,
    Method,
    Model,
    RatedBoard,
    Results,
    SuiteResult,
    Yardsticks,
)
from gymposium.arena.results.standings import board_of, means_of_players, table_of
from gymposium.arena.results.tally import BoardTally
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game

_NOTES = """
Ratings are Elo points above {anchor}, who is rated 0: a difference of 400 is odds of ten to one.
They are fitted to all matches at once, by the model of Bradley and Terry where two play, of Plackett and Luce where \
more do. A draw is half a win for each, a forfeit a loss.
Prior: each player has {virtual:g} virtual match, drawn, shared out evenly among those that it has met.
On the joint board each game counts alike: for each pairing as {each:g} matches, however many were played, won by the \
share of points that was won. Only who has played all of these games is on it.
Intervals hold {confidence:.0%}, by {samples} bootstrap samples: all matches on one deal are drawn together.
Players that share a letter cannot be told apart. Rank 3 (2–4): one player is surely above, and 4 are not surely \
below. All that is said of who is above whom is right together on {confidence:.0%} of boards.
≥ and ≤: who never lost a point to those below, or never won one from those above, is that far from {anchor} or farther.
"""

SEED = 0
"""Of the bootstrap: fixed, so that nobody draws until an interval is to their liking."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A player of the board, what people call it, and its folder."""

    player: str
    label: str
    slug: str
    number: int


def make_results(
    suite: SuiteResult,
    entrants: Sequence[Entrant],
    games: Sequence[str],
    tally: BoardTally,
    yardsticks: Mapping[str, Yardsticks],
    *,
    unreadable: int = 0,
    samples: int = SAMPLES,
) -> Results:
    """All results of a board: of these games (by their full names), for these players, from what was tallied."""
    players = [entrant.player for entrant in entrants]
    rivals: dict[str, _Rivals] = {}
    found = []
    for name in games:
        result, between = _game(load_game(name), players, tally, yardsticks[name], samples)
        found.append(result)
        if between is not None:
            rivals[name] = between
    lacks = {
        player: absent
        for player in players
        if (absent := [name for name, between in rivals.items() if not between.matches[player]])
    }
    complete = [player for player in players if player not in lacks]
    return Results(
        suite=suite,
        method=_method(anchor_of(players), samples, SEED),
        players=[
            Contender(
                player=one.player,
                label=one.label,
                slug=one.slug,
                number=one.number,
                conduct=tally.player(one.player).conduct(),
            )
            for one in entrants
        ],
        joint=_joint(complete, list(rivals.values())) if rivals and len(complete) > 1 else None,
        joint_games=[*rivals],
        joint_lacks=lacks,
        games=found,
        unreadable=unreadable,
    )


def _method(anchor: str, samples: int, seed: int) -> Method:
    """How the results of a board with this anchor are made, with notes in sentences."""
    notes = _NOTES.format(anchor=anchor, virtual=VIRTUAL, each=EACH_GAME, confidence=CONFIDENCE, samples=samples)
    return Method(
        scale="Elo points",
        anchor=anchor,
        confidence=CONFIDENCE,
        samples=samples,
        seed=seed,
        virtual_matches=VIRTUAL,
        each_game=EACH_GAME,
        notes=notes.strip().splitlines(),
    )


def kind_of(game: Game) -> Kind:
    """What a game's players can be compared by."""
    if game.seats == 1:
        return "solo"
    if game.spec.utility == "cooperative":
        return "cooperative"
    return "versus" if game.spec.utility == "zero_sum" else "general_sum"


@dataclass(frozen=True, slots=True)
class _Rivals:
    """One game's part in the joint board."""

    outcomes: Sequence[MatchOutcome]
    matches: Counter[str]
    samples: int
    game: str

    def between(self, players: Sequence[str]) -> list[MatchOutcome]:
        """Matches in which only these sat."""
        return [outcome for outcome in self.outcomes if set(players).issuperset(outcome.players)]

    def among(self, players: Sequence[str]) -> tuple[Comparisons, Floats, Payoff]:
        """Their comparisons, the weights of deals, and their pay-off matrix."""
        comparisons = compare(self.between(players), players)
        weights = _weights(self.game, comparisons.deals, self.samples)
        return comparisons, weights, payoff_of(comparisons, weights, generator(SEED, "payoff", self.game))


def _weights(game: str, deals: Sequence[str], samples: int) -> Floats:
    return deal_weights(generator(SEED, "deals", game), samples, len(deals))


def _game(
    game: Game, everybody: Sequence[str], tally: BoardTally, yardsticks: Yardsticks, samples: int
) -> tuple[GameResult, _Rivals | None]:
    told, kind = tally.game(game.name), kind_of(game)
    matches = Counter(player for outcome in told.outcomes for player in set(outcome.players))
    players = [player for player in everybody if matches[player]]
    returns = returns_of(told.outcomes, players)
    means = means_of(returns, _weights(game.name, returns.deals, samples), game.utility_range) if players else None
    between: _Rivals | None = None
    board: RatedBoard | None = None
    model: Model | None = None
    if kind == "versus":
        between = _Rivals(told.outcomes, matches, samples, game.name)
    if between is not None and means is not None:
        comparisons, weights, payoff = between.among(players)
        ratings = rate(of_one_game(comparisons, weights), generator(SEED, "prior", game.name))
        board = board_of(ratings, payoff, matches, means)
        model = "Plackett–Luce" if len(comparisons.sets) else "Bradley–Terry"
    return GameResult(
        game=game.name,
        title=game.spec.title,
        kind=kind,
        seats=game.seats,
        players=players,
        model=model,
        matches=len(told.outcomes),
        deals=len(returns.deals),
        duplicates=told.duplicates,
        errors=told.errors,
        forfeits=sum(outcome.forfeit is not None for outcome in told.outcomes),
        board=board,
        means=means_of_players(returns, means, matches) if kind != "versus" and means is not None else None,
        returns=table_of(returns) if game.seats > 1 and kind != "cooperative" else None,
        yardsticks=yardsticks,
    ), between


def _joint(players: Sequence[str], games: Sequence[_Rivals]) -> RatedBoard:
    parts = [game.among(players) for game in games]
    evidence = of_several([comparisons for comparisons, _, _ in parts], [weights for _, weights, _ in parts])
    matches = Counter(player for game in games for outcome in game.between(players) for player in set(outcome.players))
    ratings = rate(evidence, generator(SEED, "prior", "joint"))
    return board_of(ratings, over_games([payoff for _, _, payoff in parts]), matches)
