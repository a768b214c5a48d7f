"""Check returns: they match the declared range and utility, and equal the sum of the rewards."""

from __future__ import annotations

import math
import random

from gymposium.envs.aec import TextGameAECEnv
from gymposium.envs.gym import TextGameEnv
from gymposium.games.protocol import Game
from gymposium_testing.contract import NORMAL, CheckFailed, Effort, describe_position, require
from gymposium_testing.walk import AnyPlayer, derive_match_seed, draw_reply, play_matches, play_to_end

_TOLERANCE = 1e-6


def returns_stay_in_range(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Returns are one finite number per seat at every step, and within `utility_range` at the end."""
    low, high = game.utility_range
    for match in play_matches(game, seed, effort.decisions):
        returns = match.returns()
        right = type(returns) is tuple and len(returns) == game.seats and all(map(math.isfinite, returns))
        if right and not match.to_move():
            right = all(low - _TOLERANCE <= value <= high + _TOLERANCE for value in returns)
        if not right:
            raise CheckFailed(
                f"returns are {returns!r}; there are {game.seats} seats and the range is {low:g} to {high:g}.",
                where=describe_position(match),
                fix="return a tuple with a number for each seat, and let utility_range cover every possible return.",
            )


def returns_match_the_utility(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Zero-sum returns sum to 0, cooperative returns are equal, and scores are for a single seat."""
    kind = game.spec.utility
    require(
        kind != "score" or game.seats == 1,
        f"the spec says utility='score', but there are {game.seats} seats",
        "say general_sum.",
        game.name,
    )
    for match in play_to_end(game, seed, effort.decisions):
        returns = match.returns()
        if kind == "zero_sum" and abs(sum(returns)) > _TOLERANCE:
            wrong = f"sum to {sum(returns):g}"
        elif kind == "cooperative" and max(returns) - min(returns) > _TOLERANCE:
            wrong = "are not equal"
        else:
            continue
        raise CheckFailed(
            f"the spec says utility={kind!r}, but returns {returns} {wrong}.",
            where=describe_position(match),
            fix="declare general_sum, or pay what the spec says.",
        )


def rewards_sum_to_returns(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """In Gymnasium's and PettingZoo's environments, a seat's rewards in a match sum to its return."""
    for number in range(max(1, min(8, effort.decisions // (8 * game.max_decisions)))):
        own_seed = derive_match_seed(seed, number)
        for seat in range(game.seats):
            env = TextGameEnv(game, seat=seat, opponent=[AnyPlayer()] * (game.seats - 1))
            rng = random.Random(own_seed)
            text, info = env.reset(seed=own_seed)
            total, over = 0.0, False
            while not over:
                text, reward, over, _, info = env.step(draw_reply(game, info, text, rng))
                total += reward
            _check_sum(game, env.match.returns()[seat], total, f"Gymnasium, seat {seat}, seed {own_seed}")
        aec = TextGameAECEnv(game)
        aec.reset(seed=own_seed)
        rng, totals = random.Random(own_seed), dict.fromkeys(aec.possible_agents, 0.0)
        for agent in aec.agent_iter():
            observation, reward, over, _, info = aec.last()
            totals[agent] += reward
            aec.step(None if over else draw_reply(game, info, observation["text"], rng))
        for agent, value in zip(aec.possible_agents, aec.match.returns()):
            _check_sum(game, value, totals[agent], f"PettingZoo, {agent}, seed {own_seed}")


def _check_sum(game: Game, value: float, total: float, where: str) -> None:
    if abs(value - total) > _TOLERANCE * max(1.0, abs(value)):
        raise CheckFailed(
            f"rewards add up to {total:g}, but the return is {value:g}.",
            where=f"{game.name}, {where}",
            fix="let returns() be the sum of rewards so far, at every moment and consistently.",
        )
