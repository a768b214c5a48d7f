"""Python in the README and documentation runs as printed, and CI runs the README's commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import run_python

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = [
    ROOT / "docs" / "how-to" / name
    for name in ("evaluate-with-inspect.md", "textarena.md", "train-with-trl.md", "verifiers.md")
]
"""Pages whose Python needs a library that has an environment of its own: the tests there run it."""
PAGES = sorted(
    page
    for page in [ROOT / "README.md", *ROOT.glob("packages/*/README.md"), *ROOT.glob("docs/**/*.md")]
    if "```python" in page.read_text(encoding="utf-8") and page not in ELSEWHERE
)


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


def test_pages_with_python_are_found() -> None:
    assert ROOT / "README.md" in PAGES
    assert ROOT / "docs/tutorials/first-environment.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_on_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    program = "\n".join(blocks(page, "python"))
    program = program.replace("timeout=1800", "timeout=1")  # no model is served here, and a player waits for its server
    learns = re.search(r"torch|gymposium_agents|gymposium_train|\blm:", program) is not None
    done = run_python(program, folder=tmp_path, env=os.environ, learns=learns)
    assert done.returncode == 0, done.stderr


def test_first_readme_example_plays_a_game_to_its_end(tmp_path: Path) -> None:
    program = blocks(ROOT / "README.md", "python")[0]
    assert len([line for line in program.splitlines() if line.strip()]) <= 10
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Legal moves: bid 1, bid 2, bid 3, bid 4, bid 5" in done.stdout
    assert re.fullmatch(r"(win|draw|loss) -?\d+\.\d+", done.stdout.splitlines()[-1])


def test_ci_runs_the_second_line_of_the_readme() -> None:
    demo, everything = blocks(ROOT / "README.md", "console")[:2]
    tox, _, how = everything.strip().rpartition(" ")
    assert (demo.strip(), how) == (f"{tox} run -e demo", "--parallel")
    assert everything.strip() in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
