from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadOption
from gymposium_agents.engines.protocol import EngineStart
from gymposium_agents.engines.vllm.make import make_server_settings
from gymposium_agents.engines.vllm.settings import KEY_VARIABLE, SERVING, ServerSettings, VllmSettings
from gymposium_agents.engines.vllm.versions import BUILDS, TESTED, make_version_remark


def get_value(command: list[str], option: str) -> str:
    return command[command.index(option) + 1]


def test_command_line_enables_training() -> None:
    command = ServerSettings("some/model", lora_rank=5, max_model_len=512).command("python", "cpu", 8123)
    assert command[:3] == ["python", "-P", str(SERVING)]
    expected = {
        "--model": "some/model",
        "--served-model-name": "base",
        "--host": "127.0.0.1",
        "--port": "8123",
        "--dtype": "float32",
        "--generation-config": "vllm",
        "--logprobs-mode": "processed_logprobs",
        "--max-model-len": "512",
        "--max-lora-rank": "8",
    }
    assert {option: get_value(command, option) for option in expected} == expected
    assert {"--enable-lora", "--enforce-eager"} <= set(command)


def test_gpu_uses_checkpoint_dtype_and_compiles() -> None:
    command = ServerSettings("some/model").command("python", "cuda", 8123)
    assert get_value(command, "--dtype") == "auto"
    assert not {"--enforce-eager", "--enable-lora", "--max-model-len"} & set(command)


@pytest.mark.parametrize(("build", "given", "expected"), [("cuda", None, 256), ("cpu", None, 64), ("cpu", 8, 8)])
def test_gpu_runs_more_concurrent_requests(build: str, given: int | None, expected: int) -> None:
    command = ServerSettings("some/model", max_num_seqs=given).command("python", build, 8123)
    assert get_value(command, "--max-num-seqs") == str(expected)


def test_extra_arguments_come_last_and_win() -> None:
    command = ServerSettings("m", more=("--dtype", "bfloat16")).command("python", "cpu", 1)
    assert command[-2:] == ["--dtype", "bfloat16"]


def test_key_is_passed_only_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "canary-key")
    settings = ServerSettings("m", host="0.0.0.0", lora_rank=8)
    settings.check()
    theirs = settings.environment({KEY_VARIABLE: "canary-key", "HF_HUB_OFFLINE": "1", "PYTHONPATH": "ours"}, "cpu")
    assert theirs["VLLM_API_KEY"] == "canary-key"
    assert "canary-key" not in " ".join(settings.command("python", "cpu", 1)) + repr(settings)
    assert theirs["HF_HUB_OFFLINE"] == "1"
    assert "PYTHONPATH" not in theirs
    assert theirs["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "1"
    assert {"VLLM_NO_USAGE_STATS", "DO_NOT_TRACK", "VLLM_CPU_KVCACHE_SPACE"} <= set(theirs)


@pytest.mark.slow
def test_server_environment_drops_torchrun_variables(tmp_path: Path) -> None:
    """The variables are read from a process that torchrun started, so that one that a later torch adds is found."""
    script = tmp_path / "print_environment.py"
    script.write_text("import json, os; print(json.dumps(dict(os.environ)))")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", str(script)]
    before = {"PATH": os.environ["PATH"], "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(torchrun, env=before, capture_output=True, text=True, check=True)
    inherited = json.loads(done.stdout)
    assert {"TORCHELASTIC_USE_AGENT_STORE", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR"} <= set(inherited)
    theirs, alone = (ServerSettings("m").environment(variables, "cpu") for variables in (inherited, before))
    assert set(theirs) - set(alone) <= {"LC_CTYPE"}  # Python sets it if no locale is named
    assert alone.items() <= theirs.items()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_public_hosts_require_a_key(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with pytest.raises(BadOption, match=KEY_VARIABLE):
        ServerSettings("m", host=host).check()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_local_hosts_need_no_key(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    ServerSettings("m", host=host).check()


@pytest.mark.parametrize(
    ("url", "urls"),
    [
        (None, ()),
        ("http://a:8000", ("http://a:8000",)),
        ("http://a:8000, http://b:8000/", ("http://a:8000", "http://b:8000")),
    ],
)
def test_server_urls_are_comma_separated(url: str | None, urls: tuple[str, ...]) -> None:
    assert VllmSettings(url).urls == urls


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"url": "http://a,"}, "empty URL"),
        ({"url": "http://a,http://b,http://a/"}, "duplicate URL http://a"),
        ({"servers": 0}, "servers=0"),
        ({"servers": 2, "devices": ("1", "2", "3")}, "3 GPUs cannot be divided evenly among 2 servers"),
    ],
)
def test_invalid_server_settings_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        VllmSettings(**wrong)


def test_servers_of_a_run_get_separate_gpus() -> None:
    start = EngineStart(model="some/model", stops=frozenset({4}), lora_rank=8, versions=3)
    settings = make_server_settings(
        start, VllmSettings(servers=2, devices=("1", "2", "4", "5"), arguments=("-tp", "2"))
    )
    assert [one.devices for one in settings] == [("1", "2"), ("4", "5")]
    assert {(one.model, one.lora_rank, one.max_loras, one.more) for one in settings} == {
        ("some/model", 8, 3, ("-tp", "2"))
    }
    assert [one.devices for one in make_server_settings(start, VllmSettings(servers=2))] == [(), ()]


def test_refuses_ranks_above_512() -> None:
    with pytest.raises(BadOption, match="up to rank 512"):
        ServerSettings("m", lora_rank=513).check()


def test_untested_versions_get_a_remark() -> None:
    assert make_version_remark(TESTED[0]) is None
    assert make_version_remark(f"{TESTED[0]}+cpu") is None
    remark = make_version_remark("0.10.2")
    assert remark is not None
    assert "0.10.2" in remark
    assert TESTED[0] in remark


def test_setup_installs_tested_versions() -> None:
    for build in BUILDS.values():
        [vllm] = [r for r in build.requirements if r.startswith("vllm")]
        assert vllm.partition("==")[2] in TESTED
