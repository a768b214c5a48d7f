"""The command `gymposium plugins check`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer
from rich.table import Column, Table
from rich.text import Text

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import SeedOption, show_match_bar
from gymposium.cli.plugins.list import note_complaints
from gymposium.cli.resume import reject_other_options
from gymposium.cli.text import make_stdout_console, print_error, print_note
from gymposium.errors import BadOption, PluginError
from gymposium.util.visible import quantity, visible


@dataclass(slots=True)
class _CheckOutcome:
    """The outcome of one check on one subject."""

    subject: str
    family: str
    check: str
    result: str
    """`passed`, `failed`, or `does not apply`."""
    message: str = ""


_MARKS: dict[str | None, tuple[str, str]] = {
    "passed": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "does not apply": ("–", "dim"),
    None: ("", ""),
}
"""A result's mark and style in a table. The key None stands for a check that was not run."""


def check_plugins(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Check these plugins, games (with or without parameters), players, rewards, loggers or executors from "
            "gymposium list; default: the files loaded with --plugin, else every installed plugin. The plugin "
            "'builtin' holds all built-in parts",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Use fewer examples, for a result in seconds")] = False,
    thorough: Annotated[bool, typer.Option("--thorough", help="Use more examples; takes minutes per game")] = False,
    matches: Annotated[
        int | None,
        typer.Option("-n", "--matches", min=1, help="Play this many random matches per game; default: 1000"),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="CHECK", help="Run only this check or family of checks")
    ] = None,
    seed: SeedOption = 0,
    list_checks: Annotated[bool, typer.Option("--list", help="List the checks and exit")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the games, players, rewards, loggers and executors of plugins, and explain how to fix failures.

    Each is checked with all examples in its spec. Games: seeds, legal moves, hostile replies, leaks of hidden
    information, prompts, returns, replay, forks, Gymnasium's and PettingZoo's checks, imports and length. Players:
    parsable replies, determined by the seed. Rewards: finite, and equal for equal matches. Loggers: settings, and runs
    that start, resume and close. Executors: the same records as one process. The same seed runs the same checks. The
    exit code is 1 if a check fails.

    The same checks run in pytest, one test each: subclass gymposium_testing.GameConformance, or run
    pytest --pyargs gymposium_testing.suite.

    Examples:

        gymposium --plugin my_game.py plugins check
        gymposium plugins check my_plugin --thorough
        gymposium plugins check "goofspiel(num_cards=5)" --quick
        gymposium plugins check builtin --only length --matches 1000
    """
    from gymposium.envs.registration import register_envs
    from gymposium_testing.registry import CHECKS, Check, Subject

    if list_checks:
        reject_other_options(ctx, "list_checks")
        _print_checks(CHECKS, as_json)
        return
    if quick and thorough:
        raise BadOption("--quick conflicts with --thorough.")
    from gymposium_testing import NORMAL, QUICK, THOROUGH, NotApplicable
    from gymposium_testing.contract import CheckFailed
    from gymposium_testing.subjects import NOTHING_TO_CHECK, find_subjects, list_plugin_subjects, list_plugins

    selected = [check for check in CHECKS if only in (None, check.name, check.family)]
    if not selected:
        raise BadOption(f"Unknown check or family --only {only}. List them:  gymposium plugins check --list")
    note_complaints()
    register_envs()
    effort = QUICK if quick else THOROUGH if thorough else NORMAL
    effort = replace(effort, matches=matches or (effort.matches if quick else 1_000))
    outcomes: list[_CheckOutcome] = []
    subjects: list[Subject] = []
    for plugin in names or list_plugins():
        name = plugin if isinstance(plugin, str) else plugin.name
        try:
            subjects += find_subjects(plugin) if isinstance(plugin, str) else list_plugin_subjects(plugin)
        except PluginError as error:  # the other plugins are still checked
            outcomes.append(_CheckOutcome(name, "plugin", "loads", "failed", str(error)))
    pairs: list[tuple[Subject, Check]] = []
    for subject in subjects:
        checks = [check for check in subject.checks() if check in selected]
        if not checks:
            continue
        try:
            subject.get()
        except CheckFailed as error:
            outcomes.append(_CheckOutcome(subject.label, "plugin", "loads", "failed", str(error)))
        else:
            pairs += [(subject, check) for check in checks]
    if not subjects and not outcomes:
        raise BadOption(NOTHING_TO_CHECK)
    with show_match_bar() as bar:
        task = bar.add_task("", total=len(pairs))
        for subject, check in pairs:
            bar.update(task, description=visible(f"{subject.label}: {check.name}"))
            outcome = _CheckOutcome(subject.label, check.family, check.name, "passed")
            try:
                check.run(subject.get(), seed, effort)
            except NotApplicable as reason:
                outcome.result, outcome.message = "does not apply", str(reason)
            except CheckFailed as error:
                notes = getattr(error, "__notes__", ())  # hypothesis writes its examples there
                outcome.result, outcome.message = "failed", "\n".join([str(error), *notes])
            outcomes.append(outcome)
            bar.advance(task)
    _print_report(outcomes, effort.name, effort.matches, seed, as_json)
    if any(outcome.result == "failed" for outcome in outcomes):
        raise typer.Exit(1)


def _print_report(outcomes: list[_CheckOutcome], effort: str, matches: int, seed: int, as_json: bool) -> None:
    """Print a table of subjects and checks, and then the messages of failed checks."""
    failed = [outcome for outcome in outcomes if outcome.result == "failed"]
    passed = sum(outcome.result == "passed" for outcome in outcomes)
    if as_json:
        print_json(
            {
                "effort": effort,
                "matches": matches,
                "seed": seed,
                "passed": passed,
                "failed": len(failed),
                "checks": [
                    {
                        "subject": outcome.subject,
                        "family": outcome.family,
                        "check": outcome.check,
                        "result": outcome.result,
                        "message": outcome.message or None,
                    }
                    for outcome in outcomes
                ],
            }
        )
        return
    console = make_stdout_console()
    games = list(dict.fromkeys(outcome.subject.removesuffix(" (spec)") for outcome in outcomes))
    for number, game in enumerate(games, start=1):
        console.print(f"{number}  {game}", soft_wrap=True)
    words = sum(max(map(len, column)) + 3 for column in zip(("", ""), *_list_run_checks(outcomes)))
    fit = max(1, (console.width - words) // 4)  # the number of game columns
    for first in range(0, len(games), fit):
        console.print()
        console.print(_make_table(outcomes, games, range(first, min(first + fit, len(games)))))
    for outcome in failed:
        print_error(f"{outcome.subject}, {outcome.check}: {outcome.message}")
    print_note(
        f"{quantity(passed, 'check')} passed, {len(failed)} failed, "
        f"{len(outcomes) - passed - len(failed)} did not apply (–). "
        f"Effort {effort}, seed {seed}, {matches} random matches per game."
    )


def _make_table(outcomes: list[_CheckOutcome], games: list[str], shown: range) -> Table:
    """Return a table of check results, with a column for each game with these indices."""
    table = Table("family", "check", *(Column(str(n + 1), justify="center") for n in shown), box=None)
    results = {(outcome.check, outcome.subject.removesuffix(" (spec)")): outcome.result for outcome in outcomes}
    family = ""
    for its, check in _list_run_checks(outcomes):
        cells = [Text(*_MARKS[results.get((check, games[n]))]) for n in shown]
        table.add_row("" if its == family else its, check, *cells)
        family = its
    return table


def _list_run_checks(outcomes: list[_CheckOutcome]) -> list[tuple[str, str]]:
    """Return the family and name of each check that was run, in the kit's order."""
    from gymposium_testing.registry import CHECKS

    run = {(outcome.family, outcome.check) for outcome in outcomes}
    order = [("plugin", "loads"), *((check.family, check.name) for check in CHECKS)]
    return [pair for pair in order if pair in run]


def _print_checks(checks: Any, as_json: bool) -> None:
    if as_json:
        print_json({"checks": [{"family": c.family, "check": c.name, "of": c.kind, "what": c.summary} for c in checks]})
        return
    table = Table("family", Column("check", no_wrap=True), "what it requires", box=None)
    family = ""
    for check in checks:
        table.add_row("" if check.family == family else check.family, check.name, check.summary)
        family = check.family
    make_stdout_console().print(table)
