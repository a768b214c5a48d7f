"""Code tracing as a game: prompts, scores, records, sources, commands."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from tests.commands import run_command

from gymposium import load_game
from gymposium.errors import BadParameter, BadRecord, IllegalMove, MissingExtra, NoSampler, WrongSeat
from gymposium.games.protocol import CHANCE, Event, Game
from gymposium.match import MatchJob, MatchResult, play
from gymposium.players.protocol import Reply
from gymposium.plugins.names import parse_name
from gymposium.records import Record, RecordWriter, find_first_difference, verify_file
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import READERS
from gymposium.util.streams import Draw, stream
from gymposium_testing import Effort, GameConformance
from gymposium_testing.golden import make_transcript
from gymposium_trace.game import Trace, is_equal_ignoring_space, is_exact
from gymposium_trace.programs import GRADES, generate_program
from gymposium_trace.running.probe import NoIsolation, choose_untrusted_backend
from gymposium_trace.sources import DatasetPrograms, ProgramSkipped, read_rows
from gymposium_trace.tasks import Task

GOLDEN = Path(__file__).parent / "golden"


def trace(**params: Any) -> Trace:
    game = load_game("trace", **params)
    assert isinstance(game, Trace)
    return game


class FixedReplyPlayer:
    """A player that always gives the same reply."""

    name, style = "writes", "full"

    def __init__(self, reply: str, reader: str = "move") -> None:
        self.reply, self.reader = reply, READERS[reader]

    def act(self, asks: Any) -> list[Reply]:
        return [Reply(self.reply) for _ in asks]


def played(game: Game, seed: int, reply: str, reader: str = "move") -> MatchResult:
    [one] = play([MatchJob("m", game, [FixedReplyPlayer(reply, reader)], seed)])  # type: ignore[list-item]
    return one


class TestTrace(GameConformance):
    """The conformance kit with few matches, because each match runs a program."""

    game = "trace"
    effort = Effort("small", decisions=4, events=10, draws=1, matches=3)

    def facts(self, game: Game, seat: int) -> Iterator[str]:
        yield "Every space, every line break and upper and lower case count"
        yield "only the line break at the very end may be left out"
        yield "An empty answer scores 0."
        yield "longer than 200 characters"


# -- the programs


@pytest.mark.slow
def test_matches_are_deterministic_by_seed() -> None:
    game = trace(difficulty=3)
    again = Trace(game.spec, game.params)  # nothing kept from before
    assert [game.new(seed).events for seed in range(5)] == [again.new(seed).events for seed in range(5)]
    programs = {generate_program(grade, stream_draw(seed)) for seed in range(300) for grade in GRADES}
    assert len(programs) == 300 * len(GRADES)


def stream_draw(seed: int) -> Any:

    return Draw(stream(seed, "program", 0))


@pytest.mark.slow
def test_seeds_give_different_outputs() -> None:
    assert len({trace(difficulty=1).new(seed).task.truth for seed in range(40)}) == 40


def test_each_grade_adds_its_construct() -> None:
    """Each grade has a construct that lower grades lack, and none of higher grades."""
    signs = {2: "while ", 3: "for key, value in", 4: "except ", 5: "yield "}
    for grade in GRADES:
        texts = "\n".join(generate_program(grade, stream_draw(seed)) for seed in range(150))
        for level, sign in signs.items():
            assert (sign in texts) == (level <= grade), (grade, sign)


def test_number_of_debug_prints_is_as_requested() -> None:
    assert "dbg" not in trace(prints=0).new(1).task.program
    task = trace(prints=6).new(1).task
    assert [f'"__DBG_{n}__"' in task.program for n in range(7)] == [True] * 6 + [False]
    assert "__DBG_" in task.truth


# -- what is seen


@pytest.mark.parametrize("style", ["full", "compact"])
def test_prompt_shows_the_program_without_output(style: Any) -> None:
    game = trace()
    match = game.new(4)
    lines = [line for line in match.task.truth.splitlines() if line not in match.task.program]
    assert lines
    prompt = get_prompt(game, style, READERS["tags"])(match.observe(0, style))
    assert match.task.program in prompt
    for shown in (prompt, match.view(0), str(match.legal_moves(0)), str(match.report(0))):
        assert not [line for line in lines if line in shown]
    match.apply({0: "no idea"})
    after = match.observe(0, style).text
    assert match.task.truth in after
    assert "no idea" in after
    assert "It is wrong." in after


def test_standard_input_is_shown() -> None:
    match = trace().load([Event(CHANCE, Task("print(input())\n", "abc", "abc\n").dump())])
    assert "Its standard input:\n" + "-" * 40 + "\nabc\n" in match.observe(0).text
    assert match.observe(0, "compact").text.endswith("stdin:\nabc\n")


def test_errors_do_not_reveal_the_output() -> None:
    match = trace().new(1)
    with pytest.raises(WrongSeat) as wrong:
        match.apply({1: "x"})
    with pytest.raises(IllegalMove) as illegal:
        match.apply({0: 5})  # type: ignore[dict-item]
    with pytest.raises(NoSampler) as none:
        match.resample(0, stream(0, "x"))
    for caught in (wrong, illegal, none):
        assert not [line for line in match.task.truth.splitlines() if len(line) > 3 and line in str(caught.value)]


def test_rendering_shows_the_output_only_after_the_end() -> None:
    env = gymnasium.make("gymposium:TextTrace-v0", render_mode="ansi", reply="tags")
    observation, info = env.reset(seed=2)
    truth = trace().new(2).task.truth
    secret = next(line for line in truth.splitlines() if line not in observation)
    assert secret not in str(env.render()) + str(info)
    _, reward, over, _, info = env.step(f"<think>so</think><move>{truth}</move>")
    assert (float(reward), over, info["reading"]) == (1.0, True, "move")
    assert secret in str(env.render())


# -- scores

TRUTH = "a  b\n <C>\n\nd\n"
ANSWERS = [
    (TRUTH, 1, 1),
    (TRUTH.removesuffix("\n"), 1, 1),
    (TRUTH + "\n", 0, 1),
    (" " + TRUTH, 0, 1),
    ("\n" + TRUTH, 0, 1),
    ("a b\n <C>\n\nd\n", 0, 1),
    ("a  b\n <C>\nd\n", 0, 1),
    ("ab<C>d", 0, 1),
    ("a  b\r\n <C>\r\n\r\nd", 0, 1),
    ("a  b\n <c>\n\nd\n", 0, 0),
    (f"```\n{TRUTH}```", 0, 0),
    ("a  b\n <C>\n\n", 0, 0),
    ("", 0, 0),
    (" \n\t ", 0, 0),
]


@pytest.mark.parametrize(("answer", "right", "nearly"), ANSWERS)
def test_scoring_respects_white_space_and_case(answer: str, right: int, nearly: int) -> None:
    match = trace().load([Event(CHANCE, Task("print()\n", "", TRUTH).dump())])
    assert match.report(0) == {"exact": 0, "ignoring_white_space": 0}
    match.apply({0: answer})
    assert match.to_move() == ()
    assert match.returns() == (right,)
    assert match.report(0) == {"exact": right, "ignoring_white_space": nearly}


@pytest.mark.parametrize("silence", ["", " ", "\n", "\t\r\n", "\u2003\u00a0"])
def test_empty_replies_never_score(silence: str) -> None:
    """It does not score even against an empty truth, which no record can hold."""
    assert not is_exact(silence, silence)
    assert not is_equal_ignoring_space(silence, silence)
    with pytest.raises(BadRecord, match="must print something"):
        trace().load([Event(CHANCE, Task("pass", "", silence).dump())])
    one = played(trace(), 1, silence)
    assert (one.returns, one.ending.seat, one.turns[0].reading) == ((0.0,), 0, "unparsable")


@pytest.mark.parametrize("how", ["move", "tags", "json"])
def test_canonical_reply_scores_with_every_reader(how: str) -> None:
    game = trace(difficulty=5)
    for seed in range(4):
        truth = game.new(seed).task.truth
        assert played(game, seed, READERS[how].answer(truth), how).returns == (1.0,)
        assert played(game, seed, READERS[how].answer(f"x{truth}"), how).returns == (0.0,)


# -- records


def test_records_replay_without_running_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = trace()
    with RecordWriter(tmp_path / "matches.jsonl") as writer:
        for seed in range(3):
            record = writer.write(played(game, seed, game.new(seed).task.truth if seed else "wrong"))
    assert record.returns == [1.0]
    assert record.reports == [{"exact": 1.0, "ignoring_white_space": 1.0}]
    found = verify_file(tmp_path / "matches.jsonl")
    assert (found.matches, found.problems) == (3, [])
    monkeypatch.setattr(subprocess, "Popen", None)
    assert game.load(record.events).returns() == (1.0,)
    assert game.load(record.events).events == record.events


def test_records_with_another_program_are_detected() -> None:
    game = trace()
    record = Record.from_match(played(game, 1, "print"))
    record.events[0] = Event(CHANCE, Task("print('print')\n", "", "print\n").dump())
    record.returns, record.reports = [1.0], [{"exact": 1.0, "ignoring_white_space": 1.0}]
    assert "but seed 1 gives" in str(find_first_difference(record))


BROKEN = [
    ([], "no event"),
    ([Event(0, "x")], "must be a chance event with the program"),
    ([Event(CHANCE, "[]")], "does not hold a program"),
    ([Event(CHANCE, "{" * 9999)], "does not hold a program"),
    ([Event(CHANCE, '{"program": "x"}')], "does not hold a program"),
    ([Event(CHANCE, '{"program": "x", "truth": 5}')], "must be text"),
    ([Event(CHANCE, '{"program": "x", "truth": "1"}'), Event(1, "y")], "Event 1"),
    ([Event(CHANCE, '{"program": "x", "truth": "1"}'), Event(0, "y"), Event(0, "z")], "Event 2"),
]


@pytest.mark.parametrize(("events", "reason"), BROKEN)
def test_malformed_events_are_refused(events: list[Event], reason: str) -> None:
    with pytest.raises(BadRecord, match=reason):
        trace().load(events)


def test_game_can_be_pickled() -> None:
    game = trace(difficulty=4, prints=2)
    assert pickle.loads(pickle.dumps(game)).name == game.name == "trace(difficulty=4,prints=2)"


@pytest.mark.parametrize("name", ["trace", "trace(difficulty=5)"])
def test_transcript_matches_golden_file(name: str) -> None:
    """`python -m gymposium_testing.golden` writes them for a plugin's games too, as does
    `path.write_text(transcript(load_game(name)))`."""
    path = GOLDEN / (name.replace("(", "-").replace(")", "") + ".txt")
    assert make_transcript(load_game(name)) == path.read_text(encoding="utf-8")


def test_readme_example_works(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "plugins" / "gymposium-trace" / "README.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out.splitlines()[-1].startswith("1.0 ")


# -- programs that are not ours

GOOD = [
    {"program": "n = int(input())\nm = n * 2\nprint(m)\n", "inputs": "21\n"},
    {"program": "for i in range(3):\n    x = i\nprint(x)\n"},
    {"program": "def f(a):\n    b = a + 1\n    return b\nprint(f(1))\n", "inputs": None},
]
BAD = [
    '{"program": "print(1"}',
    '{"program": "import time; print(time.perf_counter_ns())"}',
    '{"program": "pass"}',
    '{"text": "print(1)"}',
    '{"program": "print(1)", "inputs": ["1"]}',
    "not json",
    "[]",
    '{"program": "open(\'/etc/passwd\').read()\\nprint(1)"}',
    '{"program": "print(\'\\ud800\')"}',
]


def can_isolate() -> bool:
    """Return whether this machine can run programs from a file."""
    try:
        choose_untrusted_backend()
    except NoIsolation:
        return False
    return True


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    path = tmp_path / "programs.jsonl"
    path.write_text("\n".join([*map(json.dumps, GOOD), *BAD, ""]), encoding="utf-8")
    return path


def test_programs_are_read_from_a_file(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that do not count are skipped, reported and counted."""
    game = trace(source=str(programs), prints=2)
    assert load_game(game.name) is game
    if not can_isolate():
        with pytest.raises(NoIsolation, match="install bubblewrap"):
            game.new(0)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tasks = [game.new(seed).task for seed in range(12)]
    assert isinstance(game.source, DatasetPrograms)
    assert set(game.source.skipped) <= set(range(3, 12))
    assert game.source.skipped
    assert len([one for one in caught if one.category is ProgramSkipped]) == len(game.source.skipped)
    assert {task.inputs for task in tasks} <= {"21\n", ""}
    assert all(task.python.startswith("CPython 3.") for task in tasks)
    for task in tasks:
        unmarked = [line for line in task.truth.splitlines() if not line.startswith("__DBG_")]
        assert unmarked in (["42"], ["2"])
    record = Record.from_match(played(game, 0, tasks[0].truth))
    assert "needs your permission" in str(find_first_difference(record))  # a record may not name a path by itself
    monkeypatch.setenv("GYMPOSIUM_ALLOW", game.name)
    assert find_first_difference(record) is None
    programs.unlink()  # what was drawn is in the record
    assert game.load(record.events).returns() == (1.0,)


def test_every_invalid_program_is_reported_with_a_reason(programs: Path, tmp_path: Path) -> None:
    told = run_command("trace", "check", programs, "--json", folder=tmp_path, env={**os.environ, "COLUMNS": "300"})
    if not can_isolate():
        assert told.returncode == 2
        assert "install bubblewrap" in told.stderr
        return
    assert told.returncode == 0
    found = json.loads(told.stdout)
    assert (found["programs"], found["count"]) == (12, 3)
    reasons = [one["reason"] for one in found["skipped"]]
    expected = ["not Python", "different things", "prints nothing", 'no text called "program"', '"inputs" are not text']
    expected += ["not JSON", 'no text called "program"', "FileNotFoundError", "a lone surrogate"]
    for reason, part in zip(reasons, expected, strict=True):
        assert part in reason


def test_file_programs_do_not_run_without_isolation(programs: Path, tmp_path: Path) -> None:
    """Runs the command as on a machine without bubblewrap. Generated programs still run there."""
    trace_there = partial(run_command, "trace", folder=tmp_path, env={**os.environ, "PATH": "", "COLUMNS": "300"})
    checked = trace_there("check", programs)
    assert checked.returncode == 2
    assert "install bubblewrap" in checked.stderr
    name = f"trace(source={programs})"
    shown = trace_there("show", name)
    assert shown.returncode == 2
    assert "install bubblewrap" in shown.stderr
    assert "run on Linux" not in shown.stderr  # no walls come of that
    ours = trace_there("show", "--seed", "3")
    assert ours.returncode == 0
    assert trace().new(3).task.truth.rstrip() in ours.stdout


@pytest.mark.slow
@pytest.mark.skipif(not can_isolate(), reason="what is refused on such a machine is tested above")
def test_command_reports_skipped_programs_in_one_line(programs: Path, tmp_path: Path) -> None:
    name = f"trace(source={programs})"
    for seed in range(12):
        told = run_command("trace", "show", name, "--seed", seed, folder=tmp_path, env=os.environ)
        assert told.returncode == 0
        if told.stderr:
            break
    assert all(line.startswith(f"warning: {programs}: program ") for line in told.stderr.splitlines())
    assert "is skipped: " in told.stderr


@pytest.mark.skipif(not can_isolate(), reason="what is refused on such a machine is tested above")
def test_file_without_valid_programs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(BAD[2:7]), encoding="utf-8")
    with pytest.warns(ProgramSkipped), pytest.raises(BadParameter, match="gymposium trace check"):
        trace(source=str(path)).new(0)
    path.write_text("\n\n", encoding="utf-8")
    with pytest.raises(BadParameter, match="it has no programs"):
        Trace(trace().spec, {**trace().params, "source": str(path)}).new(0)


@pytest.mark.slow
def test_hub_datasets_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads a local data set in the same way as one of a hub."""
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, GOOD)), encoding="utf-8")
    (folder / "test.jsonl").write_text(json.dumps(GOOD[1]), encoding="utf-8")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries below it
        rows, test = read_rows(f"hub:{folder}"), read_rows(f"hub:{folder}:test")
        with pytest.raises(BadParameter, match="could not be loaded"):
            read_rows(f"hub:{folder}:nowhere")
    assert [row["program"] for row in rows] == [one["program"] for one in GOOD]
    assert len(test) == 1
    if can_isolate():
        assert "42" in DatasetPrograms("hub", lambda: rows, 2).task(0, stream_draw(0)).truth


def test_missing_datasets_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r'pip install "gymposium-trace\[hub\]"'):
        read_rows("hub:owner/name")


@pytest.mark.parametrize("source", ["a,b.jsonl", "a(.jsonl", " a", "a\nb", "a)b(", ""])
def test_unnameable_sources_are_refused(source: str) -> None:
    with pytest.raises(BadParameter, match=r"Rename the file|any str"):
        trace(source=source)


@pytest.mark.parametrize("source", ["/a b/c.jsonl", "x(1).jsonl", "hub:owner/name:train", "Ünï=code.jsonl"])
def test_names_include_the_source(source: str) -> None:
    game = trace(source=source)
    assert parse_name(game.name)[1] == {"source": source}
    assert load_game(game.name) is game


def test_unreadable_sources_are_refused() -> None:
    with pytest.raises(BadParameter, match="Write generated, the path of a JSONL file, or hub:NAME"):
        read_rows("/nowhere/at/all.jsonl")
    with pytest.raises(BadParameter, match="difficulty applies only to generated programs"):
        trace(source="x.jsonl", difficulty=4)
    for wrong in ({"difficulty": 0}, {"difficulty": 6}, {"prints": -1}, {"prints": 21}):
        with pytest.raises(BadParameter, match=next(iter(wrong))):
            trace(**wrong)


def test_environment_reports_both_scores() -> None:
    env = gymnasium.make("TextTrace-v0")
    env.reset(seed=3)
    *_, info = env.step("nothing like it")
    assert info["report"] == {"exact": 0.0, "ignoring_white_space": 0.0}
