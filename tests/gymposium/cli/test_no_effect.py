"""Options without effect are errors, and player crashes name their file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer
from tests.commands import run_command

from gymposium.cli.main import app

RUN = "run tic_tac_toe --players random,random -n 2 --out r"
REFUSED = {
    f"{RUN} --seed 1 --seed 2": "--seed is given more than once.",
    f"{RUN} --swap --no-swap": "--swap is given more than once.",
    "run 2048 --players random -n 2 --no-swap": "--no-swap has no effect in 2048, which has one seat. Remove it.",
    "synth --game 2048 --players random --swap": "--swap has no effect in the single-player game 2048. Remove it.",
    "run 2048 --players random -n 2 --swap": "--swap has no effect in 2048, which has one seat. Remove it.",
    "eval random --game hex --on-illegal=": "--on-illegal is empty. Give it a value, or leave it out.",
    "eval random --preset= --game hex": "--preset is empty.",
    "run hex --players=": "--players is empty.",
    "run hex --players random,random --schedule=": "--schedule is empty.",
    "--allow= list": "--allow is empty.",
    "exploit random --game kuhn_poker --search --show 3": "--show has no effect in a search",
    "exploit random --game kuhn_poker --search -n 5": "-n 5: half of the matches are played in each seat",
    "eval random --game hex --opponents random,random": "--opponents: duplicate random. Name it once.",
    "eval random --game hex --game hex": "--game: duplicate hex. Name it once.",
    "exploit random --game kuhn_poker --seed 4": "--seed has no effect because the probabilities of random are known.",
    "play 2048 --opponent greedy": "--opponent has no effect in 2048, which has one seat. Remove it.",
    "serve-env 2048 --opponent greedy --dockerfile": "--opponent greedy has no effect: each game has one seat (2048).",
    "serve-env tic_tac_toe --dockerfile --port 1 --idle 9": "--idle, --port have no effect with --dockerfile.",
    "eval random --game 2048 --opponents greedy": "--opponents greedy: all games are single-player (2048).",
    "exploit random --game kuhn_poker --simulations 10": "--simulations has no effect without --search.",
    "exploit random --game kuhn_poker --replies 9 -n 8": "-n has no effect without --search.",
    "exploit random --game kuhn_poker --replies 9 -n8": "-n has no effect without --search.",
    "exploit random --game kuhn_poker --replies 9 --matches=8": "--matches has no effect without --search.",
    "exploit random --game kuhn_poker --search --replies 9": "--replies has no effect in a search",
    "view empty --export pages": "--export: empty has no matches, training runs or reports.",
    "view empty --export pages --port 9": "--port has no effect beside --export.",
    "leaderboard run --out board --seed 3": "--seed has no effect without --add.",
    "plugins check --list --quick": "--quick has no effect with --list.",
    "train --presets --game hex": "--game has no effect with --presets.",
}


@pytest.mark.parametrize("line", REFUSED)
def test_option_without_effect_is_an_error(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        typer.main.get_command(app)(line.split(), prog_name="gymposium")
    assert stop.value.code == 2
    assert f"error: {REFUSED[line]}" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


PLUGIN = """
from gymposium.plugins.hookspecs import hookimpl
from gymposium.plugins.specs import OpponentSpec
from gymposium.replies.reading import READERS

class Boom:
    name, reader, style = "boom", READERS["move"], "compact"

    def act(self, asks):
        return [1 / 0 for _ in asks]

@hookimpl
def gymposium_opponents():
    yield OpponentSpec(name="boom", form="boom", pattern="boom", entry_point="boom:Boom", summary="Fails.")
"""


@pytest.mark.parametrize(
    "verb",
    [
        "run tic_tac_toe --players random,boom",
        "eval random --game tic_tac_toe --opponents boom",
        "synth --game tic_tac_toe --players random,boom --by 1",
    ],
)
def test_worker_crash_names_the_player_and_its_file(verb: str, tmp_path: Path) -> None:
    file = tmp_path / "boom.py"
    file.write_text(PLUGIN)
    command = ("--plugin", "boom.py", *verb.split(), "-n", "2", "--jobs", "1")
    done = run_command(*command, folder=tmp_path, env=os.environ)
    assert f"error: The player 'boom' failed in {file}, 2 times. ZeroDivisionError: division by zero\n" in done.stderr
