"""The tasks: `gymposium/match` for games, `gymposium/world` for worlds with tools."""

from __future__ import annotations

from inspect_ai import Task, task

from gymposium.errors import BadOption
from gymposium.games.registry import load_game
from gymposium.replies.reading import READERS
from gymposium.tasks.tools import list_tools
from gymposium.util.visible import plural, quantity
from gymposium_inspect.messages import declare_tool
from gymposium_inspect.naming import name_in_gymposium
from gymposium_inspect.playing import CALLS, make_prompt, play
from gymposium_inspect.scoring import outcome, report
from gymposium_inspect.seats import make_samples


@task
@name_in_gymposium
def match(
    game: str,
    opponent: str | list[str] = "random",
    matches: int | None = None,
    seed: int = 0,
    seat: int | str = "all",
    reply: str = "move",
    prompt: str = "full",
    on_illegal: str = "forfeit",
) -> Task:
    """Matches of a game against opponents.

    Raises a gymposium error before the first sample if something cannot be played.

    Args:
        game: Name of the game: `tic_tac_toe`, `goofspiel(num_cards=8)`.
        opponent: The player in the other seats, such as `mcts-100`, or a list with one per seat.
        matches: Number of matches, which are the samples. By default 100, or the next multiple of the seats.
        seed: Seed of all random draws. Equal seeds give equal deals and opponents.
        seat: `all` for the seats in turn, or the seat of the model, from 0.
        reply: The form of the model's replies: `move`, `tags` or `json`.
        prompt: The style of the prompts, `full` or `compact`.
        on_illegal: The policy for failed replies: `forfeit`, `random`, `retry(n)`, `penalty(x)` or `penalty(x,k)`.
    """
    if reply not in READERS:
        hint = " For tool calls use the task gymposium/world." if reply == CALLS else ""
        raise BadOption(f"reply={reply!r}: use one of {', '.join(READERS)}.{hint}")
    return _make_task(game, opponent, matches, seed, seat, reply, prompt, on_illegal)


@task
@name_in_gymposium
def world(
    game: str, matches: int | None = None, seed: int = 0, prompt: str = "full", on_illegal: str = "forfeit"
) -> Task:
    """Tasks of a world, which the model solves with its tool calls.

    Raises a gymposium error before the first sample if something cannot be played.

    Args:
        game: Name of the world: `mail`, `tables(rows=40)`.
        matches: Number of tasks, which are the samples; 100 by default.
        seed: Seed of all random draws. Equal seeds give equal tasks.
        prompt: The style of the prompts, `full` or `compact`.
        on_illegal: The policy for replies without a call: `forfeit`, `retry(n)`, `penalty(x)` or `penalty(x,k)`.
    """
    return _make_task(game, "random", matches, seed, 0, CALLS, prompt, on_illegal)


def _make_task(
    game: str,
    opponent: str | list[str],
    matches: int | None,
    seed: int,
    seat: int | str,
    reply: str,
    prompt: str,
    on_illegal: str,
) -> Task:
    opened = load_game(game)
    dataset = make_samples(opened, matches=matches, seed=seed, seat=seat)
    make_prompt(opened, reply, prompt)
    if not isinstance(opponent, str) and len(opponent) != opened.seats - 1:
        raise BadOption(
            f"opponent: {quantity(len(opponent), 'player')} for {opened.seats - 1} other "
            f"{plural(opened.seats - 1, 'seat')}. Give one per seat."
        )
    scorers = [outcome()]
    if tools := list_tools(opened):
        scorers.append(report())
    if reply == CALLS:
        for tool in tools:
            declare_tool(tool)  # refuses a schema that Inspect cannot represent
    return Task(dataset=dataset, solver=play(opponent, reply, prompt, on_illegal), scorer=scorers)
