"""The page on verifiers: its commands and code run, and it names every setting, metric and refusal."""

from __future__ import annotations

import json
import random
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf

from gymposium.records import verify_file
from gymposium_verifiers.config import MatchEnvConfig, MatchesConfig

from .endpoint import Said, endpoint, plays
from .evaluations import evaluate

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "verifiers.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8000/v1"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_docs_code_evaluates_and_saves_records(tmp_path: Path) -> None:
    evaluate(tmp_path / "outputs" / "my-run", tasks=3, game="kuhn_poker")
    program = "\n".join(blocks("python"))
    assert ADDRESS in program
    with endpoint() as served:
        done = subprocess.run(
            [sys.executable, "-W", "error::SyntaxWarning", "-c", program.replace(ADDRESS, served.url)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    *scores, saved = done.stdout.splitlines()
    assert [line.rsplit(" ", 2)[0] for line in scores] == [
        f"goofspiel(num_cards=5) seed={seed} seats={seat} player{seat}" for seed in (0, 1) for seat in (0, 1)
    ]
    assert all(line.split()[-2] in ("0.0", "0.5", "1.0") for line in scores)
    assert saved == "3"
    assert verify_file(tmp_path / "matches.jsonl").problems == []


def plays_once(request: Mapping[str, Any], rng: random.Random) -> Said:
    over = request["messages"][-1]["content"] == "The match is over."
    return {"content": "Done."} if over else plays(request, rng)


@pytest.mark.parametrize("place", [0, 1])
def test_docs_command_evaluates(place: int, tmp_path: Path) -> None:
    if place == 1:
        pytest.importorskip("uv", reason="the harness needs uv: tox run -e verifiers")
    line = [block for block in blocks("console") if "vf-eval" in block][place]
    command = shlex.split(line.removeprefix("$ ").replace("\\\n", " "))
    command[0] = str(Path(sys.executable).with_name(command[0]))
    tasks = (20, 1)[place]
    with endpoint(plays_once) as served:
        typed = [part.replace(ADDRESS, served.url) for part in command]
        typed[typed.index("-n") + 1] = str(tasks)
        done = subprocess.run([*typed, "--no-rich"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [traces] = tmp_path.glob("outputs/*/traces.jsonl")
    lines = traces.read_text(encoding="utf-8").splitlines()
    assert len(lines) == tasks
    assert not any(trace["errors"] for line in lines for trace in json.loads(line)["traces"])


def test_docs_trainer_config_describes_self_play() -> None:
    [block] = blocks("toml")
    [source] = tomllib.loads(block)["orchestrator"]["train"]["source"]
    config = vf.resolve_env_config(source["env"])
    assert isinstance(config, MatchEnvConfig)
    [task] = vf.load_environment(config).taskset.take(1)
    assert task.data.seats == (0, 1)


def test_docs_name_every_setting_and_metric(tmp_path: Path) -> None:
    own = {*MatchesConfig.model_fields} - {*MatchesConfig.__mro__[1].model_fields}
    assert own == set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    episodes, _ = evaluate(tmp_path / "run", tasks=1, game="kuhn_poker")
    for name in episodes[0].traces[0].metrics:
        word = re.sub(r"^(report|reward)\..*", r"\1.NAME", name).removeprefix("forfeit")
        assert f"{word}`" in PAGE, name
