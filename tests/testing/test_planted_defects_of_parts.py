"""For every check of players, rewards, loggers and executors, a part with one planted defect fails it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadOption
from gymposium.games.protocol import Style
from gymposium.players.distribution import MoveDistribution
from gymposium.players.protocol import Ask, Reply
from gymposium.players.teaching import recommend_moves
from gymposium.plugins.host import Host, host
from gymposium.plugins.specs import ExecutorSpec, LoggerSpec, OpponentSpec, RewardSpec, Spec
from gymposium.records.trajectories import Trajectory
from gymposium.replies.reading import READERS
from gymposium.rewards.protocol import Reward
from gymposium.runs.executors.local import LocalExecutor
from gymposium.runs.executors.protocol import ExecutorStart, PartResult, RunPart
from gymposium.runs.loggers.protocol import LoggerStart
from gymposium_testing import CHECKS, QUICK, CheckFailed, NotApplicable
from gymposium_testing.parts import GAMES, make_parts
from gymposium_testing.subjects import list_subjects

PARTS = ("player", "reward", "logger", "executor")
FEW = replace(QUICK, draws=4)


class Sound:
    """A player without a defect: any legal move, from the seat's own stream."""

    name = "planted"
    reader = READERS["move"]
    style: Style = "compact"

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self.choose(ask, asks)) for ask in asks]

    def choose(self, ask: Ask, asks: Sequence[Ask]) -> str:
        return ask.rng.choice(ask.legal_moves or [""])


class Nameless(Sound):
    name = "somebody"


class Stuttering(Sound):
    def choose(self, ask: Ask, asks: Sequence[Ask]) -> str:
        return super().choose(ask, asks) * 2


class Forgetful(Sound):
    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return super().act(asks)[:1]


class Moody(Sound):
    made = 0

    def __init__(self) -> None:
        Moody.made += 1
        self.mood = Moody.made

    def choose(self, ask: Ask, asks: Sequence[Ask]) -> str:
        moves = ask.legal_moves or [""]
        return moves[self.mood % len(moves)]


class CrowdedGame(Sound):
    def choose(self, ask: Ask, asks: Sequence[Ask]) -> str:
        moves = ask.legal_moves or [""]
        return moves[len(asks) % len(moves)]


class Global(Sound):
    def choose(self, ask: Ask, asks: Sequence[Ask]) -> str:
        random.random()
        return super().choose(ask, asks)


class PeekingTeacher(Sound):
    """A teacher that knows the other seat's cards."""

    def teach(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        hidden = [sum(map(ord, str(ask._context.match.events))) for ask in asks]
        return [recommend_moves(ask.legal_moves or [], [n % 7, 1.0]) for ask, n in zip(asks, hidden, strict=True)]


class PeekingPlayer(Sound):
    def choose(self, ask: Ask, asks: Sequence[Ask]) -> str:
        moves = ask.legal_moves or [""]
        return moves[sum(map(ord, str(ask._context.match.events))) % len(moves)]


def sound(group: Sequence[Trajectory]) -> list[Reward]:
    return [Reward(t.utilities[t.seat]) for t in group]


def endless(group: Sequence[Trajectory]) -> list[Reward]:
    return [Reward(math.inf) for _ in group]


def short(group: Sequence[Trajectory]) -> list[Reward]:
    return sound(group)[1:]


def unforgiving(group: Sequence[Trajectory]) -> list[Reward]:
    return [Reward(math.nan if t.ending.seat is not None else 0.0) for t in group]


def drawn(group: Sequence[Trajectory]) -> list[Reward]:
    return [Reward(random.SystemRandom().random()) for _ in group]


def seeding(group: Sequence[Trajectory]) -> list[Reward]:
    random.seed(1)
    return sound(group)


@dataclass(frozen=True)
class Settings:
    folder: str = "logs"


@dataclass
class Loose:
    folder: str = "logs"


@dataclass(frozen=True)
class Misfit:
    folder: str = 3  # type: ignore[assignment]


class Log:
    """A logger without a defect: it writes each value to a file."""

    def __init__(self, start: LoggerStart, settings: Any) -> None:
        self.file = start.directory / settings.folder
        self.file.touch()

    def log(self, step: int, metrics: Mapping[str, float | int | str]) -> None:
        with self.file.open("a", encoding="utf-8") as lines:
            lines.writelines(f"{step} {name} {value!r}\n" for name, value in metrics.items())

    def artifact(self, name: str, path: Path) -> None:
        pass

    def close(self, error: BaseException | None = None) -> None:
        pass


class NumbersOnly(Log):
    def log(self, step: int, metrics: Mapping[str, float | int | str]) -> None:
        super().log(step, {name: float(value) for name, value in metrics.items()})


class Stubborn(Log):
    def close(self, error: BaseException | None = None) -> None:
        if error is not None:
            raise error


class Once(Log):
    def __init__(self, start: LoggerStart, settings: Any) -> None:
        (start.directory / settings.folder).touch(exist_ok=False)
        super().__init__(start, settings)


class Whole(LocalExecutor):
    """An executor without a defect."""

    def __init__(self, start: ExecutorStart) -> None:
        super().__init__(1)


class Reversing(Whole):
    def run(self, parts: Iterable[RunPart]) -> Iterator[PartResult]:
        return (replace(done, lines=done.lines[::-1]) for done in super().run(parts))


class Repeating(Whole):
    def run(self, parts: Iterable[RunPart]) -> Iterator[PartResult]:
        return (done for done in super().run(parts) for _ in range(2))


class SpentGame(Whole):
    runs = 0

    def run(self, parts: Iterable[RunPart]) -> Iterator[PartResult]:
        self.runs += 1
        return super().run(parts if self.runs == 1 else ())


class UnnumberedGame(Whole):
    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        return ((0, result) for _, result in super().map(function, items))


class Swallowing(Whole):
    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        with suppress(TypeError):
            yield from super().map(function, items)


def player(implementation: str) -> OpponentSpec:
    entry_point = f"{__name__}:{implementation}"
    return OpponentSpec(name="planted", form="planted", pattern="planted", summary="One.", entry_point=entry_point)


def reward(implementation: str) -> RewardSpec:
    entry_point = f"{__name__}:made_{implementation}"
    return RewardSpec(name="planted", form="planted", pattern="planted", summary="One.", entry_point=entry_point)


def logger(implementation: str, settings: str = "Settings") -> LoggerSpec:
    return LoggerSpec(
        name="planted",
        summary="One.",
        entry_point=f"{__name__}:{implementation}",
        settings=f"{__name__}:{settings}",
        examples=({},),
    )


def executor(implementation: str) -> ExecutorSpec:
    return ExecutorSpec(name="planted", summary="One.", entry_point=f"{__name__}:{implementation}")


REWARDS: list[Callable[[Sequence[Trajectory]], list[Reward]]] = [sound, endless, short, unforgiving, drawn, seeding]
for function in REWARDS:  # a reward's entry point makes the function
    globals()[f"made_{function.__name__}"] = lambda function=function: function

DEFECTS: list[tuple[str, Spec, str]] = [
    ("players_are_complete", player("Nameless"), "its name is 'somebody'"),
    ("players_answer_every_ask", player("Stuttering"), "which is unparsable"),
    ("players_answer_every_ask", player("Forgetful"), "repl"),
    ("equal_seeds_give_equal_replies", player("Moody"), "equal seeds"),
    ("batching_changes_nothing", player("CrowdedGame"), "in the same call"),
    ("players_leave_global_generators_alone", player("Global"), "Python's random"),
    ("recommendations_leak_nothing", player("PeekingTeacher"), "what seat"),
    ("recommendations_leak_nothing", player("PeekingPlayer"), "what seat"),
    ("rewards_are_finite", reward("endless"), "is inf"),
    ("rewards_are_finite", reward("short"), "3 rewards for a group of 4"),
    ("forfeits_are_rewarded", reward("unforgiving"), "is nan"),
    ("equal_groups_get_equal_rewards", reward("drawn"), "different rewards"),
    ("rewards_leave_global_generators_alone", reward("seeding"), "Python's random"),
    ("logger_settings_are_valid", logger("Log", "Loose"), "the settings are"),
    ("logger_settings_are_valid", logger("Log", "Misfit"), "folder=3 must"),
    ("loggers_accept_numbers_and_text", logger("NumbersOnly"), "could not convert"),
    ("loggers_close_after_an_error", logger("Stubborn"), "the run failed"),
    ("loggers_continue_after_a_resume", logger("Once"), "FileExistsError"),
    ("executors_match_one_process", executor("Reversing"), "differ from those of one process"),
    ("executors_match_one_process", executor("Repeating"), "came back as"),
    ("executors_survive_an_abandoned_run", executor("SpentGame"), "came back as []"),
    ("executors_call_functions", executor("UnnumberedGame"), "map gives [(0, "),
    ("executors_call_functions", executor("Swallowing"), "does not raise"),
]


def list_failures(spec: Spec, name: str | None = None) -> dict[str, str]:
    """Return the checks that fail on a spec, with their messages: of all, or of the one with this name."""
    failed = {}
    for subject in list_subjects(spec):
        for check in subject.checks():
            if name not in (None, check.name):
                continue
            try:
                check.run(subject.get(), 0, FEW)
            except NotApplicable:
                continue
            except CheckFailed as error:
                failed[check.name] = str(error)
    return failed


@pytest.fixture(autouse=True)
def few_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium_testing.parts.GAMES", GAMES[:2])


@pytest.mark.parametrize(("check", "spec", "says"), DEFECTS, ids=[f"{c}-{s.entry_point}" for c, s, _ in DEFECTS])
def test_defect_fails_its_check(check: str, spec: Spec, says: str) -> None:
    failed = list_failures(spec, check)
    assert check in failed, failed
    assert says in failed[check]


@pytest.mark.parametrize(
    "spec",
    [player("Sound"), reward("sound"), logger("Log"), executor("Whole")],
    ids=["player", "reward", "logger", "executor"],
)
def test_part_without_a_defect_passes(spec: Spec) -> None:
    assert not list_failures(spec)


def test_every_check_of_a_part_has_a_planted_defect() -> None:
    assert {check.name for check in CHECKS if check.kind in PARTS} == {c for c, _, _ in DEFECTS}


def test_every_built_in_player_and_reward_is_checked() -> None:
    """Each has an example, except the players that open the terminal or a file."""
    plugins = Host(autoload=False)
    for spec in (*plugins.opponents.values(), *plugins.rewards.values()):
        assert all((part.example is None) == (spec.name in ("human", "exploit")) for part in make_parts(spec))


@pytest.mark.parametrize("name", ["random", "greedy", "stand", "returns", "weighted"])
def test_built_in_players_and_rewards_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymposium_testing.parts.GAMES", GAMES)
    assert not list_failures({**host().opponents, **host().rewards}[name])


def test_player_that_refuses_every_game_is_skipped() -> None:
    [subject] = list_subjects(player("Refusing"))
    [check] = [check for check in CHECKS if check.name == "players_answer_every_ask"]
    with pytest.raises(NotApplicable, match="refuses every tested game"):
        check.run(subject.get(), 0, FEW)


class Raising(Sound):
    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return json.loads("{")  # type: ignore[no-any-return] # raises in another file


class Wordless(Sound):
    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return []


@pytest.mark.parametrize("defect", ["Raising", "Wordless"])
def test_raising_player_is_named_with_its_file(defect: str) -> None:
    message = list_failures(player(defect))["players_answer_every_ask"]
    assert message.startswith(f"The player 'planted' failed in {__file__}")


class Refusing(Sound):
    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        raise BadOption("It plays another game.")


def test_example_must_match_its_pattern() -> None:
    [subject] = list_subjects(replace(player("Sound"), examples=("planted-2",)))
    assert "does not match the pattern" in list_failures(subject.get().spec)["players_are_complete"]  # type: ignore[union-attr]
