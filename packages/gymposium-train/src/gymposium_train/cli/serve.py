"""The command `gymposium serve`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gymposium.cli.json_output import JsonOption
from gymposium.cli.listening import NamesOption
from gymposium.cli.resume import OutOption, ResumeOption, refuse_beside_resume
from gymposium.errors import BadOption
from gymposium.players.grammar import make_player
from gymposium.runs.folder import check_new
from gymposium.util.extras import needs_extra
from gymposium_train.cli.backend import BackendOption, BaseUrlOption
from gymposium_train.cli.naming import naming, typed_options
from gymposium_train.cli.running import MetricsOption, config_of, do_run, show_plan, shown_metrics
from gymposium_train.config import TrainConfig
from gymposium_train.config.engine import engine_of
from gymposium_train.serving.settings import SessionSettings

STEPS = 100
"""Default number of steps of training."""
_SERVED: dict[str, Any] = {
    "source": {"kind": "sessions"},
    "engine": {"staleness": 1},
    "reward": "posted",
    "steps": STEPS,
    "credit": {"kind": "grpo"},
}
"""The settings of a run that is served, where a config or an option does not say otherwise."""


def command(
    ctx: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG.toml|NAME=VALUE",
            help="A config file, and single settings, which override the file, as for gymposium train.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|NAME",
            help="A model directory or hub name. By default a small model is made, which has to be taught the form of "
            "replies by a --game.",
        ),
    ] = None,
    backend: BackendOption = None,
    base_url: BaseUrlOption = None,
    game: Annotated[
        list[str] | None,
        typer.Option(metavar="GAME", help="A game in which the model is measured before and after. May be repeated."),
    ] = None,
    steps: Annotated[int | None, typer.Option(help=f"Steps of training; {STEPS} by default.")] = None,
    groups: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Begin a step as soon as N groups are complete. By default a client asks for each step."
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help="Start this agent for each session, with OPENAI_BASE_URL set, so that it needs no change. Needs "
            "--reward.",
        ),
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(
            metavar="FUNCTION", help="The function that gives the reward of such a session, as rewards.py:score."
        ),
    ] = None,
    only: Annotated[
        Literal["model"] | None,
        typer.Option(
            help="model: serve completions at /v1 alone, without sessions and training. --model then takes what "
            "stands behind lm: in a player, as in DIR@ADAPTER?temperature=0.7; greedy by default."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random numbers; 0 by default.")] = None,
    host: Annotated[
        str | None,
        typer.Option(help="The address to listen on, 127.0.0.1 by default. All but loopback addresses need a token."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="The port to listen on, 8750 by default; 0 takes any free port.")
    ] = None,
    name: NamesOption = None,
    out_dir: OutOption = None,
    resume: ResumeOption = None,
    metrics: MetricsOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print all settings, as a config file, and what the run would do.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model from what the agents of others do with it.

    An agent in any language, with any library that speaks OpenAI's chat completions, plays in its own process. It
    begins a session (POST /v1/sessions), gives the session's base_url to its library, and ends the session with a
    reward. Sessions of the same task form a group. POST /v1/train begins a step of training on the groups that are
    complete, and new sessions are then answered by the new weights. gymposium.http.client does all that in Python.

    The server keeps the tokens, so nothing is tokenized twice: a session is one row of tokens if its messages only
    grow. Sessions are in the run's directory before they are answered; --resume goes on after any interruption.

    Elsewhere than on loopback every request needs the token of the environment variable GYMPOSIUM_SERVE_TOKEN; a
    session's base_url opens that session only.

    Examples:

    \b
    gymposium serve --model HuggingFaceTB/SmolLM2-135M-Instruct --out runs/mine
    gymposium serve --game tic_tac_toe --groups 16 --steps 50
    gymposium serve --model runs/first/model optimizer.learning_rate=1e-5 rollout.group_size=8
    gymposium serve --model runs/first/model --run "python my_agent.py" --reward rewards.py:score
    gymposium serve --only model --model runs/first/model --port 8000
    gymposium serve --resume runs/mine
    """
    with needs_extra("gymposium serve", "gymposium-train[serve]", "gymposium_viewer", "starlette", "uvicorn"):
        from gymposium.http.listening import TOKEN, check_address
    if resume is not None:
        refuse_beside_resume(ctx, {"metrics"})
        do_run(None, resume, metrics, as_json=as_json)
        return
    options = typed_options(
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
            "--host": (("source", "host"), host),
            "--port": (("source", "port"), port),
            "--name": (("source", "names"), name),
        }
    )
    engine = {**_SERVED["engine"], "kind": "own" if backend in (None, "local") else engine_of(backend)}
    with naming(options):
        config = config_of(None, arguments or [], options, {**_SERVED, "engine": engine})
        if isinstance(config.source, SessionSettings):
            check_address(config.source.host, os.environ.get(TOKEN), TOKEN)
            _check_at_hand(config.source)
        if only is not None:
            _serve_model(config)
        elif dry_run:
            shown_metrics(metrics)
            show_plan(config, as_json=as_json)
        else:
            check_new(out_dir)
            do_run(config, out_dir, metrics, as_json=as_json)


def _check_at_hand(source: SessionSettings) -> None:
    """Raise `BadOption` before anything is written if the command or the function of `--run` is not there."""
    if source.run is not None and source.scores is not None:
        from gymposium_train.serving.commands import command_of, score_function  # imports torch

        command_of(source.run)
        score_function(source.scores)


def _serve_model(config: TrainConfig) -> None:
    """Serve the named model until interrupted."""
    from gymposium_agents.players.player import LanguageModelPlayer  # imports torch
    from gymposium_train.serving.server import serve_model

    if config.model.name is None:
        raise BadOption("--only model: name the model that is to be served, with --model.")
    assert isinstance(config.source, SessionSettings), "the base of the config says so"
    player = make_player(f"lm:{config.model.name}")
    assert isinstance(player, LanguageModelPlayer), "lm: is a language model"
    name = Path(re.split("[@?]", config.model.name)[0]).name
    serve_model(player, name, config.source, config.seed)
