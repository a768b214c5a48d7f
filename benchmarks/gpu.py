"""What a model of real shape costs on one NVIDIA GPU: precision, attention, memory, 4 bits, tokens per second.

The file needs torch, transformers, peft and the wheels of gymposium, gymposium-agents and gymposium-train; bitsandbytes
for the part `qlora`. It needs no checkout and no network: weights are random, in the shape of Qwen3. Copied to another
machine, `python gpu.py` runs it; here, `python -m benchmarks.gpu`. A part finishes its current row when its
`--seconds` are over: 120 for each of five parts are ten minutes in all.

precision   an update of packed rows in float32 and in bfloat16, and how far the log-probabilities are apart
attention   an update of eight packed rows with each `model.attention`
memory      the peak of an update of one row of 1k to 32k tokens, with and without checkpointing, beside the estimate
            of `gymposium train --dry-run --memory`
qlora       the same update with frozen weights in 4 bits
speed       tokens a second of learning beside a bare loop of transformers and PEFT on the same rows, and of sampling
            beside transformers' `generate`

Without a GPU it says so, and the page says "not run". `--smoke --out DIR` runs every part on the CPU, as small as can
be.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import torch
from torch.nn.functional import log_softmax
from transformers import Qwen3Config, Qwen3ForCausalLM

from gymposium_agents.chat.tokens import Sampling, TokenRequest
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.lora.attach import attach_lora
from gymposium_train.config import Optimizer
from gymposium_train.config.model import Attention
from gymposium_train.learner import LocalLearner
from gymposium_train.learner.memory import estimate_learner_memory
from gymposium_train.learner.rows import Row, Span

RESULTS = Path(__file__).parent / "results"
RATE = 1e-5
Found = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Size:
    """How large everything is."""

    model: dict[str, Any]
    vocabulary: int
    rows: int
    """Number of rows of an update."""
    length: int
    """Number of tokens of a row. Half are sampled."""
    lengths: tuple[int, ...]
    """Lengths of the one row whose memory is measured."""
    requests: int
    prompt: int
    reply: int


REAL = Size(
    model={
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
    },
    vocabulary=151_936,
    rows=8,
    length=2_048,
    lengths=(1_024, 4_096, 16_384, 32_768),
    requests=64,
    prompt=512,
    reply=256,
)
"""The shape of Qwen3-0.6B."""
SMOKE = Size(
    model={
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
    },
    vocabulary=300,
    rows=3,
    length=32,
    lengths=(16, 64),
    requests=3,
    prompt=16,
    reply=8,
)


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def made(size: Size, dtype: torch.dtype, *, lora: bool = True, on: torch.device | None = None) -> Any:
    """Return a model with random weights, and a LoRA of rank 32 unless all weights are to be trained."""
    config = Qwen3Config(
        vocab_size=size.vocabulary,
        **size.model,
        max_position_embeddings=40_960,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=0,
    )
    with torch.random.fork_rng(), on or device():
        torch.manual_seed(0)
        model: Any = Qwen3ForCausalLM(config)
        model = model.to(dtype).eval()
        return attach_lora(model, rank=32, alpha=64, seed=0) if lora else model


def rows(count: int, length: int, vocabulary: int) -> list[Row]:
    """Return rows of random tokens. The second half of each counts as sampled."""
    rng, given = random.Random(0), []
    for n in range(count):
        said = length // 2
        span = Span(length - said, length, (-9.0,) * said, advantage=(-1.0) ** n, weight=1.0 / (said * count))
        given.append(Row(tuple(rng.choices(range(1, vocabulary), k=length)), (span,)))
    return given


def settings(**given: Any) -> Optimizer:
    return Optimizer(**{"layout": "packed", "epochs": 1, "minibatches": 1, "learning_rate": RATE, **given})


def timed(work: Callable[[], object], repeats: int = 3) -> Found:
    """Return the seconds of the fastest repetition after a warm-up, and the peak GPU memory in GiB."""
    gpu, spent = torch.cuda.is_available(), []
    work()
    if gpu:
        torch.cuda.reset_peak_memory_stats()
    for _ in range(repeats):
        if gpu:
            torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        if gpu:
            torch.cuda.synchronize()
        spent.append(time.perf_counter() - start)
    return {"seconds": min(spent), "gib": torch.cuda.max_memory_allocated() / 2**30 if gpu else None}


def updating(learner: LocalLearner, given: list[Row]) -> Callable[[], object]:
    return lambda: learner.update(given, learning_rate=RATE)


def precision(size: Size) -> Iterator[Found]:
    given, scores = rows(size.rows, size.length, size.vocabulary), {}
    pairs = [(row.prompt, row.ids[row.spans[0].start :]) for row in given]
    for name, dtype in {"fp32": torch.float32, "bf16": torch.bfloat16}.items():
        how = settings(precision=name, checkpointing=True, token_budget=size.rows * size.length)
        learner = LocalLearner(made(size, dtype), 0, how)
        scores[name] = torch.tensor(learner.score(pairs))
        yield {"number type": name, **timed(updating(learner, given)), "tokens": size.rows * size.length}
        del learner
        free()
    yield {"largest difference of log-probabilities": float((scores["fp32"] - scores["bf16"]).abs().max())}


def attention(size: Size) -> Iterator[Found]:
    given = rows(size.rows, size.length, size.vocabulary)
    for kind in get_args(Attention):
        if kind == "varlen" and not torch.cuda.is_available():
            continue
        how = settings(precision="bf16", checkpointing=True, token_budget=size.rows * size.length)
        learner = LocalLearner(made(size, torch.bfloat16), 0, how, attention=kind)
        yield {"attention": kind, **timed(updating(learner, given))}
        del learner
        free()


def memory(size: Size) -> Iterator[Found]:
    for length in size.lengths:
        for kept in (False, True):
            how = settings(precision="bf16", checkpointing=kept, token_budget=length)
            half = length // 2
            guess = estimate_learner_memory(
                lambda: made(size, torch.bfloat16, on=torch.device("meta")), how, prompt=length - half, reply=half
            ).total
            found: Found = {"tokens": length, "checkpointing": kept, "estimated GiB": guess / 2**30}
            learner = LocalLearner(made(size, torch.bfloat16), 0, how)
            try:
                found |= timed(updating(learner, rows(1, length, size.vocabulary)), repeats=1)
            except torch.cuda.OutOfMemoryError:
                found["gib"] = "out of memory"
            yield found
            del learner
            free()


def qlora(size: Size) -> Iterator[Found]:
    if find_spec("bitsandbytes") is None:
        yield {"not run": "bitsandbytes is not installed"}
        return
    from tempfile import TemporaryDirectory

    from transformers import AutoModelForCausalLM

    from gymposium_agents.modeling.quantized import keep_unpacked, make_4bit_config

    with TemporaryDirectory() as directory:
        made(size, torch.bfloat16, lora=False).save_pretrained(directory)
        where = {"": 0 if torch.cuda.is_available() else "cpu"}
        base: Any = AutoModelForCausalLM.from_pretrained(
            directory, dtype=torch.bfloat16, quantization_config=make_4bit_config(torch.bfloat16), device_map=where
        )
    if not torch.cuda.is_available():
        keep_unpacked(base)
    how = settings(precision="bf16", checkpointing=True, token_budget=size.length)
    learner = LocalLearner(attach_lora(base.eval(), rank=32, alpha=64, seed=0), 0, how)
    yield {"weights": "4 bits", **timed(updating(learner, rows(size.rows, size.length, size.vocabulary)))}


def speed(size: Size) -> Iterator[Found]:
    given, tokens = rows(size.rows, size.length, size.vocabulary), size.rows * size.length
    how = settings(precision="bf16", checkpointing=True, token_budget=size.length)
    learner = LocalLearner(made(size, torch.bfloat16), 0, how)
    mine = timed(updating(learner, given))
    yield {"learning": "gymposium", "tokens a second": tokens / mine["seconds"], **mine}
    del learner
    free()
    model = made(size, torch.bfloat16)
    theirs = timed(lambda: bare_update(model, given))
    yield {"learning": "a bare loop", "tokens a second": tokens / theirs["seconds"], **theirs}
    engine = TransformersEngine(model, stops=frozenset(), pad=0)
    rng = random.Random(0)
    shared = tuple(rng.choices(range(1, size.vocabulary), k=size.prompt // 2))
    prompts = [
        (*shared, *rng.choices(range(1, size.vocabulary), k=size.prompt - len(shared))) for _ in range(size.requests)
    ]
    sampled = size.requests * size.reply

    def play() -> None:
        asked = [TokenRequest(prompt, random.Random(n)) for n, prompt in enumerate(prompts)]
        engine.generate(asked, Sampling(1.0, size.reply))

    def generate() -> None:
        ids = torch.tensor(prompts, device=device())
        base = model.get_base_model()
        base.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=True,
            max_new_tokens=size.reply,
            pad_token_id=0,
        )

    for name, work in {"gymposium": play, "generate": generate}.items():
        found = timed(work, repeats=1)
        yield {"sampling": name, "tokens a second": sampled / found["seconds"], **found}


def bare_update(model: Any, given: list[Row]) -> None:
    """Run a handwritten update, which computes the logits of whole rows, one at a time."""
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE)
    base = model.get_base_model()
    base.activation_checkpointing_enable({"use_reentrant": False})
    base.train()
    for row in given:
        ids, span = torch.tensor([row.ids], device=device()), row.spans[0]
        logits = model(input_ids=ids, use_cache=False).logits[0, span.start - 1 : -1].float()
        scores = log_softmax(logits, dim=-1).gather(-1, ids[0, span.start :, None])[:, 0]
        ratio = (scores - torch.tensor(span.engine, device=device())).exp()
        (-span.weight * span.advantage * ratio).sum().backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    base.eval()
    base.activation_checkpointing_disable()


def free() -> None:
    """Free the memory of unreferenced models."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


PARTS = {"precision": precision, "attention": attention, "memory": memory, "qlora": qlora, "speed": speed}


def about() -> Found:
    names = ("gymposium", "gymposium-agents", "gymposium-train", "torch", "transformers", "peft")
    return {
        "command": " ".join(["python -m benchmarks.gpu", *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "machine": torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU",
        "versions": {name: version(name) for name in names},
    }


def text(data: Found) -> str:
    """Return the page."""
    facts = data["about"]
    lines = ["# gpu", "", f"`{facts['command']}`, {facts['date']}, {facts['machine']}.", ""]
    if not data["parts"]:
        return "\n".join([*lines, "Not run: there was no GPU.", ""])
    for name, found in data["parts"].items():
        lines += [f"## {name}", ""]
        lines += ["- " + ", ".join(f"{key}: {_shown(value)}" for key, value in one.items()) for one in found]
        lines.append("")
    return "\n".join(lines)


def _shown(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--smoke", action="store_true", help="every part as small as can be, on any machine")
    parser.add_argument("--seconds", type=float, default=120, help="time to begin new rows of a part (default: 120)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    if given.smoke and given.out is RESULTS:
        parser.error("--smoke: its figures are no results; write them elsewhere with --out.")
    if strange := set(given.parts) - PARTS.keys():
        parser.error(f"There is no part {', '.join(sorted(strange))}; there are {', '.join(PARTS)}.")
    run = given.smoke or torch.cuda.is_available()
    data: Found = {"about": about(), "parts": {}}
    if not run:
        print("Not run: there is no GPU here.")
    for name in (given.parts or PARTS) if run else ():
        data["parts"][name], end = [], time.monotonic() + given.seconds
        for found in PARTS[name](SMOKE if given.smoke else REAL):
            print(f"{name}: {found}", flush=True)
            data["parts"][name].append(found)
            write(given.out, data)
            if time.monotonic() > end:
                data["parts"][name].append({"stopped": f"after {given.seconds:g} s"})
                break
        free()
    write(given.out, data)


def write(folder: Path, data: Found) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gpu.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    (folder / "gpu.md").write_text(text(data), encoding="utf-8")


if __name__ == "__main__":
    main()
