"""Evaluations by verifiers itself, against a scripted endpoint."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import verifiers.v1 as vf
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

from gymposium.records import Record, verify_file
from gymposium_verifiers import save_records

from .endpoint import Script, endpoint, plays

ID = "gymposium-verifiers"
MODEL = "scripted"


def evaluate(
    folder: Path,
    *,
    script: Script = plays,
    tasks: int = 2,
    rollouts: int = 1,
    resume: bool = False,
    env: Any = None,
    **taskset: Any,
) -> tuple[list[vf.Episode], list[dict[str, Any]]]:
    """The episodes of an evaluation that writes into `folder`, and the requests that the model got. `taskset` are the
    settings of the matches, `env` those of the agents."""
    with endpoint(script) as served:
        config = EvalConfig(
            env={"taskset": {"id": ID, **taskset}, **(env or {})},
            model=MODEL,
            client={"type": "eval", "base_url": served.url, "api_key_var": "NO_KEY"},
            select={"limit": tasks},
            num_rollouts=rollouts,
            push=False,
            rich=None,
            output_dir=folder.parent,
            run={"name": folder.name},
            resume=resume,
        )
        return asyncio.run(run_eval(config)), served.requests


def verified(run: Path) -> list[Record]:
    """The records of a run, each played again with the same outcome."""
    file = run / "matches.jsonl"
    assert save_records(run, file) > 0
    found = verify_file(file)
    assert found.problems == []
    return [Record.parse(line) for line in file.read_text(encoding="utf-8").splitlines()]


def facts(record: Record) -> dict[str, Any]:
    """What a record says of the match itself, without its id and times."""
    turns = [{key: value for key, value in turn.items() if key != "seconds"} for turn in record.turns]
    return {
        "game": record.game,
        "seed": record.seed,
        "players": record.players,
        "events": record.events,
        "turns": turns,
    }


def only_trace(episodes: list[vf.Episode]) -> vf.Trace:
    """The trace of the only episode with one agent."""
    [episode] = episodes
    [trace] = episode.traces
    return trace
