"""Training of stable-baselines3's PPO or sb3-contrib's MaskablePPO, unmodified, on a game's tensor."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

from gymposium.envs.gym import TextGameEnv
from gymposium.envs.options import check_seat
from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import plan_jobs
from gymposium.players.grammar import make_player, reject_person
from gymposium.players.protocol import Player
from gymposium.plugins.command_line import format_command_line
from gymposium.records.scores import Score
from gymposium.util.visible import quantity
from gymposium_sb3.player import limit_threads
from gymposium_sb3.policy_file import write_note

Algorithm = Literal["maskable-ppo", "ppo"]

DECISIONS = 100_000
"""Default maximum number of the learner's decisions without a budget."""
ROLLOUT = 2048
"""Number of decisions between two updates; stable-baselines3's default."""
MOST = 10**9
"""Maximum number of the learner's decisions within a budget."""
BATCH = 64
"""Number of decisions in a minibatch; stable-baselines3's default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a training run. All other settings are stable-baselines3's defaults."""

    game: str
    opponent: str = "random"
    """The player in all other seats."""
    seat: int | Literal["random"] = "random"
    """The learner's seat, or `random` for a different one in each match."""
    algorithm: Algorithm = "maskable-ppo"
    decisions: int | None = None
    """Maximum number of the learner's decisions, by default `DECISIONS`. Only complete rollouts are played."""
    budget: float | None = None
    """CPU seconds before the last rollout begins, instead of `decisions`."""
    seed: int = 0
    on_illegal: str = "forfeit"
    """Failure policy for illegal moves, which MaskablePPO never makes."""

    @property
    def rollout(self) -> int:
        """Decisions in a rollout: `ROLLOUT`, or fewer if `decisions` is less."""
        return min(ROLLOUT, (self.decisions or DECISIONS) // BATCH * BATCH)

    def check(self) -> Game:
        """Check the settings and return the game. Raises `GymposiumError` for invalid settings."""
        game = load_game(self.game)
        if not game.num_actions:
            raise BadOption(
                f"{game.name} takes free text, but PPO chooses among listed moves. Train a language model on it:  "
                + format_command_line("train", "--game", game.name)
            )
        if game.tensor_shape is None:
            raise BadOption(
                f"{game.name} has no tensor observation, but PPO needs one. Choose another game, such as tic_tac_toe."
            )
        check_seat(self.seat, game.seats)
        FailurePolicy.parse(self.on_illegal)
        if self.budget is not None and self.decisions is not None:
            raise BadOption("--decisions conflicts with --budget. Give one of them.")
        if self.budget is not None and not self.budget > 0:
            raise BadOption(f"--budget {self.budget:g}: must be more than 0 CPU seconds.")
        if self.decisions is not None and self.decisions < BATCH:
            raise BadOption(f"--decisions {self.decisions}: must be at least {BATCH}, one minibatch.")
        if game.seats > 1:
            reject_person("--opponent", [self.opponent], game.name)
            make_player(self.opponent)
        return game


class _Progress(BaseCallback):
    """A callback that reports progress every `EVERY` decisions, and ends training after the last update within the
    budget."""

    EVERY = 256

    def __init__(self, each: Callable[[int, float], object], budget: float | None) -> None:
        super().__init__()
        self._each, self._budget = each, budget
        self._began = time.process_time()
        self._over = False

    def _on_rollout_start(self) -> None:
        used = time.process_time() - self._began
        self._over = self._budget is not None and used >= self._budget and self.num_timesteps > 0

    def _on_step(self) -> bool:
        if self._over:
            return False
        if self.n_calls % self.EVERY == 0:
            recent = [float(match["r"]) for match in self.model.ep_info_buffer or ()]
            self._each(self.num_timesteps, float(np.mean(recent)) if recent else float("nan"))
        return True


def train_policy(
    settings: Settings, out: Path, each: Callable[[int, float], object] = lambda decisions, mean: None
) -> int:
    """Train a policy and save it to `out`, in stable-baselines3's format with a note of the game.

    `each` is called every 256 decisions with the decisions so far and the mean return of the last hundred matches.
    Returns the number of decisions. After Ctrl-C, saves the policy and raises `KeyboardInterrupt` again."""
    game = settings.check()
    env = TextGameEnv(
        game,
        opponent=settings.opponent,
        seat=settings.seat,
        on_illegal=settings.on_illegal,
        prompt="compact",
        observation="tensor",
    )
    kind = MaskablePPO if settings.algorithm == "maskable-ppo" else PPO
    # a small network is fastest on the CPU, on a single thread
    model = kind("MlpPolicy", env, n_steps=settings.rollout, batch_size=BATCH, seed=settings.seed, device="cpu")
    with limit_threads():
        try:
            decisions = MOST if settings.budget is not None else settings.decisions or DECISIONS
            model.learn(decisions // settings.rollout * settings.rollout, callback=_Progress(each, settings.budget))
        finally:
            if model.num_timesteps:
                save_policy(model, out, game, settings)
    return model.num_timesteps


def save_policy(model: PPO | MaskablePPO, out: Path, game: Game, settings: Settings) -> None:
    """Save the policy with its note, atomically."""
    facts = {**asdict(settings), "decisions": model.num_timesteps}
    del facts["game"]
    versions = {
        name: version(name) for name in ("gymposium", "gymposium-sb3", "stable-baselines3", "sb3-contrib", "torch")
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as staging:
        written = Path(staging) / out.name
        model.save(written)
        write_note(written, game, **facts, versions=versions)
        written.replace(out)


def evaluate_player(
    player: Player, opponent: str, game: Game, settings: Settings, matches: int, each: Callable[[], object]
) -> Score:
    """Return the score of `player` against `opponent` in the seats that `player` was trained for, with equal numbers of
    matches on the same deals. `each` is called after each match. Raises `BadOption` if the seats cannot share the
    matches
    evenly."""
    seat = check_seat(settings.seat, game.seats)
    if seat is None and matches % game.seats:
        raise BadOption(
            f"{quantity(matches, 'match')} cannot be shared evenly by {game.seats} seats. Use a multiple of "
            f"{game.seats}."
        )
    other = make_player(opponent) if game.seats > 1 else player
    players = [player if index == (seat or 0) else other for index in range(game.seats)]
    score = Score()
    jobs = plan_jobs(
        game,
        players,
        matches,
        seed=settings.seed,
        swap=seat is None,
        tag="sb3-eval",
        on_illegal=FailurePolicy.parse(settings.on_illegal),
    )
    seat_by_match: dict[str, int] = {}

    def track_seats() -> Iterator[MatchJob]:
        for job, order in jobs:
            seat_by_match[job.id] = order.index(seat or 0)
            yield job

    for played in play(track_seats()):
        score.add(played, seat_by_match.pop(played.job.id))
        each()
    return score
