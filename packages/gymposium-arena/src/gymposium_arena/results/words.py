"""Results as text: ranks, ratings, means and counts as shown on terminals and pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gymposium.util.visible import plural, quantity

if TYPE_CHECKING:
    from gymposium_arena.ratings.connectivity import Bound
    from gymposium_arena.ratings.ranks import Place
    from gymposium_arena.results.model import (
        AdversaryResult,
        GameResult,
        Interval,
        LostResult,
        LuckResult,
        Measured,
        PairReturn,
        PlayerLost,
        PlayStanding,
        RatedBoard,
        Standing,
        Yardsticks,
    )


def names(labels: Mapping[str, str]) -> dict[str, str]:
    """Return each player's display name: its label, followed by the player in brackets if the label is ambiguous.
    Labels are chosen freely, so a label alone does not identify a player."""
    taken = Counter(labels.values())
    taken.update(player for player, label in labels.items() if label != player)
    return {
        player: label if label == player or taken[label] == 1 else f"{label} ({player})"
        for player, label in labels.items()
    }


def rank(place: Place | None) -> str:
    """Return a rank with its range: `3`, or `3 (2–4)`."""
    if place is None:
        return "–"
    return str(place.rank) if place.best == place.worst else f"{place.rank} ({place.best}–{place.worst})"


def group(place: Place | None) -> str:
    """Return the letters of a player's groups: players that share a letter cannot be told apart."""
    return "" if place is None else place.group


def rating(row: Standing) -> str:
    """Return a rating with its interval: `412 [380, 450]`, or `≥ 380`."""
    return _elo(row.bound, row.rating, row.low, row.high)


def _elo(bound: Bound | None, value: float | None, low: float | None, high: float | None) -> str:
    if bound is None or value is None:
        return "not enough data"
    if bound == "at least":
        return f"≥ {low:.0f}"
    if bound == "at most":
        return f"≤ {high:.0f}"
    return f"{value:.0f}" if low == high else f"{value:.0f} [{low:.0f}, {high:.0f}]"


def mean(estimate: Interval | None) -> str:
    """Return a mean with its interval: `0.25 [0.10, 0.40]`, or a dash."""
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def lost(row: PlayerLost) -> str:
    """Return what a player gives away per move, with its interval: `0.012 [0.008, 0.016]`."""
    value, low, high = row.per_move.value, row.per_move.low, row.per_move.high
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def reviewed(lost: LostResult) -> str:
    """Return how a game's moves were judged, as the beginning of a sentence."""
    estimate = "" if lost.exact else ", which estimates"
    return (
        f"What the moves of {quantity(lost.matches, 'match')} gave away, as shares of the range "
        "of returns, judged by "
        f"{lost.judge}{estimate}"
    )


def play(row: PlayStanding) -> str:
    """Return the rating of play alone, formatted like `rating`."""
    return _elo(row.bound, row.rating, row.low, row.high)


def exactly(row: PairReturn) -> str:
    """Return a corrected mean return: `-0.06 [-0.09, -0.03]`, or `-0.06 exactly`."""
    return f"{row.corrected.value:.4f} exactly" if row.exact else mean(row.corrected)


def corrected(luck: LuckResult) -> str:
    """Return how returns were corrected for luck, as the beginning of a sentence."""
    known = f", and the draws of {', '.join(luck.known)}" if luck.known else ""
    return f"Mean returns, corrected for luck: chance{known}, by the values of {luck.table}"


def flip(board: RatedBoard) -> str | None:
    """Return the flip distance of a board: `7 of 240 deals`; None if it has none."""
    return None if board.flip is None else f"{board.flip.deals:,} of {board.flip.of:,} deals"


def taken(adversary: AdversaryResult, labels: Mapping[str, str]) -> str:
    """Return what an adversary gets from its target, as a sentence."""
    player, target = labels[adversary.player], labels[adversary.target]
    return f"Fitted to one opponent, outside ratings: {player} gets {mean(adversary.returned)} a match from {target}."


def paid_less(board: RatedBoard) -> dict[str, list[str]]:
    """Return the players rated above others although their mean return is surely lower, each with those others. In
    poker, for example, a player that wins many small pots and loses a few large ones wins most matches but loses
    chips."""
    rows = [(row.player, row.returned) for row in board.standings if row.place is not None]
    better_paid = {
        player: [other for other, more in rows[place + 1 :] if _surely_less(paid, more)]
        for place, (player, paid) in enumerate(rows)
    }
    return {player: others for player, others in better_paid.items() if others}


def _surely_less(one: Interval | None, other: Interval | None) -> bool:
    high, low = None if one is None else one.high, None if other is None else other.low
    return high is not None and low is not None and high < low


def known(yardsticks: Yardsticks, labels: Mapping[str, str]) -> list[str]:
    """Return a game's yardsticks as sentences that name players by their labels."""
    wins, gains = yardsticks.most_wins_against_random, yardsticks.best_return_against_random
    sentences = []
    if wins is not None:
        sentences.append(f"Against random play, no player can win more than {wins:.3f} of the matches.")
    if gains is not None:
        sentences.append(f"Against random play, no player can get a mean return of more than {gains:.3f}.")
    for figures in yardsticks.players:
        kind = (
            "exactly" if figures.exact else "estimated from samples" if figures.estimated else "illegal replies forfeit"
        )
        shown = f"wins {figures.win_rate_against_random:.3f}, mean return {figures.return_against_random:.3f}"
        sentences.append(f"{labels[figures.player]} against random play, {kind}: {shown}{_exploitability(figures)}.")
    return sentences


def _exploitability(figures: Measured) -> str:
    if figures.exploitability is not None:
        return f"; exploitability {figures.exploitability:.3f}"
    if figures.restricted_exploitability is not None:
        return f"; exploitability of its legal moves alone {figures.restricted_exploitability:.3f}"
    return ""


def exploitable(yardsticks: Yardsticks) -> dict[str, str]:
    """Return the exploitability of each player where known: `0.0469`, or `0.4504*` for its legal
    moves alone."""
    known = {}
    for figures in yardsticks.players:
        if figures.exploitability is not None:
            known[figures.player] = f"{figures.exploitability:.4f}"
        elif figures.restricted_exploitability is not None:
            known[figures.player] = f"{figures.restricted_exploitability:.4f}*"
    return known


def counts(game: GameResult) -> str:
    """Return the number of a game's matches, and how they ended, in words."""
    parts = [
        f"{quantity(game.matches, 'match')} on {quantity(game.deals, 'deal')}",
        f"{game.duplicates} repeated {plural(game.duplicates, 'match')} not counted" if game.duplicates else None,
        quantity(game.forfeits, "forfeit") if game.forfeits else None,
        f"{game.errors} broke off and will be played again" if game.errors else None,
        game.model,
    ]
    return ", ".join(filter(None, parts))
