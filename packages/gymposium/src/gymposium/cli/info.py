"""The command `gymposium info`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from gymposium.cli.game import GameArgument, ParametersArgument, add_parameters
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import make_stdout_console, print_text
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import is_registered, load_game
from gymposium.players.random import PHRASES
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader
from gymposium.util.streams import stream


def command(
    game: GameArgument,
    parameters: ParametersArgument = None,
    style: Annotated[str, typer.Option(metavar="full|compact", help="Set the length of the prompts")] = "full",
    reply: Annotated[str, typer.Option(metavar="move|tags|json", help="Set the form of the replies")] = "move",
    as_json: JsonOption = False,
) -> None:
    """Show a game's facts and parameters, and a prompt for each seat.

    The prompts come from a match of random moves. They are exactly what a player in that seat reads. More OpenSpiel
    games are available as openspiel:NAME.

    Examples:

        gymposium info tic_tac_toe
        gymposium info goofspiel num_cards=5 --style compact
        gymposium info kuhn_poker --reply tags --json
    """
    loaded = load_game(add_parameters(game, parameters))
    how: Style = style  # type: ignore[assignment]  # get_prompt rejects unknown styles
    prompts = make_example_prompts(loaded, how, reply)
    spec = loaded.spec
    env_id = spec.env_id if is_registered(loaded.name) else None
    if as_json:
        print_json(
            {
                "name": loaded.name,
                "title": spec.title,
                "summary": spec.summary,
                "env_id": env_id,
                "version": spec.version,
                "seats": loaded.seats,
                "information": spec.information,
                "dynamics": spec.dynamics,
                "chance": spec.chance,
                "utility": spec.utility,
                "utility_range": list(loaded.utility_range),
                "max_decisions": loaded.max_decisions,
                "num_actions": loaded.num_actions,
                "best_play": spec.best_play,
                "presets": {name: spec.full_name(spec.check_params(params)) for name, params in spec.presets.items()},
                "parameters": [
                    {
                        "name": p.name,
                        "type": type(p.default).__name__,
                        "default": p.default,
                        "value": loaded.params.get(p.name, p.default),
                        "low": p.low,
                        "high": p.high,
                        "choices": None if p.choices is None else list(p.choices),
                        "help": p.help,
                    }
                    for p in spec.parameters
                ],
                "rules": [loaded.rules(seat, how) for seat in range(loaded.seats)],
                "prompts": prompts,
            }
        )
        return
    console = make_stdout_console()
    console.print(spec.title, style="bold")
    console.print(spec.summary)
    facts = Table(box=None, show_header=False)
    for fact, value in (
        ("name", loaded.name),
        ("id", env_id or "none"),
        ("seats", str(loaded.seats)),
        ("information", spec.information),
        ("moves", "all at once" if spec.dynamics == "simultaneous" else "in turn"),
        ("chance", "yes" if spec.chance else "no"),
        ("returns", f"{spec.utility}, from {loaded.utility_range[0]:g} to {loaded.utility_range[1]:g}"),
        ("decisions", f"{loaded.max_decisions} at most"),
    ):
        facts.add_row(fact, value)
    console.print(facts)
    if spec.best_play:
        console.print("\nWhat is known of best play", style="bold")
        console.print(spec.best_play)
    if spec.presets:
        console.print("\nPresets", style="bold")
        for preset, params in spec.presets.items():
            console.print(f"{preset}: {spec.full_name(spec.check_params(params))}")
    console.print("\nParameters", style="bold")
    if spec.parameters:
        table = Table("name", "type", "allowed", "default", "what it does", box=None)
        for p in spec.parameters:
            table.add_row(p.name, type(p.default).__name__, p.describe_allowed(), str(p.default), p.help)
        console.print(table)
    else:
        console.print("none")
    for seat, prompt in enumerate(prompts):
        console.print(f"\nA turn of seat {seat}, as a player reads it", style="bold")
        print_text(console, prompt.rstrip("\n"))


_MATCHES = 20
"""Maximum number of random matches to play until each seat has had a turn. In poker, all other seats may fold first."""


def make_example_prompts(game: Game, style: Style, reply: str) -> list[str]:
    """Return the prompt of each seat's first turn, from the first random match where it has one."""
    write = get_prompt(game, style, get_reader(reply))
    prompts: dict[int, str] = {}
    rng = stream(0, "info")
    for seed in range(_MATCHES):
        match = game.new(seed)
        while len(prompts) < game.seats and (seats := match.to_move()):
            moves = {}
            for seat in seats:
                observation = match.observe(seat, style)
                prompts.setdefault(seat, write(observation))
                if observation.legal_moves is None and not game.spec.talk:
                    return [prompts.get(seat, "") for seat in range(game.seats)]
                moves[seat] = rng.choice(observation.legal_moves or PHRASES)
            match.apply(moves)
    return [
        prompts.get(seat, f"This seat had no turn in {_MATCHES} matches of random moves.") for seat in range(game.seats)
    ]
