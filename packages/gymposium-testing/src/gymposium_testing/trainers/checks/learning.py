"""Level (a): check that a trainer learns, by computing the exact value of its policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gymposium.analysis.exact import Policy, compute_value, find_best_response, tabulate_policy
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import load_game
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer
from gymposium.replies.reading import get_reader
from gymposium_testing.contract import CheckFailed, NotApplicable, require
from gymposium_testing.trainers.protocol import MovePolicy, Opponent, Trainer, TrainerTask, TrainingBudget

MATCHES = 20_000
"""Maximum number of matches in a training run."""
TASKS: dict[str, tuple[str, Opponent]] = {
    "kuhn_poker against random play": ("kuhn_poker", "random"),
    "goofspiel with 3 cards against random play": ("goofspiel(num_cards=3)", "random"),
    "the prisoner's dilemma in self-play": ("openspiel:matrix_pd", "self"),
}
LEAST_SHARE = 0.9
"""Required progress from random play to the optimum, as a share of the difference."""
SUM_TOLERANCE = 1e-4
"""Maximum excess of a sum of probabilities over 1."""


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """The result of a training run."""

    start: float
    """Value of uniformly random play."""
    reached: float
    optimum: float

    @property
    def share(self) -> float:
        """Progress from the start to the optimum, as a share of the difference; 1 at the optimum."""
        return (self.reached - self.start) / (self.optimum - self.start)


def measure_learning(trainer: Trainer, name: str, seed: int = 0) -> TrainingOutcome:
    """Train on one of `TASKS` and evaluate the policy.

    Raises `NotApplicable` if the task needs unsupported self-play."""
    game_name, opponent = TASKS[name]
    if opponent == "self" and not trainer.self_play:
        raise NotApplicable("the trainer has no self-play")
    game = load_game(game_name)
    policy = tabulate_move_policy(game, trainer.train(TrainerTask(game, opponent), TrainingBudget(MATCHES, seed)))
    uniform = tabulate_policy(game, RandomPlayer())
    if opponent == "random":
        optimum = find_best_response(uniform).value.mean.mean_return
        return TrainingOutcome(
            compute_value(uniform, uniform).mean.mean_return, compute_value(policy, uniform).mean.mean_return, optimum
        )
    return TrainingOutcome(-_compute_regret(uniform), -_compute_regret(policy), 0.0)


def check_learning(trainer: Trainer, name: str, seed: int = 0) -> None:
    """Training gets at least 90% of the way from random play to the optimum.

    The optimum is the best response to random play, or in self-play a policy that is its own best response."""
    found = measure_learning(trainer, name, seed)
    require(
        found.share >= LEAST_SHARE,
        f"The policy gets {found.share:.0%} of the way to the optimum: {found.reached:.3f}, where random play gets "
        f"{found.start:.3f} and the optimum is {found.optimum:.3f}",
        fix="fix any other failed checks first. Then let train() use more of the match budget, keep the policy "
        "exploring for longer (by entropy or KL), or set another learning rate.",
        where=name,
    )


def tabulate_move_policy(game: Game, policy: MovePolicy) -> Policy:
    """Tabulate a trainer's policy. Raises `CheckFailed` for invalid probabilities."""
    return tabulate_policy(game, _PolicyPlayer(policy))


def _compute_regret(policy: Policy) -> float:
    """Return how much the best response gains over the policy, averaged over seats."""
    return find_best_response(policy).value.mean.mean_return - compute_value(policy, policy).mean.mean_return


class _PolicyPlayer:
    """A player that only reports a policy's probabilities."""

    name, reader = "trained", get_reader("move")
    style: Style = "compact"

    def __init__(self, policy: MovePolicy) -> None:
        self._policy = policy

    def act(self, asks: Sequence[Ask]) -> Sequence[Reply]:
        raise NotImplementedError("A trained policy gives probabilities and plays no match.")

    def distributions(self, asks: Sequence[Ask]) -> Sequence[MoveDistribution]:
        """Return the policy's distribution for each ask."""
        return [self._distribution(ask) for ask in asks]

    def _distribution(self, ask: Ask) -> MoveDistribution:
        moves = ask.legal_moves
        assert moves is not None
        odds = [float(p) for p in self._policy(ask)]
        total = sum(odds)
        if len(odds) != len(moves) or not all(p >= 0.0 for p in odds) or not total <= 1.0 + SUM_TOLERANCE:
            raise CheckFailed(
                f"The policy gives {odds} for the moves {moves}.",
                fix="return one probability for each of ask.legal_moves. They add up to 1, or to less if replies may "
                "be illegal.",
            )
        shares = tuple(p / total for p in odds) if total else (0.0,) * len(odds)
        return MoveDistribution(tuple(moves), shares, min(1.0, total), samples=None)
