"""Random deals of hearts that a seat cannot distinguish from the true deal, all equally likely.

The engine's sampler keeps the true hidden passes and ignores suits that a player has shown to be void in. This sampler
redeals the hands after passing, uniformly over all hands consistent with the seat's observations. Then each hidden pass
is drawn as any three of the receiver's cards. Cards are engine numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gymposium.games.tricks.deals import deal_cards

_QUEEN, _TWO = 43, 0  # of spades, of clubs
_HEARTS = 2
_PLAIN = frozenset(card for card in range(52) if card % 4 != _HEARTS)
_NO_POINTS = _PLAIN - {_QUEEN}


def redeal(history: Sequence[int], seat: int, leader: int, params: Mapping[str, Any], rng: random.Random) -> list[int]:
    """Return another history of the same form: direction, 52 dealt cards, passes, cards played.

    `leader` plays first, and `params` are the engine's parameters."""
    way, dealt = history[0], history[1:53]
    passes = [list(history[53 + 3 * p : 56 + 3 * p]) for p in range(4)] if way else []
    plays = history[65:] if way else history[53:]
    own = dealt[seat::4]
    others = [p for p in range(4) if p != seat]
    if way and len(history) < 65:  # no seat has received cards yet
        rest = [card for card in range(52) if card not in own]
        rng.shuffle(rest)
        hands = [list(own) if p == seat else [rest.pop() for _ in range(13)] for p in range(4)]
        for p in others:
            passes[p] = rng.sample(hands[p], len(passes[p]))
        return [way, *(hands[n % 4][n // 4] for n in range(52)), *(card for gave in passes for card in gave)]
    holds = _draw_hands(seat, own, way, passes, leader, list(_split_tricks(plays, leader)), params, rng)
    if way:
        for p in others:
            to = (p + way) % 4
            # sorted: the seat cannot see the order of the cards it was passed
            passes[p] = rng.sample(sorted(passes[p]) if to == seat else holds[to], 3)
    hands = []
    for p in range(4):
        got = passes[(p - way) % 4] if way else []
        hand = [card for card in holds[p] if card not in got] + (passes[p] if way else [])
        rng.shuffle(hand)
        hands.append(list(own) if p == seat else hand)
    return [way, *(hands[n % 4][n // 4] for n in range(52)), *(card for gave in passes for card in gave), *plays]


def _split_tricks(plays: Sequence[int], leader: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the players and cards of each trick."""
    for start in range(0, len(plays), 4):
        trick = [((leader + i) % 4, card) for i, card in enumerate(plays[start : start + 4])]
        yield trick
        led = trick[0][1] % 4
        leader = max((card, p) for p, card in trick if card % 4 == led)[1]


def _draw_hands(
    seat: int,
    own: Sequence[int],
    way: int,
    passes: Sequence[Sequence[int]],
    leader: int,
    tricks: Sequence[Sequence[tuple[int, int]]],
    params: Mapping[str, Any],
    rng: random.Random,
) -> list[list[int]]:
    """Return the four hands after passing."""
    holds: list[list[int]] = [[], [], [], []]
    holds[seat] = [c for c in own if not way or c not in passes[seat]] + (list(passes[(seat - way) % 4]) if way else [])
    where = {card: p for trick in tricks for p, card in trick}
    where[_TWO] = leader
    if way:
        where.update(dict.fromkeys(passes[seat], (seat + way) % 4))
    for card, p in where.items():
        if p != seat:
            holds[p].append(card)
    lacks = _find_excluded_cards(tricks, params)
    others = [p for p in range(4) if p != seat]
    free = {
        card: tuple([place for place, p in enumerate(others) if card not in lacks[p]])
        for card in range(52)
        if card not in where and card not in holds[seat]
    }
    for p, cards in zip(others, deal_cards(free, [13 - len(holds[p]) for p in others], rng), strict=True):
        holds[p] += cards
    return holds


def _find_excluded_cards(tricks: Sequence[Sequence[tuple[int, int]]], params: Mapping[str, Any]) -> list[set[int]]:
    """Return the cards that each player cannot have held, given what they played."""
    lacks: list[set[int]] = [set(), set(), set(), set()]
    broken = not params["must_break_hearts"]
    for number, trick in enumerate(tricks):
        leader, led = trick[0][0], trick[0][1] % 4
        if led == _HEARTS and not broken:  # the leader held only hearts, or in one rule set only hearts and Qs
            lacks[leader] |= _NO_POINTS if params["can_lead_hearts_instead_of_qs"] else _PLAIN
        for p, card in trick:
            points = card % 4 == _HEARTS or card == _QUEEN
            if card % 4 != led:
                lacks[p] |= set(range(led, 52, 4))
                if number == 0 and points and params["no_pts_on_first_trick"]:
                    lacks[p] |= _NO_POINTS
            broken = broken or card % 4 == _HEARTS or (card == _QUEEN and params["qs_breaks_hearts"])
    return lacks
