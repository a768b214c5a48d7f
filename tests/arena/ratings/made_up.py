"""Made-up match outcomes for tests of ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, count

import numpy as np

from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.bootstrap import draw_deal_weights, make_generator
from gymposium_arena.ratings.comparisons import compare_players
from gymposium_arena.ratings.evidence import sum_game, sum_games
from gymposium_arena.ratings.fit import Ratings, fit_ratings

_NUMBERS = count()


def match(
    *players: str, paid: Sequence[float], deal: str = "0", game: str = "g", forfeit: int | None = None
) -> MatchOutcome:
    """A match with a unique digest, so that it is never a repeated match."""
    return MatchOutcome(game, deal, players, tuple(paid), forfeit, str(next(_NUMBERS)))


def won(winner: str, loser: str, deals: int, game: str = "g") -> list[MatchOutcome]:
    """`deals` groups of two matches, all won by `winner`."""
    return [
        one
        for deal in range(deals)
        for one in (
            match(winner, loser, paid=(1.0, -1.0), deal=str(deal), game=game),
            match(loser, winner, paid=(-1.0, 1.0), deal=str(deal), game=game),
        )
    ]


def tournament(
    strengths: dict[str, float], deals: int, seed: int, seats: int = 2, game: str = "g"
) -> Iterator[MatchOutcome]:
    """Matches of all lineups of players with these log-strengths, each player in each seat of each deal once."""
    rng = np.random.default_rng(seed)
    for lineup in combinations(strengths, seats):
        for deal in range(deals):
            for shift in range(seats):
                order = [lineup[(seat + shift) % seats] for seat in range(seats)]
                clocks = rng.exponential(size=seats) / np.exp([strengths[name] for name in order])
                yield match(*order, paid=-clocks, deal=str(deal), game=game)


def rated(outcomes: Sequence[MatchOutcome], players: Sequence[str], samples: int = 200) -> Ratings:
    """Rates the players of one game."""
    game = compare_players(outcomes, players)
    weights = draw_deal_weights(make_generator(0, "deals"), samples, len(game.deals))
    return fit_ratings(sum_game(game, weights), make_generator(0, "prior"))


def rated_jointly(games: Sequence[Sequence[MatchOutcome]], players: Sequence[str], samples: int = 200) -> Ratings:
    """Rates the players over several games of equal weight."""
    counted = [compare_players(outcomes, players) for outcomes in games]
    weights = [
        draw_deal_weights(make_generator(0, "deals", i), samples, len(game.deals)) for i, game in enumerate(counted)
    ]
    return fit_ratings(sum_games(counted, weights), make_generator(0, "prior"))
