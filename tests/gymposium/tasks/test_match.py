"""Task matches: observations, events, and failing tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.gymposium.tasks.guessing import Guessing, GuessingTasks, a_guess, guessing, misbehaving

from gymposium.errors import BadRecord, GymposiumError, IllegalMove, WorldFailure, WrongSeat
from gymposium.games.protocol import CHANCE, Event
from gymposium.replies.prompt import get_prompt
from gymposium.replies.reading import get_reader
from gymposium.tasks import running

TASK = Event(CHANCE, '{"task": {}, "opening": {"full": "a", "compact": "b"}}')


def test_task_runs_from_opening_to_answer() -> None:
    game = guessing()
    match = game.new(4)
    assert match.observe(0).text == "Guess a number from 0 to 9.\n"
    assert match.observe(0, "compact").text == "0-9\n"
    assert "number" not in match.view(0).replace("a number", "")
    match.apply({0: a_guess(2)})
    assert (match.observe(0).text, match.to_move(), match.returns()) == ("higher\n", (0,), (0.0,))
    assert match.observe(0).results == (("guess", "higher"),)
    match.apply({0: a_guess(4)})
    assert (match.to_move(), match.returns()) == ((), (1.0,))
    assert match.report(0) == {"exact": 1.0, "guesses": 2.0, "calls": 2.0, "invalid_calls": 0.0}
    assert [event.seat for event in match.events] == [CHANCE, 0, CHANCE, 0, CHANCE]
    assert json.loads(match.events[2].move)["results"] == [
        {"tool": "guess", "text": "higher", "error": False, "value": {"guess": 1}}
    ]
    with pytest.raises(WrongSeat):
        match.apply({0: a_guess(4)})
    assert [world.closed for world in game.tasks.opened] == [1]  # type: ignore[attr-defined]


def test_omitted_arguments_get_their_defaults() -> None:
    match = guessing().new(4)
    match.apply({0: '{"name": "misbehave", "arguments": {}}'})
    assert match.observe(0).text == "done\n"
    assert match.events[1].move == '{"name": "misbehave", "arguments": {}}'


def test_several_calls_in_one_move_run_in_order() -> None:
    match = guessing().new(4)
    match.apply({0: "\n".join(map(a_guess, (2, 8, 4, 1)))})
    assert [result.text for result in match.observe(0).results] == ["higher", "lower", "right", "The task is over."]


def test_task_ends_when_calls_run_out() -> None:
    match = guessing().new(4)
    match.apply({0: "\n".join([a_guess(0)] * 8)})
    assert [result.text for result in match.observe(0).results][5:] == [
        "higher",
        "No calls are left.",
        "No calls are left.",
    ]
    assert (match.to_move(), match.returns()) == ((), (0.0,))


@pytest.mark.parametrize(
    ("move", "text"),
    [
        ('{"name": "read", "arguments": {}}', "There is no tool 'read'. Tools: guess, misbehave."),
        (a_guess("4"), "Wrong arguments for guess: number: '4' is not of type 'integer'."),
        (
            a_guess(4).replace("number", "n"),
            "Wrong arguments for guess: Additional properties are not allowed ('n' was unexpected).",
        ),
        (misbehaving("x" * 1_000_000), "done"),
        (misbehaving("bytes"), "The tool returned something that is not text."),
        (misbehaving("surrogate"), "The tool returned something that is not text."),
    ],
)  # fmt: skip
def test_invalid_calls_and_results_are_explained(move: str, text: str) -> None:
    match = guessing().new(4)
    match.apply({0: move})
    assert match.observe(0).results[0].text == text
    assert match.report(0)["invalid_calls"] == float(text.startswith(("There", "Wrong")))


def test_ten_megabyte_result_is_truncated() -> None:
    match = guessing().new(4)
    match.apply({0: misbehaving("long")})
    text = match.observe(0).text
    assert text.endswith("\n[cut off: the whole result has 10,000,000 characters]\n")
    assert len(text) < 21_000


@pytest.mark.parametrize("move", ["", "guess 4", '{"name": "guess", "arguments": {"number": 1, "number": 4}}'])
def test_text_that_is_no_call_is_illegal(move: str) -> None:
    match = guessing().new(4)
    with pytest.raises(IllegalMove):
        match.apply({0: move})
    assert len(match.events) == 1


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("raise", "The tool misbehave failed: OSError: the server is gone"),
        ("hang", "The tool misbehave took more than 0.05 s"),
        ("no result", "A tool returned str; it must return a Result."),
        ("no json", "A report or a result's value is not valid JSON: Object of type object is not JSON serializable"),
    ],
)
def test_failing_tool_breaks_the_world_but_not_the_match(
    how: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    match = guessing().new(4)
    monkeypatch.setattr(running, "SECONDS", 0.05)
    with pytest.raises(WorldFailure) as raised:
        match.apply({0: misbehaving(how)})
    assert str(raised.value) == reason
    assert len(match.events) == 1


@pytest.mark.parametrize("method", ["opening", "over", "score", "report"])
def test_any_exception_of_a_world_breaks_the_world(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*given: Any) -> Any:
        raise ZeroDivisionError("nothing to divide by")

    game = guessing()
    match = game.new(4)
    monkeypatch.setattr(Guessing, method, failing)
    with pytest.raises(WorldFailure, match="The world failed: ZeroDivisionError: nothing to divide by"):
        game.new(5).apply({0: a_guess(2)})
    if method != "opening":
        with pytest.raises(WorldFailure):
            match.apply({0: a_guess(2)})
        assert len(match.events) == 1


def test_loaded_match_continues_from_the_same_state() -> None:
    game = guessing()
    match = game.new(4)
    match.apply({0: a_guess(2)})
    opened = len(game.tasks.opened)  # type: ignore[attr-defined]
    again = game.load(match.events, 4)
    assert len(game.tasks.opened) == opened, "nothing is asked to load a match"  # type: ignore[attr-defined]
    assert (again.view(0), again.observe(0), again.report(0)) == (match.view(0), match.observe(0), match.report(0))
    for one in (match, again):
        one.apply({0: a_guess(4)})
    assert again.events == match.events


def test_loaded_match_of_a_recorded_world_cannot_continue() -> None:
    game = guessing("recorded")
    again = game.load(game.new(4).events)
    with pytest.raises(GymposiumError, match="cannot continue a recorded match"):
        again.apply({0: a_guess(4)})


def test_recorded_world_stores_its_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    game = guessing("recorded")
    match = game.new(4)
    for move in (a_guess("4"), a_guess(2)):
        match.apply({0: move})
    hashes = [get_prompt(game, style, get_reader("tags")).hash for style in ("full", "compact")]
    later = guessing("recorded")
    monkeypatch.setattr(GuessingTasks, "tools", property(lambda tasks: pytest.fail("it is asked for its tools")))
    again = later.recorded(match.events)
    assert again.tools == game.tools
    assert [get_prompt(again, style, get_reader("tags")).hash for style in ("full", "compact")] == hashes
    loaded = later.load(match.events)
    assert loaded.report(0) == match.report(0) == {**match.report(0), "calls": 2.0, "invalid_calls": 1.0}


def test_pure_world_does_not_record_its_tools() -> None:
    assert "tools" not in json.loads(guessing().new(4).events[0].move)


@pytest.mark.parametrize(
    "tools", ["[1]", '[{"name": "a b", "description": "", "parameters": {"type": "object"}}]', "1"]
)
def test_record_with_invalid_tools_is_refused(tools: str) -> None:
    game = guessing("recorded").recorded([Event(CHANCE, TASK.move.replace("{", f'{{"tools": {tools}, ', 1))])
    with pytest.raises(BadRecord, match="Event 0 must be a task with its tools"):
        assert game.tools


def test_changed_result_is_detected_on_resume() -> None:
    game = guessing()
    match = game.new(4)
    match.apply({0: a_guess(2)})
    changed = [*match.events[:2], Event(CHANCE, match.events[2].move.replace("higher", "lower"))]
    with pytest.raises(BadRecord, match="guess returned 'lower' in the record, but now 'higher'"):
        game.load(changed).apply({0: a_guess(4)})


@pytest.mark.parametrize(
    "events",
    [
        [Event(CHANCE, "{}")],
        [Event(CHANCE, "no JSON")],
        [Event(0, a_guess(1))],
        [TASK, Event(0, a_guess(1))],
        [TASK, Event(0, "x"), Event(CHANCE, "{}")],
        [TASK, Event(0, a_guess(1)), Event(CHANCE, "[]")],
        [TASK, Event(0, a_guess(1)), Event(CHANCE, '{"results": [], "invalid_calls": 0, "over": true}')],
    ],
)
def test_events_without_a_task_are_refused(events: list[Event]) -> None:
    with pytest.raises(BadRecord):
        guessing().load(events)


def test_prompts_list_the_tools_unless_the_template_does() -> None:
    game = guessing()
    observation = game.new(4).observe(0)
    full = get_prompt(game, "full", get_reader("tags"))(observation)
    assert '- guess: Guess the number.\n  Arguments: {"number": {"type": "integer"}}\n' in full
    assert "answer with one call inside <move></move>" in full
    as_json = get_prompt(game, "full", get_reader("json"))(observation)
    assert r'{"move": "{\"name\": \"...\", \"arguments\": {...}}"}' in as_json
    assert get_prompt(game, "compact", get_reader("move"))(game.new(4).observe(0, "compact")) == (
        "Find the number.\nguess(number)\nmisbehave(how)\n0-9\ncall:"
    )
    assert get_prompt(game, "full", get_reader("tools-hermes"))(observation) == (
        "Find the number.\n\nGuess a number from 0 to 9.\n"
    )
