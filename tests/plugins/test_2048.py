"""2048 as a plugin: its texts match the engine, and the installed package needs no configuration."""

import itertools
import json
import os
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pyspiel
import pytest
from hypothesis import given, settings, strategies as st
from tests.commands import run_command

from gymposium import load_game, make_player
from gymposium.games.protocol import CHANCE
from gymposium.match import MatchJob, play
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader
from gymposium_testing import assert_no_leaks
from gymposium_testing.golden import make_transcript

GOLDEN = Path(__file__).parent / "golden" / "2048-max_tile=16.txt"
DIRECTIONS = {"up": 0, "right": 1, "down": 2, "left": 3}  # the engine's numbers
STEPS = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}


def parse_board(prompt: str) -> list[list[int]]:
    """Return the board that a prompt shows: four lines of four tiles."""
    rows = re.findall(r"^ *(\d+|\.)" + r" +(\d+|\.)" * 3 + "$", prompt, re.MULTILINE)
    assert len(rows) == 4
    return [[0 if tile == "." else int(tile) for tile in row] for row in rows]


def slide(board: list[list[int]], move: str) -> tuple[list[list[int]], int]:
    """Return the board after a slide and its score, by the rules in the prompt."""
    down, right = STEPS[move]
    lines = [[(i, j) for j in range(4)] for i in range(4)] if right else [[(i, j) for i in range(4)] for j in range(4)]
    result, scored = [[0] * 4 for _ in range(4)], 0
    for line in lines:
        toward = line[::-1] if down + right > 0 else line  # from the side that tiles slide to
        tiles = [board[i][j] for i, j in toward if board[i][j]]
        merged: list[int] = []
        while tiles:
            tile = tiles.pop(0)
            if tiles and tiles[0] == tile:
                tile += tiles.pop(0)
                scored += tile
            merged.append(tile)
        for (i, j), tile in itertools.zip_longest(toward, merged, fillvalue=0):
            result[i][j] = tile
    return result, scored


@settings(max_examples=25)
@given(seed=st.integers(0, 2**48), power=st.integers(3, 11))
def test_prompt_matches_the_engine(seed: int, power: int) -> None:
    game = load_game("2048", max_tile=2**power)
    match, rng = game.new(seed), random.Random(seed)
    how = get_prompt(game, "full", get_reader("move")), get_prompt(game, "compact", get_reader("move"))
    total = 0
    while match.to_move():
        full, compact = (write(match.observe(0, write.style)) for write in how)
        board = parse_board(full)
        assert parse_board(compact) == board
        assert f"score: {total}." in full
        assert f"score {total}\n" in compact
        # legal is what changes the board by the told rules, and nothing else
        legal = [move for move in DIRECTIONS if slide(board, move)[0] != board]
        assert match.legal_moves(0) == legal
        assert f"Legal moves: {', '.join(legal)}\n" in full
        assert f"legal {' '.join(legal)}\n" in compact
        move = rng.choice(legal)
        after, scored = slide(board, move)
        told = len(match.events)
        match.apply({0: move})
        total += scored
        assert match.returns() == (total,)
        # one new tile, a 2 or a 4, where the slide left the square empty; none once the game has ended
        seen = parse_board(match.observe(0).text)
        new = [(i, j) for i in range(4) for j in range(4) if seen[i][j] != after[i][j]]
        born = [event for event in match.events[told:] if event.seat == CHANCE]
        assert len(new) == len(born) <= 1
        for i, j in new:
            assert after[i][j] == 0
            assert born[0].move == f"{seen[i][j]} added to row {i + 1}, column {j + 1}"
            assert seen[i][j] in (2, 4)
    end = parse_board(match.observe(0).text)
    moved = sum(event.seat == 0 for event in match.events)
    stuck = all(slide(end, move)[0] == end for move in DIRECTIONS)
    assert max(map(max, end)) == 2**power or stuck or moved == game.max_decisions
    assert 0 <= total <= game.utility_range[1]


@pytest.mark.parametrize("max_tile", [8, 16, 2048])
def test_matches_replay_on_the_engine(max_tile: int) -> None:
    """The same moves and the same chance on the bare engine make the same match."""
    game = load_game("2048", max_tile=max_tile)
    for played in play([MatchJob(f"m{seed}", game, [make_player("random")], seed) for seed in range(5)]):
        state = pyspiel.load_game("2048", {"max_tile": max_tile}).new_initial_state()
        for seat, move in played.events:
            action = _action(state, seat, move)
            assert seat == CHANCE or state.action_to_string(0, action).lower() == move
            state.apply_action(action)
        assert state.is_terminal()
        assert played.returns == tuple(state.returns())


def test_moves_missing_from_the_engine_are_legal() -> None:
    """The engine's list omits a move that only merges into a tile made by the move before."""
    game = load_game("2048", max_tile=64)
    forgotten = 0
    for seed in range(20):
        match, rng = game.new(seed), random.Random(seed)
        state = pyspiel.load_game("2048", {"max_tile": 64}).new_initial_state()
        told = 0
        while match.to_move():
            for event in match.events[told:]:
                state.apply_action(_action(state, *event))
            told = len(match.events)
            ours, engines = match.legal_actions(0), state.legal_actions()
            assert set(engines) <= set(ours)
            forgotten += len(ours) - len(engines)
            match.apply({0: rng.choice(match.legal_moves(0) or [])})
    assert forgotten > 0  # where the engine is mended, `State` in the plugin can go


@pytest.mark.parametrize("max_tile", [8, 16])
def test_matches_end_at_the_stated_move_limit(max_tile: int) -> None:
    """The player avoids the greatest tile whenever another move is legal."""
    game = load_game("2048", max_tile=max_tile)
    longest = 0
    for seed in range(400):
        match = game.new(seed)
        while seats := match.to_move():
            board = parse_board(match.observe(0).text)
            moves = match.legal_moves(0) or []
            match.apply(
                {seats[0]: min(moves, key=lambda move: (max(map(max, slide(board, move)[0])), slide(board, move)[1]))}
            )
        longest = max(longest, sum(event.seat == 0 for event in match.events))
        if longest == game.max_decisions:
            break
    assert f"after {game.max_decisions} moves" in game.rules(0)
    assert longest == game.max_decisions


def _action(state: pyspiel.State, seat: int, move: str) -> int:
    if seat != CHANCE:
        return DIRECTIONS[move]
    [action] = [a for a, _ in state.chance_outcomes() if state.action_to_string(CHANCE, a) == move]
    return action


def test_rules_state_the_correct_chances() -> None:
    state = pyspiel.load_game("2048").new_initial_state()
    chances: dict[str, float] = {}
    for action, probability in state.chance_outcomes():
        tile = state.action_to_string(CHANCE, action).split()[0]
        chances[tile] = chances.get(tile, 0.0) + probability
    assert chances == pytest.approx({"2": 0.9, "4": 0.1})


def test_returns_and_lengths_stay_within_bounds() -> None:
    """The engine's own bound is too low, which the game corrects."""
    game = load_game("2048", max_tile=8)
    jobs = [MatchJob(f"m{seed}", game, [make_player("random")], seed) for seed in range(300)]
    matches = list(play(jobs))
    best = max(played.returns[0] for played in matches)
    assert pyspiel.load_game("2048", {"max_tile": 8}).max_utility() < best <= game.utility_range[1]
    assert max(len(played.turns) for played in matches) <= game.max_decisions


def test_view_includes_the_score() -> None:
    """Two equal boards have different scores: a spawned 4 scores nothing, a merged one scores."""
    game = load_game("2048")
    views: dict[str, set[str]] = {}
    for seed in range(60):
        match, rng = game.new(seed), random.Random(seed)
        for _ in range(4):
            views.setdefault(match.view(0), set()).add(match.observe(0).text)
            match.apply({0: rng.choice(match.legal_moves(0) or [])})
    assert all(len(texts) == 1 for texts in views.values())
    assert len({text for texts in views.values() for text in texts}) == len(views)


@pytest.mark.slow
def test_observations_leak_nothing() -> None:
    assert_no_leaks(load_game("2048", max_tile=16))


@pytest.mark.parametrize("wrong", ["7", "4", "2049", "0", "-8", "262144", "big"])
def test_max_tile_must_be_a_power_of_two(wrong: str) -> None:
    with pytest.raises(ValueError, match="max_tile"):
        load_game(f"2048(max_tile={wrong})")


def test_transcript_matches_golden_file() -> None:
    """To write it again, run `GOLDEN.write_text(transcript(load_game("2048", max_tile=16)))`."""
    assert make_transcript(load_game("2048", max_tile=16)) == GOLDEN.read_text(encoding="utf-8")


def test_gymnasium_can_make_it() -> None:
    import gymnasium

    env = gymnasium.make("gymposium:Text2048-v0", max_tile=16)
    observation, info = env.reset(seed=3)
    total, over = 0.0, False
    while not over:
        assert [str(move) for move in info["legal_moves"]]
        assert "2048" in observation
        observation, reward, over, truncated, info = env.step(info["legal_moves"][0])
        assert not truncated
        total += float(reward)
    assert info["result"] == "score"
    assert total > 0


SHOWN = """
import json, sys, gymnasium, pettingzoo, gymposium
from gymposium.plugins.host import host
print(json.dumps({
    "game": "2048" in host().games,
    "gymnasium": "Text2048-v0" in gymnasium.registry,
    "pettingzoo": "Text2048-v0" in pettingzoo.aec_registry,
    "imported": "gymposium_2048.game" in sys.modules or "pyspiel" in sys.modules,
}))
"""


def find_2048_in_new_process(folder: Path, **environment: str) -> tuple[dict[str, bool], str, int]:
    """Return where 2048 appears in a new process: in the library, in `list`, and whether `run` plays it."""
    env = {**os.environ, "COLUMNS": "200", **environment}
    library = subprocess.run(
        [sys.executable, "-c", SHOWN], capture_output=True, text=True, cwd=folder, env=env, check=False
    )
    listed = run_command("list", folder=folder, env=env)
    run = run_command("run", "2048(max_tile=16)", "--players", "random", "-n", "3", folder=folder, env=env)
    return json.loads(library.stdout), listed.stdout, run.returncode


@pytest.mark.slow
def test_plugin_appears_when_installed_and_disappears_when_removed(tmp_path: Path) -> None:
    """Only its metadata and modules are on the path, in a separate folder."""
    source = Path(__file__).parents[2] / "plugins" / "gymposium-2048"
    (tmp_path / "gymposium_2048").symlink_to(source / "src" / "gymposium_2048")
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [(name, value)] = project["entry-points"]["gymposium"].items()
    info = tmp_path / f"gymposium_2048-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text(f"[gymposium]\n{name} = {value}\n")
    there, listed, code = find_2048_in_new_process(
        tmp_path, PYTHONPATH=str(tmp_path), GYMPOSIUM_PLUGINS="gymposium-2048"
    )
    assert there == {"game": True, "gymnasium": True, "pettingzoo": True, "imported": False}
    assert "Text2048-v0" in listed
    assert code == 0
    gone, listed, code = find_2048_in_new_process(
        tmp_path, PYTHONPATH=str(tmp_path), GYMPOSIUM_DISABLE_PLUGINS="gymposium-2048"
    )
    assert gone == {"game": False, "gymnasium": False, "pettingzoo": False, "imported": False}
    assert "2048" not in listed
    assert code == 2
