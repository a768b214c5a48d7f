"""The backend `tinker`, and the engine that samples from its models."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import BackendSpec, EngineSpec, hookimpl

GYMPOSIUM_API = 1


@hookimpl
def gymposium_backends() -> Iterable[BackendSpec]:
    yield BackendSpec(
        name="tinker",
        summary="Learning on the Tinker service: a LoRA on a model that the service holds.",
        entry_point="gymposium_tinker.backend:TinkerBackend",
        settings="gymposium_tinker.settings:TinkerSettings",
        opens={"base_url": "an address that rows and a key are sent to"},
    )


@hookimpl
def gymposium_engines() -> Iterable[EngineSpec]:
    yield EngineSpec(
        name="tinker",
        label="Tinker",
        summary="The Tinker service, which samples from the model that a run trains there.",
        entry_point="gymposium_tinker.engine:refuse_engine",
        backend="tinker",
    )
