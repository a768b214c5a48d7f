"""Players written `lm:MODEL@ADAPTER?options`: their options, shared weights and separate adapters."""

from __future__ import annotations

import gc
import os
import random
import shutil
import weakref
from pathlib import Path

import pytest
import torch

from gymposium.errors import BadOption, GymposiumError, UnknownName
from gymposium.games.registry import load_game
from gymposium.match import MatchJob, Schedule, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Concurrent, MatchContext
from gymposium.util.durable import MARK
from gymposium_agents.chat.settings import PlayerSettings
from gymposium_agents.chat.small_size import SmallModel
from gymposium_agents.chat.tokens import BASE, Sampling, TokenRequest
from gymposium_agents.engines.transformers import unwrap_peft
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.models.loading import load_model
from gymposium_agents.models.small import make_small_model
from gymposium_agents.players.grammar import find_shared_engine, name_policy
from gymposium_agents.players.player import LanguageModelPlayer


def make_lm_player(text: str) -> LanguageModelPlayer:
    player = make_player(text)
    assert isinstance(player, LanguageModelPlayer)
    assert player.name == text
    return player


def get_settings(player: LanguageModelPlayer) -> PlayerSettings:
    return PlayerSettings(
        player.style,
        player.reader.name.removesuffix("-lenient"),
        player.sampling.max_tokens,
        player.context.name,
        player.sampling.temperature,
        player.chat.thinking,
        reading="lenient" if player.reader.name.endswith("-lenient") else "strict",
    )


@pytest.fixture
def other_adapter(model_directory: Path, adapter_directory: Path, tmp_path: Path) -> Path:
    """A second adapter in a directory of the same name."""
    model = attach_lora(load_model(model_directory).model, rank=4, alpha=8, seed=0)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.3, generator=generator)
    directory = tmp_path / adapter_directory.name
    model.save_pretrained(directory)
    return directory


def test_hub_models_use_their_player_json(
    model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merged model with a hub name, read from the cache of the hub's client."""
    for name in ("with", "without"):
        kept = tmp_path / f"models--somebody--{name}"
        shutil.copytree(model_directory, kept / "snapshots" / "abc")
        (kept / "refs").mkdir()
        (kept / "refs" / "main").write_text("abc")
    (tmp_path / "models--somebody--without" / "snapshots" / "abc" / "player.json").unlink()
    settings = PlayerSettings("full", "json", 30)
    settings.save(tmp_path / "models--somebody--with" / "snapshots" / "abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert get_settings(make_lm_player("lm:somebody/with")) == settings
    assert get_settings(make_lm_player("lm:somebody/without")) == PlayerSettings(reading="lenient")


def test_defaults_come_from_the_saved_settings(model_directory: Path, adapter_directory: Path, tmp_path: Path) -> None:
    model, adapter = tmp_path / "model", tmp_path / "adapter"
    shutil.copytree(model_directory, model)
    shutil.copytree(adapter_directory, adapter)
    assert get_settings(make_lm_player(f"lm:{model}")) == PlayerSettings("compact", "move", 16)
    (model / "player.json").unlink()
    assert get_settings(make_lm_player(f"lm:{model}")) == PlayerSettings("full", "tags", 512, reading="lenient")
    assert get_settings(make_lm_player(f"lm:{model}?reading=strict")) == PlayerSettings("full", "tags", 512)
    of_model, of_adapter = PlayerSettings("full", "json", 30), PlayerSettings("compact", "tags", 8, "full")
    of_model.save(model)
    assert get_settings(make_lm_player(f"lm:{model}@{adapter}")) == of_model
    of_adapter.save(adapter)
    assert get_settings(make_lm_player(f"lm:{model}@{adapter}")) == of_adapter
    assert get_settings(make_lm_player(f"lm:{model}")) == of_model


def test_options_override_settings(model_directory: Path) -> None:
    text = "context=last-4&reply=tags&prompt=full&temperature=0.6&max_tokens=256&thinking=true"
    expected = PlayerSettings("full", "tags", 256, "last-4", 0.6, thinking=True)
    player = make_lm_player(f"lm:{model_directory}?{text}")
    assert get_settings(player) == expected
    assert not isinstance(player, Concurrent)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("contxt=full", "Did you mean 'context'"),
        ("lod=4bit", "Did you mean 'load'"),
        ("load=8bit", "Use 4bit"),
        ("load=4bit&engine=http://127.0.0.1:1", "conflict"),
        ("temperature=-1", "at least 0"),
        ("context", "not of the form name=value"),
    ],
)
def test_invalid_options_are_refused(model_directory: Path, options: str, message: str) -> None:
    with pytest.raises(GymposiumError, match=message):
        make_player(f"lm:{model_directory}?{options}")


def test_unknown_keys_in_player_json_are_refused(model_directory: Path, tmp_path: Path) -> None:
    shutil.copytree(model_directory, tmp_path / "model")
    (tmp_path / "model" / "player.json").write_text('{"top_p": 0.9}')
    with pytest.raises(BadOption, match=r"player\.json has unknown keys: top_p"):
        make_player(f"lm:{tmp_path / 'model'}")


def test_empty_options_after_question_mark_are_refused(model_directory: Path) -> None:
    with pytest.raises(UnknownName):
        make_player(f"lm:{model_directory}?")


@pytest.mark.parametrize("config", ["{}", "[]", '{"model": 3}', '{"model": {"name": [1]}}', "nope"])
def test_damaged_run_config_error_names_the_file(tmp_path: Path, config: str) -> None:
    (tmp_path / "versions.json").write_text("{}")
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / MARK).touch()
    with pytest.raises(BadOption, match=r"Cannot find the model of the run .*config\.json"):
        make_player(f"lm:{tmp_path}")


def test_players_share_weights_but_not_adapters(
    model_directory: Path, adapter_directory: Path, other_adapter: Path
) -> None:
    tuned, plain, other = (
        make_lm_player(f"lm:{model_directory}{adapter}")
        for adapter in (f"@{adapter_directory}", "", f"@{other_adapter}")
    )
    again = make_lm_player(f"lm:{model_directory}@{adapter_directory}?temperature=0.5")
    assert tuned.engine is plain.engine is other.engine is again.engine
    assert tuned.policy == again.policy
    assert len({tuned.policy, plain.policy, other.policy}) == 3
    assert plain.policy == BASE
    asks = [MatchContext(load_game("tic_tac_toe").new(i), f"m{i}", i).ask(0) for i in range(3)]
    said = []
    for player, adapter in ((tuned, adapter_directory), (plain, None), (other, other_adapter)):
        alone = load_model(model_directory, adapter)
        requests = [TokenRequest(player.prompt(ask), random.Random(0)) for ask in asks]
        expected = [alone.chat.read(c.ids) for c in alone.engine().generate(requests, Sampling(0.0, 16))]
        assert [reply.text for reply in player.act(asks)] == expected
        assert all(reply.trace.completion.policy == player.policy for reply in player.act(asks))
        said.append(tuple(expected))
    assert len(set(said)) == 3


@pytest.mark.parametrize("schedule", ["streaming", pytest.param("rounds", marks=pytest.mark.slow)])
def test_two_adapters_play_over_one_engine(
    model_directory: Path, adapter_directory: Path, other_adapter: Path, schedule: Schedule
) -> None:
    """Also if each of them is asked in a separate thread."""
    game, policy = load_game("goofspiel(num_cards=4)"), FailurePolicy.parse("random")
    players = [make_lm_player(f"lm:{model_directory}@{a}?max_tokens=6") for a in (adapter_directory, other_adapter)]
    jobs = [MatchJob(f"m{i}", game, players, i, on_illegal=policy) for i in range(10)]
    alone = [load_model(model_directory, a).engine() for a in (adapter_directory, other_adapter)]
    for played in play(jobs, schedule=schedule):
        for turn in played.turns:
            request = TokenRequest(turn.trace.prompt, random.Random(0))
            (expected,) = alone[turn.seat].generate([request], Sampling(0.0, 6))
            assert turn.trace.completion.ids == expected.ids
            assert turn.trace.completion.logprobs == pytest.approx(expected.logprobs, abs=1e-5)


def test_policy_name_does_not_depend_on_location(adapter_directory: Path, other_adapter: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(adapter_directory, tmp_path / "elsewhere" / adapter_directory.name))
    mine = name_policy(str(adapter_directory), adapter_directory)
    assert name_policy(str(copy), copy) == mine
    assert name_policy(str(other_adapter), other_adapter) != mine
    assert mine.name.startswith(f"{adapter_directory.name}-")


def test_weights_are_released_and_reloaded_after_changes(model_directory: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(model_directory, tmp_path / "model"))
    first, second = make_lm_player(f"lm:{directory}"), make_lm_player(f"lm:{directory}?temperature=1")
    kept = weakref.ref(first.engine)
    assert kept() is second.engine is find_shared_engine(str(directory))
    weights = directory / "model.safetensors"
    os.utime(weights, ns=(0, weights.stat().st_mtime_ns + 10**9))
    assert kept() is not find_shared_engine(str(directory))
    del first
    gc.collect()
    assert kept() is not None
    del second
    gc.collect()
    assert kept() is None


def test_four_bit_models_are_shared_and_take_adapters(game_texts: list[str], tmp_path: Path) -> None:
    model, adapter = tmp_path / "wide", tmp_path / "adapter"
    size = SmallModel(hidden=64, layers=2, heads=2, feed_forward=128, vocabulary=320)
    make_small_model(model, game_texts, seed=1, size=size)
    tuned_model = attach_lora(load_model(model).model, rank=4, alpha=8, seed=0)
    with torch.no_grad():
        for name, parameter in tuned_model.named_parameters():
            if "lora_B" in name:
                parameter.fill_(0.2)
    tuned_model.save_pretrained(adapter)
    plain, small = make_lm_player(f"lm:{model}"), make_lm_player(f"lm:{model}?load=4bit")
    tuned = make_lm_player(f"lm:{model}@{adapter}?load=4bit")
    assert small.engine is tuned.engine is not plain.engine
    layer = unwrap_peft(small.engine.model).model.decoder.layers[0].fc1  # type: ignore[attr-defined]
    assert layer.weight.dtype == torch.uint8
    ask = MatchContext(load_game("tic_tac_toe").new(0), "m", 0).ask(0)
    prompt = small.prompt(ask)
    pairs = [(prompt, small.chat.reply(move)) for move in ask.legal_moves or ()]
    scores = [
        [sum(one) for one in player.engine.score(pairs, policy=player.policy)] for player in (plain, small, tuned)
    ]
    off = [max(abs(a - b) for a, b in zip(scores[0], other, strict=True)) for other in scores[1:]]
    assert 0 < off[0] < 1 < off[1], "rounded a little, tuned a lot"


def test_invalid_adapter_is_an_error(model_directory: Path, tmp_path: Path) -> None:
    with pytest.raises(GymposiumError, match="is not an adapter"):
        make_player(f"lm:{model_directory}@{tmp_path}")


def test_missing_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GymposiumError, match="There is no model at"):
        make_player(f"lm:{tmp_path / 'nowhere'}")


def test_folder_error_lists_its_models(model_directory: Path, tmp_path: Path) -> None:
    shutil.copytree(model_directory, tmp_path / "run" / "model")
    with pytest.raises(GymposiumError, match=r"is not a model, but contains '.*run/model'. Write lm:MODEL"):
        make_player(f"lm:{tmp_path / 'run'}")


@pytest.mark.parametrize("target", ["config.json", "nowhere"], ids=["itself", "nowhere"])
def test_broken_links_are_model_errors(tmp_path: Path, model_directory: Path, target: str) -> None:
    model = tmp_path / "model"
    shutil.copytree(model_directory, model)
    (model / "config.json").unlink()
    (model / "config.json").symlink_to(target)
    with pytest.raises(GymposiumError, match="There is no model at"):
        make_player(f"lm:{model}")
