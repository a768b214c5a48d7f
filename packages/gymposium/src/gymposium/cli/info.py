"""`gymposium info`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import out, show
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import is_registered, load_game
from gymposium.prompt import prompt_for
from gymposium.reading import reader
from gymposium.streams import stream


def command(
    game: Annotated[str, typer.Argument(metavar="GAME", help="As in gymposium list; parameters may be given.")],
    style: Annotated[str, typer.Option(help="How much the prompts explain: full or compact.")] = "full",
    reply: Annotated[str, typer.Option(help="How a player is to answer: move, tags or json.")] = "move",
    as_json: JsonOption = False,
) -> None:
    """A game's rules, its parameters, and for each seat the prompt of one turn.

    The prompts come from a match of random moves, word for word as a player in that seat reads them. Any
    other OpenSpiel game is openspiel:NAME.

    Examples:

        gymposium info tic_tac_toe
        gymposium info "goofspiel(num_cards=5)" --style compact
        gymposium info kuhn_poker --reply tags --json
    """
    loaded = load_game(game)
    how: Style = style  # type: ignore[assignment]  # prompt_for refuses what is no style
    prompts = example_prompts(loaded, how, reply)
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
                "parameters": [
                    {
                        "name": p.name,
                        "type": type(p.default).__name__,
                        "default": p.default,
                        "value": loaded.params[p.name],
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
    console = out()
    console.print(spec.title, style="bold")
    console.print(spec.summary)
    facts = Table(box=None, show_header=False)
    facts.add_row("name", loaded.name)
    facts.add_row("id", env_id or "none")
    facts.add_row("seats", str(loaded.seats))
    facts.add_row("information", spec.information)
    facts.add_row("moves", "all at once" if spec.dynamics == "simultaneous" else "in turn")
    facts.add_row("chance", "yes" if spec.chance else "no")
    facts.add_row("returns", f"{spec.utility}, from {loaded.utility_range[0]:g} to {loaded.utility_range[1]:g}")
    facts.add_row("decisions", f"{loaded.max_decisions} at most")
    console.print(facts)
    if spec.best_play:
        console.print("\nWhat is known of best play", style="bold")
        console.print(spec.best_play)
    console.print("\nParameters", style="bold")
    if spec.parameters:
        table = Table("name", "type", "allowed", "default", "what it does", box=None)
        for p in spec.parameters:
            table.add_row(p.name, type(p.default).__name__, p.allowed(), str(p.default), p.help)
        console.print(table)
    else:
        console.print("none")
    for seat, prompt in enumerate(prompts):
        console.print(f"\nA turn of seat {seat}, as a player reads it", style="bold")
        show(console, prompt.rstrip("\n"))


_MATCHES = 20
"""Of which a seat should have a turn in one: in poker others may fold before."""


def example_prompts(game: Game, style: Style, reply: str) -> list[str]:
    """One prompt for each seat: its first turn in a match of random moves, or in another one where it had none."""
    write = prompt_for(game, style, reader(reply))
    found: dict[int, str] = {}
    rng = stream(0, "info")
    for seed in range(_MATCHES):
        match = game.new(seed)
        while len(found) < game.seats and (seats := match.to_move()):
            moves = {}
            for seat in seats:
                observation = match.observe(seat, style)
                found.setdefault(seat, write(observation))
                if observation.legal_moves is None:
                    return [found.get(seat, "") for seat in range(game.seats)]
                moves[seat] = rng.choice(observation.legal_moves)
            match.apply(moves)
    return [
        found.get(seat, f"This seat had no turn in {_MATCHES} matches of random moves.") for seat in range(game.seats)
    ]
