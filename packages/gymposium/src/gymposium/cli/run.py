"""`gymposium run`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Annotated, Any

import typer
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import (
    PolicyOption,
    ScheduleOption,
    SeedOption,
    note_remarks,
    read_schedule,
)
from gymposium.cli.resume import (
    OutOption,
    ResumeOption,
    check_settings,
    matches_of,
    refuse_beside_resume,
    to_allow,
)
from gymposium.cli.text import note, out, with_interval
from gymposium.driver import MatchJob, play
from gymposium.ending import FAILURES
from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.records import recorded
from gymposium.runs.folder import RunFolder, check_new
from gymposium.scores import Score
from gymposium.seating import MatchPlan, Series, seated_jobs, seats_of
from gymposium.settings import read_settings
from gymposium.watchdog import Watchdog

_RESULTS = ("win", "draw", "loss")
_FAILURES = ("illegal", "unparsable", "cut off")


@dataclass(frozen=True, slots=True)
class Settings:
    """What is played: all that decides it."""

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
        str | None, typer.Argument(metavar="GAME", help="As in gymposium list; parameters may be given.")
    ] = None,
    players: Annotated[
        str | None, typer.Option("--players", metavar="A,B", help="One player for each seat, as in gymposium list.")
    ] = None,
    matches: Annotated[int, typer.Option("-n", "--matches", min=1, help="How many matches.")] = 100,
    seed: SeedOption = 0,
    swap: Annotated[
        bool, typer.Option("--swap/--no-swap", help="Whether the players change seats from match to match.")
    ] = True,
    on_illegal: PolicyOption = "forfeit",
    watchdog: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Wall-clock limit for each answer of a player; who is late forfeits."),
    ] = None,
    schedule: ScheduleOption = "rounds",
    out_dir: OutOption = None,
    resume: ResumeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play many matches between players and print how each did, with 95 % intervals.

    With swapped seats, the matches of one round over the seats have the same cards and dice. The same seed
    gives the same matches. Wins, draws and losses are shares of matches; illegal, unparsable and cut-off are
    shares of a player's replies. Every match is in the run's folder as soon as it is over: gymposium replay shows
    it, gymposium verify plays it again.

    A run that was stopped, by whatever means, goes on with --resume: no match that is recorded is played again.

    Examples:

        gymposium run tic_tac_toe --players mcts-100,random -n 200 --seed 1
        gymposium run "goofspiel(num_cards=5)" --players random,random --no-swap --out goofspiel
        gymposium run kuhn_poker --players mcts-50,random --json > score.json
        gymposium run --resume goofspiel
    """
    folder = None
    if resume is not None:
        refuse_beside_resume(ctx)
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
    folder = folder or RunFolder.create(out_dir, "run", asdict(settings))
    with folder.removed_on_error():
        session.play(folder)
    if as_json:
        print_json({**session.as_data(), "record": str(folder.matches)})
    else:
        session.print()
    note_remarks(session.players)
    note(f"Recorded in {folder.matches}")


class _Session:
    """The matches of a run, and how its players did."""

    def __init__(self, settings: Settings) -> None:
        """Raises `GymposiumError` for what cannot be played, before anything is."""
        self.settings = settings
        self.game = load_game(settings.game)
        self.policy = FailurePolicy.parse(settings.on_illegal)
        self._schedule = read_schedule(settings.schedule)
        self._watchdog = None if settings.watchdog is None else Watchdog(settings.watchdog)
        self.players = make_players(self.game, settings.players)
        self._allow = to_allow([self.game.name], names_of(settings.players))
        self.scores = [Score() for _ in self.players]
        # equal ids, equal matches: the id holds a digest of all that they depend on
        inputs = f"{self.game.name} {settings.players} {settings.seed} {settings.swap} {self.policy}"
        self._tag = f"run-{blake2b(inputs.encode(), digest_size=4).hexdigest()}"

    def _plan(self) -> MatchPlan:
        given, names = self.settings, tuple(player.name for player in self.players)
        policy = str(self.policy)
        return MatchPlan((Series(self._tag, self.game.name, names, given.matches, given.seed, given.swap, policy),))

    def _jobs(self) -> Iterator[MatchJob]:
        given = self.settings
        for job, _ in seated_jobs(
            self.game,
            self.players,
            given.matches,
            seed=given.seed,
            swap=given.swap,
            tag=self._tag,
            on_illegal=self.policy,
        ):
            yield job

    def play(self, folder: RunFolder) -> None:
        """Play what the folder does not hold yet, and count all of it."""
        total = self.settings.matches
        plan = self._plan()
        numbers = plan.numbers()
        with matches_of(folder, plan, self._allow) as (log, bar):
            task = bar.add_task(self.game.name, total=total, completed=len(log.finished))
            missing = (job for job in self._jobs() if job.id not in log.finished)
            for _ in recorded(play(missing, watchdog=self._watchdog, schedule=self._schedule), log.write):
                bar.advance(task)
            for record in log.in_order():
                order = seats_of(numbers[record.id], self.game.seats, swap=self.settings.swap)
                for seat, index in enumerate(order):
                    self.scores[index].add_record(record, self.game, seat)

    def print(self) -> None:
        """Who did how well, as a table."""
        given, game = self.settings, self.game
        seats = "" if game.seats == 1 else ", seats swapped" if given.swap else ", seats fixed"
        out().print(f"{game.name}: {given.matches} matches, seed {given.seed}{seats}", soft_wrap=True)
        out().print(_table(game, self.players, self.scores))

    def as_data(self) -> dict[str, Any]:
        """The same as plain data."""
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
    """The single players of `a,b`."""
    return [name.strip() for name in players.split(",")]


def make_players(game: Game, text: str) -> list[Player]:
    """The players written as `a,b`, as many as the game has seats. Equal ones are one player, which is
    asked for all its seats at once."""
    names = names_of(text)
    if len(names) != game.seats:
        raise BadOption(f"--players {text}: {game.name} needs {_players(game.seats)}, not {len(names)}.")
    made = {name: make_player(name) for name in dict.fromkeys(names)}
    if "human" in made:
        raise BadOption(f"--players {text}: a person plays one match at a time:  gymposium play {game.name}")
    return [made[name] for name in names]


def _players(number: int) -> str:
    return "1 player" if number == 1 else f"{number} players"


def _table(game: Game, players: Sequence[Player], scores: Sequence[Score]) -> Table:
    table = Table("", box=None)
    for index, player in enumerate(players):
        twin = sum(p.name == player.name for p in players) > 1
        table.add_column(f"{player.name} ({index + 1})" if twin else player.name)

    def row(label: str, cells: Iterator[str]) -> None:
        table.add_row(label, *cells)

    if game.seats > 1:
        for result in _RESULTS:
            row(result, (with_interval(score.result_rate(result)) for score in scores))
    row("mean return", (with_interval(score.mean_return()) for score in scores))
    for kind in _FAILURES:
        row(kind, (with_interval(score.reading_rate(kind)) for score in scores))
    row("forfeits", (str(score.forfeits) for score in scores))
    for failure in FAILURES:
        if failure != "no legal move" and any(score.failures[failure] for score in scores):
            row(failure, (str(score.failures[failure]) for score in scores))
    for name in dict.fromkeys(name for score in scores for name in score.reports):
        row(name.replace("_", " "), (with_interval(score.mean_report(name)) for score in scores))
    return table
