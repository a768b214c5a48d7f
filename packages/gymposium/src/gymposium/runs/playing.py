"""Playing and scoring many matches between players, for `gymposium run` and `gymposium.play`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymposium.errors import BadOption, WrongType
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.match import Schedule, read_schedule
from gymposium.match.ending import FAILURES
from gymposium.match.failures import FailurePolicy
from gymposium.match.result import check_integer, check_type
from gymposium.match.seating import assign_seats, make_tag
from gymposium.match.watchdog import Watchdog
from gymposium.players.grammar import reject_person, resolve_player
from gymposium.players.protocol import Player, check_plays
from gymposium.records import Record
from gymposium.records.scores import Score
from gymposium.runs.folder import PlanOrder, RunFolder, RunMatches
from gymposium.runs.series import play_missing, seat_series
from gymposium.util.settings import dump_settings
from gymposium.util.visible import quantity

_RESULTS = ("win", "draw", "loss")
_READINGS = ("illegal", "unparsable", "cut off")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings that determine a run's matches."""

    game: str
    players: str
    """Comma-separated player names, one per seat."""
    matches: int
    seed: int
    swap: bool
    on_illegal: FailurePolicy
    watchdog: float | None
    schedule: Schedule


class Comparison:
    """Matches between players, and each player's score. Printing it shows the same table as `gymposium run`."""

    records: list[Record]
    """Match records from `gymposium.play`, in plan order, without matches that broke off."""
    folder: Path | None
    """The folder of the run; None if nothing was written."""
    scores: list[Score]
    """Each player's score, in the order the players were given.

    A score has `result_rate("win")`, `mean_return()` and others, each with a 95% interval."""
    broken: Counter[str]
    """Number of matches that broke off without a result, by reason.

    A run stops early if the latest matches all broke off."""

    def __init__(self, settings: RunSettings, given: Sequence[str | Player]) -> None:
        """`given` are the players named in `settings`.

        Raises `GymposiumError` if the settings cannot be played."""
        if settings.matches < 1:
            raise BadOption(f"n={settings.matches} must be at least 1.")
        self.settings = settings
        self.game = load_game(settings.game)
        self.players = make_players(self.game, given)
        for player in dict.fromkeys(self.players):
            check_plays(player, self.game)
        self.scores, self.records, self.broken, self.folder = [Score() for _ in self.players], [], Counter(), None
        self.watchdog = None if settings.watchdog is None else Watchdog(settings.watchdog)
        self.seated = seat_series(
            make_tag("run", self.game.name, settings.players, settings.seed, settings.swap, settings.on_illegal),
            self.game,
            [player if isinstance(player, str) else player.name for player in given],
            self.players,
            matches=settings.matches,
            seed=settings.seed,
            swap=settings.swap,
            on_illegal=settings.on_illegal,
        )

    def count(self, number: int, record: Record) -> None:
        """Count a finished match in the scores."""
        for seat, index in enumerate(assign_seats(number, self.game.seats, swap=self.settings.swap)):
            self.scores[index].add_record(record, self.game, seat)

    @property
    def title(self) -> str:
        """Return a title with the game, number of matches, seed and seat swapping."""
        settings = self.settings
        seats = "" if self.game.seats == 1 else ", seats swapped" if settings.swap else ", seats fixed"
        return f"{self.game.name}: {quantity(settings.matches, 'match')}, seed {settings.seed}{seats}"

    def headings(self) -> list[str]:
        """Return the players' names, numbered if several are the same."""
        names = [player.name for player in self.players]
        return [f"{name} ({n})" if names.count(name) > 1 else name for n, name in enumerate(names, start=1)]

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the rows of a score table: a label, and a value per player."""
        scores = self.scores
        if self.game.seats > 1:
            for result in _RESULTS:
                yield result, [str(score.result_rate(result)) for score in scores]
        yield "mean return", [str(score.mean_return()) for score in scores]
        for kind in _READINGS:
            yield kind, [str(score.reading_rate(kind)) for score in scores]
        if any(score.repaired for score in scores):
            yield "repaired", [str(score.repaired_rate()) for score in scores]
        yield "forfeits", [str(score.forfeits) for score in scores]
        for failure in FAILURES:
            if failure != "no legal move" and any(score.failures[failure] for score in scores):
                yield failure, [str(score.failures[failure]) for score in scores]
        for name in dict.fromkeys(name for score in scores for name in score.reports):
            whole = all(score.reports_all(name) for score in scores if score.reports)
            label = name.replace("_", " ")
            yield label if whole else f"{label}, if ended", [str(score.mean_report(name)) for score in scores]

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as plain data, as printed by `gymposium run --json`."""
        return {
            "game": self.game.name,
            "matches": self.scores[0].matches,
            "seed": self.settings.seed,
            "swap": self.settings.swap,
            "on_illegal": str(self.settings.on_illegal),
            "players": [
                {"player": player.name, **score.as_dict()}
                for player, score in zip(self.players, self.scores, strict=True)
            ],
        }

    def __repr__(self) -> str:
        rows = [("", self.headings()), *self.rows()]
        lines = [[label, *cells] for label, cells in rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        return "\n".join([self.title, *table])


def play(
    game: str,
    players: Sequence[str | Player],
    n: int = 1,
    *,
    seed: int = 0,
    swap: bool = True,
    on_illegal: str = "forfeit",
    watchdog: float | None = None,
    schedule: str = "rounds",
    out: str | Path | None = None,
) -> Comparison:
    """Play `n` matches between players, one per seat, and return their scores and records::

        gymposium.play("kuhn_poker", ["mcts-100", "random"], n=100)

    This plays the same matches as `gymposium run`. A player is a name from `gymposium list`, or an object that
    implements `Player`. With `swap`, players shift by one seat per match, and the matches of one rotation share cards
    and dice. The same arguments give the same matches. `on_illegal` is the policy for illegal replies: `forfeit`,
    `random`, `retry(n)` or `penalty(x,k)`. With a `watchdog`, a player that does not answer within this number of
    seconds forfeits. `schedule` is as in `gymposium.match.play`.

    Nothing is written unless `out` names a new or empty folder. It then holds the run, as written by `gymposium run
    --out`, for `gymposium view` and `gymposium verify`.

    Raises `GymposiumError` if the arguments cannot be played, and `EngineError` if the game's engine fails. Exceptions
    from players are passed on."""
    if isinstance(players, str) or not isinstance(players, Sequence):
        raise WrongType("players", "a list with one player per seat, such as ['mcts-100', 'random']", players)
    check_integer("play: n", n)
    check_integer("play: seed", seed)
    check_type("play: swap", swap, bool, "True or False")
    if out is not None and not isinstance(out, str | Path):
        raise WrongType("play: out", "a path", out)
    names = ",".join(player if isinstance(player, str) else resolve_player(player).name for player in players)
    policy = FailurePolicy.parse(on_illegal)
    settings = RunSettings(game, names, n, seed, swap, policy, watchdog, read_schedule(schedule))
    comparison = Comparison(settings, players)

    def count(number: int, record: Record) -> None:
        comparison.records.append(record)
        comparison.count(number, record)

    plan = comparison.seated.plan
    log: AbstractContextManager[PlanOrder | RunMatches] = nullcontext(PlanOrder(plan.numbers(), count))
    if out is not None:
        folder = RunFolder.create(Path(out), "run", dump_settings(settings))
        comparison.folder, log = folder.path, folder.open_matches(plan, count)
    with log as matches:
        comparison.broken = play_missing(
            comparison.seated, matches, schedule=settings.schedule, watchdog=comparison.watchdog
        ).reasons
        matches.finish()
    return comparison


def split_names(players: str) -> list[str]:
    """Split the player names in `a,b`."""
    return [name.strip() for name in players.split(",")]


def make_players(game: Game, given: Sequence[str | Player]) -> list[Player]:
    """Return one player per seat. Equal names share one player, which gets one call for all its seats.

    Raises `BadOption` for a wrong number of players, and the errors of `make_player`."""
    names = [player if isinstance(player, str) else resolve_player(player).name for player in given]
    if len(names) != game.seats:
        needed = quantity(game.seats, "player")
        raise BadOption(f"players {','.join(names)}: {game.name} needs {needed}, not {len(names)}.")
    reject_person("players", names, game.name)
    made = {player: resolve_player(player) for player in dict.fromkeys(p for p in given if isinstance(p, str))}
    return [made[player] if isinstance(player, str) else player for player in given]
