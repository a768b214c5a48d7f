"""`gymposium run`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import (
    RECORD,
    PolicyOption,
    RecordOption,
    ScheduleOption,
    SeedOption,
    match_bar,
    note_remarks,
    open_record,
    read_schedule,
    telling_of,
)
from gymposium.cli.text import note, out, with_interval
from gymposium.driver import MatchJob, play
from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.records import recorded
from gymposium.scores import Score
from gymposium.seating import seated_jobs
from gymposium.watchdog import Watchdog

_RESULTS = ("win", "draw", "loss")
_FAILURES = ("illegal", "unparsable", "cut off")


def command(
    game: Annotated[str, typer.Argument(metavar="GAME", help="As in gymposium list; parameters may be given.")],
    players: Annotated[
        str, typer.Option("--players", metavar="A,B", help="One player for each seat, as in gymposium list.")
    ],
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
    record: RecordOption = RECORD,
    as_json: JsonOption = False,
) -> None:
    """Play many matches between players and print how each did, with 95 % intervals.

    With swapped seats, the matches of one round over the seats have the same cards and dice. The same seed
    gives the same matches. Wins, draws and losses are shares of matches; illegal, unparsable and cut-off are
    shares of a player's replies. Every match is appended to the record as it ends: gymposium replay shows
    it, gymposium verify plays it again.

    Examples:

        gymposium run tic_tac_toe --players mcts-100,random -n 200 --seed 1
        gymposium run "goofspiel(num_cards=5)" --players random,random --no-swap
        gymposium run kuhn_poker --players mcts-50,random --json > score.json
    """
    loaded, policy, how = load_game(game), FailurePolicy.parse(on_illegal), read_schedule(schedule)
    dog = None if watchdog is None else Watchdog(watchdog)
    seated = make_players(loaded, players)
    scores = [Score() for _ in seated]
    orders: dict[str, list[int]] = {}
    # equal ids, equal matches: the id holds a digest of all that they depend on
    inputs = f"{loaded.name} {players} {seed} {swap} {policy}"
    tag = f"run-{blake2b(inputs.encode(), digest_size=4).hexdigest()}"

    def jobs() -> Iterator[MatchJob]:
        for job, order in seated_jobs(loaded, seated, matches, seed=seed, swap=swap, tag=tag, on_illegal=policy):
            orders[job.id] = order
            yield job

    done = 0
    try:
        with telling_of(record), open_record(record) as writer, _progress(loaded, matches) as advance:
            for played in recorded(play(jobs(), watchdog=dog, schedule=how), writer.write):
                for seat, index in enumerate(orders.pop(played.job.id)):
                    scores[index].add(played, seat)
                done += 1
                advance()
    except KeyboardInterrupt:
        note(f"Stopped. {done} of {matches} matches are recorded in {record}.")
        raise typer.Exit(130) from None
    if as_json:
        print_json(_as_data(loaded, seated, scores, seed, swap, policy, record))
    else:
        seats = "" if loaded.seats == 1 else ", seats swapped" if swap else ", seats fixed"
        out().print(f"{loaded.name}: {matches} matches, seed {seed}{seats}", soft_wrap=True)
        out().print(_table(loaded, seated, scores))
    note_remarks(seated)
    note(f"Recorded in {record}")


def make_players(game: Game, text: str) -> list[Player]:
    """The players written as `a,b`, as many as the game has seats. Equal ones are one player, which is
    asked for all its seats at once."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != game.seats:
        raise BadOption(f"--players {text}: {game.name} needs {_players(game.seats)}, not {len(names)}.")
    made = {name: make_player(name) for name in dict.fromkeys(names)}
    if "human" in made:
        raise BadOption(f"--players {text}: a person plays one match at a time:  gymposium play {game.name}")
    return [made[name] for name in names]


def _players(number: int) -> str:
    return "1 player" if number == 1 else f"{number} players"


@contextmanager
def _progress(game: Game, matches: int) -> Iterator[Any]:
    with match_bar() as bar:
        task = bar.add_task(game.name, total=matches)
        yield lambda: bar.advance(task)


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
    if any(score.timed_out for score in scores):
        row("timed out", (str(score.timed_out) for score in scores))
    if any(score.out_of_context for score in scores):
        row("out of context", (str(score.out_of_context) for score in scores))
    for name in dict.fromkeys(name for score in scores for name in score.reports):
        row(name.replace("_", " "), (with_interval(score.mean_report(name)) for score in scores))
    return table


def _as_data(
    game: Game,
    players: Sequence[Player],
    scores: Sequence[Score],
    seed: int,
    swap: bool,
    policy: FailurePolicy,
    record: Path,
) -> dict[str, Any]:
    return {
        "game": game.name,
        "matches": scores[0].matches,
        "seed": seed,
        "swap": swap,
        "on_illegal": str(policy),
        "players": [{"player": player.name, **score.as_dict()} for player, score in zip(players, scores, strict=True)],
        "record": str(record),
    }
