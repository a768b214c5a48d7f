"""The benchmarks run and write what they say. How fast anything is, is no matter for a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(module: str, *options: str, status: int = 0) -> None:
    command = [sys.executable, "-m", f"benchmarks.{module}", *options]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == status, done.stderr


def test_throughput_measures_both_sides_of_every_game(tmp_path: Path) -> None:
    run("throughput", "--repeats", "1", "--seconds", "0.01", "--out", str(tmp_path))
    found = json.loads((tmp_path / "throughput.json").read_text(encoding="utf-8"))
    games = [row["game"] for row in found["games"]]
    assert games == [
        *("tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "goofspiel"),
        *("othello", "backgammon", "gin_rummy"),
    ]
    for row in found["games"]:
        rates = row["match_decisions_per_cpu_second"], row["pyspiel_decisions_per_cpu_second"]
        assert min(rates) > 0
        assert row["ratio_range"] == [row["ratio"]] * 2
    assert found["about"]["versions"]["open_spiel"]
    assert "| kuhn_poker |" in (tmp_path / "throughput.md").read_text(encoding="utf-8")


def test_published_results_name_their_command_and_versions() -> None:
    results = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    assert results
    for path in results:
        about = json.loads(path.read_text(encoding="utf-8"))["about"]
        assert about["command"].startswith("python -m benchmarks.")
        assert about["versions"]["gymposium"]
        assert path.with_suffix(".md").is_file()


def test_training_speed_compares_sides_that_compute_the_same(tmp_path: Path) -> None:
    """The comparison is inside it: it stops where log-probabilities or gradients differ."""
    small = "--repeats 1 --matches 64 --cold-start-steps 60 --cold-start-games 1000".split()
    run("training_speed", *small, "--out", str(tmp_path))
    assert json.loads((tmp_path / "training_speed.json").read_text(encoding="utf-8"))["about"]["versions"]["torch"]


def test_classical_learns_and_is_held_against_a_bare_environment(tmp_path: Path) -> None:
    """So few frames are too few to win 0.85, and it says so."""
    small = "--frames 2048 --seeds 7 --matches 20 --slices 1 --rollouts 1".split()
    run("classical", *small, "--out", str(tmp_path), status=1)
    found = json.loads((tmp_path / "classical.json").read_text(encoding="utf-8"))
    assert found["seeds"]["7"]["frames"] == 2048
    assert found["worst"] == found["seeds"]["7"]["win"][0] < 0.85
    for rates in found["speed"].values():
        assert min(rates[f"{side}_frames_per_cpu_second"] for side in ("gymposium", "pyspiel")) > 0
    assert "BELOW 0.85" in (tmp_path / "classical.md").read_text(encoding="utf-8")


def test_search_strength_plays_both_seats_and_says_how_it_went(tmp_path: Path) -> None:
    run("search_strength", "kuhn_poker:10:40", "goofspiel(num_cards=3):10:6", "--out", str(tmp_path))
    kuhn, goofspiel = json.loads((tmp_path / "search_strength.json").read_text(encoding="utf-8"))["games"]
    assert (kuhn["player"], kuhn["matches"], sum(kuhn["results"].values())) == ("mcts-10", 40, 40)
    assert kuhn["ceiling"] == 0.458  # 11/24: the better of two moves in each of twelve information states
    assert goofspiel["ceiling"] is None
    assert goofspiel["no_world"] == 0
    low, high = kuhn["mean_return"][1:]
    assert -2 <= low <= kuhn["mean_return"][0] <= high <= 2


def test_engines_in_process_compares_sides_that_compute_the_same(tmp_path: Path) -> None:
    """The comparison is inside it: it stops where log-probabilities differ."""
    small = "in-process --small-only --repeats 1 --matches 16".split()
    run("engines", *small, "--out", str(tmp_path))
    found = json.loads((tmp_path / "engines-in-process.json").read_text(encoding="utf-8"))
    assert len(found["comparisons"]) == 3
    for one in found["comparisons"]:
        assert min(one["tokens_per_second"].values()) > 0
    assert 0 < found["driver"][0]["outside_the_model"][0] < 1
