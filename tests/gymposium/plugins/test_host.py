"""The plugin host with real distributions: a broken plugin does not affect others."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gymposium.errors import PluginError
from gymposium.plugins import hookspecs
from gymposium.plugins.hookspecs import API_VERSION, HOOKS
from gymposium.plugins.host import Host
from gymposium.plugins.plugin import Plugin
from gymposium.util.child_process import make_python_command, make_python_environment

Install = Callable[..., None]
HEAD = "from gymposium import CommandSpec, GameSpec, OpponentSpec, Parameter, hookimpl\n"
GOOD = (
    HEAD
    + """
@hookimpl
def gymposium_games():
    yield GameSpec(name="nim", title="Nim", summary="Take sticks.", entry_point="nim_game:Nim")

@hookimpl
def gymposium_opponents():
    return [OpponentSpec(name="hasty", form="hasty", pattern="hasty", summary="M", entry_point="nim_game:greedy")]
"""
)


def one_game(name: str, *, more: str = "") -> str:
    return (
        HEAD
        + f"""
@hookimpl
def gymposium_games():
    yield GameSpec(name="{name}", title="T", summary="S", entry_point="nowhere:Game")
    {more}
"""
    )


BROKEN = {
    "no_module": ("import there_is_no_such_module", "ModuleNotFoundError: No module named 'there_is_no_such_module'"),
    "syntax": ("def (:", "SyntaxError"),
    "leaves": ("import sys; sys.exit('bye')", "SystemExit: bye"),
    "wrong_argument": (HEAD + "@hookimpl\ndef gymposium_games(registry):\n    yield", "registry"),
    "misspelled": (HEAD + "@hookimpl\ndef gymposium_gamse():\n    yield", "Did you mean 'gymposium_games'"),
    "raises": (one_game("halfway", more="raise RuntimeError('no license')"), "RuntimeError: no license"),
    "duplicate": (one_game("tic_tac_toe"), "'tic_tac_toe', which builtin already has"),
    "same_id": (one_game("tic__tac_toe"), "TextTicTacToe-v0, which 'tic_tac_toe' of builtin already has"),
    "twice": (one_game("again", more="yield from gymposium_games()"), "'again', which this plugin already has"),
    "wrong_api": ("GYMPOSIUM_API = 99\n" + one_game("future"), f"plugin API 99, but this gymposium has {API_VERSION}"),
    "older_api": ("GYMPOSIUM_API = 0\n" + one_game("past"), f"plugin API 0, but this gymposium has {API_VERSION}"),
    "not_a_spec": (one_game("before", more="yield 'chess'"), "must yield GameSpec, not 'chess'"),
    "nothing": (HEAD + "@hookimpl\ndef gymposium_games():\n    pass", "returned None. It must yield GameSpec"),
    "bad_spec": (one_game("Bad Name"), "game name 'Bad Name' must be lower-case"),
    **{
        f"bad_{name}": (
            one_game("odd").replace("summary=", f"{name}='x', summary="),
            f"ValueError: game odd: {name}='x' must be one of",
        )
        for name in ("information", "dynamics", "utility", "tools")
    },
    **{
        f"odd_{number}": (
            one_game("odd").replace('title="T"', f"**{{'title': 'T', **dict({fields})}}"),
            complaint if complaint.startswith("entry") else f"ValueError: game odd: {complaint}",
        )
        for number, (fields, complaint) in enumerate(
            {
                "title=None": "title=None must be text",
                "seats=2.0": "seats=2.0 must be a whole number",
                "seats=True": "seats=True must be a whole number",
                "version='b'": "version='b' must be a whole number",
                "version=-1": "version must be 0 or more, not -1",
                "namespace='ex amples/x'": "namespace='ex amples/x' must be letters",
                "chance=1": "chance=1 must be True or False",
                "seat_names=[1, 2]": "seat_names=[1, 2] must be a tuple, each item text",
                "after_colon='nope'": "after_colon='nope' must name a text parameter",
                "replay='nope'": "entry_point 'nope' must have the form",
                "tools='pure'": "tools='pure' needs free_text=True",
                "parameters=(Parameter(name='players', default=2, help='', low=-3),)": "the least value of",
                "parameters=(Parameter(name='players', default=2, help=''),)": "the least value of",
                "examples=({1: 2},)": "examples=({1: 2},) must be a tuple, each item a mapping from text",
            }.items()
        )
    },
    "no_hooks": ("def gymposium_games():\n    yield", "implements no hooks. Is @hookimpl missing?"),
    "wrapper": (HEAD + "@hookimpl(wrapper=True)\ndef gymposium_games():\n    return (yield)", "is a wrapper"),
}


def load(names: list[str], site: Path, monkeypatch: pytest.MonkeyPatch, *, strict: bool = False) -> Host:
    """A host with these plugins only."""
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("GYMPOSIUM_PLUGINS", ",".join(names))
    return Host(strict=strict)


def named(host: Host, name: str) -> Plugin:
    [plugin] = [p for p in host.plugins if p.name == name]
    return plugin


def test_good_plugin_is_loaded_completely(install: Install, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("nim", GOOD, nim_game="raise ImportError('imported before it is used')")
    host = load(["nim"], site, monkeypatch)
    assert host.games["nim"].env_id == "TextNim-v0"
    assert host.opponents["hasty"].form == "hasty"
    plugin = named(host, "nim")
    assert (plugin.status, plugin.distribution, plugin.version) == ("active", "nim-dist", "1.2")
    assert [spec.name for spec in plugin.specs] == ["nim", "hasty"]
    assert "nim_game" not in sys.modules
    with pytest.raises(
        PluginError, match=r"'nim': its game 'nim' .* nim_game:Nim: ImportError: imported before"
    ) as caught:
        host.make_game("nim", {})
    assert isinstance(caught.value.__cause__, ImportError)


@pytest.mark.parametrize("case", BROKEN)
def test_broken_plugin_is_skipped_with_its_reason(
    case: str, install: Install, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, reason = BROKEN[case]
    install(f"b_{case}", source)
    install("znim", GOOD.replace('"nim"', '"znim"').replace('"hasty"', '"zhasty"'))  # loaded after it
    host = load([f"b_{case}", "znim"], site, monkeypatch)
    [told] = host.list_complaints()
    assert reason in told
    assert f"GYMPOSIUM_DISABLE_PLUGINS=b_{case}" in told
    plugin = named(host, f"b_{case}")
    assert plugin.status == "broken"
    assert reason in plugin.error
    assert plugin.specs == []
    builtin = Host(autoload=False)
    assert host.games.keys() == builtin.games.keys() | {"znim"}
    assert host.opponents.keys() == builtin.opponents.keys() | {"zhasty"}


def test_strict_mode_raises_for_broken_plugins(install: Install, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("sad", "raise RuntimeError('no license')")
    with pytest.raises(PluginError, match=r"'sad'.*no license") as caught:
        load(["sad"], site, monkeypatch, strict=True)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_failure_in_one_hook_discards_the_plugin(install: Install, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The games are fine; the players that come after them are not."""
    install("half", GOOD.replace("return [OpponentSpec", "return ['x', OpponentSpec"))
    host = load(["half"], site, monkeypatch)
    assert "must yield OpponentSpec" in named(host, "half").error
    assert "nim" not in host.games


def test_first_plugin_keeps_a_contested_game(install: Install, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("aaa", one_game("shared"))
    install("bbb", GOOD.replace('"nim"', '"shared"'))
    host = load(["aaa", "bbb"], site, monkeypatch)
    assert "'shared', which aaa already has" in named(host, "bbb").error
    assert named(host, "aaa").status == "active"
    assert [p.name for p in host.plugins if any(s.name == "shared" for s in p.specs)] == ["aaa"]
    assert "hasty" not in host.opponents


def test_second_plugin_of_the_same_name_is_refused(
    install: Install, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second plugin is refused, and the first one stays unchanged."""
    install("twin", one_game("first"))
    info = site / "other-3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 3\n")
    (info / "entry_points.txt").write_text("[gymposium]\ntwin = zz_other_module\n")
    (site / "zz_other_module.py").write_text(one_game("second"))
    host = load(["twin"], site, monkeypatch)
    assert "another plugin already has the name 'twin'" in host.list_complaints()[0]
    assert "first" in host.games
    assert "second" not in host.games
    sys.modules.pop("zz_other_module")
    assert [(p.distribution, p.status) for p in host.plugins if p.name == "twin"] == [
        ("twin-dist", "active"),
        ("other", "broken"),
    ]


def test_missing_metadata_breaks_only_its_distribution(
    install: Install, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("bare", one_game("bare"))
    (site / "bare_dist-1.2.dist-info" / "METADATA").unlink()
    install("whole", one_game("whole"))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("GYMPOSIUM_DISABLE_PLUGINS", "2048,agents,train")
    host = Host(strict=False)
    assert named(host, "bare").status == "broken"
    assert "whole" in host.games


@pytest.mark.parametrize(
    ("only", "without", "loaded"),
    [
        ("", "", set()),
        ("aaa", "", {"aaa"}),
        ("aaa-dist, bbb", "", {"aaa", "bbb"}),
        ("AAA_dist", "", {"aaa"}),
        ("aaa,bbb", "bbb", {"aaa"}),
        (None, "aaa-dist", {"bbb"}),
        (None, "aaa,bbb_DIST", set()),
    ],
)
def test_allow_and_deny_lists(
    only: str | None, without: str, loaded: set[str], install: Install, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("aaa", "bbb"):
        install(name, one_game(f"game_{name}"))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("GYMPOSIUM_DISABLE_PLUGINS", without)
    monkeypatch.delenv("GYMPOSIUM_PLUGINS", raising=False)
    if only is not None:
        monkeypatch.setenv("GYMPOSIUM_PLUGINS", only)
    host = Host()
    assert {p.name for p in host.plugins if p.status == "active"} & {"aaa", "bbb"} == loaded
    assert {p.name for p in host.plugins if p.status == "disabled"} & {"aaa", "bbb"} == {"aaa", "bbb"} - loaded
    assert {name for name in host.games if name.startswith("game_")} == {f"game_{name}" for name in loaded}


def test_disabled_plugin_is_not_imported(install: Install, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("bomb", "raise RuntimeError('imported')")
    host = load([], site, monkeypatch)
    assert named(host, "bomb").status == "disabled"


def test_allow_list_warns_about_unknown_names(install: Install, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("chess", one_game("chess"))
    [told] = load(["ches"], site, monkeypatch).list_complaints()
    assert "GYMPOSIUM_PLUGINS: Unknown installed plugin 'ches'. Did you mean 'chess'" in told


def test_optional_hooks_of_a_newer_host_are_skipped(
    install: Install, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("newer", HEAD + "@hookimpl(optionalhook=True)\ndef gymposium_of_tomorrow():\n    yield\n" + one_game("old"))
    assert "old" in load(["newer"], site, monkeypatch).games


def test_hook_function_may_have_another_name(install: Install, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        "alias",
        one_game("aliased")
        .replace("@hookimpl", '@hookimpl(specname="gymposium_games")')
        .replace("def gymposium_games", "def my_games"),
    )
    assert "aliased" in load(["alias"], site, monkeypatch).games


def test_one_file_plugin_loads(tmp_path: Path) -> None:
    file = tmp_path / "one_file_nim.py"
    file.write_text(GOOD.replace("nim_game:", "one_file_nim:") + "\ndef Nim(spec, params):\n    return 'a game'\n")
    host = Host(autoload=False)
    try:
        plugin = host.load_file(file)
        assert (plugin.name, plugin.source, plugin.status) == ("one_file_nim", str(file), "active")
        assert host.make_game("nim", {}) == "a game"
        assert host.load_file(file) is plugin, "it is not loaded again"
        other = tmp_path / "other" / file.name
        other.parent.mkdir()
        other.write_text(file.read_text())
        with pytest.raises(PluginError, match="another module has the name 'one_file_nim'"):
            host.load_file(other)
        assert host.make_game("nim", {}) == "a game"
    finally:
        sys.modules.pop("one_file_nim", None)


def test_plugin_may_use_the_host_during_import(
    install: Install, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from gymposium import make_player\nRANDOM = make_player('random')\n"
    install("asks_installed", source + one_game("installed"))
    for name in ("asks_chosen", "asks_inherited"):
        (tmp_path / f"{name}.py").write_text(source + one_game(name))
    settings = tmp_path / "gymposium.toml"
    settings.write_text(f"plugins = [{str(tmp_path / 'asks_chosen.py')!r}]")
    variables = {
        "PYTHONPATH": str(site),
        "GYMPOSIUM_CONFIG": str(settings),
        "GYMPOSIUM_PLUGIN_FILES": str(tmp_path / "asks_inherited.py"),
        "GYMPOSIUM_PLUGINS": "asks_installed,asks_chosen",
        "GYMPOSIUM_PLUGINS_STRICT": "1",
    }
    code = "from gymposium.plugins.host import host; print(sorted(host().games))"
    ran = subprocess.run(
        make_python_command("-c", code),
        env=make_python_environment({**os.environ, **variables}),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    for name in ("installed", "asks_chosen", "asks_inherited"):
        assert f"'{name}'" in ran.stdout


def test_broken_file_can_be_fixed_and_reloaded(tmp_path: Path) -> None:
    file = tmp_path / "mended.py"
    file.write_text(one_game("mine", more="raise ValueError('half done')"))
    host = Host(autoload=False)
    with pytest.raises(PluginError, match=r"mended\.py: ValueError: half done"):  # and no warning beside it
        host.load_file(file)
    assert "mine" not in host.games
    assert [p.name for p in host.plugins] == ["builtin"]
    file.write_text(one_game("mine") + "# whole\n")
    try:
        host.load_file(file)
        assert "mine" in host.games
    finally:
        sys.modules.pop("mended", None)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing.py", "the file does not exist"),
        ("notes.txt", "not a Python file"),
        ("my-game.py", "is not a valid module name"),
        ("json.py", "another module has the name 'json'"),
        ("pettingzoo.py", "another module has the name 'pettingzoo'"),
        ("this.py", "another module has the name 'this'"),  # not imported, but it can be
    ],
)
def test_invalid_plugin_files_are_refused(name: str, reason: str, tmp_path: Path) -> None:
    if name != "missing.py":
        (tmp_path / name).write_text(one_game("x"))
    with pytest.raises(PluginError, match=reason):
        Host(autoload=False).load_file(tmp_path / name)


@pytest.mark.parametrize("hop", ["loop.py", "nowhere.py", "/dev/zero"])
def test_link_to_no_file_is_refused(hop: str, tmp_path: Path) -> None:
    (tmp_path / "loop.py").symlink_to(hop)
    with pytest.raises(PluginError, match=r"does not exist|not a Python file|not a valid module name"):
        Host(autoload=False).load_file(tmp_path / "loop.py")


def test_huge_file_is_refused_before_reading(tmp_path: Path) -> None:
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(6_000_000_000)
    with pytest.raises(PluginError, match="more than 10,000,000 bytes"):
        Host(autoload=False).load_file(tmp_path / "huge.py")


def test_every_hook_is_documented_with_an_example() -> None:
    written = {name for name in dir(hookspecs) if name.startswith("gymposium_")}
    assert written == HOOKS.keys()
    for name, spec in HOOKS.items():
        doc = getattr(hookspecs, name).__doc__ or ""
        assert "Example:" in doc, name
        assert f"yield {spec.__name__}(" in doc, name


def test_hook_examples_are_valid() -> None:
    for name, spec in HOOKS.items():
        doc = getattr(hookspecs, name).__doc__
        [example] = doc.split("`yield ")[1:]
        made = eval(" ".join(example.split("`")[0].split()), {spec.__name__: spec})
        assert isinstance(made, spec)


def test_process_works_with_a_broken_plugin(install: Install, site: Path) -> None:
    """Import, environments and the command work; the warning is shown once."""
    install("broken", "import there_is_no_such_module")
    install("nim", GOOD, nim_game="raise ImportError('imported before it is used')")
    code = (
        "import gymnasium, gymposium\n"
        "from gymposium.envs.registration import register_envs\n"
        "from gymposium.plugins.host import host\n"
        "register_envs(); host(); host()\n"
        "import json; print(json.dumps([sorted(host().games), 'TextNim-v0' in gymnasium.registry]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(site), "GYMPOSIUM_PLUGINS": "nim,broken"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    games, registered = json.loads(run.stdout)
    assert "nim" in games
    assert "tic_tac_toe" in games
    assert registered
    assert run.stderr.count("is broken and was left out") == 1
    # it points to the line that imports gymposium, none of our own
    assert run.stderr.startswith("<string>:1: PluginWarning: gymposium plugin 'broken' (broken_module) is broken")
    as_errors = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert as_errors.stdout == run.stdout
    assert as_errors.stderr.startswith("gymposium plugin 'broken' (broken_module) is broken")
    strict = subprocess.run(
        [sys.executable, "-c", "import gymposium"],
        env={**environment, "GYMPOSIUM_PLUGINS_STRICT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert strict.returncode != 0
    assert "there_is_no_such_module" in strict.stderr.splitlines()[-1]
