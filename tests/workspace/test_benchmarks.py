"""The benchmarks run and write their results. Speed is not tested."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from gymposium.players.grammar import make_player
from gymposium.records.scores import Score
from gymposium_train.config import Prompting
from gymposium_train.config.checks import check_config
from gymposium_train.config.reading import build_config, change_config, read_config

ROOT = Path(__file__).resolve().parents[2]


def run(module: str, *options: str, status: int = 0) -> None:
    python("-m", f"benchmarks.{module}", *options, status=status)


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Like `run`, but in this process, which has torch already: importing it takes longer than a small benchmark."""

    def run_here(module: str, *options: str, status: int = 0) -> None:
        monkeypatch.syspath_prepend(ROOT)
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(sys, "argv", [module, *options])
        code = None
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # a warning is no error in a benchmark
            try:
                runpy.run_module(f"benchmarks.{module}", run_name="__main__", alter_sys=True)
            except SystemExit as ended:
                code = ended.code
        assert int(code or 0) == status

    return run_here


def python(*options: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, *options], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done


def read_results(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


QUICK = ("--repeats", "1", "--seconds", "0.01")


@pytest.mark.slow
def test_throughput_measures_both_sides_of_every_game(tmp_path: Path) -> None:
    run("throughput", *QUICK, "--out", str(tmp_path))
    found = read_results(tmp_path / "throughput.json")
    games = [row["game"] for row in found["games"]]
    assert games == [
        *("tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "liars_dice", "othello", "hex"),
        *("goofspiel", "2048", "backgammon", "gin_rummy", "breakthrough", "clobber", "blackjack"),
    ]
    for row in found["games"]:
        rates = row["decisions_per_cpu_second"]
        assert rates.keys() == {"match", "pyspiel"}
        assert min(rates.values()) > 0
        assert row["ratio_range"] == [row["ratio"]] * 2
    assert found["about"]["versions"]["open_spiel"]
    assert "| kuhn_poker |" in (tmp_path / "throughput.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_throughput_measures_ours_without_any_peer(tmp_path: Path) -> None:
    """The whole part, with no library that would have to be installed."""
    run("throughput", "peers", "--peers", "--games", "2048", "goofspiel", *QUICK, "--out", str(tmp_path))
    alone, both = read_results(tmp_path / "throughput-peers.json")["games"]
    for row in (alone, both):
        assert row["decisions_per_cpu_second"].keys() == {"match", "gymnasium", "aec", "pyspiel"}
        assert min(row["decisions_per_cpu_second"].values()) > 0


@pytest.mark.slow
def test_worlds_are_proven_played_and_replayed(tmp_path: Path) -> None:
    small = ("--questions", "40", "--matches", "20", "--replays", "4")
    run("worlds", "players", "replays", "proofs", *small, "--out", str(tmp_path))
    found = read_results(tmp_path / "worlds.json")
    assert found["missed"] == []
    assert found["figures"]["mail: questions proven"] == found["figures"]["tables: tables-expert"] == 1.0


def test_throughput_says_how_to_install_a_peer(tmp_path: Path) -> None:
    run("throughput", "peers", "--home", str(tmp_path), "--out", str(tmp_path), status=1)
    assert not [*tmp_path.iterdir()]


TINY = """
from random import Random
from benchmarks.throughput.workers.serving import MatchToReplay, Table, serve

def keep(seed: int, rng: Random) -> MatchToReplay | None:
    return None if seed % 2 else MatchToReplay(seed, range(1 + seed), finished=seed % 4 == 0)

def play(kept: MatchToReplay) -> None:
    print("this is no answer")
    assert kept.seed % 2 == 0

serve({"counting": lambda: Table(keep, play, "nothing is won")}, ["gymnasium"])
"""


ASKING = """
import json, sys
from benchmarks.throughput.others import Worker
from benchmarks.throughput.slices import here, take_turns

worker = Worker([sys.executable, "-c", sys.argv[1]])
rates = take_turns({"there": worker.side(sys.argv[2]), "here": here(lambda seed: 1)}, 3, 0.01)
worker.close()
print(json.dumps([worker.games, [*worker.versions], rates, worker.told]))
"""


def test_peer_answers_slice_by_slice_from_its_process() -> None:
    games, versions, rates, told = json.loads(python("-c", ASKING, TINY, "counting").stdout)
    assert games == ["counting"]
    assert versions == ["Python", "gymnasium"]
    assert [len(rates[side]) for side in ("there", "here")] == [3, 3]
    assert min(rates["there"] + rates["here"]) > 0
    assert told == {"counting": {"broken_off": 12 / 25, "note": "nothing is won"}}


def test_failing_peer_ends_the_benchmark() -> None:
    done = python("-c", ASKING, TINY, "something else", status=1)
    assert "ended with status 1; its own words are above" in done.stderr
    assert "KeyError: 'something else'" in done.stderr


def test_throughput_of_concurrent_matches(tmp_path: Path) -> None:
    options = ("--games", "tic_tac_toe", "--envs", "4", *QUICK, "--out", str(tmp_path))
    run("throughput", "vector", "search", *options)
    for part in ("vector", "search"):
        found = read_results(tmp_path / f"throughput-{part}.json")
        assert found["envs"] == 4
        assert min(found["games"][0]["decisions_per_second"].values()) > 0


@pytest.mark.slow
def test_throughput_measures_memory_in_separate_processes(tmp_path: Path) -> None:
    run("throughput", "memory", "--games", "tic_tac_toe", "--decisions", "1000", "--out", str(tmp_path))
    found = read_results(tmp_path / "throughput-memory.json")
    assert found["decisions"] == [100, 1000]
    assert [row["side"] for row in found["games"]] == ["match", "gymnasium"]
    for row in found["games"]:
        first, last = row["mib"]
        assert 10 < first <= last < 1000


@pytest.mark.slow
def test_games_are_measured_and_merged_into_existing_results(tmp_path: Path) -> None:
    options = ("--matches", "4", "--random", "5", "--out", str(tmp_path))
    run("games", "tic_tac_toe", "blackjack", *options)
    run("games", "kuhn_poker", "hearts", *options)
    found = json.loads((tmp_path / "games.json").read_text(encoding="utf-8"))["games"]
    assert [*found] == ["blackjack", "hearts", "kuhn_poker", "tic_tac_toe"]
    assert found["tic_tac_toe"]["random"]["matches"] == 5
    assert 5 <= found["tic_tac_toe"]["random"]["decisions"]["least"] <= 9
    assert len(found["hearts"]["random"]["seats"]) == 4
    ladder = {rung["player"]: rung for rung in found["tic_tac_toe"]["ladder"]}
    assert [*ladder["mcts-25"]["against"]] == ["random", "greedy"]
    assert ladder["exact"]["against"]["random"]["results"]["loss"] == 0
    assert ladder["exact"]["against"]["mcts-400"]["matches"] == 4
    alone = {rung["player"]: rung["alone"]["return"] for rung in found["blackjack"]["ladder"]}
    assert -1 <= alone["stand-17"][0] <= 1
    assert "| kuhn_poker |" in (tmp_path / "games.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_ladder_lists_refusals_and_fails_for_invalid_players() -> None:
    program = "from benchmarks.games.ladder import ladder; from gymposium import load_game; import json, sys; "
    program += "print(json.dumps(ladder(load_game('kuhn_poker'), sys.argv[1:], 2, 1)))"
    refused, played = json.loads(python("-c", program, "exact", "random").stdout)
    assert "perfect information" in refused["refused"]
    assert "refused" not in played
    assert "Unknown player 'mtcs-10'" in python("-c", program, "random", "mtcs-10", status=1).stderr


@pytest.mark.slow
def test_viewer_opens_its_generated_matches(tmp_path: Path) -> None:
    run("viewer", "--matches", "200", "--distinct", "40", "--out", str(tmp_path))
    found = read_results(tmp_path / "viewer.json")
    assert found["matches"] == 200
    assert len(found["seconds"]) == 8
    assert "within the 2 that it may be" in (tmp_path / "viewer.md").read_text(encoding="utf-8")


def test_published_results_name_their_command_and_versions() -> None:
    results = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    assert results
    for path in results:
        about = json.loads(path.read_text(encoding="utf-8"))["about"]
        assert about["command"].startswith("python -m benchmarks.")
        assert about["versions"]["gymposium"]
        assert path.with_suffix(".md").is_file()


@pytest.mark.slow
def test_training_speed_compares_equivalent_implementations(tmp_path: Path, run_here: Callable[..., None]) -> None:
    """The comparison is inside it: it stops where log-probabilities or gradients differ. TRL's trainer runs beside
    it."""
    run_here("training_speed", "step", "main-job", "memory", "--tiny", "--repeats", "1", "--out", str(tmp_path))
    step, job, memory = (
        json.loads((tmp_path / f"training_speed-{name}.json").read_text(encoding="utf-8"))
        for name in ("step", "main-job", "memory")
    )
    assert step["contexts"]["state"]["rows"] == step["contexts"]["state"]["turns"]
    assert step["contexts"]["full"]["rows"][0] < step["contexts"]["full"]["turns"][0], "turns do not stand in one row"
    assert min(step["contexts"]["full"]["cpu_seconds"]["trl"]) > 0
    assert set(job["imitation"]) == set(job["update"]) == {"ours", "bare"}
    assert all(rise > 0 for side in memory["mib"].values() for rises in side for rise in rises)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.slow
def test_gpu_benchmark_runs_all_parts_and_needs_a_gpu(tmp_path: Path, run_here: Callable[..., None]) -> None:
    run_here("gpu", "--smoke", "--out", str(tmp_path / "smoke"))
    parts = json.loads((tmp_path / "smoke" / "gpu.json").read_text(encoding="utf-8"))["parts"]
    assert [*parts] == ["precision", "attention", "memory", "qlora", "speed"]
    assert all(parts.values())
    assert parts["precision"][-1]["largest difference of log-probabilities"] < 0.2
    run_here("gpu", "attention", "--smoke", "--seconds", "0", "--out", str(tmp_path / "short"))
    short = json.loads((tmp_path / "short" / "gpu.json").read_text(encoding="utf-8"))["parts"]["attention"]
    assert [next(iter(row)) for row in short] == ["attention", "stopped"]
    run_here("gpu", "--out", str(tmp_path / "page"))
    assert "Not run: there was no GPU." in (tmp_path / "page" / "gpu.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_rollout_idle_uses_more_slots_with_matches_in_flight(tmp_path: Path, run_here: Callable[..., None]) -> None:
    small = ("--steps", "3", "--groups", "2", "--slots", "4", "--staleness", "0", "1")
    run_here("rollout_idle", *small, "--out", str(tmp_path))
    rows = read_results(tmp_path / "rollout_idle.json")["rows"]
    assert [(row["schedule"], row["staleness"]) for row in rows] == [
        (schedule, staleness) for schedule in ("rounds", "streaming") for staleness in (0, 1)
    ]
    rounds, _, streaming, ahead = (row["slots_used"] for row in rows)
    assert 0.0 < rounds < streaming < ahead < 1.0
    assert len({round(row["seconds_all_slots_full"], 6) for row in rows}) == 1


@pytest.mark.slow
def test_exploitability_by_traversal_sampling_and_search(
    tmp_path: Path, run_here: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gymposium.cli.exploit.MATCHES", 4_000)
    few = (
        "--games",
        "kuhn_poker",
        "--players",
        "2",
        "--replies",
        "200",
        "--simulations",
        "500",
        "--out",
        str(tmp_path),
    )
    for part in ("exact", "sampled", "searched"):
        run_here("exploitability", part, *few)
    data = json.loads((tmp_path / "exploitability.json").read_text(encoding="utf-8"))
    [row] = data["exact"]
    assert row["exploitability"] == pytest.approx(row["openspiel"], abs=1e-9)
    assert len(data["sampled"]) == 4
    assert all(0.9 * row["exploitability"] < row["taken"] for row in data["searched"] if row["mixed"] == 1.0)


@pytest.mark.slow
def test_classical_learns_and_compares_with_a_bare_environment(tmp_path: Path, run_here: Callable[..., None]) -> None:
    """So few frames are too few to win 0.85, and it says so."""
    small = "--frames 2048 --seeds 7 --matches 20 --slices 1 --rollouts 1".split()
    run_here("classical", *small, "--out", str(tmp_path), status=1)
    found = json.loads((tmp_path / "classical.json").read_text(encoding="utf-8"))
    assert found["seeds"]["7"]["frames"] == 2048
    assert found["worst"] == found["seeds"]["7"]["win"][0] < 0.85
    for rates in found["speed"].values():
        assert min(rates[f"{side}_frames_per_cpu_second"] for side in ("gymposium", "pyspiel")) > 0
    assert "BELOW 0.85" in (tmp_path / "classical.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_search_strength_plays_both_seats_and_reports_results(tmp_path: Path) -> None:
    run("search_strength", "kuhn_poker:10:40", "goofspiel(num_cards=3):10:6", "--out", str(tmp_path))
    kuhn, goofspiel = json.loads((tmp_path / "search_strength.json").read_text(encoding="utf-8"))["games"]
    assert (kuhn["player"], kuhn["matches"], sum(kuhn["results"].values())) == ("mcts-10", 40, 40)
    assert kuhn["ceiling"] == 0.458  # 11/24: the better of two moves in each of twelve information states
    assert goofspiel["ceiling"] is None
    assert goofspiel["no_world"] == 0
    low, high = kuhn["mean_return"][1:]
    assert -2 <= low <= kuhn["mean_return"][0] <= high <= 2


def test_disguises_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(ROOT)
    walks = import_module("benchmarks.disguises.walks")
    monkeypatch.setattr(walks, "DISGUISES", {"kuhn_poker": "", "pig": ""})
    for done in ("rows kept: 1\nrows kept: 2\n", ""):
        walks.run_walks(tmp_path, 40)
        assert capsys.readouterr().out.startswith(f"{done}| game |")
    kuhn, pig = json.loads((tmp_path / "disguises-walks.json").read_text(encoding="utf-8"))["rows"]
    assert (kuhn["positions"], kuhn["optimum"], pig["positions"], pig["optimum"]) == (40, True, 40, None)


def test_wordless_players_play_identical_matches_in_disguise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    play = import_module("benchmarks.disguises.play")
    cell = play.Cell(play.SEARCH, "mcts-5", "tic_tac_toe", 16)
    plain, other = (play.measured(cell, words) for words in ("plain", "disguised"))
    assert plain["results"] == other["results"]
    assert (plain["matches"], plain["failed"]) == (16, 0)
    assert "mcts-100, tic_tac_toe: wins not apart, failed replies not apart." in play.text([plain, other])
    none = {**other, "failed": other["replies"], "results": {"win": 0, "draw": 0, "loss": 16}}
    assert "fewer wins in disguise, more failed replies in disguise." in play.text([plain, none])


@pytest.mark.slow
def test_expectimax_reports_how_often_the_tile_is_reached(tmp_path: Path) -> None:
    """One move of look-ahead is not enough, and it says so."""
    run("expectimax", "1", "--matches", "2", "--out", str(tmp_path), status=1)
    data = json.loads((tmp_path / "expectimax.json").read_text(encoding="utf-8"))
    [found] = data["players"]
    assert (found["player"], found["matches"], sum(found["greatest_tiles"].values())) == ("expectimax-1", 2, 2)
    assert found["reached"][0] == 0.0
    assert found["moves"] > 100
    assert data["first_move_cpu_seconds"] > 0
    assert data["least"] is None
    assert "NONE does it" in (tmp_path / "expectimax.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_engines_in_process_compares_equivalent_implementations(tmp_path: Path, run_here: Callable[..., None]) -> None:
    """The comparison is inside it: it stops where log-probabilities differ."""
    small = "in-process --small-only --repeats 1 --matches 16".split()
    run_here("engines", *small, "--out", str(tmp_path))
    found = json.loads((tmp_path / "engines-in-process.json").read_text(encoding="utf-8"))
    assert len(found["comparisons"]) == 3
    for one in found["comparisons"]:
        assert min(one["tokens_per_second"].values()) > 0
    assert 0 < found["driver"][0]["outside_the_model"][0] < 1


LEARNING = ROOT / "benchmarks" / "learning" / "tasks"


@pytest.mark.parametrize("file", sorted(LEARNING.glob("*.toml")), ids=lambda file: file.stem)
def test_every_learning_task_trains_a_new_model(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    [task] = [task for task in import_module("benchmarks.learning.tasks").TASKS if task.name == file.stem]
    config = read_config(file)
    assert config.cold_start.data == ()
    chats = tmp_path / "chats.jsonl"
    chats.touch()
    data = f"cold_start.data={json.dumps([str(chats)])}"
    check_config(change_config(config, data) if task.demonstrations else config, at_hand=False)
    assert config.control or any(anchor.startswith("no control") for anchor in task.anchors)  # the table says why
    asked = config.prompting  # how sharply it samples and what a slip costs are the algorithm's, like a learning rate
    assert asked == Prompting(temperature=asked.temperature, on_illegal=asked.on_illegal)  # compact prompts, bare moves
    assert config.model.name is None  # the run makes its model


@pytest.mark.slow
def test_learning_compares_with_cold_start_and_control(tmp_path: Path, run_here: Callable[..., None]) -> None:
    """So little training misses what must be reached, and it says so."""
    settings = "steps=2 cold_start.steps=3 cold_start.matches=40 rollout.groups=16 checkpoints.every=1".split()
    options = ["kuhn_poker-self-play", "--seeds", "7", "--runs", str(tmp_path / "runs"), "--out", str(tmp_path)]
    options += [part for setting in settings for part in ("--set", setting)]
    run_here("learning", *options, status=1)
    task = json.loads((tmp_path / "learning.json").read_text(encoding="utf-8"))["tasks"]["kuhn_poker-self-play"]
    found = task["seeds"]["7"]
    assert found["figures"].keys() == {"cold start", "trained", "control", "random play"}
    for figures in found["figures"].values():
        assert 0.0 < figures["kuhn_poker"]["legal mass"] <= 1.0 + 1e-6
    assert found["figures"]["random play"]["kuhn_poker"]["exploitability"] == pytest.approx(11 / 24)
    assert [seconds for seconds, _ in found["curves"]["kuhn_poker"]] == sorted(
        seconds for seconds, _ in found["curves"]["kuhn_poker"]
    )
    assert len(found["curves"]["kuhn_poker"]) == 3  # behind the cold start, a step, and both
    assert 0 < found["cpu_seconds"]["train"] < task["budget"]
    assert found["about"]["command"].startswith("python -m benchmarks.learning kuhn_poker-self-play --seeds 7")
    text = (tmp_path / "learning.md").read_text(encoding="utf-8")
    assert "must MISSED on 7" in text
    assert "connect_four: not done yet on 201, 202, 203." in text
    assert "<svg" in (tmp_path / "learning.html").read_text(encoding="utf-8")
    assert (tmp_path / "learning.png").stat().st_size
    one, tasks = import_module("benchmarks.learning.one"), import_module("benchmarks.learning.tasks").TASKS
    [kuhn] = [task for task in tasks if task.name == "kuhn_poker-self-play"]
    assert one.learn(kuhn, 7, tmp_path / "runs", settings, may_train=False).report.is_file(), "it is not done again"


def test_learning_needs_disjoint_intervals_and_counts_right_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    tasks, verdict = import_module("benchmarks.learning.tasks"), import_module("benchmarks.learning.verdict")
    measures = import_module("benchmarks.learning.measures")
    [mail] = [task for task in tasks.TASKS if task.name == "mail"]
    unseen, _ = mail.goals

    def seed(trained: float, cold: float, control: float) -> dict[str, Any]:
        figures = {"trained": trained, "cold start": cold, "control": control}
        found = {
            who: {tasks.MAIL: {"exact unseen": value, "exact unseen interval": [value - 0.03, value + 0.03]}}
            for who, value in figures.items()
        }
        return {"figures": found, "cpu_seconds": {"cold_start": 300.0, "train": 900.0}}

    ahead, behind, near = seed(0.6, 0.3, 0.4), seed(0.6, 0.3, 0.7), seed(0.6, 0.3, 0.56)
    for seeds, missed, said in [
        ({"201": ahead, "202": behind, "203": ahead}, False, "must reached: ahead on 2 of 3; aim reached on 0 of 3"),
        ({"201": ahead, "202": near, "203": behind}, True, "must MISSED: ahead on 1 of 3; aim reached on 0 of 3"),
    ]:
        results = {"mail": {"seeds": seeds}}
        assert verdict.is_missed(unseen, mail, results) is missed
        assert verdict.verdict(unseen, mail, results) == said

    monkeypatch.setattr(measures, "TASKS_EACH", 20)
    for game, player in (("mail(mails=20)", "mail-expert"), ("qa", "arithmetic")):
        found = measures.figures(game, lambda temperature, player=player: make_player(player), 0, "expert")
        assert (found["exact"], found["exact unseen"], found["forfeits"]) == (1.0, 1.0, 0)
    half = Score(returns=[1.0, 0.0], forfeits=1, reports={"exact": [1.0]})
    assert measures._right(half).value == 0.5, "a match that was forfeited counts"


@pytest.mark.slow
def test_learning_plays_a_tasks_demonstrations_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    one, tasks = import_module("benchmarks.learning.one"), import_module("benchmarks.learning.tasks")
    [mail] = [task for task in tasks.TASKS if task.name == "mail"]
    few = replace(mail, demonstrations=(tasks.Demonstrations("mail-expert", 8, "all"),))
    one.demonstrate(few, tmp_path)
    [data] = one.make_config(few, 7, tmp_path, ()).cold_start.data
    assert len(Path(data).read_text(encoding="utf-8").splitlines()) == 8
    monkeypatch.setattr(subprocess, "run", None)  # nothing is played again
    one.demonstrate(few, tmp_path)


@pytest.mark.slow
def test_untuned_keeps_its_runs_and_resumes(tmp_path: Path) -> None:
    options = ["--games", "kuhn_poker()", "--budget", "2", "--matches", "4", "--runs", str(tmp_path / "runs")]
    options += ["--out", str(tmp_path), "--set", "model.small.hidden=32", "--set", "model.small.heads=2"]
    for seeds in (["7"], ["7", "8"]):
        run("untuned", "search", *options, "--seeds", *seeds)
    rows = read_results(tmp_path / "untuned-search.json")["rows"]
    assert [row["seed"] for row in rows] == [7, 8]
    assert rows[0]["settings"] == ["model.small.hidden=32", "model.small.heads=2"]
    assert rows[0]["players"].keys() == {"cold start", "trained", "anchor random"}
    assert "| model.small.hidden=32 model.small.heads=2 | 2 |" in (tmp_path / "untuned-search.md").read_text("utf-8")
    run("untuned", "search", "--games", "othello", status=2)


def test_untuned_names_the_missed_requirement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    untuned = import_module("benchmarks.untuned")

    def row(game: str, seed: int, learner: str, **returns: float) -> dict[str, Any]:
        players = {
            name.replace("_", " "): {"return": [value, value - 0.05, value + 0.05], "failed": 0.0, "matches": 1000}
            for name, value in returns.items()
        }
        facts = {"game": game, "seed": seed, "learner": learner, "settings": [], "budget": 240.0, "teacher": "mcts-100"}
        return facts | {"players": players}

    rows = []
    for number, game in enumerate(untuned.GAMES):
        ours = 0.5 if number < 6 else 0.2
        found = {"cold_start": 0.1, "trained": ours, "control": 0.2, "anchor_random": 0.0}
        rows += [row(game, seed, untuned.OURS, **found) for seed in untuned.SEEDS]
        rows += [row(game, seed, untuned.TAUGHT, cold_start=0.6, trained=0.78, anchor_random=0.0) for seed in (1, 2, 3)]
        rows += [row(game, seed, untuned.PPO, trained=0.8) for seed in untuned.SEEDS]
    text = untuned.published(rows)
    assert "MISSED" not in text
    assert "still to be done" not in text
    assert "70 runs are still to be done" in untuned.published([rows[0], rows[-1]])
    assert "median ratio from reward alone 0.6: 0.62 over 8 games" in text
    assert "reached: with a teacher, least ratio 0.65 and median 0.95: 0.97 and 0.97 over 8 games" in text
    rows[0]["players"]["trained"]["return"] = [-0.2, -0.25, -0.15]
    rows[2]["players"]["trained"]["failed"] = 0.06
    text = untuned.published(rows)
    assert "MISSED: no seed ends below its cold start: 1 of 48 do" in text
    assert "MISSED: at most 5% failed replies on every seed: 6.0%" in text
    for one in rows:
        if one["learner"] == untuned.TAUGHT and one["game"] in untuned.GAMES[:4]:
            one["players"]["trained"]["return"] = [0.4, 0.35, 0.45]
    text = untuned.published(rows)
    assert "MISSED: with a teacher, least ratio 0.65 and median 0.95: 0.50 and 0.74 over 8 games" in text
    fresh = untuned.published(rows, untuned.FRESH)
    assert "MISSED: a teacher helps in 6 games: in 5 of 8" in fresh
    assert "control" not in fresh


def test_same_trains_with_every_credit_and_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    configs = [build_config(data) for data in import_module("benchmarks.same.checkout").cases(ROOT).values()]
    assert len(configs) == 16
    for config in configs:
        check_config(config, at_hand=False)
        assert config.steps == 3
    assert {config.credit.kind for config in configs} == {"grpo", "rloo", "baseline", "rae", "gae", "gigpo"}
    assert {config.objective.kind for config in configs} == {"ppo", "gspo", "cispo", "pg"}
    assert {config.model.tune for config in configs} == {"lora", "full"}


def write_run(folder: Path, loss: float, weight: float, seconds: float) -> Path:
    """What `same` compares of a run, with one metric, one measured result and one tensor."""
    steps = [
        {"stage": "train", "step": step, "train/loss": value, "perf/seconds": seconds}
        for step, value in ((1, 0.5), (2, loss))
    ]
    (folder / "adapter").mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps), encoding="utf-8")
    (folder / "results.json").write_text(json.dumps({"wins": [0.5], "cpu_seconds": seconds}), encoding="utf-8")
    save_file({"a": torch.zeros(2), "b": torch.tensor([1.0, weight])}, folder / "adapter" / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    ("loss", "weight", "differences"),
    [
        (0.25, 2.0, []),
        (0.25000000000000006, 2.0, ["train step 2, metric train/loss: 0.25 in OLD, 0.25000000000000006 in NEW"]),
        (0.25, -2.0, ["adapter, model, tensor b: F32 of shape (2,), other values"]),
    ],
)
def test_same_reports_differences_other_than_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: float, weight: float, differences: list[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    compare = import_module("benchmarks.same.compare").compare
    old = write_run(tmp_path / "old", 0.25, 2.0, seconds=1.0)
    new = write_run(tmp_path / "new", loss, weight, seconds=2.0)
    comparison = compare(old, new)
    assert [*comparison.differences] == differences
    assert (comparison.metrics, comparison.tensors) == (3, 2)


def test_same_refuses_code_outside_the_checkout(tmp_path: Path) -> None:
    child = ROOT / "benchmarks" / "same" / "child.py"
    assert "which is not in" in python(str(child), str(tmp_path), str(tmp_path), status=1).stderr


def test_same_refuses_an_invalid_checkout(tmp_path: Path) -> None:
    done = python("-m", "benchmarks.same", "no-such-revision", ".", status=2)
    assert "no-such-revision is neither a folder nor a git revision" in done.stderr


@pytest.mark.slow
def test_trainers_keeps_its_rows_and_reports_misses(tmp_path: Path, run_here: Callable[..., None]) -> None:
    """All rows are there already, so nothing runs."""
    failed = {"a": [], "b": ["sign"]}
    planted = [{"trainer": "loop", "seed": 0, "defect": "wrong sign", "named_by": name} for name in ("sign", "mask")]
    clean = [
        {"trainer": trainer, "seed": seed, "defect": None}
        for trainer, runs in (("loop", 20), ("ours", 3))
        for seed in range(runs)
    ]
    rows = [{**row, "failed": failed, "cpu_seconds": 7.0} for row in planted]
    rows += [{**row, "failed": {"a": [], "b": []}, "cpu_seconds": 9.0} for row in clean]
    rows[-1]["failed"] = {"a": ["learns kuhn_poker against random play"], "b": []}
    (tmp_path / "trainers.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
    defects = tmp_path / "defects.toml"
    defects.write_text('[[defect]]\nname = "wrong sign"\ncheck = "sign"\nold = "a"\nnew = "b"\n', encoding="utf-8")
    run_here("trainers", "loop", "--defects", str(defects), "--out", str(tmp_path))
    run_here("trainers", "ours", "--out", str(tmp_path))
    text = (tmp_path / "trainers.md").read_text(encoding="utf-8")
    assert "1 of 2 defects are named" in text
    assert "| wrong sign | mask | NO | sign | – | 7 |" in text
    assert "| ours | 3 | 1 | learns kuhn_poker against random play | 9 |" in text
    assert "| loop | 20 | 0 | – | 9 |" in text


def test_every_listed_mutation_applies() -> None:
    run("mutations", "--check")
