"""Make games with given parameters, and draw parameters within their bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from gymposium.errors import BadParameter
from gymposium.games.protocol import Game
from gymposium.plugins.host import host
from gymposium.plugins.specs import GameSpec, Parameter

if TYPE_CHECKING:
    import hypothesis
    from hypothesis.strategies import SearchStrategy


def make_game(spec: GameSpec, params: Mapping[str, Any]) -> Game:
    """Make a new game, bypassing the cache."""
    return cast(Game, host().make(spec, params))


def make_settings(draws: int, **more: Any) -> hypothesis.settings:
    """Return hypothesis settings for reproducible draws.

    They stop at one failure, write no files and set no deadlines."""
    from hypothesis import HealthCheck, Phase, settings

    return settings(
        max_examples=draws,
        derandomize=True,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        **more,
    )


def try_parameters(spec: GameSpec, draws: int, use: Callable[[dict[str, Any]], None]) -> None:
    """Call `use` with parameter sets drawn within their bounds.

    Hypothesis shrinks failing sets. Sets that raise `BadParameter` are skipped."""
    from hypothesis import assume, given, strategies as st

    @make_settings(draws)
    @given(st.fixed_dictionaries({parameter.name: _make_strategy(parameter) for parameter in spec.parameters}))
    def draw(params: dict[str, Any]) -> None:
        try:
            use(params)
        except BadParameter:
            assume(False)

    draw()


def _make_strategy(parameter: Parameter) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    if parameter.choices is not None:
        return st.sampled_from(parameter.choices)
    if isinstance(parameter.default, bool):
        return st.booleans()
    if isinstance(parameter.default, str) or parameter.low is None or parameter.high is None:
        return st.just(parameter.default)  # the spec defines no other values
    if isinstance(parameter.default, int):
        return st.integers(math.ceil(parameter.low), math.floor(parameter.high))
    return st.floats(parameter.low, parameter.high, allow_nan=False)
