"""Peak memory of an update beyond the model, by vocabulary and prompt length: ours, and the naive loss.

Only replies are learned from, a few tokens after each prompt, so few places need logits. The naive loss computes them
everywhere (`bare`), so it grows with vocabulary times prompt length. Each figure comes from its own process: how far
its memory rose above its level before the update (Linux only).

Both sides include what grows with the vocabulary alone (weights, gradients and optimizer slots of the embedding) or
with the prompt alone (the layers' activations). The last column is free of both: the extra cost of a longer prompt with
the large vocabulary, compared with the small one.
"""

from __future__ import annotations

import random
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen3ForCausalLM

from benchmarks.report import about, table
from benchmarks.training_speed import bare
from benchmarks.training_speed.models import TINY, architecture
from benchmarks.training_speed.scale import Scale
from benchmarks.training_speed.work import Work
from gymposium_train.config import Optimizer
from gymposium_train.learner import LocalLearner
from gymposium_train.learner.rows import Row, Span
from gymposium_train.objective.ppo import PpoSettings

ROWS, REPLY = 8, 4
PROMPTS = (128, 512)
VOCABULARIES = (1_000, 16_000)
SIDES = {"ours": "gymposium", "bare": "logits at every place"}
SETTINGS = Optimizer(epochs=1, minibatches=1, token_budget=16_384)


def measure(scale: Scale) -> tuple[dict[str, Any], str]:
    vocabularies = (500, 2_000) if scale.tiny else VOCABULARIES
    if not Path("/proc/self/status").exists():
        raise SystemExit("Peak memory is read from /proc, which is Linux's: run this table there.")
    context = get_context("forkserver")  # each process begins with the libraries loaded and nothing else
    context.set_forkserver_preload([__name__])
    found = {}
    for side in SIDES:
        for vocabulary in vocabularies:
            for prompt in PROMPTS:
                with ProcessPoolExecutor(1, mp_context=context) as process:
                    found[side, vocabulary, prompt] = process.submit(peak, side, vocabulary, prompt).result()
    data = {
        "about": about("gymposium", "gymposium-agents", "gymposium-train", "torch", "transformers"),
        "rows": ROWS,
        "reply_tokens": REPLY,
        "prompts": PROMPTS,
        "vocabularies": vocabularies,
        "mib": {side: [[found[side, v, p] for p in PROMPTS] for v in vocabularies] for side in SIDES},
        "mib_of_logits_at_every_place": ROWS * (PROMPTS[1] - PROMPTS[0]) * (vocabularies[1] - vocabularies[0]) / 2**18,
    }
    return data, text(data)


def rows(vocabulary: int, prompt: int) -> list[Row]:
    """As many rows of random tokens, all of their own."""
    rng = random.Random(0)
    made = []
    for n in range(ROWS):
        ids = tuple(rng.choices(range(vocabulary), k=prompt + REPLY))
        span = Span(prompt, prompt + REPLY, engine=(-5.0,) * REPLY, advantage=(-1.0) ** n, weight=1.0 / (ROWS * REPLY))
        made.append(Row(ids, (span,)))
    return made


def peak(side: str, vocabulary: int, prompt: int) -> float:
    """Return the extra MiB of an update at its peak. Run it in a separate process."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model: Any = Qwen3ForCausalLM(architecture(vocabulary, TINY))
    given = rows(vocabulary, prompt)
    how = {"learning_rate": 1e-5, "seed": 0}
    if side == "ours":
        learner = LocalLearner(model, 0, SETTINGS)
        before = status("VmRSS")
        learner.update(given, learning_rate=1e-5)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, weight_decay=0.0)
        before = status("VmRSS")
        bare.update(model, optimizer, Work([], given, how), SETTINGS, PpoSettings(), pad=0)
    return max(0.0, status("VmHWM") - before)


def status(field: str) -> float:
    """Return a line of Linux's account of this process, in MiB. `getrusage` would count the parent's memory too."""
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith(field))
    return int(line.split()[1]) / 1024


def text(data: dict[str, Any]) -> str:
    short, long = data["prompts"]
    few, many = data["vocabularies"]
    head = ["peak memory of an update, + MiB"]
    head += [f"{vocabulary:,} words, prompt of {prompt}" for vocabulary in (few, many) for prompt in (short, long)]
    head += ["of vocabulary times prompt"]
    lines = []
    for side, name in SIDES.items():
        (a, b), (c, d) = data["mib"][side]
        lines.append([name, *(f"{one:,.0f}" for one in (a, b, c, d)), f"{(d - c) - (b - a):,.0f}"])
    return table(head, lines) + (
        f"\n{data['rows']} rows, {data['reply_tokens']} tokens of each sampled. Logits at every place would be "
        f"{data['mib_of_logits_at_every_place']:,.0f} MiB of vocabulary times prompt, once; a loss holds them several "
        f"times.\n"
    )
