"""Fixtures for games, records and pages. Pages are looked at in a real browser."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from gymposium import load_game, make_player
from gymposium.match import MatchJob, play
from gymposium.records import RecordWriter
from gymposium.records.scores import Score

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


_QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
_OPTIONS = f"{_QUIET} --disable-component-update --disable-sync".split()


class FragileGame:
    """Tic-tac-toe whose engine fails at a move to the center and, after so many events, in the method `blind`."""

    def __init__(self, blind: str = "", after: int = 0) -> None:
        self._game, self._blind, self._after = load_game("tic_tac_toe"), blind, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def new(self, seed: int) -> Any:
        return FragileMatch(self._game.new(seed), self._blind, self._after)


class FragileMatch:
    """A match of a `FragileGame`."""

    def __init__(self, match: Any, blind: str, after: int) -> None:
        self._match, self._blind, self._after = match, blind, after

    def __getattr__(self, name: str) -> Any:
        if name == self._blind and len(self._match.events) >= self._after:
            return self._fail
        return getattr(self._match, name)

    def _fail(self, *_: object) -> None:
        raise ZeroDivisionError("dark")

    def apply(self, moves: Mapping[int, str]) -> None:
        if "b2" in moves.values():
            raise ZeroDivisionError("the centre\ndoes not hold")
        self._match.apply(moves)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, headless, one for the tests of a file: while it is there, no event loop can run beside it."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium here (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_OPTIONS)
        yield browser
        browser.close()


@dataclass
class PageOpener:
    """Opens pages, and keeps what the browser had to complain of."""

    browser: Browser
    troubles: list[str] = field(default_factory=list)
    """Errors and warnings in the console, exceptions, failed answers, requests to any other host."""
    _contexts: list[BrowserContext] = field(default_factory=list)

    def at(
        self, address: str, *, width: int = 1280, height: int = 800, dark: bool = False, scripts: bool = True
    ) -> Page:
        """The page of this address, in a context of its own."""
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        self._contexts.append(context)
        page, home = context.new_page(), urlsplit(address).netloc
        told = self.troubles.append
        page.on("console", lambda said: told(f"console: {said.text}") if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: told(f"exception: {error}"))
        page.on("response", lambda found: told(f"{found.status}: {found.url}") if found.status >= 400 else None)
        page.on("request", lambda sent: told(f"elsewhere: {sent.url}") if urlsplit(sent.url).netloc != home else None)
        page.goto(address)
        return page

    def close(self) -> None:
        """Close all pages. The browser then complains no more."""
        while self._contexts:
            self._contexts.pop().close()


@pytest.fixture
def look(chromium: Browser) -> Iterator[PageOpener]:
    """`page = look.at(address)`. A test that expects no trouble need not say so: any left at its end fails it."""
    looking = PageOpener(chromium)
    yield looking
    looking.close()
    assert not looking.troubles


@dataclass
class TrainingRun:
    """A training run's directory, written as gymposium-train writes one, step by step."""

    path: Path
    steps: int

    def begin(self) -> TrainingRun:
        """What decides it, and the measures before its first step."""
        self.path.mkdir(parents=True)
        config = {
            "games": ["tic_tac_toe"],
            "seed": 3,
            "steps": self.steps,
            "reward": "returns",
            "model": {"name": None, "tune": "lora"},
            "rollout": {"groups": 2, "group_size": 3, "growth": 1.0},
            "stages": [{"opponents": {"random": 1.0}}],
            "credit": {"kind": "grpo"},
            "objective": {"kind": "ppo"},
            "cold_start": {"steps": 5},
            "evaluation": {"curve_matches": 20},
        }
        (self.path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        (self.path / "versions.json").write_text('{"python": "3.12", "gymposium": "0.1.0"}', encoding="utf-8")
        self.measured("cold start")
        return self

    def measured(self, what: str, **more: object) -> None:
        """Measure random play under this name. More figures are added to its score."""
        game, score = load_game("tic_tac_toe"), Score()
        players = [make_player("random"), make_player("random")]
        for played in play(MatchJob(f"{what}-{seed}", game, players, seed) for seed in range(6)):
            score.add(played, 0)
        file = self.path / "results.json"
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"evaluations": {}}
        known["evaluations"][what] = {"tic_tac_toe": {"random": {**score.as_dict(), **more}}}
        file.write_text(json.dumps(known), encoding="utf-8")

    def log(self, step: int, stage: str = "train", **more: float) -> None:
        """A line of metrics. Of more names, `__` is a slash."""
        figures = {
            "rollout/reward": step / 10,
            "rollout/win": 0.5,
            "rollout/win/random": 0.5,
            "train/entropy": 1.0 / step,
        }
        more = {name.replace("__", "/"): value for name, value in more.items()}
        self.add("metrics.jsonl", json.dumps({"stage": stage, "step": step, **figures, **more}) + "\n")

    def add(self, name: str, text: str) -> None:
        """Append to one of its files, whole lines or less."""
        with open(self.path / name, "a", encoding="utf-8") as file:
            file.write(text)

    def keep(self, step: int, number: int = 0, rewards: Sequence[float] = (1.0, -1.0, 0.0), text: str = "b2") -> None:
        """A group of rollouts that was kept, with the matches that it is of. The middle one is without its tokens."""
        game, players = load_game("tic_tac_toe"), [make_player("random"), make_player("random")]
        ids = [f"train-{step - 1}-{number}-{n}" for n in range(len(rewards))]
        with RecordWriter(self.path / "matches" / "train.jsonl") as writer:
            for played in play((MatchJob(name, game, players, n) for n, name in enumerate(ids)), at_once=1):
                writer.write(played)
        group = {
            "format": "gymposium-samples-1",
            "step": step,
            "group": number,
            "game": "tic_tac_toe",
            "seat": 0,
            "opponent": "random",
            "version": None,
            "stage": 1,
            "tied": len(set(rewards)) == 1,
            "trajectories": [
                self._trajectory(name, reward, text) | ({} if n == 1 else {"rows": [self._row(text)]})
                for n, (name, reward) in enumerate(zip(ids, rewards, strict=True))
            ],
        }
        self.add("samples.jsonl", json.dumps(group, separators=(",", ":")) + "\n")

    def finish(self) -> None:
        """The measures behind its last step, and the report, which is written last."""
        self.measured("trained")
        file = self.path / "results.json"
        file.write_text(
            json.dumps({**json.loads(file.read_text(encoding="utf-8")), "steps": self.steps, "kept_step": self.steps}),
            encoding="utf-8",
        )
        (self.path / "report.html").write_text("<!doctype html>", encoding="utf-8")

    @staticmethod
    def _trajectory(match: str, reward: float, text: str) -> dict[str, object]:
        return {
            "match": match,
            "policy": 4,
            "result": "win" if reward > 0 else "loss" if reward < 0 else "draw",
            "end": "forfeit" if reward < 0 else None,
            "return": reward,
            "reward": reward,
            "parts": {"utility": reward},
            "readings": ["illegal" if reward < 0 else "move"],
            "rewards": [reward],
            "advantages": [reward * 1.5],
            "values": [],
            "targets": [],
        }

    @staticmethod
    def _row(text: str) -> dict[str, object]:
        pieces = ["<|user|>", "x . o", "<|assistant|>", text, "<|end|>"]
        turn = {"start": 3, "stop": 5, "engine": [-2.5, -0.001], "old": [-2.25, -0.001], "reference": [], "weight": 0.1}
        return {"ids": [2, 7, 3, 11, 4], "pieces": pieces, "turns": [turn]}


@pytest.fixture
def training_run(tmp_path: Path) -> Callable[..., TrainingRun]:
    """`training_run("first", steps=20)` begins a run of this name in `training` below the test's own folder."""

    def make(name: str = "first", *, steps: int = 20) -> TrainingRun:
        return TrainingRun(tmp_path / "training" / name, steps).begin()

    return make
