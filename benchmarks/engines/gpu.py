"""The transformers engine on a GPU: bfloat16, half a billion parameters with random weights; by the clock.

The comparison is that of `in-process`. The model is made on the spot, in the shape of Qwen's smallest.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from benchmarks.engines.workloads import HEAD, NOTHING_SHARED, SHARED, compare, rows
from benchmarks.report import about, table, write
from gymposium_agents.lora.attach import attach_lora

NAME = "gpu"
TOLERANCE = 0.25
"""In bfloat16 two ways to the same log-probability are so far apart at worst."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeats", type=int, default=5, help="times that each side is measured (default: 5)")


def make() -> Any:
    config = Qwen3Config(
        vocab_size=151_936,
        hidden_size=896,
        intermediate_size=4864,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    with torch.random.fork_rng(), torch.device("cuda"):
        torch.manual_seed(0)
        model: Any = Qwen3ForCausalLM(config)
    return model.to(torch.bfloat16).eval()


def clock() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()


def main(given: argparse.Namespace) -> None:
    if not torch.cuda.is_available():
        print("Not run: there is no CUDA here, and this table is about a GPU.")
        return
    plain = make()
    tuned = attach_lora(make(), rank=32, alpha=64, seed=0)
    parameters = f"{sum(p.numel() for p in plain.parameters()) / 1e9:.1f} billion parameters"
    comparisons = [
        {"model": label, **compare(model, work, given.repeats, clock, TOLERANCE)}
        for label, model, work in (
            (parameters, plain, NOTHING_SHARED),
            (parameters, plain, SHARED),
            (f"{parameters}, LoRA of rank 32", tuned, SHARED),
        )
    ]
    data = {
        "about": about("gymposium", "gymposium-agents", "torch", "transformers", "peft"),
        "gpu": torch.cuda.get_device_name(),
        "comparisons": comparisons,
    }
    head = f"Tokens sampled per second, batches of 64, bfloat16, {data['gpu']}:\n\n"
    write(given.out, "engines-gpu", data, head + table(HEAD, rows(comparisons)))
