"""Format results as text for terminals and pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gymposium.util.visible import plural, quantity

if TYPE_CHECKING:
    from gymposium_arena.ratings.ranks import Place
    from gymposium_arena.results.model import (
        AdversaryResult,
        GameResult,
        Interval,
        LostResult,
        LuckResult,
        Measured,
        PairReturn,
        PlayStanding,
        RatedBoard,
        Standing,
        Yardsticks,
    )


def make_display_names(labels: Mapping[str, str]) -> dict[str, str]:
    """Return each player's display name: its label, with the player's name in brackets if labels are not unique."""
    taken = Counter(labels.values())
    taken.update(player for player, label in labels.items() if label != player)
    return {
        player: label if label == player or taken[label] == 1 else f"{label} ({player})"
        for player, label in labels.items()
    }


def format_rank(place: Place | None) -> str:
    """Format a rank with its range: `3`, or `3 (2–4)`."""
    if place is None:
        return "–"
    return str(place.rank) if place.best == place.worst else f"{place.rank} ({place.best}–{place.worst})"


def format_group(place: Place | None) -> str:
    """Return a player's group letters."""
    return "" if place is None else place.group


def format_rating(row: Standing | PlayStanding) -> str:
    """Format a rating with its interval: `412 [380, 450]`, or `≥ 380`."""
    if row.bound is None or row.rating is None:
        return "not enough data"
    if row.bound == "at least":
        return f"≥ {row.low:.0f}"
    if row.bound == "at most":
        return f"≤ {row.high:.0f}"
    return f"{row.rating:.0f}" if row.low == row.high else f"{row.rating:.0f} [{row.low:.0f}, {row.high:.0f}]"


def format_mean(estimate: Interval | None, digits: int = 2) -> str:
    """Format a mean with its interval: `0.25 [0.10, 0.40]`, or a dash."""
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.{digits}f}"
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def describe_review(lost: LostResult) -> str:
    """Describe how a game's moves were judged, without a final period."""
    estimate = "" if lost.exact else ", which estimates"
    return (
        f"What the moves of {quantity(lost.matches, 'match')} gave away, as shares of the range "
        "of returns, judged by "
        f"{lost.judge}{estimate}"
    )


def format_corrected(row: PairReturn) -> str:
    """Format a luck-corrected mean return: `-0.06 [-0.09, -0.03]`, or `-0.0612 exactly`."""
    return f"{row.corrected.value:.4f} exactly" if row.exact else format_mean(row.corrected)


def describe_correction(luck: LuckResult) -> str:
    """Describe how returns were corrected for luck, without a final period."""
    known = f", and the draws of {', '.join(luck.known)}" if luck.known else ""
    return f"Mean returns, corrected for luck: chance{known}, by the values of {luck.table}"


def format_flip(board: RatedBoard) -> str | None:
    """Format a board's flip distance: `7 of 240 deals`. Returns None for a board without one."""
    return None if board.flip is None else f"{board.flip.deals:,} of {board.flip.of:,} deals"


def describe_adversary(adversary: AdversaryResult, labels: Mapping[str, str]) -> str:
    """Describe an adversary's mean return against its target in a sentence."""
    player, target = labels[adversary.player], labels[adversary.target]
    gain = format_mean(adversary.returned)
    return f"Fitted to one opponent, outside ratings: {player} gets {gain} a match from {target}."


def find_paid_less(board: RatedBoard) -> dict[str, list[str]]:
    """Return each player rated above others that have a surely higher mean return, with those others.

    In poker, for example, a player may win many small pots and lose a few large ones."""
    rows = [(row.player, row.returned) for row in board.standings if row.place is not None]
    better_paid = {
        player: [other for other, more in rows[place + 1 :] if _is_surely_less(paid, more)]
        for place, (player, paid) in enumerate(rows)
    }
    return {player: others for player, others in better_paid.items() if others}


def _is_surely_less(one: Interval | None, other: Interval | None) -> bool:
    high, low = None if one is None else one.high, None if other is None else other.low
    return high is not None and low is not None and high < low


def describe_yardsticks(yardsticks: Yardsticks, labels: Mapping[str, str]) -> list[str]:
    """Describe a game's yardsticks in sentences. `labels` holds display names by player."""
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
        sentences.append(
            f"{labels[figures.player]} against random play, {kind}: {shown}{_describe_exploitability(figures)}."
        )
    return sentences


def _describe_exploitability(figures: Measured) -> str:
    if figures.exploitability is not None:
        return f"; exploitability {figures.exploitability:.3f}"
    if figures.restricted_exploitability is not None:
        return f"; exploitability of its legal moves alone {figures.restricted_exploitability:.3f}"
    return ""


def format_exploitability(yardsticks: Yardsticks) -> dict[str, str]:
    """Format known exploitabilities by player: `0.0469`, or `0.4504*` for legal moves alone."""
    known = {}
    for figures in yardsticks.players:
        if figures.exploitability is not None:
            known[figures.player] = f"{figures.exploitability:.4f}"
        elif figures.restricted_exploitability is not None:
            known[figures.player] = f"{figures.restricted_exploitability:.4f}*"
    return known


def describe_counts(game: GameResult) -> str:
    """Describe the number of a game's matches and how they ended."""
    parts = [
        f"{quantity(game.matches, 'match')} on {quantity(game.deals, 'deal')}",
        f"{game.duplicates} repeated {plural(game.duplicates, 'match')} not counted" if game.duplicates else None,
        quantity(game.forfeits, "forfeit") if game.forfeits else None,
        f"{game.errors} broke off and will be played again" if game.errors else None,
        game.model,
    ]
    return ", ".join(filter(None, parts))
