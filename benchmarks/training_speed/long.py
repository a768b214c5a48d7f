"""Long rows: the time and the peak memory of an update, beside TRL's on the same rows, and how both grow.

trl         two rows of 1k, 4k and 16k tokens, half of each sampled, one row at a time, with gradient checkpointing: our
            `LocalLearner` and TRL's `GRPOTrainer`, each in fresh processes that take turns. Time is CPU time of the
            step; memory is the highest above what the process had before it (Linux only).
attention   eight packed rows of 2k tokens against the eight alone: forward and backward of one layer's attention.
length      the peak of an update of one row of 16k tokens against one of 4k.
vocabulary  how far the peak rises from a vocabulary of 1k tokens to one of 150k, beside what the head alone takes:
            weights, gradients and optimizer state, and one piece of logits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import PrinterCallback, Qwen3Config, Qwen3ForCausalLM, TrainerCallback

from benchmarks.report import about, table
from benchmarks.training_speed.memory import status
from benchmarks.training_speed.models import ONE_TRL_STEP, make_characters
from benchmarks.training_speed.scale import Scale, ratios, shown, spread
from gymposium.util.streams import stream
from gymposium_train.config import Optimizer
from gymposium_train.learner import LocalLearner
from gymposium_train.learner.attention import PackedRow, compute_attention
from gymposium_train.learner.head import LOGIT_BYTES
from gymposium_train.learner.rows import Row, Span
from gymposium_train.run.memory import return_large_blocks

LENGTHS = (1_024, 4_096, 16_384)
VOCABULARY = 32_000
VOCABULARIES = (1_000, 150_000)
RATE = 1e-5
SIZE: dict[str, Any] = {
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
}


def measure(scale: Scale) -> tuple[dict[str, Any], str]:
    lengths = (64, 128) if scale.tiny else LENGTHS
    data: dict[str, Any] = {"about": about("gymposium", "gymposium-train", "torch", "transformers", "trl", "peft")}
    data["trl"] = [_beside_trl(length, scale) for length in lengths] if find_spec("trl") else None
    data["attention"] = apart(attention, 16 if scale.tiny else 2_048, scale.repeats)
    short, long = lengths[-2:]
    data["length"] = {str(n): apart(peak, n, VOCABULARY // (100 if scale.tiny else 1)) for n in (short, long)}
    few, many = (500, 2_000) if scale.tiny else VOCABULARIES
    data["vocabulary"] = [_vocabulary(length, few, many) for length in ((64, 128) if scale.tiny else (1_024, 4_096))]
    return data, text(data)


def apart(work: Callable[..., Any], *given: Any) -> Any:
    """Return the result of a function in a separate process, which begins with the libraries loaded and nothing
    else."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(work, *given).result()


def model(vocabulary: int, size: dict[str, Any] | None = None, *, tied: bool = False) -> Any:
    """Return a model with random weights."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=vocabulary,
        **size or SIZE,
        max_position_embeddings=40_960,
        tie_word_embeddings=tied,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=0,
    )
    return Qwen3ForCausalLM(config).eval()  # type: ignore[no-untyped-call]


def rows(lengths: list[int], vocabulary: int) -> list[Row]:
    """Return rows of random tokens. The second half of each counts as sampled."""
    rng, made = stream(0, "long rows"), []
    for n, length in enumerate(lengths):
        ids = tuple(rng.choices(range(2, vocabulary), k=length))
        said = length // 2
        span = Span(length - said, length, (-5.0,) * said, advantage=(-1.0) ** n, weight=1.0 / (said * len(lengths)))
        made.append(Row(ids, (span,)))
    return made


def measured(work: Callable[[], object]) -> dict[str, float]:
    """Return the CPU seconds, and the MiB at the peak above what was there before."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as refs:
        refs.write("5")  # the peak so far is forgotten
    before, start = status("VmRSS"), time.process_time()
    work()
    return {"seconds": time.process_time() - start, "mib": status("VmHWM") - before}


def ours(length: int, vocabulary: int) -> dict[str, float]:
    """Run our update of two rows."""
    return_large_blocks()
    settings = Optimizer(
        layout="packed", checkpointing=True, epochs=1, minibatches=1, token_budget=length, learning_rate=RATE
    )
    learner = LocalLearner(model(vocabulary), 0, settings)
    given = rows([length, length], vocabulary)
    return measured(lambda: learner.update(given, learning_rate=RATE))


def theirs(length: int, vocabulary: int) -> dict[str, float]:
    """Run TRL's step on the same rows."""
    trl, datasets = import_module("trl"), import_module("datasets")
    given, found = rows([length, length], vocabulary), dict[str, float]()
    prompts, said = [list(row.prompt) for row in given], [list(row.ids[row.spans[0].start :]) for row in given]

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as refs:
                refs.write("5")
            found.update(mib=-status("VmRSS"), seconds=-time.process_time())

        def on_step_end(self, *_: Any, **__: Any) -> None:
            found["seconds"] += time.process_time()
            found["mib"] += status("VmHWM")

    def sampled(*_: Any) -> dict[str, Any]:
        return {"prompt_ids": prompts, "completion_ids": said, "logprobs": [[-5.0] * len(one) for one in said]}

    with TemporaryDirectory() as directory:
        trainer: Any = trl.GRPOTrainer(
            model=model(vocabulary),
            processing_class=make_characters(),
            train_dataset=datasets.Dataset.from_list([{"prompt": "a"}] * 2),
            reward_funcs=lambda completions, **_: [1.0, -1.0],
            rollout_func=sampled,
            callbacks=[Clock()],
            args=trl.GRPOConfig(
                output_dir=directory,
                num_generations=2,
                per_device_train_batch_size=1,
                gradient_accumulation_steps=2,
                gradient_checkpointing=True,
                max_completion_length=length,
                learning_rate=RATE,
                beta=0.0,
                **ONE_TRL_STEP,
            ),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return found


def _beside_trl(length: int, scale: Scale) -> dict[str, Any]:
    vocabulary = 512 if scale.tiny else VOCABULARY
    pairs = [(apart(ours, length, vocabulary), apart(theirs, length, vocabulary)) for _ in range(scale.repeats)]
    found: dict[str, Any] = {"length": length}
    for unit in ("seconds", "mib"):
        mine, other = ([side[unit] for side in sides] for sides in zip(*pairs, strict=True))
        found[unit] = {"ours": spread(mine, 2), "trl": spread(other, 2), "ratio": ratios(other, mine)}
    return found


def attention(length: int, repeats: int) -> dict[str, Any]:
    """Return the ratio of the CPU time of eight packed rows to that of the eight alone, for equal and unequal
    lengths."""
    torch.set_num_threads(1)
    layer = type("Layer", (), {"num_key_value_groups": 2, "is_causal": True})()

    def seconds(lengths: tuple[int, ...]) -> float:
        generator = torch.Generator().manual_seed(0)
        heads = [
            torch.randn(1, count, sum(lengths), 64, generator=generator, requires_grad=True) for count in (4, 2, 2)
        ]
        start = time.process_time()
        states, _ = compute_attention(layer, heads[0], heads[1], heads[2], None, packed=PackedRow(lengths, "blocks"))
        states.sum().backward()  # type: ignore[no-untyped-call]
        return time.process_time() - start

    seconds((length,))
    found: dict[str, Any] = {}
    for name, lengths in {"equal": (length,) * 8, "unequal": tuple(length - n for n in range(8))}.items():
        packed, alone = [], []
        for _ in range(repeats):
            packed.append(seconds(lengths))
            alone.append(sum(seconds((one,)) for one in lengths))
        found[name] = ratios(packed, alone)
    return found


def peak(length: int, vocabulary: int) -> float:
    """Return the MiB at the peak of an update of one row, above what was there before the model was."""
    return_large_blocks()
    before = status("VmRSS")
    settings = Optimizer(layout="packed", checkpointing=True, epochs=1, minibatches=1, token_budget=length)
    learner = LocalLearner(model(vocabulary, tied=True), 0, settings)
    learner.update(rows([length], vocabulary), learning_rate=RATE)
    return status("VmHWM") - before


def _vocabulary(length: int, few: int, many: int) -> dict[str, float]:
    """Return how far the peak rises with the vocabulary, and what the head takes: four numbers for each weight."""
    rise = apart(peak, length, many) - apart(peak, length, few)
    head = 4 * 4 * (many - few) * SIZE["hidden_size"] / 2**20
    piece = min(LOGIT_BYTES, 8 * many * (length // 2)) / 2**20 - min(LOGIT_BYTES, 8 * few * (length // 2)) / 2**20
    return {"length": length, "rise": rise, "head": head, "piece": piece, "ratio": rise / (head + piece)}


def text(data: dict[str, Any]) -> str:
    parts = []
    if data["trl"] is None:
        parts.append("TRL is not installed, so it was not measured (`pip install trl`).\n")
    else:
        lines = [
            [
                f"{one['length']:,}",
                *(shown(one["seconds"][side], ".1f") for side in ("ours", "trl")),
                shown(one["seconds"]["ratio"]),
                *(shown(one["mib"][side], ",.0f") for side in ("ours", "trl")),
                shown(one["mib"]["ratio"]),
            ]
            for one in data["trl"]
        ]
        head = ["tokens a row", "CPU s, gymposium", "TRL", "ratio", "peak + MiB, gymposium", "TRL", "ratio"]
        parts.append(table(head, lines))
    equal, unequal = (shown(data["attention"][name]) for name in ("equal", "unequal"))
    parts.append(f"Attention of eight packed rows, over the eight alone: {equal}; of unequal lengths {unequal}.\n")
    (short, low), (long, high) = ((int(n), mib) for n, mib in data["length"].items())
    parts.append(
        f"Peak of an update with one row of {short:,} tokens {low:,.0f} MiB, of {long:,} tokens {high:,.0f} MiB: "
        f"{high / low:.2f} times.\n"
    )
    lines = [
        [f"{one['length']:,}", *(f"{one[name]:,.0f}" for name in ("rise", "head", "piece")), f"{one['ratio']:.2f}"]
        for one in data["vocabulary"]
    ]
    head = ["tokens a row", "rise of the peak, MiB", "weights, gradients, optimizer", "piece of logits", "ratio"]
    parts.append(table(head, lines))
    return "\n".join(parts)
