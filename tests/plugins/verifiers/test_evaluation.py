"""verifiers' own evaluation plays every kind of game, and scores are the returns of verified records."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gymposium import load_game
from gymposium.errors import BadRecord
from gymposium_verifiers import read_records

from .endpoint import Said, endpoint, plays
from .evaluations import ID, MODEL, evaluate, facts, verified

GAMES = [
    ("tic_tac_toe", "mcts-20", "each"),
    ("connect_four", "random", 1),
    ("kuhn_poker", "cfr-50", "each"),
    ("leduc_poker", "random", "all"),
    ("goofspiel(num_cards=5)", "mcts-20", "each"),
    ("phantom_ttt", "random", "each"),
    ("liars_dice", "random", "all"),
    ("universal_poker(players=3)", "random,greedy", 2),
    ("hanabi(players=3)", "random", [0, 1, 2]),
    ("hearts", "random", "0,2"),
    ("euchre", "random", "each"),
    ("bargaining", "random", "all"),
    ("coin_game", "random", "each"),
    ("blackjack", "random", "each"),
    ("trace", "random", "each"),
    ("mail", "random", "each"),
    ("tables", "random", "each"),
]


@pytest.mark.parametrize(("game", "opponents", "seats"), GAMES, ids=lambda value: str(value))
def test_scores_are_returns_of_verified_records(game: str, opponents: str, seats: object, tmp_path: Path) -> None:
    tasks = 3
    episodes, requests = evaluate(tmp_path / "run", tasks=tasks, game=game, opponents=opponents, seats=seats)
    assert [(episode.ok, episode.errors) for episode in episodes] == [(True, [])] * tasks
    records = {record.id: record for record in verified(tmp_path / "run")}
    assert len(records) == tasks
    replies = 0
    for episode in episodes:
        assert len(episode.traces) == len(episode.task.data.seats)
        for trace in episode.traces:
            noted = trace.info["gymposium"]
            record, seat = records[noted["match"]], noted["seat"]
            assert trace.agent.name == f"player{seat}"
            assert record.players[seat] == MODEL
            assert trace.reward == trace.metrics["return"] == record.returns[seat]
            if len(record.players) > 1:
                assert trace.metrics[record.results[seat]] == 1.0
            turns = [turn for turn in record.turns if turn["seat"] == seat]
            assert trace.num_turns == trace.metrics["replies"] == len(turns)
            assert trace.num_branches == (1 if turns else 0)
            for name, figure in (record.reports[seat] if record.reports else {}).items():
                assert trace.metrics[f"report.{name}"] == figure
            replies += len(turns)
        assert sorted(trace.info["gymposium"]["seat"] for trace in episode.traces) == list(episode.task.data.seats)
    assert len(requests) == replies, "opponents ask no model"


def test_first_message_is_the_prompt_and_later_ones_are_updates(tmp_path: Path) -> None:
    episodes, requests = evaluate(tmp_path / "run", tasks=1, game="goofspiel(num_cards=4)", seats=1)
    [trace] = episodes[0].traces
    game = load_game("goofspiel(num_cards=4)")
    first, *later = [message for message in trace.messages if message.role == "user"]
    assert first.content.startswith(game.rules(1))
    assert later
    assert not any(game.rules(1) in message.content for message in later)
    assert [len(request["messages"]) for request in requests] == [1, 3, 5]


def test_same_seeds_play_the_same_matches(tmp_path: Path) -> None:
    def played(name: str, seed: int) -> list[object]:
        evaluate(tmp_path / name, tasks=4, game="goofspiel(num_cards=5)", opponents="mcts-20", seed=seed)
        return sorted((facts(record) for record in verified(tmp_path / name)), key=str)

    once, again, others = played("once", 3), played("again", 3), played("others", 30)
    assert once == again
    assert not any(match in others for match in once)


def test_rollouts_of_a_task_share_deal_and_opponents(tmp_path: Path) -> None:
    evaluate(tmp_path / "run", tasks=1, rollouts=3, game="kuhn_poker", opponents="mcts-20", seats=0)
    first, *others = [facts(record) for record in verified(tmp_path / "run")]
    assert others == [first, first]


def test_rewards_use_gymposium_syntax(tmp_path: Path) -> None:
    episodes, _ = evaluate(
        tmp_path / "run", tasks=4, game="leduc_poker", seats=0, reward="weighted(accuracy=1,completeness=0.5)"
    )
    for episode in episodes:
        [trace] = episode.traces
        won = trace.metrics["win"] + 0.5 * trace.metrics["draw"]
        assert trace.reward == won + 0.5
        assert trace.metrics["reward.accuracy"] == won
        assert list(trace.rewards) == ["weighted(accuracy=1,completeness=0.5)"]


def test_turn_rewards_see_payments_per_turn(tmp_path: Path) -> None:
    episodes, _ = evaluate(tmp_path / "run", tasks=2, game="2048(max_tile=16)", reward="clipped(1)")
    for episode in episodes:
        [trace] = episode.traces
        assert 1.0 < trace.reward == int(trace.reward) < trace.metrics["replies"]
        assert trace.reward < trace.metrics["return"]


def test_sampling_settings_reach_the_model(tmp_path: Path) -> None:
    env = {"player0": {"sampling": {"temperature": 0.25, "max_tokens": 7}}}
    _, requests = evaluate(tmp_path / "run", tasks=1, game="kuhn_poker", seats=0, env=env)
    assert {(request["temperature"], request.get("max_tokens")) for request in requests} == {(0.25, 7)}


def test_resumed_evaluation_replays_broken_matches(tmp_path: Path) -> None:
    def fails_in_seat_1(request: Mapping[str, Any], rng: random.Random) -> Said:
        broken = "You act second." in request["messages"][0]["content"]
        return {"status": 422, "error": {"message": "out of order"}} if broken else plays(request, rng)

    first, _ = evaluate(tmp_path / "run", script=fails_in_seat_1, tasks=4, game="kuhn_poker")
    assert sorted(episode.ok for episode in first) == [False, False, True, True]
    kept = [facts(record) for record in read_records(tmp_path / "run")]
    resumed, _ = evaluate(tmp_path / "run", tasks=4, game="kuhn_poker", resume=True)
    assert [episode.ok for episode in resumed] == [True] * 4
    records = [facts(record) for record in verified(tmp_path / "run")]
    assert len(records) == 4
    assert all(match in records for match in kept)


@pytest.mark.parametrize(
    "line",
    [
        *(b"\xff", b"", b"[]", b"[" * 100_000, b'{"traces": [1]}', b'{"traces": [{"info": []}]}'),
        *(
            b'{"traces": [{"info": {"gymposium": {"record": 1}}}]}',
            b'{"traces": [{"info": {"gymposium": {"record": "{"}}}]}',
        ),
    ],
)
def test_invalid_lines_are_named(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "traces.jsonl").write_bytes(b'{"traces": []}\n' + line + b"\n")
    with pytest.raises(BadRecord, match=r"traces\.jsonl:2 (is not an episode|has a record that is not)"):
        list(read_records(tmp_path))


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero"), lambda path: None])
def test_unreadable_files_are_named(make: Callable[[Path], object], tmp_path: Path) -> None:
    """A pipe or a device is not waited for."""
    make(tmp_path / "traces.jsonl")
    with pytest.raises(BadRecord, match=r"traces\.jsonl cannot be read"):
        list(read_records(tmp_path))


def test_command_evaluates_and_records_verify(tmp_path: Path) -> None:
    (tmp_path / "eval.toml").write_text(
        f"""
        model = "{MODEL}"
        push = false
        output_dir = "{tmp_path}"
        num_rollouts = 2
        [run]
        name = "run"
        [select]
        limit = 2
        [env.taskset]
        id = "{ID}"
        game = "hearts"
        opponents = ["random", "greedy", "random"]
        """,
        encoding="utf-8",
    )
    command = Path(sys.executable).with_name("vf-eval")
    with endpoint() as served:
        options = ["--client.base-url", served.url, "--client.api-key-var", "NO_KEY", "--no-rich"]
        done = subprocess.run(
            [command, "@", tmp_path / "eval.toml", *options], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    records = verified(tmp_path / "run")
    assert sorted(record.players for record in records) == sorted(
        [[MODEL, "random", "greedy", "random"]] * 2 + [["random", MODEL, "greedy", "random"]] * 2
    )
    assert [record.id for record in records] == [record.id for record in read_records(tmp_path / "run")]
    told = subprocess.run(
        [sys.executable, "-m", "gymposium.cli.main", "verify", tmp_path / "run" / "matches.jsonl"],
        env={**os.environ, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "4 matches played again; all agree" in told.stdout
