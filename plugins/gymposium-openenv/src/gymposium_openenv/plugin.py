"""The plugin gymposium-openenv: games provided by servers over OpenEnv's protocol."""

from __future__ import annotations

from collections.abc import Iterable

from gymposium import GameSpec, Parameter, hookimpl


@hookimpl
def gymposium_games() -> Iterable[GameSpec]:
    """Yield the game."""
    yield GameSpec(
        name="openenv",
        title="OpenEnv environment",
        summary="Play the environment of an OpenEnv server: openenv:URL.",
        entry_point="gymposium_openenv.game:OpenEnvGame",
        seats=1,
        parameters=(
            Parameter(
                name="url",
                default="",
                help="The address of the server, as http://127.0.0.1:8000. Without it, a small example.",
                opens="an address",
            ),
            Parameter(
                name="token",
                default="",
                help="Name of the environment variable with the bearer token for the server.",
                opens="a secret",
                is_variable=True,
            ),
            Parameter(name="max_steps", default=100, low=1, high=10_000, help="Number of steps that ends a match."),
            Parameter(
                name="min_return", default=0.0, low=-1e6, high=0.0, help="Least sum of rewards that a match can have."
            ),
            Parameter(
                name="max_return", default=1.0, low=1.0, high=1e6, help="Greatest sum of rewards that a match has."
            ),
        ),
        examples=({}, {"max_steps": 3}),
        chance=True,
        utility="score",
        free_text=True,
        recorded=True,
        replay="gymposium_openenv.game:OpenEnvGame",
        after_colon="url",
        unsearchable="search cannot guess what the server would answer",
    )
