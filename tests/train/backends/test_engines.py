"""Engines of plugins: players can name them, and runs can publish to them."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.train.learning import RANK, learn, learning, make_pairs

from gymposium.errors import BadOption, GymposiumError, UnknownName
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.plugins.host import host
from gymposium_agents.chat.tokens import BASE, Policy, Sampling, TokenRequest
from gymposium_agents.players.player import LanguageModelPlayer
from gymposium_train.backends.local_model import LocalModel
from gymposium_train.backends.trainee import make_trainee
from gymposium_train.config import Lora, Model, Prompting, TrainConfig, make_engine_table
from gymposium_train.config.checks import check_config
from gymposium_train.config.reading import build_config

PLUGIN = """
from dataclasses import dataclass
from gymposium import EngineSpec, hookimpl

STARTED = []
CLOSED = []

@dataclass(frozen=True)
class Settings:
    workers: int = 1
    quick: bool = False

def make(start, settings):
    from gymposium_agents.models.loading import load_model

    STARTED.append((start, settings))
    engine = load_model(start.model, trust=start.trust).engine()
    engine.close = lambda: CLOSED.append(engine)
    return engine

@hookimpl
def gymposium_engines():
    yield EngineSpec(
        name="strange", summary="Of a plugin.", entry_point="strange_engine:make", settings="strange_engine:Settings"
    )
"""


PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "your-own-engine.md"


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[object]:
    host.cache_clear()
    file = tmp_path / "strange_engine.py"
    file.write_text(PLUGIN)
    host().load_file(file)
    yield sys.modules["strange_engine"]
    sys.modules.pop("strange_engine")
    host.cache_clear()


def test_player_options_name_an_engine_and_its_settings(plugin: object, model_directory: Path) -> None:
    text = f"lm:{model_directory}?engine=strange&workers=2&quick=true&temperature=1"
    player, again = make_player(text), make_player(text)
    assert isinstance(player, LanguageModelPlayer)
    assert isinstance(again, LanguageModelPlayer)
    assert player.engine is again.engine  # players share it
    ((start, settings),) = plugin.STARTED  # type: ignore[attr-defined]
    assert (settings.workers, settings.quick) == (2, True)
    assert (start.model, start.learner, start.lora_rank) == (str(model_directory), None, None)
    assert player.engine.policy == BASE
    assert player.identity().facts["engine"] == "strange"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ("engine=strang", UnknownName, "Did you mean 'strange'"),
        ("engine=strange&worker=2", UnknownName, "Did you mean 'workers'"),
        ("engine=strange&workers=two", BadOption, "must be a whole number"),
        ("workers=2", UnknownName, "player option"),
        ("engine=shared", BadOption, "not available to players"),
        ("engine=vllm", BadOption, "Name it by URL"),
        ("engine=http://127.0.0.1:1&at_once=0", BadOption, "Use 1 or more concurrent requests"),
    ],
)
def test_invalid_engines_are_refused(
    plugin: object, model_directory: Path, options: str, error: type[GymposiumError], message: str
) -> None:
    with pytest.raises(error, match=message):
        make_player(f"lm:{model_directory}?{options}")


def test_run_publishes_to_the_engine_and_closes_it(plugin: object, model_directory: Path, tmp_path: Path) -> None:
    config = TrainConfig(
        games=("kuhn_poker",),
        model=Model(name=str(model_directory), tune="lora", lora=Lora(rank=RANK)),
        engine=make_engine_table("strange", staleness=1, workers=2),
        prompting=Prompting(max_tokens=4),
    )
    check_config(config, at_hand=False)
    loaded, learner = learning(model_directory, "lora")
    with make_trainee(config, tmp_path, LocalModel(config, loaded, learner), [load_game("kuhn_poker")]) as trainee:
        trainee.publish()
        learn(learner, loaded)
        assert trainee.publish()["sync/canary"] < 1e-4
        assert trainee.policy == Policy("learner", learner.policy_version)
        played = trainee.engine.score(make_pairs(loaded), policy=trainee.policy)
        assert played == [pytest.approx(scores, abs=1e-4) for scores in learner.score(make_pairs(loaded))]
        ((start, settings),) = plugin.STARTED  # type: ignore[attr-defined]
        assert settings.workers == 2
        assert (start.learner, start.lora_rank, start.versions) == (None, RANK, 3)
        assert plugin.CLOSED == []  # type: ignore[attr-defined]
    assert [trainee.engine] == plugin.CLOSED  # type: ignore[attr-defined]


def test_unservable_configs_are_refused(plugin: object) -> None:
    with pytest.raises(GymposiumError, match=r"engine.kind = strange: this engine receives an adapter"):
        check_config(TrainConfig(games=("kuhn_poker",), model=Model(tune="full"), engine=make_engine_table("strange")))
    with pytest.raises(GymposiumError, match=r'engine.kind = "strang": it must be one of .*strange'):
        build_config({"games": ["kuhn_poker"], "engine": {"kind": "strang"}})
    with pytest.raises(GymposiumError, match=r"engine.workers = true: it must be a whole number"):
        build_config({"games": ["kuhn_poker"], "engine": {"kind": "strange", "workers": True}})


def test_docs_example_engine_plays(model_directory: Path, tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "my_engine.py"
    file.write_text(code)
    host.cache_clear()
    try:
        host().load_file(file)
        player = make_player(f"lm:{model_directory}?engine=twice&tries=3")
        assert isinstance(player, LanguageModelPlayer)
        (reply,) = player.engine.generate([TokenRequest((1, 2, 3), random.Random(0))], Sampling(1.0, 4))
        assert reply.policy == BASE
    finally:
        sys.modules.pop("my_engine", None)
        host.cache_clear()
