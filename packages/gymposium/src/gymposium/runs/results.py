"""A run's results as rows and learning curves, for the terminal, the report and the viewer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from statistics import fmean
from typing import Any, Final

from gymposium.runs.curves import COLD_START, TRAIN, Curves
from gymposium.util.strict_json import is_number

BEFORE: Final = "cold start"
AFTER: Final = "trained"
CONTROL: Final = "control"
ANCHOR: Final = "anchor "
"""Keys of the evaluations in `results.json`. An anchor player's key ends with the player's name."""
OPTIMUM = "exact optimum"
"""Row label for the highest possible mean return against random play."""
ALONE = "alone"
"""Opponent name shown for a single-seat game."""

NEAR_BEST = 0.01
"""Maximum distance of a solved game's mean return from the best possible one, as a share of the return range."""

AGREEMENT = {COLD_START: "train/teacher_agreement", TRAIN: "rollout/teacher_agreement"}
"""The metric of each stage with the agreement with the teacher."""
MOST_AGREEMENTS = 100
"""Maximum number of points per stage in the curve of the agreement. In a longer stage, each is a mean over steps."""

SPENT = {
    "cold_start_cpu_seconds": "cold start",
    "train_cpu_seconds": "training",
    "control_cpu_seconds": "control",
}
"""Labels for the entries with CPU seconds in `results.json`."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A row of results: one player against one opponent in one game. Cells are text."""

    game: str
    player: str
    opponent: str
    matches: str
    win: str
    draw: str
    loss: str
    mean_return: str
    failed: str
    """Share of replies that were illegal, unparsable or cut off."""
    lost: str = ""
    """Return lost per move, as a share of the range of returns; empty if unknown."""
    gain: str = ""
    """Gain in mean return over the model before training, paired by deal; empty for other players."""


def build_rows(config: Mapping[str, Any], results: Mapping[str, Any]) -> list[ResultRow]:
    """Return all rows, grouped by game: before, after, control, then the anchors, then the exact optima.

    `config` is the content of the run's `config.json`."""
    games = dict.fromkeys(game for scores in results.get("evaluations", {}).values() for game in scores)
    return [line for game in games for line in _list_game_rows(config, game, results)]


class VerdictKind(Enum):
    """The effect of reinforcement learning compared with the model before it."""

    LEARNED = "learned"
    """Better against at least one opponent in one game, and never worse."""
    SOLVED = "already solved"
    """As good as before, with almost nothing left to gain."""
    TAUGHT = "learned from its teacher"
    """No detectable improvement of a model that plays better than random players because of its teacher."""
    LEVEL = "nothing learned"
    """No detectable improvement."""
    WORSE = "worse"
    """Worse against at least one opponent in one game."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict, with its reasons in one or two sentences."""

    outcome: VerdictKind
    text: str

    @property
    def is_failure(self) -> bool:
        """Whether training achieved nothing although it could have."""
        return self.outcome in (VerdictKind.LEVEL, VerdictKind.WORSE)


def judge_run(results: Mapping[str, Any]) -> Verdict | None:
    """Return the verdict on a run, based on mean returns before and after training.

    Returns None if there was no training or its result is not measured yet. A difference counts if its 95% interval,
    from matches paired by deal, excludes 0."""
    evaluations, gains = results.get("evaluations", {}), results.get("gains", {})
    found: dict[VerdictKind, list[str]] = {kind: [] for kind in VerdictKind}
    as_good = list[str]()  # when the control is
    for game, opponents in gains.get(BEFORE, {}).items():
        for opponent, gain in opponents.items():
            before, after = (evaluations[what][game][opponent]["return"][0] for what in (BEFORE, AFTER))
            outcome = _classify_gain(gain, before, results["ranges"][game], _get_best_return(results, game, opponent))
            where = f"{game} alone" if opponent == ALONE else f"{game} against {opponent}"
            text = f"{where}: mean return {before:+.3f} before, {after:+.3f} after"
            found[outcome].append(
                text + (f" ({_format_estimate(gain, '{:+.3f}')} in equal deals)" if any(gain) else "")
            )
            ahead = gains.get(CONTROL, {}).get(game, {}).get(opponent)
            if outcome is VerdictKind.LEARNED and ahead is not None and not _is_above(ahead):
                as_good.append(f"{where}: {evaluations[CONTROL][game][opponent]['return'][0]:+.3f}")
    texts = {outcome: "; ".join(reasons) for outcome, reasons in found.items() if reasons}
    if VerdictKind.WORSE in texts:
        return Verdict(VerdictKind.WORSE, f"Worse than before training in {texts[VerdictKind.WORSE]}.")
    if VerdictKind.LEARNED in texts:
        text = f"Learned: better than before training in {texts[VerdictKind.LEARNED]}."
        if as_good:
            text += f" It is not better than the control, which went on with imitation, in {'; '.join(as_good)}."
        return Verdict(VerdictKind.LEARNED, text)
    if VerdictKind.LEVEL in texts:
        text = f"can be told from chance: {texts[VerdictKind.LEVEL]}."
        if "teacher" in results and _beats_random_play(evaluations):
            text = f"Learned from {results['teacher']} in the cold start. Of reinforcement learning, nothing {text}"
            return Verdict(VerdictKind.TAUGHT, text)
        return Verdict(VerdictKind.LEVEL, f"Nothing was learned that {text}")
    if VerdictKind.SOLVED in texts:
        text = f"Already solved before training, with hardly anything left to learn: {texts[VerdictKind.SOLVED]}."
        return Verdict(VerdictKind.SOLVED, text)
    return None


def _classify_gain(gain: Sequence[float | None], before: float, bounds: Sequence[float], best: float) -> VerdictKind:
    """Return the verdict of one comparison. `bounds` is the return range, `best` the best possible mean return."""
    _, _, high = gain
    if _is_above(gain):
        return VerdictKind.LEARNED
    if high is not None and high < 0.0:
        return VerdictKind.WORSE
    least, most = bounds
    return VerdictKind.SOLVED if best - before <= NEAR_BEST * (most - least) else VerdictKind.LEVEL


def _beats_random_play(evaluations: Mapping[str, Any]) -> bool:
    """Return whether the model before reinforcement learning has a higher mean return than random play against some
    opponent, with disjoint intervals."""
    anchor = evaluations.get(f"{ANCHOR}random", {})
    pairs = (
        (evaluations[BEFORE][game][opponent]["return"], scores["return"])
        for game, opponents in anchor.items()
        for opponent, scores in opponents.items()
    )
    return any(None not in (mine[1], random[2]) and mine[1] > random[2] for mine, random in pairs)


def _is_above(gain: Sequence[float | None]) -> bool:
    """Return whether a gain's interval lies above 0."""
    _, low, _ = gain
    return low is not None and low > 0.0


def _get_best_return(results: Mapping[str, Any], game: str, opponent: str) -> float:
    """Return the best possible mean return against an opponent: exact if known, else the game's maximum."""
    optima = results.get("optima", {}).get(game, {})
    if opponent == "random" and "best return" in optima:
        return float(optima["best return"]["return"])
    return float(results["ranges"][game][1])


def find_player_name(config: Mapping[str, Any], what: str) -> str:
    """Return the player name shown for an evaluation key."""
    names = {BEFORE: "cold start" if config["cold_start"]["steps"] else "before", AFTER: "after training"}
    return names.get(what, what.removeprefix(ANCHOR))


def sum_stage_seconds(results: Mapping[str, Any]) -> dict[str, float]:
    """Return the CPU seconds per stage of the run."""
    return {name: _check_number(results[key]) for key, name in SPENT.items() if key in results}


@dataclass(frozen=True, slots=True)
class Point:
    """A measured value at a step, with its interval."""

    step: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """A policy metric over a run's training steps.

    Cold-start steps are counted back from the end: the last is 0, the one before is -1."""

    games: str
    title: str
    """Title that describes the values."""
    player: str
    """Description of the player whose values these are."""
    points: Sequence[Point]
    levels: Mapping[str, float]
    """Values of other players in the same matches, by player name."""


def build_learning_curves(
    config: Mapping[str, Any], results: Mapping[str, Any], metrics: Curves
) -> list[LearningCurve]:
    """Return each game's mean returns against the first opponent, from a run's config, results and metrics.

    The verdict judges the gain from the point at step 0 to the last one."""
    return [
        _build_evaluation_curve(config, game, "return", _title_returns(opponent), results, metrics)
        for game, opponent in _find_first_opponents(results).items()
    ]


def build_loss_curves(config: Mapping[str, Any], results: Mapping[str, Any], metrics: Curves) -> list[LearningCurve]:
    """Return the loss per move against the first opponent, for each game with a judge."""
    judges = {game: found.get("judge") for game, found in results.get("judges", {}).items()}
    return [
        _build_evaluation_curve(config, game, "lost_per_move", _title_losses(opponent, judges[game]), results, metrics)
        for game, opponent in _find_first_opponents(results).items()
        if judges.get(game) is not None
    ]


def build_agreement_curve(config: Mapping[str, Any], metrics: Curves) -> LearningCurve | None:
    """Return the agreement with the teacher, or None if it was not measured."""
    points = []
    for stage, name in AGREEMENT.items():
        zero = metrics.last(COLD_START)[0] if stage == COLD_START else 0
        found = [(step, values[name]) for step, values in metrics.entries(stage).items() if name in values]
        if stage == COLD_START:  # each step repeats the value of the latest matches
            found = [new for old, new in pairwise([(0, math.nan), *found]) if new[1] != old[1]]
        each = math.ceil(len(found) / MOST_AGREEMENTS)
        for first in range(0, len(found), max(1, each)):
            span = found[first : first + each]
            value = fmean(value for _, value in span)
            points.append(Point(span[-1][0] - zero, value, value, value))
    if not points:
        return None
    title = "agreement with the teacher: share of sampled replies that are among its likeliest moves"
    return LearningCurve(", ".join(config["games"]), title, "the policy, sampled", points, {})


def _find_first_opponents(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the first opponent in each game that was measured before training."""
    return {game: next(iter(scores)) for game, scores in results.get("evaluations", {}).get(BEFORE, {}).items()}


def _title_returns(opponent: str) -> str:
    return "mean return" if opponent == ALONE else f"mean return against {opponent}"


def _title_losses(opponent: str, judge: str) -> str:
    return f"return lost per move against {opponent}, as a share of the range of returns (judge: {judge})"


def _build_evaluation_curve(
    config: Mapping[str, Any], game: str, figure: str, title: str, results: Mapping[str, Any], metrics: Curves
) -> LearningCurve:
    """Return the curve of a figure of the evaluations in one game, against the first opponent.

    Points between the first and the last are based on fewer matches."""
    opponent = _find_first_opponents(results)[game]
    scores = {what: found[game].get(opponent, {}) for what, found in results["evaluations"].items() if game in found}
    measured = {what: _read_estimate(score[figure]) for what, score in scores.items() if figure in score}
    name = f"eval/{game}/{opponent}/{figure}"

    def list_measured(stage: str, zero: int) -> Iterator[Point]:
        for step, values in metrics.entries(stage).items():
            if name in values:
                value = values[name]
                yield Point(step - zero, value, values.get(f"{name}_low", value), values.get(f"{name}_high", value))

    points = [*list_measured(COLD_START, metrics.last(COLD_START)[0])]
    if BEFORE in measured:
        points.append(Point(0, *measured[BEFORE]))
    points += list_measured(TRAIN, 0)
    if AFTER in measured:
        kept = results["kept_step"]
        points = [point for point in points if point.step != kept or not kept]
        points.append(Point(kept, *measured[AFTER]))
        points.sort(key=lambda point: point.step)
    levels = {}
    for what, (value, _, _) in measured.items():
        if what == CONTROL or what.startswith(ANCHOR):
            levels["control: more SFT" if what == CONTROL else find_player_name(config, what)] = value
    optima = results.get("optima", {}).get(game, {})
    if figure == "return" and "best return" in optima and opponent == "random":
        levels[OPTIMUM] = _check_number(optima["best return"]["return"])
    return LearningCurve(game, title, "the policy, greedy", points, levels)


def _read_estimate(estimate: Sequence[float | None]) -> list[float]:
    """Return an estimate with its interval. With too few matches, the interval has zero width."""
    value, low, high = estimate
    return [
        _check_number(value),
        _check_number(value if low is None else low),
        _check_number(value if high is None else high),
    ]


def _check_number(value: Any) -> float:
    """Return a value from a file if it is a number. Raises `TypeError` for anything else."""
    if not is_number(value):
        raise TypeError(f"{value!r:.40} is not a number")
    number: float = value
    return number


def _list_game_rows(config: Mapping[str, Any], game: str, results: Mapping[str, Any]) -> Iterator[ResultRow]:
    evaluations = results.get("evaluations", {})
    gains = results.get("gains", {}).get(BEFORE, {}).get(game, {})
    for what in (BEFORE, AFTER, CONTROL, *(name for name in evaluations if name.startswith(ANCHOR))):
        for opponent, score in evaluations.get(what, {}).get(game, {}).items():
            gain = gains.get(opponent) if what == AFTER else None
            yield _build_row(game, find_player_name(config, what), opponent, score, gain)
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


def _build_row(
    game: str, player: str, opponent: str, score: Mapping[str, Any], gain: Sequence[float | None] | None
) -> ResultRow:
    readings, results = score["counts"]["readings"], score["results"]
    # a single-seat game has no wins, draws and losses
    win, draw, loss = (
        _format_estimate(results[key], "{:.3f}") if key in results else "" for key in ("win", "draw", "loss")
    )
    total = sum(readings.values())
    return ResultRow(
        game,
        player,
        opponent,
        str(score["matches"]),
        win,
        draw,
        loss,
        _format_estimate(score["return"], "{:+.3f}"),
        f"{(total - readings.get('move', 0)) / total:.4f}" if total else "",
        _format_estimate(score["lost_per_move"], "{:.3f}") if "lost_per_move" in score else "",
        "" if gain is None else _format_estimate(gain, "{:+.3f}"),
    )


def _format_estimate(estimate: Sequence[float | None], form: str) -> str:
    """Format an estimate, without an interval if there are too few matches."""
    value, low, high = ("–" if number is None else form.format(number) for number in estimate)
    return f"{value} [{low}, {high}]"
