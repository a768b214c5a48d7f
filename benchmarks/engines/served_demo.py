"""A language model plays five games through a vLLM server against mcts-25, while the server fails and LoRAs change.

Two of the games have hidden information. In the middle of each game, another LoRA is published and takes over. In the
middle of the third game, SIGKILL ends the server. At the end that game is played again undisturbed, and every move must
be the same. The model has random weights and is not expected to win. A random legal move replaces each invalid reply.
vLLM must be installed: gymposium engine setup.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections import Counter
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.report import about, table, write
from gymposium import load_game, make_player
from gymposium.match import MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import plan_jobs
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import Completion, Policy, Sampling, TokenRequest, TurnTokens
from gymposium_agents.engines.vllm.engine import VllmEngine
from gymposium_agents.engines.vllm.server import run_server
from gymposium_agents.engines.vllm.settings import ServerSettings
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import load_chat, load_model
from gymposium_agents.models.small import make_small_model
from gymposium_agents.players.player import ConcurrentLanguageModelPlayer

NAME = "served-demo"
HEAD = ("game", "win", "draw", "loss", "replies", "not a move", "by v1", "by v2", "tokens", "restarts")
GAMES = ("tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "breakthrough(rows=5,columns=5)")
KILLED = "kuhn_poker"
ADAPTERS = (Policy("learner", 1), Policy("learner", 2))
SIZE = SmallModel(hidden=64, layers=2, heads=2, feed_forward=128, context=2048)


class MistreatedEngine(VllmEngine):
    """Engine that publishes the second adapter and kills its server after a given number of requests."""

    swap_at = kill_at = -1
    asked = 0
    places: dict[Policy, Path] = {}  # noqa: RUF012  # set once, before the first request

    def submit(self, request: TokenRequest, sampling: Sampling) -> Future[Completion]:
        self.asked += 1
        if self.asked == self.swap_at:
            self.publish(self.places[ADAPTERS[1]], ADAPTERS[1])
        future = super().submit(request, sampling)
        server = self._fleet.members[0].connection.server
        if self.asked == self.kill_at and server is not None and server.group is not None:
            os.killpg(server.group, signal.SIGKILL)
        return future


@dataclass
class Outcome:
    """Outcome of one game's matches."""

    results: Counter[str] = field(default_factory=Counter)
    readings: Counter[str] = field(default_factory=Counter)
    policies: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    restarts: int = 0
    played: list[MatchResult] = field(default_factory=list)

    def add(self, played: MatchResult, seat: int) -> None:
        self.played.append(played)
        self.results[played.result(seat)] += 1
        for turn in played.turns:
            if isinstance(turn.trace, TurnTokens):
                self.readings[turn.reading] += 1
                self.policies[str(turn.trace.completion.policy)] += 1
                self.tokens += len(turn.trace.completion.ids)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--matches", type=int, default=16, help="of each game (default: 16)")


def main(given: argparse.Namespace) -> None:
    console = Console(stderr=True, highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        make_small_model(model, [load_game(game).rules(0, "compact") for game in GAMES], seed=0, size=SIZE)
        places = {policy: make_adapter(model, Path(folder) / str(policy), policy.version) for policy in ADAPTERS}
        settings = ServerSettings(str(model), lora_rank=8, kv_cache_gib=1)
        with ExitStack() as stack:
            with console.status("Starting the vLLM server (half a minute)"):
                server = stack.enter_context(run_server(settings))
            stops = frozenset({load_chat(model).end})
            engine = stack.enter_context(MistreatedEngine(server.url, model=str(model), stops=stops))
            engine.places = places
            player = ConcurrentLanguageModelPlayer("lm", engine, load_chat(model), sampling=Sampling(1.0, 8))
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            bar = stack.enter_context(Progress(*columns, console=console))
            found = {game: play_game(game, engine, player, given.matches, bar, kill=game == KILLED) for game in GAMES}
            again = play_game(KILLED, engine, player, given.matches, bar, kill=False)
    lost = [game for game, outcome in found.items() if len(outcome.played) != given.matches]
    same = list_moves(found[KILLED]) == list_moves(again)
    swapped = all(len(outcome.policies) == 2 for outcome in found.values())
    checks = {
        f"all {given.matches} matches of every game were played to their end": not lost,
        "the server was killed, and started again": found[KILLED].restarts == 1,
        f"{KILLED}, killed, has the same moves as {KILLED}, undisturbed": same,
        "both adapters answered in every game": swapped,
    }
    lines = rows(found)
    data = {
        "about": about("gymposium", "gymposium-agents", "torch", "peft", "httpx"),
        "games": [dict(zip(HEAD, line, strict=True)) for line in lines],
        "checks": checks,
    }
    said = "".join(f"- {'yes' if holds else 'NO'}: {what}\n" for what, holds in checks.items())
    write(given.out, "engines-served-demo", data, f"{table(HEAD, lines)}\n{said}")
    if not all(checks.values()):
        sys.exit(1)


def make_adapter(model: Path, directory: Path, seed: int) -> Path:
    """Return a LoRA with random weights."""
    made = attach_lora(load_model(model).model, rank=8, alpha=8, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1, generator=generator)
    made.save_pretrained(directory)
    return directory


def play_game(
    name: str,
    engine: MistreatedEngine,
    player: ConcurrentLanguageModelPlayer,
    matches: int,
    bar: Progress,
    *,
    kill: bool,
) -> Outcome:
    """Play the matches of one game in rounds, so the order of requests does not depend on the clock."""
    engine.publish(engine.places[ADAPTERS[0]], ADAPTERS[0])
    engine.asked, engine.swap_at, engine.kill_at = 0, matches, matches + 3 if kill else -1
    before = engine.recoveries
    outcome, game = Outcome(), load_game(name)
    task = bar.add_task(f"{name}{', killed' if kill else ''}", total=matches)
    seats = {}
    jobs = []
    for job, order in plan_jobs(
        game,
        [player, make_player("mcts-25")],
        matches,
        seed=1,
        swap=True,
        tag="m",
        on_illegal=FailurePolicy.parse("random"),
    ):
        seats[job.id] = order.index(0)
        jobs.append(job)
    for played in play(jobs):
        outcome.add(played, seats[played.job.id])
        bar.advance(task)
    outcome.restarts = engine.recoveries - before
    return outcome


def list_moves(outcome: Outcome) -> dict[str, object]:
    return {played.job.id: (played.events, [turn.text for turn in played.turns]) for played in outcome.played}


def rows(found: dict[str, Outcome]) -> list[list[str]]:
    lines = []
    for game, outcome in found.items():
        replies = sum(outcome.readings.values())
        figures = [*(outcome.results[result] for result in ("win", "draw", "loss")), replies]
        figures += [replies - outcome.readings["move"], *(outcome.policies[str(policy)] for policy in ADAPTERS)]
        lines.append([game, *map(str, [*figures, outcome.tokens, outcome.restarts])])
    return lines
