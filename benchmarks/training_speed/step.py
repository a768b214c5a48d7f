"""A whole GRPO step of 64 games of tic-tac-toe with about a million parameters, against the floor and TRL.

The model has random weights and a token a character; a reply that is no move is replaced by a random one, so every game
has all of its turns, each of up to 4 tokens. All weights are learned, in one optimizer step. Two ways to ask: `state`,
each turn with its own prompt, and `full`, where the prompt grows over the match and its turns are learned from as
one row.

Ours is the whole step: games, opponents, prompts and tokenization, engine, reading, rewards, credit, update, and the
publish with its check. The floor is generation and update alone, as `bare` says. TRL's `GRPOTrainer` gets the tokens of
the same games through `rollout_func`: there transformers' `generate` is asked what our engine was asked, and then our
rows are handed over with their masks and rewards, so that games cost it nothing. It takes one row a sample, so it
stands beside `full` alone.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, TrainerCallback

from benchmarks.bare_torch import sample_transformers
from benchmarks.report import about, table
from benchmarks.training_speed import bare
from benchmarks.training_speed.agreement import differences
from benchmarks.training_speed.models import ONE_TRL_STEP, load_whole, make_model
from benchmarks.training_speed.scale import Scale, Times, must_agree, ratios, shown, spread
from benchmarks.training_speed.work import Ours, Step, count_matches, ours
from gymposium_agents.chat.tokens import Sampling
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.config import TrainConfig

TARGET = 1.25
SAMPLING = Sampling(1.0, 4)


def config_for(context: str, scale: Scale) -> TrainConfig:
    groups = 2 if scale.tiny else 8
    return TrainConfig.model_validate(
        {
            "games": ("tic_tac_toe",),
            "steps": 1000,
            # the policy's loss alone, as on the other sides: no critic, no reference, no bonus
            "credit": {"kind": "grpo"},
            "kl": {"weight": 0.0},
            "entropy": {"weight": 0.0},
            "legality": {"weight": 0.0},
            "model": {"tune": "full"},
            "prompting": {"context": context, "on_illegal": "random", **asdict(SAMPLING)},
            "rollout": {"groups": groups, "group_size": 8, "growth": 1.0},
            "optimizer": {"learning_rate": 1e-5, "warmup_steps": 1, "epochs": 1, "minibatches": 1},
        }
    )


def measure(scale: Scale) -> tuple[dict[str, Any], str]:
    contexts = {context: _context(context, scale) for context in ("state", "full")}
    versions = about("gymposium", "gymposium-agents", "gymposium-train", "torch", "transformers", "trl")
    data = {"about": versions, "target": TARGET, "contexts": contexts}
    return data, text(data)


def _context(context: str, scale: Scale) -> dict[str, Any]:
    config = config_for(context, scale)
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        make_model(directory, scale.size)
        loaded, floor = load_whole(directory), Floor(load_whole(directory), config)
        with ours(config, loaded, directory) as mine:
            trl = Trl(directory, config) if context == "full" and find_spec("trl") else None
            agreement = _first(mine, floor, trl)
            steps: list[Step] = []
            seconds: Times = {"ours": [], "bare": [], "bare generation": [], "bare update": []}
            for repeat in range(scale.repeats):
                step = mine.step(repeat + 1)
                steps.append(step)
                seconds["ours"].append(step.seconds)
                generation, update, _ = floor.step(step)
                seconds["bare generation"].append(generation)
                seconds["bare update"].append(update)
                seconds["bare"].append(generation + update)
                if trl is not None:
                    seconds.setdefault("trl", []).append(trl.step(step))
    return {
        "parameters": sum(p.numel() for p in loaded.model.parameters()),
        "tokens_in_vocabulary": len(loaded.chat.tokenizer),
        "agreement": agreement,
        "games": count_matches(config),
        "turns": [step.work.turns for step in steps],
        "rows": [len(step.work.rows) for step in steps],
        "tokens_in_rows": [sum(len(row.ids) for row in step.work.rows) for step in steps],
        "tokens_sampled": [step.work.sampled for step in steps],
        "cpu_seconds": {side: spread(spent) for side, spent in seconds.items()},
        "our_parts": {
            part: spread([getattr(step, part) for step in steps]) for part in ("play", "engine", "learn", "publish")
        },
        "ours_to_bare": ratios(seconds["ours"], seconds["bare"]),
        "trl_to_bare": ratios(seconds["trl"], seconds["bare"]) if "trl" in seconds else None,
    }


def _first(mine: Ours, floor: Floor, trl: Trl | None) -> dict[str, Any]:
    """Run the first step, which warms up all sides and checks that they agree.

    Floor and learner begin with the same weights. The log-probabilities are compared after both have taken the step.
    """
    step = mine.step(0)
    _, _, norm = floor.step(step)
    if trl is not None:
        trl.step(step)
    engine, pad = mine.training.trainee.engine, floor.loaded.pad
    sampled = [engine.generate(requests, SAMPLING) for requests in step.work.requests()]
    drawn = bare.generate(mine.learner.model, step.work, SAMPLING, pad=pad, stop=floor.loaded.chat.end)
    found = differences(mine.learner, step.work, pad, sampled, drawn)
    return must_agree(found, {"ours": step.metrics["train/grad_norm"], "bare": norm})


class Floor:
    """Bare side, with its own model and optimizer."""

    def __init__(self, loaded: LoadedModel, config: TrainConfig) -> None:
        self.loaded, self._config = loaded, config
        self._optimizer = torch.optim.AdamW(loaded.model.parameters(), lr=0.0, weight_decay=0.0)

    def step(self, step: Step) -> tuple[float, float, float]:
        """CPU seconds of generation and update on what our step was made of, and the gradient's norm."""
        model, pad = self.loaded.model, self.loaded.pad
        start = time.process_time()
        bare.generate(model, step.work, SAMPLING, pad=pad, stop=self.loaded.chat.end)
        sampled = time.process_time()
        config = self._config
        norm = bare.update(model, self._optimizer, step.work, config.optimizer, config.objective, pad=pad)
        return sampled - start, time.process_time() - sampled, norm


class Trl:
    """TRL's trainer, with its own model."""

    def __init__(self, directory: Path, config: TrainConfig) -> None:
        trl: Any = import_module("trl")
        data: Any = import_module("datasets")
        self._loaded, self._given = load_whole(directory), list[Any]()
        seconds = self._seconds = list[float]()
        games = count_matches(config)

        class Clock(TrainerCallback):
            def on_step_begin(self, *_: Any, **__: Any) -> None:
                seconds.append(-time.process_time())

            def on_step_end(self, *_: Any, **__: Any) -> None:
                seconds[-1] += time.process_time()

        self._trainer: Any = trl.GRPOTrainer(
            model=self._loaded.model,
            processing_class=self._loaded.chat.tokenizer,
            train_dataset=data.Dataset.from_list([{"prompt": "tic-tac-toe"}] * (games // config.rollout.group_size)),
            reward_funcs=lambda completions, reward, **_: reward,
            rollout_func=self._rollout,
            callbacks=[Clock()],
            args=trl.GRPOConfig(
                output_dir=str(directory / "trl"),
                num_generations=config.rollout.group_size,
                per_device_train_batch_size=games,
                max_completion_length=1024,
                learning_rate=config.optimizer.learning_rate,
                max_grad_norm=config.optimizer.max_grad_norm,
                beta=0.0,
                gradient_checkpointing=False,
                **ONE_TRL_STEP,
            ),
        )
        self._trainer.remove_callback(PrinterCallback)
        self._games = games

    def step(self, step: Step) -> float:
        """CPU seconds of TRL's step on what ours was made of; its preparations for a run are not counted."""
        self._given.append(step)
        self._trainer.train()
        return self._seconds[-1]

    def _rollout(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        """Sample what our engine was asked for, then hand over our games. It must have a row for each prompt: where
        ours has fewer (a tied group, a match that forked), rows are given twice; they are as long as the others."""
        step: Step = self._given[-1]
        model, chat = self._loaded.model, self._loaded.chat
        with torch.inference_mode():
            for requests in step.work.requests():
                sample_transformers(model, requests, SAMPLING, pad=self._loaded.pad, stop=chat.end)
        rows = [step.work.rows[n % len(step.work.rows)] for n in range(self._games)]
        starts = [row.spans[0].start for row in rows]
        masks, logprobs = [], []
        for row in rows:
            mask, engine = [0] * len(row.ids), [0.0] * len(row.ids)
            for span in row.spans:
                mask[span.start : span.stop] = [1] * len(span)
                engine[span.start : span.stop] = span.engine
            masks.append(mask[row.spans[0].start :])
            logprobs.append(engine[row.spans[0].start :])
        return {
            "prompt_ids": [[*row.ids[:start]] for row, start in zip(rows, starts, strict=True)],
            "completion_ids": [[*row.ids[start:]] for row, start in zip(rows, starts, strict=True)],
            "logprobs": logprobs,
            "env_mask": masks,
            "reward": [row.spans[-1].advantage for row in rows],
        }


def text(data: dict[str, Any]) -> str:
    head = ["", "CPU-seconds of a step", "generation, or play", "update", "publish", "times the floor"]
    lines, notes = [], []
    for context, found in data["contexts"].items():
        spent, parts = found["cpu_seconds"], found["our_parts"]
        floor = [shown(spent["bare"]), shown(spent["bare generation"]), shown(spent["bare update"]), "", "1"]
        mine = [shown(parts[part]) for part in ("play", "learn", "publish")]
        lines.append([f"{context}: gymposium", shown(spent["ours"]), *mine, shown(found["ours_to_bare"])])
        lines.append([f"{context}: floor", *floor])
        if found["trl_to_bare"]:
            lines.append(
                [f"{context}: TRL's GRPOTrainer", shown(spent["trl"]), "", "", "", shown(found["trl_to_bare"])]
            )
        elif context == "full":
            notes.append("TRL is not installed, so it was not measured (`pip install trl`).")
        agreement = found["agreement"]
        notes.append(
            f"{context}: {found['games']} games a step, {min(found['turns'])} to {max(found['turns'])} turns in "
            f"{min(found['rows'])} to {max(found['rows'])} rows of {max(found['tokens_in_rows']):,} tokens together, "
            f"{max(found['tokens_sampled']):,} of them sampled (largest step); {found['parameters']:,} parameters, "
            f"{found['tokens_in_vocabulary']} tokens. The sides agree: log-probabilities within "
            f"{max(agreement['largest_logprob_difference'].values()):.1e}, gradient norms within "
            f"{agreement['norms_apart']:.2%}. Of our playing the engine takes {found['our_parts']['engine'][0]:.2f} s."
        )
    worst = max(found["ours_to_bare"][0] for found in data["contexts"].values())
    verdict = "met" if worst <= data["target"] else f"MISSED: {worst}"
    notes.append(f"Target: at most {data['target']} times the floor, median: {verdict}.")
    return table(head, lines) + "\n" + "\n\n".join(notes) + "\n"
