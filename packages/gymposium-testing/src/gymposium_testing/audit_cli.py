"""The command `gymposium audit-env`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import SeedOption, show_match_bar
from gymposium.cli.text import make_stdout_console, print_error, print_note
from gymposium.util.visible import quantity, visible


def audit_environment(
    game: Annotated[str, typer.Argument(metavar="GAME", help="The game, with parameters: 'hex(board_size=4)'")],
    episodes: Annotated[int, typer.Option("-n", "--episodes", min=2, help="Episodes of each agent")] = 100,
    seat: Annotated[int, typer.Option(min=0, help="The agents' seat. Random players have the others")] = 0,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Look for rewards that take no understanding of a game.

    Null agents reply without reading: with nothing, their own prompt, the first legal move, an instruction that they
    have won. If one earns more than random play on equal seeds, in two series of episodes, the environment pays for
    nothing, and training will find it. Also reported: agents that make their opponents forfeit. The exit code is 1 if
    an agent does so and the game's spec gives no reason for it (null_agents).

    Examples:

        gymposium audit-env tic_tac_toe
        gymposium --plugin my_game.py audit-env my_game -n 500
        gymposium audit-env gym:MyEnv-v0
    """
    from gymposium.envs.gym import TextGameEnv
    from gymposium_testing.null_agents import AGENTS, audit

    env = TextGameEnv(game, opponent="random", seat=seat)
    reasons = env.game.spec.null_agents
    with show_match_bar() as bar:
        task = bar.add_task(visible(env.game.name), total=len(AGENTS))
        findings = audit(env, episodes=episodes, seed=seed, each=lambda: bar.advance(task))
    env.close()
    exploits = [one for one in findings if one.is_exploit and one.agent.name not in reasons]
    if as_json:
        print_json(
            {
                "game": env.game.name,
                "episodes": episodes,
                "seed": seed,
                "agents": [
                    {
                        "agent": one.agent.name,
                        "replies": one.agent.what,
                        "return": [one.paid.value, one.paid.low, one.paid.high],
                        "gain": [one.gain.value, one.gain.low, one.gain.high],
                        "opponents_forfeited": one.forfeits,
                        "is_exploit": one.is_exploit,
                        "reason": reasons.get(one.agent.name),
                    }
                    for one in findings
                ],
            }
        )
    else:
        table = Table("agent", "replies with", "mean return", "more than random play", "", box=None)
        for one in findings:
            verdict = "" if not one.is_exploit else "allowed" if one.agent.name in reasons else "EXPLOIT"
            table.add_row(one.agent.name, one.agent.what, str(one.paid), str(one.gain), verdict)
        make_stdout_console().print(table)
        for one in exploits:
            forfeits = f" {quantity(one.forfeits, 'opponent')} forfeited." if one.forfeits else ""
            print_error(
                f"{env.game.name}: replying with {one.agent.what} earns {one.gain.value:+.3f} more than random play."
                f"{forfeits} Stop paying for it, or give the reason in null_agents of the spec."
            )
        print_note(f"{quantity(len(exploits), 'exploit')} in {quantity(len(findings), 'null agent')}.")
    if exploits:
        raise typer.Exit(1)
