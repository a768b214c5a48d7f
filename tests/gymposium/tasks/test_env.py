"""Worlds as Gymnasium environments, and in the conformance kit."""

from __future__ import annotations

from typing import Any

import pytest
from gymnasium.utils.env_checker import check_env
from tests.gymposium.tasks.guessing import a_guess, guessing

from gymposium.envs.gym import TextGameEnv
from gymposium_testing.contract import QUICK, NotApplicable
from gymposium_testing.registry import CHECKS, Check

OF_GAMES = [check for check in CHECKS if check.kind == "game"]


def test_episode_runs_from_reset_to_the_answer() -> None:
    env = TextGameEnv(guessing())
    text, info = env.reset(seed=4)
    assert text.endswith("Guess a number from 0 to 9.\nAnswer with one call and nothing else.\n")
    assert [tool["function"]["name"] for tool in info["tools"]] == ["guess", "misbehave"]
    text, reward, terminated, _, info = env.step(a_guess(2))
    assert "higher\n" in text
    assert (reward, terminated, info["reading"]) == (0.0, False, "move")
    _, reward, terminated, _, info = env.step(a_guess(4))
    assert (reward, terminated, info["report"]["exact"]) == (1.0, True, 1.0)


def test_invalid_call_ends_the_match_or_is_retried() -> None:
    env = TextGameEnv(guessing())
    env.reset(seed=4)
    text, _, terminated, _, info = env.step('{"name": "guess", "arguments": {"number": 2, "number": 3}}')
    assert (terminated, info["reading"]) == (True, "unparsable")
    assert "so you forfeit it. Your return is 0." in text
    patient = TextGameEnv(guessing(), on_illegal="retry(1)")
    patient.reset(seed=4)
    text, _, terminated, _, _ = patient.step('{"name": "guess", "arguments": {"number": 2, "number": 3}}')
    assert not terminated
    assert text.startswith("The reply is not a call of a tool: the key 'number' is repeated.\n")


def test_gymnasium_checker_passes() -> None:
    check_env(TextGameEnv(guessing()), skip_render_check=True)


@pytest.mark.parametrize("check", OF_GAMES, ids=[f"{check.family}-{check.name}" for check in OF_GAMES])
@pytest.mark.parametrize("purity", ["pure", "recorded"])
def test_world_conforms(purity: Any, check: Check) -> None:
    try:
        check.run(guessing(purity), 0, QUICK)
    except NotApplicable as reason:
        pytest.skip(str(reason))
