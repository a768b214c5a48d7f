"""Cold starts with a teacher."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import GymposiumError
from gymposium.games.protocol import Style
from gymposium.games.registry import load_game
from gymposium.players.distribution import MoveDistribution
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, Reply
from gymposium.players.teaching import CachedTeacher, recommend_moves
from gymposium.records import read_records
from gymposium.replies.reading import READERS, Reading
from gymposium_train.config import Stage, TrainConfig
from gymposium_train.config.directory import RunDirectory
from gymposium_train.config.problems import BadConfig
from gymposium_train.config.reading import change_config, read_config
from gymposium_train.learner.protocol import Demonstration
from gymposium_train.run.distillation import LessonPool
from gymposium_train.run.lessons import Lesson, TaughtPlay
from gymposium_train.run.start import start_run
from gymposium_train.run.teachers import resolve_teacher

UNTAUGHT = ("cold_start.matches", "cold_start.keep")
"""Settings of random play, which have no effect with a teacher."""
RL_ONLY = ("rollout", "credit", "checkpoints", "evaluation.every", "model.lora", "model.tune")
"""Settings without effect in a run without reinforcement learning."""


class CountingTeacher:
    """A teacher that recommends the last legal move and counts its asks."""

    name = "last"
    reader = READERS["move"]
    style: Style = "compact"

    def __init__(self, *, silent: bool = False) -> None:
        self.asked: list[tuple[int, str]] = []
        self._silent = silent

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        raise AssertionError("it teaches without playing")

    def teach(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
        self.asked += [(ask.seat, ask.view) for ask in asks]
        moves = [ask.legal_moves or [] for ask in asks]
        return [recommend_moves(legal, [*[0.0] * (len(legal) - 1), float(not self._silent)]) for legal in moves]


def make_play(teacher: Any, game: str = "tic_tac_toe", **opponents: float) -> TaughtPlay:
    shares = opponents or {"random": 1.0}
    return TaughtPlay(load_game(game), CachedTeacher(teacher), "compact", READERS["move"], shares, seed=3, tag="t")


def answer_first(lessons: Sequence[Lesson], streams: Iterator[Any]) -> list[Reading | None]:
    return [Reading("move", (lesson.legal or ("",))[0]) for lesson in lessons]


def answer_nonsense(lessons: Sequence[Lesson], streams: Iterator[Any]) -> list[Reading | None]:
    return [Reading("unparsable") for _ in lessons]


def test_lessons_carry_the_teachers_distribution() -> None:
    play = make_play(CountingTeacher())
    lessons, counts = play.lot(100, None)
    assert len(lessons) >= 100
    assert counts.answers == 0
    for lesson in lessons:
        assert lesson.legal
        assert lesson.reply == lesson.legal[-1]
        assert lesson.taught == (*[0.0] * (len(lesson.legal) - 1), 1.0)


def test_each_view_is_labeled_once() -> None:
    teacher = CountingTeacher()
    play = make_play(teacher)
    lessons = [lesson for _ in range(3) for lesson in play.lot(200, answer_first)[0]]
    assert len({*teacher.asked}) == len(teacher.asked) < len(lessons)


def test_student_plays_one_seat_against_the_runs_opponents() -> None:
    teacher = CountingTeacher()
    _, counts = make_play(teacher, random=1.0).lot(300, answer_first)
    assert counts.failed == 0
    assert 0.8 < counts.answers / 300 < 1.0
    assert counts.agreed < counts.answers
    alone = make_play(teacher, "kuhn_poker", random=1.0).lot(300, answer_first)[1]  # hidden information: all seats
    assert 0.2 < alone.answers / 300 < 0.4


def test_failed_answers_are_counted_and_replaced() -> None:
    play = make_play(CountingTeacher(), self=1.0)
    lessons, counts = play.lot(50, answer_nonsense)
    assert len(lessons) >= 50
    assert counts.failed == counts.answers > 0


def test_expert_of_free_text_labels_what_the_student_reaches() -> None:
    """The student's wrong answer is played, and the lesson is the expert's reply."""

    def answer_wrongly(lessons: Sequence[Lesson], streams: Iterator[Any]) -> list[Reading | None]:
        return [Reading("move", "-1") for _ in lessons]

    played: list[Any] = []
    game = load_game("qa(digits=1)")
    play = TaughtPlay(
        game,
        CachedTeacher(make_player("arithmetic")),
        "compact",
        READERS["move"],
        {},
        seed=3,
        tag="t",
        each=played.append,
    )
    first, _ = play.lot(20, None)
    assert all(result.returns == (1.0,) for result in played), "the expert plays"
    played.clear()
    later, counts = play.lot(20, answer_wrongly)
    assert {(lesson.legal, lesson.taught) for lesson in first + later} == {(None, ())}
    wrong = [result for result in played if result.events[-1].move == "-1"]
    assert len(wrong) == counts.answers > 10
    assert "-1" not in {lesson.reply for lesson in later}
    assert counts.agreed == 0


def test_expert_of_free_text_teaches_in_the_cold_start(tmp_path: Path, quick_config: Any) -> None:
    config = quick_config(
        "teacher=arithmetic", 'games=["qa(digits=1)"]', "steps=1", "cold_start.steps=3", without=UNTAUGHT
    )
    run = RunDirectory(tmp_path / "run")
    start_run(run.path, config)
    assert read_config(run.config_file).distillation.weight == 0.0
    assert {entry["stage"] for entry in run.metrics()} >= {"cold_start", "train"}


def test_lot_ends_after_its_seconds() -> None:
    play = make_play(CountingTeacher())
    lessons, _ = play.lot(1000, None, 0.0)
    assert 4 <= len(lessons) <= 4 * 9  # the first matches


@pytest.mark.slow
def test_slow_teacher_leaves_time_to_imitate(
    tmp_path: Path, quick_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first lot takes at most its share of the time, and imitation as long as the teacher."""

    class SlowTeacher(CountingTeacher):
        def teach(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
            end = time.process_time() + 0.02 * len(asks)
            while time.process_time() < end:
                pass
            return super().teach(asks)

    teacher = SlowTeacher()
    monkeypatch.setattr("gymposium_train.run.under_way.make_player", lambda name: teacher)
    config = quick_config(
        "teacher=mcts-1",
        'games=["connect_four"]',
        "steps=0",
        "cold_start.budget=6",
        without=(
            *UNTAUGHT,
            "cold_start.steps",
            "rollout",
            "credit",
            "checkpoints",
            "evaluation.every",
            "model.lora",
            "model.tune",
        ),
    )
    run = start_run(tmp_path / "run", config)
    spent = run.results()["cold_start_cpu_seconds"]
    assert 0.02 * len(teacher.asked) < 0.6 * spent
    assert len(run.metrics()) > 50


def test_teacher_may_recommend_few_moves() -> None:
    class RareTeacher(CountingTeacher):
        def teach(self, asks: Sequence[Ask]) -> list[MoveDistribution]:
            moves = [ask.legal_moves or [] for ask in asks]
            return [recommend_moves(legal, [float(legal == ["c3"])] * len(legal)) for legal in moves]

    lessons, _ = make_play(RareTeacher()).lot(2, None)
    assert [lesson.legal for lesson in lessons] == [("c3",)] * len(lessons)


def test_teacher_without_recommendations_is_refused() -> None:
    with pytest.raises(GymposiumError, match="recommends no move in 64 matches of tic_tac_toe"):
        make_play(CountingTeacher(silent=True)).lot(10, None)


def test_pool_keeps_the_latest_lesson_of_recent_prompts() -> None:
    pool = LessonPool(2)
    pool.add(
        [Demonstration((1,), (5,)), Demonstration((2,), (5,)), Demonstration((1,), (6,)), Demonstration((3,), (5,))]
    )
    assert pool.get_lessons() == [Demonstration((1,), (6,)), Demonstration((3,), (5,))]


@pytest.fixture(scope="module")
def distilled(tmp_path_factory: pytest.TempPathFactory, quick_config: Any) -> RunDirectory:
    config = quick_config(
        "teacher=cfr-20",
        "steps=0",
        "cold_start.steps=120",
        without=(*UNTAUGHT, *RL_ONLY),
    )
    return start_run(tmp_path_factory.mktemp("runs") / "distilled", config)


def test_run_without_reinforcement_distills_the_teacher(distilled: RunDirectory) -> None:
    metrics = distilled.metrics()
    assert [entry["stage"] for entry in metrics] == ["cold_start"] * 120
    assert metrics[-1]["train/teacher_agreement"] > 0.5
    assert metrics[-1]["train/sft_failed"] < 0.2
    assert metrics[-1]["train/sft_loss"] < metrics[0]["train/sft_loss"]
    assert set(distilled.results()["evaluations"]) == {"cold start", "anchor random"}
    records = [record for _, record in read_records(distilled.matches("cold_start"))]
    assert {name for record in records for name in record.players} == {"student"}  # type: ignore[union-attr]


@pytest.mark.slow
def test_interrupted_distillation_begins_again(distilled: RunDirectory, tmp_path: Path, quick_config: Any) -> None:
    config = RunDirectory.open(distilled.path)[1]
    again = start_run(tmp_path / "again", config)
    assert (again.cold_start / "model.safetensors").read_bytes() == (
        distilled.cold_start / "model.safetensors"
    ).read_bytes()


@pytest.mark.slow
def test_reinforcement_follows_within_the_budget(tmp_path: Path, quick_config: Any) -> None:
    config = quick_config(
        "teacher=exact", 'games=["tic_tac_toe"]', "budget=6", "steps=", without=(*UNTAUGHT, "cold_start.steps")
    )
    results = start_run(tmp_path / "run", config).results()
    assert 3.0 <= results["cold_start_cpu_seconds"] < 6.0
    assert results["steps"] >= 1


def test_teacher_labels_rollouts_with_a_falling_weight(tmp_path: Path, quick_config: Any) -> None:
    config = quick_config(
        "teacher=exact",
        'games=["tic_tac_toe"]',
        "steps=4",
        "cold_start.steps=60",
        "distillation.weight=2.0",
        without=UNTAUGHT,
    )
    run = start_run(tmp_path / "run", config)
    learned = [entry for entry in run.metrics() if entry["stage"] == "train"]
    assert [entry["train/distillation_weight"] for entry in learned] == pytest.approx([2.0, 4 / 3, 2 / 3, 0.0])
    assert all(0.0 < entry["rollout/teacher_agreement"] < 1.0 for entry in learned)
    assert all(entry["train/distillation"] > 0.0 for entry in learned)


@pytest.mark.slow
@pytest.mark.parametrize("length", ["steps=1", "budget=2"])
def test_teacher_without_a_cold_start_only_labels_rollouts(tmp_path: Path, quick_config: Any, length: str) -> None:
    settings = ("teacher=exact", 'games=["tic_tac_toe"]', "cold_start.steps=0", "evaluation.every=0")
    more = (length,) if length.startswith("steps") else (length, "steps=")
    without = (*UNTAUGHT, "cold_start.batch", "cold_start.learning_rate", "evaluation.curve_matches")
    run = start_run(tmp_path / "run", quick_config(*settings, *more, without=without))
    assert {entry["stage"] for entry in run.metrics()} == {"train"}
    assert all("rollout/teacher_agreement" in entry for entry in run.metrics())


@pytest.mark.slow
def test_teacher_alone_without_weight_labels_no_rollouts(tmp_path: Path, quick_config: Any) -> None:
    config = quick_config(
        "teacher=exact",
        'games=["tic_tac_toe"]',
        "steps=1",
        "cold_start.steps=20",
        "distillation.weight=0",
        without=UNTAUGHT,
    )
    [learned] = [e for e in start_run(tmp_path / "run", config).metrics() if e["stage"] == "train"]
    assert "rollout/teacher_agreement" not in learned
    assert "train/distillation" not in learned


@pytest.mark.parametrize(
    ("games", "opponent", "teacher"),
    [
        (("tic_tac_toe",), "random", "exact"),
        (("2048",), "random", "expectimax-2"),
        (("kuhn_poker",), "random", "none"),
        (("kuhn_poker", "leduc_poker"), "self", "cfr-500"),
        (("tic_tac_toe", "kuhn_poker"), "random", "none"),
    ],
)
def test_automatic_teacher_suits_games_and_opponents(games: tuple[str, ...], opponent: str, teacher: str) -> None:
    stages = (Stage(opponents={opponent: 1.0}),)
    assert resolve_teacher(TrainConfig(games=games, teacher="auto", stages=stages)).config.teacher == teacher


def test_automatic_search_is_fast_or_teaches_in_the_cold_start(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TrainConfig(games=("connect_four",), teacher="auto")
    for seconds, teacher, weight, remark in (
        (0.0001, "mcts-1000", 1.0, ""),
        (0.001, "mcts-200", 1.0, ""),
        (0.01, "mcts-100", 0.0, "teacher = auto: mcts-100 only teaches in the cold start, because a search with 100"),
        (0.1, "none", 0.0, "teacher = auto: no teacher suits, because a search with 100 simulations takes 100 ms"),
    ):
        monkeypatch.setattr("gymposium_train.run.teachers._time_search", lambda game, count, s=seconds: s)
        found, said = resolve_teacher(config)
        assert (found.teacher, found.distillation_weight) == (teacher, weight)
        assert said.startswith(remark)
        assert bool(said) is bool(remark)


def test_run_without_a_suitable_teacher_names_settings_without_effect() -> None:
    config = change_config(TrainConfig(games=("kuhn_poker",), teacher="auto"), "cold_start.budget=60")
    remark = resolve_teacher(config).remark
    assert remark.startswith("teacher = auto: no teacher suits. kuhn_poker has hidden information")
    assert remark.endswith("Without effect: cold_start.budget.")


def test_run_says_at_its_start_that_no_teacher_suits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(config: TrainConfig) -> TrainConfig:
        raise KeyboardInterrupt

    monkeypatch.setattr("gymposium_train.run.start.fit_config", stop)
    with pytest.raises(KeyboardInterrupt):
        start_run(None, TrainConfig(games=("kuhn_poker",), teacher="auto"))
    assert "teacher = auto: no teacher suits. kuhn_poker has hidden information" in " ".join(
        capsys.readouterr().err.split()
    )


@pytest.mark.parametrize(
    ("game", "setting", "problem"),
    [
        ("kuhn_poker", "credit.kind=off", "credit.kind = off: "),
        ("qa", "seed=0", "cold_start.steps = 2000: by default, a cold start imitates random play"),
    ],
)
def test_run_that_needs_a_teacher_is_refused_if_none_suits(game: str, setting: str, problem: str) -> None:
    config = change_config(TrainConfig(games=(game,), teacher="auto"), setting)
    with pytest.raises(BadConfig) as refused:
        resolve_teacher(config)
    assert [one.startswith(start) for one, start in zip(refused.value.problems, ("teacher = auto: no", problem))] == [
        True,
        True,
    ]
