"""The command `gymposium leaderboard rate`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json_text
from gymposium.cli.resume import list_names_to_allow
from gymposium.cli.text import make_stdout_console, print_note
from gymposium.errors import BadOption
from gymposium.plugins.allowed import allow_names
from gymposium.plugins.command_line import format_command_line
from gymposium.util.visible import visible
from gymposium_arena.results import words

if TYPE_CHECKING:
    from gymposium_arena.board import Board
    from gymposium_arena.results.model import GameResult, LostResult, LuckResult, PlayResult, RatedBoard, Results


def _print_schema(wanted: bool) -> None:
    if not wanted:
        return
    from gymposium_arena.results.model import Results

    print(json.dumps(Results.model_json_schema(), indent=2))
    raise typer.Exit


def rate(
    board: Annotated[Path, typer.Argument(metavar="BOARD", help="The board's folder, made by leaderboard run")],
    exact: Annotated[
        list[str] | None,
        typer.Option(
            "--exact",
            metavar="PLAYER",
            help="First compute exact figures for this player in small games and store them beside its entry; "
            "repeatable. Only players that load weights need this",
        ),
    ] = None,
    payoff: Annotated[
        bool,
        typer.Option(
            "--payoff",
            help="Also print pay-off matrices and luck-corrected returns by pairing",
        ),
    ] = False,
    as_json: JsonOption = False,
    schema: Annotated[
        bool,
        typer.Option("--schema", is_eager=True, callback=_print_schema, help="Print the JSON schema of results.json"),
    ] = False,
) -> None:
    """Rate a board's players from their matches, and write results.json.

    Ratings are Elo points above random play, fitted to all matches at once. Games have equal weight on the joint
    board. Intervals have 95% confidence. Players that share a letter cannot be told apart. "≥ 310" means that the
    player never lost a point to lower-rated players, so only a lower bound is known. Equal records give equal files.

    Solo, cooperative and general-sum games have no winner. They are compared by mean return, outside the joint board.

    Examples:

        gymposium leaderboard rate boards/quick
        gymposium leaderboard rate boards/quick --payoff
        gymposium leaderboard rate boards/classic --exact lm:runs/tuned
        gymposium leaderboard rate boards/quick --json > board.json
    """
    from gymposium.records import Record
    from gymposium_arena.board import Board
    from gymposium_arena.results.file import compute_results, format_results, write_results
    from gymposium_arena.schedule import find_unseated_games

    opened = Board.open_for_writing(board)
    for player in exact or ():
        _measure_player(opened, player)
    for reason in find_unseated_games(opened.suite, opened.entries()).values():
        print_note(f"warning: {reason}")
    if not any(isinstance(record, Record) and not record.ending.broke_off for _, record in opened.records()):
        raise BadOption(
            f"{board}: no matches to rate. Play them:  {format_command_line('leaderboard', 'run', '--out', str(board))}"
        )
    results = compute_results(opened)
    if payoff and results.joint is None and all(game.board is None and game.luck is None for game in results.games):
        raise BadOption("--payoff: no game of this board has a share of points. Omit it.")
    path = write_results(opened, results)
    if as_json:
        print_json_text(format_results(results))
    else:
        _print_results(make_stdout_console(), results, payoff)
    if results.unreadable:
        lines = (
            "1 line that is not a record"
            if results.unreadable == 1
            else f"{results.unreadable} lines that are not records"
        )
        print_note(f"warning: left out {lines}. See:  {format_command_line('leaderboard', 'verify', str(board))}")
    print_note(f"Written: {path}")


def _measure_player(board: Board, player: str) -> None:
    from gymposium_arena.yardsticks import write_exact

    for entry in board.entries():
        if player in (entry.player, entry.slug):
            allow_names(*list_names_to_allow((), [entry.player]))  # the user named it
            print_note(f"Measured: {write_exact(board, entry)}")
            return
    raise BadOption(
        f"--exact {player}: the board has no such player. Its players: {', '.join(e.player for e in board.entries())}."
    )


def _print_results(console: Console, results: Results, payoff: bool) -> None:
    def line(text: str) -> None:
        console.print(visible(text), soft_wrap=True)

    labels = words.make_display_names({contender.player: contender.label for contender in results.players})
    line(results.suite.title or results.suite.name)
    for sentence in results.method.notes:
        line(f"  {sentence}")
    if results.joint is not None:
        line(f"\nAll zero-sum games: {', '.join(results.joint_games)}")
        _print_board(line, console, results.joint, labels, payoff)
    for player, games in results.joint_lacks.items():
        line(f"Not on the joint board: {labels[player]} (has not played {', '.join(games)}).")
    for game in results.games:
        line(f"\n{game.title} ({game.game}): {words.describe_counts(game)}")
        if game.board is not None:
            if game.by_return:
                line("Ordered by mean return: this game pays amounts, and ratings only count wins.")
            _print_board(line, console, game.board, labels, payoff)
        else:
            console.print(_make_means_table(game, labels))
        if game.play is not None:
            line("Play alone, without failed replies, and the share of matches without one:")
            console.print(_make_play_table(game.play, labels))
        if game.luck is not None and payoff:
            line(f"{words.describe_correction(game.luck)}:")
            console.print(_make_luck_table(game.luck, labels))
        if game.lost is not None:
            line(f"{words.describe_review(game.lost)}:")
            console.print(_make_lost_table(game.lost, labels))
        for sentence in (
            *words.describe_yardsticks(game.yardsticks, labels),
            *(words.describe_adversary(adversary, labels) for adversary in game.adversaries),
        ):
            line(sentence)
    if legend := [f"{label} is {player}." for player, label in labels.items() if label != player]:
        line("\n" + "\n".join(legend))


def _make_play_table(play: PlayResult, labels: Mapping[str, str]) -> Table:
    table = _make_table("player", "play", "reliability", "effective matches")
    for row in play.players:
        names = visible(labels[row.player])
        table.add_row(names, words.format_rating(row), words.format_mean(row.reliability), f"{row.effective:,.0f}")
    return table


def _make_luck_table(luck: LuckResult, labels: Mapping[str, str]) -> Table:
    table = _make_table("player", "opponent", "matches", "mean return", "corrected")
    for row in luck.pairs:
        names = visible(labels[row.player]), visible(labels[row.opponent])
        table.add_row(*names, str(row.matches), words.format_mean(row.plain), words.format_corrected(row))
    return table


def _make_lost_table(lost: LostResult, labels: Mapping[str, str]) -> Table:
    table = _make_table("player", "moves", "lost per move", "failures", "lost each")
    for row in lost.players:
        failure = "–" if row.per_failure is None else f"{row.per_failure:.3f}"
        loss = words.format_mean(row.per_move, 3)
        table.add_row(visible(labels[row.player]), str(row.moves), loss, str(row.failures), failure)
    return table


def _print_board(
    line: Callable[[str], None], console: Console, board: RatedBoard, labels: Mapping[str, str], payoff: bool
) -> None:
    console.print(_make_board_table(board, labels))
    if board.flip is not None:
        first = labels[board.flip.first]
        line(f"Flip distance: without the decisive {words.format_flip(board)}, {first} would be first.")
    for cycle in board.cycles:
        beats = " beats ".join(labels[player] for player in [*cycle, cycle[0]])
        line(f"A cycle, which no ranking can show: {beats}.")
    for player, others in words.find_paid_less(board).items():
        better_paid = ", ".join(labels[other] for other in others)
        line(f"{labels[player]} is rated above these players, but its mean return is surely lower: {better_paid}.")
    if unrated := [labels[row.player] for row in board.standings if row.place is None]:
        line(f"Not enough data to rate {', '.join(unrated)}: no results connect them with the player rated 0.")
    if payoff:
        line("Share of points, rows against columns:")
        console.print(_make_payoff_table(board, labels))


def _make_board_table(board: RatedBoard, labels: Mapping[str, str]) -> Table:
    paid = any(row.returned is not None for row in board.standings)
    corrected = any(row.corrected is not None for row in board.standings)
    returns = ["return less luck"] if corrected else ["mean return"] if paid else []
    table = _make_table("rank", "player", "group", "rating", "matches", *returns)
    for row in board.standings:
        table.add_row(
            words.format_rank(row.place),
            visible(labels[row.player]),
            words.format_group(row.place),
            words.format_rating(row),
            str(row.matches),
            *([words.format_mean(row.corrected if corrected else row.returned)] if paid else []),
        )
    return table


def _make_means_table(game: GameResult, labels: Mapping[str, str]) -> Table:
    table = _make_table("rank", "player", "group", "mean return", "over the anchor", "matches")
    for row in game.means or ():
        table.add_row(
            words.format_rank(row.place),
            visible(labels[row.player]),
            words.format_group(row.place),
            words.format_mean(row.returned),
            words.format_mean(row.over_anchor),
            str(row.matches),
        )
    return table


def _make_payoff_table(board: RatedBoard, labels: Mapping[str, str]) -> Table:
    table = _make_table("", *(str(number) for number in range(1, len(board.players) + 1)))
    for number, (player, row) in enumerate(zip(board.players, board.payoff, strict=True), start=1):
        table.add_row(
            f"{number} {visible(labels[player])}", *("" if cell is None else f"{cell.share:.2f}" for cell in row)
        )
    return table


def _make_table(*heads: str) -> Table:
    table = Table(box=None)
    for head in heads:
        table.add_column(head, justify="left" if head in ("player", "group", "") else "right", overflow="fold")
    return table
