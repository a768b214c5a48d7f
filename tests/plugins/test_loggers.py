"""The loggers against the libraries themselves, offline: what they write is read back with the tools of the libraries.
Each test plays the same story: a run logs steps 0 to 2, its process ends abruptly, and another process resumes the
run at step 2 and ends. If a library is not installed, its tests are skipped; `tox run -e loggers` has all libraries."""

from __future__ import annotations

import base64
import json
import math
import os
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadOption, LoggerError, MissingExtra, UnknownName
from gymposium.plugins.first_party import list_first_party
from gymposium.runs.loggers.make import check_installed, check_loggers, close_loggers, make_loggers
from gymposium.runs.loggers.protocol import Logger, LoggerStart
from gymposium_loggers.mlflow import flatten_config
from gymposium_loggers.run_ids import load_run_id, save_run_id
from gymposium_loggers.wandb import WandbSettings

KEY = "canary0123456789canary0123456789canary01"
"""Stands in every variable for a key, and must be in no file."""
CONFIG: dict[str, Any] = {"model": "tiny", "grpo": {"epochs": 2, "clip": [0.2, 0.28]}, "limit": math.inf}
STEPS: list[dict[str, float | int | str]] = [
    {"rollout/reward": 0.0, "tokens": 12, "phase": "warmup"},
    {"rollout/reward": 0.5, "tokens": 30, "eval/connect_four(rows=5)/score": 0.25, "loss/kl": math.nan},
    {"rollout/reward": 1.0, "tokens": 41, "phase": "rl"},
    {"rollout/reward": 1.5, "tokens": 55, "phase": "rl"},
]


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Set fake keys, and folders for what a library writes outside the run's directory. Some libraries read these
    variables when they are imported."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("WANDB_API_KEY", "HF_TOKEN", "MLFLOW_TRACKING_TOKEN", "TRACKIO_WRITE_TOKEN"):
            patch.setenv(name, KEY)
        for name in ("WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR", "TRACKIO_DIR"):
            patch.setenv(name, str(home / name.lower()))
        for name in ("MLFLOW_TRACKING_URI", "WANDB_MODE", "WANDB_RUN_ID", "LANGFUSE_BASE_URL"):
            patch.delenv(name, raising=False)
        patch.setenv("WANDB_ERROR_REPORTING", "false")
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.setenv("LANGFUSE_PUBLIC_KEY", "pk-public")
        patch.setenv("LANGFUSE_SECRET_KEY", KEY)
        yield home


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed; tox run -e loggers has it")


def start(directory: Path, **more: Any) -> LoggerStart:
    return LoggerStart(run="first try", directory=directory, config=CONFIG, **more)


def log(loggers: list[Logger], first: int, last: int) -> None:
    for step in range(first, last + 1):
        for logger in loggers:
            logger.log(step, STEPS[step])


FIRST_PROCESS = """
import json, sys
from pathlib import Path
from gymposium.runs.loggers.make import make_loggers
from gymposium.runs.loggers.protocol import LoggerStart

told = json.load(sys.stdin)
start = LoggerStart(run="first try", directory=Path(told["directory"]), config=told["config"])
loggers = make_loggers(told["tables"], start)
for step, metrics in enumerate(told["steps"]):
    for logger in loggers:
        logger.log(step, metrics)
"""


def begin(directory: Path, **tables: dict[str, Any]) -> None:
    """Run the first process of a run."""
    told = {"directory": str(directory), "config": CONFIG, "tables": tables, "steps": STEPS[:3]}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_PROCESS], input=json.dumps(told), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def resume_run(directory: Path, **tables: dict[str, Any]) -> None:
    """Run the second process, which resumes at step 2, stores a report and ends."""
    loggers = make_loggers(tables, start(directory, resumed=True, step=2))
    log(loggers, 2, 3)
    report = directory / "report.html"
    report.write_text("<p>It learned.</p>")
    for logger in loggers:
        logger.artifact("report", report)
    close_loggers(loggers)


def assert_no_key(*places: Path) -> None:
    files = [file for place in places for file in place.rglob("*") if file.is_file()]
    assert files
    for file in files:
        assert KEY.encode() not in file.read_bytes(), file


def test_tensorboard_stores_the_run(tmp_path: Path) -> None:
    library("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    begin(tmp_path, tensorboard={})
    [first] = (tmp_path / "tensorboard").iterdir()
    # TensorBoard reads files in the order of their names, which hold the second: so it began some seconds ago
    first.rename(first.with_name(re.sub(r"\d{10}", lambda found: f"{int(found[0]) - 9}", first.name, count=1)))
    resume_run(tmp_path, tensorboard={})
    shown = EventAccumulator(str(tmp_path / "tensorboard"))
    shown.Reload()
    assert [(e.step, e.value) for e in shown.Scalars("rollout/reward")] == [(0, 0), (1, 0.5), (2, 1), (3, 1.5)]
    assert [(e.step, e.value) for e in shown.Scalars("eval/connect_four(rows=5)/score")] == [(1, 0.25)]
    assert math.isnan(shown.Scalars("loss/kl")[0].value)
    assert shown.Tensors("phase")[-1].tensor_proto.string_val == [b"rl"]
    assert shown.SummaryMetadata("phase").plugin_data.plugin_name == "text"
    [config] = shown.Tensors("config")
    assert b'"epochs": 2' in config.tensor_proto.string_val[0]


def test_tensorboard_flushes_every_step(tmp_path: Path) -> None:
    library("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    loggers = make_loggers({"tensorboard": {"folder": "events"}}, start(tmp_path))
    log(loggers, 0, 0)
    shown = EventAccumulator(str(tmp_path / "events"))
    shown.Reload()
    assert [e.value for e in shown.Scalars("tokens")] == [12]
    close_loggers(loggers)


def wandb_records(file: Path) -> Iterator[Any]:
    """Return the records of a run that W&B stored: protocol buffers in a log in LevelDB's format, in blocks of 32 KiB.
    Each part has a header of seven bytes with checksum, length and kind (complete, first, middle or last)."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, whole = file.read_bytes(), 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield Record.FromString(whole)
            whole = b""


def test_wandb_stores_the_run(tmp_path: Path, home: Path) -> None:
    wandb = library("wandb")
    begin(tmp_path, wandb={"mode": "offline", "project": "games", "tags": ["grpo"]})
    resume_run(tmp_path, wandb={"mode": "offline", "project": "games", "tags": ["grpo"]})
    wandb.teardown()  # waits for the process that writes the file
    files = sorted((tmp_path / "wandb").glob("offline-run-*/run-*.wandb"), key=lambda file: file.stat().st_mtime)
    assert files
    assert len({file.stem for file in files}) == 1, "one run, whatever the processes"
    records = [record for file in files for record in wandb_records(file)]
    about = records[1].run
    assert (about.project, about.display_name, list(about.tags)) == ("games", "first try", ["grpo"])
    config = {update.key: json.loads(update.value_json) for update in about.config.update}
    assert config["grpo"] == CONFIG["grpo"]
    rows = []
    for record in records:
        if record.WhichOneof("record_type") == "history":
            items = {"/".join(i.nested_key) or i.key: json.loads(i.value_json) for i in record.history.item}
            rows.append((items["step"], items["rollout/reward"], items.get("phase")))
    assert rows == [(0, 0, "warmup"), (1, 0.5, None), (2, 1, "rl"), (2, 1, "rl"), (3, 1.5, "rl")]
    [artifact] = [r.artifact for r in records if r.WhichOneof("record_type") == "artifact"]
    assert artifact.name == f"report-{about.run_id}"
    assert records[-1].exit.exit_code == 0
    assert_no_key(tmp_path, home)


def test_wandb_records_a_failed_run(tmp_path: Path) -> None:
    wandb = library("wandb")
    loggers = make_loggers({"wandb": {"mode": "offline"}}, start(tmp_path))
    close_loggers(loggers, RuntimeError("no memory"))
    wandb.teardown()
    [file] = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    assert list(wandb_records(file))[-1].exit.exit_code == 1


def test_trackio_stores_the_run(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library("trackio")
    from trackio.sqlite_storage import SQLiteStorage

    begin(tmp_path, trackio={"project": "games"})
    resume_run(tmp_path, trackio={"project": "games"})
    assert SQLiteStorage.get_runs("games") == ["first try"]
    rows = SQLiteStorage.get_logs("games", "first try")
    assert [(row["step"], row["rollout/reward"], row.get("phase")) for row in rows] == [
        (0, 0, "warmup"), (1, 0.5, None), (2, 1, "rl"), (2, 1, "rl"), (3, 1.5, "rl")
    ]  # fmt: skip
    assert SQLiteStorage.get_run_config("games", "first try")["grpo"] == CONFIG["grpo"]
    assert (home / "trackio_dir" / "games.db").exists()
    assert_no_key(tmp_path, home)
    assert capsys.readouterr().out == "", "standard output is for results"


def test_trackio_resumes_only_its_own_run(tmp_path: Path) -> None:
    library("trackio")
    table = {"trackio": {"project": "two"}}
    for folder in ("one", "two"):
        loggers = make_loggers(table, start(tmp_path / folder))
        log(loggers, 0, 0)
        close_loggers(loggers)
    with pytest.raises(BadOption, match="project 'two' has a later run also called 'first try'"):
        make_loggers(table, start(tmp_path / "one", resumed=True, step=1))


# what MLflow asks of SQLAlchemy is out of fashion there
OUT_OF_FASHION = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")


@OUT_OF_FASHION
def test_mlflow_stores_the_run(tmp_path: Path) -> None:
    mlflow = library("mlflow")
    library("sqlalchemy")
    begin(tmp_path, mlflow={"experiment": "games"})
    resume_run(tmp_path, mlflow={"experiment": "games"})
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    client = mlflow.MlflowClient(uri)
    experiment = client.get_experiment_by_name("games").experiment_id
    [run] = client.search_runs([experiment])
    assert (run.info.run_name, run.info.status) == ("first try", "FINISHED")
    history = client.get_metric_history(run.info.run_id, "rollout/reward")
    assert sorted((m.step, m.value) for m in history) == [(0, 0), (1, 0.5), (2, 1), (2, 1), (3, 1.5)]
    assert math.isnan(client.get_metric_history(run.info.run_id, "loss/kl")[0].value)
    assert run.data.metrics["eval/connect_four_rows_5_/score"] == 0.25
    assert run.data.tags["phase"] == "rl"
    assert run.data.params["grpo.epochs"] == "2"
    assert {file.path for file in client.list_artifacts(run.info.run_id)} == {"config.json", "report"}
    [report] = client.list_artifacts(run.info.run_id, "report")
    assert report.path == "report/report.html"
    assert_no_key(tmp_path)

    # Another run of the same experiment, at the address of the store, for each way to end
    table = {"mlflow": {"experiment": "games", "tracking_uri": uri}}
    for error, status in ((ValueError("x"), "FAILED"), (KeyboardInterrupt(), "KILLED")):
        directory = tmp_path / status
        loggers = make_loggers(table, start(directory))
        with pytest.raises(LoggerError, match="have the same name in MLflow"):
            loggers[0].log(0, {"a(b": 1.0, "a)b": 2.0})
        close_loggers(loggers, error)
        assert client.get_run((directory / "loggers" / "mlflow.txt").read_text()).info.status == status
    assert len(client.search_runs([experiment])) == 3


@dataclass
class Stand:
    """Stand-in for Langfuse: what it was sent, and what it answers."""

    url: str = ""
    sent: list[tuple[str, Any]] = field(default_factory=list)
    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)


@pytest.fixture
def langfuse() -> Iterator[Stand]:
    """Serve Langfuse's HTTP endpoints on loopback: projects, traces by OTLP, and scores."""
    library("langfuse")
    project = {"id": "p", "name": "games", "organization": {"id": "o", "name": "us"}, "metadata": {}}
    stand = Stand()
    stand.answers = {
        "/api/public/projects": (200, {"data": [project]}),
        "/api/public/otel/v1/traces": (200, {}),
        "/api/public/scores": (202, {"message": "Accepted"}),
    }
    expected = "Basic " + base64.b64encode(f"pk-public:{KEY}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: Any) -> None:
            status, answer = stand.answers[self.path]
            if self.headers["Authorization"] != expected:
                status, answer = 401, {"message": "Invalid credentials"}
            stand.sent.append((self.path, body))
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stand.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield stand
        server.shutdown()
        thread.join()


def spans(stand: Stand) -> list[tuple[str, str, dict[str, str]]]:
    """Return trace id, name and attributes of every span."""
    found = []
    for path, body in stand.sent:
        if path.endswith("/traces"):
            [span] = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
            attributes = {a["key"]: a["value"]["stringValue"] for a in span["attributes"]}
            found.append((span["traceId"], span["name"], attributes))
    return found


def test_langfuse(tmp_path: Path, langfuse: Stand) -> None:
    begin(tmp_path, langfuse={"host": langfuse.url})
    resume_run(tmp_path, langfuse={"host": langfuse.url})
    found = spans(langfuse)
    assert [name for _, name, _ in found] == ["config", *["metrics"] * 5, "end"]
    assert len({attributes["session.id"] for *_, attributes in found}) == 1, "one run, whatever the processes"
    steps = [(trace, int(attributes["langfuse.observation.metadata.step"])) for trace, _, attributes in found]
    assert [step for _, step in steps] == [0, 0, 1, 2, 2, 3, 3]
    assert len(set(steps)) == len({trace for trace, _ in steps}) == 4, "a trace for each step, run again or not"
    assert json.loads(found[0][2]["langfuse.observation.input"])["limit"] == "inf"
    assert json.loads(found[2][2]["langfuse.observation.output"])["loss/kl"] == "nan"
    scores = [body for path, body in langfuse.sent if path.endswith("/scores")]
    assert [(s["name"], s["value"], s["dataType"]) for s in scores[0]] == [
        ("rollout/reward", 0, "NUMERIC"), ("tokens", 12, "NUMERIC"), ("phase", "warmup", "CATEGORICAL")
    ]  # fmt: skip
    assert {s["traceId"] for s in scores[0]} == {steps[0][0]}
    assert [s["name"] for s in scores[1]] == ["rollout/reward", "tokens", "eval/connect_four(rows=5)/score"]
    assert KEY not in json.dumps(langfuse.sent)
    assert_no_key(tmp_path)


def test_langfuse_records_a_failed_run(tmp_path: Path, langfuse: Stand) -> None:
    close_loggers(make_loggers({"langfuse": {"host": langfuse.url}}, start(tmp_path)), RuntimeError("no memory"))
    *_, (_, name, attributes) = spans(langfuse)
    assert (name, attributes["langfuse.observation.level"]) == ("end", "ERROR")
    assert attributes["langfuse.observation.status_message"] == "RuntimeError: no memory"


def test_langfuse_refusal_stops_the_run_at_start(
    tmp_path: Path, langfuse: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {"langfuse": {"host": langfuse.url}}
    langfuse.answers["/api/public/projects"] = (200, {"data": []})
    with pytest.raises(BadOption, match="belong to no project"):
        make_loggers(table, start(tmp_path))
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "another")
    with pytest.raises(LoggerError, match=r"Logger langfuse could not start: .*401") as caught:
        make_loggers(table, start(tmp_path))
    assert "another" not in str(caught.value)
    monkeypatch.delenv("LANGFUSE_SECRET_KEY")
    with pytest.raises(BadOption, match="set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY"):
        make_loggers(table, start(tmp_path))
    assert not (tmp_path / "loggers").exists()


def test_langfuse_refusals_during_a_run_are_raised(tmp_path: Path, langfuse: Stand) -> None:
    loggers = make_loggers({"langfuse": {"host": langfuse.url}}, start(tmp_path))
    langfuse.answers["/api/public/scores"] = (207, {"accepted": 2, "rejected": 1, "errors": [{"message": "too long"}]})
    with pytest.raises(LoggerError, match=r"1 score of step 0 was rejected: .*too long"):
        log(loggers, 0, 0)
    langfuse.answers["/api/public/otel/v1/traces"] = (403, {"message": "Forbidden"})
    with pytest.raises(LoggerError, match=r"Logger langfuse failed at step 1: .*403.* resume the run"):
        log(loggers, 1, 1)


@pytest.mark.parametrize("name", list_first_party()["logger"])
def test_missing_libraries_name_the_extra(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)  # what Python has for a module that must not be found
    assert name in check_loggers({name: {}}), "to read its options no library is needed"
    with pytest.raises(MissingExtra, match=rf'pip install "gymposium-loggers\[{name}\]"'):
        check_installed({name: {}})
    with pytest.raises(MissingExtra, match=rf'pip install "gymposium-loggers\[{name}\]"'):
        make_loggers({name: {}}, start(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "table",
    [
        {"trackio": {"server": f"https://host/?write_token={KEY}"}},
        {"mlflow": {"tracking_uri": f"https://me:{KEY}@host"}},
        {"langfuse": {"host": f"https://me:{KEY}@host"}},
    ],
    ids=lambda table: next(iter(table)),
)
def test_addresses_with_keys_are_refused_without_echo(table: dict[str, Any]) -> None:
    with pytest.raises(BadOption, match="environment") as caught:
        check_loggers(table)
    assert KEY not in str(caught.value)


def test_logger_options_are_validated() -> None:
    settings = check_loggers({"wandb": {"tags": ["a"], "mode": "offline"}})["wandb"]
    assert settings == WandbSettings(tags=("a",), mode="offline")
    with pytest.raises(UnknownName, match=r"option of \[loggers.wandb\] 'projct'. Did you mean 'project'"):
        check_loggers({"wandb": {"projct": "p"}})
    with pytest.raises(UnknownName, match=r"option of \[loggers.wandb\] 'api_key'"):
        check_loggers({"wandb": {"api_key": KEY}})
    with pytest.raises(BadOption, match=r"mode='on' must be 'online' or 'offline'"):
        check_loggers({"wandb": {"mode": "on"}})


def test_configs_are_flattened() -> None:
    assert dict(flatten_config(CONFIG)) == {
        "model": "tiny", "grpo.epochs": 2, "grpo.clip": [0.2, 0.28], "limit": math.inf
    }  # fmt: skip


def test_stored_run_ids_are_validated(tmp_path: Path) -> None:
    old, resumed = start(tmp_path), start(tmp_path, resumed=True)
    save_run_id(old, "wandb", "abc123")
    assert load_run_id(resumed, "wandb") == "abc123"
    assert load_run_id(old, "wandb") is None
    file = tmp_path / "loggers" / "wandb.txt"
    with file.open("wb") as sparse:
        sparse.truncate(6 << 30)
    with pytest.raises(BadOption, match=r"wandb\.txt: cannot read .*larger than 4,096 bytes"):
        load_run_id(resumed, "wandb")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(BadOption, match="cannot read the run"):
        load_run_id(resumed, "wandb")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(BadOption, match="not a regular file"):
        load_run_id(resumed, "wandb")
