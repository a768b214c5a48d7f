"""What is learned, in how many CPU seconds, and the goals. `tasks/*.toml` says how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

SEEDS = (201, 202, 203)
"""Fixed before any run. Settings are chosen on other seeds."""
_FILES = Path(__file__).parent / "tasks"


@dataclass(frozen=True, slots=True)
class Goal:
    """One figure of a task, and its bar: one row of the table."""

    game: str
    figure: str
    """By its name in `measures`."""
    what: str
    """The figure in words."""
    must: float | None = None
    """None: it is measured, and nothing must be reached."""
    aim: float | None = None
    falls: bool = False
    """Whether less is better."""
    single: str | None = None
    """Another task. Then the figure is held against that task's, seed by seed, and `must` is how many points
    (hundredths) it may be worse."""
    ahead: int | None = None
    """Number of seeds where the trained model must be above its cold start and its control, intervals apart."""


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """Matches of a player that the cold start and the control imitate, if random play teaches nothing."""

    player: str
    matches: int
    keep: str
    """As in `gymposium synth --keep`."""

    def __str__(self) -> str:
        return f"{self.matches} matches of {self.player}, kept: {self.keep}"


@dataclass(frozen=True, slots=True)
class Task:
    """One run per seed, and its rows of the table."""

    name: str
    budget: float
    """CPU seconds of cold start and training together."""
    goals: tuple[Goal, ...]
    anchors: tuple[str, ...] = ()
    """What others reach, in words."""
    demonstrations: tuple[Demonstrations, ...] = ()
    """Empty: random matches are imitated."""

    @property
    def file(self) -> Path:
        """The config, as `gymposium train` takes it."""
        return _FILES / f"{self.name}.toml"


TABLES = "tables(kinds=lookup+absent,rows=20)"
MAIL = "mail(kinds=look_up+absent,mails=20,max_calls=3)"
_RIGHT = (
    Goal(MAIL, "exact unseen", "right answers to tasks of unseen mailboxes in unseen wordings", aim=0.9, ahead=2),
    Goal(MAIL, "exact", "right answers to other tasks of the mailboxes that it learned from", ahead=2),
)
_TIC_TAC_TOE = (
    "uniform random play wins 0.4365; MaskablePPO on the tensor 0.907 after 200,000 frames and 80 CPU s of learning",
    "mcts-100 wins 0.924 and mcts-1000 0.944 in 1,000 games; nobody can win more than 0.9667",
)
_WIN = Goal("tic_tac_toe", "win", "wins of greedy play against random play, exact", 0.90, 0.95)
_NO_CONTROL = "no control: the cold start imitates random play, so more of it leads there"


def _exploitability(game: str, must: float, aim: float) -> Goal:
    return Goal(game, "exploitability", "exploitability at temperature 1, exact", must, aim, falls=True)


def _taught(game: str, budget: float, must: float) -> Task:
    what = "exploitability at temperature 1 as it plays, failed replies included, exact"
    goal = Goal(game, "exploitability as played", what, must, must / 2, falls=True)
    return Task(f"{game}-teacher", budget, (goal,), ("an equilibrium 0", _NO_CONTROL_TAUGHT))


_LOSS = Goal("tic_tac_toe", "loss", "losses of greedy play against random play, exact", 0.002, 0.0, falls=True)
_SAFE = 0.955596
"""Most wins against random play of a player of tic-tac-toe that never loses, rounded down."""
_OPTIMUM = "whoever never loses wins at most 0.9556"
_NO_CONTROL_TAUGHT = "no control: the cold start imitates a teacher, not random play"


TASKS = (
    Task("tic_tac_toe-grpo", 2_400, (_WIN,), _TIC_TAC_TOE),
    Task("tic_tac_toe-ppo", 2_400, (_WIN,), _TIC_TAC_TOE),
    Task(
        "tic_tac_toe-self-play",
        3_600,
        (Goal("tic_tac_toe", "held", "seats in which a perfect opponent does not win against greedy play", aim=2),),
        ("a policy that never loses holds both seats; one that wins most often against random play need not",),
    ),
    Task(
        "kuhn_poker-self-play",
        2_400,
        (_exploitability("kuhn_poker", 0.10, 0.03),),
        (
            "uniform random play 0.458; OpenSpiel's PPO about 0.22; an equilibrium 0",
            "the same seeds with a reference that stays, growth 2, a rate of 1e-3 and 360 steps: 0.062 / 0.058 / 0.063",
        ),
    ),
    Task(
        "leduc_poker-self-play",
        2_400,
        (_exploitability("leduc_poker", 1.2, 0.5),),
        ("uniform random play 2.374; an equilibrium 0", _NO_CONTROL),
    ),
    Task(
        "liars_dice-self-play",
        2_400,
        (_exploitability("liars_dice", 0.55, 0.3),),
        ("uniform random play 0.781; an equilibrium 0", _NO_CONTROL),
    ),
    Task(
        "connect_four",
        3_600,
        (
            Goal("connect_four", "win", "wins of greedy play against random play, 2,000 games", 0.90, 0.95),
            Goal("connect_four", "win mcts-25", "wins of greedy play against mcts-25, 400 games", aim=0.5),
        ),
        (
            "mcts-10 wins 0.880 against random play, and mcts-100 0.990, in 400 games",
            "naming the middle column, full or not, wins 0.705 against random play and forfeits 0.284 (20,000 games)",
            "greedy play of the cold start, looked at on seed 201, is just that, and the control has the same figures",
            "the middle column while it has room, and then the nearest that has, wins 0.896 against random play",
        ),
    ),
    Task("2048", 3_600, (Goal("2048", "score", "mean score of greedy play, 200 games", 2_500, 6_000),)),
    Task(
        "two-games",
        4_800,
        (
            Goal("tic_tac_toe", "win", "points that wins are below the single run's", 5, single="tic_tac_toe-grpo"),
            Goal(
                "kuhn_poker",
                "exploitability",
                "points that exploitability is above the single run's",
                5,
                falls=True,
                single="kuhn_poker-self-play",
            ),
        ),
    ),
    Task(
        "mail",
        1_300,
        _RIGHT,
        (
            "three calls are a search, one mail and the answer",
            "mail-expert reads the latest mail that a search finds, and so is right in 0.25; with ten calls in all",
            "the earliest mail on the topic has the answer of 90 % of look-ups, so that reading it makes right in 0.92",
            "always saying that the mailbox does not hold it is right in 0.2",
            "what was imitated before, and what came of it, is in decision 32",
        ),
        demonstrations=(
            Demonstrations("mail-expert", 120_000, "return>=1"),
            Demonstrations("mail-expert-shuffled", 4_000, "all"),
        ),
    ),
    Task(
        "tables",
        360,
        (
            Goal(TABLES, "exact unseen", "right answers about unseen databases in unseen wordings"),
            Goal(TABLES, "exact", "right answers to other questions about the databases that it learned from"),
        ),
        ("tables-expert is right in 1.000; the data do not hold the answer to 0.15 of the questions",),
        demonstrations=(Demonstrations("tables-expert", 20_000, "return>=1"),),
    ),
    Task(
        "tables-teacher",
        360,
        (
            Goal(TABLES, "exact unseen", "right answers about unseen databases in unseen wordings", 0.5),
            Goal(TABLES, "exact", "right answers to other questions about the databases that it learned from"),
        ),
        (_NO_CONTROL_TAUGHT,),
    ),
    Task(
        "arithmetic",
        260,
        (
            Goal("qa", "exact unseen", "right sums of pairs of numbers that were kept for the test", must=0.9),
            Goal("qa", "exact", "right sums of pairs like those that it learned from"),
        ),
        (
            "one pair of numbers in ten is kept for the test, and neither imitated nor asked in training",
            "with 20,000 matches of the player arithmetic the cold start alone is right in 0.989 (development seed 1)",
        ),
        demonstrations=(Demonstrations("arithmetic", 1_000, "return>=1"),),
    ),
    Task(
        "main-job",
        150,
        (replace(_WIN, must=0.945, aim=_SAFE), replace(_LOSS, must=None, aim=None)),
        (_OPTIMUM, _NO_CONTROL_TAUGHT),
    ),
    Task("main-job-reward-alone", 150, (replace(_WIN, must=None, aim=None),), ("no control: tic_tac_toe-ppo has one",)),
    Task("tic_tac_toe-teacher", 610, (replace(_WIN, must=0.945, aim=_SAFE), _LOSS), (_OPTIMUM, _NO_CONTROL_TAUGHT)),
    _taught("kuhn_poker", 250, 0.01),
    _taught("leduc_poker", 610, 0.08),
    _taught("liars_dice", 610, 0.12),
    Task(
        "connect_four-teacher",
        1_210,
        (
            Goal("connect_four", "win", "wins of greedy play against random play, 2,000 games", 0.95),
            Goal("connect_four", "win mcts-100", "wins of greedy play against mcts-100, 400 games", aim=0.3),
        ),
        (_NO_CONTROL_TAUGHT,),
    ),
    Task(
        "2048-teacher",
        1_210,
        (Goal("2048", "score", "mean score of greedy play, 200 games", 8_000),),
        (_NO_CONTROL_TAUGHT,),
    ),
)
