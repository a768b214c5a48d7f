"""A run over several games: its files, and how other commands use them."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gymposium.errors import BadOption
from gymposium.games.registry import load_game
from gymposium.match import FORFEIT, play
from gymposium.match.seating import plan_jobs
from gymposium.players.grammar import make_player
from gymposium.plugins.host import host
from gymposium.records import Record, read_records, verify_file
from gymposium.runs.curves import Curves
from gymposium.runs.results import build_learning_curves, build_rows, sum_stage_seconds
from gymposium.runs.run import Run, find_runs
from gymposium.runs.samples import SamplesIndex
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.config import TrainConfig
from gymposium_train.config.directory import RunDirectory, write_json
from gymposium_train.config.schedules import RunProgress, compute_growth
from gymposium_train.config.writing import config_to_data
from gymposium_train.run.callbacks import Callback
from gymposium_train.run.start import resume_run, start_run
from gymposium_viewer.app import make_viewer

GAMES = ("tic_tac_toe", "kuhn_poker")
UNTAUGHT = ("model.small", "cold_start")
PANEL = ('evaluation.opponents=["random", "mcts-5"]', "evaluation.search_matches=4", "control=true")
KEPT = ("samples.every=3", "samples.tokens=3")


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory, quick_config: Any) -> RunDirectory:
    config = quick_config('games=["tic_tac_toe", "kuhn_poker"]', *PANEL, *KEPT)
    return start_run(tmp_path_factory.mktemp("runs") / "whole", config)


@pytest.fixture
def config(finished_run: RunDirectory) -> TrainConfig:
    return RunDirectory.open(finished_run.path)[1]


@pytest.mark.slow
def test_every_model_is_evaluated_in_every_game(finished_run: RunDirectory) -> None:
    results = finished_run.results()
    assert set(results["evaluations"]) == {"cold start", "trained", "control", "anchor random", "anchor mcts-5"}
    for scores in results["evaluations"].values():
        assert list(scores) == list(GAMES)
        assert all(set(found) == {"random", "mcts-5"} for found in scores.values())
    assert results["optima"]["tic_tac_toe"]["most wins"]["win"] == pytest.approx(0.9667, abs=1e-4)
    assert results["optima"]["tic_tac_toe"]["best return"]["return"] == pytest.approx(0.9598, abs=1e-4)
    assert results["optima"]["kuhn_poker"] == {}  # it hides cards
    for what in ("cold start", "control"):  # over the same deals, so the means differ by the mean difference
        for game in GAMES:
            for opponent, gain in results["gains"][what][game].items():
                both = [results["evaluations"][who][game][opponent]["return"][0] for who in (what, "trained")]
                assert gain[0] == pytest.approx(both[1] - both[0])
    assert results["ranges"] == {"tic_tac_toe": [-1.0, 1.0], "kuhn_poker": [-2.0, 2.0]}
    assert results["control_cpu_seconds"] >= results["train_cpu_seconds"] > 0
    assert results["cold_start"]["replies"] > 0


def test_every_step_logs_metrics(finished_run: RunDirectory, config: TrainConfig) -> None:
    metrics = finished_run.metrics()
    stages = [entry["stage"] for entry in metrics]
    assert (stages.count("cold_start"), stages.count("train")) == (config.cold_start.steps, config.steps)
    assert stages.count("control") > 0
    train = [entry for entry in metrics if entry["stage"] == "train"]
    assert [entry["step"] for entry in train] == [1, 2, 3, 4]
    for game in GAMES:
        points = [entry["step"] for entry in train if f"eval/{game}/random/win" in entry]
        assert points == [2, 4]
    assert all(0.0 <= entry["sync/canary"] < 1e-4 for entry in train)
    assert train[-1]["train/policy_version"] > 0
    for entry in train:
        parts = [entry[f"perf/seconds_{part}"] for part in ("rollout", "update", "publish")]
        assert min(parts) > 0.0
        assert sum(parts) <= entry["perf/seconds"]
    host = [entry["perf/memory_host"] for entry in train]
    assert host[0] > 1.0
    assert host == sorted(host)


@pytest.fixture(scope="module")
def groups(finished_run: RunDirectory) -> list[dict[str, Any]]:
    """The kept groups of rollouts."""
    return [json.loads(line) for line in finished_run.samples_file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def records(finished_run: RunDirectory) -> dict[str, Record]:
    """The matches that were learned from."""
    return {
        record.id: record for _, record in read_records(finished_run.matches("train")) if isinstance(record, Record)
    }


def test_first_last_and_some_other_steps_are_kept(groups: list[dict[str, Any]]) -> None:
    assert [(group["step"], group["group"]) for group in groups] == [(s, n) for s in (1, 3, 4) for n in range(2)]
    assert [(group["game"], group["seat"], group["opponent"]) for group in groups[:2]] == [
        ("tic_tac_toe", 0, "random"),
        ("kuhn_poker", 0, "random"),
    ]


def test_viewers_can_read_the_run(finished_run: RunDirectory, groups: list[dict[str, Any]]) -> None:
    """The core reads runs without this package, so it must understand the files that this package writes."""
    (run,) = find_runs(finished_run.path.parent).values()
    assert run.finished
    curves, index = Curves(run.metrics), SamplesIndex(run.samples)
    curves.refresh()
    index.refresh()
    assert curves.stages() == ["cold_start", "train", "control"]
    assert [*curves.entries()] == [1, 2, 3, 4]
    assert index.places() == [(group["step"], group["group"]) for group in groups]
    assert curves.problems == index.problems == []
    for group in groups:
        found = index.group(group["step"], group["group"])
        assert found is not None
        assert [one.match for one in found.trajectories] == [one["match"] for one in group["trajectories"]]
    for curve in build_learning_curves(run.config(), run.results(), curves):
        assert [point.step for point in curve.points] == [0, 2, 4]
        assert {"control: more SFT", "random"} <= set(curve.levels)


def test_every_trajectory_has_a_recorded_match(groups: list[dict[str, Any]], records: dict[str, Record]) -> None:
    for group in groups:
        for one in group["trajectories"]:
            record, seat = records[one["match"]], group["seat"]
            assert one["return"] == one["reward"] == record.returns[seat] == sum(one["rewards"])
            assert one["result"] == record.results[seat]
            assert one["readings"] == [turn["reading"] for turn in record.turns if turn["seat"] == seat]
            assert one["end"] == ("forfeit" if record.ending.seat == seat else None)
            assert len(one["rewards"]) == len(one["advantages"]) == len(one["readings"])
            assert one["values"] == one["targets"] == []  # there is no critic


def test_best_and_worst_are_kept_with_tokens(groups: list[dict[str, Any]]) -> None:
    for group in groups:
        rewards = [one["reward"] for one in group["trajectories"]]
        shown = [one["reward"] for one in group["trajectories"] if "rows" in one]
        assert len(shown) == min(3, len(rewards))
        assert {min(rewards), max(rewards)} <= {*shown}


def test_tokens_decode_to_the_replies(groups: list[dict[str, Any]], records: dict[str, Record]) -> None:
    """The pieces of a turn's tokens are the reply in the record, with its end-of-turn token. Bytes that are no
    character may be written in another number of replacement characters."""
    whole = 0
    for group in groups:
        for one in (one for one in group["trajectories"] if "rows" in one):
            said = [turn["text"] for turn in records[one["match"]].turns if turn["seat"] == group["seat"]]
            spans = [(row, turn) for row in one["rows"] for turn in row["turns"]]
            assert len(spans) == len(said)
            for text, (row, turn) in zip(said, spans, strict=True):
                sampled = row["pieces"][turn["start"] : turn["stop"]]
                if "\ufffd" not in text:
                    assert "".join(sampled).removesuffix("<|end|>") == text
                    whole += 1
                assert len(turn["engine"]) == len(sampled)
                assert all(logprob <= 0.0 for logprob in turn["engine"])
            assert all(len(row["ids"]) == len(row["pieces"]) for row in one["rows"])
    assert whole > 20


def test_every_match_is_recorded_and_verifies(finished_run: RunDirectory, config: TrainConfig) -> None:
    points = 3  # at steps 0, 2 and 4
    measured, pace = 5 * (8 + 4) + points * config.evaluation.curve_matches, RunProgress(config)
    expected = {
        "cold_start": config.cold_start.matches,
        "train": sum(
            2 * round(config.rollout.group_size * compute_growth(config, pace(step))) for step in range(config.steps)
        ),
        "eval": measured * len(GAMES),
    }
    for stage, matches in expected.items():
        verification = verify_file(finished_run.matches(stage))
        assert (verification.matches, verification.problems) == (matches, [])
    assert not verify_file(finished_run.matches("control")).problems


@pytest.mark.parametrize("other", ["cold start", "control"])
def test_gains_are_paired_by_deal(finished_run: RunDirectory, other: str) -> None:
    """Matches of the same number have the same deal, and the gain is the mean difference between their returns."""
    records = read_records(finished_run.matches("eval"))
    played = {record.id: record for _, record in records if isinstance(record, Record)}
    for game in GAMES:
        differences = []
        for number in range(8):
            pair = [played[f"{tag}-{game}-random-{number}"] for tag in (other.replace(" ", "-"), "trained")]
            seats = [1 - record.players.index("random") for record in pair]
            assert (pair[0].seed, seats[0]) == (pair[1].seed, seats[1])
            before, after = (record.returns[seat] for record, seat in zip(pair, seats, strict=True))
            differences.append(after - before)
        gain, low, high = finished_run.results()["gains"][other][game]["random"]
        assert gain == pytest.approx(sum(differences) / 8)
        assert low < gain < high


def test_outputs_are_complete_and_checkpoints_hold_an_adapter(finished_run: RunDirectory) -> None:
    for name in ("base", "cold_start", "adapter", "control"):
        assert (finished_run.path / name / "COMPLETE").is_file()
        assert (finished_run.path / name / "player.json").is_file()
    kept = sorted(finished_run.checkpoints.iterdir())
    assert [one.name for one in kept] == ["step-00003", "step-00004"]
    last, made = (place / "adapter_model.safetensors" for place in (kept[-1], finished_run.adapter))
    assert last.read_bytes() == made.read_bytes()
    assert json.loads(finished_run.versions_file.read_text())["torch"]


def test_result_is_a_player(finished_run: RunDirectory) -> None:
    player = make_player(f"lm:{finished_run.cold_start}@{finished_run.adapter}")
    game = load_game("tic_tac_toe")
    jobs = plan_jobs(game, [player, make_player("random")], 4, seed=1, swap=True, tag="t", on_illegal=FORFEIT)
    assert len(list(play(job for job, _ in jobs))) == 4


@pytest.mark.parametrize(
    ("missing", "model", "adapter"),
    [
        ((), "cold_start", "adapter"),
        (("adapter",), "cold_start", None),
        (("cold_start",), "base", "adapter"),
        (("adapter", "cold_start"), None, None),
    ],
)
def test_run_directory_is_a_player(
    finished_run: RunDirectory, tmp_path: Path, missing: tuple[str, ...], model: str | None, adapter: str | None
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished_run.path, run)
    for name in missing:
        shutil.rmtree(run / name)
    if model is None:
        with pytest.raises(BadOption, match="has not trained a model yet"):
            make_player(f"lm:{run}")
        return
    player = make_player(f"lm:{run}?temperature=0.5")
    assert isinstance(player, LanguageModelPlayer)
    assert player.name == f"lm:{run}?temperature=0.5"
    expected = make_player(f"lm:{run / model}" + (f"@{run / adapter}" if adapter else "") + "?temperature=0.5")
    assert isinstance(expected, LanguageModelPlayer)
    assert player.identity() == expected.identity()


def test_report_is_self_contained_and_shows_each_game(finished_run: RunDirectory) -> None:
    page = finished_run.report.read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href)="(?!#|data:)""", page)
    curves = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    returns = [curve for curve in curves["evaluation"] if curve["title"].startswith("mean return")]
    assert [curve["games"] for curve in returns] == list(GAMES)
    for text in ("after training", "control", "exact, most wins", "0.9667", *GAMES):
        assert text in page
    for text in ("perf/tokens_per_second_rollout", "perf/memory_host", "rollout/illegal", "rollout/groups_tied"):
        assert f">{text}<" in page
    assert "Sample replies" in page


def test_report_matches_the_run_page(finished_run: RunDirectory) -> None:
    """What the viewer shows of the run stands in the report, too."""
    served = make_viewer(finished_run.path.parent, live=False)
    served.parts[1].export(finished_run.path.parent.parent / "exported")
    name = finished_run.path.name
    page = (finished_run.path.parent.parent / "exported" / "runs" / name / "index.html").read_text(encoding="utf-8")
    report = finished_run.report.read_text(encoding="utf-8")
    headings = re.compile(r"<h[12][^>]*>(.*?)</h[12]>")
    assert headings.findall(page) == headings.findall(report)
    assert len(headings.findall(report)) == 6
    assert "finished" in report.partition("<h2")[0]


def test_summary_is_grouped_by_game(finished_run: RunDirectory, config: TrainConfig) -> None:
    found = build_rows(config_to_data(config), finished_run.results())
    assert [line.game for line in found] == ["tic_tac_toe"] * 13 + ["kuhn_poker"] * 10
    assert [line.player for line in found[:4:2]] == ["cold start", "after training"]
    assert list(sum_stage_seconds(finished_run.results())) == ["cold start", "training", "control"]


@pytest.mark.slow
def test_run_stopped_in_its_control_resumes_it(finished_run: RunDirectory, tmp_path: Path) -> None:
    """Finished steps and evaluations are not done again. The control has its whole budget."""
    shutil.copytree(finished_run.path, tmp_path / "stopped")
    run = RunDirectory(tmp_path / "stopped")
    (run.control / "COMPLETE").unlink()
    run.report.unlink()
    results = run.results()
    del results["evaluations"]["control"]["kuhn_poker"]
    write_json(run.results_file, results)
    before = run.metrics()
    resume_run(run.path)
    after = run.results()
    assert after["evaluations"]["trained"] == results["evaluations"]["trained"]
    assert after["evaluations"]["control"]["tic_tac_toe"] == results["evaluations"]["control"]["tic_tac_toe"]
    assert "kuhn_poker" in after["evaluations"]["control"]
    assert after["control_cpu_seconds"] >= results["train_cpu_seconds"]
    assert [m for m in run.metrics() if m["stage"] == "train"] == [m for m in before if m["stage"] == "train"]
    assert run.report.is_file()


def test_control_reports_all_time_spent(
    finished_run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time between the last step's metrics and the end of the budget counts as well."""
    shutil.copytree(finished_run.path, tmp_path / "stopped")
    run = RunDirectory(tmp_path / "stopped")
    (run.control / "COMPLETE").unlink()
    budget = run.results()["train_cpu_seconds"]
    clock = SimpleNamespace(process_time=(tick * 0.3 * budget for tick in count()).__next__)
    monkeypatch.setattr("gymposium_train.run.control.time", clock)
    resume_run(run.path)
    assert run.results()["control_cpu_seconds"] >= budget


def test_refuses_a_directory_in_use(finished_run: RunDirectory, config: TrainConfig) -> None:
    with pytest.raises(BadOption, match="--resume"):
        start_run(finished_run.path, config)


def test_games_of_all_kinds_train_together(tmp_path: Path, quick_config: Any) -> None:
    """Games with hidden hands, with simultaneous moves, and with one seat."""
    games = 'games=["kuhn_poker", "goofspiel(num_cards=4)", "2048"]'
    config = quick_config(
        games, "steps=1", "rollout.groups=3", "rollout.group_size=2", "cold_start.matches=9", "cold_start.steps=2"
    )
    run = start_run(tmp_path / "run", config)
    evaluations = run.results()["evaluations"]
    assert list(evaluations["trained"]) == ["kuhn_poker", "goofspiel(num_cards=4)", "2048"]
    assert list(evaluations["trained"]["2048"]) == ["alone"]
    page = run.report.read_text(encoding="utf-8")
    curves = json.loads(page.partition('id="data">')[2].partition("</script>")[0])["evaluation"]
    assert [curve["games"] for curve in curves if curve["title"] == "mean return"] == ["2048"]


@pytest.mark.slow
def test_named_model_is_neither_copied_nor_warmed_up(
    tmp_path: Path, model_directory: Path, quick_config: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ("cold_start.steps=0", f"model.name={json.dumps(str(model_directory))}", "steps=1", "rollout.group_size=2")
    prompting = ('prompting.prompt="full"', 'prompting.reply="tags"', "prompting.max_tokens=3")
    run = start_run(tmp_path / "run", quick_config('games=["tic_tac_toe"]', *named, *prompting, without=UNTAUGHT))
    assert "Chat template" not in capsys.readouterr().err  # there are no calls and no past turns
    assert not run.base.exists()
    assert not run.cold_start.exists()
    player: Any = make_player(f"lm:{model_directory}@{run.adapter}")
    assert (player.style, player.reader.name, player.sampling.max_tokens) == ("full", "tags", 3)
    assert "before" in run.report.read_text(encoding="utf-8")


def test_cold_start_from_files_needs_no_rollouts(tmp_path: Path, quick_config: Any) -> None:
    """There are no steps of reinforcement learning and no random matches: the model gives the replies of the file. No
    random player is measured in a game of free text, which it could not play."""
    chat = {"messages": [{"role": "user", "content": "Say it."}, {"role": "assistant", "content": "7"}]}
    (tmp_path / "chats.jsonl").write_text(json.dumps(chat) + "\n")
    data = f"cold_start.data={json.dumps([str(tmp_path / 'chats.jsonl')])}"
    settings = ('games=["qa(digits=1)"]', data, "steps=0", "cold_start.batch=4", "cold_start.keep=")
    run = start_run(tmp_path / "run", quick_config(*settings))
    assert run.results()["cold_start"] == {"replies": 1, "too_long": 0, "cut_off": 0}
    assert not run.matches("cold_start").exists()
    assert run.metrics()[-1]["train/sft_loss"] < 0.1
    assert list(run.results()["evaluations"]) == ["cold start"]
    assert "No steps yet" in run.report.read_text(encoding="utf-8")


@pytest.mark.slow
def test_quantized_weights_train_a_lora(tmp_path: Path, quick_config: Any) -> None:
    pytest.importorskip("bitsandbytes")
    small = ("model.small.hidden=64", "model.small.feed_forward=64", 'model.load="4bit"')
    run = start_run(tmp_path / "run", quick_config(*small, "steps=1", "cold_start.steps=20"))
    (step,) = (entry for entry in run.metrics() if entry["stage"] == "train")
    assert step["sync/canary"] < 1e-3
    assert "trained" in run.results()["evaluations"]


@pytest.mark.slow
def test_files_without_legal_moves_are_reported(
    tmp_path: Path, quick_config: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, said = {"role": "user", "content": "x . o"}, {"role": "assistant", "content": "b2"}
    line: dict[str, Any] = {"prompt": [asked], "completion": [said]}
    for name, more in (("named", {"gymposium": {"legal": ["a1", "b2"]}}), ("unnamed", {})):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({**line, **more}) + "\n")
        data = f"cold_start.data={json.dumps([str(tmp_path / f'{name}.jsonl')])}"
        settings = ('games=["tic_tac_toe"]', data, "steps=0", "cold_start.batch=4", "cold_start.keep=")
        start_run(tmp_path / name, quick_config(*settings))
        is_reported = "1 of 1 reply to imitate does not teach the model what is legal" in capsys.readouterr().err
        assert is_reported is (name == "unnamed")


def test_tied_training_ends_with_a_verdict_and_report(
    tmp_path: Path, model_directory: Path, quick_config: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The replies of an untrained model are all cut off, so every match is a forfeit, and all groups are tied."""
    named = ("cold_start.steps=0", f"model.name={json.dumps(str(model_directory))}", "steps=12")
    config = quick_config(*named, "rollout.group_size=2", "prompting.max_tokens=1", without=UNTAUGHT)
    run = start_run(tmp_path / "run", config)
    said = " ".join(capsys.readouterr().err.split())
    assert "Step 1: 100% of the replies fail before any update: " in said
    assert "raise prompting.max_tokens" in said
    assert "Step 1: all matches of each group earned the same reward" in said
    assert "Step 10: the 10th step in a row with equal rewards in every group. Training ends." in said
    assert run.results()["steps"] == 10
    assert "trained" in run.results()["evaluations"]
    assert run.report.exists()


@pytest.mark.slow
def test_weighted_reward_is_reported_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_config: Any
) -> None:
    """One criterion is the user's, from a module in the working directory."""
    (tmp_path / "own_rewards.py").write_text("def moves(group):\n    return [-len(t.turns) for t in group]\n")
    monkeypatch.syspath_prepend(tmp_path)
    reward = "weighted(accuracy=1,efficiency=0.2,own_rewards:moves=0.01)"
    config = quick_config(f'reward="{reward}"', "steps=2", "prompting.on_illegal=forfeit")  # no penalties beside
    run = start_run(tmp_path / "run", config)
    for entry in run.metrics():
        if entry["stage"] == "train":
            parts = {name: entry[f"rollout/reward/{name}"] for name in ("accuracy", "efficiency", "own_rewards:moves")}
            assert entry["rollout/reward"] == pytest.approx(
                parts["accuracy"] + 0.2 * parts["efficiency"] + 0.01 * parts["own_rewards:moves"]
            )
            assert parts["own_rewards:moves"] < 0
    page = run.report.read_text(encoding="utf-8")
    assert "own_rewards:moves" in re.sub(re.escape(reward), "", page)


PLUGIN = """
from dataclasses import dataclass
from gymposium import LoggerSpec, hookimpl

TOLD = []

@dataclass(frozen=True)
class Settings:
    fails_at: int = 0

class Teller:
    def __init__(self, start, settings):
        self.settings = settings
        TOLD.append(("start", start.resumed, start.step))

    def log(self, step, metrics):
        if step == self.settings.fails_at and ("fails", step) not in TOLD:
            TOLD.append(("fails", step))
            raise RuntimeError("the disk is full")
        TOLD.append(("log", step, dict(metrics)))

    def artifact(self, name, path):
        TOLD.append(("artifact", path.name))

    def close(self, error=None):
        TOLD.append(("close", error is not None))

@hookimpl
def gymposium_loggers():
    yield LoggerSpec(name="teller", summary="Tells.", entry_point="teller_of_runs:Teller",
                     settings="teller_of_runs:Settings")
"""


@pytest.fixture
def logger_calls(tmp_path: Path) -> Iterator[list[tuple[Any, ...]]]:
    """The calls of a logger from a plugin of one file."""
    (tmp_path / "teller_of_runs.py").write_text(PLUGIN)
    host().load_file(tmp_path / "teller_of_runs.py")
    yield sys.modules["teller_of_runs"].TOLD
    sys.modules.pop("teller_of_runs")
    host.cache_clear()


class Notes(Callback):
    def __init__(self) -> None:
        self.steps: list[int] = []
        self.checkpoints: list[str] = []
        self.ended = False

    def on_step(self, step: int, metrics: Any) -> None:
        assert metrics["train/policy_version"] >= 0
        self.steps.append(step)

    def on_checkpoint(self, path: Path) -> None:
        assert (path / "COMPLETE").is_file()
        self.checkpoints.append(path.name)

    def on_end(self, directory: RunDirectory) -> None:
        assert directory.report.is_file()
        self.ended = True


@pytest.mark.slow
def test_failing_logger_loses_no_step(tmp_path: Path, logger_calls: list[tuple[Any, ...]], quick_config: Any) -> None:
    """It gets every step. When it fails, the run saves a checkpoint and stops, and continues after that step when
    resumed."""
    config = quick_config("loggers.teller.fails_at=3", "checkpoints.every=4", "cold_start.steps=4")
    notes = Notes()
    with pytest.raises(Exception, match="the disk is full"):
        start_run(tmp_path / "run", config, [notes])
    assert (notes.steps, notes.checkpoints, notes.ended) == ([1, 2], ["step-00000", "step-00003"], False)
    assert logger_calls[-1] == ("close", True)
    run = resume_run(tmp_path / "run", [notes])
    assert (notes.steps, notes.ended) == ([1, 2, 4], True)
    assert notes.checkpoints == ["step-00000", "step-00003", "step-00004"]
    logged = [one[1] for one in logger_calls if one[0] == "log"]
    assert logged == [0, 1, 2, 4, 4]
    assert [one for one in logger_calls if one[0] == "start"] == [("start", False, 0), ("start", True, 4)]
    assert logger_calls[-2:] == [("artifact", "report.html"), ("close", False)]
    steps = {one[1]: one[2] for one in logger_calls if one[0] == "log"}
    measured = ("return", "return_low", "return_high", "win", "draw", "loss", "failed")
    assert steps[0].keys() == {f"eval/kuhn_poker/random/{name}" for name in measured}
    assert [entry["step"] for entry in run.metrics() if entry["stage"] == "train"] == [1, 2, 3, 4]


@pytest.mark.slow
def test_callbacks_can_stop_a_run(tmp_path: Path, quick_config: Any) -> None:
    class Stop(Callback):
        def on_step(self, step: int, metrics: Any) -> None:
            assert Run("run", tmp_path / "run").running
            if step == 2:
                raise KeyboardInterrupt

    config = quick_config("checkpoints.every=4", "cold_start.steps=4", "steps=3")
    with pytest.raises(KeyboardInterrupt):
        start_run(tmp_path / "run", config, [Stop()])
    assert not Run("run", tmp_path / "run").running
    run = resume_run(tmp_path / "run")
    assert [entry["step"] for entry in run.metrics() if entry["stage"] == "train"] == [1, 2, 3]
    assert "trained" in run.results()["evaluations"]


@pytest.mark.parametrize("tune", ["lora", pytest.param("full", marks=pytest.mark.slow)])
def test_mixture_of_experts_trains_with_checkpoints(
    quick_config: Any, moe_directory: Path, tmp_path: Path, tune: str
) -> None:
    settings = (f"model.name={moe_directory}", f"model.tune={tune}", "steps=2", "prompting.max_tokens=4")
    without = (*UNTAUGHT, *(("model.lora",) if tune == "full" else ()))
    config = quick_config(*settings, "prompting.reply=move", without=without)
    run = start_run(tmp_path / "run", config)
    assert run.results()["steps"] == 2
    assert (run.checkpoints / "step-00002" / "COMPLETE").is_file()
    assert (run.adapter if tune == "lora" else run.model).is_dir()
