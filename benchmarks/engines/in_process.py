"""The transformers engine against a bare key-value-cache loop and transformers' `generate`; one thread, CPU time.

Targets: 0.9 of the bare loop's tokens where prompts share nothing; 3 times transformers' `generate` behind a shared
prefix of 200 tokens, with a LoRA too; and 64 matches of tic-tac-toe at once spend at most a tenth of their time outside
the model. Weights are random. The sides take turns; figures are medians over the repeats, with the range.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.engines.driver import AT_ONCE, CONFIG, outside
from benchmarks.engines.workloads import HEAD, NOTHING_SHARED, SHARED, compare, rows
from benchmarks.report import about, table, write
from gymposium import load_game
from gymposium.replies.reading import get_reader
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import load_model
from gymposium_train.run.lessons import RandomPlay, list_texts, list_winners_moves

NAME = "in-process"
SIZES = {
    "the main job's model": CONFIG.model.small,
    "five million parameters": SmallModel(hidden=256, layers=6, heads=8, feed_forward=704, vocabulary=1024),
}
TOLERANCE = 1e-4


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeats", type=int, default=5, help="times that each side is measured (default: 5)")
    parser.add_argument("--matches", type=int, default=256, help="of tic-tac-toe in a repeat (default: 256)")
    parser.add_argument("--small-only", action="store_true", help="leave out the larger model")


def main(given: argparse.Namespace) -> None:
    game, prompting = load_game(next(iter(CONFIG.games))), CONFIG.prompting
    play = RandomPlay(game, prompting.style, get_reader(prompting.reply), seed=CONFIG.seed, tag="texts")
    texts = list(list_texts(list_winners_moves(play.play(500))))
    comparisons, shares = [], []
    for name, size in list(SIZES.items())[: 1 if given.small_only else None]:
        with tempfile.TemporaryDirectory() as directory:
            shares.append({"model": name, **outside(Path(directory), size, texts, given.matches, given.repeats)})
            plain = load_model(directory).model
            lora = CONFIG.model.lora
            tuned = attach_lora(load_model(directory).model, rank=lora.rank, alpha=lora.alpha, seed=CONFIG.seed)
        for label, model, work in (
            (name, plain, NOTHING_SHARED),
            (name, plain, SHARED),
            (f"{name}, LoRA of rank {lora.rank}", tuned, SHARED),
        ):
            found = compare(model, work, given.repeats, time.process_time, TOLERANCE)
            comparisons.append({"model": label, **found})
    data = {
        "about": about("gymposium", "gymposium-agents", "torch", "transformers", "peft"),
        "comparisons": comparisons,
        "matches_at_once": AT_ONCE,
        "matches": given.matches,
        "driver": shares,
    }
    write(given.out, "engines-in-process", data, text(data))


def text(data: dict[str, Any]) -> str:
    lines = [
        [
            f"{one['model']} ({one['parameters']:,})",
            "{:.1%} ({:.1%} to {:.1%})".format(*one["outside_the_model"]),
            f"{one['microseconds_a_turn_outside']}",
            f"{one['of_them_in_the_engine']}",
        ]
        for one in data["driver"]
    ]
    apart = max(one["largest_logprob_difference"] for one in data["comparisons"])
    return (
        "Tokens sampled per CPU-second, batches of 64:\n\n"
        + table(HEAD, rows(data["comparisons"]))
        + f"\nLog-probabilities differ from those of plain forward passes by at most {apart:.1e}.\n"
        + f"\n{data['matches']} matches of tic-tac-toe against random play, {data['matches_at_once']} at once, "
        + "through driver, player and engine:\n\n"
        + table(
            ("model (parameters)", "CPU time outside the model", "microseconds of it a turn", "of them in the engine"),
            lines,
        )
        + "\nThe model's part is its forward passes and the sampling from its logits.\n"
    )
