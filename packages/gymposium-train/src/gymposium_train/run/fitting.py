"""Settings that the config leaves out, derived from random matches of the run's games."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import pstdev

from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import check_player, make_player
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer
from gymposium.players.teaching import lists_moves
from gymposium.replies.reading import Reader
from gymposium.tasks.tools import format_calls
from gymposium_agents.chat.settings import TOOLS, PlayerSettings, find_reply_form
from gymposium_train.config import TrainConfig
from gymposium_train.config.play import SHORT
from gymposium_train.config.small_model import resolve_small_model
from gymposium_train.credit.protocol import Critic
from gymposium_train.run.lessons import read_files
from gymposium_train.run.passes import choose_parallel, choose_passes
from gymposium_train.run.teachers import resolve_teacher
from gymposium_train.util.settings import Settings

MATCHES = 32
"""Number of random matches of each game."""
PENALTY = 0.5
"""Cost of a failed reply, relative to the standard deviation of the returns."""
TRIES = 3
"""Number of failed replies per seat and match that cost `PENALTY`. The next one forfeits the match."""
LIMIT_FACTOR = 1.5
"""Factor applied to the longest reply in these matches or in files, because other replies may be longer."""


@dataclass(frozen=True, slots=True)
class GameStatistics:
    """Statistics of random matches of a game."""

    longest: int
    """Length in bytes of the longest reply that names a legal move or calls a tool."""
    spread: float
    """Standard deviation of the returns."""


class _MeasuringPlayer(RandomPlayer):
    """A uniform random player that records the length of its longest reply."""

    def __init__(self, form: Reader) -> None:
        self._form = form
        self.longest = 0

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies = super().act(asks)
        for ask, reply in zip(asks, replies, strict=True):
            moves = [reply.text] if ask.legal_moves is None else ask.legal_moves
            self.longest = max(self.longest, *(len(self._form.answer(move).encode()) for move in moves))
        return replies


def fit_config(config: TrainConfig) -> TrainConfig:
    """Fill in omitted settings that follow from the config's games and model. These are `prompting.max_tokens`,
    `prompting.on_illegal`, `cold_start.keep` and `credit.critic.scale`. A model made by the run also gets
    `model.small.prose` and, with tools, `prompting.context`. Free-text games without tools determine only
    `model.small.prose`, because random players cannot play them. `optimizer.layout`, `optimizer.checkpointing` and
    `optimizer.token_budget` follow from the model and the memory, and with several processes also
    `optimizer.parallel`. `teacher=auto` becomes the name of a player, and `distillation.weight` 0 if a game does not
    list its moves."""
    return choose_passes(choose_parallel(_fit_to_games(resolve_small_model(resolve_teacher(config).config))))


def _fit_to_games(config: TrainConfig) -> TrainConfig:
    config = _raise_reply_limit(config)
    all_games = [load_game(name) for name in config.games]
    unlisted = [game for game in all_games if config.teaches_moves and not lists_moves(game)]
    if unlisted:  # its replies are texts, which cannot be compared with what the policy samples
        distillation = config.distillation.model_copy(update={"weight": 0.0})
        config = config.model_copy(update={"distillation": distillation})
    games = [game for game in all_games if game.spec.plays_at_random]
    prompting, critic = config.prompting, getattr(config.credit, "critic", None)
    left_out = [name for name in ("max_tokens", "on_illegal") if getattr(prompting, name) is None]
    if not (isinstance(critic, Critic) and critic.scale is None and config.reward == "returns"):
        critic = None  # no critic, or its scale is known
    cold = config.cold_start
    chooses = cold.keep is None and cold.steps > 0 and not cold.data and not config.teaches_moves
    if not games or not (left_out or critic or chooses):
        return config
    seen = [measure_game(game, find_reply_form(prompting.reply)) for game in games]
    spread = max(one.spread for one in seen) or 1.0
    longest = _measure_longest_reply(config) if cold.data and cold.steps > 0 else max(one.longest for one in seen)
    if unlisted and not check_player(config.teacher)[0].opens:
        form = find_reply_form(prompting.reply)
        longest = max(longest, *(_measure_longest_move(game, config.teacher, form) for game in unlisted))
    # each token of a new model has at least one byte, so a move never has more tokens than bytes
    limit = max(SHORT, math.ceil(LIMIT_FACTOR * longest) + 1)
    values = {
        "max_tokens": limit,
        "on_illegal": str(FailurePolicy("penalty", TRIES, round_to_two_digits(PENALTY * spread))),
    }
    changed: dict[str, Settings] = {
        "prompting": prompting.model_copy(update={name: values[name] for name in left_out}),
    }
    if chooses:
        uncertain = any(game.spec.information == "imperfect" or game.spec.chance for game in games)
        changed["cold_start"] = cold.model_copy(update={"keep": "all" if uncertain else "winners"})
    if critic is not None:
        scaled = critic.model_copy(update={"scale": round_to_two_digits(spread)})
        changed["credit"] = config.credit.model_copy(update={"critic": scaled})
    return config.model_copy(update=changed)


def _raise_reply_limit(config: TrainConfig) -> TrainConfig:
    """Raise the reply limit of a named model whose replies may contain more than a move, unless the limit is given."""
    prompting = config.prompting
    bare = prompting.reply in ("move", TOOLS) and not prompting.thinking and config.games
    if config.model.name is None or prompting.max_tokens is not None or bare:
        return config
    roomy = prompting.model_copy(update={"max_tokens": PlayerSettings().max_tokens})
    return config.model_copy(update={"prompting": roomy})


def _measure_longest_reply(config: TrainConfig) -> int:
    """Return the length in bytes of the longest reply in the files that the cold start imitates."""
    return max(
        len((lesson.reply + (format_calls(lesson.calls) if lesson.calls else "")).encode())
        for lesson in read_files(config)
    )


def _measure_longest_move(game: Game, player: str, form: Reader) -> int:
    """Return the length in bytes of a player's longest reply in this form, in some matches against itself."""
    jobs = (MatchJob(f"fit-{n}", game, [make_player(player)] * game.seats, n, player_seed=n) for n in range(MATCHES))
    moves = (event.move for played in play(jobs) for event in played.events if event.seat >= 0)
    return max((len(form.answer(move).encode()) for move in moves), default=0)


def round_to_two_digits(value: float) -> float:
    """Round the value to two significant digits."""
    return float(f"{value:.2g}")


def measure_game(game: Game, form: Reader) -> GameStatistics:
    """Play random matches of a game, with replies in this form, and return their statistics."""
    player = _MeasuringPlayer(form)
    jobs = (MatchJob(f"fit-{n}", game, [player] * game.seats, n, player_seed=n) for n in range(MATCHES))
    returns = [value for played in play(jobs) for value in played.returns]
    return GameStatistics(player.longest, pstdev(returns) if returns else 0.0)  # tools may fail in every match
