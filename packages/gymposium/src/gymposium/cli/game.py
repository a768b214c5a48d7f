"""The arguments GAME and NAME=VALUE for verbs that take one game."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from gymposium.errors import BadOption

GameArgument = Annotated[str, typer.Argument(metavar="GAME", help="Game from gymposium list, with optional parameters")]
ParametersArgument = Annotated[
    list[str] | None, typer.Argument(metavar="NAME=VALUE", help="Game parameters, such as num_cards=5")
]


def add_parameters(game: str, parameters: Sequence[str] | None) -> str:
    """Add parameters, each written NAME=VALUE, to a game's name."""
    for parameter in parameters or ():
        name, equals, value = parameter.partition("=")
        if not (name and equals and value):
            raise BadOption(f"Invalid parameter {parameter!r} of {game}. Use NAME=VALUE, such as num_cards=5.")
    if not parameters:
        return game
    given = ",".join(parameters)
    return f"{game[:-1]},{given})" if game.endswith(")") else f"{game}({given})"
