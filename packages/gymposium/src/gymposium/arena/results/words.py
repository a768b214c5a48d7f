"""Results in words: how a rank, a rating or a mean is written, on a terminal and on a page alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gymposium.arena.results.model import GameResult, Interval, Measured, Place, RatedBoard, Standing, Yardsticks


def names(labels: Mapping[str, str]) -> dict[str, str]:
    """What to call each player on a list: by its label, and where that could be somebody else's, by how it is written
    as well. Anybody may choose a label, so one alone proves nothing."""
    taken = Counter(labels.values())
    taken.update(player for player, label in labels.items() if label != player)
    return {
        player: label if label == player or taken[label] == 1 else f"{label} ({player})"
        for player, label in labels.items()
    }


def rank(place: Place | None) -> str:
    """`3`, or `3 (2–4)` where others may stand there."""
    if place is None:
        return "–"
    return str(place.rank) if place.best == place.worst else f"{place.rank} ({place.best}–{place.worst})"


def group(place: Place | None) -> str:
    """`ab`: who shares a letter cannot be told apart."""
    return "" if place is None else place.group


def rating(row: Standing) -> str:
    """`412 [380, 450]`, or `≥ 380`."""
    if row.bound is None or row.rating is None:
        return "not enough data"
    if row.bound == "at least":
        return f"≥ {row.low:.0f}"
    if row.bound == "at most":
        return f"≤ {row.high:.0f}"
    if row.low == row.high:
        return f"{row.rating:.0f}"
    return f"{row.rating:.0f} [{row.low:.0f}, {row.high:.0f}]"


def mean(found: Interval | None) -> str:
    """`0.25 [0.10, 0.40]`, or a dash."""
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def paid_less(board: RatedBoard) -> dict[str, list[str]]:
    """Players that are rated above others who were surely paid more by the game, with those. In poker, say, who takes
    many small pots and pays for a few large ones wins most matches and loses."""
    rows = [(row.player, row.returned) for row in board.standings if row.place is not None]
    found = {
        player: [other for other, more in rows[place + 1 :] if _surely_less(paid, more)]
        for place, (player, paid) in enumerate(rows)
    }
    return {player: others for player, others in found.items() if others}


def _surely_less(one: Interval | None, other: Interval | None) -> bool:
    high, low = None if one is None else one.high, None if other is None else other.low
    return high is not None and low is not None and high < low


def known(yardsticks: Yardsticks, labels: Mapping[str, str]) -> list[str]:
    """What is known of a game by traversal, in sentences that call players by their labels."""
    wins, gains = yardsticks.most_wins_against_random, yardsticks.best_return_against_random
    told = []
    if wins is not None:
        told.append(f"Against random play nobody can win more than {wins:.3f} of the matches.")
    if gains is not None:
        told.append(f"Against random play nobody can get a mean return of more than {gains:.3f}.")
    for one in yardsticks.players:
        kind = "exactly" if one.exact else "estimated from samples" if one.estimated else "illegal replies forfeit"
        figures = f"wins {one.win_rate_against_random:.3f}, mean return {one.return_against_random:.3f}"
        told.append(f"{labels[one.player]} against random play, {kind}: {figures}{_exploitability(one)}.")
    return told


def _exploitability(one: Measured) -> str:
    if one.exploitability is not None:
        return f"; exploitability {one.exploitability:.3f}"
    if one.restricted_exploitability is not None:
        return f"; exploitability of its legal moves alone {one.restricted_exploitability:.3f}"
    return ""


def counts(game: GameResult) -> str:
    """How much was played."""
    told = [f"{game.matches} matches on {game.deals} deals"]
    if game.duplicates:
        told.append(f"{game.duplicates} more were the same as another")
    if game.forfeits:
        told.append(f"{game.forfeits} forfeits")
    if game.errors:
        told.append(f"{game.errors} broke off, to be played again")
    if game.model:
        told.append(game.model)
    return ", ".join(told)
