"""Training runs on the server: pages and live events."""

from __future__ import annotations

import http.client
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gymposium.runs.run import mark_running

Get = Callable[..., http.client.HTTPResponse]
Event = tuple[str, Any, str | None]


@pytest.fixture
def get() -> Iterator[Get]:
    """`get(address, path)` returns the answer to one request. Open answers are closed at the end of the test."""
    with ExitStack() as connections:

        def ask(address: str, path: str, **headers: str) -> http.client.HTTPResponse:
            parts = urlsplit(address)
            connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
            connections.callback(connection.close)
            connection.request("GET", f"/{path}", headers={n.replace("_", "-"): value for n, value in headers.items()})
            return connections.enter_context(connection.getresponse())

        yield ask


@pytest.fixture
def text(get: Get) -> Callable[[str, str], str]:
    """`text(address, path)` returns the text of a page."""

    def ask(address: str, path: str) -> str:
        answer = get(address, path)
        assert answer.status == 200, answer.read()
        return answer.read().decode()

    return ask


def events(answer: http.client.HTTPResponse) -> Iterator[Event]:
    """The events of a stream as they arrive: kind, data, id."""
    kind, data, number = "", "", None
    while line := answer.readline().decode():
        name, _, value = line.rstrip("\n").partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            data = value
        elif name == "id":
            number = value
        elif not name and kind:
            yield kind, json.loads(data), number
            kind, number = "", None


def test_no_run_means_no_tab(serve: Any, text: Any, tmp_path: Path) -> None:
    assert "Training runs" not in text(serve(tmp_path), "index.html")


def test_new_run_has_a_page(serve: Any, text: Any, training_run: Any, tmp_path: Path) -> None:
    training_run("new & odd")
    address = serve(tmp_path)
    assert "new &amp; odd" in text(address, "runs.html")
    page = text(address, "runs/training/new%20%26%20odd/index.html")
    assert "No steps yet" in page
    assert 'data-events="' in page


@pytest.mark.parametrize("teacher", ["none", "mcts-400"])
def test_page_names_the_teacher(serve: Any, text: Any, training_run: Any, tmp_path: Path, teacher: str) -> None:
    config = training_run().path / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "teacher": teacher}))
    page = text(serve(tmp_path), "runs/training/first/index.html")
    assert (">teacher</" in page) == (">mcts-400</" in page) == (teacher != "none")


@pytest.mark.skipif(sys.platform == "win32", reason="without locks")
def test_run_is_running_stopped_or_finished(serve: Any, text: Any, training_run: Any, tmp_path: Path) -> None:
    run = training_run()
    address = serve(tmp_path)

    def state() -> list[str]:
        pages = [text(address, page) for page in ("runs.html", "runs/training/first/index.html")]
        found = [re.search(r'<span class="tag[^"]*">([^<]+)</span>', page) for page in pages]
        return [match[1] for match in found if match is not None]

    assert state() == ["not finished"] * 2
    with mark_running(run.path):
        assert state() == ["running"] * 2
    assert state() == ["not finished"] * 2
    run.finish()
    assert state() == ["finished"] * 2


def test_run_starting_during_the_search_is_found(serve: Any, text: Any, training_run: Any, tmp_path: Path) -> None:
    address = serve(tmp_path)
    training_run("late")
    assert "late" in text(address, "runs/training/late/index.html")


@pytest.mark.parametrize(
    "name", ["nothing", "..", "../first", "training", "training/first/adapter", "%2e%2e/training/first"]
)
def test_only_runs_are_opened(serve: Any, get: Any, training_run: Any, tmp_path: Path, name: str) -> None:
    training_run()
    address = serve(tmp_path / "training") if name.endswith("first") else serve(tmp_path)
    for page in ("index.html", "curves.js", "events", "rollouts.html", "rollouts/1-0.html", "match?id=train-0-0-0"):
        assert get(address, f"runs/{name}/{page}").status == 404


def test_unreadable_files_are_reported(serve: Any, text: Any, training_run: Any, tmp_path: Path) -> None:
    run = training_run()
    run.log(1)
    run.add("metrics.jsonl", '{"stage": "tra\n')
    run.add("samples.jsonl", "{}\n")
    (run.path / "results.json").write_text('{"evaluations": {"cold start": {"tic_tac_toe": {"random": 7}}}}')
    page = text(serve(tmp_path), "runs/training/first/index.html")
    assert "3 problems" in page
    for name in ("metrics.jsonl:2", "samples.jsonl:1", "results.json"):
        assert name in page
    assert "rollout/reward" in page  # readable data is shown


_SCORE = '{"return": [0.5, null, null], "matches": 1, "counts": {"readings": {}}, "results": {}}'
_RESULTS = '{"evaluations": {"cold start": {"tic_tac_toe": {"random": SCORE}}}, EXTRA}'
_TRAJECTORY = {
    "match": None,
    "policy": 0,
    "result": "win",
    "end": None,
    "return": 1.0,
    "reward": 1.0,
    "parts": {},
    "readings": [],
    "rewards": [],
    "advantages": [],
    "values": [],
    "targets": [],
}


@pytest.mark.parametrize(
    "extra",
    [
        '"cold_start_cpu_seconds": "long"',
        '"cold_start_cpu_seconds": "nan"',
        '"gains": {"cold start": {"tic_tac_toe": {"random": "gain"}}}',
        '"gains": {"cold start": {"tic_tac_toe": 5}}',
        '"optima": {"tic_tac_toe": {"best return": {"return": "x", "win": 1, "draw": 0, "loss": 0}}}',
        '"ranges": 5',
        '"judges": 5',
        '"judges": {"tic_tac_toe": "exact"}',
    ],
)
def test_malformed_results_are_reported(extra: str, serve: Any, text: Any, training_run: Any, tmp_path: Path) -> None:
    run = training_run()
    run.log(1)
    for score in (_SCORE, _SCORE.replace("0.5", '"much"')):
        (run.path / "results.json").write_text(_RESULTS.replace("SCORE", score).replace("EXTRA", extra))
        assert "rollout/reward" in text(serve(tmp_path), "runs/training/first/index.html")


@pytest.mark.parametrize(
    "odd", [{"parts": 5}, {"parts": {"x": 10**400}}, {"reward": 10**400}, {"rows": [5]}, {"reward": "x", "rows": []}]
)
def test_malformed_samples_are_reported(
    odd: dict[str, Any], serve: Any, text: Any, training_run: Any, tmp_path: Path
) -> None:
    run = training_run()
    run.log(1)
    group = {"game": "tic_tac_toe", "seat": 0, "opponent": "random", "version": None, "stage": 1, "tied": False}
    for trajectories in ([_TRAJECTORY | odd], [odd], [5], 5):
        line = {"step": 1, "group": 0, "format": "gymposium-samples-1", **group, "trajectories": trajectories}
        run.add("samples.jsonl", json.dumps(line) + "\n")
    run.add("samples.jsonl", f'{{"format":"gymposium-samples-1","step":{"9" * 5000},"group":0,"trajectories":[]}}\n')
    page = text(serve(tmp_path), "runs/training/first/index.html")
    assert "5 problems" in page


@pytest.mark.parametrize("config", ['{"stages": [{"opponents": 5}]}', '{"rollout": 5, "games": 5, "model": []}'])
def test_malformed_config_still_has_a_page(
    config: str, serve: Any, text: Any, training_run: Any, tmp_path: Path
) -> None:
    run = training_run()
    run.log(1)
    (run.path / "config.json").write_text(config)
    assert "rollout/reward" in text(serve(tmp_path), "runs/training/first/index.html")


def test_steps_are_streamed_complete_and_immediately(serve: Any, get: Any, training_run: Any, tmp_path: Path) -> None:
    run = training_run()
    run.log(1)
    stream = events(get(serve(tmp_path), "runs/training/first/events"))
    kind, data, number = next(stream)
    assert (kind, data["step"], data["values"]["rollout/reward"]) == ("metrics", 1, 0.1)
    assert number == str((run.path / "metrics.jsonl").stat().st_size)
    run.add("metrics.jsonl", '{"stage": "train", "step": 2, ')
    run.keep(1)
    assert next(stream)[:2] == ("samples", 1)  # the incomplete line is not sent
    run.add("metrics.jsonl", '"x": 2.5}\n')
    kind, data, _ = next(stream)
    assert (kind, data) == ("metrics", {"stage": "train", "step": 2, "values": {"x": 2.5}})


def test_reconnecting_browser_continues_after_its_last_event(
    serve: Any, get: Any, training_run: Any, tmp_path: Path
) -> None:
    run = training_run()
    for step in (1, 2, 3):
        run.log(step)
    address, path = serve(tmp_path), "runs/training/first/events"
    first = events(get(address, path))
    _, _, number = next(first)
    assert number is not None
    assert next(events(get(address, path, Last_Event_ID=number)))[1]["step"] == 2
    assert next(events(get(address, f"{path}?from=0", Last_Event_ID=number)))[1]["step"] == 2
    assert next(events(get(address, f"{path}?from={number}")))[1]["step"] == 2
    for nonsense in ("-5", "x", "9" * 30, "1.5", ""):
        assert next(events(get(address, f"{path}?from={nonsense}")))[1]["step"] == 1


def test_finished_run_streams_to_its_end(serve: Any, get: Any, text: Any, training_run: Any, tmp_path: Path) -> None:
    run = training_run(steps=2)
    address = serve(tmp_path)
    run.log(1)
    stream = events(get(address, "runs/training/first/events"))
    assert next(stream)[1]["step"] == 1
    run.log(2)
    run.finish()
    kinds = [kind for kind, _, _ in stream]  # the stream ends
    assert kinds == ["metrics", "evaluation", "finished"] or kinds == ["metrics", "finished"]
    assert [kind for kind, _, _ in events(get(address, "runs/training/first/events"))] == [
        "metrics",
        "metrics",
        "finished",
    ]
    assert 'data-events="' not in text(address, "runs/training/first/index.html")


def test_replaced_file_resets_the_stream(serve: Any, get: Any, training_run: Any, tmp_path: Path) -> None:
    run = training_run()
    run.log(1)
    run.log(2)
    stream = events(get(serve(tmp_path), "runs/training/first/events"))
    assert [next(stream)[1]["step"] for _ in range(2)] == [1, 2]
    (run.path / "metrics.jsonl").unlink()
    run.log(1)
    assert next(stream)[0] == "renewed"
    assert next(stream)[1]["step"] == 1


def test_trajectory_links_to_its_match(serve: Any, get: Any, text: Any, training_run: Any, tmp_path: Path) -> None:
    run = training_run()
    run.keep(1)
    run.keep(6)
    address = serve(tmp_path)
    assert "runs/training/first/match?id=train-5-0-2" in text(address, "runs/training/first/rollouts/6-0.html")
    answer = get(address, "runs/training/first/match?id=train-5-0-2")
    assert (answer.status, answer.headers["Location"]) == (
        303,
        "../../../matches/training/first/matches/train.jsonl/6.html",
    )
    assert "train-5-0-2" in text(address, "matches/training/first/matches/train.jsonl/6.html")
    assert get(address, "runs/training/first/match?id=train-9-9-9").status == 404
