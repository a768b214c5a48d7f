"""The command `gymposium audit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import make_stdout_console, print_note, print_text
from gymposium.errors import BadOption
from gymposium.util.lines import LineWriter
from gymposium.util.visible import quantity, visible
from gymposium.util.writable import check_writable

if TYPE_CHECKING:
    from gymposium_arena.audit import Audit
    from gymposium_arena.audit.ratings import AgentRow, Rating


def command(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG|DIR", help="Log files, or folders of log files")],
    agents: Annotated[
        str,
        typer.Option(metavar="NAME,NAME", help="Name the agent in each seat, for logs without names"),
    ] = "",
    to: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write the episodes' records to DIR/matches.jsonl"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Replay episodes from other libraries' logs, report mismatches, and rate the agents.

    Supported logs: inspect_ai (.eval or .json, from tasks that gymposium-inspect played), TextArena episodes (lines in
    the format textarena-episode-1), OpenSpiel 2 trajectories (pyspiel.Trajectory(state).to_string()), and
    kaggle-environments episodes (env.toJSON() of connectx and open_spiel_*), and ATIF trajectories (written by
    gymposium export). A file holds one JSON object, or one per line. These libraries need not be installed, and nothing
    that a log names is imported or opened.

    gymposium's driver replays every move, failure and chance outcome, and compares the results with the log. The
    first mismatch in each episode is reported. Episodes with a mismatch are left out of the tables and of --out.

    The tables count results, and forfeits by cause: illegal moves, replies without a move (unparsable), truncated
    replies, timeouts, full contexts and crashes. Ratings are Elo points by game, with 95% intervals. The agent
    "random", or else the first agent, is rated 0.

    The exit code is 0 if every episode matches, else 1. A log that ends early matches, and is reported as unfinished.

    Examples:

        gymposium audit logs/*.eval
        gymposium audit episodes.jsonl --agents gpt-x,random --out audited
        gymposium verify audited && gymposium view audited
    """
    from gymposium_arena.audit import audit_logs
    from gymposium_arena.audit.ratings import compute_ratings, make_rows

    names = [name.strip() for name in agents.split(",")] if agents else []
    if not all(names):
        raise BadOption(f"--agents {agents}: give one name per seat, separated by commas.")
    if to is not None:
        check_writable("--out", to)
    audit = audit_logs(logs, agents=names)
    named = sum(record.players != names for record in audit.records)
    if names and named:
        print_note(f"--agents does not apply to {quantity(named, 'episode')}: the logs name the agents.")
    rows, ratings = make_rows(audit.episodes), compute_ratings(audit.records)
    if to is not None:
        _write_records(audit, to)
    if as_json:
        print_json(_to_json(audit, rows, ratings))
    else:
        _print_audit(audit, rows, ratings)
    if audit.problems:
        raise typer.Exit(1)


def _write_records(audit: Audit, folder: Path) -> None:
    path = folder / "matches.jsonl"
    if path.exists():
        raise BadOption(f"{path} exists. Choose another folder with --out.")
    with LineWriter(path) as file:
        file.append_lines(*(record.line() for record in audit.records))
    print_note(f"Written: {path}")


def _to_json(audit: Audit, rows: Sequence[AgentRow], ratings: Sequence[Rating]) -> dict[str, Any]:
    return {
        "episodes": [
            {
                "where": episode.where,
                "format": episode.format,
                "id": episode.id,
                "game": episode.game,
                "agents": list(episode.agents),
                "agrees": episode.agrees,
                "unfinished": episode.unfinished,
                "returns": None if episode.record is None else episode.record.returns,
                "failures": dict(episode.failures),
                "problems": episode.problems,
            }
            for episode in audit.episodes
        ],
        "agents": [
            {
                "game": row.game,
                "agent": row.agent,
                "matches": row.matches,
                "results": dict(row.results),
                "mean_return": row.returned / row.matches if row.matches else None,
                "failures": dict(row.failures),
                "asked_again": dict(row.retried),
            }
            for row in rows
        ],
        "ratings": [asdict(rating) for rating in ratings],
        "problems": len(audit.problems),
    }


def _print_audit(audit: Audit, rows: Sequence[AgentRow], ratings: Sequence[Rating]) -> None:
    console = make_stdout_console()
    for where, problem in audit.problems:
        print_text(console, f"{where}: {problem}", "red")
    agree = sum(episode.agrees for episode in audit.episodes)
    unfinished = sum(episode.agrees and bool(episode.unfinished) for episode in audit.episodes)
    ends = f", {unfinished} unfinished" if unfinished else ""
    noun = "episode" if len(audit.episodes) == 1 else "episodes"
    differ = f"; {len(audit.episodes) - agree} not" if agree < len(audit.episodes) else ""
    print_text(console, f"{len(audit.episodes)} {noun}: {agree} replayed as logged{ends}{differ}.")
    for episode in audit.episodes:
        if episode.agrees and episode.unfinished:
            print_text(console, f"unfinished: {episode.where}: {episode.unfinished}", "yellow")
    if rows:
        console.print(_make_results_table(rows))
    if any(row.failures or row.retried for row in rows):
        console.print(_make_failures_table(rows))
    if ratings:
        console.print(_make_ratings_table(ratings))


def _make_results_table(rows: Sequence[AgentRow]) -> Table:
    table = _make_table("game", "agent", "matches", "win", "draw", "loss", "mean return", title="Results")
    for row in rows:
        mean = f"{row.returned / row.matches:+.3f}" if row.matches else "–"
        counts = (str(row.results[result]) for result in ("win", "draw", "loss"))
        table.add_row(visible(row.game), visible(row.agent), str(row.matches), *counts, mean)
    return table


def _make_failures_table(rows: Sequence[AgentRow]) -> Table:
    from gymposium_arena.audit.logged_match import CAUSES

    causes = [cause for cause in CAUSES if any(row.failures[cause] for row in rows)]
    table = _make_table("game", "agent", *causes, "asked again", title="Forfeits by cause")
    for row in rows:
        if row.failures or row.retried:
            counts = [str(row.failures[cause]) for cause in causes]
            again = ", ".join(f"{count} {cause}" for cause, count in row.retried.items()) or "0"
            table.add_row(visible(row.game), visible(row.agent), *counts, again)
    return table


def _make_ratings_table(ratings: Sequence[Rating]) -> Table:
    table = _make_table("game", "agent", "rating", "matches", title="Ratings with 95% intervals")
    for row in ratings:
        table.add_row(visible(row.game), visible(row.agent), _format_rating(row), str(row.matches))
    return table


def _format_rating(row: Rating) -> str:
    if row.value is None:
        return "not enough data"
    if row.agent == row.anchor:
        return "0"
    if row.low is None or row.high is None:
        return f"≤ {row.high:.0f}" if row.high is not None else f"≥ {row.low or 0:.0f}"
    return f"{row.value:.0f} [{row.low:.0f}, {row.high:.0f}]"


def _make_table(*heads: str, title: str) -> Table:
    table = Table(box=None, title=title, title_justify="left", title_style="bold")
    for head in heads:
        table.add_column(head, justify="left" if head in ("game", "agent") else "right", overflow="fold")
    return table
