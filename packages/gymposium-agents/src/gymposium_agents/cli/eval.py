"""The command `gymposium eval`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from gymposium.cli.executors import (
    EXECUTOR_OPTIONS,
    AddressOption,
    ExecutorOption,
    JobsOption,
    executor_if_chosen,
)
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import (
    ScheduleOption,
    count_withheld,
    note_failed_replies,
    note_remarks,
    note_repeats,
)
from gymposium.cli.player_crashes import PlayerCrashes
from gymposium.cli.resume import (
    OutOption,
    ResumeOption,
    check_break_offs,
    check_settings,
    open_matches,
    refuse_beside_resume,
    to_allow,
)
from gymposium.cli.spending import Spending
from gymposium.cli.text import note, out
from gymposium.errors import BadOption
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match.failures import FailurePolicy
from gymposium.match.seating import MatchPlan, Series, even_share
from gymposium.players.protocol import Player
from gymposium.plugins.command_line import command_line
from gymposium.runs.executors.protocol import Executor
from gymposium.runs.executors.series import SeriesMatches
from gymposium.runs.folder import RunFolder, check_new
from gymposium.runs.playing import BreakOffs, play_missing, read_schedule, split_names
from gymposium.util.settings import read_settings
from gymposium.util.visible import plural
from gymposium_agents.cli.blocks import blocks, overview
from gymposium_agents.cli.own_server import ServerOptions, check_server_options, powerful_options, seated_players
from gymposium_agents.players.evaluate import Evaluation, check_share, contestants, find_seat
from gymposium_agents.players.presets import Preset, preset as find_preset, takes_options, with_defaults

if TYPE_CHECKING:
    from gymposium.cli.exact_figures import ExactFigures

DEFAULTS = Preset(
    name="defaults",
    source="",
    game="",
    opponents=("random", "mcts-100"),
    matches=200,
    seed=0,
    on_illegal="forfeit",
    player={},
)
"""The settings of an evaluation without a preset. The game has no default."""
ALONE = "alone"
"""The name in place of the opponent's in a single-player game."""


@dataclass(frozen=True, slots=True)
class EvalSettings:
    """The options of an evaluation, as given on the command line."""

    player: str
    game: tuple[str, ...]
    opponents: str | None
    matches: int | None
    seed: int | None
    on_illegal: str | None
    preset: str | None
    exact: bool
    schedule: str
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
    """Evaluate one player against others, seats swapped, with 95 % intervals.

    Wins, draws and losses are shares of matches. Illegal, unparsable and cut-off are shares of the player's replies.
    Every match is saved in the run's folder as soon as it is over, and --resume continues an interrupted run. With
    --jobs or --executor, matches are played in worker processes, and a player that crashes forfeits its match.

    A language model is written lm:MODEL, where MODEL is a directory or a hub name, or lm:MODEL@ADAPTER for a model with
    a LoRA. Options follow a question mark. By default, a model trained here gets the prompts and settings of its
    training. Other models get the full prompt, which asks for a move in tags and allows thoughts.

    Examples:

    \b
    gymposium eval mcts-100 --game tic_tac_toe --opponents random -n 1000
    gymposium eval lm:runs/first/cold_start@runs/first/adapter --game tic_tac_toe
    gymposium eval "lm:Qwen/Qwen3-0.6B?context=full&temperature=0.6" --game kuhn_poker --game leduc_poker
    gymposium eval "lm:runs/first/cold_start@runs/first/adapter?temperature=0" --game tic_tac_toe --exact
    gymposium eval lm:Qwen/Qwen2.5-7B-Instruct --preset ludic --start-server --schedule streaming
    gymposium eval --resume gymposium-runs/2026-11-23-eval-1
    """
    folder = None
    if resume is not None:
        refuse_beside_resume(ctx, EXECUTOR_OPTIONS)
        folder = RunFolder.open(resume, "eval")
        settings: EvalSettings = read_settings(f"{resume}/settings.json", EvalSettings, folder.settings)
        check_settings(
            settings.game, [settings.player, *(split_names(settings.opponents) if settings.opponents else ())]
        )
        check_server_options(settings.server_option)
    elif player is None:
        raise BadOption("Name a player:  gymposium eval mcts-100 --game tic_tac_toe  (or --resume DIR)")
    else:
        options = (opponents, matches, seed, on_illegal, preset, exact, schedule, at_once, start_server)
        settings = EvalSettings(player, tuple(game or ()), *options, tuple(server_option or ()))
        check_new(out_dir)
    protocol = None if settings.preset is None else find_preset(settings.preset)
    plan = make_plan(settings, protocol)
    session = _Session(plan, settings)
    with (
        executor_if_chosen(
            executor, jobs, address, schedule=settings.schedule, start_server=settings.start_server
        ) as chosen,
        seated_players(plan.players, settings.server_option, start_server=settings.start_server) as players,
    ):
        if settings.exact:
            from gymposium.cli.exact_figures import ExactFigures  # imports a game engine

            session.exact = ExactFigures.compute(plan.games, players[plan.player], plan.seed)
        folder = folder or RunFolder.create(out_dir, "eval", asdict(settings))
        with folder.removed_on_error():
            session.play(players, folder, chosen)
        session.crashes.complain(players.values())
        session.spending.note()
        note_remarks(players.values())
        for at, opponent in plan.pairings:
            note_repeats(at, contestants(players[plan.player], players.get(opponent), at), plan.on_illegal)
    if as_json:
        played = _played_settings(plan, protocol, settings.schedule)
        print_json({**played, "games": session.as_data(), "record": str(folder.matches)})
    elif session.finished:
        _print(plan, protocol, session)
    overall = [evaluation.overall for _, _, evaluation in session.results]
    note_failed_replies(plan.player, overall, count_withheld([players[plan.player]]))
    note(f"Recorded in {folder.matches}")
    check_break_offs(session.break_offs, session.finished, folder, session.allow)


@dataclass(frozen=True, slots=True)
class Plan:
    """The matches to play, from the options, a preset, or the defaults."""

    player: str
    games: tuple[Game, ...]
    opponents: tuple[str, ...]
    matches: int
    """Matches against each opponent."""
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

    def tag(self, game: Game, opponent: str) -> str:
        """Return the prefix of a pairing's match ids. It contains a digest of everything that the matches depend on, so
        matches with equal ids are equal."""
        inputs = f"{game.name} {self.player} {opponent} {self.seed} {self.on_illegal}"
        return f"eval-{blake2b(inputs.encode(), digest_size=4).hexdigest()}"


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
        with_defaults(player, protocol.player) if protocol is not None and takes_options(player) else player,
        games,
        tuple(opponents),
        even_share(preset.matches, *games) if settings.matches is None else settings.matches,
        preset.seed if settings.seed is None else settings.seed,
        FailurePolicy.parse(preset.on_illegal if settings.on_illegal is None else settings.on_illegal),
    )
    if settings.opponents is not None and all(game.seats == 1 for game in games):
        raise BadOption(f"--opponents {settings.opponents}: all games are single-player ({games[0].name}). Omit it.")
    if "human" in plan.players:
        raise BadOption(f"A person plays one match at a time:  {command_line('play', games[0].name)}")
    for loaded in plan.games:
        check_share(plan.matches, loaded)
    return plan


def _refuse_duplicates(option: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise BadOption(f"{option}: duplicate {name}. Name it once.")


class _Session:
    """The matches of a plan and their results."""

    def __init__(self, plan: Plan, settings: EvalSettings) -> None:
        self.plan = plan
        self._schedule = read_schedule(settings.schedule)
        self._at_once = settings.at_once
        self.allow = to_allow(settings.game, [settings.player, *plan.opponents])
        self.allow += powerful_options(settings.server_option)
        """The names of the run that need the user's permission."""
        self.break_offs = BreakOffs()
        self.results = [(game, opponent, Evaluation.from_game(game)) for game, opponent in plan.pairings]
        self.exact: ExactFigures | None = None
        self.spending, self.crashes = Spending(), PlayerCrashes()

    def play(self, players: dict[str, Player], folder: RunFolder, executor: Executor | None) -> None:
        """Play the matches missing from the folder, one pairing after the other, and count all matches. Without an
        executor, plays in this process."""
        plan = self.plan
        series = [self._series(players, game, opponent) for game, opponent in plan.pairings]
        matches = MatchPlan(tuple(series))
        numbers = matches.numbers()
        with open_matches(folder, matches, self.allow) as (log, bar):
            for pairing, (game, opponent) in enumerate(plan.pairings):
                first = pairing * plan.matches
                finished = sum(first <= numbers[match_id] < first + plan.matches for match_id in log.finished)
                title = f"{game.name} {ALONE if opponent == ALONE else f'against {opponent}'}"
                task = bar.add_task(title, total=plan.matches, completed=finished)
                names = (plan.player, *[opponent] * (game.seats - 1))
                broken = play_missing(
                    SeriesMatches(series[pairing], names, first),
                    [players[name] for name in names],
                    log,
                    executor,
                    at_once=self._at_once,
                    schedule=self._schedule,
                    advance=partial(bar.advance, task),
                )
                self.break_offs.add(broken)
            for record in log.in_order():
                pairing, number = divmod(numbers[record.id], plan.matches)
                game, _, evaluation = self.results[pairing]
                evaluation.add_record(record, game, find_seat(number, game))
                self.spending.add(record)
                self.crashes.add(record)

    def _series(self, players: dict[str, Player], game: Game, opponent: str) -> Series:
        plan = self.plan
        names = tuple(player.name for player in contestants(players[plan.player], players.get(opponent), game))
        tag, policy = plan.tag(game, opponent), str(plan.on_illegal)
        return Series(tag, game.name, names, plan.matches, plan.seed, swap=True, on_illegal=policy)

    @property
    def finished(self) -> int:
        """Number of matches that have a result."""
        return sum(evaluation.overall.matches for _, _, evaluation in self.results)

    def as_data(self) -> list[dict[str, Any]]:
        """Return one entry per game, with the evaluation against each opponent."""
        return [
            {
                "game": game.name,
                "opponents": {name: evaluation.as_dict() for at, name, evaluation in self.results if at is game},
                **({} if self.exact is None else {"exact": self.exact.as_data(game)}),
            }
            for game in self.plan.games
        ]


def _played_settings(plan: Plan, protocol: Preset | None, schedule: str) -> dict[str, Any]:
    """Return every setting as played, and all of the preset's settings."""
    return {
        "player": plan.player,
        "matches": plan.matches,
        "seed": plan.seed,
        "on_illegal": str(plan.on_illegal),
        "schedule": schedule,
        "preset": None if protocol is None else {**asdict(protocol), "changed": changed(plan, protocol)},
    }


def changed(plan: Plan, protocol: Preset) -> list[str]:
    """Return the names of the preset's settings that are overridden."""
    played = {
        "game": [game.name for game in plan.games] == [protocol.game],
        "opponents": plan.opponents == protocol.opponents,
        "matches": plan.matches == protocol.matches,
        "seed": plan.seed == protocol.seed,
        "on_illegal": str(plan.on_illegal) == protocol.on_illegal,
    }
    options = plan.player.partition("?")[2].split("&")
    return [
        *(name for name, same in played.items() if not same),
        *(name for name, value in protocol.player.items() if options != [""] and f"{name}={value}" not in options),
    ]


def _print(plan: Plan, protocol: Preset | None, session: _Session) -> None:
    console = out()
    name, _, options = plan.player.partition("?")
    if protocol is not None:
        console.print(f"Preset {protocol.name}: {protocol.source}", soft_wrap=True)
        console.print(_explained(plan, protocol))
        console.print()
    elif options:
        console.print(f"{name} with {options.replace('&', ' ')}\n", soft_wrap=True)
    for number, (game, opponent, evaluation) in enumerate(session.results):
        if number:
            console.print()
        against = "" if opponent == ALONE else f" against {opponent}"
        seats = "" if game.seats == 1 else ", as many in each seat"
        console.print(f"{name} at {game.name}{against}", soft_wrap=True)
        played = f"{plan.matches} {plural(plan.matches, 'match')}{seats}"
        console.print(f"{played}, seed {plan.seed}, a failed reply: {plan.on_illegal}")
        for table in blocks(evaluation):
            console.print()
            console.print(table)
    if len(session.results) > 1:
        console.print()
        console.print(overview(session.results))
    if session.exact is not None:
        session.exact.show(console)


def _explained(plan: Plan, protocol: Preset) -> Table:
    """Make a table of every setting of the preset as played, and of the changed ones."""
    options = plan.player.partition("?")[2].replace("&", " ")
    rows = {
        "games": ", ".join(game.name for game in plan.games),
        "opponents": ", ".join(plan.opponents),
        "matches": f"{plan.matches} against each, as many in each seat",
        "seed": str(plan.seed),
        "failed reply": str(plan.on_illegal),
        "player": options if takes_options(plan.player) else "no language model, so prompt settings are not used",
        "changed": ", ".join(changed(plan, protocol)) or "nothing",
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in rows.items():
        table.add_row(f"  {name}", value)
    return table
