"""`gymposium leaderboard rate`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from gymposium.allowed import allow
from gymposium.arena.results import words
from gymposium.cli.json_output import JsonOption, print_json_text
from gymposium.cli.text import note, out
from gymposium.errors import BadOption
from gymposium.extras import needs_extra
from gymposium.visible import visible

if TYPE_CHECKING:
    from gymposium.arena.board import Board
    from gymposium.arena.results.model import GameResult, RatedBoard, Results


def _print_schema(wanted: bool) -> None:
    if not wanted:
        return
    with needs_extra("Rating", "arena", "pydantic"):
        from gymposium.arena.results.model import Results
    print(json.dumps(Results.model_json_schema(), indent=2))
    raise typer.Exit


def rate(
    board: Annotated[Path, typer.Argument(metavar="BOARD", help="A board's directory, as leaderboard run makes it.")],
    exact: Annotated[
        list[str] | None,
        typer.Option(
            "--exact",
            metavar="PLAYER",
            help="Measure this player in the suite's small games first, position by position, and keep that beside its "
            "entry; may be given again. For players that have to be loaded: the others are measured anyway.",
        ),
    ] = None,
    payoff: Annotated[bool, typer.Option("--payoff", help="Print the pay-off matrices too.")] = False,
    as_json: JsonOption = False,
    schema: Annotated[
        bool,
        typer.Option("--schema", is_eager=True, callback=_print_schema, help="Print the JSON schema of results.json."),
    ] = False,
) -> None:
    """Rate the players of a board from what they have played, and write results.json.

    Ratings are Elo points above random play, fitted to all matches at once; each game counts alike on the joint
    board. Intervals hold 95 %. Players that share a letter cannot be told apart. "≥ 310" is all that is known of a
    player that never lost a point to those below. Nothing is drawn that is not fixed: equal records give equal files.

    Solo, cooperative and general-sum games have no winner. Their players are compared by mean return, outside the
    joint board.

    Examples:

        gymposium leaderboard rate boards/quick
        gymposium leaderboard rate boards/quick --payoff
        gymposium leaderboard rate boards/classic --exact lm:runs/tuned
        gymposium leaderboard rate boards/quick --json > board.json
    """
    with needs_extra("Rating", "arena", "pydantic"):
        from gymposium.arena.results.file import results_of, results_text, write_results
    from gymposium.arena.board import Board

    opened = Board(board)
    for player in exact or ():
        _measure(opened, player)
    results = results_of(opened)
    path = write_results(opened, results)
    if as_json:
        print_json_text(results_text(results))
    else:
        _print(out(), results, payoff)
    if results.unreadable:
        one = results.unreadable == 1
        told = "1 line is no record and was" if one else f"{results.unreadable} lines are no records and were"
        note(f"warning: {told} left out. See:  gymposium leaderboard verify {board}")
    note(f"Written: {path}")


def _measure(board: Board, player: str) -> None:
    from gymposium.arena.exact_file import write_exact

    for entry in board.entries():
        if player in (entry.player, entry.slug):
            allow(entry.player)  # it was typed
            note(f"Measured: {write_exact(board, entry)}")
            return
    raise BadOption(
        f"--exact {player}: the board has no such player. It has {', '.join(e.player for e in board.entries())}."
    )


def _print(console: Console, results: Results, payoff: bool) -> None:
    def line(text: str) -> None:
        console.print(visible(text), soft_wrap=True)

    labels = words.names({contender.player: contender.label for contender in results.players})
    line(results.suite.title or results.suite.name)
    for sentence in results.method.notes:
        line(f"  {sentence}")
    if results.joint is not None:
        line(f"\nAll games between rivals: {', '.join(results.joint_games)}")
        _print_board(line, console, results.joint, labels, payoff)
    for player, games in results.joint_lacks.items():
        line(f"Not on the joint board: {labels[player]}, which has not played {', '.join(games)}.")
    for game in results.games:
        line(f"\n{game.title} ({game.game}): {words.counts(game)}")
        if game.board is not None:
            _print_board(line, console, game.board, labels, payoff)
        else:
            console.print(_means_table(game, labels))
        for sentence in words.known(game.yardsticks, labels):
            line(sentence)
    if called := [f"{label} is {player}." for player, label in labels.items() if label != player]:
        line("\n" + "\n".join(called))


def _print_board(
    line: Callable[[str], None], console: Console, board: RatedBoard, labels: Mapping[str, str], payoff: bool
) -> None:
    console.print(_board_table(board, labels))
    for ring in board.cycles:
        told = " beats ".join(labels[player] for player in [*ring, ring[0]])
        line(f"A ring, which no list from best to worst can show: {told}.")
    for player, others in words.paid_less(board).items():
        paid_more = ", ".join(labels[other] for other in others)
        line(f"{labels[player]} is rated above, and was surely paid less than: {paid_more}. Ratings count who won.")
    unrated = [labels[row.player] for row in board.standings if row.place is None]
    if unrated:
        line(f"Not enough data to rate {', '.join(unrated)}: no results join them with the player who is rated 0.")
    if payoff:
        line("Share of points, rows against columns:")
        console.print(_payoff_table(board, labels))


def _board_table(board: RatedBoard, labels: Mapping[str, str]) -> Table:
    paid = any(row.returned is not None for row in board.standings)
    table = _table("rank", "player", "group", "rating", "matches", *(["mean return"] if paid else []))
    for row in board.standings:
        cells = [
            words.rank(row.place),
            visible(labels[row.player]),
            words.group(row.place),
            words.rating(row),
            str(row.matches),
        ]
        table.add_row(*cells, *([words.mean(row.returned)] if paid else []))
    return table


def _means_table(game: GameResult, labels: Mapping[str, str]) -> Table:
    table = _table("rank", "player", "group", "mean return", "over the anchor", "matches")
    for row in game.means or ():
        table.add_row(
            words.rank(row.place),
            visible(labels[row.player]),
            words.group(row.place),
            words.mean(row.returned),
            words.mean(row.over_anchor),
            str(row.matches),
        )
    return table


def _payoff_table(board: RatedBoard, labels: Mapping[str, str]) -> Table:
    table = _table("", *(str(number) for number in range(1, len(board.players) + 1)))
    for number, (player, row) in enumerate(zip(board.players, board.payoff, strict=True), start=1):
        table.add_row(
            f"{number} {visible(labels[player])}", *("" if cell is None else f"{cell.share:.2f}" for cell in row)
        )
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None)
    for head in heads:
        table.add_column(head, justify="left" if head in ("player", "group", "") else "right", overflow="fold")
    return table
