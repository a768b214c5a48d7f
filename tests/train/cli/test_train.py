"""`gymposium train`, and `train` in Python: precedence of settings, dry runs, and refusals."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gymposium.cli.main import app
from gymposium.errors import BadOption
from gymposium.players.grammar import make_player
from gymposium_agents.chat.small_size import SmallModel
from gymposium_train import Callback, TrainConfig, train
from gymposium_train.cli.naming import parse_games
from gymposium_train.cli.running import _suggest_command
from gymposium_train.config import Stage
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.reading import change_config, parse_toml_config

SMALL = (
    *("rollout.groups=2", "rollout.group_size=4", "rollout.growth=1"),
    *("cold_start.steps=3", "cold_start.matches=40", "evaluation.matches=4"),
    *("evaluation.search_matches=2", 'evaluation.opponents=["random"]', "evaluation.every=0"),
    *("model.small.hidden=32", "model.small.layers=1", "model.small.heads=2"),
)


def gymposium(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["train", *map(str, arguments)], prog_name="gymposium")


def plan_config(*arguments: str | Path) -> TrainConfig:
    done = gymposium(*arguments, "--dry-run")
    assert done.exit_code == 0, done.output
    return parse_toml_config(done.stdout)


def run_refused(*arguments: str | Path) -> str:
    done = gymposium(*arguments)
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    return done.stderr


def test_defaults_train_against_random() -> None:
    config = plan_config("--game", "tic_tac_toe", "--opponent", "random", "--control")
    assert config == TrainConfig(games=("tic_tac_toe",), control=True)


def test_shortcuts_are_settings() -> None:
    options = "--game hex --game kuhn_poker --opponent mcts-5 --model some/model --seed 4 --steps 7".split()
    settings = (
        *('games=["hex","kuhn_poker"]', "stages=[{opponents={mcts-5=1}}]", "model.name=some/model"),
        *("seed=4", "steps=7"),
    )
    config = plan_config(*options)
    assert config == plan_config(*settings)
    assert (config.stages, config.model.name) == ((Stage(opponents={"mcts-5": 1.0}),), "some/model")


def test_later_sources_override_earlier_ones(tmp_path: Path) -> None:
    """Defaults, preset, file, then the command line."""
    file = tmp_path / "mine.toml"
    file.write_text('steps = 9\n[prompting]\nprompt = "compact"\n[optimizer]\nlearning_rate = 1e-3\n', encoding="utf-8")
    config = plan_config(file, "--preset", "self-play", "--seed", "3", "optimizer.learning_rate=1e-4")
    assert config.games == ("kuhn_poker",)
    assert (config.steps, config.prompting.prompt, config.prompting.reply) == (9, "compact", "tags")
    assert (config.seed, config.optimizer.learning_rate) == (3, 1e-4)


def test_dry_run_output_is_a_valid_config(tmp_path: Path) -> None:
    done = gymposium("--game", "tic_tac_toe", "steps=5", "--dry-run")
    file = tmp_path / "plan.toml"
    file.write_text(done.stdout, encoding="utf-8")
    assert plan_config(file) == parse_toml_config(done.stdout)
    assert "nothing was done" in done.stderr


@pytest.mark.parametrize(
    ("game", "teacher", "source"),
    [
        ("tic_tac_toe", "exact (teacher = auto)", "recommended by exact"),
        ("kuhn_poker", "teacher = auto: no teacher suits. kuhn_poker has hidden information", "of random matches"),
    ],
)
def test_dry_run_names_the_automatic_teacher(game: str, teacher: str, source: str) -> None:
    told = json.loads(gymposium("--game", game, "teacher=auto", "--dry-run", "--json").stdout)
    assert told["config"]["teacher"] == "auto"
    assert told["outline"]["teacher"].startswith(teacher)
    assert told["outline"]["cold start"].endswith(source)


def test_dry_run_describes_the_run_without_side_effects(tmp_path: Path, model_directory: Path) -> None:
    where = tmp_path / "run"
    arguments = ("--game", "tic_tac_toe", "--game", "2048", "--model", model_directory, "--out", where, "steps=3")
    settings = ("model.tune=lora", "rollout.growth=4", "rollout.groups=2", "rollout.group_size=8", "--control")
    done = gymposium(*arguments, *settings, "--dry-run", "--json")
    told = json.loads(done.stdout)
    assert change_config(TrainConfig(games=("x",)), 'games=["tic_tac_toe","2048"]').games == tuple(
        told["config"]["games"]
    )
    outline = told["outline"]
    assert outline["games"] == "tic_tac_toe (2 seats), 2048 (1 seat)"
    assert outline["steps"] == (
        "3, each of 2 groups of 8 matches in the first and 32 in the last; 112 matches in all"  # 2 x (8 + 16 + 32)
    )
    assert outline["model"].startswith(f"{model_directory}, ")
    assert outline["trained"].startswith("a LoRA of rank 32, ")
    assert outline["opponents"] == "random"
    assert outline["measures"] == "alone in 1,000, against random in 1,000, mcts-100 in 200 matches, before and after"
    assert outline["control"] != "none"
    assert not where.exists()


@pytest.mark.parametrize("opponent", ["random", "mcts-5"])
def test_opponent_in_a_single_player_game_is_an_error(opponent: str) -> None:
    done = gymposium("--game", "2048", "--opponent", opponent, "--dry-run")
    assert done.exit_code == 2
    assert f"--opponent {opponent}: all games are single-player (2048). Omit it." in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--executor", "rey"),
        ("--metrics", "train/no_such_metric"),
        ("--metrics", "rollout/win,perfs/*"),
    ],
)
def test_dry_run_refuses_unknown_names(option: str, name: str) -> None:
    done = gymposium("--game", "tic_tac_toe", "steps=1", "--dry-run", option, name)
    assert done.exit_code == 2
    assert f" {name.rpartition(',')[2]!r}" in " ".join(done.output.split())


@pytest.mark.parametrize("names", ["train/grad_norm,perf/*", "rollout/win/mcts-50", "rollout/win/mcts-*", "rollout/*"])
def test_dry_run_accepts_metric_patterns(names: str) -> None:
    assert plan_config("--game", "tic_tac_toe", "steps=1", "--metrics", names).games == ("tic_tac_toe",)


@pytest.mark.slow
def test_dry_run_estimates_memory_by_part(model_directory: Path) -> None:
    asked = ("--game", "tic_tac_toe", "--model", model_directory, "--dry-run", "--memory", "prompting.reply=move")
    shown = gymposium(*asked)
    assert shown.exit_code == 0, shown.output
    for part in ("weights", "gradients", "optimizer", "activations", "logits", "cache", "peak"):
        assert f" {part} " in shown.stdout
    assert "the run fits." in shown.stdout
    memory = json.loads(gymposium(*asked, "--json").stdout)["memory"]
    resting = memory["weights"] + memory["gradients"] + memory["optimizer"]
    assert memory["peak"] == resting + max(memory["activations"] + memory["logits"], memory["cache"])
    assert (memory["layout"], memory["checkpointing"], memory["fits"]) == ("shared", False, True)
    assert "Add --dry-run" in run_refused("--game", "tic_tac_toe", "--memory")


def test_dry_run_shows_the_small_model_for_the_games() -> None:
    told = json.loads(gymposium("--game", "mail", "--dry-run", "--json").stdout)
    assert (told["config"]["model"]["small"]["prose"], told["config"]["prompting"]["context"]) == (True, "full")
    prose = SmallModel(prose=True)
    assert f"{prose.parameters(prose.tokens):,} parameters" in told["outline"]["model"]


def test_trainable_parameter_count_matches_peft(tiny: Any, model_directory: Path) -> None:
    from gymposium_agents.lora.attach import attach_lora
    from gymposium_agents.models.loading import load_model

    model = attach_lora(load_model(model_directory).model, rank=4, alpha=8, seed=0)
    trained, every = model.get_nb_trainable_parameters()
    settings = ("model.tune=lora", "model.lora.rank=4", "model.lora.alpha=8", "--dry-run", "--json")
    done = gymposium("--game", "tic_tac_toe", "--model", model_directory, *settings)
    outline = json.loads(done.stdout)["outline"]
    assert outline["trained"] == f"a LoRA of rank 4, {trained:,} parameters"
    assert outline["model"] == f"{model_directory}, {every - trained:,} parameters"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Nothing to train"),
        (["steps=3"], "--game tic_tac_toe"),
        (["--game", "tic_tac_tow"], "tic_tac_toe"),
        (["--game", "tic_tac_toe", "--opponent", "randon"], "Did you mean 'random'"),
        (["--game", "tic_tac_toe", "optimizer.learning_rat=1"], "Did you mean optimizer.learning_rate"),
        (["--game", "tic_tac_toe", "nonsense"], "'nonsense' is not of the form NAME=VALUE"),
        (["--game", "tic_tac_toe", "--steps", "3", "steps=4"], "--steps and steps=4 both set steps"),
        (["--game", "tic_tac_toe", "nowhere.toml"], "Cannot read the config nowhere.toml"),
        (["a.toml", "b.toml"], "at most one config file, not 2"),
        (["--preset", "selfplay"], "Did you mean 'self-play'"),
        (["--game", "tic_tac_toe", "--model", "no/such-directory/here"], "There is no model"),
        (["--resume", "nowhere"], "not a run directory"),
        (["--resume", "nowhere", "--steps", "5", "--seed", "3"], "Remove --seed"),
        (["--resume", "nowhere", "--steps", "5"], "not a run directory"),
        (["--resume", "nowhere", "mine.toml"], "'mine.toml' is not of the form NAME=VALUE"),
        (["--steps", "5"], "--game tic_tac_toe"),
        (["--game", "tic_tac_toe", "--out", "/dev/null/run"], "--out /dev/null/run: cannot be written"),
    ],
)
def test_bad_input_fails_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = " ".join(run_refused(*arguments).split())
    assert message in said
    assert "Run directory" not in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--game", "2048", "--opponent", "random", "--opponent", "x"], "--opponent is given more than once"),
        (["--game", "2048", "--opponent", "greedy"], "--opponent greedy: all games are single-player"),
        (["--game", "hex", "--opponent", "alone"], "--opponent: 'alone' is not an opponent"),
        (["--game", "hex", "--opponent", "randon"], "--opponent: Unknown player"),
        (["--game", "ludo9"], "--game: Unknown game"),
        (["--game", "hex", "--game", "hex"], "--game: duplicate game hex"),
        (["--game", "hex", "--model", ""], "--model is empty"),
        (["--game", "hex", "--backend", "loca"], '--backend "loca": it must be local'),
        (["--game", "hex", "--base-url", "http://localhost"], "--base-url: unknown setting"),
        (["--game", "hex", "--seed", str(2**70)], f"--seed {2**70}: it must be an integer of at most 64 bits"),
        (["--game", "hex", "--budget", "0"], "--budget 0.0: it must be a number, above 0"),
        (["--game", "hex", "--budget", "9", "steps=3"], "--budget 9.0: it has an effect only without steps. Omit it"),
        (["--game", "hex", "--steps", "-1"], "--steps -1: it must be a whole number"),
        (["--game", "hex", "--control", "steps=0"], "--control: the control spends"),
        (["games=['ludo9']", "--seed", "3"], "games: Unknown game"),
        (["--game", "hex", "--opponent", "random", "stages.0.promote=7"], "stages.0.promote = 7: it must be"),
    ],
)
def test_problems_name_the_option_that_was_typed(arguments: list[str], message: str) -> None:
    assert message in " ".join(run_refused(*arguments, "--dry-run").split())


@pytest.mark.parametrize("dry", [("--dry-run",), ()])
def test_missing_logger_library_fails_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dry: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "tensorboard", None)  # what Python has for a module that must not be found
    said = " ".join(run_refused("--game", "tic_tac_toe", "loggers.tensorboard={}", *dry).split())
    assert 'pip install "gymposium-loggers[tensorboard]"' in said
    assert not list(tmp_path.iterdir())


class Recorder(Callback):
    """A callback that records its calls, and stops the run after a step."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.stop_after = stop_after
        self.steps: list[int] = []
        self.checkpoints: list[Path] = []
        self.ended: list[RunDirectory] = []

    def on_step(self, step: int, metrics: Mapping[str, Any]) -> None:
        assert metrics
        self.steps.append(step)
        if step == self.stop_after:
            raise KeyboardInterrupt

    def on_checkpoint(self, path: Path) -> None:
        assert path.is_dir()
        self.checkpoints.append(path)

    def on_end(self, directory: RunDirectory) -> None:
        assert directory.report.is_file()
        self.ended.append(directory)


def test_python_run_stops_resumes_and_calls_back(tmp_path: Path) -> None:
    config = change_config(TrainConfig(games=("tic_tac_toe",)), "steps=3", "checkpoints.every=1", *SMALL)
    assert config.model.small == SmallModel(hidden=32, layers=1, heads=2)
    first, second = Recorder(stop_after=2), Recorder()
    with pytest.raises(KeyboardInterrupt):
        train(config, out=tmp_path / "run", callbacks=[first])
    assert first.steps == [1, 2]
    assert not first.ended
    states = (tmp_path / "run").glob("checkpoints/*/state.json")
    kept = {state: state.read_text() for state in states}
    for state, text in kept.items():
        state.write_text(text.replace('"health"', '"heath"'))
    said = run_refused("--resume", tmp_path / "run")
    assert "state.json does not match this run's state (KeyError: 'health')" in said
    for state, text in kept.items():
        state.write_text(text)
    run = train(resume=tmp_path / "run", callbacks=[second])
    assert second.steps[-1] == 3
    assert [ended.path for ended in second.ended] == [run.path]
    assert len(first.checkpoints + second.checkpoints) >= 3
    assert run.results()["evaluations"]
    again = gymposium("--resume", run.path, "--json")  # nothing is left to be done
    assert json.loads(again.stdout) == run.results()
    said = gymposium("--resume", run.path).stdout  # its status says whether the model learned
    command, _, player = said.rpartition("Play it: ")[2].strip().partition(" --opponent ")
    assert command == "gymposium play tic_tac_toe"
    assert make_player(player).name == player
    with pytest.raises(BadOption, match="is not empty"):
        train(config, out=run.path)
    assert "--resume" in run_refused("--game", "tic_tac_toe", "--out", run.path)


@pytest.mark.parametrize(
    ("texts", "games"),
    [
        (None, None),
        (["connect_four", "mail"], ["connect_four", "mail"]),
        (["connect_four:2", "mail"], {"connect_four": 2.0, "mail": 1.0}),
        (["goofspiel(num_cards=4):0.5"], {"goofspiel(num_cards=4)": 0.5}),
        (["openspiel:2048"], ["openspiel:2048"]),
        (["recorded:openspiel:2048"], ["recorded:openspiel:2048"]),
        (["openspiel:2048:3"], {"openspiel:2048": 3.0}),
        (["gym:2"], ["gym:2"]),
        (["openenv:http://localhost:8000"], ["openenv:http://localhost:8000"]),
    ],
)
def test_games_on_the_command_line_may_have_shares(texts: list[str] | None, games: Any) -> None:
    assert parse_games(texts) == games


def test_games_with_shares_are_named_once() -> None:
    with pytest.raises(BadOption, match="--game mail: duplicate game"):
        parse_games(["mail:2", "mail"])


@pytest.mark.parametrize(("game", "wanted"), [("tic_tac_toe", "Play it: "), ("mail", "Evaluate it: ")])
def test_only_local_weights_are_offered_to_play(game: str, wanted: str, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    config = change_config(TrainConfig(games=(game,)), "model.tune=lora", "model.name=some/model", "cold_start.steps=0")
    run.adapter.mkdir()
    (run.adapter / "tinker.json").write_text("{}")  # a service keeps the weights
    assert _suggest_command(run, config) is None
    (run.adapter / "adapter_config.json").write_text("{}")
    command = _suggest_command(run, config)
    assert command is not None
    assert command.startswith(wanted)
    assert f"lm:{run.path}" in command


def test_train_validates_its_arguments() -> None:
    with pytest.raises(BadOption, match="config is missing"):
        train()
    with pytest.raises(BadOption, match="Leave out config and out"):
        train(TrainConfig(games=("tic_tac_toe",)), resume="runs/first")
    with pytest.raises(BadOption, match="steps and budget extend a run"):
        train(TrainConfig(games=("tic_tac_toe",)), steps=3)
