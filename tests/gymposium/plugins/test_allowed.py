"""Names that files may use without permission: no imports, paths, addresses or oversized engines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.arena.playing import play_board

from gymposium import load_game
from gymposium.errors import GymposiumError, PermissionRequired
from gymposium.games.registry import check_named_game, load_named_game
from gymposium.match import MatchJob, play
from gymposium.players.grammar import check_named_player, make_player
from gymposium.plugins.allowed import VARIABLE, VARIABLES, allow_names, allow_variables, is_allowed
from gymposium.records import Record, RecordWriter, verify_file
from gymposium.util.isolated import CallFailed, call_isolated
from gymposium_arena.board import Board
from gymposium_arena.entries import make_entered_player, make_own_entry
from gymposium_arena.suite import parse_suite
from gymposium_viewer.replays.story import build_story

CRASHES = "openspiel:universal_poker(numPlayers=9999)"
READS = "openspiel:efg_game(filename=/etc/hostname)"
IMPORTS = "gym:untrusted_module:Text-v0"


@pytest.fixture(autouse=True)
def _nothing_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setenv(VARIABLES, "")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """A module on the path, and a function that tells if it was imported."""
    (tmp_path / "untrusted_module.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "untrusted_module", raising=False)
    return lambda: "untrusted_module" in sys.modules


def _line(game: str, **fields: object) -> str:
    """A record of tic-tac-toe with the name of another game."""
    [played] = play([MatchJob("m-1", load_game("tic_tac_toe"), [make_player("random")] * 2, 3)])
    return json.dumps({**json.loads(Record.from_match(played).line()), "game": game, **fields})


@pytest.mark.parametrize(
    "game",
    [
        "tic_tac_toe",
        "no_such_game",
        "openspiel:no_such_game",
        "trace(difficulty=1)",
        "trace(source=generated)",
        "openspiel:nim(pile_sizes=1;3;5)",
        "openspiel:chess(chess960=True)",
        "openspiel:go(board_size=5,komi=7.5)",
        "openspiel:repeated_game(stage_game=matrix_pd(),num_repetitions=3)",
        "gym:CartPole-v1",
        "gym:Corridor-v0(max_decisions=9,min_return=-1)",
    ],
)
def test_files_may_name_safe_games(game: str) -> None:
    check_named_game(game)


@pytest.mark.parametrize(
    ("game", "why"),
    [
        (CRASHES, "numPlayers=9999 is not a whole number up to 10"),
        ("openspiel:go(board_size=1000000000000)", "board_size"),
        ("openspiel:go(board_size=-30)", "board_size"),
        (READS, "filename is text"),
        ("openspiel:bargaining(instances_file=x)", "instances_file"),
        ("openspiel:colored_trails(boards_file=x)", "boards_file"),
        ("openspiel:misere(game=efg_game(filename=x))", "filename"),
        ("openspiel:misere(game=misere(game=misere(game=nim())))", "games within games"),
        ("openspiel:misere(game=a b)", "cannot be read"),
        (IMPORTS, "imports a module"),
        ("gym:my/x:Text-v0", "imports a module"),
        ("gym:TextTicTacToe-v0(opponent=human)", "passes opponent"),
        ("trace(source=/etc/passwd)", "source opens a file"),
        (f"recorded:{IMPORTS}", "imports a module"),
        (f"recorded:recorded:{IMPORTS}", "imports a module"),
        (f" recorded: recorded:recorded:{READS}", "filename is text"),
        ("recorded:recorded:trace(source=/etc/passwd)", "source opens a file"),
    ],
)
def test_unsafe_games_need_permission(game: str, why: str) -> None:
    with pytest.raises(PermissionRequired, match=f"{why}.*--allow"):
        check_named_game(game)
    allow_names("something else", game)
    check_named_game(game)


@pytest.mark.parametrize("player", ["random", "mcts-100", "expectimax-2", "api:gpt-5", "api:gpt-5?context=full"])
def test_files_may_name_safe_players(player: str) -> None:
    check_named_player(player)


@pytest.mark.parametrize(
    "player",
    [
        "sb3:policy.zip",
        "lm:/models/one",
        "lm:Qwen/Qwen3-0.6B?engine=http://127.0.0.1:8000",
        "human",
        "api:gpt-5?base_url=http://elsewhere/v1",
        "api:gpt-5?context=full&key=SECRET",
        "api:gpt-5?context=full&%6Bey=SECRET",
    ],
)
def test_unsafe_players_need_permission(player: str) -> None:
    with pytest.raises(PermissionRequired):
        check_named_player(player)
    allow_names(player[:3] + "*")
    if "SECRET" in player:
        with pytest.raises(PermissionRequired, match=r"'SECRET'.*--allow-env SECRET"):
            check_named_player(player)
        allow_variables("SECRET")
    check_named_player(player)


@pytest.mark.parametrize("bar", ["|", "%7C"])
def test_each_of_several_variables_needs_permission(bar: str) -> None:
    allow_names("api*")
    allow_variables("MINE")
    with pytest.raises(PermissionRequired, match=r"'SECRET'.*--allow-env SECRET"):
        check_named_player(f"api:gpt-5?key=MINE{bar}SECRET")
    allow_variables("SECRET")
    check_named_player(f"api:gpt-5?key=MINE{bar}SECRET")


def test_allowing_a_full_name_allows_its_variables() -> None:
    allow_names("api:gpt-5?key=SECRET")
    check_named_player("api:gpt-5?key=SECRET")
    with pytest.raises(PermissionRequired):
        check_named_player("api:gpt-5?key=OTHER")


def test_allowed_names_match_in_full_or_by_prefix() -> None:
    allow_names("gym:one:*", "sb3:a.zip")
    assert is_allowed("gym:one:Text-v0(size=3)")
    assert is_allowed("sb3:a.zip")
    assert not is_allowed("sb3:a.zip2")
    assert not is_allowed("gym:on")


def test_bad_line_does_not_affect_other_lines(tmp_path: Path, module: Callable[[], bool]) -> None:
    good = _line("tic_tac_toe")
    file = tmp_path / "records.jsonl"
    file.write_text("\n".join([_line(CRASHES), good, _line(READS), _line(IMPORTS), good]) + "\n")
    found = verify_file(file)
    assert (found.matches, found.not_played) == (2, 3)
    assert [problem.where.split(" ")[0] for problem in found.problems] == [f"{file}:{line}" for line in (1, 3, 4)]
    assert not module()
    shown = "".join(str(build_story(Record.parse(line))) for line in file.read_text().splitlines())
    assert Path("/etc/hostname").read_text().strip() not in shown
    assert not module()


def test_engine_crash_does_not_end_our_process(tmp_path: Path) -> None:
    """Also if the user has allowed it."""
    allow_names("openspiel:*")
    file = tmp_path / "records.jsonl"
    file.write_text("\n".join([_line(CRASHES), _line("openspiel:nim"), _line("tic_tac_toe")]) + "\n")
    found = verify_file(file)
    assert (found.matches, found.not_played) == (2, 1)
    assert "The game's engine ended its process (SIG" in found.problems[0].what
    story = build_story(Record.parse(_line(CRASHES)))
    assert "ended its process" in story.trouble
    assert story.steps  # the replies as they stand there
    with pytest.raises(CallFailed, match="ended its process"):
        load_named_game(CRASHES)


def test_record_of_an_engine_game_verifies(tmp_path: Path) -> None:
    game = load_game("openspiel:nim")
    file = tmp_path / "records.jsonl"
    with RecordWriter(file) as writer:
        [played] = play([MatchJob("m-1", game, [make_player("random")] * 2, 3)])
        record = writer.write(played)
    found = verify_file(file)
    assert (found.matches, found.problems) == (1, [])
    story = build_story(record)
    assert (story.trouble, story.difference) == ("", "")
    assert len(story.steps) == len(record.events) + 1


def test_isolated_calls_return_values_or_raise() -> None:
    assert call_isolated(json.loads, "[1]") == [1]
    with pytest.raises(CallFailed, match="JSONDecodeError: Expecting value"):
        call_isolated(json.loads, "no")
    with pytest.raises(CallFailed, match="exit code 3"):
        call_isolated(sys.exit, 3)
    assert call_isolated(json.loads, "[2]") == [2]


SUITE = """
name = "small"
groups = 1
players = [{player}]
[[games]]
name = "{game}"
"""


def test_suites_need_permission_for_unsafe_games() -> None:
    parse_suite(SUITE.format(player='"random"', game="openspiel:nim"))
    for game in (CRASHES, READS, IMPORTS):
        with pytest.raises(PermissionRequired):
            parse_suite(SUITE.format(player='"random"', game=game))
    with pytest.raises(PermissionRequired, match="it opens a file"):
        parse_suite(SUITE.format(player='"random", "sb3:a.zip"', game="tic_tac_toe"))


def test_entries_need_permission_for_unsafe_players(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A player that a foreign board names is refused before the first match."""
    board = Board.open_or_create(tmp_path / "board", parse_suite(SUITE.format(player='"random"', game="tic_tac_toe")))
    theirs = make_own_entry(board.suite, "random")
    told = theirs.model_copy(update={"player": "sb3:a.zip", "slug": "sb3-a-zip", "number": 1, "own": False}).seal()
    with pytest.raises(PermissionRequired):
        make_entered_player(told)
    monkeypatch.setattr(Board, "entries", lambda self: [theirs, told])
    with pytest.raises(PermissionRequired, match="--allow sb3:a"):
        play_board(board, 1)
    assert not list(board.path.glob("entries/*/matches/*"))
    allow_names("sb3:*")
    with pytest.raises(GymposiumError, match="There is no file"):
        make_entered_player(told)
