"""Finding runs, and reading their files in any state."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gymposium.errors import BadRecord
from gymposium.records import Problem
from gymposium.runs.curves import Curves
from gymposium.runs.metric_docs import find_metric, load_metrics
from gymposium.runs.results import (
    MOST_AGREEMENTS,
    Point,
    VerdictKind,
    build_agreement_curve,
    build_learning_curves,
    build_loss_curves,
    build_rows,
    judge_run,
)
from gymposium.runs.run import Run, find_runs, is_data_file, mark_running
from gymposium.runs.samples import SamplesIndex, parse_group


def test_runs_are_found_at_any_depth(training_run: Any, tmp_path: Path) -> None:
    first, second = training_run("a"), training_run("deep/b")
    (first.path / "adapter").mkdir()
    (first.path / "adapter" / "config.json").write_text("{}")  # a model's
    found = find_runs(tmp_path)
    assert {name: run.path for name, run in found.items()} == {"training/a": first.path, "training/deep/b": second.path}
    assert [*find_runs(second.path)] == ["b"]
    assert find_runs(tmp_path / "nothing") == {}


@pytest.mark.skipif(sys.platform == "win32", reason="without locks")
def test_run_is_running_while_its_process_lives(training_run: Any) -> None:
    made = training_run()
    run = Run("first", made.path)
    assert not run.running
    with mark_running(made.path):
        assert run.running
        with mark_running(made.path):  # ranks of one run
            assert run.running
        assert run.running
    assert not run.running
    code = (
        "import sys, pathlib; from gymposium.runs.run import mark_running\n"
        "with mark_running(pathlib.Path(sys.argv[1])): print('ready', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-P", "-c", code, str(made.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert run.running
        process.kill()
        process.wait()
    assert not run.running
    assert not Run("none", made.path / "none").running


def test_data_files_are_recognized_by_their_folder(training_run: Any, tmp_path: Path) -> None:
    run = training_run()
    assert is_data_file(run.path / "metrics.jsonl")
    assert is_data_file(run.path / "samples.jsonl")
    assert not is_data_file(run.path / "matches" / "train.jsonl")
    for name in ("metrics.jsonl", "samples.jsonl", "data.jsonl"):
        assert not is_data_file(tmp_path / name)
    for manifest, held in (('{"format": "gymposium-synth-2"}', True), ('{"format": "other"}', False), ("[" * 9, False)):
        (tmp_path / "manifest.json").write_text(manifest)
        assert is_data_file(tmp_path / "data.jsonl") is held


def test_curves_continue_after_a_refresh(training_run: Any) -> None:
    run = training_run()
    curves = Curves(run.path / "metrics.jsonl")
    curves.refresh()
    assert (curves.stages(), curves.last()) == ([], (0, {}))
    run.log(1)
    run.log(1, "cold_start")
    run.add("metrics.jsonl", '{"stage": "train", "st')  # being written
    curves.refresh()
    assert curves.stages() == ["cold_start", "train"]
    assert curves.curve().steps == [1]
    run.add("metrics.jsonl", '\n{"stage": "train"}\n[]\n')  # it was cut off, and these are not what they should be
    run.log(3)
    run.log(2, eval__tic_tac_toe__random__win=0.75)
    run.log(3, rollout__win=0.9, train__entropy=float("nan"))  # done again
    curves.refresh()
    curve = curves.curve()
    assert curve.steps == [1, 2, 3]
    assert curve.series["rollout/win"] == [0.5, 0.5, 0.9]
    assert curve.series["eval/tic_tac_toe/random/win"] == [None, 0.75, None]
    assert curve.series["train/entropy"] == [1.0, 0.5, None]
    assert [problem.where for problem in curves.problems] == [f"metrics.jsonl:{n}" for n in (3, 4, 5)]


@given(st.integers(1, 400), st.integers(1, 60))
def test_long_curve_is_averaged(tmp_path_factory: Any, steps: int, most: int) -> None:
    file = tmp_path_factory.mktemp("curves") / "metrics.jsonl"
    file.write_text("".join(f'{{"stage": "train", "step": {step}, "x": {step}}}\n' for step in range(1, steps + 1)))
    curves = Curves(file)
    curves.refresh()
    curve = curves.curve(most=most)
    assert len(curve.steps) == len(curve.series["x"]) <= most
    assert curve.steps[-1] == steps
    assert curve.each * len(curve.steps) >= steps
    first = min(curve.each, steps)
    assert curve.series["x"][0] == (first + 1) / 2  # the mean of 1 to first


def test_learning_curves_run_from_first_to_final_evaluation(training_run: Any) -> None:
    run = training_run(steps=4)
    name = "eval__tic_tac_toe__random__return"
    run.log(2, eval__tic_tac_toe__random__win=0.1, **{name: 0.75, f"{name}_low": 0.5, f"{name}_high": 0.9})
    curves, read = Curves(run.path / "metrics.jsonl"), Run("first", run.path)
    curves.refresh()
    (curve,) = build_learning_curves(read.config(), read.results(), curves)
    assert [point.step for point in curve.points] == [0, 2]
    assert curve.points[1] == Point(2, 0.75, 0.5, 0.9)
    assert curve.title == "mean return against random"
    run.finish()
    run.measured("anchor random")
    (curve,) = build_learning_curves(read.config(), read.results(), curves)
    assert [point.step for point in curve.points] == [0, 2, 4]
    returns = {
        what: scores["tic_tac_toe"]["random"]["return"] for what, scores in read.results()["evaluations"].items()
    }
    assert [point.value for point in (curve.points[0], curve.points[2])] == [
        returns["cold start"][0],
        returns["trained"][0],
    ]  # what the verdict compares
    assert curve.levels == {"random": returns["anchor random"][0]}
    table = build_rows(read.config(), read.results())
    assert [(line.player, line.matches) for line in table] == [
        ("cold start", "6"),
        ("after training", "6"),
        ("random", "6"),
    ]


def test_rows_have_the_gain_and_the_loss_per_move(training_run: Any) -> None:
    run = training_run()
    run.measured("cold start", lost_per_move=[0.25, None, None])
    run.finish()
    results: Any = Run("first", run.path).results()
    results["gains"] = {"cold start": {"tic_tac_toe": {"random": [0.5, 0.25, 0.75]}}}
    first, last = build_rows({"cold_start": {"steps": 5}}, results)
    assert (first.gain, first.lost) == ("", "0.250 [–, –]")
    assert (last.gain, last.lost) == ("+0.500 [+0.250, +0.750]", "")


def test_loss_curve_runs_from_first_to_final_evaluation(training_run: Any) -> None:
    run = training_run(steps=4)
    name = "eval__tic_tac_toe__random__lost_per_move"
    run.measured("cold start", lost_per_move=[0.25, 0.125, 0.5])
    run.measured("anchor random", lost_per_move=[0.375, None, None])
    run.log(3, "cold_start", **{name: 0.5})
    run.log(5, "cold_start")
    run.log(2, **{name: 0.125, f"{name}_low": 0.0, f"{name}_high": 0.25})
    run.finish()  # no move of the trained model was judged
    curves, read = Curves(run.path / "metrics.jsonl"), Run("first", run.path)
    curves.refresh()
    results: Any = read.results()
    assert build_loss_curves(read.config(), results, curves) == []
    results["judges"] = {"tic_tac_toe": {"judge": "exact"}, "chess": {"reason": "chess is too large"}}
    (curve,) = build_loss_curves(read.config(), results, curves)
    assert curve.title.startswith("return lost per move against random")
    assert "judge: exact" in curve.title
    assert curve.points == [Point(-2, 0.5, 0.5, 0.5), Point(0, 0.25, 0.125, 0.5), Point(2, 0.125, 0.0, 0.25)]
    assert curve.levels == {"random": 0.375}


def test_agreement_curve_joins_both_stages(training_run: Any) -> None:
    run = training_run()
    curves, read = Curves(run.path / "metrics.jsonl"), Run("first", run.path)
    assert build_agreement_curve(read.config(), curves) is None
    for step, agreement in ((2, 0.25), (3, 0.25), (4, 0.5)):
        run.log(step, "cold_start", train__teacher_agreement=agreement)
    run.log(5, "cold_start")
    for step in range(1, 2 * MOST_AGREEMENTS):
        run.log(step, rollout__teacher_agreement=0.5 if step % 2 else 1.0)
    curves.refresh()
    curve = build_agreement_curve(read.config(), curves)
    assert curve is not None
    assert (curve.games, curve.levels) == ("tic_tac_toe", {})
    *cold, first = curve.points[:3]
    assert cold == [Point(-3, 0.25, 0.25, 0.25), Point(-1, 0.5, 0.5, 0.5)]
    assert first == Point(2, 0.75, 0.75, 0.75)
    assert (curve.points[-1].step, len(curve.points)) == (2 * MOST_AGREEMENTS - 1, 2 + MOST_AGREEMENTS)


def test_unreadable_files_report_why(tmp_path: Path) -> None:
    run = Run("x", tmp_path)
    assert isinstance(run.config(), Problem)
    assert run.results() == {}
    (tmp_path / "results.json").write_text("[1]")
    assert "must be a JSON object" in str(run.results())
    (tmp_path / "config.json").write_text("{" * 10)
    assert str(tmp_path / "config.json") in str(run.config())


def test_samples_are_indexed_and_the_last_per_step_counts(training_run: Any) -> None:
    run = training_run()
    index = SamplesIndex(run.path / "samples.jsonl")
    index.refresh()
    assert index.places() == []
    run.keep(5, rewards=(1.0, 1.0))
    run.add("samples.jsonl", '{"format":"gymposium-samples-1","step":5,"group":1,"ga')
    index.refresh()
    assert index.places() == [(5, 0)]
    run.add("samples.jsonl", "\n")
    run.keep(5, rewards=(1.0, 0.0, -1.0))
    run.keep(1)
    index.refresh()
    assert index.places() == [(1, 0), (5, 0)]
    assert [problem.where for problem in index.problems] == ["samples.jsonl:2"]
    line, group = index.line(5, 0), index.group(5, 0)
    assert line is not None
    assert group is not None
    assert group == parse_group(line)
    assert [one.reward for one in group.best_first] == [1.0, 0.0, -1.0]
    assert not group.tied
    assert (index.line(5, 7), index.group(5, 7)) == (None, None)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda g: g.update(format="other"), "not samples"),
        (lambda g: g.pop("game"), "game"),
        (lambda g: g.update(trajectories=[]), "trajectories"),
        (lambda g: g["trajectories"][0].update(advantages=[1.0, 2.0]), "advantages"),
        (lambda g: g["trajectories"][0].update(reward="much"), "reward: Input should be a valid number"),
        (lambda g: g["trajectories"][0]["rows"][0].update(pieces=["a"]), "piece"),
        (lambda g: g["trajectories"][0]["rows"][0]["turns"][0].update(stop=99), "out of order"),
        (lambda g: g["trajectories"][0]["rows"][0]["turns"][0].update(engine=[0.0]), "log-probabilities"),
        (lambda g: g["trajectories"][0].update(rows=[]), "rows has 0 turns, but readings has"),
    ],
)
def test_malformed_samples_are_refused_with_the_reason(training_run: Any, change: Any, what: str) -> None:
    run = training_run()
    run.keep(1)
    group = json.loads((run.path / "samples.jsonl").read_text())
    change(group)
    with pytest.raises(BadRecord, match=what):
        parse_group(json.dumps(group).encode())


def test_every_documented_metric_is_found() -> None:
    for metric in load_metrics():
        name = metric.name.replace("GAME", "leduc_poker").replace("OPPONENT", "mcts-100").replace("PART", "utility")
        assert find_metric(name) == metric
    assert find_metric("rollout/nothing/of/this") is None
    assert {"rollout/win", "rollout/win/OPPONENT", "rollout/GAME/win"} <= {metric.name for metric in load_metrics()}


def measured(before: float, after: float, gain: list[float | None], **more: Any) -> dict[str, Any]:
    named = (("cold start", before), ("trained", after))
    return {
        "evaluations": {what: {"nim": {"random": {"return": [value, None, None]}}} for what, value in named},
        "gains": {"cold start": {"nim": {"random": gain}}},
        "ranges": {"nim": [-1.0, 1.0]},
        **more,
    }


@pytest.mark.parametrize(
    ("before", "after", "gain", "outcome", "said"),
    [
        (
            0.1,
            0.5,
            [0.4, 0.2, 0.6],
            VerdictKind.LEARNED,
            "Learned: better than before training in nim against random: mean",
        ),
        (0.1, 0.2, [0.1, -0.1, 0.3], VerdictKind.LEVEL, "Nothing was learned that can be told from chance"),
        (0.1, -0.3, [-0.4, -0.6, -0.2], VerdictKind.WORSE, "Worse than before training"),
        (1.0, 0.5, [-0.5, -0.6, -0.4], VerdictKind.WORSE, "Worse than before training"),
        (0.1, 0.5, [0.4, None, None], VerdictKind.LEVEL, "Nothing was learned"),
        (1.0, 1.0, [0.0, -0.1, 0.1], VerdictKind.SOLVED, "Already solved before training"),
        (0.99, 1.0, [0.01, -0.01, 0.03], VerdictKind.SOLVED, "Already solved before training"),
        (1.0, 1.0, [0.0, None, None], VerdictKind.SOLVED, "Already solved before training"),
    ],
)
def test_verdict_follows_from_paired_gains_and_headroom(
    before: float, after: float, gain: list[float | None], outcome: VerdictKind, said: str
) -> None:
    found = judge_run(measured(before, after, gain))
    assert found is not None
    assert found.outcome is outcome
    assert found.text.startswith(said)
    assert found.is_failure is (outcome in (VerdictKind.LEVEL, VerdictKind.WORSE))


def test_game_is_solved_at_its_known_optimum() -> None:
    results = measured(0.95, 0.955, [0.005, -0.01, 0.02], optima={"nim": {"best return": {"return": 0.9598}}})
    found = judge_run(results)
    assert found is not None
    assert found.outcome is VerdictKind.SOLVED
    results["optima"] = {"nim": {}}
    found = judge_run(results)
    assert found is not None
    assert found.outcome is VerdictKind.LEVEL


@pytest.mark.parametrize(
    ("teacher", "random", "gain", "outcome"),
    [
        ({"teacher": "exact"}, [0.0, -0.1, 0.1], [0.0, -0.1, 0.1], VerdictKind.TAUGHT),
        ({"teacher": "exact"}, [0.0, -0.1, 0.1], [-0.2, -0.3, -0.1], VerdictKind.WORSE),
        ({"teacher": "exact"}, [0.4, 0.3, 0.5], [0.0, -0.1, 0.1], VerdictKind.LEVEL),
        ({}, [0.0, -0.1, 0.1], [0.0, -0.1, 0.1], VerdictKind.LEVEL),
    ],
)
def test_verdict_credits_the_teacher_of_a_model_above_random_play(
    teacher: dict[str, str], random: list[float], gain: list[float | None], outcome: VerdictKind
) -> None:
    results = measured(0.5, 0.5, gain, **teacher)
    results["evaluations"]["cold start"]["nim"]["random"]["return"] = [0.5, 0.4, 0.6]
    results["evaluations"]["anchor random"] = {"nim": {"random": {"return": random}}}
    found = judge_run(results)
    assert found is not None
    assert found.outcome is outcome
    assert found.is_failure is (outcome in (VerdictKind.LEVEL, VerdictKind.WORSE))
    assert found.text.startswith("Learned from exact in the cold start.") is (outcome is VerdictKind.TAUGHT)


@pytest.mark.parametrize(("ahead", "said"), [([0.2, 0.1, 0.3], False), ([0.1, -0.1, 0.3], True)])
def test_verdict_reports_an_equally_good_control(ahead: list[float], said: bool) -> None:
    results = measured(0.1, 0.5, [0.4, 0.3, 0.5])
    results["evaluations"]["control"] = {"nim": {"random": {"return": [0.3, 0.2, 0.4]}}}
    results["gains"]["control"] = {"nim": {"random": ahead}}
    found = judge_run(results)
    assert found is not None
    assert found.outcome is VerdictKind.LEARNED
    assert ("not better than the control, which went on with imitation, in nim against random" in found.text) is said


def test_untrained_run_has_no_verdict() -> None:
    assert judge_run({}) is None
    assert judge_run({"evaluations": {"cold start": {"nim": {"random": {"return": [0.1, 0.0, 0.2]}}}}}) is None
