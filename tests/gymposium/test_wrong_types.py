"""Arguments of the wrong type: the error names the expected type and is a `TypeError` too."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from gymposium import Table, load_game, make_player, make_reward, play
from gymposium.envs.aec import TextGameAECEnv
from gymposium.errors import GymposiumError
from gymposium.match import MatchJob


@pytest.mark.parametrize("call", [load_game, make_player, make_reward])
@pytest.mark.parametrize("given", [3, None, ["random"]])
def test_names_must_be_text(call: Any, given: Any) -> None:
    with pytest.raises(GymposiumError, match=r"text such as '.*, not .* of type (int|NoneType|list)\.") as caught:
        call(given)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("game", "players", "told"),
    [
        ("pig", ["random", "random"], r"game must be a game, such as load_game\('tic_tac_toe'\), not 'pig'"),
        (None, ["random", "random"], r"each player must be a player, such as make_player\('random'\), not 'ran"),
        (None, "random", "players must be a sequence with one player per seat, not 'random' of type str"),
        (None, None, "players must be a sequence"),
    ],
)
def test_match_job_refuses_names_for_games_and_players(game: Any, players: Any, told: str) -> None:
    with pytest.raises(GymposiumError, match=told) as caught:
        MatchJob("m", load_game("pig") if game is None else game, players, 0)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("field", "given", "told"),
    [
        (
            "on_illegal",
            "random",
            r"on_illegal must be a policy, such as FailurePolicy.parse\('random'\)",
        ),
        ("seed", "7", "seed must be an integer, not '7' of type str"),
        ("seed", None, "seed must be an integer, not None"),
        ("player_seed", 1.5, "player_seed must be an integer, not 1.5"),
        ("opening", "2", "opening must be an integer, not '2'"),
        ("opening", True, "opening must be an integer, not True"),
    ],
)
def test_match_job_names_the_field_of_the_wrong_type(field: str, given: Any, told: str) -> None:
    job: dict[str, Any] = {"players": [make_player("random")] * 2, "seed": 0, field: given}
    with pytest.raises(GymposiumError, match=f"MatchJob: {told}") as caught:
        MatchJob("m", load_game("pig"), **job)
    assert isinstance(caught.value, TypeError)


def play_two(**keywords: Any) -> None:
    play("kuhn_poker", ["random", "random"], **{"n": 2, **keywords})


def set_table(**keywords: Any) -> None:
    Table("kuhn_poker", **keywords)


def make_env(**keywords: Any) -> None:
    gymnasium.make("TextKuhnPoker-v0", **keywords).reset(seed=1)


def make_vector_env(**keywords: Any) -> None:
    made = {"num_envs": 2, "vectorization_mode": "vector_entry_point", **keywords}
    gymnasium.make_vec("TextKuhnPoker-v0", **made).reset(seed=1)


def make_pettingzoo_env(**keywords: Any) -> None:
    TextGameAECEnv("kuhn_poker", **keywords).reset(seed=1)


NO_TEXT = (3, True, None, ["x"])
NO_INTEGERS = (1.5, True, "1")
WRONG: dict[Any, dict[str, tuple[object, ...]]] = {
    play_two: {
        "n": (*NO_INTEGERS, None, 0, -1, 2.0),
        "seed": (*NO_INTEGERS, None, 2**64),
        "swap": ("no", 0, None),
        "on_illegal": (*NO_TEXT, ""),
        "watchdog": ("1", True, 0, float("nan")),
        "schedule": (*NO_TEXT, ""),
        "out": (3, True),
    },
    set_table: {
        "seats": (None, "0", 1.0, True, 2, [0, 0]),
        "opponents": (3, None, "mcst-1", ["random", "random"]),
        "seed": NO_INTEGERS,
        "player_seed": NO_INTEGERS,
        "opening": (*NO_INTEGERS, None, -1),
        "on_illegal": (*NO_TEXT, ""),
        "reply": (*NO_TEXT, ""),
        "prompt": (*NO_TEXT, ""),
        "name": NO_TEXT,
        "match_id": NO_TEXT[:2],
    },
    make_env: {
        "seat": (1.0, True, None, "0", 2),
        "opponent": (3, None, "mcst-1"),
        "on_illegal": NO_TEXT,
        "reply": NO_TEXT,
        "prompt": NO_TEXT,
        "observation": NO_TEXT,
    },
    make_vector_env: {
        "num_envs": (*NO_INTEGERS, None, 0),
        "max_episode_steps": (*NO_INTEGERS, 0),
        "prompt": NO_TEXT,
        "observation": NO_TEXT,
    },
    make_pettingzoo_env: {
        "on_illegal": NO_TEXT,
        "reply": NO_TEXT,
        "prompt": NO_TEXT,
        "observation": NO_TEXT,
        "render_mode": (3, True, ["ansi"], ""),
    },
}


@pytest.mark.parametrize(
    ("call", "keyword", "given"),
    [
        pytest.param(call, keyword, given, id=f"{call.__name__}-{keyword}={given!r}")
        for call, keywords in WRONG.items()
        for keyword, values in keywords.items()
        for given in values
    ],
)
def test_public_functions_refuse_arguments_of_wrong_types(call: Any, keyword: str, given: Any) -> None:
    with pytest.raises(GymposiumError):
        call(**{keyword: given})


@pytest.mark.parametrize("opponents", ["mcst-1", 3, None])
def test_opponents_are_validated_without_a_free_seat(opponents: Any) -> None:
    with pytest.raises(GymposiumError):
        Table("kuhn_poker", seats=[0, 1], opponents=opponents)
