"""Arguments of the wrong type from Python: the error says what was expected, and is a `TypeError` too."""

from __future__ import annotations

from typing import Any

import pytest

from gymposium import load_game, make_player, make_reward
from gymposium.errors import GymposiumError
from gymposium.match import MatchJob


@pytest.mark.parametrize("call", [load_game, make_player, make_reward])
@pytest.mark.parametrize("given", [3, None, ["random"]])
def test_names_are_text(call: Any, given: Any) -> None:
    with pytest.raises(GymposiumError, match=r"text such as '.*, not .* of type (int|NoneType|list)\.") as caught:
        call(given)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("game", "players", "told"),
    [
        ("pig", ["random", "random"], r"game must be a game, as load_game\('tic_tac_toe'\) returns one, not 'pig'"),
        (None, ["random", "random"], r"each player must be a player, as make_player\('random'\) returns one, not 'ran"),
        (None, "random", "players must be a sequence with one player for each seat, not 'random' of type str"),
        (None, None, "players must be a sequence"),
    ],
)
def test_a_match_job_takes_games_and_players_not_their_names(game: Any, players: Any, told: str) -> None:
    with pytest.raises(GymposiumError, match=told) as caught:
        MatchJob("m", load_game("pig") if game is None else game, players, 0)
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("field", "given", "told"),
    [
        (
            "on_illegal",
            "random",
            r"on_illegal must be a policy, as FailurePolicy.parse\('random'\) returns one",
        ),
        ("seed", "7", "seed must be an integer, not '7' of type str"),
        ("seed", None, "seed must be an integer, not None"),
        ("player_seed", 1.5, "player_seed must be an integer, not 1.5"),
        ("opening", "2", "opening must be an integer, not '2'"),
    ],
)
def test_a_match_job_names_the_field_of_the_wrong_type(field: str, given: Any, told: str) -> None:
    job: dict[str, Any] = {"players": [make_player("random")] * 2, "seed": 0, field: given}
    with pytest.raises(GymposiumError, match=f"MatchJob: {told}") as caught:
        MatchJob("m", load_game("pig"), **job)
    assert isinstance(caught.value, TypeError)
