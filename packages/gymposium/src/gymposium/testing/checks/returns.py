"""Returns: within the range that is promised, of the kind that is promised, and what the rewards add up to."""

from __future__ import annotations

import math
import random

from gymposium.envs.aec import TextGameAECEnv
from gymposium.envs.gym import TextGameEnv
from gymposium.games.protocol import Game
from gymposium.testing.contract import NORMAL, CheckFailed, Effort, after
from gymposium.testing.walk import AnyPlayer, ended, match_seed, played, some_text

_CLOSE = 1e-6


def returns_stay_in_range(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """One finite return for each seat at every moment, and at the end none beyond `utility_range`."""
    low, high = game.utility_range
    for match in played(game, seed, effort.decisions):
        returns = match.returns()
        right = type(returns) is tuple and len(returns) == game.seats and all(map(math.isfinite, returns))
        if right and not match.to_move():
            right = all(low - _CLOSE <= value <= high + _CLOSE for value in returns)
        if not right:
            raise CheckFailed(
                f"returns are {returns!r}; there are {game.seats} seats and the range is {low:g} to {high:g}.",
                where=after(match),
                do="give a tuple with a number for each seat, and let utility_range hold whatever a match may pay.",
            )


def returns_are_of_their_kind(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """zero_sum returns sum to 0; cooperative ones are equal; a score is of one seat alone."""
    kind = game.spec.utility
    if kind == "score" and game.seats != 1:
        raise CheckFailed(f"utility='score' with {game.seats} seats.", where=game.name, do="say general_sum.")
    for match in ended(game, seed, effort.decisions):
        returns = match.returns()
        if kind == "zero_sum" and abs(sum(returns)) > _CLOSE:
            wrong = f"sum to {sum(returns):g}"
        elif kind == "cooperative" and max(returns) - min(returns) > _CLOSE:
            wrong = "are not equal"
        else:
            continue
        raise CheckFailed(
            f"the spec says utility={kind!r}, but returns {returns} {wrong}.",
            where=after(match),
            do="say general_sum, or pay what the spec says.",
        )


def rewards_add_up(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """In Gymnasium's and PettingZoo's environments the rewards of a match add up to its return, for every seat."""
    for number in range(max(1, min(8, effort.decisions // (8 * game.max_decisions)))):
        one = match_seed(seed, number)
        for seat in range(game.seats):
            env = TextGameEnv(game, seat=seat, opponent=[AnyPlayer()] * (game.seats - 1))
            rng = random.Random(one)
            text, info = env.reset(seed=one)
            total, over = 0.0, False
            while not over:
                text, reward, over, _, info = env.step(_choose(info, text, rng))
                total += reward
            _adds_up(game, env.match.returns()[seat], total, f"Gymnasium, seat {seat}, seed {one}")
        aec = TextGameAECEnv(game)
        aec.reset(seed=one)
        rng, totals = random.Random(one), dict.fromkeys(aec.possible_agents, 0.0)
        for agent in aec.agent_iter():
            seen, reward, ended_, _, info = aec.last()
            totals[agent] += reward
            aec.step(None if ended_ else _choose(info, seen["text"], rng))
        for agent, value in zip(aec.possible_agents, aec.match.returns()):
            _adds_up(game, value, totals[agent], f"PettingZoo, {agent}, seed {one}")


def _choose(info: dict[str, list[str]], text: str, rng: random.Random) -> str:
    legal = info.get("legal_moves")
    return legal[int(rng.random() * len(legal))] if legal else some_text(text, rng)


def _adds_up(game: Game, value: float, total: float, where: str) -> None:
    if abs(value - total) > _CLOSE * max(1.0, abs(value)):
        raise CheckFailed(
            f"rewards add up to {total:g}, but the return is {value:g}.",
            where=f"{game.name}, {where}",
            do="let returns() be the sum of rewards so far, at every moment, and the same each time.",
        )
