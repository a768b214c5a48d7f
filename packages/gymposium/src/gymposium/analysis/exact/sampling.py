"""Policies estimated from sampled replies, and the allocation of samples to states.

Samples go where they are most informative about the exploitability. Each information state gets replies in proportion
to the standard deviation of its contribution to the best response's return (Neyman's allocation). The replies so far
estimate it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from gymposium.analysis.exact.gains import compute_gains
from gymposium.analysis.exact.graph import Graph, build_graph
from gymposium.analysis.exact.policy import Policy, State, make_ask
from gymposium.analysis.exact.response import compute_seat_response
from gymposium.games.protocol import Game
from gymposium.players.asking import ask_player
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.replies.reading import read_action, read_reply

REPLIES = 20_000
"""Default number of sampled replies."""
FOLDS = 4
"""Number of folds of each state's replies.

A best response to all folds but one is evaluated against that one (`gymposium.analysis.exact.bounds`)."""
ROUNDS = 6
"""Number of rounds of reallocation."""
FIRST_SHARE = 0.25
"""Share of the replies spread evenly over all states in the first round.

It is larger if a state would otherwise get fewer than one reply per fold."""
PRIOR = 0.5
"""Pseudocount for every move and for an illegal reply when estimating variances, because an unseen move may still be
played."""
AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class SampledPolicy:
    """A player's replies in the information states of a small game."""

    game: Game
    player: str
    moves: Mapping[State, tuple[str, ...]]
    """Legal moves per state."""
    replies: Mapping[State, list[int]]
    """Replies per state, in order. States without a reply are missing.

    A reply is the index of a legal move, or the number of legal moves for any other reply."""

    @property
    def asked(self) -> int:
        """Number of states with a reply."""
        return sum(map(bool, self.replies.values()))

    @property
    def count(self) -> int:
        """Total number of replies."""
        return sum(map(len, self.replies.values()))

    def likely(self) -> Policy:
        """Return the reply frequencies as the player's policy, uniform in states without a reply."""
        even = {
            state: MoveDistribution(moves, (1 / len(moves),) * len(moves), 1.0, None)
            for state, moves in self.moves.items()
        }
        seen = self.policy(forfeits=True).table
        return Policy(self.game, self.player, even | {s: replace(found, samples=None) for s, found in seen.items()})

    def policy(self, *, forfeits: bool, folds: Collection[int] = range(FOLDS), prior: float = 0.0) -> Policy:
        """Return the reply frequencies as a policy, omitting states without replies.

        With `forfeits`, illegal replies forfeit; without, only legal moves count. Only replies in these folds are
        counted. `prior` is added to each outcome's count, in every state of the game."""
        table: dict[State, MoveDistribution] = {}
        for state, moves in self.moves.items():
            counts = [prior] * len(moves)
            failed = prior * forfeits
            said = self.replies.get(state, ())
            for number, reply in enumerate(said if forfeits else [one for one in said if one < len(moves)]):
                if number % FOLDS not in folds:
                    continue
                if reply == len(moves):
                    failed += 1
                else:
                    counts[reply] += 1
            legal = sum(counts)
            if legal + failed:
                odds = tuple(count / legal if legal else 0.0 for count in counts)
                table[state] = MoveDistribution(moves, odds, legal / (legal + failed), len(said))
        return Policy(self.game, self.player, table)


def sample_policy(
    game: Game, player: Player, replies: int = REPLIES, seed: int = 0, advance: Callable[[int], None] = lambda _: None
) -> SampledPolicy:
    """Ask a player for this number of replies in the information states of a small game.

    `advance` is called with the number of new replies. Raises `TooLarge` if the game cannot be traversed."""
    graph = build_graph(game)
    first: dict[State, int] = {}
    for i, position in enumerate(graph.positions):
        if position.seat >= 0:
            first.setdefault((position.seat, position.view), i)
    moves = {state: graph.positions[i].moves for state, i in first.items()}
    found = SampledPolicy(graph.game, player.name, moves, defaultdict(list))
    for number in range(ROUNDS):
        plan = _allocate_replies(graph, found, replies, number)
        wanted = [(state, n) for state, more in plan.items() for n in _extend_range(found.replies[state], more)]
        for begin in range(0, len(wanted), AT_ONCE):
            batch = wanted[begin : begin + AT_ONCE]
            asks = [
                make_ask(graph, graph.positions[first[state]], f"sample-{first[state]}-{n}", seed, n)
                for state, n in batch
            ]
            for (state, _), reply in zip(batch, _ask_player(player, asks), strict=True):
                found.replies[state].append(reply)
            advance(len(batch))
    return found


def _extend_range(replies: Sequence[int], more: int) -> range:
    return range(len(replies), len(replies) + more)


def _ask_player(player: Player, asks: Sequence[Ask]) -> list[int]:
    """Return the answer to each ask, as in `SampledPolicy.replies`."""
    outcomes = []
    for ask, reply in zip(asks, ask_player(player, asks), strict=True):
        move, legal = read_move(player, ask, reply), ask.legal_moves or []
        outcomes.append(len(legal) if move is None else legal.index(move))
    return outcomes


def read_move(player: Player, ask: Ask, reply: Reply) -> str | None:
    """Return the legal move that the driver would read in a reply, or None. The game must list its moves."""
    legal = ask.legal_moves or []
    if reply.finish_reason == "context":
        return None
    if reply.action is not None:
        return read_action(reply.action, ask.legal_actions, legal).move
    cut_off, pattern = reply.finish_reason == "length", ask.game.move_pattern
    reading = read_reply(reply.text, legal, player.reader, pattern, cut_off=cut_off)
    return reading.move if reading.kind == "move" else None


def _allocate_replies(graph: Graph, found: SampledPolicy, replies: int, number: int) -> dict[State, int]:
    """Return the number of replies to ask for in each state this round."""
    left = replies - found.count
    known = min(FOLDS, replies // len(found.moves))  # a state without a reply widens the interval most
    each = max(int(replies * FIRST_SHARE) // len(found.moves), known)
    if number == 0 and each > 0:
        return dict.fromkeys(found.moves, each)
    amount = left if number == ROUNDS - 1 else left // (ROUNDS - number)
    weights = _compute_weights(graph, found)
    scale = (found.count + amount) / (sum(weights.values()) or 1.0)
    lacking = {state: scale * weight - len(found.replies[state]) for state, weight in weights.items()}
    lacking = {state: more for state, more in lacking.items() if more > 0.0}
    share = amount / (sum(lacking.values()) or 1.0)
    plan: dict[State, int] = {}
    for state in sorted(lacking, key=lambda one: -weights[one]):
        least = 0 if found.replies[state] else max(1, known)
        plan[state] = min(amount - sum(plan.values()), max(round(share * lacking[state]), least))
        if sum(plan.values()) == amount:
            break
    else:  # rounding has left some, or no state is informative
        rest = amount - sum(plan.values())
        for n, state in enumerate(plan or found.moves):
            here = rest // len(plan or found.moves) + (n < rest % len(plan or found.moves))
            plan[state] = plan.get(state, 0) + here
    return plan


def _compute_weights(graph: Graph, found: SampledPolicy) -> dict[State, float]:
    """Return each state's sampling weight: the standard deviation of its contribution to the best response's return."""
    seen, smoothed = found.policy(forfeits=False), found.policy(forfeits=False, prior=PRIOR)
    weights = dict.fromkeys(found.moves, 0.0)
    for seat in (0, 1):
        response = compute_seat_response(graph, seen, seat).table
        for state, gains in compute_gains(graph, smoothed, response, 1 - seat, paid=seat).items():
            weights[state] = math.sqrt(gains.variance)
    return weights
