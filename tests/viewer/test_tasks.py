"""Task pages: readable calls and results, the hidden task, and where its values were found."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.gymposium.tasks.guessing import ScriptedPlayer, a_guess, guessing, misbehaving

from gymposium.errors import BadRecord
from gymposium.games.protocol import CHANCE, Event
from gymposium.match import MatchJob, play
from gymposium.records import Record
from gymposium.tasks import Result
from gymposium.tasks.tools import Call
from gymposium.tasks.transcript import Transcript
from gymposium_viewer.replays.match_page import render_match
from gymposium_viewer.replays.story import build_story
from gymposium_viewer.replays.tasks import CallView, TaskView

HOSTILE = "</pre></dd><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>{{ 7*7 }} \x1b[31m\u202e"
SEEN = "</pre></dd><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>{{ 7*7 }} ␛[31m⟨U+202E⟩"


def recorded(monkeypatch: pytest.MonkeyPatch, *moves: str, results: Mapping[int, Mapping[str, Any]] = {}) -> Record:
    """The record of a match of a world that makes these moves until the guess is right. `results` are changes of the
    recorded results, by move."""
    game = guessing("recorded")
    monkeypatch.setattr("gymposium.games.registry.load_game", lambda name: game)
    [played] = play([MatchJob("m", game, [ScriptedPlayer(*moves)], 4)])
    record = Record.from_match(played)
    for number, change in results.items():
        outcome = json.loads(record.events[2 + 2 * number].move)
        outcome["results"][0] |= change
        record.events[2 + 2 * number] = Event(CHANCE, json.dumps(outcome))
    return record


def render_page(record: Record) -> str:
    return render_match(build_story(record), "matches/m.html")


def transcript(task: Any, *texts: str) -> Transcript:
    return Transcript("", task, [[(Call("read", {}), Result(text))] for text in texts])


def test_step_shows_calls_with_their_results(monkeypatch: pytest.MonkeyPatch) -> None:
    record = recorded(monkeypatch, f"{a_guess(2)}\n{a_guess('x')}", a_guess(4))
    story = build_story(record)
    assert (story.trouble, story.difference) == ("", "")
    first, last, end = story.steps
    assert [(call.name, call.arguments, call.result, call.error) for call in first.acts[0].calls] == [
        ("guess", [("number", "2")], "higher", False),
        ("guess", [("number", "x")], "Wrong arguments for guess: number: 'x' is not of type 'integer'.", True),
    ]
    assert json.loads(first.acts[0].calls[0].value) == {"guess": 1}
    assert [call.result for call in last.acts[0].calls] == ["right"]
    assert not end.acts
    page = render_page(record)
    assert page.count('<summary>Result <span class="quiet">(6 characters)</span></summary>') == 1
    assert page.count('<span class="tag error">error</span></summary>') == 1
    assert page.count('<section class="call">') == 3
    assert page.index("Guess a number from 0 to 9.") < page.index('id="step-0"')


def test_end_shows_the_hidden_task_and_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    page = render_page(recorded(monkeypatch, a_guess(4)))
    before, end = page.split('id="step-1"')
    hidden = r'<details class="hidden-task"><summary>[^<]*</summary><pre>\{\n  &#34;number&#34;: 4\n\}</pre>'
    assert re.search(hidden, end)
    assert not re.search(hidden, before)
    for figure in ("exact <b>1</b>", "calls <b>1</b>", "invalid calls <b>0</b>"):
        assert figure in end


@pytest.mark.parametrize(("size", "folded"), [(1000, False), (1001, True), (2_000_000, True)])
def test_long_result_is_folded_and_truncated(monkeypatch: pytest.MonkeyPatch, size: int, folded: bool) -> None:
    page = render_page(recorded(monkeypatch, a_guess(1), a_guess(4), results={0: {"text": "x" * size}}))
    summary = f'<summary>Result <span class="quiet">({size:,} characters)</span></summary>'
    assert f'<details class="result"{"" if folded else " open"}>{summary}' in page
    assert len(page) < 250_000
    assert ("characters omitted" in page) == (size == 2_000_000)


def test_result_truncated_by_the_match_is_shown_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    page = render_page(recorded(monkeypatch, misbehaving("long"), a_guess(4)))
    assert f"{'x' * 20_000}\n[cut off: the whole result has 10,000,000 characters]" in page


@pytest.mark.slow
def test_hostile_calls_and_results_are_inert(
    serve: Any, look: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = {"text": f"{HOSTILE} m17 {'long ' * 300}", "value": {HOSTILE: [HOSTILE]}, "error": True}
    record = recorded(monkeypatch, misbehaving(HOSTILE), a_guess(1), a_guess(4), results={0: answer})
    first = json.loads(record.events[0].move) | {"task": {HOSTILE: "m17", "opening": HOSTILE}}
    first["opening"]["full"] = HOSTILE
    record.events[0] = Event(CHANCE, json.dumps(first))
    (tmp_path / "m.jsonl").write_text(record.line() + "\n", encoding="utf-8")
    page = look.at(f"{serve(tmp_path)}matches/m.jsonl/1.html", width=390, dark=True)
    page.locator(".play.stepping").wait_for()
    expect(page.locator(".opening pre")).to_have_text(SEEN)
    expect(page.locator(".found-in li").first).to_contain_text("m17")
    page.keyboard.press("End")
    page.locator(".found-in a").first.click()
    expect(page.locator(".step:visible")).to_have_attribute("data-step", "0")
    expect(page.locator("#step-0 .arguments dd")).to_have_text(SEEN)
    result = page.locator("#step-0 details.result")
    expect(result.locator("summary")).to_contain_text("error")
    expect(result.locator("pre")).to_be_hidden()
    result.locator("summary").click()
    expect(result.locator("pre")).to_contain_text(f"{SEEN} m17")
    page.locator("#step-0 details.value summary").click()
    expect(page.locator("#step-0 details.value pre")).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert not {"\x1b", "\u202e"} & set(page.content())
    expect(page.locator("main img, main script:not([type='application/json'])")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_calls_are_shown_without_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    record = replace(recorded(monkeypatch, "hm", a_guess(2)), game="gone_with_its_plugin")
    record.turns = [{"seat": 0, "reading": "unparsable", "text": "hm"}, {"seat": 0, "reading": "move", "text": "x"}]
    record.events += [Event(0, a_guess(2)), Event(CHANCE, _outcome("higher than 4"))]
    monkeypatch.undo()
    story = build_story(record)
    assert "gone_with_its_plugin" in story.trouble
    assert [[call.result for call in act.calls] for step in story.steps for act in step.acts] == [[], ["higher than 4"]]
    assert "The task as JSON" in render_page(record)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [Event(CHANCE, "no JSON")],
        [Event(CHANCE, "[" * 100_000)],
        [Event(CHANCE, '{"task": {}}')],
        [Event(CHANCE, '{"task": 5, "opening": {"full": "", "compact": ""}}')],
        [Event(CHANCE, '{"task": {}, "opening": {"full": "", "compact": ""}}'), Event(0, a_guess(4))],
        [
            Event(CHANCE, '{"task": {}, "opening": {"full": "", "compact": ""}}'),
            Event(0, a_guess(4)),
            Event(CHANCE, '{"results": [{"tool": "guess", "text": 5, "error": false, "value": null}]}'),
        ],
        [
            Event(CHANCE, '{"task": {}, "opening": {"full": "", "compact": ""}}'),
            Event(0, a_guess(4)),
            Event(CHANCE, '{"results": []}'),
        ],
    ],
)
def test_events_without_a_task_are_reported(monkeypatch: pytest.MonkeyPatch, events: Sequence[Event]) -> None:
    record = replace(recorded(monkeypatch, a_guess(4)), events=list(events))
    with pytest.raises(BadRecord):
        Transcript.from_events(record.events)
    page = render_page(record)
    assert "The replay failed." in page
    assert "The task as JSON" not in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("m17", "m17"),
        ("SELECT 1\nFROM a", "SELECT 1\nFROM a"),
        (4, "4"),
        ("4", '"4"'),
        ("null", '"null"'),
        (None, "null"),
        (" ", '" "'),
        (["a", "é"], '["a", "é"]'),
    ],
)
def test_arguments_are_readable(value: Any, shown: str) -> None:
    assert CallView.from_call(Call("read", {"id": value}), Result("")).arguments == [("id", shown)]


def test_deeply_nested_values_are_shown_or_reported() -> None:
    deep: Any = "end"
    for _ in range(100_000):
        deep = [deep]
    call = CallView.from_call(Call("read", {"id": deep}), Result("", value=deep))
    assert call.value == call.arguments[0][1] == "(too deeply nested to show)"
    assert TaskView.from_transcript(transcript({"deep": deep}, "the end"), [0]).found[0].value == "end"


def test_task_values_are_found_as_whole_words() -> None:
    task = {
        "answer": {"accepted": ["25 May"], "count": 23},
        "flag": True,
        "no": None,
        "one": "x",
        "sources": ["m17", "m1", "m9"],
    }
    told = transcript(task, "m17 | m171 | x | True | None", "nothing", "(m17) begins on 25 May, 230 of 23.5, m9a")
    found = TaskView.from_transcript(told, [0, 1, 4]).found
    assert [(one.value, one.path, one.steps) for one in found] == [
        ("25 May", "answer.accepted.0", [4]),
        ("23", "answer.count", [4]),
        ("m17", "sources.0", [0, 4]),
    ]


def test_many_values_and_steps_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{number}" for number in range(1000)]
    told = transcript({"k" * 100_000: words}, *[" ".join(words)] * 300)
    found = TaskView.from_transcript(told, range(300)).found
    assert len(found) == 100
    assert sum(len(one.value) + len(one.path) for one in found) < 40_000
    record = replace(recorded(monkeypatch, a_guess(4)), game="gone")
    monkeypatch.undo()
    many = {f"name{number}": "v" for number in range(300)}
    record.events[1] = Event(0, "\n".join([Call("guess", many).json] * 60))
    record.events[2] = Event(CHANCE, _outcome(*["m17"] * 60))
    record.turns[0]["text"] = record.events[1].move
    page = render_page(record)
    assert "10 further calls" in page
    assert "260 further arguments" in page
    assert len(page) < 1_000_000


def _outcome(*texts: str) -> str:
    results = [{"tool": "guess", "text": text, "error": False, "value": None} for text in texts]
    return json.dumps({"over": True, "score": 0.0, "report": {}, "invalid_calls": 0, "results": results})
