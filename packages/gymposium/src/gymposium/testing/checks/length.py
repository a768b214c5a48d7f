"""Length: random matches come to their end, within the number of decisions that the game promises."""

from __future__ import annotations

from gymposium.driver import MatchJob, play
from gymposium.games.protocol import Game
from gymposium.testing.effort import NORMAL, Effort
from gymposium.testing.failed import CheckFailed, told
from gymposium.testing.walk import AnyPlayer, match_seed


def random_matches_end(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Random matches, as many as `Effort.matches`, end by the rules, none with more than `max_decisions`."""
    player = AnyPlayer()
    jobs = (MatchJob(f"m{n}", game, [player] * game.seats, match_seed(seed, n)) for n in range(effort.matches))
    for done in play(jobs, at_once=64):
        if done.forfeit is not None:
            raise CheckFailed(
                f"seat {done.forfeit} played a listed move, {done.turns[-1].text!r}, and it is not one.",
                where=f"{game.name}, seed {done.job.seed}, after {told(done.events)}",
                do="let legal_moves() list what apply() takes.",
            )
        if len(done.turns) > game.max_decisions:
            raise CheckFailed(
                f"a match of {len(done.turns)} decisions, but max_decisions is {game.max_decisions}.",
                where=f"{game.name}, seed {done.job.seed}",
                do="work max_decisions out from the rules: budgets, and the length of contexts, rest on it.",
            )
