"""Episodes of TextArena's games are written, read and replayed in another process."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadOption, BadRecord, GymposiumError

ta = pytest.importorskip("textarena", reason="textarena is not installed: tox run -e textarena")

from gymposium_textarena import Episode, GymposiumEnv, RecordedEnv, read_episodes, replay_episodes  # noqa: E402
from gymposium_textarena.episodes import to_json  # noqa: E402

from .simple import BracketPicker, play  # noqa: E402

THEIRS = (
    ("TicTacToe-v0", 2),
    ("ConnectFour-v0", 2),
    ("KuhnPoker-v0", 2),
    ("LiarsDice-v0", 3),
    ("Nim-v0", 2),
    ("PigDice-v0", 2),
    ("Battleship-v0", 2),
    ("GameOfPureStrategy-v0", 2),
    ("Minesweeper-v0", 1),
    ("Blackjack-v0", 1),
    ("TicTacToe-v0-raw", 2),
    ("ConnectFour-v0-train", 2),
)


def record_episode(env_id: str, players: int, seed: int, path: Path | None = None) -> Episode:
    env = RecordedEnv(ta.make(env_id), path)
    agents: dict[int, Any] = {seat: BracketPicker(f"{seed}/{seat}") for seat in range(players)}
    if env_id.endswith("-raw"):
        agents = {seat: lambda observation: f"[{len(observation)}]" for seat in range(players)}
    play(env, agents, seed)
    return env.episode


def test_ten_games_replay_identically_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    episodes = [record_episode(*which, seed=number, path=path) for number, which in enumerate(THEIRS)]
    assert list(read_episodes(path)) == episodes
    random.seed(1)
    before = random.getstate()
    again = replay_episodes(*read_episodes(path))
    assert random.getstate() == before
    assert [(found.episode, found.difference) for found in again] == [(episode, "") for episode in episodes]


@pytest.fixture(scope="module")
def episode() -> Episode:
    return record_episode("ConnectFour-v0", 2, seed=4)


def test_lines_have_the_documented_format(episode: Episode) -> None:
    data = json.loads(episode.line())
    assert list(data) == [
        *("format", "env", "version", "seed", "num_players", "actions", "rewards", "game_info", "digest"),
    ]
    assert (data["format"], data["env"], data["version"]) == ("textarena-episode-1", "ConnectFour-v0", ta.__version__)
    assert (data["seed"], data["num_players"]) == (4, 2)
    assert all(player in (0, 1) and isinstance(text, str) for player, text in data["actions"])
    assert set(data["rewards"]) == set(data["game_info"]) == {"0", "1"}
    assert Episode.parse(episode.line()) == episode


def test_digest_depends_on_observations() -> None:
    episodes = []
    for env_id in ("TicTacToe-v0", "TicTacToe-v0-train"):
        env, actions = RecordedEnv(ta.make(env_id)), iter(["[0]", "[3]", "[1]", "[4]", "[2]"])
        play(env, dict.fromkeys(range(2), lambda observation, actions=actions: next(actions)), seed=1)
        episodes.append(env.episode)
    shown, other = episodes
    assert (shown.actions, shown.rewards, shown.game_info) == (other.actions, other.rewards, other.game_info)
    assert shown.digest != other.digest
    [again] = replay_episodes(replace(shown, env=other.env))
    assert again.difference == "An observation differs, or its digest was changed."


def test_changes_are_detected(episode: Episode) -> None:
    poker = record_episode("KuhnPoker-v0", 2, seed=1)
    swapped = tuple((1 - player, text) for player, text in episode.actions)
    changed = {
        "An observation differs": replace(poker, digest="0" * 64),
        "The rewards are": replace(episode, rewards={"0": 1, "1": 1}),
        "The infos are": replace(episode, game_info={}),
        "Action 0 is of player 1, but player 0 is to act": replace(episode, actions=swapped),
        "The episode is not over": replace(episode, actions=episode.actions[:1]),
        f"Action {len(episode.actions)} is of player 0, but nobody": replace(
            episode, actions=(*episode.actions, (0, "[1]"))
        ),
        "NoSuchGame-v0 not found in registry": replace(episode, env="NoSuchGame-v0"),
    }
    for told, found in zip(changed, replay_episodes(*changed.values()), strict=True):
        assert not found.same
        assert told in found.difference
    later = replay_episodes(
        replace(poker, seed=2), replace(poker, seed=2, version="0.9"), replace(poker, version="0.9")
    )
    assert [found.same for found in later] == [False, False, True]
    assert f"The episode is of TextArena 0.9, and {ta.__version__} is installed." in later[1].difference


def test_replays_have_a_time_limit(episode: Episode) -> None:
    first, second = replay_episodes(episode, episode, seconds=0.001)
    assert first.difference == second.difference == "The replay took more than 0.001 s."


def test_replays_have_no_api_keys(monkeypatch: pytest.MonkeyPatch, episode: Episode) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "secret")
    [found] = replay_episodes(replace(episode, env="Debate-v0"))
    assert "API key not found" in found.difference


def test_replays_open_no_connections(monkeypatch: pytest.MonkeyPatch, episode: Episode, tmp_path: Path) -> None:
    """A file on the path replaces an environment that needs a key before it connects."""
    (tmp_path / "sitecustomize.py").write_text(
        "import textarena, socket\n"
        "def connect(*args, **keywords):\n"
        "    socket.create_connection(('127.0.0.1', 9))\n"
        "textarena.envs.registration.ENV_REGISTRY['Debate-v0'].entry_point = connect\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    [found] = replay_episodes(replace(episode, env="Debate-v0"))
    assert "A replay cannot open connections" in found.difference


def test_only_replayable_episodes_are_recorded(tmp_path: Path) -> None:
    env = RecordedEnv(ta.make("TicTacToe-v0"), tmp_path / "none.jsonl")
    with pytest.raises(BadOption, match="seed=None: give a number"):
        env.reset(num_players=2)
    env.reset(num_players=2, seed=1)
    env.get_observation()
    env.step("[1]")
    assert env.close()[0] is None
    with pytest.raises(GymposiumError, match="Finish it"):
        _ = env.episode
    assert not (tmp_path / "none.jsonl").exists()
    with pytest.raises(BadOption, match="for one episode"):
        env.reset(num_players=2, seed=2)
    with pytest.raises(BadOption, match="RecordedEnv first"):
        RecordedEnv(ta.wrappers.ClipWordsActionWrapper(ta.make("TicTacToe-v0"), max_num_words=3))
    with pytest.raises(BadOption, match="have their own records"):
        RecordedEnv(GymposiumEnv("tic_tac_toe"))


def test_messages_repeat_until_the_player_acts() -> None:
    env = RecordedEnv(ta.make("TicTacToe-v0-raw"))
    env.reset(num_players=2, seed=1)
    first = env.get_observation()
    assert first[1]
    assert env.get_observation() == first
    env.step("[1]")
    assert env.get_observation()[0] == 1 - first[0]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        '{"format": "textarena-episode-1"}',
        '{"format": "textarena-episode-2", "env": "A"}',
        '{"a": 1, "a": 2}',
    ],
)
def test_invalid_lines_are_named(line: str, episode: Episode, tmp_path: Path) -> None:
    (tmp_path / "episodes.jsonl").write_text(f"{episode.line()}\n{line}\n", encoding="utf-8")
    with pytest.raises(BadRecord, match=r"episodes\.jsonl, line 2: it is no "):
        list(read_episodes(tmp_path / "episodes.jsonl"))


def test_unreadable_files_are_named(episode: Episode, tmp_path: Path) -> None:
    """A pipe is not waited for, gigabytes are not read, and bytes that are not UTF-8 are no traceback."""
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(episode.line().encode() + b"\n\xff\n")
    with pytest.raises(BadRecord, match=r"episodes\.jsonl, line 2: it is not UTF-8 text"):
        list(read_episodes(path))
    for make in (os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero"), make_sparse):
        path.rmdir() if path.is_dir() else path.unlink()
        make(path)
        with pytest.raises(BadRecord, match=r"episodes\.jsonl cannot be read"):
            list(read_episodes(path))
    with pytest.raises(BadRecord, match=r"none\.jsonl cannot be read \(No such file"):
        list(read_episodes(tmp_path / "none.jsonl"))


def make_sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(6 * 2**30)


def test_fields_of_other_types_are_refused(episode: Episode) -> None:
    wrong = (
        *(("seed", "1"), ("seed", True), ("actions", [["0", "x"]]), ("actions", [[True, "x"]])),
        *(("rewards", None), ("rewards", {"0": "1"})),
    )
    for field, value in wrong:
        with pytest.raises(BadRecord, match="it is not an object in format"):
            Episode.parse(json.dumps({**json.loads(episode.line()), field: value}))


def test_infos_are_converted_to_json_or_refused() -> None:
    assert to_json({1: (ta.ObservationType.PROMPT, [None, 2.5, True])}) == {"1": ["PROMPT", [None, 2.5, True]]}
    with pytest.raises(GymposiumError, match="JSON has no set"):
        to_json({"a": {1, 2}})
