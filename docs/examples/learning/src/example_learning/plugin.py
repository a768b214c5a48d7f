"""The plugin of the package: what it adds. It imports nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import CreditSpec, EngineSpec, ObjectiveSpec, hookimpl


@hookimpl
def gymposium_credits() -> Iterable[CreditSpec]:
    yield CreditSpec(
        name="rank",
        summary="The rank of a trajectory's reward in its group.",
        entry_point="example_learning.rank:Rank",
        settings="example_learning.rank:RankSettings",
    )


@hookimpl
def gymposium_objectives() -> Iterable[ObjectiveSpec]:
    yield ObjectiveSpec(
        name="awr",
        summary="Log-probabilities weighted by the exponential of the advantage (Peng et al., 2019).",
        entry_point="example_learning.awr:Awr",
        settings="example_learning.awr:AwrSettings",
    )


@hookimpl
def gymposium_engines() -> Iterable[EngineSpec]:
    yield EngineSpec(
        name="tallied",
        summary="A copy of the model in this process that logs how much it sampled.",
        entry_point="example_learning.tallied:make_engine",
        settings="example_learning.tallied:TalliedSettings",
    )
