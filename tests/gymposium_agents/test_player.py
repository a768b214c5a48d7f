"""A language model in any seat of any game; evaluation with swapped seats and records that verify."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gymposium.driver import MatchJob, play
from gymposium.errors import BadOption
from gymposium.failures import FailurePolicy
from gymposium.games.registry import load_game
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Player
from gymposium.records import RecordWriter, verify_file
from gymposium_agents.evaluate import evaluate
from gymposium_agents.loading import LoadedModel
from gymposium_agents.player import LanguageModelPlayer
from gymposium_agents.tokens import Sampling, TurnTokens

GAMES = ["tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "goofspiel(num_cards=4)"]


@pytest.fixture(scope="module")
def player(tiny: LoadedModel) -> LanguageModelPlayer:
    return LanguageModelPlayer("lm:tiny", tiny.engine(), tiny.chat, sampling=Sampling(1.0, 4))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("policy", ["forfeit", "retry(2)", "random"])
def test_it_plays_any_seat_and_the_record_verifies(
    player: LanguageModelPlayer, tmp_path: Path, name: str, seat: int, policy: str
) -> None:
    game, other = load_game(name), make_player("random")
    players: list[Player] = [player if s == seat else other for s in range(game.seats)]
    file = tmp_path / "matches.jsonl"
    with RecordWriter(file) as writer:
        for played in play(
            MatchJob(f"m{i}", game, players, i, on_illegal=FailurePolicy.parse(policy)) for i in range(6)
        ):
            writer.write(played)
            mine = [turn for turn in played.turns if turn.seat == seat]
            assert all(isinstance(turn.trace, TurnTokens) for turn in mine)
            assert all(turn.trace is None for turn in played.turns if turn.seat != seat)
            assert all(player.chat.read(turn.trace.completion.ids) == turn.text for turn in mine)
    verification = verify_file(file)
    assert verification.matches == 6
    assert verification.problems == []


def test_the_same_seed_plays_the_same_match_whatever_else_is_played(player: LanguageModelPlayer) -> None:
    game, policy = load_game("tic_tac_toe"), FailurePolicy.parse("random")

    def turns(ids: range) -> dict[str, list[str]]:
        jobs = (MatchJob(f"m{i}", game, [player, player], i, on_illegal=policy) for i in ids)
        return {played.job.id: [turn.text for turn in played.turns] for played in play(jobs)}

    assert turns(range(3, 4)).items() <= turns(range(12)).items()


def test_a_retry_is_told_why(tiny: LoadedModel) -> None:
    game = load_game("tic_tac_toe")
    seen: list[str | None] = []

    class Listening(LanguageModelPlayer):
        def prompt_text(self, ask):  # type: ignore[no-untyped-def]
            text = super().prompt_text(ask)
            seen.append(text if ask.reason else None)
            return text

    listening = Listening("lm:tiny", tiny.engine(), tiny.chat, sampling=Sampling(1.0, 2))
    list(play([MatchJob("m", game, [listening, make_player("random")], 1, on_illegal=FailurePolicy.parse("retry(1)"))]))
    assert seen[0] is None
    assert seen[1] is not None
    assert "Legal moves: a3, b3" in seen[1]


def test_evaluation_swaps_seats_over_common_deals() -> None:
    game = load_game("leduc_poker")
    finished = []
    score = evaluate(
        make_player("mcts-20"), make_player("random"), game, matches=20, seed=3, tag="t", each=finished.append
    )
    assert score.matches == 20
    seats = [[p.name for p in played.job.players].index("mcts-20") for played in finished]
    assert seats.count(0) == seats.count(1) == 10
    seeds = sorted(played.job.seed for played in finished)
    assert seeds[::2] == seeds[1::2]
    assert len(set(seeds)) == 10


def test_evaluation_refuses_an_uneven_share_of_seats() -> None:
    with pytest.raises(BadOption, match="multiple of 2"):
        evaluate(make_player("random"), make_player("random"), load_game("kuhn_poker"), matches=3, seed=0, tag="t")


def test_a_game_for_one_is_evaluated_alone() -> None:
    score = evaluate(make_player("random"), None, load_game("2048"), matches=2, seed=0, tag="t")
    assert score.results == {"score": 2}
    assert all(value > 0 for value in score.returns)


def test_the_command_reports_a_model_with_its_adapter(
    model_directory: Path, adapter_directory: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "gymposium.cli.main", "eval", f"lm:{model_directory}@{adapter_directory}"),
            *("--game", "kuhn_poker", "--opponents", "random,mcts-5", "-n", "10", "--json"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    data = json.loads(done.stdout)
    assert set(data["opponents"]) == {"random", "mcts-5"}
    assert data["opponents"]["random"]["matches"] == 10
    verification = verify_file(tmp_path / data["record"])
    assert (verification.matches, verification.problems) == (20, [])
