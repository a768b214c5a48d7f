"""SmolLM2-135M, a pretrained model, 64 matches at once: the transformers engine beside `generate`, vLLM and llama.cpp.

All sides get the same prompts, as `LanguageModelPlayer` writes them in matches of tic-tac-toe, and sample as many
tokens for each at temperature 1; nothing ends a reply. A round is one turn of 64 matches: a batch for the engine and
for `generate` (padded, with its cache), 64 requests at once for a server. The next round begins when all are answered.
Engine, `generate` and vLLM compute in float32 or bfloat16, llama.cpp with the 4-bit weights of the GGUF file, from
which the others' weights were read too.

Figures are tokens per CPU-second, of all processes of a server, and not of this one, which sends the requests. The
sides take turns; figures are medians over the repeats. Each repeat has other matches, so that caches of the engine and
the servers hold what earlier matches left there, but not all of these prompts. Weights stay the same. Servers are not
asked for log-probabilities, which the engine always returns.

The tokens of llama.cpp's tokenizer are compared with those of the model's: of boards, digits, spaces and prompts.

Targets: twice the tokens of `generate` in the same number type; more than each server.
"""

from __future__ import annotations

import argparse
import random
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import torch

from benchmarks.bare_torch import sample_transformers
from benchmarks.cpu_time import measure_cpu_seconds
from benchmarks.report import about, table, write
from gymposium import load_game
from gymposium.games.protocol import Style
from gymposium.match import play
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import plan_jobs
from gymposium_agents.chat.chat import Chat
from gymposium_agents.chat.tokens import BASE, Completion, Policy, Sampling, TokenRequest, Tokens
from gymposium_agents.engines.transformers import TransformersEngine
from gymposium_agents.engines.vllm.server import is_healthy, run_server
from gymposium_agents.engines.vllm.settings import SERVED_NAME, ServerSettings
from gymposium_agents.engines.vllm.wire import make_completion_body
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import load_chat, load_model
from gymposium_agents.players.player import LanguageModelPlayer

NAME = "pretrained"
AT_ONCE = 64
CONTEXT = 1024
"""Tokens of a prompt and its reply that fit in a server's context."""
LORA = Policy("learner")
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

Round = list[Tokens]
"""The prompts of `AT_ONCE` matches at one turn."""
Side = Callable[[list[Round], int], float]
"""Answers rounds with this many tokens for each prompt; returns the CPU seconds that it took."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Turns of matches where a model plays both seats."""

    name: str
    style: Style
    reply: str
    turns: tuple[int, ...]
    new: int
    """Number of tokens that are sampled for each prompt."""

    def rounds(self, chat: Chat, seed: int) -> list[Round]:
        """Return the prompts. Each move is a random legal one, so they do not depend on a model's weights."""
        asked = PromptRecorder(chat.end)
        player = LanguageModelPlayer(
            "model", asked, chat, sampling=Sampling(1.0, 1), style=self.style, reply=self.reply
        )
        jobs = plan_jobs(
            load_game("tic_tac_toe"),
            [player, player],
            AT_ONCE,
            seed=seed,
            swap=False,
            tag="prompts",
            on_illegal=FailurePolicy.parse("random"),
        )
        for _ in play((job for job, _ in jobs), at_once=AT_ONCE):
            pass
        return [asked.rounds[turn - 1] for turn in self.turns]


WORKLOADS = (
    Workload("moves: compact prompt", "compact", "move", (1, 3, 5), 8),
    Workload("thoughts: full prompt", "full", "tags", (4,), 64),
)


@dataclass
class PromptRecorder:
    """Token engine that notes prompts and ends each reply at once."""

    end: int
    rounds: list[Round] = field(default_factory=list)
    policy: Policy = BASE
    context: int = CONTEXT

    def generate(self, requests: Sequence[TokenRequest], sampling: Sampling) -> list[Completion]:
        self.rounds.append([request.prompt for request in requests])
        return [Completion((self.end,), (0.0,), "stop", self.policy) for _ in requests]

    def score(self, *ignored: Any, **also: Any) -> list[tuple[float, ...]]:
        raise NotImplementedError


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, required=True, help="directory with SmolLM2 in transformers' format")
    parser.add_argument("--gguf", type=Path, help="the same model as GGUF, for llama.cpp")
    parser.add_argument("--llama-server", type=Path, help="llama.cpp's server, a program")
    parser.add_argument("--no-vllm", action="store_true", help="leave out the vLLM server (gymposium engine setup)")
    parser.add_argument("--repeats", type=int, default=3, help="times that each side is measured (default: 3)")


def main(given: argparse.Namespace) -> None:
    chat = load_chat(given.model)
    servers: dict[str, str] = {}
    found, tokenizers = [], None
    with ExitStack() as stack:
        sides = in_process(given.model)
        if not given.no_vllm:
            for name in TYPES:
                url, sides[f"vLLM, {name}"] = stack.enter_context(vllm(given.model, name))
                servers["vLLM"] = _asked(url, "/version")["version"]
        if given.llama_server is not None:
            url, sides["llama.cpp, Q4_1"] = stack.enter_context(llama(given.llama_server, given.gguf))
            servers["llama.cpp"] = _asked(url, "/props")["build_info"]
            tokenizers = compare_tokenizers(url, chat)
        for work in WORKLOADS:
            seconds: dict[str, list[float]] = {name: [] for name in sides}
            timed = [work.rounds(chat, seed) for seed in range(given.repeats + 1)]
            for side in sides.values():
                side(timed[0][:1], 2)  # warms up
            for rounds in timed[1:]:
                for name, side in sides.items():
                    seconds[name].append(side(rounds, work.new))
                    print(f"{work.name}, {name}: {seconds[name][-1]:.1f} s", flush=True)
            found.append(figures(work, timed[1:], seconds))
            publish(given.out, servers, found, tokenizers)


def publish(
    folder: Path, servers: dict[str, str], found: list[dict[str, Any]], tokenizers: dict[str, Any] | None
) -> None:
    """Write the workloads measured so far."""
    data = {
        "about": about("gymposium", "gymposium-agents", "torch", "transformers", "peft"),
        "servers": servers,
        "matches_at_once": AT_ONCE,
        "workloads": found,
        "tokenizers": tokenizers,
    }
    write(folder, "engines-pretrained", data, text(data))


def figures(work: Workload, timed: list[list[Round]], seconds: dict[str, list[float]]) -> dict[str, Any]:
    tokens = len(work.turns) * AT_ONCE * work.new
    lengths = [len(prompt) for rounds in timed for prompts in rounds for prompt in prompts]
    return {
        "workload": work.name,
        "turns": work.turns,
        "new_tokens": work.new,
        "prompt_tokens": [min(lengths), max(lengths)],
        "distinct_prompts": [len(set(prompts)) for prompts in timed[0]],
        "cpu_seconds": {name: [round(one, 2) for one in spent] for name, spent in seconds.items()},
        "tokens_per_cpu_second": {name: round(tokens / median(spent), 1) for name, spent in seconds.items()},
    }


def make_requests(prompts: Round) -> list[TokenRequest]:
    return [TokenRequest(prompt, random.Random(row)) for row, prompt in enumerate(prompts)]


def in_process(directory: Path) -> dict[str, Side]:
    """Return the engine, also with a LoRA, and `generate`, in each number type."""
    sides: dict[str, Side] = {}
    for name, dtype in TYPES.items():
        loaded = load_model(directory, dtype=dtype)
        plain, tuned = loaded.model, attach_lora(load_model(directory, dtype=dtype).model, rank=32, alpha=64, seed=0)
        for parameter in tuned.parameters():
            parameter.data = parameter.data.to(dtype)  # as the learner does
        sides[f"engine, {name}"] = sampling_with(TransformersEngine(plain, stops=frozenset(), pad=loaded.pad))
        sides[f"engine with a LoRA, {name}"] = sampling_with(
            TransformersEngine(tuned, stops=frozenset(), pad=loaded.pad, policy=LORA)
        )
        sides[f"generate, {name}"] = generating(plain, loaded.pad)
    return sides


def sampling_with(engine: TransformersEngine) -> Side:
    def side(rounds: list[Round], new: int) -> float:
        started = time.process_time()
        for prompts in rounds:
            engine.generate(make_requests(prompts), Sampling(1.0, new))
        return time.process_time() - started

    return side


def generating(model: Any, pad: int) -> Side:
    def side(rounds: list[Round], new: int) -> float:
        started = time.process_time()
        for prompts in rounds:
            sample_transformers(model, make_requests(prompts), Sampling(1.0, new), pad=pad, stop=None)
        return time.process_time() - started

    return side


def served(url: str, group: int, path: str, body: Callable[[TokenRequest, int], dict[str, Any]]) -> Side:
    """Return a server, which gets the requests of a round at once."""

    def side(rounds: list[Round], new: int) -> float:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=AT_ONCE, keepalive_expiry=2.0)
        with (
            httpx.Client(base_url=url, timeout=600.0, limits=limits, trust_env=False) as http,
            ThreadPoolExecutor(AT_ONCE) as threads,
        ):
            started = measure_cpu_seconds(group)
            for prompts in rounds:
                bodies = [body(request, new) for request in make_requests(prompts)]
                for answer in threads.map(lambda one: http.post(path, json=one), bodies):
                    answer.raise_for_status()
                    reported = answer.json()
                    usage = reported.get("usage", {}).get("completion_tokens", reported.get("tokens_predicted"))
                    assert usage == new, f"{usage} tokens were sampled instead of {new}"
            return measure_cpu_seconds(group) - started

    return side


@contextmanager
def vllm(directory: Path, dtype: str) -> Iterator[tuple[str, Side]]:
    """Start a vLLM server, with blocks small enough for prompts of this length to share."""
    more = ("--block-size", "32", "--enable-prefix-caching")
    settings = ServerSettings(
        str(directory), dtype=dtype, max_model_len=CONTEXT, max_num_seqs=AT_ONCE, kv_cache_gib=2, more=more
    )
    with run_server(settings) as server:
        assert server.group is not None

        def body(request: TokenRequest, new: int) -> dict[str, Any]:
            asked = make_completion_body(request, Sampling(1.0, new), max_tokens=new, stops=frozenset(), seeded=True)
            return asked | {"model": SERVED_NAME, "logprobs": None, "return_token_ids": False}

        yield server.url, served(server.url, server.group, "/v1/completions", body)


@contextmanager
def llama(program: Path, gguf: Path) -> Iterator[tuple[str, Side]]:
    """Start llama.cpp's server with a slot for each match, and one thread, because others wait actively."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    size = ["--parallel", str(AT_ONCE), "--ctx-size", str(AT_ONCE * CONTEXT), "--threads", "1", "--threads-batch", "1"]
    command = [str(program), "--model", str(gguf), "--host", "127.0.0.1", "--port", str(port), *size, "--log-disable"]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120.0
        while not is_healthy(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{program} does not answer; run it with --model {gguf} to see why.")
            time.sleep(0.2)

        def body(request: TokenRequest, new: int) -> dict[str, Any]:
            return {
                "prompt": list(request.prompt),
                "n_predict": new,
                "temperature": 1.0,
                "samplers": ["temperature"],
                "seed": request.rng.getrandbits(31),
                "ignore_eos": True,
                "cache_prompt": True,
            }

        yield url, served(url, process.pid, "/completion", body)
    finally:
        process.terminate()
        process.wait()


def _asked(url: str, path: str) -> Any:
    return httpx.get(f"{url}{path}", timeout=60.0, trust_env=False).raise_for_status().json()


def compare_tokenizers(url: str, chat: Chat) -> dict[str, Any]:
    """Return how many of 200 texts llama.cpp's tokenizer splits as the model's does, with the first that differs."""
    rng = random.Random(0)
    rounds = [prompts for work in WORKLOADS for prompts in work.rounds(chat, 0)]
    texts = [chat.tokenizer.decode([*prompt]) for prompts in rounds for prompt in dict.fromkeys(prompts[:12])]
    texts += ["".join(rng.choices("0123456789 .,xo|-\nab", k=rng.randint(1, 40))) for _ in range(200 - len(texts))]
    different = []
    with httpx.Client(base_url=url, timeout=60.0, trust_env=False) as http:
        for text in texts:
            asked = {"content": text, "add_special": False, "parse_special": True}
            theirs = http.post("/tokenize", json=asked).raise_for_status().json()["tokens"]
            mine = chat.tokenizer.encode(text, add_special_tokens=False)
            if theirs != mine:
                different.append({"text": text, "mine": mine, "llama.cpp": theirs})
    return {"texts": len(texts), "different": len(different), "first": different[:1]}


def text(data: dict[str, Any]) -> str:
    """Return the table of each workload, and the comparison of the tokenizers."""
    parts = []
    for one in data["workloads"]:
        rates = one["tokens_per_cpu_second"]
        rows = []
        for name, rate in rates.items():
            kind = name.rpartition(", ")[2]
            mine = rates[f"engine, {kind}"] if kind in TYPES else rates["engine, bfloat16"]
            rows.append([name, f"{rate:.0f}", f"{mine / rate:.2f}"])
        low, high = one["prompt_tokens"]
        turns, distinct = (", ".join(map(str, one[name])) for name in ("turns", "distinct_prompts"))
        parts.append(
            f"{one['workload']}, {low} to {high} tokens, turns {turns} of {data['matches_at_once']} matches "
            f"({distinct} distinct prompts), {one['new_tokens']} tokens each:\n\n"
            + table(("side", "tokens per CPU-second", "the engine is so many times as fast"), rows)
        )
    behind = [
        one["workload"].partition(":")[0]
        for one in data["workloads"]
        for kind in TYPES
        if one["tokens_per_cpu_second"].get(f"vLLM, {kind}", 0.0) > one["tokens_per_cpu_second"][f"engine, {kind}"]
    ]
    if behind:
        parts.append(
            f"vLLM is ahead in {', '.join(dict.fromkeys(behind))}: the engine copies the keys and values of a shared "
            f"prompt into each row, and reads all copies for every token. vLLM's rows refer to the same blocks, which "
            f"stay in the processor's cache.\n"
        )
    if (compared := data["tokenizers"]) is not None:
        parts.append(
            f"llama.cpp's tokenizer splits {compared['texts'] - compared['different']} of {compared['texts']} texts as "
            f"the model's does.\n"
        )
    if data["servers"]:
        parts.append(f"Servers: {', '.join(map(' '.join, data['servers'].items()))}.\n")
    parts.append(
        "The engine is compared with each side in the same number type; with llama.cpp, which computes with 4-bit "
        "weights, in bfloat16.\n"
    )
    return "\n".join(parts)
