"""`gymposium leaderboard run`: tournaments survive failing players, and interruptions do not change files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from gymposium.match.ending import OVER, Ending
from gymposium.records import Record, find_first_difference, read_records
from gymposium.util.child_process import make_user_environment

ODD = str(Path(__file__).with_name("odd_players.py"))

GAME = "breakthrough(columns=2,rows=4)"  # all its positions are visited in a moment
SUITE = """
name = "tiny"
seed = 3
groups = {groups}
at_once = 4
watchdog = {watchdog}
players = {players}
[[games]]
name = "{game}"
[[games]]
name = "kuhn_poker"
"""


def write_suite(folder: Path, *players: str, groups: int = 2, watchdog: float = 60.0) -> str:
    file = folder / "suite.toml"
    file.write_text(SUITE.format(game=GAME, groups=groups, watchdog=watchdog, players=json.dumps(players)))
    return str(file)


def files(board: Path) -> dict[str, bytes]:
    """The files of a board with their bytes."""
    return {str(file.relative_to(board)): file.read_bytes() for file in sorted(board.rglob("*")) if file.is_file()}


def matches(board: Path) -> dict[str, Record]:
    """The finished matches by id, each of which must replay as recorded."""
    found = {}
    for file in board.glob("entries/*/matches/*/*.jsonl"):
        for _, record in read_records(file):
            assert isinstance(record, Record), record
            if not record.ending.broke_off:
                assert find_first_difference(record) is None
                found[record.id] = record
    return found


CRASHES = {
    "raises": {"ZeroDivisionError: odd"},
    "malformed": {"TypeError: player odd-malformed returned a dict instead of a Reply"},
    "dies": {"its process ended (exit code 3)"},
}


@pytest.mark.slow
# the one that hangs meets no other, since each of its failures takes the whole time limit
@pytest.mark.parametrize("odd", [["raises", "illegal", "malformed", "dies"], ["hangs"]])
def test_failing_players_forfeit_only_their_matches(odd: list[str], gymposium: Any, tmp_path: Path) -> None:
    """The odd players fail in deals 0 and 3."""
    suite = write_suite(tmp_path, "random", *(f"odd-{what}" for what in odd), groups=2, watchdog=3.0)
    suite_text = Path(suite).read_text().replace('[[games]]\nname = "kuhn_poker"\n', "")
    Path(suite).write_text(suite_text)
    run = gymposium("--plugin", ODD, "leaderboard", "run", suite, "--out", "board")
    assert run.returncode == 0, run.stderr
    found = matches(tmp_path / "board")
    assert len(found) == len(odd) * (len(odd) + 1) // 2 * 4
    spoilt: dict[str, list[Record]] = defaultdict(list)
    for name, record in found.items():
        group = int(name.rpartition("/")[2].partition("-")[0])
        if group == 1:
            assert record.ending == OVER
            continue
        assert record.ending.seat is not None
        spoilt[record.players[record.ending.seat].removeprefix("odd-")].append(record)
        assert record.returns[record.ending.seat] == -1.0
    assert set(spoilt) == set(odd)
    for what in CRASHES.keys() & spoilt:
        assert {record.ending.detail for record in spoilt[what]} == CRASHES[what]
    if "hangs" in odd:
        assert {record.ending for record in spoilt["hangs"]} == {Ending("timed out", 0), Ending("timed out", 1)}
        assert f"odd-hangs: in {GAME} it did not answer in time, " in run.stdout
    else:
        assert {record.turns[-1]["reading"] for record in spoilt["illegal"]} <= {"illegal", "unparsable"}
    assert "forfeits that match" in run.stderr


@pytest.mark.slow
def test_workers_dying_at_startup_are_replaced_a_few_times(gymposium: Any, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "random", "odd-stillborn")
    run = gymposium("--plugin", ODD, "leaderboard", "run", suite, "--out", "board", "--jobs", "1")
    assert run.returncode == 1
    assert run.stdout.count("its process ended 3 times while no player was asked, at last with exit code 5") == 2
    assert matches(tmp_path / "board") == {}


@pytest.mark.slow
def test_matches_with_unreachable_players_are_played_later(gymposium: Any, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "random", "odd-unreachable")
    command = ("--plugin", ODD, "leaderboard", "run", suite, "--out", "board", "--jobs", "1")
    run = gymposium(*command)
    assert run.returncode == 1
    assert "could not be asked: no server" in run.stdout
    assert "not complete" in run.stderr
    first = matches(tmp_path / "board")
    assert all(record.ending.seat is None for record in first.values())
    assert 0 < len(first) < 8
    finished = sum(not record.ending.broke_off for record in first.values())
    assert f"{finished} of 8 matches finished, {finished} in this run" in run.stdout
    again = gymposium(*command, env={"ODD_SERVER": "there"})
    assert again.returncode == 0, again.stderr
    assert "8 of 8 matches" in again.stdout
    now = matches(tmp_path / "board")
    assert {name: now[name] for name in first} == first
    assert len(now) == 8


def test_killed_run_resumes_to_identical_files(gymposium: Any, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "random", "greedy", "mcts-5", groups=6)
    whole = gymposium("leaderboard", "run", suite, "--out", "whole", "--jobs", "1")
    assert whole.returncode == 0, whole.stderr
    assert "72 of 72 matches finished, 72 in this run" in whole.stdout
    expected = files(tmp_path / "whole")
    code = (
        "from pathlib import Path\n"
        "from gymposium_arena.board import Board\n"
        "from gymposium_arena.suite import read_suite\n"
        "from gymposium_arena.tournament import run_tournament\n"
        "from gymposium.runs.executors.local import LocalExecutor\n"
        "if __name__ == '__main__':\n"
        f"    board = Board.open_or_create(Path('killed'), read_suite(Path({suite!r})))\n"
        "    run_tournament(board, LocalExecutor(2), watch=lambda state: print(state.played, flush=True))\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    with subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < 8:
            pass
        process.kill()
        process.stdout.read()  # to its end: the workers write to the same pipe, and end a moment later
    left = sorted((tmp_path / "killed").glob("entries/*/matches/*/*.jsonl"))
    assert 0 < sum(len(file.read_bytes().splitlines()) for file in left) < 72
    torn = next(file for file in left if file.stat().st_size)
    torn.write_bytes(torn.read_bytes()[:-20])  # as if the process was killed while it wrote a line
    again = gymposium("leaderboard", "run", "--out", "killed", "--jobs", "2")
    assert again.returncode == 0, again.stderr
    assert "72 of 72 matches" in again.stdout
    assert ": its file was truncated and was recovered to its last complete line" in again.stdout
    assert files(tmp_path / "killed") == expected
    nothing = gymposium("leaderboard", "run", suite, "--out", "killed")
    assert "72 of 72 matches finished, 0 in this run" in nothing.stdout
    assert files(tmp_path / "killed") == expected
    assert len(matches(tmp_path / "killed")) == 72


@pytest.mark.slow
def test_interrupted_run_prints_the_resume_command(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "random", "odd-waits")
    call = tmp_path / "call"
    os.mkfifo(call)
    command = [sys.executable, "-m", "gymposium.cli.main", "--plugin", ODD, "leaderboard", "run", suite, "--out", "b"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**make_user_environment(), "ODD_CALL": str(call)},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs of a shell ignore it
    ) as process:
        assert call.read_text() in {"asked", "askedasked"}  # by one worker or by both
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal does
        _, said = process.communicate()
    assert process.returncode == 130
    assert f"gymposium --plugin {ODD} leaderboard run --out b\n" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_added_player_meets_everyone_under_its_own_seed(gymposium: Any, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "random", "greedy")
    assert gymposium("leaderboard", "run", suite, "--out", "board", "-j", "1").returncode == 0
    before = files(tmp_path / "board")
    added = ("--add", "exact", "--game", GAME, "--json")
    run = gymposium("leaderboard", "run", "--out", "board", "-j", "1", *added)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["board"] == "board"
    assert told["complete"]
    assert told["played"] < told["finished"] == told["planned"]
    after = files(tmp_path / "board")
    assert {name: after[name] for name in before} == before
    entry = json.loads(after["entries/exact/entry.json"])
    assert (entry["number"], entry["own"], entry["games"]) == (2, False, [GAME])
    added_files = sorted(Path(name).parts for name in after if name not in before)
    assert {parts[:3] for parts in added_files} == {("entries", "exact", "entry.json"), ("entries", "exact", "matches")}
    assert [parts[-1] for parts in added_files] == ["entry.json", "greedy--exact.jsonl", "random--exact.jsonl"]
    seeds = {record.seed for record in matches(tmp_path / "board").values() if "exact" in record.players}
    others = {record.seed for record in matches(tmp_path / "board").values() if "exact" not in record.players}
    assert seeds.isdisjoint(others)


@pytest.mark.slow
def test_refuses_to_reenter_a_player_with_other_settings(gymposium: Any, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "random", groups=1)
    command = ("leaderboard", "run", "--out", "board", "-j", "1", "--add", "greedy")
    first = (*command, "--seed", "1", "--game", GAME, "--label", "Greedy")
    assert gymposium(*first, suite).returncode == 0
    assert gymposium(*command).returncode == 0, "the same command goes on"
    before = files(tmp_path / "board")
    for other in (("--label", "X"), ("--by", "Eve"), ("--seed", "2"), ("--game", "kuhn_poker")):
        refused = gymposium(*command, *other)
        assert refused.returncode == 2
        assert f"{other[0]}: greedy is already on the board" in refused.stderr
        assert files(tmp_path / "board") == before


def test_board_without_planned_matches_is_an_error(gymposium: Any, tmp_path: Path) -> None:
    run = gymposium("leaderboard", "run", write_suite(tmp_path, "random"), "--out", "board", "-j", "1")
    assert run.returncode == 1
    assert "no match is planned" in run.stderr
    for done in (run, gymposium("leaderboard", "rate", "board")):
        assert "it has 2 seats, but no player has 1 opponent in it. Add players with --add PLAYER." in done.stderr


@pytest.mark.slow
def test_adding_fails_if_an_earlier_player_needs_permission(gymposium: Any, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, "random", groups=1)
    command = ("--plugin", ODD, "leaderboard", "run", "--out", "board", "-j", "1")
    assert gymposium(*command, suite, "--add", "odd-opens", "--game", GAME).returncode == 0
    before = files(tmp_path / "board")
    refused = gymposium(*command, "--add", "greedy")
    assert refused.returncode == 2
    assert "odd-opens" in refused.stderr
    assert files(tmp_path / "board") == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--out", "nothing"), "nothing is not a board: it has no suite.toml"),
        ((), "Give a suite"),
        (("suite.toml", "--out", "b", "--add", "mcst-5"), "Did you mean"),
        (("suite.toml", "--out", "b", "--game", GAME), "--game has no effect without --add"),
        (
            ("suite.toml", "--out", "b", "--add", "exact", "--game", "chess"),
            f"has no game chess. Its games: {GAME}",
        ),
    ],
)
def test_invalid_arguments_are_errors(arguments: tuple[str, ...], said: str, gymposium: Any, tmp_path: Path) -> None:
    write_suite(tmp_path, "random", "greedy")
    run = gymposium("leaderboard", "run", *arguments)
    assert run.returncode == 2
    assert said in run.stderr


@pytest.mark.slow
def test_games_without_enough_players_are_named(gymposium: Any, tmp_path: Path) -> None:
    suite = Path(write_suite(tmp_path, "random", "greedy", groups=1))
    suite.write_text(suite.read_text().replace("kuhn_poker", "universal_poker(players=3)"))
    command = ("leaderboard", "run", "suite.toml", "--out", "board", "-j", "1")
    run = gymposium(*command)
    assert run.returncode == 0, run.stderr
    assert "warning: left out universal_poker(players=3): it has 3 seats, but no player has 2 opponents" in run.stderr
    assert json.loads(gymposium(*command, "--json").stdout)["left_out"] == ["universal_poker(players=3)"]
    assert "warning: left out universal_poker(players=3)" in gymposium("leaderboard", "rate", "board").stderr
