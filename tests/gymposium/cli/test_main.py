"""The command `gymposium`: verbs from plugins, lazy imports, and errors on one line."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

VERBS = {"list", "info", "play", "run", "replay", "verify", "view", "plugins"}
FIRST_PARTY = {"GYMPOSIUM_PLUGINS": ""}
"""Environment without any plugin but the built-in one."""


def only_error(done: subprocess.CompletedProcess[str]) -> str:
    """The error line of a command."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    return line.removeprefix("error: ")


def test_help_lists_every_verb_and_imports_no_engine() -> None:
    code = (
        "import sys\n"
        "from gymposium.cli.main import main\n"
        "sys.argv = ['gymposium', '--help']\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'torch', 'pyspiel', 'scipy', 'transformers', 'peft', 'stable_baselines3'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"}, check=False
    )
    assert run.returncode == 0, run.stderr
    from gymposium.plugins.host import host

    assert host().commands.keys() >= VERBS
    for spec in host().commands.values():
        group, _, below = spec.name.partition(" ")
        assert group in run.stdout
        if below:  # a command of another package below one of gymposium's own
            continue
        assert spec.summary in run.stdout


@pytest.mark.parametrize(
    "arguments", ["--version", "list --json", "info kuhn_poker", "run tic_tac_toe -n x", "--plugin a.py list"]
)
def test_forked_command_behaves_like_a_process(arguments: str, gymposium: Run, tmp_path: Path) -> None:
    forked = gymposium(*arguments.split())
    env = {**os.environ, "COLUMNS": "200", "GYMPOSIUM_PLUGINS_STRICT": "1"}
    started = subprocess.run(forked.args, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


@pytest.mark.parametrize("verb", [*sorted(VERBS - {"plugins"}), "plugins list"])
def test_help_of_each_verb_has_examples(gymposium: Run, verb: str) -> None:
    done = gymposium(*verb.split(), "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout
    assert f"    gymposium {verb}" in done.stdout


def test_unknown_verb_suggests_the_nearest(gymposium: Run) -> None:
    advice = "Did you mean 'run' or 'train'? If a plugin file adds it, load that file:  gymposium --plugin FILE …"
    assert only_error(gymposium("rnu")) == f"Unknown command 'rnu'. {advice}"


@pytest.mark.parametrize(
    ("verb", "distribution"), [("eval", "gymposium-agents"), ("sb3", "gymposium-sb3"), ("train", "gymposium-train")]
)
def test_disabled_verb_says_how_to_enable_it(gymposium: Run, verb: str, distribution: str) -> None:
    line = only_error(gymposium(verb, "--whatever", env=FIRST_PARTY))
    assert line.startswith(f"The command {verb!r} comes from {distribution}, which is switched off. Switch it on:")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["info", "tic_tac_to"], "Unknown game 'tic_tac_to'. Did you mean 'tic_tac_toe' or"),
        (["info", "hive"], "Unknown game 'hive'. OpenSpiel has one: write 'openspiel:hive'."),
        (["info", "goofspiel(num_cards=99)"], "num_cards=99: must be from 2 to 16."),
        (["info", "kuhn_poker", "--style", "long"], "'full' or 'compact'"),
        (["info", "kuhn_poker", "--reply", "jso"], "Did you mean 'json'?"),
        (["play", "kuhn_poker", "--opponent", "mct-5"], "Unknown player 'mct-5'. Did you mean 'mcts-N'?"),
        (["play", "kuhn_poker", "--seat", "2"], "--seat 2: kuhn_poker has seats 0 to 1."),
        (["run", "kuhn_poker", "--players", "random"], "kuhn_poker needs 2 players, not 1."),
        (["run", "kuhn_poker", "--players", "human,random"], "gymposium --no-plugins play kuhn_poker"),
        (["run", "kuhn_poker", "--players", "random,lm:x"], "comes from gymposium-agents, which is switched off"),
        (["run", "kuhn_poker", "--players", "random,random", "--on-illegal", "shrug"], "on_illegal='shrug'"),
        (["run", "openspiel:skat", "--players", "mcts-5,random,random"], "Use the random player instead"),
        (["run", "kuhn_poker", "--players", "random,random", "--out", "/dev/null/x"], "--out /dev/null/x: cannot be"),
        (["--plugin", "missing.py", "list"], "missing.py: the file does not exist"),
        (["info", "goofspiel", "num_card=5"], "Did you mean 'num_cards'?"),
        (["info", "goofspiel", "5"], "Invalid parameter '5' of goofspiel. Use NAME=VALUE, such as num_cards=5."),
        (["info", "goofspiel(num_cards=5)", "num_cards=6"], "has a duplicate parameter 'num_cards'."),
        # what Typer finds
        (["info"], "GAME is missing. Help:  gymposium --no-plugins info --help"),
        (["run", "kuhn_poker", "--sed", "3"], "Unknown option '--sed'. Did you mean '--seed'"),
        (
            ["run", "kuhn_poker", "-n", "0"],
            "--matches: must be greater than or equal to 1. Help:  gymposium --no-plugins run",
        ),
        (["run", "kuhn_poker", "-n", "x"], "--matches: must be a valid integer"),
        (["run", "kuhn_poker", "-n"], "Option '-n' requires an argument. Help:  gymposium --no-plugins run --help"),
        (["replay", "nowhere"], "PATH: path 'nowhere' does not exist. Help:  gymposium --no-plugins replay --help"),
        (["plugins", "lis"], "Unknown command of gymposium plugins 'lis'. Did you mean 'list'?"),
        (["--foo"], "Unknown option '--foo'. Did you mean '--allow'? Help:  gymposium --no-plugins --help"),
        (["--plugin"], "Option '--plugin' requires an argument. Help:  gymposium --no-plugins --help"),
    ],
)
def test_errors_are_one_actionable_line(gymposium: Run, arguments: list[str], told: str) -> None:
    assert told in only_error(gymposium(*arguments, env=FIRST_PARTY))


def test_game_parameters_are_accepted_inside_or_after_the_name(gymposium: Run) -> None:
    told = gymposium("info", "goofspiel", "num_cards=5", "points_order=descending", "--json")
    assert json.loads(told.stdout)["name"] == "goofspiel(num_cards=5,points_order=descending)"
    assert told.stdout == gymposium("info", "goofspiel(num_cards=5)", "points_order=descending", "--json").stdout
    run = gymposium("run", "goofspiel", "num_cards=3", "--players", "random,random", "-n", "2", "--out", "run")
    assert run.stdout.startswith("goofspiel(num_cards=3): 2 matches")
    assert "goofspiel(num_cards=3)" in gymposium("replay", "run").stdout


def test_version(gymposium: Run) -> None:
    from importlib.metadata import version

    assert gymposium("--version").stdout == f"gymposium {version('gymposium')}\n"


def test_one_file_plugin_adds_verbs_and_players(gymposium: Run, stutter: str) -> None:
    assert gymposium("--plugin", stutter, "shout", "hello").stdout == "HELLO\n"
    assert "Say it loud." in gymposium("--plugin", stutter, "--help").stdout
    helped = [line.strip() for line in gymposium("--plugin", stutter, "shout", "--help").stdout.splitlines()]
    assert "Print a word in capitals." in helped
    assert "The word is any word." in helped
    assert helped[helped.index("gymposium shout one") + 1] == "gymposium shout two"
    lost = only_error(gymposium("--plugin", stutter, "lost"))
    assert lost.startswith("Plugin 'stutter': its command 'lost' could not be loaded from stutter_is_not_here:lost: ")
    assert "No module named 'stutter_is_not_here'" in lost
    for arguments in (["info", "gone"], ["run", "gone", "--players", "random,random"]):
        gone = only_error(gymposium("--plugin", stutter, *arguments))
        assert gone.startswith("Plugin 'stutter': its game 'gone' could not be loaded from stutter_is_not_here:gone: ")
    absent = only_error(gymposium("--plugin", stutter, "run", "kuhn_poker", "--players", "random,absent"))
    assert absent.startswith("Plugin 'stutter': its player 'absent' could not be loaded from stutter:absent: ")
    assert "has no attribute 'absent'" in absent
    players = json.loads(gymposium("--plugin", stutter, "list", "--json").stdout)["players"]
    assert "stutter" in [player["form"] for player in players]
    assert "Unknown command 'shout'." in only_error(gymposium("shout", "hello"))
    for arguments in (("shout",), ("shout", "hello", "--low")):
        helps = only_error(gymposium("--plugin", stutter, *arguments)).partition("Help:  gymposium ")[2]
        assert gymposium(*shlex.split(helps)).returncode == 0, helps


@pytest.mark.slow
def test_no_plugins_keeps_built_ins(gymposium: Run, stutter: str, tmp_path: Path) -> None:
    info = tmp_path / "site" / "nim-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nim\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[gymposium]\nnim = nim_plugin\n")
    (tmp_path / "site" / "nim_plugin.py").write_text(
        "from gymposium import GameSpec, hookimpl\n@hookimpl\ndef gymposium_games():\n"
        "    yield GameSpec(name='nim', title='Nim', summary='Sticks.', entry_point='nim_game:Nim')\n"
    )
    env = {"PYTHONPATH": str(tmp_path / "site")}

    def games(*options: str) -> list[str]:
        return [game["name"] for game in json.loads(gymposium(*options, "list", "--json", env=env).stdout)["games"]]

    assert "nim" in games()
    without = games("--no-plugins")
    assert "nim" not in without
    assert "tic_tac_toe" in without
    players = gymposium("--no-plugins", "--plugin", stutter, "list", env=env).stdout
    assert "stutter" in players
    assert "before --plugin" in only_error(gymposium("--plugin", stutter, "--no-plugins", "list", env=env))
    listed = json.loads(gymposium("--no-plugins", "plugins", "list", "--json", env=env).stdout)["plugins"]
    assert {p["status"] for p in listed if p["name"] != "builtin"} == {"disabled"}
    code = (
        "import gymnasium, typer\n"
        "from gymposium.cli.main import app\n"
        "assert 'TextNim-v0' in gymnasium.registry\n"
        "typer.main.get_command(app).main(['--no-plugins', 'list'], standalone_mode=False)\n"
        "assert 'TextNim-v0' not in gymnasium.registry\n"
        "assert 'TextTicTacToe-v0' in gymnasium.registry\n"
    )
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, check=True, capture_output=True)


@pytest.mark.slow
def test_plugins_list_shows_the_status_of_each(gymposium: Run, tmp_path: Path) -> None:
    for name, source in {"fine": "GYMPOSIUM_API = 1\n", "sad": "import there_is_no_such_module\n"}.items():
        info = tmp_path / "site" / f"{name}-2.5.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.5\n")
        (info / "entry_points.txt").write_text(f"[gymposium]\n{name} = {name}_plugin\n")
        (tmp_path / "site" / f"{name}_plugin.py").write_text(
            source + "from gymposium import OpponentSpec, hookimpl\n@hookimpl\ndef gymposium_opponents():\n"
            "    yield OpponentSpec(name='x', form='x-N', pattern='x-.', summary='S', entry_point='nowhere:X')\n"
        )
    env = {
        "PYTHONPATH": str(tmp_path / "site"),
        "GYMPOSIUM_PLUGINS": "fine,sad",
        "GYMPOSIUM_PLUGINS_STRICT": "",
    }
    [line] = gymposium("list", env=env).stderr.splitlines()
    assert line.startswith("warning: gymposium plugin 'sad' (sad_plugin) is broken and was left out: ")
    assert gymposium("--no-plugins", "list", env=env).stderr == ""
    script = Path(sys.executable).with_name("gymposium")
    done = subprocess.run([script, "list"], env={**os.environ, **env}, capture_output=True, text=True, check=True)
    assert done.stderr.count("sad_plugin") == 1, "the script that pip makes says it as -m does"
    done = gymposium("plugins", "list", "--json", env=env)
    assert done.stderr == ""  # the reason is in the list
    plugins = {plugin["name"]: plugin for plugin in json.loads(done.stdout)["plugins"]}
    assert plugins["fine"]["distribution"] == "fine"
    assert plugins["fine"]["version"] == "2.5"
    assert plugins["fine"]["status"] == "active"
    assert plugins["fine"]["adds"] == {
        "games": [],
        "players": ["x-N"],
        "rewards": [],
        "loggers": [],
        "engines": [],
        "credits": [],
        "objectives": [],
        "sources": [],
        "backends": [],
        "executors": [],
        "commands": [],
        "disguises": [],
    }
    assert plugins["sad"]["status"] == "broken"
    assert "there_is_no_such_module" in plugins["sad"]["error"]
    assert plugins["builtin"]["adds"]["commands"] == [
        *("list", "info", "play", "run", "replay", "verify", "review", "exploit", "serve-env", "plugins"),
    ]
    table = gymposium("plugins", "list", env=env).stdout
    assert "No module named 'there_is_no_such_module'" in table
    assert "x-N" in table


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_exits_with_130(tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-m", "gymposium.cli.main", "play", "tic_tac_toe"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in background jobs of a shell
    ) as process:
        assert process.stdout is not None
        seen = ""
        while not seen.endswith("seat 0> "):
            seen += process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130
    assert errors == "Stopped. Nothing is recorded.\n"
    assert not (tmp_path / "gymposium-runs").exists()
