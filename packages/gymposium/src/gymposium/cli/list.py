"""`gymposium list`."""

from __future__ import annotations

from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import out
from gymposium.plugins.host import host


def command(
    as_json: JsonOption = False,
) -> None:
    """The games, players, rewards, loggers and engines on offer, built in or from plugins.

    A game is named as in this list, with parameters in brackets where it has some: goofspiel(num_cards=5).
    The id is for gymnasium.make and pettingzoo.make. Every other OpenSpiel game is openspiel:NAME, in the
    engine's plain text.

    Examples:

        gymposium list
        gymposium list --json
    """
    games, players, rewards = host().games.values(), host().opponents.values(), host().rewards.values()
    loggers, engines = host().loggers.values(), host().engines.values()
    if as_json:
        print_json(
            {
                "games": [
                    {
                        "name": spec.name,
                        "env_id": spec.env_id,
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
            }
        )
        return
    console = out()
    table = Table(title="Games", title_justify="left", box=None)
    for heading in ("game", "id", "seats", "hidden", "title"):
        table.add_column(heading, no_wrap=heading in ("game", "id"), overflow="fold")  # to be copied, so never cut
    for game in games:
        hidden = "yes" if game.information == "imperfect" else ""
        table.add_row(game.name, game.env_id, game.seats_in_words, hidden, game.title)
    console.print(table)
    console.print()
    table = Table("player", "what it does", title="Players", title_justify="left", box=None)
    for player in players:
        table.add_row(player.form, player.summary)
    console.print(table)
    console.print()
    table = Table("reward", "what it pays", title="Rewards", title_justify="left", box=None)
    for reward in rewards:
        table.add_row(reward.form, reward.summary)
    console.print(table)
    for heading, what, specs in (
        ("logger", "where a run's metrics go", loggers),
        ("engine", "what samples a language model's replies", engines),
    ):
        if not specs:  # the core has neither
            continue
        console.print()
        table = Table(heading, what, title=f"{heading.capitalize()}s", title_justify="left", box=None)
        for spec in specs:
            table.add_row(spec.name, spec.summary)
        console.print(table)
