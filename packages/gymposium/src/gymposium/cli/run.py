"""The command `gymposium run`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from typing import Annotated, Any

import typer
from rich.table import Table

from gymposium.cli.executors import (
    EXECUTOR_OPTIONS,
    AddressOption,
    ExecutorOption,
    JobsOption,
    executor_if_chosen,
    play_missing,
)
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import (
    PolicyOption,
    ScheduleOption,
    SeedOption,
    note_cut_off,
    note_remarks,
    read_schedule,
)
from gymposium.cli.resume import (
    OutOption,
    ResumeOption,
    check_settings,
    command_line,
    matches_of,
    refuse_beside_resume,
    to_allow,
)
from gymposium.cli.text import note, out, with_interval
from gymposium.ending import FAILURES
from gymposium.errors import BadOption
from gymposium.executors.protocol import Executor
from gymposium.executors.series import SeriesMatches
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.runs.folder import RunFolder, check_new
from gymposium.scores import Score
from gymposium.seating import MatchPlan, Series, seats_of
from gymposium.settings import read_settings
from gymposium.watchdog import Watchdog

AT_ONCE = 256
"""Number of matches that are played side by side."""
_RESULTS = ("win", "draw", "loss")
_FAILURES = ("illegal", "unparsable", "cut off")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that decide which matches a run plays, and how."""

    game: str
    players: str
    matches: int
    seed: int
    swap: bool
    on_illegal: str
    watchdog: float | None
    schedule: str


def command(
    ctx: typer.Context,
    game: Annotated[
        str | None, typer.Argument(metavar="GAME", help="A game of gymposium list, with or without parameters.")
    ] = None,
    players: Annotated[
        str | None, typer.Option("--players", metavar="A,B", help="One player of gymposium list for each seat.")
    ] = None,
    matches: Annotated[int, typer.Option("-n", "--matches", min=1, help="Number of matches.")] = 100,
    seed: SeedOption = 0,
    swap: Annotated[
        bool, typer.Option("--swap/--no-swap", help="Whether players change seats from match to match.")
    ] = True,
    on_illegal: PolicyOption = "forfeit",
    watchdog: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Wall-clock limit for each answer; a player that is late forfeits."),
    ] = None,
    schedule: ScheduleOption = "rounds",
    executor: ExecutorOption = None,
    jobs: JobsOption = None,
    address: AddressOption = None,
    out_dir: OutOption = None,
    resume: ResumeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play many matches between players and print the results of each player with 95 % intervals.

    With swapped seats, the matches of one round over the seats have the same cards and dice. The same seed
    gives the same matches. Wins, draws and losses are shares of matches; illegal, unparsable and cut-off are
    shares of a player's replies. Each match is recorded in the run's folder as soon as it is over: gymposium replay
    shows it, gymposium verify plays it again.

    A run that was stopped goes on with --resume. Recorded matches are not played again. With --jobs or --executor,
    matches are played in worker processes, where a player that crashes or hangs forfeits its match.

    Examples:

        gymposium run tic_tac_toe --players mcts-100,random -n 200 --seed 1
        gymposium run "goofspiel(num_cards=5)" --players random,random --no-swap --out goofspiel
        gymposium run kuhn_poker --players mcts-50,random --json > score.json
        gymposium run hex --players mcts-1000,mcts-100 -n 1000 --jobs 8
        gymposium run --resume goofspiel
    """
    folder = None
    if resume is not None:
        refuse_beside_resume(ctx, EXECUTOR_OPTIONS)
        folder = RunFolder.open(resume, "run")
        settings: Settings = read_settings(f"{resume}/settings.json", Settings, folder.settings)
        check_settings([settings.game], names_of(settings.players))
    elif game is None or players is None:
        raise BadOption(
            "Name a game and its players:  gymposium run tic_tac_toe --players mcts-100,random  (or --resume DIR)."
        )
    else:
        settings = Settings(game, players, matches, seed, swap, on_illegal, watchdog, schedule)
        check_new(out_dir)
    session = _Session(settings)
    with executor_if_chosen(executor, jobs, address, schedule=settings.schedule) as chosen:
        folder = folder or RunFolder.create(out_dir, "run", asdict(settings))
        with folder.removed_on_error():
            session.play(folder, chosen)
    if as_json:
        print_json({**session.as_data(), "record": str(folder.matches)})
    else:
        session.print()
    note_remarks(session.players)
    session.note_cut_off()
    session.note_broken(folder)
    note(f"Recorded in {folder.matches}")


class _Session:
    """The matches of a run and the scores of its players."""

    def __init__(self, settings: Settings) -> None:
        """Raises `GymposiumError` for settings that cannot be played."""
        self.settings = settings
        self.game = load_game(settings.game)
        self.policy = FailurePolicy.parse(settings.on_illegal)
        self._schedule = read_schedule(settings.schedule)
        self._watchdog = None if settings.watchdog is None else Watchdog(settings.watchdog)
        self.players = make_players(self.game, settings.players)
        self._allow = to_allow([self.game.name], names_of(settings.players))
        self.scores = [Score() for _ in self.players]
        self.broken: Counter[str] = Counter()
        """Number of matches that broke off, by reason. They have no result."""
        # matches with equal ids are equal: the id holds a digest of everything that they depend on
        inputs = f"{self.game.name} {settings.players} {settings.seed} {settings.swap} {self.policy}"
        self._tag = f"run-{blake2b(inputs.encode(), digest_size=4).hexdigest()}"

    def play(self, folder: RunFolder, executor: Executor | None) -> None:
        """Plays the matches that are missing in the folder, in this process without an executor, and adds up the scores
        of all matches."""
        total, seed, swap = self.settings.matches, self.settings.seed, self.settings.swap
        names = tuple(player.name for player in self.players)
        series = Series(self._tag, self.game.name, names, total, seed, swap, str(self.policy))
        plan = MatchPlan((series,))
        with matches_of(folder, plan, self._allow) as (log, bar):
            task = bar.add_task(self.game.name, total=total, completed=len(log.finished))
            self.broken = play_missing(
                SeriesMatches(series, tuple(names_of(self.settings.players))),
                self.players,
                log,
                executor,
                at_once=AT_ONCE,
                schedule=self._schedule,
                watchdog=self._watchdog,
                advance=partial(bar.advance, task),
            )
            numbers = plan.numbers()
            for record in log.in_order():
                for seat, index in enumerate(seats_of(numbers[record.id], self.game.seats, swap=swap)):
                    self.scores[index].add_record(record, self.game, seat)

    def print(self) -> None:
        """Prints the scores as a table."""
        settings, game = self.settings, self.game
        seats = "" if game.seats == 1 else ", seats swapped" if settings.swap else ", seats fixed"
        out().print(f"{game.name}: {settings.matches} matches, seed {settings.seed}{seats}", soft_wrap=True)
        out().print(_table(game, self.players, self.scores))

    def note_cut_off(self) -> None:
        """Prints for each player which option to raise if replies of it were cut off."""
        names = [player.name for player in self.players]
        for name in dict.fromkeys(names):
            note_cut_off(name, [score for mine, score in zip(names, self.scores, strict=True) if mine == name])

    def note_broken(self, folder: RunFolder) -> None:
        """Prints how many matches broke off, and how they are played again."""
        if self.broken:
            [(reason, _)] = self.broken.most_common(1)
            again = command_line("run", "--resume", str(folder.path), allow=self._allow)
            note(
                f"{self.broken.total()} of {self.settings.matches} matches broke off and have no result, most often "
                f"because: {reason}\nThey are played again by  {again}"
            )

    def as_data(self) -> dict[str, Any]:
        """The scores as plain data."""
        return {
            "game": self.game.name,
            "matches": self.scores[0].matches,
            "seed": self.settings.seed,
            "swap": self.settings.swap,
            "on_illegal": str(self.policy),
            "players": [
                {"player": player.name, **score.as_dict()}
                for player, score in zip(self.players, self.scores, strict=True)
            ],
        }


def names_of(players: str) -> list[str]:
    """The names of the players in `a,b`."""
    return [name.strip() for name in players.split(",")]


def make_players(game: Game, text: str) -> list[Player]:
    """The players in `a,b`, one for each seat. The same name is the same player, which is asked for all its seats
    together. Raises `BadOption` for another number of players, and the errors of `make_player`."""
    names = names_of(text)
    if len(names) != game.seats:
        needed = "1 player" if game.seats == 1 else f"{game.seats} players"
        raise BadOption(f"--players {text}: {game.name} needs {needed}, not {len(names)}.")
    made = {name: make_player(name) for name in dict.fromkeys(names)}
    if "human" in made:
        raise BadOption(f"--players {text}: a person plays one match at a time:  gymposium play {game.name}")
    return [made[name] for name in names]


def _table(game: Game, players: Sequence[Player], scores: Sequence[Score]) -> Table:
    table = Table("", box=None)
    for number, player in enumerate(players, start=1):
        repeated = sum(other.name == player.name for other in players) > 1
        table.add_column(f"{player.name} ({number})" if repeated else player.name)
    if game.seats > 1:
        for result in _RESULTS:
            table.add_row(result, *(with_interval(score.result_rate(result)) for score in scores))
    table.add_row("mean return", *(with_interval(score.mean_return()) for score in scores))
    for kind in _FAILURES:
        table.add_row(kind, *(with_interval(score.reading_rate(kind)) for score in scores))
    table.add_row("forfeits", *(str(score.forfeits) for score in scores))
    for failure in FAILURES:
        if failure != "no legal move" and any(score.failures[failure] for score in scores):
            table.add_row(failure, *(str(score.failures[failure]) for score in scores))
    for name in dict.fromkeys(name for score in scores for name in score.reports):
        whole = all(score.reports_all(name) for score in scores if score.reports)
        label = name.replace("_", " ")
        table.add_row(
            label if whole else f"{label}, if ended", *(with_interval(score.mean_report(name)) for score in scores)
        )
    return table
