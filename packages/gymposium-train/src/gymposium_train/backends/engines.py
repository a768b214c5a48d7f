"""The engines of a run, and the engine that its training and its evaluations share."""

from __future__ import annotations

import gc
import hashlib
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import torch

from gymposium_agents.engines.protocol import EngineStart, HostingEngine
from gymposium_agents.engines.registry import find_engine_spec, make_engine
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.config import TrainConfig
from gymposium_train.learner.precision import choose_compute_type


class RunEngine:
    """The engine of a run that has its own copy of the model, such as a vLLM server. Training and evaluations share it,
    because a server takes minutes to start. It is made when it is first needed, and closed at the end of the block that
    this object opens."""

    def __init__(self, config: TrainConfig, directory: Path) -> None:
        """`directory` is that of the run's policy versions."""
        self._config, self._resources = config, ExitStack()
        self._start: EngineStart | None = None
        parent = getattr(config.engine, "exchange", None)
        self.exchange = directory / ".weights" if parent is None else Path(parent) / f"gymposium-{hash_path(directory)}"
        """A temporary directory for passing weights to the engine. It is removed when the engine is closed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    @property
    def is_open(self) -> bool:
        """True while there is an engine."""
        return self._start is not None

    def open(self, start: EngineStart) -> HostingEngine:
        """Return the engine if it was made for an equal `start`. Otherwise, close it and make another one.

        Raises `GymposiumError` if the engine cannot be made: a server does not start, or serves another model."""
        if start != self._start:
            self._close()
            self._resources.callback(shutil.rmtree, self.exchange, ignore_errors=True)
            self._engine = open_engine(self._config, start, self._resources)
            self._start = start
        return self._engine

    def _close(self) -> None:
        self._start = None
        self._resources.close()


def open_engine(config: TrainConfig, start: EngineStart, resources: ExitStack) -> HostingEngine:
    """Make an engine of a run. It is closed with `resources`. GPU memory that this process holds but does not use is
    released first, because a server may share the GPU.

    Raises `GymposiumError` if the engine cannot be made."""
    release_unused_memory()
    made = make_engine(find_engine_spec(config.engine.kind), start, config.engine.own)
    resources.callback(made.close)
    return made


def release_unused_memory() -> None:
    """Return the GPU memory of deleted tensors to the device. Does nothing if this process uses no GPU."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        gc.collect()  # players and engines may be in reference cycles
        torch.cuda.empty_cache()


def make_engine_start(
    config: TrainConfig, model: str | Path, stops: frozenset[int], learner: LoadedModel | None = None
) -> EngineStart:
    """Return a model for an engine of a run, with its loading options. `stops` are the tokens that end a reply. An
    engine that shares the learner's model needs the `learner`."""
    past = any("past" in stage.opponents for stage in config.stages)
    return EngineStart(
        model=str(model),
        stops=stops,
        trust=config.model.trust,
        load=config.model.load,
        dtype=str(choose_compute_type(config.optimizer.precision)).removeprefix("torch."),
        lora_rank=config.model.lora.rank if config.model.tune == "lora" else 0,
        # those that rollouts may still play, a new one while it is published, and past opponents, also leaving ones
        versions=config.engine.staleness + 2 + (config.pool.size + config.engine.staleness if past else 0),
        learner=learner,
    )


def make_policy_name(config: TrainConfig, directory: Path) -> str:
    """Return the name of a run's policies. It is unique if the run uses a server that may hold policies of other
    runs."""
    if getattr(config.engine, "url", None) is None:
        return "learner"
    return f"learner.{hash_path(directory)}"


def hash_path(path: Path) -> str:
    """Return a short name for a path."""
    return hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:8]
