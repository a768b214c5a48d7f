"""The command `gymposium eval`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.table import Table

from gymposium.cli.executors import AddressOption, ExecutorOption, JobsOption, open_optional_executor
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import ScheduleOption, count_withheld, note_failed_replies, note_repeats
from gymposium.cli.resume import OutOption, ResumeOption, check_settings, list_names_to_allow
from gymposium.cli.series import open_run, play_series
from gymposium.cli.text import make_stdout_console, print_note
from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match import FORFEIT, Schedule, read_schedule
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import make_tag, round_up_matches
from gymposium.players.grammar import reject_person
from gymposium.players.protocol import Player
from gymposium.records import Record
from gymposium.runs.folder import RunFolder, check_run_path
from gymposium.runs.playing import split_names
from gymposium.runs.series import SeatedSeries, seat_series
from gymposium.util.settings import dump_settings
from gymposium.util.visible import quantity
from gymposium_agents.cli.blocks import make_blocks, make_overview
from gymposium_agents.cli.own_server import ServerOptions, check_server_options, find_powerful_options, open_players
from gymposium_agents.players.evaluate import Evaluation, check_share, find_seat
from gymposium_agents.players.presets import Preset, add_defaults, get_preset as find_preset, has_options

DEFAULTS = Preset(
    name="defaults",
    source="",
    game="",
    opponents=("random", "mcts-100"),
    matches=200,
    seed=0,
    on_illegal=FORFEIT,
    player={},
)
"""The settings of an evaluation without a preset. The game has no default."""
ALONE = "alone"
"""The name used in place of an opponent in a single-player game."""


@dataclass(frozen=True, slots=True)
class EvalSettings:
    """The options of an evaluation, as given on the command line."""

    player: str
    game: tuple[str, ...]
    opponents: str | None
    matches: int | None
    seed: int | None
    on_illegal: FailurePolicy | None
    preset: str | None
    exact: bool
    schedule: Schedule
    at_once: int
    start_server: bool
    server_option: tuple[str, ...]


def command(
    ctx: typer.Context,
    player: Annotated[
        str | None, typer.Argument(metavar="PLAYER", help="Evaluate this player (see gymposium list)")
    ] = None,
    game: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GAME", help=("Evaluate in this game, with optional parameters (see gymposium list; repeatable)")
        ),
    ] = None,
    opponents: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help=(
                f"Play against these opponents, except in single-player games. Default: {','.join(DEFAULTS.opponents)}"
            ),
        ),
    ] = None,
    matches: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--matches",
            min=1,
            help=(
                f"Play this many matches against each opponent. Default: {DEFAULTS.matches}, rounded up to a multiple "
                f"of the seats"
            ),
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help=f"Seed all random draws. Default: {DEFAULTS.seed}")] = None,
    on_illegal: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help=(
                f"Set the cost of a reply without a legal move: forfeit, random, retry(n) or penalty(x,k). Default: "
                f"{DEFAULTS.on_illegal}"
            ),
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Use a published protocol: ludic. Other options override its settings"),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help=(
                "Add exact figures by traversing the game tree: score against random, best response, exploitability. "
                "For small two-player games"
            ),
        ),
    ] = False,
    schedule: ScheduleOption = "rounds",
    at_once: Annotated[int, typer.Option(min=1, help="Play this many matches concurrently")] = 512,
    start_server: Annotated[
        bool,
        typer.Option(
            "--start-server",
            help=(
                "Start a vLLM server for the player's model, play through it, and stop it at the end. First run "
                "gymposium engine setup once"
            ),
        ),
    ] = False,
    server_option: ServerOptions = None,
    executor: ExecutorOption = None,
    jobs: JobsOption = None,
    address: AddressOption = None,
    out_dir: OutOption = None,
    resume: ResumeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Evaluate one player against others, seats swapped, with 95% intervals.

    Wins, draws and losses are shares of matches. Illegal, unparsable and cut-off are shares of the player's replies.
    Every match is saved in the run's folder as soon as it is over, and --resume continues an interrupted run. With
    --jobs or --executor, matches are played in worker processes, and a player that crashes forfeits its match.

    A language model is written lm:MODEL, where MODEL is a directory or a hub name, or lm:MODEL@ADAPTER for a model with
    a LoRA. Options follow a question mark. By default, a model trained here gets the prompts and settings of its
    training. Other models get the full prompt, which asks for a move in tags and allows thoughts.

    Examples:

    \b
    gymposium eval mcts-100 --game tic_tac_toe --opponents random -n 1000
    gymposium eval lm:runs/first --game tic_tac_toe
    gymposium eval "lm:Qwen/Qwen3-0.6B?context=full&temperature=0.6" --game kuhn_poker --game leduc_poker
    gymposium eval "lm:runs/first?temperature=0" --game tic_tac_toe --exact
    gymposium eval lm:Qwen/Qwen2.5-7B-Instruct --preset ludic --start-server --schedule streaming
    gymposium eval --resume gymposium-runs/2026-11-23-eval-1
    """
    folder = None
    if resume is not None:
        folder, settings = open_run(ctx, resume, "eval", EvalSettings)
        check_settings(
            settings.game, [settings.player, *(split_names(settings.opponents) if settings.opponents else ())]
        )
        check_server_options(settings.server_option)
    elif player is None:
        raise BadOption("Name a player:  gymposium eval mcts-100 --game tic_tac_toe  (or --resume DIR)")
    else:
        policy = None if on_illegal is None else FailurePolicy.parse(on_illegal)
        options = (opponents, matches, seed, policy, preset, exact, read_schedule(schedule), at_once, start_server)
        settings = EvalSettings(player, tuple(game or ()), *options, tuple(server_option or ()))
        check_run_path(out_dir)
    protocol = None if settings.preset is None else find_preset(settings.preset)
    plan = make_plan(settings, protocol)
    allow = list_names_to_allow(settings.game, [settings.player, *plan.opponents])
    allow += find_powerful_options(settings.server_option)
    results = [(game, opponent, Evaluation.from_game(game)) for game, opponent in plan.pairings]
    exact_figures = None

    def count(number: int, record: Record) -> None:
        pairing, inside = divmod(number, plan.matches)
        game, _, evaluation = results[pairing]
        evaluation.add(record, game, find_seat(inside, game))

    with (
        open_optional_executor(
            executor, jobs, address, schedule=settings.schedule, start_server=settings.start_server
        ) as chosen,
        open_players(plan.players, settings.server_option, start_server=settings.start_server) as made,
    ):
        if settings.exact:
            from gymposium.cli.exact_figures import ExactFigures  # imports a game engine

            exact_figures = ExactFigures.compute(plan.games, made[plan.player], plan.seed)
        folder = folder or RunFolder.create(out_dir, "eval", dump_settings(settings))
        series = plan.seat(made)
        played = play_series(
            folder, series, chosen, count, schedule=settings.schedule, allow=allow, at_once=settings.at_once
        )
        for (loaded, _), one in zip(plan.pairings, series, strict=True):
            note_repeats(loaded, one.players, plan.on_illegal)
    if as_json:
        games = [
            {
                "game": game.name,
                "opponents": {name: evaluation.as_dict() for at, name, evaluation in results if at is game},
                **({} if exact_figures is None else {"exact": exact_figures.as_data(game)}),
            }
            for game in plan.games
        ]
        played_settings = _list_played_settings(plan, protocol, settings.schedule)
        print_json({**played_settings, "games": games, "record": str(folder.matches)})
    elif played.finished:
        _print(plan, protocol, results)
        if exact_figures is not None:
            exact_figures.show(make_stdout_console())
    overall = [evaluation.overall for _, _, evaluation in results]
    note_failed_replies(plan.player, overall, count_withheld([made[plan.player]]))
    print_note(f"Recorded in {folder.matches}")
    played.check(folder, allow)


@dataclass(frozen=True, slots=True)
class Plan:
    """The matches to play, from the options, a preset, or the defaults."""

    player: str
    games: tuple[Game, ...]
    opponents: tuple[str, ...]
    matches: int
    """Number of matches against each opponent."""
    seed: int
    on_illegal: FailurePolicy

    @property
    def pairings(self) -> list[tuple[Game, str]]:
        """Every game with each opponent in it."""
        return [(game, name) for game in self.games for name in (self.opponents if game.seats > 1 else (ALONE,))]

    @property
    def players(self) -> list[str]:
        """The names of all players, without duplicates."""
        return list(dict.fromkeys([self.player, *(name for _, name in self.pairings if name != ALONE)]))

    def seat(self, players: Mapping[str, Player]) -> list[SeatedSeries]:
        """Return the series of matches for each pairing. `players` maps names to players."""
        found = []
        for index, (game, opponent) in enumerate(self.pairings):
            names = [self.player, *[opponent] * (game.seats - 1)]
            one = seat_series(
                make_tag("eval", game.name, self.player, opponent, self.seed, self.on_illegal),
                game,
                names,
                [players[name] for name in names],
                matches=self.matches,
                seed=self.seed,
                swap=True,
                on_illegal=self.on_illegal,
                first=index * self.matches,
                title=f"{game.name} {ALONE if opponent == ALONE else f'against {opponent}'}",
            )
            found.append(one)
        return found


def make_plan(settings: EvalSettings, protocol: Preset | None) -> Plan:
    """Make the plan of these options and this preset. Raises `GymposiumError` for settings that cannot be played."""
    if protocol is None and not settings.game:
        raise BadOption("Name a game with --game tic_tac_toe, or a published protocol with --preset ludic.")
    player, preset = settings.player, protocol or DEFAULTS
    opponents = preset.opponents if settings.opponents is None else split_names(settings.opponents)
    games = tuple(load_game(name) for name in settings.game or (preset.game,))
    _refuse_duplicates("--opponents", opponents)
    _refuse_duplicates("--game", [game.name for game in games])
    plan = Plan(
        add_defaults(player, protocol.player) if protocol is not None and has_options(player) else player,
        games,
        tuple(opponents),
        round_up_matches(preset.matches, *games) if settings.matches is None else settings.matches,
        preset.seed if settings.seed is None else settings.seed,
        preset.on_illegal if settings.on_illegal is None else settings.on_illegal,
    )
    if settings.opponents is not None and all(game.seats == 1 for game in games):
        raise BadOption(f"--opponents {settings.opponents}: all games are single-player ({games[0].name}). Omit it.")
    reject_person("--opponents" if "human" in plan.opponents else "PLAYER", plan.players, games[0].name)
    for loaded in plan.games:
        check_share(plan.matches, loaded)
    return plan


def _refuse_duplicates(option: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadOption(f"{option}: duplicate {name}. Name it once.")


def _list_played_settings(plan: Plan, protocol: Preset | None, schedule: str) -> dict[str, Any]:
    """Return every setting in use, including the preset's."""
    return {
        "player": plan.player,
        "matches": plan.matches,
        "seed": plan.seed,
        "on_illegal": str(plan.on_illegal),
        "schedule": schedule,
        "preset": None
        if protocol is None
        else {**dump_settings(protocol), "changed": list_changed_settings(plan, protocol)},
    }


def list_changed_settings(plan: Plan, protocol: Preset) -> list[str]:
    """Return the names of the preset's settings that are overridden."""
    played = {
        "game": [game.name for game in plan.games] == [protocol.game],
        "opponents": plan.opponents == protocol.opponents,
        "matches": plan.matches == protocol.matches,
        "seed": plan.seed == protocol.seed,
        "on_illegal": plan.on_illegal == protocol.on_illegal,
    }
    options = plan.player.partition("?")[2].split("&")
    return [
        *(name for name, same in played.items() if not same),
        *(name for name, value in protocol.player.items() if options != [""] and f"{name}={value}" not in options),
    ]


def _print(plan: Plan, protocol: Preset | None, results: Sequence[tuple[Game, str, Evaluation]]) -> None:
    console = make_stdout_console()
    name, _, options = plan.player.partition("?")
    if protocol is not None:
        console.print(f"Preset {protocol.name}: {protocol.source}", soft_wrap=True)
        console.print(_make_preset_table(plan, protocol))
        console.print()
    elif options:
        console.print(f"{name} with {options.replace('&', ' ')}\n", soft_wrap=True)
    for number, (game, opponent, evaluation) in enumerate(results):
        if number:
            console.print()
        against = "" if opponent == ALONE else f" against {opponent}"
        seats = "" if game.seats == 1 else ", as many in each seat"
        console.print(f"{name} at {game.name}{against}", soft_wrap=True)
        played = f"{quantity(plan.matches, 'match')}{seats}"
        console.print(f"{played}, seed {plan.seed}, a failed reply: {plan.on_illegal}")
        for table in make_blocks(evaluation):
            console.print()
            console.print(table)
    if len(results) > 1:
        console.print()
        console.print(make_overview(results))


def _make_preset_table(plan: Plan, protocol: Preset) -> Table:
    """Make a table of the settings in use with a preset. Also return the names of the preset's settings that are
    overridden."""
    options = plan.player.partition("?")[2].replace("&", " ")
    shared = any(game.seats > 1 for game in plan.games)
    rows = {
        "games": ", ".join(game.name for game in plan.games),
        **({"opponents": ", ".join(plan.opponents)} if shared else {}),
        "matches": f"{plan.matches} against each, as many in each seat" if shared else str(plan.matches),
        "seed": str(plan.seed),
        "failed reply": str(plan.on_illegal),
        "player": options if has_options(plan.player) else "no language model, so prompt settings are not used",
        "changed": ", ".join(list_changed_settings(plan, protocol)) or "nothing",
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in rows.items():
        table.add_row(f"  {name}", value)
    return table
