"""`gymposium train`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from gymposium.cli.text import out, print_json
from gymposium.errors import BadOption
from gymposium.games.protocol import Style
from gymposium.games.registry import load_game
from gymposium_train.config import ColdStart, Evaluation, Grpo, Lora, TrainConfig
from gymposium_train.directory import RunDirectory
from gymposium_train.progress import say
from gymposium_train.summary import lines

WIDTH = 120
"""Columns that the table of results needs; a narrower terminal wraps its lines."""

_COLD, _GRPO, _LORA, _EVAL = ColdStart(), Grpo(), Lora(), Evaluation()


def command(
    ctx: typer.Context,
    game: Annotated[
        str | None, typer.Option(metavar="GAME", help="As in gymposium list; parameters may be given.")
    ] = None,
    opponent: Annotated[str, typer.Option(metavar="PLAYER", help="Who takes the other seats.")] = "random",
    model: Annotated[
        str | None,
        typer.Option(metavar="DIR|NAME", help="A model directory or hub name. Without it a small one is made."),
    ] = None,
    out_dir: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The run directory; a new one under runs/ by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Everything that is drawn follows from it.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="GRPO steps.")] = _GRPO.steps,
    groups: Annotated[int, typer.Option(min=1, help="Groups in a step; the seats take turns.")] = _GRPO.groups,
    group_size: Annotated[int, typer.Option(min=2, help="Matches in a group.")] = _GRPO.group_size,
    learning_rate: Annotated[float, typer.Option(min=0.0, help="Of the LoRA.")] = _GRPO.learning_rate,
    final_group_size: Annotated[
        int | None,
        typer.Option(min=2, help="Matches in a group of the last step.", show_default="6 x"),
    ] = None,
    entropy: Annotated[
        float, typer.Option(min=0.0, help="Weight of the entropy bonus; it falls to a twentieth.")
    ] = _GRPO.entropy,
    lora_rank: Annotated[int, typer.Option(min=1, help="Rank of the LoRA; its alpha is twice that.")] = _LORA.rank,
    cold_start_steps: Annotated[
        int, typer.Option(min=0, help="SFT steps on winners' random moves; 0 for a model that can answer already.")
    ] = _COLD.steps,
    cold_start_games: Annotated[int, typer.Option(min=1, help="Random matches behind the SFT.")] = _COLD.games,
    prompt: Annotated[Style, typer.Option(help="How much the prompt explains.")] = "compact",
    reply: Annotated[str, typer.Option(help="move, tags or json.")] = "move",
    max_tokens: Annotated[int, typer.Option(min=1, help="Longest reply.")] = 8,
    on_illegal: Annotated[str, typer.Option(metavar="POLICY", help="What a failed reply costs.")] = "forfeit",
    reward: Annotated[
        str,
        typer.Option(
            metavar="REWARD",
            help="What is learned from: returns, score, weighted(accuracy=1,efficiency=0.2), or another of gymposium "
            "list. Measures stay what they are.",
        ),
    ] = "returns",
    eval_opponents: Annotated[
        str, typer.Option("--eval-opponents", metavar="A,B", help="Against whom the model is measured.")
    ] = ",".join(_EVAL.opponents),
    eval_matches: Annotated[int, typer.Option(min=2, help="Matches against the random player.")] = _EVAL.matches,
    search_matches: Annotated[int, typer.Option(min=2, help="Matches against the others.")] = _EVAL.search_matches,
    curve_every: Annotated[int, typer.Option(min=0, help="Steps between points of the curve.")] = _EVAL.curve_every,
    curve_matches: Annotated[
        int, typer.Option(min=1, help="Matches behind each point of the curve.")
    ] = _EVAL.curve_matches,
    checkpoint_every: Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")] = 10,
    control: Annotated[
        bool, typer.Option("--control/--no-control", help="Spend the same CPU time on more SFT, to compare.")
    ] = False,
    resume: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Go on with a run that was interrupted; its settings hold.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON on stdout.")] = False,
) -> None:
    """Train a language model to play a game: cold start, then GRPO on a LoRA, then measures and a report.

    The run directory holds the settings, versions, metrics, every match, checkpoints, and report.html. Ctrl-C
    stops after the step under way; --resume goes on from there.

    Examples:

    \b
    gymposium train --game tic_tac_toe --control
    gymposium train --game kuhn_poker --opponent mcts-50 --steps 40 --out runs/kuhn
    gymposium train --game tic_tac_toe --reward "weighted(accuracy=1,efficiency=0.2)"
    gymposium train --game connect_four --model Qwen/Qwen3-0.6B --cold-start-steps 0 --prompt full --group-size 16
    gymposium train --resume runs/kuhn
    """
    from gymposium_train.run import resume_run, start_run

    if resume is not None:
        given = [name for name in ctx.params if name not in ("resume", "as_json") and _is_given(ctx, name)]
        if given:
            raise BadOption(f"--resume goes on with the run's own settings; leave out {', '.join(sorted(given))}.")
        path = resume
    elif game is None:
        raise BadOption("Say which game: --game tic_tac_toe (gymposium list shows all), or --resume DIR.")
    else:
        path = out_dir or Path("runs") / f"{game.partition('(')[0]}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    say(f"Run directory: {path}")
    try:
        if resume is not None:
            directory = resume_run(path)
        else:
            directory = start_run(
                path,
                TrainConfig(
                    game=load_game(str(game)).name,
                    opponent=opponent,
                    seed=seed,
                    model=model,
                    prompt=prompt,
                    reply=reply,
                    max_tokens=max_tokens,
                    on_illegal=on_illegal,
                    reward=reward,
                    checkpoint_every=checkpoint_every,
                    control=control,
                    cold_start=replace(_COLD, steps=cold_start_steps, games=cold_start_games),
                    grpo=replace(
                        _GRPO,
                        steps=steps,
                        groups=groups,
                        group_size=group_size,
                        final_group_size=final_group_size or group_size * _GRPO.final_group_size // _GRPO.group_size,
                        learning_rate=learning_rate,
                        entropy=entropy,
                        final_entropy=entropy * _GRPO.final_entropy / _GRPO.entropy,
                    ),
                    lora=Lora(rank=lora_rank, alpha=2 * lora_rank),
                    evaluation=replace(
                        _EVAL,
                        opponents=tuple(name.strip() for name in eval_opponents.split(",")),
                        matches=eval_matches,
                        search_matches=search_matches,
                        curve_every=curve_every,
                        curve_matches=curve_matches,
                    ),
                ),
            )
    except KeyboardInterrupt:
        say(f"\nStopped. Go on with:  gymposium train --resume {path}")
        raise typer.Exit(130) from None
    if as_json:
        print_json(directory.results())
    else:
        _show(directory)


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _show(directory: RunDirectory) -> None:
    config, results = RunDirectory.open(directory.path)[1], directory.results()
    table = Table("player", "against", "win", "draw", "loss", "mean return", "failed", box=None)
    for column in table.columns:
        column.no_wrap = True
    for line in lines(config, results):
        draw, loss = (cell.partition(" ")[0] for cell in (line.draw, line.loss))  # all intervals are in the report
        table.add_row(
            line.player, f"{line.opponent} ({line.matches})", line.win, draw, loss, line.mean_return, line.failed
        )
    results_console = out()
    results_console.width = max(results_console.width, WIDTH)
    results_console.print(table)
    spent = [
        f"{name} {results[key]:.0f} s"
        for key, name in (
            ("cold_start_cpu_seconds", "cold start"),
            ("grpo_cpu_seconds", "GRPO"),
            ("control_cpu_seconds", "control"),
        )
        if key in results
    ]
    results_console.print(f"CPU time: {', '.join(spent)}")
    results_console.print(f"Report: {directory.report}")
