"""64 matches at once through driver, player and a vLLM server, against independent requests to the same server.

The independent requests are a bare client's: the same prompts, the same token counts, the same number at once, none
waiting for another's answer. The driver's matches wait for each reply before they ask again. Two figures say what that
costs: how much of the wall time nothing was in flight, and the tokens per second as a share of the bare client's.

The model has about 5 million parameters with random weights, so that the server and not the client has most of the
work, as in real use, and a reply has 16 tokens, which nothing ends early; a random legal move is played for one that
cannot be read. All prompts were asked once before anything is timed, so the server's prefix cache helps both sides
alike. The sides take turns; each figure is the median over the repeats. vLLM must be installed: gymposium engine setup.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from concurrent.futures import Future
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from benchmarks.report import about, table, write
from gymposium import load_game, make_player
from gymposium.match import play
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import plan_jobs
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import Completion, Sampling, TokenRequest
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import run_server
from gymposium_agents.engines.vllm.settings import SERVED_NAME, ServerSettings
from gymposium_agents.engines.vllm.wire import make_completion_body
from gymposium_agents.models.loading import load_chat
from gymposium_agents.models.small import make_small_model
from gymposium_agents.players.player import ConcurrentLanguageModelPlayer

NAME = "vllm"
AT_ONCE = 64
SIZE = SmallModel(hidden=256, layers=6, heads=4, feed_forward=768, vocabulary=384)
SAMPLING = Sampling(temperature=1.0, max_tokens=16)
NEVER = 0
"""The padding token, taken as the only end of a reply: all replies have the same length, but for a rare one."""


@dataclass
class Notes:
    """What the driver asked, and when something was in flight."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    edges: list[tuple[float, int]] = field(default_factory=list)
    tokens: int = 0

    def idle(self, started: float, ended: float) -> float:
        """Return the share of the wall time with no request in flight."""
        idle, last, flying = 0.0, started, 0
        for moment, change in sorted(self.edges):
            idle += moment - last if flying == 0 else 0.0
            flying, last = flying + change, moment
        return (idle + ended - last) / (ended - started)


class NotingEngine(VllmEngine):
    """The engine, with notes of what it is asked."""

    notes = Notes()

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        again = TokenRequest(request.prompt, copy(request.rng))
        notes = self.notes
        notes.bodies.append(
            make_completion_body(again, sampling, max_tokens=sampling.max_tokens, stops=self.stops, seeded=True)
        )
        notes.edges.append((time.perf_counter(), 1))
        future = super().submit(request, sampling)

        def landed(done: Future[Completion]) -> None:
            notes.edges.append((time.perf_counter(), -1))
            notes.tokens += len(done.result().ids)

        future.add_done_callback(landed)
        return future


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repeats", type=int, default=5, help="times that each side is measured (default: 5)")
    parser.add_argument("--matches", type=int, default=256, help="of tic-tac-toe in a repeat (default: 256)")


def main(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        texts = [load_game("tic_tac_toe").rules(0, "compact")]
        make_small_model(model, texts, seed=0, size=SIZE)
        settings = ServerSettings(str(model), max_num_seqs=AT_ONCE, kv_cache_gib=1)
        with (
            run_server(settings) as server,
            NotingEngine(server.url, model=str(model), stops=frozenset({NEVER})) as engine,
        ):
            player = ConcurrentLanguageModelPlayer("lm", engine, load_chat(model), sampling=SAMPLING)
            driver(engine, player, given.matches)  # the server's first requests, and its prefix cache
            rounds = []
            for _ in range(given.repeats):
                ours = driver(engine, player, given.matches)
                rounds.append({**ours, **asyncio.run(bare(server.url, engine.notes))})
    figures = {name: median(each[name] for each in rounds) for name in rounds[0]}
    figures["share"] = median(each["tokens_per_second"] / each["bare_tokens_per_second"] for each in rounds)
    data = {"about": about("gymposium", "gymposium-agents", "httpx"), "figures": figures, "rounds": rounds}
    rows = [
        ["driver, streaming", f"{figures['tokens_per_second']:.0f}", f"{100 * figures['idle']:.1f} %"],
        ["independent requests", f"{figures['bare_tokens_per_second']:.0f}", ""],
        ["share (at least 0.80)", f"{figures['share']:.2f}", "(at most 10 %)"],
    ]
    text = table(["64 at once", "tokens per second", "nothing in flight"], rows)
    write(given.out, "engines-vllm", data, f"{text}\n{figures['requests']:.0f} requests of 16 tokens in a repeat.\n")


def driver(engine: NotingEngine, player: ConcurrentLanguageModelPlayer, matches: int) -> dict[str, float]:
    """Play the matches. The engine's notes keep the requests."""
    engine.notes = notes = Notes()
    jobs = plan_jobs(
        load_game("tic_tac_toe"),
        [player, make_player("random")],
        matches,
        seed=0,
        swap=True,
        tag="m",
        on_illegal=FailurePolicy.parse("random"),
    )
    started = time.perf_counter()
    played = sum(1 for _ in play((job for job, _ in jobs), at_once=AT_ONCE, schedule="streaming"))
    ended = time.perf_counter()
    assert played == matches
    return {
        "requests": len(notes.bodies),
        "idle": notes.idle(started, ended),
        "tokens_per_second": notes.tokens / (ended - started),
    }


async def bare(url: str, notes: Notes) -> dict[str, float]:
    """Send the same requests, each as soon as fewer than 64 are in flight."""
    waiting = iter(notes.bodies)
    tokens = 0

    async def client(http: httpx.AsyncClient) -> None:
        nonlocal tokens
        for body in waiting:
            answer = await http.post("/v1/completions", json=body | {"model": SERVED_NAME})
            answer.raise_for_status()
            tokens += len(answer.json()["choices"][0]["token_ids"])

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=AT_ONCE, keepalive_expiry=2.0)
    async with httpx.AsyncClient(base_url=url, timeout=600.0, limits=limits, trust_env=False) as http:
        started = time.perf_counter()
        await asyncio.gather(*(client(http) for _ in range(AT_ONCE)))
        ended = time.perf_counter()
    assert tokens == notes.tokens, "the same requests were answered with other tokens"
    return {"bare_tokens_per_second": tokens / (ended - started)}
