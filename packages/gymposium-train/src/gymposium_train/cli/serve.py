"""The command `gymposium serve`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gymposium.cli.json_output import JsonOption
from gymposium.cli.listening import NamesOption
from gymposium.cli.resume import OutOption, ResumeOption, reject_options_beside_resume
from gymposium.errors import BadOption
from gymposium.players.grammar import make_player
from gymposium.runs.folder import check_run_path
from gymposium.util.extras import require_extra
from gymposium_train.cli.backend import BackendOption, BaseUrlOption
from gymposium_train.cli.naming import make_overrides, name_options
from gymposium_train.cli.running import MetricsOption, make_config, parse_metrics, run_training, show_plan
from gymposium_train.config import TrainConfig
from gymposium_train.config.engine import find_engine
from gymposium_train.serving.settings import SessionSettings

STEPS = 100
"""Default number of training steps."""
_SERVED: dict[str, Any] = {
    "source": {"kind": "sessions"},
    "engine": {"staleness": 1},
    "reward": "posted",
    "steps": STEPS,
    "credit": {"kind": "grpo"},
}
"""Defaults for the settings of a served run. A config or an option overrides them."""


def command(
    ctx: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG.toml|NAME=VALUE",
            help=(
                "Read settings from a config file and from NAME=VALUE, which overrides the file, as in gymposium train"
            ),
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|NAME",
            help=(
                "Serve this model directory or hub name. By default, make a small model, which needs a --game to "
                "learn the form of replies"
            ),
        ),
    ] = None,
    backend: BackendOption = None,
    base_url: BaseUrlOption = None,
    game: Annotated[
        list[str] | None,
        typer.Option(metavar="GAME", help="Evaluate the model in this game before and after (repeatable)"),
    ] = None,
    steps: Annotated[int | None, typer.Option(help=f"Set the number of training steps. Default: {STEPS}")] = None,
    groups: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Begin a step as soon as N groups are complete. By default, a client requests each step"
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help=(
                "Start this agent for each session with OPENAI_BASE_URL and ANTHROPIC_BASE_URL set, so that it needs "
                "no change. Needs --reward"
            ),
        ),
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(metavar="FUNCTION", help="Reward such a session with this function, for example rewards.py:score"),
    ] = None,
    only: Annotated[
        Literal["model"] | None,
        typer.Option(
            metavar="model",
            help=(
                "model: only serve completions at /v1, without sessions and training. --model then takes the part of "
                "a player after lm:, such as DIR@ADAPTER?temperature=0.7 (greedy by default)"
            ),
        ),
    ] = None,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict",
            help="Refuse requests that ask for another way of sampling, such as top_p, instead of overriding it",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed all random numbers. Default: 0")] = None,
    host: Annotated[
        str | None,
        typer.Option(help="Listen on this address. All but loopback addresses need a token. Default: 127.0.0.1"),
    ] = None,
    port: Annotated[int | None, typer.Option(help="Listen on this port (0 for any free port). Default: 8750")] = None,
    name: NamesOption = None,
    out_dir: OutOption = None,
    resume: ResumeOption = None,
    metrics: MetricsOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all settings as a config file, and what the run would do")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model on its use by external agents.

    An agent in any language, with any library that speaks to OpenAI or Anthropic, plays in a separate process. It
    begins a session (POST /v1/sessions), passes the session's base_url to its library, and ends the session with a
    reward. Sessions of the same task form a group. POST /v1/train begins a training step on the complete groups. New
    sessions are then answered by the new weights. In Python, gymposium.http.client does all that.

    The server keeps the tokens and never retokenizes them. A session is one row of tokens if its messages are only
    appended to. Sessions are saved in the run's directory before they are answered, so --resume continues after any
    interruption.

    Except on loopback, every request needs the token in the environment variable GYMPOSIUM_SERVE_TOKEN. A session's
    base_url opens only that session.

    Examples:

    \b
    gymposium serve --model HuggingFaceTB/SmolLM2-135M-Instruct --out runs/mine
    gymposium serve --game tic_tac_toe --groups 16 --steps 50
    gymposium serve --model runs/first/model optimizer.learning_rate=1e-5 rollout.group_size=8
    gymposium serve --model runs/first/model --run "python my_agent.py" --reward rewards.py:score
    gymposium serve --only model --model runs/first/model --port 8000
    gymposium serve --resume runs/mine
    """
    with require_extra("gymposium serve", "gymposium-train[serve]", "gymposium_viewer", "starlette", "uvicorn"):
        from gymposium.http.listening import TOKEN, check_address
    if resume is not None:
        reject_options_beside_resume(ctx, {"metrics"})
        run_training(None, resume, metrics, as_json=as_json)
        return
    options = make_overrides(
        {
            "--game": (("games",), game),
            "--model": (("model", "name"), model),
            "--backend": (("backend", "kind"), backend),
            "--base-url": (("backend", "base_url"), base_url),
            "--steps": (("steps",), steps),
            "--seed": (("seed",), seed),
            "--groups": (("source", "groups"), groups),
            "--run": (("source", "run"), run),
            "--reward": (("source", "scores"), reward),
            "--strict": (("source", "strict"), strict),
            "--host": (("source", "host"), host),
            "--port": (("source", "port"), port),
            "--name": (("source", "names"), name),
        }
    )
    engine = {**_SERVED["engine"], "kind": "own" if backend in (None, "local") else find_engine(backend)}
    with name_options(options):
        config = make_config(None, arguments or [], options, {**_SERVED, "engine": engine})
        if isinstance(config.source, SessionSettings):
            check_address(config.source.host, os.environ.get(TOKEN), TOKEN)
            _check_command(config.source)
        if only is not None:
            _serve_model(config)
        elif dry_run:
            parse_metrics(metrics)
            show_plan(config, as_json=as_json)
        else:
            check_run_path(out_dir)
            run_training(config, out_dir, metrics, as_json=as_json)


def _check_command(source: SessionSettings) -> None:
    """Raise `BadOption` before anything is written if the command or the function of `--run` cannot be found."""
    if source.run is not None and source.scores is not None:
        from gymposium_train.serving.commands import load_score_function, parse_command  # imports torch

        parse_command(source.run)
        load_score_function(source.scores)


def _serve_model(config: TrainConfig) -> None:
    """Serve the named model until interrupted."""
    from gymposium_agents.players.player import LanguageModelPlayer  # imports torch
    from gymposium_train.serving.server import serve_model

    if config.model.name is None:
        raise BadOption("--only model needs a model to serve. Name it with --model.")
    assert isinstance(config.source, SessionSettings), "the config's base sets this"
    player = make_player(f"lm:{config.model.name}")
    assert isinstance(player, LanguageModelPlayer), "lm: is a language model"
    name = Path(re.split("[@?]", config.model.name)[0]).name
    serve_model(player, name, config.source, config.seed)
