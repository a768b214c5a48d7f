"""What a player is worth in each game, as flat figures. Where a game is small they are exact, by traversal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gymposium.analysis import exact
from gymposium.analysis.exact import Outcome
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.plugins.names import format_name, parse_name
from gymposium.records.scores import Estimate, Score, estimate_rate
from gymposium_agents.players.evaluate import evaluate_player

PlayerAt = Callable[[float], Player]
"""Makes the player that samples at a temperature; 0 is greedy."""
Figures = dict[str, Any]
"""Numbers by name. `NAME interval` is the 95% interval of one that was counted in matches."""

RANDOM_MATCHES = 2_000
SEARCH_MATCHES = 400
SEARCHES = ("mcts-25", "mcts-100")
ALONE_MATCHES = 200
TASKS_EACH = 1_000
"""Number of questions, both of tasks like those that were learned from and of others."""

QUESTIONS = ("mail", "tables", "qa")
"""The games of tasks with one right answer, each with the split `test`."""

HIDDEN = ("kuhn_poker", "leduc_poker", "liars_dice")
"""Games in which something is hidden, of which every state can be visited."""

CURVES = {
    "tic_tac_toe": ("win", "wins of greedy play against random play"),
    **dict.fromkeys(HIDDEN, ("exploitability", "exploitability at temperature 1")),
    "connect_four": ("win", "wins of greedy play against random play"),
    "2048": ("score", "mean score of greedy play"),
    **dict.fromkeys(QUESTIONS, ("exact", "right answers of greedy play")),
}
"""The figure that a learning curve shows of a game, and that in words."""


def find_kind(game: str) -> str:
    """Return the name of a game without its parameters."""
    return parse_name(game)[0]


def figures(game: str, player: PlayerAt, seed: int, tag: str) -> Figures:
    """Return all figures of a player in a game. `seed` determines the matches, and their ids begin with `tag`."""
    return _FIGURES[find_kind(game)](game, player, seed, tag)


def _tic_tac_toe(name: str, player: PlayerAt, seed: int, tag: str) -> Figures:
    found = exact.measure_player(load_game(name), player(0.0), seed)
    value, response = found.as_played.against_random, found.as_played.response
    assert response is not None  # nothing is hidden, and greedy play is computed
    second, first = (_result(outcome) for outcome in response.value.seats)  # the response has the other seat
    return {
        "win": value.mean.win,
        "draw": value.mean.draw,
        "loss": value.mean.loss,
        "first": first,
        "second": second,
        "held": sum(result != "loss" for result in (first, second)),
        "forfeits": found.as_played.policy.forfeits,
    }


def _result(response: Outcome) -> str:
    """Return the result of a deterministic greedy player against its best response."""
    return "loss" if response.mean_return > 0 else "draw" if response.mean_return == 0 else "win"


def _hidden(name: str, player: PlayerAt, seed: int, tag: str) -> Figures:
    found = exact.measure_player(load_game(name), player(1.0), seed)
    return {
        "exploitability": None if found.restricted is None else found.restricted.exploitability,
        "exploitability as played": found.as_played.exploitability,
        "legal mass": found.as_played.policy.legal_mass,
    }


def exploitability(game: str, player: Player, seed: int) -> tuple[float | None, float]:
    """Return the exploitability of a player's legal moves if something is hidden, and its legal mass.

    Legal mass is the smallest share of legal replies in any state. Returns None if the player never plays a legal move
    in some state.
    """
    found = exact.measure_player(load_game(game), player, seed)
    return (None if found.restricted is None else found.restricted.exploitability), found.as_played.policy.legal_mass


def _connect_four(name: str, player: PlayerAt, seed: int, tag: str) -> Figures:
    measured = player(0.0)
    against_random = _matches(name, measured, "random", RANDOM_MATCHES, seed, tag)
    against_searches = {search: _matches(name, measured, search, SEARCH_MATCHES, seed, tag) for search in SEARCHES}
    figures = _estimate("win", against_random.result_rate("win"))
    for search, score in against_searches.items():
        figures |= _estimate(f"win {search}", score.result_rate("win"))
    return {**figures, "forfeits": sum(score.forfeits for score in (against_random, *against_searches.values()))}


def _2048(name: str, player: PlayerAt, seed: int, tag: str) -> Figures:
    score = _matches(name, player(0.0), None, ALONE_MATCHES, seed, tag)
    return {**_estimate("score", score.mean_return()), "forfeits": score.forfeits}


def _questions(name: str, player: PlayerAt, seed: int, tag: str) -> Figures:
    """Return the number of right answers on tasks like the training tasks, and on the game's test tasks."""
    kind, params = parse_name(name)
    unseen = format_name(kind, {**params, "split": "test"})
    learned, other = (_matches(game, player(0.0), None, TASKS_EACH, seed, tag) for game in (name, unseen))
    return {
        **_estimate("exact", _right(learned)),
        **_estimate("exact unseen", _right(other)),
        "forfeits": learned.forfeits + other.forfeits,
    }


def _right(score: Score) -> Estimate:
    """Return the share of matches with a right answer, by the world's report, or by the return of a question.

    A forfeited match has no answer.
    """
    return estimate_rate(round(sum(score.reports.get("exact", score.returns))), score.matches)


def _matches(name: str, player: Player, opponent: str | None, matches: int, seed: int, tag: str) -> Score:
    against = None if opponent is None else make_player(opponent)
    found = evaluate_player(player, against, load_game(name), matches=matches, seed=seed, tag=f"{tag}-{opponent}")
    return found.overall


def _estimate(name: str, found: Estimate) -> Figures:
    return {name: found.value, f"{name} interval": [found.low, found.high]}


_FIGURES: Mapping[str, Callable[[str, PlayerAt, int, str], Figures]] = {
    "tic_tac_toe": _tic_tac_toe,
    **dict.fromkeys(HIDDEN, _hidden),
    "connect_four": _connect_four,
    "2048": _2048,
    **dict.fromkeys(QUESTIONS, _questions),
}
