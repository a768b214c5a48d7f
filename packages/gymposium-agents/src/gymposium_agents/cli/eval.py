"""`gymposium eval`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Column, Table

from gymposium.cli.matches import (
    RECORD,
    JsonOption,
    PolicyOption,
    RecordOption,
    SeedOption,
    match_bar,
    note_remarks,
    open_record,
    telling_of,
)
from gymposium.cli.text import note, out, print_json, with_interval
from gymposium.failures import FailurePolicy
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.scores import Score
from gymposium_agents.evaluate import evaluate


def command(
    player: Annotated[str, typer.Argument(metavar="PLAYER", help="Who is evaluated, as in gymposium list.")],
    game: Annotated[str, typer.Option(metavar="GAME", help="As in gymposium list; parameters may be given.")],
    opponents: Annotated[
        str, typer.Option("--opponents", metavar="A,B", help="Against whom; unused where a game has one seat.")
    ] = "random,mcts-100",
    matches: Annotated[int, typer.Option("-n", "--matches", min=1, help="Matches against each opponent.")] = 200,
    seed: SeedOption = 0,
    on_illegal: PolicyOption = "forfeit",
    record: RecordOption = RECORD,
    as_json: JsonOption = False,
) -> None:
    """Evaluate one player against others, seats swapped, with 95 % intervals.

    Every match is appended to the record as it ends. A language model is written lm:MODEL, where MODEL is
    a directory or a hub name, or lm:MODEL@ADAPTER with a LoRA on top; it plays greedily and is asked as it
    was trained to be, or else with the compact prompt for the bare move.

    Examples:

    \b
    gymposium eval mcts-100 --game tic_tac_toe --opponents random -n 1000
    gymposium eval lm:runs/first/cold_start@runs/first/adapter --game tic_tac_toe
    gymposium eval lm:Qwen/Qwen3-0.6B --game kuhn_poker --json > score.json
    """
    loaded, policy = load_game(game), FailurePolicy.parse(on_illegal)
    seated = make_player(player)
    names = [name.strip() for name in opponents.split(",")] if loaded.seats > 1 else ["alone"]
    scores: dict[str, Score] = {}
    with telling_of(record), open_record(record) as writer, match_bar() as bar:
        for name in names:
            task = bar.add_task(f"against {name}" if name != "alone" else "alone", total=matches)

            def each(played: Any, task: Any = task) -> None:
                writer.write(played)
                bar.advance(task)

            opponent = make_player(name) if name != "alone" else None
            scores[name] = evaluate(
                seated,
                opponent,
                loaded,
                matches=matches,
                seed=seed,
                tag=f"eval-{seed}-{name}",
                on_illegal=policy,
                each=each,
            )
            if opponent is not None:
                note_remarks([opponent])
    if as_json:
        data = {name: score.as_dict() for name, score in scores.items()}
        print_json({"player": player, "game": loaded.name, "seed": seed, "opponents": data, "record": str(record)})
    else:
        out().print(f"{player} at {loaded.name}: {matches} matches against each, seed {seed}")
        out().print(_table(scores, alone=names == ["alone"]))
    note_remarks([seated])
    note(f"Recorded in {record}")


def _table(scores: dict[str, Score], *, alone: bool) -> Table:
    rates = () if alone else ("win", "draw", "loss")
    reports = list(dict.fromkeys(name for score in scores.values() for name in score.reports))
    shown = [name.replace("_", " ") for name in reports]
    headings = ("against", *rates, "mean return", *shown, "illegal", "unparsable", "cut off")
    # a narrow terminal breaks figures over two lines and cuts no word
    table = Table(*(Column(heading, min_width=max(map(len, heading.split()))) for heading in headings), box=None)
    for name, score in scores.items():
        table.add_row(
            name,
            *(with_interval(score.result_rate(result)) for result in rates),
            with_interval(score.mean_return()),
            *(with_interval(score.mean_report(report)) for report in reports),
            *(f"{score.reading_rate(kind).value:.3f}" for kind in ("illegal", "unparsable", "cut off")),
        )
    return table
