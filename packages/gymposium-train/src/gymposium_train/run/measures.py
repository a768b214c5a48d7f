"""The evaluations of a run: greedy play against fixed opponents, in each game and from every seat."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gymposium.driver import MatchResult
from gymposium.games.protocol import Game
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.streams import stream
from gymposium_agents.evaluate import evaluate
from gymposium_train.config import Evaluation
from gymposium_train.live import StageBar
from gymposium_train.run.under_way import UnderWay

ALONE = "alone"
"""The opponent's name in results of a game with one seat."""


def panel(settings: Evaluation, game: Game) -> dict[str, int]:
    """The opponents in a game, with the number of matches against each."""
    if game.seats == 1:
        return {ALONE: settings.matches}
    return {name: settings.matches if name == "random" else settings.search_matches for name in settings.opponents}


def measure(
    run: UnderWay,
    what: str,
    player: Callable[[], Player],
    *,
    games: Sequence[Game] | None = None,
    step: int | None = None,
) -> None:
    """Evaluate a player against the panel, in all games or some, and note its scores under `what`, each as soon as it
    is there; those that stand there already are passed over, and `player` is not even made where all do. With a `step`
    it is the policy of that step: loggers are told."""
    missing = [
        (game, name, matches)
        for game in (run.games if games is None else games)
        for name, matches in panel(run.config.evaluation, game).items()
        if name not in run.directory.results().get("evaluations", {}).get(what, {}).get(game.name, {})
    ]
    if not missing:
        return
    made = player()
    shown: dict[str, float] = {}
    for game, name, matches in missing:
        where = f" in {game.name}" if len(run.games) > 1 else ""
        with run.view.stage(f"{what} against {name}{where}", matches) as bar, run.recorder("eval") as record:

            def each(played: MatchResult, record: Any = record, bar: StageBar = bar) -> None:
                record(played)
                bar.advance()
                run.interruption.stop_here()

            score = _evaluate(run, made, game, name, matches, what.replace(" ", "-"), each)
        _note(run, what, game, name, score)
        shown |= flat(game, name, score)
    if step is not None:
        run.watchers.measured(step, shown)


def curve_point(run: UnderWay, step: int, player: Player) -> dict[str, float]:
    """A short evaluation during training, against the first opponent of the panel in each game, as flat metrics."""
    found: dict[str, float] = {}
    for game in run.games:
        name = next(iter(panel(run.config.evaluation, game)))
        with run.recorder("eval") as record:
            score = _evaluate(run, player, game, name, run.config.evaluation.curve_matches, f"curve-{step}", record)
        found |= flat(game, name, score)
    return found


def flat(game: Game, opponent: str, score: dict[str, Any]) -> dict[str, float]:
    """The values of a score under the names of metrics."""
    return {f"eval/{game.name}/{opponent}/{name}": value for name, value in _figures(score) if math.isfinite(value)}


def _figures(score: dict[str, Any]) -> Iterator[tuple[str, float]]:
    yield "return", score["return"][0]
    for name in ("win", "draw", "loss"):
        if name in score["results"]:
            yield name, score["results"][name][0]
    readings = score["counts"]["readings"]
    replies = sum(readings.values())
    if replies:
        yield "failed", 1.0 - readings.get("move", 0) / replies


def _evaluate(
    run: UnderWay,
    player: Player,
    game: Game,
    opponent: str,
    matches: int,
    what: str,
    each: Callable[[MatchResult], object],
) -> dict[str, Any]:
    """One evaluation. All players of a run get the same deals and the same random streams of opponents."""
    several = f"{game.name}-" if len(run.games) > 1 else ""
    evaluation = evaluate(
        player,
        make_player(opponent) if opponent != ALONE else None,
        game,
        matches=matches,
        seed=stream(run.config.seed, "eval").getrandbits(48),
        tag=f"{what}-{several}{opponent}",
        on_illegal=run.on_illegal,
        each=each,
    )
    return evaluation.overall.as_dict()


def _note(run: UnderWay, what: str, game: Game, opponent: str, score: dict[str, Any]) -> None:
    evaluations = run.directory.results().get("evaluations", {})
    of_what = evaluations.get(what, {})
    of_game = {**of_what.get(game.name, {}), opponent: score}
    run.directory.add_results(evaluations={**evaluations, what: {**of_what, game.name: of_game}})
