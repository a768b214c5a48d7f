"""The command `gymposium sb3`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import typer
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import PolicyOption, SeedOption, show_match_bar
from gymposium.cli.resume import is_default
from gymposium.cli.text import make_stdout_console, print_note
from gymposium.errors import BadOption
from gymposium.match.seating import round_up_matches
from gymposium.records.scores import Score
from gymposium.runs.folder import create_run_folder
from gymposium.util.visible import quantity
from gymposium.util.writable import check_writable
from gymposium_sb3.player import Sb3Player
from gymposium_sb3.training import DECISIONS, Algorithm, Settings, evaluate_player, train_policy

MATCHES = 1000
"""Default number of evaluation matches, before rounding up to a multiple of the seats."""

command = typer.Typer(
    add_completion=False, no_args_is_help=True, rich_markup_mode="rich", help="stable-baselines3 on any game."
)


@command.callback()
def _group() -> None:
    """Train stable-baselines3's PPO or MaskablePPO on a game. The result plays as sb3:FILE.zip."""


@command.command("train")
def train_command(
    ctx: typer.Context,
    game: Annotated[str, typer.Argument(metavar="GAME", help="As in gymposium list; parameters may be given.")],
    opponent: Annotated[
        str, typer.Option(metavar="PLAYER", help="The player of every other seat: random, mcts-20, sb3:FILE.zip …")
    ] = "random",
    seat: Annotated[
        str, typer.Option(metavar="SEAT", help="The learner's seat, or random for a different seat in each match.")
    ] = "random",
    algorithm: Annotated[
        Algorithm, typer.Option(help="maskable-ppo chooses among legal moves only; ppo must learn which are legal.")
    ] = "maskable-ppo",
    decisions: Annotated[
        int | None, typer.Option(help="Most decisions of the learner; 100,000 by default.", show_default=False)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="CPU seconds of training, instead of --decisions.")
    ] = None,
    seed: SeedOption = 0,
    on_illegal: PolicyOption = "forfeit",
    out_file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE.zip",
            help="File for the policy; by default in a new folder under gymposium-runs/.",
        ),
    ] = None,
    matches: Annotated[
        int,
        typer.Option(
            "-n",
            "--matches",
            min=1,
            help="Matches of the evaluation at the end. The default is rounded up to a multiple of the seats.",
        ),
    ] = MATCHES,
    as_json: JsonOption = False,
) -> None:
    """Train a policy on the game's tensor with stable-baselines3, then evaluate it with 95% intervals.

    All settings without an option are stable-baselines3's defaults, and the
    network is its MlpPolicy (two layers of 64). Training runs on one CPU thread and downloads nothing. The same seed
    gives the same policy. The policy is evaluated against the training opponent and against random play. Ctrl-C saves
    the current policy.

    The result is an ordinary stable-baselines3 file with a note about the game. It is also a player: sb3:FILE.zip takes
    any seat that it was trained for, in every command and as the opponent in an environment. Playing reads only weights
    and settings. Loading the file with MaskablePPO.load, to train it further, also unpickles Python objects, which can
    run any code. Do this only with your own files.

    Examples:

    \b
    gymposium sb3 train tic_tac_toe --out ttt.zip
    gymposium run tic_tac_toe --players sb3:ttt.zip,mcts-20 -n 200
    gymposium play tic_tac_toe --opponent sb3:ttt.zip
    gymposium sb3 train "connect_four(rows=5,columns=5)" --opponent mcts-20 --decisions 500000
    gymposium sb3 train othello --budget 240
    gymposium sb3 train tic_tac_toe --opponent sb3:ttt.zip --seed 1
    """
    settings = Settings(
        game=game,
        opponent=opponent,
        seat=_parse_seat(seat),
        algorithm=algorithm,
        decisions=decisions,
        budget=budget,
        seed=seed,
        on_illegal=on_illegal,
    )
    loaded = settings.check()
    settings = replace(settings, game=loaded.name)
    if is_default(ctx, "matches"):
        matches = round_up_matches(MATCHES, loaded)
    if settings.seat == "random" and matches % loaded.seats:
        raise BadOption(f"-n {matches}: the {loaded.seats} seats share the matches; give a multiple of {loaded.seats}.")
    path = check_out_path(out_file)
    try:
        with show_match_bar() as bar:
            task, began = (
                bar.add_task(f"{algorithm} on {loaded.name}", total=budget or decisions or DECISIONS),
                process_time(),
            )

            def note_progress(done: int, mean: float) -> None:
                completed = done if budget is None else process_time() - began
                text = f"{algorithm} on {loaded.name}, mean return {mean:+.2f}"
                bar.update(task, completed=completed, description=text)

            played = train_policy(settings, path, note_progress)
    except KeyboardInterrupt:
        print_note(f"Stopped. What was learned so far is in {path}" if path.exists() else "Stopped; nothing is saved.")
        raise typer.Exit(130) from None
    print_note(f"Saved to {path} after {quantity(played, 'decision')}")
    player = Sb3Player(str(path))
    scores: dict[str, Score] = {}
    with show_match_bar() as bar:
        for name in dict.fromkeys((opponent, "random")) if loaded.seats > 1 else ("alone",):
            task = bar.add_task(f"against {name}" if name != "alone" else "alone", total=matches)
            scores[name] = evaluate_player(player, name, loaded, settings, matches, partial(bar.advance, task))
    if as_json:
        data = {name: score.as_dict() for name, score in scores.items()}
        print_json({"player": player.name, "game": loaded.name, "decisions": played, "seed": seed, "opponents": data})
        return
    make_stdout_console().print(
        f"{player.name} at {loaded.name}: {quantity(matches, 'match')} against each, seed {seed}",
        soft_wrap=True,
    )
    make_stdout_console().print(_make_table(scores, alone=loaded.seats == 1))


def _parse_seat(text: str) -> Any:
    """Return a number as an int, and other text unchanged for `Settings.check` to validate."""
    return int(text) if text.isdecimal() else text


def check_out_path(given: Path | None) -> Path:
    """Return the policy's path. Raises `BadOption` unless it is a new, writable zip file."""
    if given is None:
        return create_run_folder("sb3") / "policy.zip"
    if given.suffix != ".zip":
        raise BadOption(f"--out {given}: stable-baselines3 writes zip files. Name a file that ends in .zip.")
    if given.exists():
        raise BadOption(f"--out {given} already exists. Choose another file, or remove it.")
    return check_writable("--out", given)


def _make_table(scores: dict[str, Score], *, alone: bool) -> Table:
    rates = () if alone else ("win", "draw", "loss")
    table = Table("against", *rates, "mean return", "forfeits", box=None)
    for name, score in scores.items():
        rated = (str(score.result_rate(result)) for result in rates)
        table.add_row(name, *rated, str(score.mean_return()), str(score.forfeits))
    return table
