"""The command `gymposium list`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import make_stdout_console
from gymposium.errors import UnknownName
from gymposium.plugins.host import host


def command(
    family: Annotated[str | None, typer.Option(help="List only the games of this family")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the games, players, rewards, loggers, engines and executors, built in or from plugins.

    Parameters follow a game's name in parentheses: goofspiel(num_cards=5). The id is for gymnasium.make and
    pettingzoo.make. More OpenSpiel games are available as openspiel:NAME, with the engine's plain text.

    Examples:

        gymposium list
        gymposium list --family cards
        gymposium list --json
    """
    games = [*host().games.values()]
    if family is not None:
        families = dict.fromkeys(spec.family for spec in games)
        if family not in families:
            raise UnknownName("family of games", family, families)
        games = [spec for spec in games if spec.family == family]
    players, rewards = host().opponents.values(), host().rewards.values()
    loggers, engines, executors = host().loggers.values(), host().engines.values(), host().executors.values()
    if as_json:
        print_json(
            {
                "games": [
                    {
                        "name": spec.name,
                        "env_id": spec.env_id,
                        "family": spec.family,
                        "title": spec.title,
                        "summary": spec.summary,
                        "seats": spec.seats,
                        "information": spec.information,
                        "dynamics": spec.dynamics,
                        "chance": spec.chance,
                        "utility": spec.utility,
                        "parameters": [parameter.name for parameter in spec.parameters],
                        "version": spec.version,
                    }
                    for spec in games
                ],
                "players": [{"form": spec.form, "name": spec.name, "summary": spec.summary} for spec in players],
                "rewards": [{"form": spec.form, "name": spec.name, "summary": spec.summary} for spec in rewards],
                "loggers": [{"name": spec.name, "summary": spec.summary} for spec in loggers],
                "engines": [{"name": spec.name, "summary": spec.summary} for spec in engines],
                "executors": [{"name": spec.name, "summary": spec.summary} for spec in executors],
            }
        )
        return
    console = make_stdout_console()
    table = Table(title="Games", title_justify="left", box=None)
    for heading in ("game", "id", "family", "seats", "hidden", "title"):
        table.add_column(heading, no_wrap=heading in ("game", "id"), overflow="fold")  # not truncated, to be copied
    for game in sorted(games, key=lambda spec: spec.family):
        hidden = "yes" if game.information == "imperfect" else ""
        table.add_row(game.name, game.env_id, game.family, game.describe_seats, hidden, game.title)
    console.print(table)
    if family is not None:
        return
    for heading, what, rows in (
        ("player", "what it does", [(spec.form, spec.summary) for spec in players]),
        ("reward", "what it pays", [(spec.form, spec.summary) for spec in rewards]),
        ("logger", "where a run's metrics go", [(spec.name, spec.summary) for spec in loggers]),
        ("engine", "what samples a language model's replies", [(spec.name, spec.summary) for spec in engines]),
        ("executor", "where matches are played", [(spec.name, spec.summary) for spec in executors]),
    ):
        if rows:  # the core has no loggers or engines
            console.print()
            table = Table(heading, what, title=f"{heading.capitalize()}s", title_justify="left", box=None)
            for row in rows:
                table.add_row(*row)
            console.print(table)
