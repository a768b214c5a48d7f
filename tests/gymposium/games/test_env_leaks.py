"""What environments return depends only on the seat's view."""

from __future__ import annotations

import random
from typing import Any

import gymnasium
import pettingzoo
import pytest

import gymposium  # noqa: F401 (registers the ids)

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("TextKuhnPoker-v0", {}),
    ("TextLeducPoker-v0", {}),
    ("TextGoofspiel-v0", {"num_cards": 4}),
    ("TextGoofspiel-v0", {"num_cards": 4, "points_order": "descending"}),
]


def plain(value: Any) -> Any:
    """Return arrays as lists, so that observations can be compared."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize("observation", ["text", "dict", "tensor"])
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(("env_id", "params"), GAMES)
def test_gymnasium_observations_depend_only_on_the_view(
    env_id: str, params: dict[str, Any], seat: int, observation: str
) -> None:
    env: Any = gymnasium.make(env_id, seat=seat, observation=observation, render_mode="ansi", **params).unwrapped
    rng, seen, worlds = random.Random(0), {}, 0
    for seed in range(150):
        given, info = env.reset(seed=seed)
        reward, over = 0.0, False
        while not over:
            shown = plain(given), plain(info), reward, env.render(), env.action_masks().tolist()
            events = tuple(env.match.events)
            first, first_events = seen.setdefault(env.match.view(seat), (shown, events))
            assert shown == first
            worlds += events != first_events
            given, reward, over, _, info = env.step(rng.choice(info["legal_moves"]))
    assert worlds > 30


@pytest.mark.parametrize(("env_id", "params"), GAMES[:2])
def test_pettingzoo_observations_depend_only_on_the_view(env_id: str, params: dict[str, Any]) -> None:
    env: Any = pettingzoo.make("aec", env_id, **params).unwrapped
    rng, seen, worlds = random.Random(0), {}, 0
    for seed in range(150):
        env.reset(seed=seed)
        while not any(env.terminations.values()):
            for seat, agent in enumerate(env.possible_agents):
                shown = plain(env.observe(agent)), plain(env.infos[agent]), env.rewards[agent]
                events = tuple(env.match.events)
                key = (seat, env.match.view(seat), env.match.to_move())
                first, first_events = seen.setdefault(key, (shown, events))
                assert shown == first
                worlds += events != first_events
            env.step(rng.choice(env.infos[env.agent_selection]["legal_moves"]))
    assert worlds > 30
