"""The results of a run as rows and learning curves, for the terminal, the report and the viewer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gymposium.runs.curves import COLD_START, TRAIN, Curves
from gymposium.scores import Estimate, rate

BEFORE, AFTER, CONTROL, ANCHOR = "cold start", "trained", "control", "anchor "
"""Keys of the evaluations in `results.json`; the key of an anchor ends in the name of the player."""
OPTIMUM = "exact optimum"
"""The label of the highest possible share of wins."""
ALONE = "alone"
"""The name of the opponent in a game with one seat."""

SPENT = {
    "cold_start_cpu_seconds": "cold start",
    "train_cpu_seconds": "training",
    "control_cpu_seconds": "control",
}
"""Labels of the entries of `results.json` that hold CPU seconds."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One row of the results: a player against an opponent in a game. Cells are text."""

    game: str
    player: str
    opponent: str
    matches: str
    win: str
    draw: str
    loss: str
    mean_return: str
    failed: str
    """The share of replies that were illegal, unparsable or cut off."""


def lines(config: Mapping[str, Any], results: Mapping[str, Any]) -> list[ResultRow]:
    """All rows, game by game: before, after, control, then the anchors, then the exact optima. `config` is the content
    of the run's `config.json`."""
    games = dict.fromkeys(game for scores in results.get("evaluations", {}).values() for game in scores)
    return [line for game in games for line in _of_game(config, game, results)]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What reinforcement learning achieved over the model before it, by the intervals of both."""

    learned: bool
    """True if the model became better against some opponent in some game, and worse against none."""
    text: str
    """The verdict in one or two sentences."""


def verdict(results: Mapping[str, Any]) -> Verdict | None:
    """The verdict on a run, by the mean returns before and after training; None if there was no training, or it is not
    measured yet. A difference counts if the two intervals lie apart."""
    evaluations = results.get("evaluations", {})
    better, worse, level = list[str](), list[str](), list[str]()
    as_good = list[str]()  # where the control is
    for game, scores in evaluations.get(AFTER, {}).items():
        for opponent, score in scores.items():
            before, after = evaluations[BEFORE][game][opponent]["return"], score["return"]
            kind = level
            if None not in (*before, *after):
                kind = better if after[1] > before[2] else worse if after[2] < before[1] else level
            where = f"{game} alone" if opponent == ALONE else f"{game} against {opponent}"
            kind.append(f"{where}: mean return {before[0]:+.3f} before, {after[0]:+.3f} after")
            if kind is better and CONTROL in evaluations:
                control = evaluations[CONTROL][game][opponent]["return"]
                if None in control or after[1] <= control[2]:
                    as_good.append(f"{where}: {control[0]:+.3f}")
    if worse:
        return Verdict(False, f"Worse than before training in {'; '.join(worse)}.")
    if better:
        text = f"Learned: better than before training in {'; '.join(better)}."
        if as_good:
            text += f" It is not better than the control, which went on with imitation, in {'; '.join(as_good)}."
        return Verdict(True, text)
    if level:
        return Verdict(False, f"Nothing was learned that can be told from chance: {'; '.join(level)}.")
    return None


def player_name(config: Mapping[str, Any], what: str) -> str:
    """The name of the player that a key of the evaluations stands for."""
    names = {BEFORE: "cold start" if config["cold_start"]["steps"] else "before", AFTER: "after training"}
    return names.get(what, what.removeprefix(ANCHOR))


def spent(results: Mapping[str, Any]) -> dict[str, float]:
    """CPU seconds of each stage of the run."""
    return {name: results[key] for key, name in SPENT.items() if key in results}


@dataclass(frozen=True, slots=True)
class Point:
    """A measured value at a step, with its interval."""

    step: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """The results of the greedy policy in one game over the steps, against the first opponent of the panel. Steps of
    the cold start are counted back from its end: the last one is 0, the one before -1."""

    game: str
    opponent: str
    """`alone` in a game with one seat."""
    points: Sequence[Point]
    levels: Mapping[str, float]
    """Results of other players in the same matches, by player."""

    @property
    def alone(self) -> bool:
        """True if the values are mean scores; otherwise they are shares of wins."""
        return self.opponent == ALONE


def learning_curves(config: Mapping[str, Any], results: Mapping[str, Any], metrics: Curves) -> list[LearningCurve]:
    """The learning curve of each game that was measured, from the config, the results and the metrics of a run."""
    measured = results.get("evaluations", {}).get(BEFORE, {})
    return [_learning_curve(config, game, results, metrics) for game in measured]


def _learning_curve(config: Mapping[str, Any], game: str, results: Mapping[str, Any], metrics: Curves) -> LearningCurve:
    """The points between the first and the last rest on fewer matches, and those of a mean score have no interval."""
    evaluations = {what: scores[game] for what, scores in results["evaluations"].items() if game in scores}
    opponent = next(iter(evaluations[BEFORE]))
    alone = opponent == ALONE
    name, matches = f"eval/{game}/{opponent}/{'return' if alone else 'win'}", config["evaluation"]["curve_matches"]

    def measured(stage: str, zero: int) -> Iterator[Point]:
        for step, value in ((step, values[name]) for step, values in metrics.entries(stage).items() if name in values):
            estimate = Estimate(value, value, value) if alone else rate(round(value * matches), matches)
            yield Point(step - zero, value, estimate.low, estimate.high)

    points = [*measured(COLD_START, metrics.last(COLD_START)[0]), Point(0, *_headline(evaluations[BEFORE][opponent]))]
    points += measured(TRAIN, 0)
    if opponent in evaluations.get(AFTER, {}):
        kept = results["kept_step"]
        points = [point for point in points if point.step != kept or not kept]
        points.append(Point(kept, *_headline(evaluations[AFTER][opponent])))
        points.sort(key=lambda point: point.step)
    levels = {}
    for what, scores in evaluations.items():
        if opponent in scores and (what == CONTROL or what.startswith(ANCHOR)):
            label = "control: more SFT" if what == CONTROL else player_name(config, what)
            levels[label] = _headline(scores[opponent])[0]
    optima = results.get("optima", {}).get(game, {})
    if "most wins" in optima and opponent == "random":
        levels[OPTIMUM] = optima["most wins"]["win"]
    return LearningCurve(game, opponent, points, levels)


def _headline(score: Mapping[str, Any]) -> list[float]:
    """The estimate that a curve shows: the share of wins, or the mean return of a game with one seat."""
    value, low, high = score["return"] if "score" in score["results"] else score["results"]["win"]
    return [value, value if low is None else low, value if high is None else high]


def _of_game(config: Mapping[str, Any], game: str, results: Mapping[str, Any]) -> Iterator[ResultRow]:
    evaluations = results.get("evaluations", {})
    for what in (BEFORE, AFTER, CONTROL, *(name for name in evaluations if name.startswith(ANCHOR))):
        for opponent, score in evaluations.get(what, {}).get(game, {}).items():
            yield _line(game, player_name(config, what), opponent, score)
    for kind, optimum in results.get("optima", {}).get(game, {}).items():
        yield ResultRow(
            game=game,
            player=f"exact, {kind}",
            opponent="random",
            matches="all",
            win=f"{optimum['win']:.4f}",
            draw=f"{optimum['draw']:.4f}",
            loss=f"{optimum['loss']:.4f}",
            mean_return=f"{optimum['return']:+.4f}",
            failed="",
        )


def _line(game: str, player: str, opponent: str, score: Mapping[str, Any]) -> ResultRow:
    readings, results = score["counts"]["readings"], score["results"]
    # a game with one seat has no wins, draws and losses
    win, draw, loss = (_interval(results[key], "{:.3f}") if key in results else "" for key in ("win", "draw", "loss"))
    total = sum(readings.values())
    return ResultRow(
        game,
        player,
        opponent,
        str(score["matches"]),
        win,
        draw,
        loss,
        _interval(score["return"], "{:+.3f}"),
        f"{(total - readings.get('move', 0)) / total:.4f}" if total else "",
    )


def _interval(estimate: Sequence[float | None], form: str) -> str:
    """An estimate as text; too few matches give no interval."""
    value, low, high = ("–" if number is None else form.format(number) for number in estimate)
    return f"{value} [{low}, {high}]"
