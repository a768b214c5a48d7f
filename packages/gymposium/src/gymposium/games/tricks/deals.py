"""Random deals of unseen cards, uniform over all consistent deals."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from math import comb
from typing import TypeVar

Card = TypeVar("Card")
Places = tuple[int, ...]
"""Indices of the places where a card may be."""


def deal_cards(cards: Mapping[Card, Places], capacities: Sequence[int], rng: random.Random) -> list[list[Card]]:
    """Deal the cards to places, uniformly over all possible deals.

    `capacities` holds each place's capacity, and `cards` each card's possible places."""
    groups: dict[Places, list[Card]] = {}
    for card, places in cards.items():
        groups.setdefault(places, []).append(card)
    order = sorted(groups.items(), key=lambda group: (len(group[0]), group[0]))

    @cache
    def count_ways(index: int, capacities: Places) -> int:
        """Count the ways to fill the remaining capacities with the card groups from `index` on."""
        if index == len(order):
            return int(not any(capacities))
        return sum(weight for _, weight in iterate_splits(index, capacities))

    def iterate_splits(index: int, capacities: Places) -> Iterator[tuple[Places, int]]:
        """Yield the possible splits of a group over the places, each with the number of deals that use it."""
        places, group = order[index]
        for shares in _split_count(len(group), places, capacities):
            remaining = tuple([capacity - share for capacity, share in zip(capacities, shares, strict=True)])
            weight = count_ways(index + 1, remaining)
            left = len(group)
            for share in shares:
                weight *= comb(left, share)
                left -= share
            if weight:
                yield shares, weight

    hands: list[list[Card]] = [[] for _ in capacities]
    rest = tuple(capacities)
    for index, (_, group) in enumerate(order):
        choices, weights = zip(*iterate_splits(index, rest), strict=True)
        [shares] = rng.choices(choices, weights)
        rng.shuffle(group)
        start = 0
        for hand, share in zip(hands, shares, strict=True):
            hand += group[start : start + share]
            start += share
        rest = tuple([capacity - share for capacity, share in zip(rest, shares, strict=True)])
    return hands


def _split_count(count: int, places: Places, capacities: Places, place: int = 0) -> Iterator[Places]:
    """Yield all ways to split a count over the places from `place` on, using only places in `places`."""
    if place == len(capacities):
        if not count:
            yield ()
        return
    later = sum([capacities[p] for p in places if p > place])
    most = min(count, capacities[place]) if place in places else 0
    for share in range(max(0, count - later), most + 1):
        for shares in _split_count(count - share, places, capacities, place + 1):
            yield (share, *shares)


def fill_hands(
    hands: Sequence[list[str]],
    seats: Sequence[int],
    size: int,
    pack: Sequence[str],
    suit: Mapping[str, str],
    out: Sequence[Collection[str]],
    rng: random.Random,
) -> list[str]:
    """Fill these seats' hands up to a size with the pack's remaining cards, and return the leftover cards.

    A seat gets no card of its void suits. `suit` maps each card to the suit that it counts as."""
    held = set[str]().union(*hands)
    free = [card for card in pack if card not in held]
    capacities = [size - len(hands[seat]) for seat in seats]
    last = len(capacities)
    cards = {c: (*[n for n, seat in enumerate(seats) if suit[c] not in out[seat]], last) for c in free}
    *dealt, left = deal_cards(cards, [*capacities, len(free) - sum(capacities)], rng)
    for seat, new in zip(seats, dealt, strict=True):
        hands[seat] += new
    return left
