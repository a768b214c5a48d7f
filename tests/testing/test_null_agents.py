"""Null agents find planted flaws, and earn nothing in sound games."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import gymnasium
import pytest
from tests.commands import run_command

from gymposium import GameSpec, load_game
from gymposium.envs.gym import TextGameEnv
from gymposium.games.rules import CHANCE, Style, make_game_factory
from gymposium.players.protocol import Ask, Reply
from gymposium.players.random import RandomPlayer
from gymposium_testing.checks.exploits import null_agents_earn_nothing
from gymposium_testing.contract import CheckFailed
from gymposium_testing.null_agents import audit

NUMBERS = tuple(map(str, range(10)))


class Asked(NamedTuple):
    secret: str | None = None
    replies: tuple[str, ...] = ()


class Question:
    """A sound game: which of ten digits was drawn? One try, in free text."""

    moves: Sequence[str] | None = None
    utility_range = (0.0, 1.0)
    max_decisions = 1
    facts: ClassVar[dict[str, Any]] = {"free_text": True, "information": "imperfect", "chance": True}

    def start(self) -> Asked:
        return Asked()

    def to_move(self, asked: Asked) -> tuple[int, ...]:
        if asked.secret is None:
            return (CHANCE,)
        return () if len(asked.replies) >= self.max_decisions else (0,)

    def chance(self, asked: Asked) -> Mapping[str, float]:
        return dict.fromkeys(NUMBERS, 1.0)

    def legal_moves(self, asked: Asked, seat: int) -> Sequence[str] | None:
        return self.moves

    def play(self, asked: Asked, moves: Mapping[int, str]) -> Asked:
        if CHANCE in moves:
            return Asked(moves[CHANCE])
        return asked._replace(replies=(*asked.replies, moves[0]))

    def returns(self, asked: Asked) -> tuple[float, ...]:
        return (self.score(asked) if asked.replies else 0.0,)

    def score(self, asked: Asked) -> float:
        return float(asked.replies[-1] == asked.secret)

    def rules(self, seat: int, style: Style) -> str:
        return "Which digit was drawn?\n"

    def position(self, asked: Asked, seat: int, style: Style) -> str:
        return f"Name one of {' '.join(NUMBERS)}\n"

    def view(self, asked: Asked, seat: int) -> str:
        return repr(asked.replies)


class PaysLength(Question):
    def score(self, asked: Asked) -> float:
        return min(1.0, len(asked.replies[-1]) / 10_000)


class PaysIllegalReplies(Question):
    def score(self, asked: Asked) -> float:
        return float(asked.replies[-1] not in NUMBERS)


class HasOneAnswer(Question):
    def chance(self, asked: Asked) -> Mapping[str, float]:
        return {"yes": 1.0}


class ShowsTheAnswer(Question):
    def position(self, asked: Asked, seat: int, style: Style) -> str:
        return f"Name it.\nExpected: {asked.secret}\n"


class PaysTurns(Question):
    moves = ("wait", *NUMBERS)
    max_decisions = 10
    facts: ClassVar[dict[str, Any]] = {"information": "imperfect", "chance": True}

    def to_move(self, asked: Asked) -> tuple[int, ...]:
        return () if asked.replies and asked.replies[-1] != "wait" else super().to_move(asked)

    def score(self, asked: Asked) -> float:
        return len(asked.replies) / self.max_decisions


class PaysQuitting(Question):
    moves = (*NUMBERS, "quit")
    utility_range = (-1.0, 1.0)
    facts: ClassVar[dict[str, Any]] = {"information": "imperfect", "chance": True}

    def score(self, asked: Asked) -> float:
        return 1.0 if asked.replies[-1] == "quit" else 2.0 * super().score(asked) - 1.0


def make_env(rules: type[Question]) -> TextGameEnv:
    spec = GameSpec(
        name="planted", title="Planted", summary="A game.", entry_point="x:y", seats=1, utility="score", **rules.facts
    )
    return TextGameEnv(make_game_factory(rules)(spec, {}))


class LeaksInfo(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose info holds the answer."""

    def reset(self, **keywords: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**keywords)
        assert isinstance(self.env, TextGameEnv)
        return observation, {**info, "debug": {"answer": self.env.match.events[0].move}}


def find_exploits(env: gymnasium.Env[Any, Any]) -> set[str]:
    return {finding.agent.name for finding in audit(env, episodes=40) if finding.is_exploit}


def test_sound_game_has_no_exploit() -> None:
    assert find_exploits(make_env(Question)) == set()


@pytest.mark.parametrize(
    ("rules", "agent"),
    [
        (PaysLength, "long"),
        (PaysIllegalReplies, "command"),
        (HasOneAnswer, "constant"),
        (ShowsTheAnswer, "line"),
        (PaysTurns, "first"),
        (PaysQuitting, "quit"),
    ],
)
def test_planted_flaw_is_found(rules: type[Question], agent: str) -> None:
    env = make_env(rules)
    assert agent in find_exploits(env)
    with pytest.raises(CheckFailed, match=r"earns .* more than random play"):
        null_agents_earn_nothing(env.game)


def test_answer_in_the_info_is_found() -> None:
    assert find_exploits(LeaksInfo(make_env(Question))) == {"info"}


class EasilyConfused(RandomPlayer):
    """A player that fails when others say much."""

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        replies = super().act(asks)
        confused = [len(ask.observe("compact").text) > 300 for ask in asks]
        return [Reply("") if lost else reply for lost, reply in zip(confused, replies, strict=True)]


def test_win_by_an_opponents_forfeit_is_found() -> None:
    env = TextGameEnv("prisoners_dilemma", rounds=1, messages=2, opponent=EasilyConfused())
    found = {finding.agent.name: finding for finding in audit(env, episodes=5)}
    assert found["long"].is_exploit
    assert found["long"].forfeits == 5
    assert not found["constant"].is_exploit


def test_allowed_agents_are_not_checked() -> None:
    null_agents_earn_nothing(load_game("breakthrough"), seed=7)
    assert set(load_game("breakthrough").spec.null_agents) == {"last"}


def test_command_reports_exploits(tmp_path: Path) -> None:
    done = run_command("audit-env", "guess_number", "-n", "10", folder=tmp_path, env=os.environ)
    assert done.returncode == 0
    assert "0 exploits in 14 null agents" in done.stderr
    (tmp_path / "planted.py").write_text(
        Path(__file__).with_name("planted_game.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    arguments = ("--plugin", "planted.py", "audit-env", "planted", "-n", "20")
    done = run_command(*arguments, folder=tmp_path, env=os.environ)
    assert done.returncode == 1
    assert "replying with the word yes earns +" in done.stderr
    data = json.loads(run_command(*arguments, "--json", folder=tmp_path, env=os.environ).stdout)
    assert [one["agent"] for one in data["agents"] if one["is_exploit"]] == ["constant"]
