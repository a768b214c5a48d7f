"""A step of TRL's `GRPOTrainer` on 64 matches of tic-tac-toe against random play, with about a million parameters.

One trainer plays through `gymposium_trl.Rollout`, the other through a handwritten `rollout_func`. That function uses
pyspiel's states, the history of each match as tokens, and one `generate` call for all waiting matches. Both have the
same model, settings and prompts. The weights are random, and a token is a character. A random move replaces an invalid
reply, so every match has all of its turns, each of up to 4 tokens.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspiel
import torch
from transformers import PrinterCallback, TrainerCallback
from transformers.utils import logging as transformers_logging
from trl import GRPOConfig, GRPOTrainer
from trl.models import unwrap_model_for_generation

from benchmarks.report import about, table
from benchmarks.training_speed.models import ONE_MILLION, ONE_TRL_STEP, TINY, load_whole, make_model
from benchmarks.training_speed.scale import ratios, shown, spread
from gymposium_trl import Rollout

TARGET = 1.1
TOKENS = 4
COPIES = 8
GAME = pyspiel.load_game("tic_tac_toe")
PLACES = [f"{column}{row}" for row in "321" for column in "abc"]
FIELDS = Callable[[list[str], Any], dict[str, list[Any]]]


class ByHand:
    """A `rollout_func` without gymposium."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer, self._rng = tokenizer, random.Random(1)

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        seats = [int(prompt.partition("seat ")[2][0]) for prompt in prompts]
        states = [GAME.new_initial_state() for _ in prompts]
        read: list[list[int]] = [[] for _ in prompts]
        masks: list[list[int]] = [[] for _ in prompts]
        while True:
            for state, seat in zip(states, seats, strict=True):
                while not state.is_terminal() and state.current_player() != seat:
                    state.apply_action(self._rng.choice(state.legal_actions()))
            live = [number for number, state in enumerate(states) if not state.is_terminal()]
            if not live:
                break
            for number in live:
                more = self._said(states[number], seats[number], read[number])
                read[number] += more
                masks[number] += [0] * len(more)
            for number, ids in zip(live, self._generated(trainer, [read[number] for number in live]), strict=True):
                read[number] += ids
                masks[number] += [1] * len(ids)
                reply = self._tokenizer.decode(ids, skip_special_tokens=True).strip()
                legal = {PLACES[action]: action for action in states[number].legal_actions()}
                states[number].apply_action(legal.get(reply) or self._rng.choice([*legal.values()]))
        starts = [mask.index(1) for mask in masks]
        return {
            "prompt_ids": [ids[:start] for ids, start in zip(read, starts, strict=True)],
            "completion_ids": [ids[start:] for ids, start in zip(read, starts, strict=True)],
            "env_mask": [mask[start:] for mask, start in zip(masks, starts, strict=True)],
            "logprobs": None,  # type: ignore[dict-item]  # TRL does not need them where it samples in this process
            "returns": [state.returns()[seat] for state, seat in zip(states, seats, strict=True)],
        }

    def _said(self, state: Any, seat: int, before: list[int]) -> list[int]:
        """Return the tokens of the next message."""
        board = "\n".join(" ".join(line) for line in str(state).splitlines())
        legal = " ".join(PLACES[action] for action in state.legal_actions())
        text = f"{board}\nlegal {legal}\nmove:"
        if not before:
            text = f"tic-tac-toe, rows 3 2 1, columns a b c, you are {'xo'[seat]}\n{text}"
            messages = [{"role": "user", "content": text}]
            found: list[int] = self._tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, return_dict=False
            )
            return found
        ended = "" if before[-1] == self._tokenizer.eos_token_id else "<|end|>"
        text = f"{ended}<|user|>{text}<|end|><|assistant|>"
        more: list[int] = self._tokenizer(text, add_special_tokens=False).input_ids
        return more

    def _generated(self, trainer: Any, prompts: list[list[int]]) -> list[list[int]]:
        pad, longest = self._tokenizer.pad_token_id, max(map(len, prompts))
        ids = torch.tensor([[pad] * (longest - len(prompt)) + prompt for prompt in prompts])
        mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as model, torch.no_grad():
            found = model.generate(input_ids=ids, attention_mask=mask, generation_config=trainer.generation_config)
        replies = []
        for reply in found[:, longest:].tolist():
            end = reply.index(self._tokenizer.eos_token_id) + 1 if self._tokenizer.eos_token_id in reply else len(reply)
            replies.append(reply[:end])
        return replies


class Side:
    """A trainer with one of the rollouts, and what its steps cost."""

    def __init__(self, directory: Path, play: FIELDS, reward: Any, dataset: Any, groups: int) -> None:
        self.steps: list[float] = []
        """CPU seconds of each step."""
        self.rollouts: list[float] = []
        """CPU seconds of playing in each step."""
        self.read: list[int] = []
        """Number of tokens in the rows of each step."""
        self.sampled: list[int] = []
        """Number of sampled tokens of each step."""
        self.opening: list[int] = []
        """The prompt of the first move of a match."""
        self._play, steps = play, self.steps

        class Clock(TrainerCallback):
            def on_step_begin(self, *_: Any, **__: Any) -> None:
                steps.append(-time.process_time())

            def on_step_end(self, *_: Any, **__: Any) -> None:
                steps[-1] += time.process_time()

        loaded = load_whole(directory)
        self._trainer: Any = GRPOTrainer(
            model=loaded.model,
            processing_class=loaded.chat.tokenizer,
            train_dataset=dataset,
            reward_funcs=reward,
            rollout_func=self._rollout,
            callbacks=[Clock()],
            args=GRPOConfig(
                output_dir=str(directory / "trl"),
                num_generations=COPIES,
                per_device_train_batch_size=groups * COPIES,
                max_completion_length=TOKENS,
                learning_rate=1e-5,
                gradient_checkpointing=False,
                **ONE_TRL_STEP,
            ),
        )
        self._trainer.remove_callback(PrinterCallback)

    def step(self) -> None:
        """Run one step. The preparations of `train` are not counted."""
        self._trainer.train()

    def _rollout(self, prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        start = time.process_time()
        fields = self._play(prompts, trainer)
        self.rollouts.append(time.process_time() - start)
        rows = zip(fields["prompt_ids"], fields["completion_ids"], strict=True)
        self.read.append(sum(len(prompt) + len(completion) for prompt, completion in rows))
        self.sampled.append(sum(map(sum, fields["env_mask"])))
        first = next(number for number, prompt in enumerate(prompts) if "seat 0" in prompt)
        self.opening = fields["prompt_ids"][first]
        return fields

    def forget(self) -> None:
        """Forget the steps so far."""
        for figures in (self.steps, self.rollouts, self.read, self.sampled):
            figures.clear()


def measure(repeats: int, tiny: bool) -> tuple[dict[str, Any], str]:
    """Return the data and the text of the result."""
    torch.set_num_threads(1)
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    groups = 2 if tiny else 8
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        make_model(directory, TINY if tiny else ONE_MILLION)
        rollout = Rollout("tic_tac_toe", prompt="compact", max_tokens=TOKENS, on_illegal="random")
        dataset = rollout.dataset(groups, seed=1)
        ours = Side(directory, rollout, rollout.reward, dataset, groups)
        hand = Side(directory, ByHand(load_whole(directory).chat.tokenizer), _returns, dataset, groups)
        sides = [ours, hand]
        for side in sides:  # the first step of each warms up
            side.step()
            side.forget()
        for repeat in range(repeats):
            for side in sides if repeat % 2 else reversed(sides):
                side.step()
    if ours.opening != hand.opening:
        raise SystemExit("The sides do not ask the same.")
    data = {
        "about": about("gymposium", "gymposium-agents", "gymposium-trl", "torch", "transformers", "trl"),
        "target": TARGET,
        "matches": groups * COPIES,
        "cpu_seconds": {"gymposium": spread(ours.steps), "by hand": spread(hand.steps)},
        "cpu_seconds_of_playing": {"gymposium": spread(ours.rollouts), "by hand": spread(hand.rollouts)},
        "tokens": {"gymposium": ours.read, "by hand": hand.read},
        "tokens_sampled": {"gymposium": ours.sampled, "by hand": hand.sampled},
        "ours_to_hand": ratios(ours.steps, hand.steps),
    }
    return data, text(data)


def _returns(completions: Any, returns: list[float], **_: Any) -> list[float]:
    return returns


def text(data: dict[str, Any]) -> str:
    """Return the result as a table, with a verdict."""
    rows = [
        [
            name,
            shown(data["cpu_seconds"][side]),
            shown(data["cpu_seconds_of_playing"][side]),
            f"{sum(data['tokens'][side]) // len(data['tokens'][side]):,}",
            f"{sum(data['tokens_sampled'][side]) // len(data['tokens_sampled'][side]):,}",
            ratio,
        ]
        for name, side, ratio in (
            ("gymposium_trl.Rollout", "gymposium", shown(data["ours_to_hand"])),
            ("written by hand", "by hand", "1"),
        )
    ]
    head = ["", "CPU-seconds of a step", "of them playing", "tokens in rows", "sampled", "times by hand"]
    met = data["ours_to_hand"][0] <= data["target"]
    return table(head, rows) + (
        f"\n{data['matches']} matches of tic-tac-toe a step. Target: at most {data['target']} times the step with the "
        f"rollout written by hand, median of pairs: {'met' if met else 'MISSED'}.\n"
    )
