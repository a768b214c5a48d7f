"""The state of the stand-in, which outlives its server: sessions, models, saved weights, and the results of requests.

A request is known by its model and its number there, so that one that is sent again is not done again. The requests of
a model are done in the order of their numbers, also if they arrive in another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from tinker.types import LoraConfig

from .models import Snapshot, TrainedModel

Result = dict[str, Any] | bytes
"""JSON, or a message of protobuf."""


@dataclass
class Model:
    trained: TrainedModel
    done: int
    """The number of the newest request that was done."""
    waiting: dict[int, Callable[[], Result]] = field(default_factory=dict)


@dataclass
class StandIn:
    bases: dict[str, int]
    """The models that it trains, with their contexts."""
    sessions: int = 0
    models: dict[str, Model] = field(default_factory=dict)
    states: dict[str, tuple[str, LoraConfig, bytes]] = field(default_factory=dict)
    """Saved weights with their optimizer, by path."""
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    """Weights for sampling, by path."""
    samplers: dict[str, tuple[Snapshot, str | None]] = field(default_factory=dict)
    """Sampling sessions, with the path of their weights."""
    results: dict[str, Result] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Every request that changed or read a model: its kind and its model."""
    one_at_a_time: RLock = field(default_factory=RLock)
    waiting: list[Callable[[], object]] = field(default_factory=list)
    """Functions that are called when there is another result, in any thread."""

    def begin(self) -> str:
        self.sessions += 1
        return f"session-{self.sessions}"

    def create(self, model_id: str, base: str, lora: LoraConfig) -> Model:
        if model_id not in self.models:
            self.models[model_id] = Model(TrainedModel(base, lora), done=0)
        return self.models[model_id]

    def create_from(self, model_id: str, path: str, *, optimizer: bool) -> None:
        if model_id not in self.models:
            base, lora, state = self.states[path]
            self.create(model_id, base, lora).trained.load(state, optimizer=optimizer)

    def submit(self, kind: str, model_id: str, number: int, work: Callable[[TrainedModel], Result]) -> str:
        """Do the request as soon as those before it are done; returns its id."""
        with self.one_at_a_time:
            model, request_id = self.models[model_id], f"{model_id}#{number}"
            if number > model.done and number not in model.waiting:
                model.waiting[number] = lambda: work(model.trained)
                self.asked.append((kind, model_id))
            while (next_one := model.waiting.pop(model.done + 1, None)) is not None:
                self.results[f"{model_id}#{model.done + 1}"] = next_one()
                model.done += 1
            self._tell()
            return request_id

    def at_once(self, request_id: str, work: Callable[[], Result]) -> str:
        """Do a request that waits for no other; returns its id."""
        with self.one_at_a_time:
            if request_id not in self.results:
                self.results[request_id] = work()
            self._tell()
            return request_id

    def _tell(self) -> None:
        waiting, self.waiting = self.waiting, []
        for wake in waiting:
            wake()
