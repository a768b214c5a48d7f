"""A run from nothing to its report: model, cold start, reinforcement learning, its control, measures.

Every stage leaves its result in the run directory and is passed over when that stands there already, so
`--resume` is the same function called again. (A cold start or control that was interrupted begins anew.)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers.utils import logging as transformers_logging

from gymposium.driver import Played
from gymposium.errors import BadOption, GymposiumError
from gymposium.exact import TooLarge, optima_against_random
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.reading import Reader, reader
from gymposium.records import RecordWriter
from gymposium.rewards.grammar import make_reward
from gymposium.streams import stream
from gymposium_agents.durable import MARK, sweep, whole_directory
from gymposium_agents.evaluate import check_share, evaluate
from gymposium_agents.loading import LoadedModel, check_model, load_model
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.lora.saving import save_lora
from gymposium_agents.player import LanguageModelPlayer
from gymposium_agents.small import make_small_model
from gymposium_agents.tokens import Policy, Sampling
from gymposium_train.canary import opening_prompts
from gymposium_train.checkpoints import broken_checkpoints, complete_checkpoints, load_checkpoint, save_checkpoint
from gymposium_train.cold_start import batches, imitate, random_games, tokenized, winners_moves
from gymposium_train.config import TrainConfig
from gymposium_train.control import run_control
from gymposium_train.directory import RunDirectory
from gymposium_train.learner import Learner
from gymposium_train.loop import Trainee, train_step
from gymposium_train.progress import Interruption, Stage, interruption, say, stage
from gymposium_train.report import write_report

TOKENIZER_PAIRS = 10_000
"""Prompts and replies that a small model's tokenizer is trained on."""
MAX_TIED_STEPS = 10
"""So many steps in a row with nothing to learn from stop the run."""


class Run:
    """One training run under way."""

    def __init__(self, directory: RunDirectory, config: TrainConfig) -> None:
        self.directory = directory
        self.config = config
        self.game: Game = load_game(config.game)
        self.reader: Reader = reader(config.reply)
        self.opponent: Player = make_player(config.opponent)
        self.on_illegal = FailurePolicy.parse(config.on_illegal)
        self.reward = make_reward(config.reward)
        self._interrupted = Interruption()
        self._recorded: dict[str, set[str]] = {}
        """Ids in each record file when this process began."""

    def execute(self) -> None:
        """All stages, in order. `KeyboardInterrupt` leaves a run that can be resumed."""
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        if self.config.model is None:
            torch.set_num_threads(1)  # a second thread costs a small model more than it brings
        with interruption() as self._interrupted:
            self._cold_start()
            self._measure_model("cold start", self.directory.cold_start)
            self._reinforce()
            self._measure_model("grpo", self.directory.cold_start, self.directory.adapter)
            if self.config.control:
                self._control()
                self._measure_model("control", self.directory.control)
            self._measure_anchors()
        write_report(self.directory, self.config)

    # -- the model

    def _cold_start(self) -> None:
        """Make a model, or load the one that is named, and teach it to answer."""
        if (self.directory.cold_start / MARK).is_file():
            return
        settings, started = self.config.cold_start, time.process_time()
        pairs = self._winning_texts() if settings.steps or self.config.model is None else []
        if self.config.model is None:
            texts = [text for pair in pairs[:TOKENIZER_PAIRS] for text in pair]
            make_small_model(self.directory.base, texts, seed=self.config.seed, size=self.config.small)
        loaded = load_model(self.config.model or self.directory.base)
        if settings.steps:
            learner = Learner(loaded.model.train(), loaded.pad, token_budget=self.config.token_budget)
            drawn = batches(tokenized(pairs, loaded.chat), settings.batch, self.config.seed)
            with stage("Cold start (SFT)", settings.steps, lines=6) as bar:
                for metrics in imitate(learner, drawn, settings, progress=lambda step: step / settings.steps):
                    self.directory.log({"stage": "cold start", **metrics})
                    bar.advance(f"loss {metrics['loss']:.3f}")
                    self._interrupted.stop_here()
        loaded.save(self.directory.cold_start)
        self.config.save_player(self.directory.cold_start)
        (self.directory.cold_start / MARK).touch()
        self.directory.add_results(cold_start_cpu_seconds=time.process_time() - started)

    def _winning_texts(self) -> list[tuple[str, str]]:
        """The cold start's data: prompts and replies of the winners of random matches."""
        matches = self.config.cold_start.games
        with stage("Random matches", matches, lines=2) as bar, self._recorder("cold_start") as record:

            def each(played: Played) -> None:
                record(played)
                bar.advance()
                self._interrupted.stop_here()

            finished = random_games(
                self.game,
                self.config.prompt,
                self.reader,
                matches=matches,
                seed=self.config.seed,
                tag="cold-start",
                each=each,
            )
        return winners_moves(finished)

    # -- reinforcement learning

    def _reinforce(self) -> None:
        """Train the LoRA."""
        if (self.directory.adapter / MARK).is_file():
            return
        trainee, model = self._trainee()
        step, cpu = self._restore(trainee)
        cpu = self._steps(trainee, step, cpu)
        sweep(self.directory.path, self.directory.adapter.name)
        with whole_directory(self.directory.adapter) as staging:
            save_lora(model, staging)
            self.config.save_player(staging)
            self.directory.add_results(grpo_cpu_seconds=cpu)

    def _control(self) -> None:
        """Spend the CPU time of the reinforcement learning on more SFT."""
        if (self.directory.control / MARK).is_file():
            return
        loaded = load_model(self.directory.cold_start)
        budget, cpu = self.directory.results()["grpo_cpu_seconds"], 0.0
        name = "Control (more SFT), CPU seconds"
        with stage(name, round(budget), lines=6) as bar, self._recorder("control") as record:

            def each(played: Played) -> None:
                record(played)
                self._interrupted.stop_here()

            for metrics in run_control(loaded, self.config, budget, each):
                self.directory.log({"stage": "control", **metrics})
                bar.advance(f"loss {metrics['loss']:.3f}", round(metrics["cpu_seconds"]) - round(cpu))
                cpu = metrics["cpu_seconds"]
                self._interrupted.stop_here()
        loaded.save(self.directory.control)
        self.config.save_player(self.directory.control)
        self.directory.add_results(control_cpu_seconds=cpu)
        (self.directory.control / MARK).touch()

    def _trainee(self) -> tuple[Trainee, Any]:
        base = load_model(self.directory.cold_start)
        model = attach_lora(
            base.model,
            rank=self.config.lora.rank,
            alpha=self.config.lora.alpha,
            seed=stream(self.config.seed, "lora").getrandbits(48),
        )
        loaded = LoadedModel(model, base.chat)
        engine = loaded.engine(Policy("learner"))
        player = self._player(loaded, engine, "cold_start@learner", self.config.grpo.temperature)
        learner = Learner(
            model,
            loaded.pad,
            token_budget=self.config.token_budget,
            max_grad_norm=self.config.grpo.max_grad_norm,
        )
        greedy = self._player(loaded, engine, "cold_start@learner", 0.0)
        canary = opening_prompts(
            self.game, self.config.prompt, self.reader, loaded.chat, context=engine.context, seed=self.config.seed
        )
        return Trainee(player, greedy, engine, learner, canary), model

    def _restore(self, trainee: Trainee) -> tuple[int, float]:
        """Steps done and CPU seconds spent on them, from the newest complete checkpoint."""
        for broken in broken_checkpoints(self.directory.checkpoints):
            say(f"passed over, not complete: {broken}", style="yellow")
        complete = complete_checkpoints(self.directory.checkpoints)
        if not complete:
            return 0, 0.0
        state = load_checkpoint(complete[-1], trainee.learner)
        trainee.publish()
        say(f"Resuming behind step {state['step']} ({complete[-1]})")
        return int(state["step"]), float(state["cpu_seconds"])

    def _steps(self, trainee: Trainee, first: int, cpu: float) -> float:
        """The steps that are left; returns the CPU seconds of all."""
        config, steps = self.config, self.config.grpo.steps
        tied = 0
        with stage("GRPO", steps, lines=20) as bar, self._recorder("train") as record:
            bar.advance(steps=first)
            for step in range(first, steps):
                metrics = train_step(step, config, self.game, trainee, self.opponent, self.reward, record)
                cpu += metrics["cpu_rollout"] + metrics["cpu_update"]
                self.directory.log(metrics)
                done = step + 1
                bar.advance(_note(metrics))
                if config.evaluation.curve_every and done % config.evaluation.curve_every == 0 and done < steps:
                    self._curve_point(done, cpu, trainee.greedy)
                if done % config.checkpoint_every == 0 or done == steps or self._interrupted.pressed:
                    save_checkpoint(self.directory.checkpoints, trainee.learner, {"step": done, "cpu_seconds": cpu})
                self._interrupted.stop_here()
                tied = 0 if metrics["groups_kept"] else tied + 1
                if tied == MAX_TIED_STEPS:
                    raise GymposiumError(
                        f"In {tied} steps in a row every match of each group was paid alike, so there was nothing to "
                        f"learn from. Replies were read as {metrics['readings']}. Try a longer cold start, a weaker "
                        f"opponent, larger groups or, for replies that are cut off, more --max-tokens."
                    )
        return cpu

    # -- measures

    def _player(self, loaded: LoadedModel, engine: Any, what: str, temperature: float) -> LanguageModelPlayer:
        return LanguageModelPlayer(
            f"lm:{self.directory.path / what}",
            engine,
            loaded.chat,
            sampling=Sampling(temperature, self.config.max_tokens),
            style=self.config.prompt,
            reply=self.config.reply,
        )

    def _measure_model(self, what: str, model: Path, adapter: Path | None = None) -> None:
        """Evaluate a model from its files, as anybody would load it."""
        if what in self.directory.results().get("evaluations", {}):
            return
        loaded = load_model(model, adapter)
        name = model.name if adapter is None else f"{model.name}@{self.directory.path / adapter.name}"
        self._measure(what, self._player(loaded, loaded.engine(), name, 0.0))

    def _opponents(self) -> Sequence[str]:
        return self.config.evaluation.opponents if self.game.seats > 1 else ("alone",)

    def _measure(self, what: str, player: Player) -> None:
        """Evaluate a player and note its scores under `what`."""
        settings = self.config.evaluation
        found: dict[str, Any] = {}
        for name in self._opponents():
            matches = settings.matches if name in ("random", "alone") else settings.search_matches
            with stage(f"{what} against {name}", matches) as bar, self._recorder("eval") as record:

                def each(played: Played, record: Any = record, bar: Stage = bar) -> None:
                    record(played)
                    bar.advance()
                    self._interrupted.stop_here()

                found[name] = self._evaluate(player, name, matches, f"{what}-{name}".replace(" ", "-"), each)
        evaluations = self.directory.results().get("evaluations", {})
        self.directory.add_results(evaluations={**evaluations, what: found})

    def _evaluate(
        self, player: Player, opponent: str, matches: int, tag: str, each: Callable[[Played], object]
    ) -> dict[str, Any]:
        """One evaluation. All of a run's players meet the same deals and the same opponents' streams."""
        evaluation = evaluate(
            player,
            make_player(opponent) if opponent != "alone" else None,
            self.game,
            matches=matches,
            seed=stream(self.config.seed, "eval").getrandbits(48),
            tag=tag,
            on_illegal=self.on_illegal,
            each=each,
        )
        return evaluation.overall.as_dict()

    def _curve_point(self, step: int, cpu: float, player: Player) -> None:
        """A short greedy evaluation during training, against the first opponent of the panel."""
        name, matches = self._opponents()[0], self.config.evaluation.curve_matches
        with self._recorder("eval") as record:
            score = self._evaluate(player, name, matches, f"curve-{step}", record)
        self.directory.log({"stage": "curve", "step": step, "cpu_seconds": cpu, **score})

    def _measure_anchors(self) -> None:
        """Random play and the other opponents as players, and what could be reached at all."""
        for name in ("random", *(o for o in self.config.evaluation.opponents if o != "random")):
            known = f"anchor {name}" in self.directory.results()["evaluations"]
            if not known and (self.game.seats > 1 or name == "random"):
                self._measure(f"anchor {name}", make_player(name))
        if "optima" not in self.directory.results():
            try:
                optima = {
                    kind: {"win": o.win, "draw": o.draw, "loss": o.loss, "return": o.mean_return}
                    for kind, o in optima_against_random(self.game).items()
                }
            except TooLarge:
                optima = {}
            self.directory.add_results(optima=optima)

    @contextmanager
    def _recorder(self, name: str) -> Iterator[Callable[[Played], object]]:
        """Appends matches to one of the run's files, passing over those that an interrupted run recorded."""
        if name not in self._recorded:
            self._recorded[name] = self.directory.recorded(name)
        known = self._recorded[name]
        with RecordWriter(self.directory.matches(name)) as writer:

            def record(played: Played) -> None:
                if played.job.id not in known:
                    writer.write(played)

            yield record


def _note(metrics: dict[str, Any]) -> str:
    reward = metrics["reward"]
    parts = [f"reward {reward:+.2f}" if reward is not None else "no reward", f"win {metrics['win']:.2f}"]
    if "entropy" in metrics:
        parts.append(f"entropy {metrics['entropy']:.2f}")
    return "  ".join(parts)


def check(config: TrainConfig) -> None:
    """Raises a `GymposiumError` for whatever would stop the run later: unknown names, wrong weights, a missing model,
    matches that the seats cannot share."""
    game = load_game(config.game)
    reader(config.reply)
    make_reward(config.reward)
    if FailurePolicy.parse(config.on_illegal).kind not in ("forfeit", "penalty"):
        raise BadOption(
            f"on_illegal={config.on_illegal!r} cannot be trained with: a reply that was not played would share the "
            f"credit of the one that was. Use forfeit or penalty(x)."
        )
    measures = config.evaluation
    check_share(measures.matches, game)
    check_share(measures.search_matches, game)
    if measures.curve_every:
        check_share(measures.curve_matches, game)
    if game.seats > 1:
        for name in (config.opponent, *measures.opponents):
            make_player(name)
    if config.model is not None:
        check_model(config.model)


def start_run(path: Path, config: TrainConfig) -> RunDirectory:
    """Begin a run in a new directory and see it through."""
    check(config)
    directory = RunDirectory.create(path, config)
    Run(directory, config).execute()
    return directory


def resume_run(path: Path) -> RunDirectory:
    """Go on with a run that was interrupted."""
    directory, config = RunDirectory.open(path)
    Run(directory, config).execute()
    return directory
