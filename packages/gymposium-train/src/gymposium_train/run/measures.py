"""The evaluations of a run: play against fixed opponents, in each game and from every seat.

Anchors for comparison are the opponents' own results in the same matches, and the exact optima of small games.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from gymposium.analysis.exact import TooLarge, compute_optima_against_random
from gymposium.games.protocol import Game
from gymposium.match import MatchResult
from gymposium.match.seating import round_up_matches
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.util.streams import stream
from gymposium_agents.players.evaluate import evaluate_player, find_seat
from gymposium_train.config import Evaluation
from gymposium_train.config.schedules import RunProgress
from gymposium_train.config.stages import ALONE
from gymposium_train.run.best import Returns, Series
from gymposium_train.run.live import format_result
from gymposium_train.run.losses import LossMeter
from gymposium_train.run.under_way import RunContext

MEASURING = 0.1
"""Largest share of training CPU seconds that a run with a budget spends on optional points of the learning curve."""


class CurveSchedule:
    """The steps that are followed by a point of the learning curve: by default one per tenth of the run, and always the
    last one. A run with a budget limits the time spent on points."""

    def __init__(self, every: int | None, pace: RunProgress, done: int) -> None:
        self._every, self._pace = every, pace
        self._tenths = self._count_tenths(done)

    def is_due(self, done: int, *, is_over: bool) -> bool:
        """Return True if the curve has a point after `done` steps."""
        if self._every is not None:
            return self._every > 0 and (is_over or done % self._every == 0)
        affordable = self._pace.steps is not None or self._pace.between <= MEASURING * self._pace.trained
        return is_over or (affordable and self._count_tenths(done) > self._tenths)

    def note(self, done: int) -> None:
        """Note that `done` steps are done, with or without a point."""
        self._tenths = self._count_tenths(done)

    def _count_tenths(self, done: int) -> int:
        return int(10 * (self._pace(done) if self._pace.steps is None else done / self._pace.steps))


def list_panel(settings: Evaluation, game: Game) -> dict[str, int]:
    """Return the opponents in a game with the number of matches against each, or `alone` in a single-player game."""
    if game.seats == 1:
        return {ALONE: settings.matches}
    return {
        name: round_up_matches(settings.matches if name == "random" else settings.search_matches, game)
        for name in settings.opponents
    }


def measure_player(
    run: RunContext,
    what: str,
    open_player: Callable[[], AbstractContextManager[Player]],
    *,
    games: Sequence[Game] | None = None,
    step: int | None = None,
) -> None:
    """Evaluate a player against the panel, in all games or some. Adds each score to the results under `what` as soon as
    it is known. Existing scores are skipped, and the player is opened only if some are missing. With `step`, the
    player is the policy of that step, and loggers get the scores."""
    missing = [
        (game, name, matches)
        for game in (run.games if games is None else games)
        for name, matches in list_panel(run.config.evaluation, game).items()
        if name not in run.directory.results().get("evaluations", {}).get(what, {}).get(game.name, {})
    ]
    if not missing:
        return
    shown: dict[str, float] = {}
    with open_player() as player:
        for game, name, matches in missing:
            where = f" in {game.name}" if len(run.games) > 1 else ""
            with (
                run.view.stage(f"{what} against {name}{where}", matches) as bar,
                run.open_stoppable_recorder("eval", bar) as record,
            ):
                score, _ = _evaluate_player(run, player, game, name, matches, what, record)
                figures = flatten_score(game, name, score)
                bar.advance(format_result(figures), 0)
            _note_score(run, what, game, name, score)
            shown |= figures
    if step is not None:
        run.watchers.measured(step, shown)


def make_match_tag(run: RunContext, what: str, game: Game, opponent: str) -> str:
    """Return the prefix of an evaluation's match ids. In an id, the number of the match follows it."""
    where = f"{game.name}-" if len(run.games) > 1 else ""
    return f"{what.replace(' ', '-')}-{where}{opponent}"


def measure_curve_point(run: RunContext, tag: str, player: Player) -> tuple[dict[str, float], Returns]:
    """Run a short evaluation during training, against the first opponent of the panel in each game. Returns its metrics
    and the returns. Its match ids begin with `tag`. Its deals differ from those of the other evaluations, because these
    points may choose the policy that the other evaluations measure."""
    metrics: dict[str, float] = {}
    returns: dict[str, Series] = {}
    for game in run.games:
        name = next(iter(list_panel(run.config.evaluation, game)))
        with run.open_recorder("eval") as record:
            matches = round_up_matches(run.config.evaluation.curve_matches, game)
            score, returns[game.name] = _evaluate_player(run, player, game, name, matches, tag, record, deals="curve")
        metrics |= flatten_score(game, name, score)
    return metrics, returns


def measure_anchors(run: RunContext) -> None:
    """Evaluate random play (where the game allows it) and the panel's opponents as players, and compute the exact
    optima of small games."""
    contests = [game for game in run.games if game.seats > 1]
    plain = [game for game in run.games if game.spec.plays_at_random]
    for name in dict.fromkeys(("random", *run.config.evaluation.opponents)):
        measure_player(
            run, f"anchor {name}", partial(_open_anchor, name), games=plain if name == "random" else contests
        )
    for game in run.games:
        known = run.directory.results().get("optima", {})
        if game.name not in known:
            run.directory.add_results(optima={**known, game.name: _compute_optima(game)})


def _open_anchor(name: str) -> AbstractContextManager[Player]:
    return nullcontext(make_player(name))


def _compute_optima(game: Game) -> dict[str, Any]:
    try:
        optima = compute_optima_against_random(game)
    except TooLarge:
        return {}
    return {kind: {"win": o.win, "draw": o.draw, "loss": o.loss, "return": o.mean_return} for kind, o in optima.items()}


def flatten_score(game: Game, opponent: str, score: dict[str, Any]) -> dict[str, float]:
    """Return the finite values of a score by metric name: `eval/GAME/OPPONENT/win`, with `report.FIGURE` in place of
    `win` for a figure that the matches report."""
    return {
        f"eval/{game.name}/{opponent}/{name}": value for name, value in _list_figures(score) if math.isfinite(value)
    }


def _list_figures(score: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for name in ("return", "lost_per_move"):
        for end, value in zip(("", "_low", "_high"), score.get(name, ()), strict=False):
            if value is not None:
                yield f"{name}{end}", value
    for name in ("win", "draw", "loss"):
        if name in score["results"]:
            yield name, score["results"][name][0]
    for name, estimate in score.get("reports", {}).items():
        yield f"report.{name}", estimate[0]
    readings = score["counts"]["readings"]
    if replies := sum(readings.values()):
        yield "failed", 1.0 - readings.get("move", 0) / replies


def _evaluate_player(
    run: RunContext,
    player: Player,
    game: Game,
    opponent: str,
    matches: int,
    what: str,
    each: Callable[[MatchResult], object],
    deals: str = "eval",
) -> tuple[dict[str, Any], Series]:
    """Evaluate a player. Returns its score with its loss per move, and its return in each match. Players evaluated with
    equal `deals` get the same deals and the same random streams of opponents."""
    returns: list[float | None] = [None] * matches
    losses = LossMeter(game)

    def note_match(played: MatchResult) -> None:
        each(played)
        number = played.job.number
        assert number is not None, "evaluate_player numbers its matches"
        if not played.ending.broke_off:
            seat = find_seat(number, game)
            returns[number] = played.returns[seat]
            losses.add(played, number, seat)

    evaluation = evaluate_player(
        player,
        make_player(opponent) if opponent != ALONE else None,
        game,
        matches=matches,
        seed=stream(run.config.seed, deals).getrandbits(48),
        tag=make_match_tag(run, what, game, opponent),
        each=note_match,
        schedule=run.config.engine.schedule,
    )
    return evaluation.overall.as_dict() | losses.as_dict(), returns


def _note_score(run: RunContext, what: str, game: Game, opponent: str, score: dict[str, Any]) -> None:
    evaluations = run.directory.results().get("evaluations", {})
    of_what = evaluations.get(what, {})
    find_losses = {**of_what.get(game.name, {}), opponent: score}
    run.directory.add_results(evaluations={**evaluations, what: {**of_what, game.name: find_losses}})
