"""gymposium's own games, opponents and commands, by the same hooks that a stranger's plugin uses."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium.plugins.hookspecs import hookimpl
from gymposium.plugins.specs import CommandSpec, GameSpec, OpponentSpec, Parameter


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    yield GameSpec(
        name="tic_tac_toe",
        title="Tic-tac-toe",
        summary="Three in a row on a 3 by 3 board.",
        entry_point="gymposium.games.openspiel.tic_tac_toe:game",
    )
    yield GameSpec(
        name="connect_four",
        title="Connect Four",
        summary="Drop discs into columns; four in a row win.",
        entry_point="gymposium.games.openspiel.connect_four:game",
        parameters=(
            Parameter(name="rows", default=6, low=4, high=12, help="Height of the board."),
            Parameter(name="columns", default=7, low=4, high=12, help="Width of the board."),
            Parameter(name="x_in_row", default=4, low=3, high=6, help="Discs in a row that win."),
        ),
        examples=({}, {"rows": 5, "columns": 4, "x_in_row": 3}),
    )
    yield GameSpec(
        name="kuhn_poker",
        title="Kuhn poker",
        summary="Three cards, one bet: the smallest poker.",
        entry_point="gymposium.games.openspiel.kuhn_poker:game",
        information="imperfect",
        chance=True,
    )
    yield GameSpec(
        name="leduc_poker",
        title="Leduc poker",
        summary="Six cards, two betting rounds, one public card.",
        entry_point="gymposium.games.openspiel.leduc_poker:game",
        information="imperfect",
        chance=True,
    )
    yield GameSpec(
        name="goofspiel",
        title="Goofspiel",
        summary="Bid your cards for prize cards; bids are made at once and stay hidden.",
        entry_point="gymposium.games.openspiel.goofspiel:game",
        parameters=(
            Parameter(name="num_cards", default=13, low=2, high=13, help="Cards in each hand and prizes."),
            Parameter(
                name="points_order",
                default="random",
                choices=("random", "ascending", "descending"),
                help="The order in which the prizes come up.",
            ),
        ),
        examples=({}, {"num_cards": 4, "points_order": "descending"}),
        information="imperfect",
        dynamics="simultaneous",
        chance=True,
    )


@hookimpl
def gymposium_opponents() -> Iterable[OpponentSpec]:
    yield OpponentSpec(
        name="random",
        form="random",
        pattern="random",
        summary="A legal move, uniformly at random.",
        entry_point="gymposium.players.random:RandomPlayer",
    )
    yield OpponentSpec(
        name="mcts",
        form="mcts-N",
        pattern=r"mcts-(?P<simulations>[1-9][0-9]{0,8})",  # more is no number to the engine
        summary="Monte Carlo tree search with N simulations a move; information-set search where cards are hidden.",
        entry_point="gymposium.players.mcts:MctsPlayer",
    )
    yield OpponentSpec(
        name="human",
        form="human",
        pattern="human",
        summary="A person at this terminal.",
        entry_point="gymposium.players.human:HumanPlayer",
    )


@hookimpl
def gymposium_commands() -> Iterable[CommandSpec]:
    for order, (name, module, summary) in enumerate(
        (
            ("list", "list", "The games and players on offer."),
            ("info", "info", "A game's rules, parameters and an example turn."),
            ("play", "play", "Play a game at the terminal."),
            ("run", "run", "Play many matches between players and print the score."),
            ("replay", "replay", "Show recorded matches move by move."),
            ("verify", "verify", "Re-play recorded matches and report what does not agree."),
            ("plugins", "plugins", "The plugins that are installed and what they add."),
        )
    ):
        yield CommandSpec(name=name, summary=summary, entry_point=f"gymposium.cli.{module}:command", order=order)
