"""Setup with the real pip and a wheel in place of vLLM."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from gymposium.errors import GymposiumError
from gymposium_agents.engines.vllm import setup, versions
from gymposium_agents.engines.vllm.home import HOME_VARIABLE, EngineHome, find_engine_home
from gymposium_agents.engines.vllm.setup import choose_build, set_up


def build_wheel(directory: Path, *, works: bool) -> str:
    """A wheel with the modules that setup imports, and nothing else."""
    directory.mkdir()
    file = directory / "vllm-1.0-py3-none-any.whl"
    server = "" if works else "raise ImportError('a broken build')"
    info = {"METADATA": "Metadata-Version: 2.1\nName: vllm\nVersion: 1.0\n", "WHEEL": "Wheel-Version: 1.0\nTag: any\n"}
    with zipfile.ZipFile(file, "w") as made:
        for package in ("vllm", "vllm/entrypoints", "vllm/entrypoints/openai"):
            made.writestr(f"{package}/__init__.py", "")
        made.writestr("vllm/entrypoints/openai/api_server.py", server)
        made.writestr("vllm/version.py", "__version__ = '1.0'")
        for name, text in info.items():
            made.writestr(f"vllm-1.0.dist-info/{name}", text)
        made.writestr("vllm-1.0.dist-info/RECORD", "")
    return str(file)


@pytest.mark.slow
def test_setup_starts_over_until_it_completes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = EngineHome(tmp_path / "home")
    broken, whole = (build_wheel(tmp_path / str(works), works=works) for works in (False, True))
    said: list[str] = []

    def offer(requirement: str) -> None:
        monkeypatch.setitem(setup.BUILDS, "cpu", versions.Build((requirement,), (), "a stand-in"))

    offer(str(tmp_path / "nowhere.whl"))
    with pytest.raises(GymposiumError, match="pip could not install vLLM"):
        set_up(home, "cpu", say=said.append)
    offer(broken)
    with pytest.raises(GymposiumError, match=r"cannot be imported:[^$]*a broken build"):
        set_up(home, "cpu", say=said.append)
    with pytest.raises(GymposiumError, match="gymposium engine setup"):
        home.require()
    offer(whole)
    said.clear()
    noted = set_up(home, "cpu", say=said.append)
    assert "is incomplete" in said[0]
    assert noted == home.require()
    assert noted["version"] == "1.0"
    said.clear()
    assert set_up(home, "cpu", say=said.append) == noted
    assert [line for line in said if "Nothing to do" not in line] == []


def test_home_defaults_to_the_user_data_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    assert find_engine_home().root == tmp_path / "gymposium" / "engines" / "vllm"
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "named"))
    assert find_engine_home().root == tmp_path / "named"
    assert find_engine_home(tmp_path / "given").root == tmp_path / "given"


def test_build_follows_the_machine_or_the_option(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert choose_build("auto") == "cpu"
    lister = tmp_path / "nvidia-smi"
    lister.write_text("#!/bin/sh\necho GPU 0: some card\n")
    lister.chmod(0o755)
    assert choose_build("auto") == "cuda"
    assert choose_build("cpu") == "cpu"
