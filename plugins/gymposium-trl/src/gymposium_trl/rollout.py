"""Matches as the rollouts of TRL's `GRPOTrainer`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from datasets import Dataset  # type: ignore[import-untyped]

from gymposium.errors import UnratedGroup
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_opponents
from gymposium.players.protocol import Player
from gymposium.records import RecordWriter, record_matches
from gymposium.records.trajectories import Trajectory
from gymposium.rewards.grammar import make_reward
from gymposium.rewards.protocol import Reward
from gymposium.tasks.tools import list_tools
from gymposium.util.streams import derive_seed
from gymposium.util.writable import check_writable
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.settings import TOOLS, PlayerSettings
from gymposium_agents.chat.tokens import History
from gymposium_agents.players.player import make_engine_player
from gymposium_trl.engine import TrainerEngine
from gymposium_trl.fields import build_fields, compute_metrics, find_groups, make_trajectory
from gymposium_trl.prompts import MatchPrompt, list_matches
from gymposium_trl.refusals import check_context, check_template, check_trainer, get_tokenizer


class Rollout:
    """The `rollout_func` of a `GRPOTrainer` that plays matches of one game, with their dataset and their reward::

        rollout = Rollout("goofspiel(num_cards=4)", opponents="mcts-100", reply="move", max_tokens=16)
        trainer = GRPOTrainer(
            model=model, processing_class=tokenizer, args=GRPOConfig(...), train_dataset=rollout.dataset(256, seed=1),
            rollout_func=rollout, reward_funcs=rollout.reward,
        )

    A dataset row is a match: the seed of its deal and the model's seat. GRPO's copies of a row share the deal, but not
    their random streams. The matches of a generation batch are played together, with shared forward passes.

    Each match becomes one token row, the growing conversation of its seat, and only sampled tokens count in the loss.
    The temperature comes from `GRPOConfig`. Equal seeds and weights give equal matches, without global generators.
    """

    def __init__(
        self,
        game: str | Game,
        *,
        opponents: str | Player | Sequence[str | Player] = "random",
        prompt: Style = "full",
        reply: str | None = None,
        max_tokens: int = 512,
        context: str = "full",
        thinking: bool = False,
        history: History = "template",
        on_illegal: str | FailurePolicy = "forfeit",
        reward: str = "returns",
        records: str | Path | None = None,
    ) -> None:
        """`game` is a name or a `Game`. `opponents` are players or their names: one for all other seats, or one per
        seat in order.

        `prompt` (`full`, `compact`), `reply` (`move`, `tags`, `json`, `tools`), `max_tokens`, `context`, `thinking` and
        `history` are as in `gymposium_agents.chat.settings.PlayerSettings`. By default, `reply` is `tools` in a game
        with tools and `move` in others. `on_illegal` is the policy for failed replies, and `reward` the name of a
        reward (`gymposium.make_reward`). Match records are appended to the JSONL file `records`.

        Raises `BadOption` and `UnknownName` for invalid arguments, and for a context that needs several rows per
        match."""
        self.game = load_game(game) if isinstance(game, str) else game
        self.on_illegal = on_illegal if isinstance(on_illegal, FailurePolicy) else FailurePolicy.parse(on_illegal)
        how = reply or (TOOLS if list_tools(self.game) else "move")
        self.settings = PlayerSettings(prompt, how, max_tokens, context, thinking=thinking, history=history)
        check_context(self.game, self.settings, self.on_illegal)
        self.records = None if records is None else check_writable("records", Path(records))
        self._opponents = make_opponents(opponents, self.game.seats - 1)
        self._reward = make_reward(reward)
        self._chat: Chat | None = None
        self._last = ("", 0)
        self._calls = 0
        """Number of earlier calls in the same mode and step."""

    def dataset(self, size: int, *, seed: int, seats: int | Iterable[int] | None = None) -> Dataset:
        """Return a dataset of `size` matches, each with a deal derived from `seed`. The model takes the `seats` (all by
        default) in turn. The columns are `prompt`, which names the match, `seat` and `seed`.

        Raises `BadOption` for a size below 1, and for invalid seats."""
        rows = list_matches(self.game, size, seed, seats)
        columns = {"prompt": [*map(str, rows)], "seat": [row.seat for row in rows], "seed": [row.seed for row in rows]}
        return Dataset.from_dict(columns)

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        """Play the matches named by these prompts. `trainer`, a `GRPOTrainer`, calls this and provides the model.
        Returns TRL's fields (`gymposium_trl.fields.build_fields`). Matches excluded from training are masked, and their
        reward is None. Raises `BadOption` for an unsupported trainer, chat template or prompt, `EngineError` if a
        game's engine fails, and the errors of opponents."""
        chat = self._make_chat(trainer)
        check_trainer(trainer, chat, len(prompts))
        matches = [MatchPrompt.from_text(prompt, self.game) for prompt in prompts]
        step = trainer.state.global_step
        settings = replace(self.settings, temperature=float(trainer.args.temperature))
        player = make_engine_player(f"trl:step-{step}", TrainerEngine(trainer, chat), chat, settings)
        call = self._next_call("train" if trainer.model.training else "eval", step)
        names = [f"{call}-{trainer.accelerator.process_index}-{number}" for number in range(len(matches))]
        jobs = [
            self._make_job(match, player, name, derive_seed(trainer.args.seed, name))
            for match, name in zip(matches, names, strict=True)
        ]
        played = {one.job.id: one for one in self._play(jobs)}
        return build_fields(
            [make_trajectory(played[job.id], match.seat) for job, match in zip(jobs, matches, strict=True)], chat.end
        )

    def reward(
        self,
        prompts: Sequence[str],
        trajectory: Sequence[Trajectory | None],
        log_metric: Callable[[str, float], None],
        **fields: object,
    ) -> list[float | None]:
        """Return the rewards of matches, for `reward_funcs`; None for matches excluded from training. Logs reward parts
        and match metrics.

        Raises `BadReward` like `gymposium.make_reward`. An unrated group (`UnratedGroup`) gets a warning and no
        rewards."""
        groups = find_groups(prompts, trajectory)
        rewards: list[Reward | None] = [None] * len(prompts)
        learned = [[one for place in group if (one := trajectory[place]) is not None] for group in groups]
        for group, rated in zip(groups, self._reward.rate(learned), strict=True):
            if isinstance(rated, UnratedGroup):
                warnings.warn(f"A group could not be rated. {rated}", stacklevel=2)
                continue
            for place, reward in zip(group, rated, strict=True):
                rewards[place] = reward
        for name, value in compute_metrics(trajectory).items():
            log_metric(name, value)
        given = [reward for reward in rewards if reward is not None]
        for part in given[0].parts if given else ():
            log_metric(f"reward/{part}", fmean(reward.parts[part] for reward in given))
        return [None if reward is None else reward.total for reward in rewards]

    def _make_chat(self, trainer: Any) -> Chat:
        """Return the trainer's chat format. Raises `BadOption` for an unsupported chat template."""
        tokenizer = get_tokenizer(trainer)
        if self._chat is None or self._chat.tokenizer is not tokenizer:
            chat = Chat(tokenizer, thinking=self.settings.thinking, history=self.settings.history)
            check_template(self.game, self.settings, self.on_illegal, chat)
            self._chat = chat
        return self._chat

    def _next_call(self, mode: str, step: int) -> str:
        """Return a name for this call that is the same after a resume. TRL may generate several times per step."""
        self._calls = self._calls + 1 if self._last == (mode, step) else 0
        self._last = mode, step
        return f"{mode}-{step}-{self._calls}"

    def _make_job(self, match: MatchPrompt, player: Player, name: str, player_seed: int) -> MatchJob:
        others = iter(self._opponents)
        return MatchJob(
            id=name,
            game=self.game,
            players=[player if seat == match.seat else next(others) for seat in range(self.game.seats)],
            seed=match.seed,
            player_seed=player_seed,
            on_illegal=self.on_illegal,
            store_returns=True,
        )

    def _play(self, jobs: Sequence[MatchJob]) -> list[MatchResult]:
        """Play the matches together, and record finished ones even if an error interrupts the rest."""
        ended: list[MatchResult] = []
        try:
            return [*record_matches(play(jobs, at_once=len(jobs)), ended.append)]
        finally:
            if self.records is not None and ended:
                with RecordWriter(self.records, wait=True) as writer:  # another process of the training may write
                    for played in ended:
                        writer.write(played)
