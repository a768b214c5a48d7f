"""Scripted players keep their word and follow their rule."""

import pytest

from gymposium import load_game, make_player
from gymposium.errors import BadOption
from gymposium.games.protocol import Match
from gymposium.match import MatchJob, play
from gymposium.players.protocol import MatchContext
from gymposium_talk.scripted import ScriptedPlayer, make_tit_for_tat


def ask(player: ScriptedPlayer, match: Match, seat: int = 0) -> str:
    [reply] = player.act([MatchContext(match, "one", 1).ask(seat)])
    return reply.text


@pytest.mark.parametrize(
    ("name", "rounds", "answers"),
    [
        ("prisoners_dilemma", [["defect"], ["cooperate"]], ["cooperate", "defect", "cooperate"]),
        ("three_player_dilemma", [["defect", "cooperate"], ["cooperate"] * 2], ["cooperate", "defect", "cooperate"]),
        ("stag_hunt(players=3)", [["stag", "hare"], ["stag", "stag"]], ["stag", "hare", "stag"]),
        ("public_goods", [["10", "4"], ["0", "2"]], ["10", "6", "0"]),
    ],
)
def test_tit_for_tat_announces_its_answer_in_kind(name: str, rounds: list[list[str]], answers: list[str]) -> None:
    match = load_game(name).new(1)
    player = make_tit_for_tat()
    for others, answer in zip([*rounds, None], answers, strict=True):
        assert f"choose {answer}." in ask(player, match)
        match.apply(dict.fromkeys(match.to_move(), "Player 2 chose defect and got 5."))
        assert ask(player, match) == answer
        if others is not None:
            match.apply(dict(enumerate([answer, *others])))


def test_two_of_them_cooperate() -> None:
    game = load_game("prisoners_dilemma(rounds=3)")
    kind = make_player("tit-for-tat")
    [played] = play([MatchJob("one", game, [kind, kind], 1, player_seed=1)])
    assert played.returns == (3.0, 3.0)


def test_plays_only_its_games() -> None:
    with pytest.raises(BadOption, match="tit-for-tat plays prisoners_dilemma"):
        make_player("tit-for-tat").check_game(load_game("tic_tac_toe"))
