"""The flip distance of a board matches an exhaustive search over sets of deals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations, count

import numpy as np
import pytest
from tests.arena.ratings.made_up import tournament, won

from gymposium_arena.outcomes import MatchOutcome
from gymposium_arena.ratings.bootstrap import draw_deal_weights, make_generator
from gymposium_arena.ratings.comparisons import Comparisons, compare_players
from gymposium_arena.ratings.evidence import Evidence, sum_game
from gymposium_arena.ratings.fit import fit_ratings
from gymposium_arena.ratings.flip import Flip, find_flip
from gymposium_arena.ratings.newton import fit_many
from gymposium_arena.ratings.prior import compute_prior


def collect_evidence(game: Comparisons) -> partial[Evidence]:
    return partial(sum_game, game)


def compute_flip(outcomes: Sequence[MatchOutcome], players: Sequence[str]) -> tuple[Flip | None, Comparisons]:
    game = compare_players(outcomes, players)
    weights = draw_deal_weights(make_generator(0, "deals"), 50, len(game.deals))
    ratings = fit_ratings(sum_game(game, weights), make_generator(0, "prior"))
    return find_flip(ratings, collect_evidence(game), len(game.deals)), game


def find_leaders_without(game: Comparisons, removed: Sequence[int]) -> set[str]:
    """Who is first without these deals, by a fit of its own; equals are all first."""
    kept = [deal for deal in range(len(game.deals)) if deal not in removed]
    met = game.points.sum(axis=0) + game.points.sum(axis=0).T > 0.0
    strengths = fit_many((game.pairs[kept].sum(axis=0) + compute_prior(met))[None])[0]
    return {game.players[int(i)] for i in np.flatnonzero(strengths > strengths.max() - 1e-6)}


def search_fewest_deals(game: Comparisons, most: int) -> int | None:
    """The smallest number of deals without which somebody else is first, up to `most`."""
    (first,) = find_leaders_without(game, [])
    for size in range(1, most + 1):
        if any(
            first not in find_leaders_without(game, removed) for removed in combinations(range(len(game.deals)), size)
        ):
            return size
    return None


@pytest.mark.parametrize("seed", range(100))
def test_flip_distance_matches_exhaustive_search(seed: int) -> None:
    players = {name: strength * (0.1 + seed % 5 / 10) for name, strength in (("a", 1.0), ("b", 0.5), ("c", 0.0))}
    for made in count(1000 * seed):  # the next one in which one player is first
        found, game = compute_flip([*tournament(players, 4 + seed % 6, made)], [*players])
        if len(find_leaders_without(game, [])) == 1:
            break
    known = search_fewest_deals(game, 2)
    if known is not None:
        assert found is not None
        assert len(found.deals) == known
    elif found is not None:
        assert len(found.deals) > 2
    if found is not None:
        assert found.first in find_leaders_without(game, found.deals)
        assert find_leaders_without(game, []).isdisjoint(find_leaders_without(game, found.deals))


def test_only_the_needed_deals_are_named() -> None:
    """One of two players won 30 deals of 58 and the other 28, so that three more would turn it."""
    a, b = "a", "b"
    outcomes = won(a, b, 30)
    outcomes += [
        MatchOutcome("g", f"z{one.group}", one.players, one.utilities, None, f"z{one.digest}") for one in won(b, a, 28)
    ]
    found, game = compute_flip(outcomes, [a, b])
    assert found is not None
    assert (len(found.deals), len(game.deals), found.first) == (3, 58, b)


def test_no_flip_if_one_player_won_everything() -> None:
    found, _ = compute_flip(won("a", "b", 12), ["a", "b"])
    assert found is None
