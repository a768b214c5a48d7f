"""A tiny vision model learns from pictures: a whole run, its interruptions, its checks and its memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from safetensors.torch import load_file
from tests.agents.conftest import family_tokenizer  # noqa: F401
from tests.agents.vision import PARTS, save_vision_model

from gymposium.errors import GymposiumError
from gymposium.games.pictures.pixels import can_render_pixels
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium_agents.chat.tokens import TurnTokens
from gymposium_agents.modeling import pictures
from gymposium_agents.modeling.pictures import FIRST, list_pictures
from gymposium_agents.players.grammar import make_language_model_player
from gymposium_train import Callback
from gymposium_train.config import TrainConfig
from gymposium_train.config.checks import check_config
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.reading import build_config, change_config
from gymposium_train.rollout.stored import StoredMatch
from gymposium_train.run.memory import estimate_memory
from gymposium_train.run.start import resume_run, start_run

pytestmark = pytest.mark.skipif(
    not can_render_pixels(), reason='resvg-py is not installed: pip install "gymposium[images]"'
)


@pytest.fixture(scope="module")
def vision(family_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    directory = tmp_path_factory.mktemp("vision")
    save_vision_model(directory, family_tokenizer("smollm2"))
    return directory


def make_config(model: Path, *overrides: str) -> TrainConfig:
    data = {
        "games": ["tic_tac_toe"],
        "steps": 2,
        "model": {"name": str(model), "lora": {"rank": 4, "alpha": 8}},
        "prompting": {"prompt": "image", "reply": "move", "max_tokens": 4},
        "rollout": {"groups": 2, "group_size": 4},
        "credit": {"kind": "gae"},
        "evaluation": {"opponents": ["random"], "matches": 2, "search_matches": 2, "every": 0},
        "checkpoints": {"every": 1},
    }
    return change_config(build_config(data), *overrides)


class Stop(Callback):
    def on_step(self, step: int, metrics: Any) -> None:
        raise KeyboardInterrupt


def play_one(player: Player) -> MatchResult:
    opponent, failures = make_player("random"), FailurePolicy.parse("random")
    [played] = play([MatchJob("m", load_game("tic_tac_toe"), [player, opponent], 1, on_illegal=failures)])
    return played


def list_turns(played: MatchResult) -> list[TurnTokens]:
    return [turn.trace for turn in played.turns if isinstance(turn.trace, TurnTokens)]


def read_adapter(directory: Path) -> dict[str, Any]:
    return load_file(RunDirectory(directory).adapter / "adapter_model.safetensors")


def forget_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the pictures of this process, as a new process would have."""
    monkeypatch.setattr(pictures, "_kept", pictures._KeptPictures())


IN_FLIGHT = pytest.param(("engine.kind=own", "engine.staleness=1"), marks=pytest.mark.slow, id="in flight")


@pytest.mark.parametrize("engine", [pytest.param((), id="shared"), IN_FLIGHT])
def test_an_interrupted_run_learns_the_same_adapter(
    vision: Path, tmp_path: Path, engine: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(vision, *engine)
    start_run(tmp_path / "whole", config)
    whole = read_adapter(tmp_path / "whole")
    assert any(weight.abs().max() > 0 for name, weight in whole.items() if "lora_B" in name)
    assert all("text_model" in name for name in whole)
    with pytest.raises(KeyboardInterrupt):
        start_run(tmp_path / "parts", config, [Stop()])
    forget_pictures(monkeypatch)
    resume_run(tmp_path / "parts")
    if not engine:
        parts = read_adapter(tmp_path / "parts")
        assert all((parts[name] == weight).all() for name, weight in whole.items())
    metrics = RunDirectory(tmp_path / "parts").metrics()
    assert [entry["step"] for entry in metrics if entry["stage"] == "train"] == [1, 2]


def test_a_stored_match_has_its_pictures(vision: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    player = make_language_model_player(str(vision), options="prompt=image&reply=move&max_tokens=2&context=full")
    played = play_one(player)
    form = TypeAdapter(StoredMatch)
    data = form.dump_json(StoredMatch.from_match(played), round_trip=True)
    forget_pictures(monkeypatch)
    prompts = [turn.prompt for turn in list_turns(played)]
    with pytest.raises(GymposiumError, match="not in memory"):
        list_pictures(*prompts)
    form.validate_json(data).to_match(played.job)
    assert len(list_pictures(*prompts)) == len(prompts)


@pytest.mark.slow
def test_a_cold_start_with_pictures_and_its_result_play_again(vision: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    start_run(run, make_config(vision, "prompting.prompt=both", "cold_start.steps=20", "cold_start.batch=8"))
    player = make_language_model_player(str(run))
    assert player.pictures == "both"
    [played] = play(
        [
            MatchJob(
                "m",
                load_game("tic_tac_toe"),
                [player, make_player("random")],
                1,
                on_illegal=FailurePolicy.parse("random"),
            )
        ]
    )
    turns = [turn.trace for turn in played.turns if isinstance(turn.trace, TurnTokens)]
    assert all(sum(token >= FIRST for token in turn.prompt) == PARTS for turn in turns)
    rows = [json.loads(line) for line in RunDirectory(run).samples_file.read_text(encoding="utf-8").splitlines()]
    [row, *_] = next(rows for group in rows for one in group["trajectories"] if (rows := one.get("rows")))
    assert "".join(row["pieces"]).count("[picture]") == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (("model.name=", "model.lora="), "the small model of a run does not see"),
        (("engine.kind=vllm",), "engine.kind=vllm plays elsewhere. Set engine.kind=shared or own"),
        (("prompting.history=kept",), "prompting.history=kept is only for prompts without pictures"),
        (("cold_start.epochs=1", 'cold_start.data=["chats.jsonl"]'), "the files in cold_start.data have no pictures"),
        (("model.tune=full",), "model.tune = full: the vision parts of"),
        (('games=["tables"]',), "only for games without tools"),
    ],
)
def test_settings_that_do_not_fit_pictures_are_refused(vision: Path, changes: tuple[str, ...], says: str) -> None:
    with pytest.raises(BadConfig, match=says):
        check_config(make_config(vision, *changes))


def test_a_model_that_does_not_see_is_refused(model_directory: Path) -> None:
    with pytest.raises(BadConfig, match=r"does not see\. Set model\.name to a vision model"):
        check_config(make_config(model_directory))


def test_pictures_stay_in_one_process(vision: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(BadConfig, match=r"torchrun started 2 processes\. Start one process"):
        check_config(make_config(vision))


def test_memory_includes_the_vision_parts(vision: Path) -> None:
    seen, blind = (estimate_memory(make_config(vision, f"prompting.prompt={prompt}")) for prompt in ("image", "full"))
    assert seen.pictures == 512 * PARTS * 32 * 4
    assert blind.pictures == 0
    assert seen.resting == blind.resting + seen.pictures
    file = load_file(vision / "model.safetensors")
    assert seen.learner.frozen == sum(weight.nbytes for weight in file.values())
