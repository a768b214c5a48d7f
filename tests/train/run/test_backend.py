"""Backends of plugins: a run gets its models from its backend, which may refuse a config before the start."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gymposium.plugins.host import host
from gymposium_train.config.checks import check_config
from gymposium_train.config.distributed import check_processes
from gymposium_train.config.outline import outline_run
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.reading import build_config, parse_json_config
from gymposium_train.config.writing import config_to_data, config_to_json
from gymposium_train.run.start import start_run

PLUGIN = '''
from typing import Literal

from gymposium import BackendSpec, EngineSpec, hookimpl
from gymposium_train.backends.local import LocalBackend
from gymposium_train.config.backend import BackendSettings


class Settings(BackendSettings):
    kind: Literal["noted"] = "noted"
    tokens: int = 3


class Backend(LocalBackend):
    """Notes what it is asked for, and does it here."""

    asked = []

    def __init__(self, settings):
        self._settings = settings

    def refusals(self, config):
        if config.seed == 13:
            yield f"seed = 13: it brings bad luck, also with backend.tokens={self._settings.tokens}. Set another one."

    def missing(self, config):
        if config.seed == 14:
            yield "backend.kind = noted: nobody is there. Come back later."

    def outline(self, config):
        return {"model": "a noted one"}

    def imitation_model(self, start):
        self.asked.append("imitation_model")
        return super().imitation_model(start)

    def reinforcement_model(self, start):
        self.asked.append("reinforcement_model")
        return super().reinforcement_model(start)

    def player(self, start, learned):
        self.asked.append(learned)
        return super().player(start, learned)


@hookimpl
def gymposium_backends():
    yield BackendSpec(
        name="noted", summary="Notes.", entry_point="noted_backend:Backend", settings="noted_backend:Settings"
    )


@hookimpl
def gymposium_engines():
    yield EngineSpec(
        name="of_noted", summary="Its engine.", backend="noted", shares_learner=True, all_weights=True,
        entry_point="gymposium_train.backends.publishing.shared:make_shared_engine",
    )
'''


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "noted_backend.py").write_text(PLUGIN)
    host().load_file(tmp_path / "noted_backend.py")
    yield sys.modules["noted_backend"]
    sys.modules.pop("noted_backend")
    host.cache_clear()


def test_run_gets_every_model_from_its_backend(plugin: Any, tmp_path: Path, quick_config: Any) -> None:
    """It ends with the numbers of the local backend, which does the work."""
    overrides = ("steps=2", "cold_start.steps=20")
    data = {**config_to_data(quick_config(*overrides)), "backend": {"kind": "noted"}}
    del data["engine"]
    noted = start_run(tmp_path / "noted", build_config(data))
    assert plugin.Backend.asked == ["imitation_model", "cold start", "reinforcement_model", "trained"]
    local = start_run(tmp_path / "local", quick_config(*overrides))

    def numbers(run: Any) -> list[dict[str, Any]]:
        return [{k: v for k, v in entry.items() if not k.startswith("perf/")} for entry in run.metrics()]

    assert numbers(noted) == numbers(local)
    assert (noted.adapter / "COMPLETE").is_file()


def test_backend_refusals_are_reported_before_the_start(plugin: Any, tmp_path: Path) -> None:
    config = build_config({"games": ["kuhn_poker"], "backend": {"kind": "noted", "tokens": 5}, "seed": 13})
    with pytest.raises(BadConfig, match=r"seed = 13: it brings bad luck, also with backend.tokens=5. Set another one."):
        check_config(config, at_hand=False)
    away = config.model_copy(update={"seed": 14})
    check_config(away, at_hand=False)
    with pytest.raises(BadConfig, match="nobody is there"):
        start_run(tmp_path / "run", away)
    assert not (tmp_path / "run").exists()
    assert outline_run(away)["model"] == "a noted one"


def test_engine_kind_follows_the_backend(plugin: Any) -> None:
    config = build_config({"games": ["kuhn_poker"], "backend": {"kind": "noted"}})
    assert config.engine.kind == "of_noted"
    assert parse_json_config(config_to_json(config)) == config
    kind = "engine.kind = own: this engine plays models of backend.kind=local, but the model learns on noted"
    with pytest.raises(BadConfig, match=kind):
        check_config(build_config({**config_to_data(config), "engine": {"kind": "own"}}), at_hand=False)
    kind = "engine.kind = of_noted: this engine plays models of backend.kind=noted, but the model learns on local"
    with pytest.raises(BadConfig, match=kind):
        check_config(build_config({"games": ["kuhn_poker"], "engine": {"kind": "of_noted"}}), at_hand=False)


def test_only_the_local_backend_is_distributed(plugin: Any) -> None:
    config = build_config({"games": ["kuhn_poker"], "backend": {"kind": "noted"}})
    with pytest.raises(BadConfig, match=r"backend.kind = noted: the model does not learn on this machine"):
        check_processes(config, 2)


def test_unknown_backend_is_refused() -> None:
    with pytest.raises(BadConfig, match=r'backend.kind = "nowhere": it must be'):
        build_config({"games": ["kuhn_poker"], "backend": {"kind": "nowhere"}})
