"""A remote player replies like the local one, from any worker."""

from __future__ import annotations

import pytest

from gymposium.errors import BadOption, PermissionRequired
from gymposium.games.registry import load_game
from gymposium.match import FORFEIT, MatchResult, play
from gymposium.match.seating import plan_jobs
from gymposium.players.grammar import check_named_player, make_player
from gymposium.players.protocol import Player
from gymposium.runs.executors.remote_player import RemotePlayer


def moves(game: str, player: Player) -> list[list[tuple[int, str]]]:
    jobs = plan_jobs(
        load_game(game), [player, make_player("random")], 6, seed=4, swap=True, tag="m", on_illegal=FORFEIT
    )

    def number(result: MatchResult) -> int:
        assert result.job.number is not None
        return result.job.number

    played = sorted(play([job for job, _ in jobs]), key=number)
    return [[(event.seat, event.move) for event in result.events] for result in played]


@pytest.mark.parametrize(
    "game",
    [
        "tic_tac_toe",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("leduc_poker", "pig(horizon=30,winscore=20)")),
    ],
)
def test_remote_player_moves_like_the_player(game: str) -> None:
    remote = make_player("remote:mcts-10?workers=2")
    assert isinstance(remote, RemotePlayer)
    assert remote.name == "remote:mcts-10?workers=2"
    assert moves(game, remote) == moves(game, make_player("mcts-10"))
    remote.close()


def test_file_needs_permission_to_name_it() -> None:
    with pytest.raises(PermissionRequired, match="it opens processes"):
        check_named_player("remote:mcts-10")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("remote:human", "human cannot run remotely"),
        ("remote:random?worker=2", "unknown option 'worker'. Options: executor, workers, address"),
        ("remote:random?workers=none", "workers=none must be an integer"),
    ],
)
def test_players_that_cannot_run_remotely_are_refused(name: str, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        make_player(name)
