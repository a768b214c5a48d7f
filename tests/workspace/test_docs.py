"""The documentation is complete: hooks, decisions and pages are listed, and examples are real plugins."""

from __future__ import annotations

import json
import os
import re
from itertools import pairwise
from pathlib import Path

import pytest
from tests.commands import run_command

from gymposium.games.registry import load_game
from gymposium.plugins.hookspecs import HOOKS
from gymposium.plugins.host import host

ROOT = Path(__file__).resolve().parents[2]
HOOK_PAGES = ROOT / "docs" / "reference" / "hooks"
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_page_naming_its_spec(hook: str) -> None:
    page = (HOOK_PAGES / f"{hook}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {hook}\n")
    assert f"gymposium.plugins.hookspecs.{hook}" in page
    assert HOOKS[hook].__name__ in page
    assert f"({hook}.md)" in (HOOK_PAGES / "index.md").read_text(encoding="utf-8")


def test_every_hook_page_has_a_hook() -> None:
    assert {page.stem for page in HOOK_PAGES.glob("gymposium_*.md")} == set(HOOKS)


def test_decisions_are_numbered_without_gaps() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        assert re.match(rf"# {int(page.name[:4])}\. ", page.read_text(encoding="utf-8"))


PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "games"]
"""What people read in the repository; the pages of the games are made when the site is built."""
BESIDE = [page for where in ("", "packages/*/", "plugins/*/", "benchmarks/") for page in ROOT.glob(f"{where}*.md")]
LINK = re.compile(r"(?<![\w\])])(!?)\[([^\[\]]*)\]\((?!\w+:|#)([^)\s#]+)[^)\s]*\)")


def title(page: Path) -> str:
    """The title of a page, without the number of a decision."""
    found = re.search(r"(?m)^# (?:\d+\. )?(.+)$", page.read_text(encoding="utf-8"))
    assert found
    return found[1]


@pytest.mark.parametrize("page", [*PAGES, *sorted(BESIDE)], ids=lambda page: str(page.relative_to(ROOT)))
def test_markdown_links_have_text_and_existing_targets(page: Path) -> None:
    for image, words, target in LINK.findall(page.read_text(encoding="utf-8")):
        assert image or words, target
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("folder", ["", "decisions"])
def test_index_pages_use_page_titles(folder: str) -> None:
    index = ROOT / "docs" / folder / "index.md"
    listed = re.findall(r"(?m)^- \[(?:\d+\. )?(.+)\]\((\S+)\)$", index.read_text(encoding="utf-8"))
    assert len(listed) == index.read_text(encoding="utf-8").count("\n- [")  # the site reads whole lines
    for words, target in listed:
        assert words == title(index.parent / target)


def test_module_index_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import module_index

    assert module_index.PAGE.read_text(encoding="utf-8") == module_index.page(), "run: python docs/module_index.py"


def test_page_groups_are_short() -> None:
    groups = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(groups) > 10
    assert all(group.count("\n- [") <= 9 for group in groups)


TUTORIALS = ["first-environment", "evaluate-a-model", "your-own-game", "train-a-model", "run-a-board"]


def test_each_tutorial_links_to_the_next() -> None:
    index = (
        (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("\n## Tutorials\n")[2].partition("\n## ")[0]
    )
    assert re.findall(r"\(tutorials/(\S+)\.md\)", index) == TUTORIALS
    for page, following in pairwise(TUTORIALS):
        ending = (ROOT / "docs" / "tutorials" / f"{page}.md").read_text(encoding="utf-8").rpartition("\n## ")[2]
        assert f"]({following}.md)" in ending, page


def gymposium(*arguments: str | Path, folder: Path, typed: str = "") -> str:
    """What the command prints, with one of the examples loaded from its file."""
    done = run_command(*arguments, folder=folder, env={**os.environ, "COLUMNS": "120"}, typed=typed)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_conform(file: Path, tmp_path: Path) -> None:
    told = gymposium("--plugin", file, "plugins", "check", file.stem, "--quick", "--json", folder=tmp_path)
    found = json.loads(told)
    assert found["failed"] == 0
    assert found["passed"] > 50


def test_one_file_plugin_works_with_every_verb(tmp_path: Path) -> None:
    [nim] = [file for file in EXAMPLES if file.stem == "nim"]
    run, match = tmp_path / "run", tmp_path / "match"
    records = (run / "matches.jsonl", match / "matches.jsonl")
    for arguments, shown in (
        (("list",), "examples/TextNim-v0"),
        (("info", "nim(sticks=5)"), "5 sticks lie on the table"),
        (("plugins", "list"), str(nim.parent)),
        (("run", "nim", "--players", "mcts-10,random", "-n", "3", "--out", run), "nim: 3 matches"),
        (("play", "nim(sticks=3)", "--opponent", "random", "--out", match), "win, +1"),
        (("replay", records[0]), "Sticks left: 0."),
        (("verify", *records), "1 match played again; all agree"),
    ):
        assert shown in gymposium("--plugin", nim, *arguments, folder=tmp_path, typed="take 3\n"), arguments


def test_pages_include_every_example_in_full() -> None:
    guide = (ROOT / "docs" / "how-to" / "game-plugin.md").read_text(encoding="utf-8")
    for file in EXAMPLES:
        assert f"```{{literalinclude}} ../examples/{file.name}\n" in guide


def test_every_game_has_a_generated_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    import game_pages

    game_pages.write_pages(tmp_path)
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    for name, spec in host().games.items():
        page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        game = load_game(name)
        assert page.startswith(f"# {spec.title}\n")
        assert all(
            f"| `{p.name}` | `{p.default}` | {p.describe_allowed()} | {p.help} |" in page for p in spec.parameters
        )
        assert game.rules(0).strip() in page
        assert game.rules(0, "compact").strip() in page
        assert page.count("### Seat ") == game.seats
        assert "This seat had no turn" not in page
        assert f"({name}.md)" in index


def test_game_pages_show_measured_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of one's own instead of the published ones."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    import game_pages

    rung = {"score": [0.75, 0.7, 0.8], "return": [0.5, 0.4, 0.6], "cpu_seconds_a_match": 0.25}
    seats = [{"return": [0.1, 0.0, 0.2], "results": {kind: [0.3, 0.2, 0.4] for kind in ("win", "draw", "loss")}}] * 2
    found = {
        "random": {
            "matches": 77,
            "decisions": {"mean": [7.5, 7.0, 8.0], "least": 5, "most": 9},
            "legal_moves": {"mean": 5.5, "median": 6, "most": 9},
            "seats": seats,
        },
        "ladder": [
            {"player": "mcts-7", "against": {"random": rung}},
            {"player": "exact", "refused": "exact does not play: too many positions."},
        ],
    }
    (tmp_path / "games.json").write_text(json.dumps({"games": {"tic_tac_toe": found}}), encoding="utf-8")
    monkeypatch.setattr(game_pages, "MEASURED", tmp_path / "games.json")
    game_pages.write_pages(tmp_path / "games")
    page = (tmp_path / "games" / "tic_tac_toe.md").read_text(encoding="utf-8")
    assert (
        "In 77 matches of uniformly random play, a match has 7.5 [7.0, 8.0] decisions on average, from 5 to 9." in page
    )
    assert "| 1 | 0.10 [0.00, 0.20] | 0.300 [0.200, 0.400] |" in page
    assert "| `mcts-7` | 0.750 [0.700, 0.800] |  | 0.50 [0.40, 0.60] | 0.25 |" in page
    assert "exact does not play: too many positions." in page
    assert "Opponents" not in (tmp_path / "games" / "kuhn_poker.md").read_text(encoding="utf-8")
