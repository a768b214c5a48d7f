"""A run from nothing to its report: model, cold start, reinforcement learning beside its control, measures.

Every stage leaves its result in the run directory and is passed over when it stands there already, so
`--resume` is the same function called again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers.utils import logging as transformers_logging

from gymposium.driver import Played
from gymposium.exact import TooLarge, optima_against_random
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.reading import Reader, reader
from gymposium.records import RecordWriter
from gymposium.streams import stream
from gymposium_agents.evaluate import check_share, evaluate
from gymposium_agents.loading import LoadedModel, check_model, load_model
from gymposium_agents.lora import attach_lora
from gymposium_agents.player import LanguageModelPlayer
from gymposium_agents.small import make_small_model
from gymposium_agents.tokens import Sampling
from gymposium_train.checkpoints import MARK, broken_checkpoints, complete_checkpoints, load_checkpoint, save_checkpoint
from gymposium_train.cold_start import imitate, random_games, tokenized, winners_moves
from gymposium_train.config import TrainConfig
from gymposium_train.control import Control
from gymposium_train.directory import RunDirectory
from gymposium_train.learner import Learner
from gymposium_train.loop import Trainee, train_step
from gymposium_train.progress import Interruption, Stage, console, interruption, stage
from gymposium_train.report import write_report

TOKENIZER_TEXTS = 10_000
"""Prompts and replies that a small model's tokenizer is trained on."""


class Run:
    """One training run under way."""

    def __init__(self, directory: RunDirectory, config: TrainConfig) -> None:
        self.directory = directory
        self.config = config
        self.game: Game = load_game(config.game)
        self.reader: Reader = reader(config.reply)
        self.opponent: Player = make_player(config.opponent)
        self.on_illegal = FailurePolicy.parse(config.on_illegal)
        self._pairs: list[tuple[str, str]] | None = None

    def execute(self) -> None:
        """All stages, in order. `KeyboardInterrupt` leaves a run that can be resumed."""
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        if self.config.control:
            torch.set_num_threads(1)  # one core for the learner, one for the control
        with interruption() as interrupted:
            self._make_base()
            self._cold_start(interrupted)
            self._reinforce(interrupted)
        self._measure_the_rest()
        write_report(self.directory, self.config)

    # -- the model

    def _make_base(self) -> None:
        if self.config.model is not None or (self.directory.base / MARK).is_file():
            return
        console.print("Making a small model")
        prompts, replies = zip(*self._winning_texts()[:TOKENIZER_TEXTS], strict=True)
        make_small_model(self.directory.base, [*prompts, *replies], seed=self.config.seed, size=self.config.small)
        (self.directory.base / MARK).touch()

    def _winning_texts(self) -> list[tuple[str, str]]:
        """The cold start's data: prompts and replies of the winners of random matches."""
        if self._pairs is None:
            settings = self.config.cold_start
            with stage("Random matches", settings.games, lines=2) as bar, self._recorder("cold_start") as record:

                def each(played: Played) -> None:
                    record(played)
                    bar.advance()

                finished = random_games(
                    self.game,
                    self.config.prompt,
                    self.reader,
                    matches=settings.games,
                    seed=self.config.seed,
                    tag="cold-start",
                    each=each,
                )
            self._pairs = winners_moves(finished)
        return self._pairs

    def _cold_start(self, interrupted: Interruption) -> None:
        if (self.directory.cold_start / MARK).is_file():
            return
        loaded = load_model(self.config.model or self.directory.base)
        settings, started = self.config.cold_start, time.process_time()
        if settings.steps:
            learner = Learner(loaded.model.train(), loaded.pad, token_budget=self.config.token_budget)
            pairs = tokenized(self._winning_texts(), loaded.chat)
            steps = imitate(
                learner, pairs, settings, seed=self.config.seed, progress=lambda step: step / settings.steps
            )
            with stage("Cold start (SFT)", settings.steps, lines=6) as bar:
                for metrics in steps:
                    self.directory.log({"stage": "cold start", **metrics})
                    bar.advance(f"loss {metrics['loss']:.3f}")
                    _stop_if(interrupted)
        loaded.save(self.directory.cold_start)
        (self.directory.cold_start / MARK).touch()
        self.directory.add_results(cold_start_cpu_seconds=time.process_time() - started)

    # -- reinforcement learning

    def _reinforce(self, interrupted: Interruption) -> None:
        results = self.directory.results()
        if "grpo" in results.get("evaluations", {}):
            return
        trainee, loaded = self._trainee()
        step, cpu = self._restore(trainee)
        if step == 0:
            self._measure("cold start", self._greedy(loaded, "cold_start"))
        control = Control(self.directory) if self.config.control else None
        try:
            self._steps(trainee, loaded, step, cpu, interrupted, control)
            loaded.model.save_pretrained(self.directory.adapter)
            self._measure("grpo", self._greedy(loaded, f"cold_start@{self.directory.adapter.name}"))
            if control is not None:
                console.print("Waiting for the control to spend its CPU time")
                self.directory.add_results(control_cpu_seconds=control.wait())
        finally:
            if control is not None:
                control.stop()

    def _trainee(self) -> tuple[Trainee, LoadedModel]:
        base = load_model(self.directory.cold_start)
        model = attach_lora(
            base.model,
            rank=self.config.lora.rank,
            alpha=self.config.lora.alpha,
            seed=stream(self.config.seed, "lora").getrandbits(48),
        )
        loaded = LoadedModel(model, base.chat)
        engine = loaded.engine()
        player = self._player(loaded, engine, "cold_start@learner", self.config.grpo.temperature)
        learner = Learner(
            model,
            loaded.pad,
            token_budget=self.config.token_budget,
            max_grad_norm=self.config.grpo.max_grad_norm,
        )
        return Trainee(player, engine, learner), loaded

    def _restore(self, trainee: Trainee) -> tuple[int, float]:
        """Steps done and CPU seconds spent on them, from the newest complete checkpoint."""
        for broken in broken_checkpoints(self.directory.checkpoints):
            console.print(f"[yellow]passed over, not complete: {broken}[/yellow]")
        complete = complete_checkpoints(self.directory.checkpoints)
        if not complete:
            return 0, 0.0
        state = load_checkpoint(complete[-1], trainee.learner)
        trainee.engine.policy_version = trainee.learner.policy_version
        console.print(f"Resuming behind step {state['step']} ({complete[-1]})")
        return int(state["step"]), float(state["cpu_seconds"])

    def _steps(
        self,
        trainee: Trainee,
        loaded: LoadedModel,
        first: int,
        cpu: float,
        interrupted: Interruption,
        control: Control | None,
    ) -> None:
        config, steps = self.config, self.config.grpo.steps
        with stage("GRPO", steps, lines=20) as bar, self._recorder("train") as record:
            bar.advance(steps=first)
            for step in range(first, steps):
                metrics = train_step(step, config, self.game, trainee, self.opponent, record)
                cpu += metrics["cpu_rollout"] + metrics["cpu_update"]
                self.directory.log(metrics)
                done = step + 1
                bar.advance(_note(metrics))
                if control is not None:
                    control.tell(cpu, cpu * steps / done, final=done == steps)
                if config.evaluation.curve_every and done % config.evaluation.curve_every == 0 and done < steps:
                    self._curve_point(done, cpu, loaded)
                if done % config.checkpoint_every == 0 or done == steps or interrupted.pressed:
                    save_checkpoint(self.directory.checkpoints, trainee.learner, {"step": done, "cpu_seconds": cpu})
                _stop_if(interrupted)
        self.directory.add_results(grpo_cpu_seconds=cpu)

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

    def _greedy(self, loaded: LoadedModel, what: str) -> LanguageModelPlayer:
        return self._player(loaded, loaded.engine(), what, 0.0)

    def _opponents(self) -> Sequence[str]:
        return self.config.evaluation.opponents if self.game.seats > 1 else ("alone",)

    def _measure(self, what: str, player: Player) -> None:
        """Evaluate a player and note its scores under `what`."""
        settings = self.config.evaluation
        found: dict[str, Any] = {}
        for name in self._opponents():
            matches = settings.matches if name in ("random", "alone") else settings.search_matches
            with stage(f"{what} against {name}", matches) as bar:
                found[name] = self._play(what, player, name, matches, bar)
        evaluations = self.directory.results().get("evaluations", {})
        self.directory.add_results(evaluations={**evaluations, what: found})

    def _play(self, what: str, player: Player, opponent: str, matches: int, bar: Stage) -> dict[str, Any]:
        with self._recorder("eval") as record:

            def each(played: Played) -> None:
                record(played)
                bar.advance()

            tag = f"{what}-{opponent}".replace(" ", "-")
            return self._evaluate(player, opponent, matches, tag, each)

    def _evaluate(
        self, player: Player, opponent: str, matches: int, tag: str, each: Callable[[Played], object]
    ) -> dict[str, Any]:
        """One evaluation. All of a run's players meet the same deals and the same opponents' streams."""
        score = evaluate(
            player,
            make_player(opponent) if opponent != "alone" else None,
            self.game,
            matches=matches,
            seed=stream(self.config.seed, "eval").getrandbits(48),
            tag=tag,
            on_illegal=self.on_illegal,
            each=each,
        )
        return score.as_dict()

    def _curve_point(self, step: int, cpu: float, loaded: LoadedModel) -> None:
        """A short greedy evaluation during training, against the first opponent of the panel."""
        name, matches = self._opponents()[0], self.config.evaluation.curve_matches
        player = self._greedy(loaded, "cold_start@learner")
        with self._recorder("eval") as record:
            score = self._evaluate(player, name, matches, f"curve-{step}", record)
        self.directory.log({"stage": "curve", "step": step, "cpu_seconds": cpu, **score})

    def _measure_the_rest(self) -> None:
        """The control and the anchors, each once."""
        evaluations = self.directory.results()["evaluations"]
        if self.config.control and "control" not in evaluations:
            loaded = load_model(self.directory.control)
            self._measure("control", self._greedy(loaded, "control"))
        for name in ("random", *(o for o in self.config.evaluation.opponents if o != "random")):
            if f"anchor {name}" not in evaluations and (self.game.seats > 1 or name == "random"):
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

    def _recorder(self, name: str) -> _Recorder:
        return _Recorder(self.directory, name)


class _Recorder:
    """Appends matches to one of the run's files, passing over those that an interrupted run recorded."""

    def __init__(self, directory: RunDirectory, name: str) -> None:
        self._known = directory.recorded(name)
        self._writer = RecordWriter(directory.matches(name))

    def __enter__(self) -> Callable[[Played], object]:
        return self._write

    def __exit__(self, *ignored: object) -> None:
        self._writer.close()

    def _write(self, played: Played) -> None:
        if played.job.id not in self._known:
            self._writer.write(played)


def _stop_if(interrupted: Interruption) -> None:
    if interrupted.pressed:
        raise KeyboardInterrupt


def _note(metrics: dict[str, Any]) -> str:
    reward = metrics["reward"]
    parts = [f"reward {reward:+.2f}" if reward is not None else "no reward", f"win {metrics['win']:.2f}"]
    if "entropy" in metrics:
        parts.append(f"entropy {metrics['entropy']:.2f}")
    return "  ".join(parts)


def check(config: TrainConfig) -> None:
    """Raises a `GymposiumError` for whatever would stop the run later: unknown names, a missing model,
    matches that the seats cannot share."""
    game = load_game(config.game)
    reader(config.reply)
    FailurePolicy.parse(config.on_illegal)
    measures = config.evaluation
    for matches in (measures.matches, measures.search_matches, measures.curve_matches):
        check_share(matches, game)
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
