"""Learning with the shipped defaults, on games they were not tuned for.

`table`: eight games, three seeds fixed beforehand, and three learners with the same CPU seconds each. Ours is
`gymposium train` with nothing set but the game, the seed and the budget, once from reward alone and once with
`teacher=auto`, whose time counts. From reward alone there is also a control, which spends the CPU seconds of
reinforcement learning on more imitation. The third is `gymposium sb3 train`, sb3-contrib's MaskablePPO with its
defaults on the game's tensor. All play 1,000 matches against random play, greedily, from both seats. (7.2 CPU hours.)

`fresh`: the same, without the control, in eight games that no other benchmark named when they were drawn: `FRESH`.
(4.8 CPU hours.)

`search`: development games, none of them in the tables, for choosing the defaults. Settings are given as in
`gymposium train`; each set of settings that was tried is a line of the result.

Each run is kept as soon as it ends, so the same command resumes after Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.report import RESULTS, KeptRows, Row, table

GAMES = (
    *("hex(board_size=5)", "clobber(rows=5,columns=5)", "othello", "mancala"),
    *("phantom_ttt", "liars_dice", "dots_and_boxes", "dark_hex"),
)
FRESH = (
    "amazons",
    "gin_rummy",
    "gomoku",
    "hanabi",
    "lines_of_action",
    "nine_mens_morris",
    "quoridor",
    "universal_poker",
)
"""Drawn on 30 November 2026 by `stream(60, "fresh games").sample(candidates, 8)`. The candidates were, in order of the
alphabet, all listed games of two seats that no table or search of the benchmarks had named."""
SEEDS = (301, 302, 303)
"""Seeds, fixed before any run."""
DEVELOPMENT = (
    *("breakthrough(rows=5,columns=4)", "connect_four", "oware", "y(board_size=5)"),
    *("leduc_poker", "goofspiel", "pig", "ultimate_tic_tac_toe"),
)
"""Games for choosing defaults."""
DEVELOPMENT_SEEDS = (1, 2, 3)
BUDGET = 240.0
MATCHES = 1000
MOST_FAILED = 0.05
LEAST_GAMES = 6
"""Number of games where ours must be above the control, and of fresh games where a teacher must help."""
LEAST_RATIO = 0.6
"""Aim of the median ratio from reward alone."""
LEAST_TAUGHT_RATIO, LEAST_TAUGHT_MEDIAN, FRESH_MEDIAN = 0.65, 0.95, 0.9
"""Least ratio and least median ratio with a teacher, and the aim of the median ratio in fresh games."""
LEAST_BASIS = 0.3
"""Least mean return of MaskablePPO, above random play, of a game that the ratio is taken of."""
OURS, TAUGHT, PPO = "gymposium train", "gymposium train teacher=auto", "gymposium sb3 train"
VERSIONS = (
    "gymposium",
    "gymposium-train",
    "open_spiel",
    "torch",
    "transformers",
    "peft",
    "stable-baselines3",
    "sb3-contrib",
)


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do."""

    game: str
    seed: int
    learner: str
    budget: float
    settings: tuple[str, ...] = ()
    control: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        return self.game, self.seed, self.learner, self.budget, self.settings

    @property
    def folder(self) -> str:
        name = "-".join((self.game, str(self.seed), *self.learner.split()[1:], f"{self.budget:g}", *self.settings))
        return "".join(c if c.isalnum() or c in "-_=." else "_" for c in name)


def do(job: Job, runs: Path, matches: int) -> Row:
    """Do or resume a run in a separate process. Raises `CalledProcessError` if it fails."""
    path = runs / job.folder
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    program = [str(Path(sys.executable).with_name("gymposium"))]
    print(f"[{job.folder}] begins", flush=True)
    runs.mkdir(parents=True, exist_ok=True)
    if job.learner == PPO:
        out = runs / f"{job.folder}.zip"
        out.unlink(missing_ok=True)
        command = [*program, "sb3", "train", job.game, "--seed", str(job.seed), "--budget", str(job.budget)]
        command += ["--out", str(out), "--matches", str(matches), "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        return _row(job, {"trained": found["opponents"]["random"]}, frames=found["decisions"])
    if (path / "config.json").exists():
        command = [*program, "train", "--resume", str(path)]
    else:
        measured = ('evaluation.opponents=["random"]', f"evaluation.matches={matches}")
        command = [*program, *job.learner.split()[1:], "--game", job.game, "--seed", str(job.seed)]
        command += [f"budget={job.budget}"]
        command += ["--out", str(path), *measured, *job.settings, *(["--control"] if job.control else [])]
    shown = runs / f"{job.folder}.log"
    with shown.open("a", encoding="utf-8") as log:
        done = subprocess.run(command, env=environment, stdout=log, stderr=log, text=True, check=False)
    if done.returncode not in (0, 3):  # 3: it learned nothing
        raise subprocess.CalledProcessError(done.returncode, command, stderr=f"See {shown}.")
    results = json.loads((path / "results.json").read_text(encoding="utf-8"))
    # the run has one game, whose name there leaves out what is the default
    scores = {what: next(iter(by_game.values()))["random"] for what, by_game in results["evaluations"].items()}
    names = ("steps", "setbacks", "cold_start_cpu_seconds", "train_cpu_seconds", "control_cpu_seconds")
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    facts = {name: results[name] for name in names if name in results}
    return _row(job, scores, teacher=config.get("teacher", "none"), **facts)


def _row(job: Job, scores: Mapping[str, Any], **facts: Any) -> Row:
    """Return a run's row."""
    players = {
        what: {
            "return": score["return"],
            "results": score["results"],
            "failed": 1.0 - score["readings"]["move"][0],
            "matches": score["matches"],
        }
        for what, score in scores.items()
    }
    which = {"game": job.game, "seed": job.seed, "learner": job.learner, "budget": job.budget}
    return {**which, "settings": list(job.settings), "players": players, **facts}


def do_all(jobs: Sequence[Job], given: argparse.Namespace, name: str, text: Callable[[Sequence[Row]], str]) -> None:
    """Do all jobs without results of this name, and save each when it is done."""
    kept = KeptRows(given.out, name, VERSIONS, text)
    known = {*map(_key, kept.rows)}
    place = {job.key: number for number, job in enumerate(jobs)}
    cores = iter(sorted(os.sched_getaffinity(0)))

    def take_core() -> None:
        """Pin this thread and the runs it starts to one core. A control then follows its run."""
        os.sched_setaffinity(0, {next(cores)})

    with ThreadPoolExecutor(given.jobs, initializer=take_core) as pool:
        doing = [pool.submit(do, job, given.runs, given.matches) for job in jobs if job.key not in known]
        try:
            for future in as_completed(doing):
                kept.add(future.result(), key=lambda row: place.get(_key(row), -1))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    kept.show()


def _key(row: Row) -> tuple[Any, ...]:
    """Return the key of the job of a row."""
    return row["game"], row["seed"], row["learner"], row["budget"], tuple(row["settings"])


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean return of a player over the seeds of a game, with the interval that its matches give it."""

    value: float
    low: float
    high: float

    @classmethod
    def from_rows(cls, rows: Sequence[Row], player: str) -> Mean:
        estimates = [row["players"][player]["return"] for row in rows]
        value = fmean(estimate[0] for estimate in estimates)
        half = sqrt(sum(((high - low) / 2) ** 2 for _, low, high in estimates)) / len(estimates)
        return cls(value, value - half, value + half)

    def __str__(self) -> str:
        return f"{self.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def fell(row: Row) -> bool:
    """Return whether the run ended below its cold start, by more than the interval of their difference."""
    before, after = (row["players"][what]["return"] for what in ("cold start", "trained"))
    half = sqrt(sum(((high - low) / 2) ** 2 for _, low, high in (before, after)))
    return bool(after[0] < before[0] - half)


def by_game(rows: Sequence[Row], learner: str) -> dict[str, list[Row]]:
    """Return the rows of a learner by game."""
    games = dict.fromkeys(row["game"] for row in rows)
    return {game: [row for row in rows if row["game"] == game and row["learner"] == learner] for game in games}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The runs of one learner in one game, beside MaskablePPO's."""

    game: str
    rows: list[Row]
    ppo: Mean | None
    """The mean of MaskablePPO, if its runs are done."""

    def mean(self, player: str) -> Mean | None:
        """Return the mean of the cold start, the trained model, the control or random play. None if there is none."""
        return Mean.from_rows(self.rows, player) if all(player in row["players"] for row in self.rows) else None

    @property
    def ratio(self) -> float | None:
        """(ours - random) / (MaskablePPO - random). None if MaskablePPO does not beat random play by `LEAST_BASIS`."""
        trained, random = self.mean("trained"), self.mean("anchor random")
        if trained is None or random is None or self.ppo is None or self.ppo.value - random.value < LEAST_BASIS:
            return None
        return (trained.value - random.value) / (self.ppo.value - random.value)

    def describe(self) -> list[str]:
        """Return the cells of its line, without those of the control and the teacher."""
        failed = max(row["players"]["trained"]["failed"] for row in self.rows)
        means = [str(mean or "") for mean in (self.mean("cold start"), self.mean("trained"), self.ppo)]
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        return [self.game, str(len(self.rows)), *means, ratio, f"{failed:.1%}", str(sum(map(fell, self.rows)))]


HEAD = ["game", "seeds", "cold start", "trained", "MaskablePPO", "ratio", "most failed", "seeds below"]


def compare(rows: Sequence[Row], learner: str) -> list[Comparison]:
    """Compare the runs of a learner with MaskablePPO's, game by game."""
    ppo = by_game(rows, PPO)
    return [
        Comparison(game, found, Mean.from_rows(ppo[game], "trained") if ppo[game] else None)
        for game, found in by_game(rows, learner).items()
        if found
    ]


def published(rows: Sequence[Row], games: Sequence[str] = GAMES) -> str:
    """Return both tables and their verdict, as Markdown, as far as the runs are done."""
    alone, taught = compare(rows, OURS), compare(rows, TAUGHT)
    controlled = games == GAMES
    of_alone = [[*one.describe(), *([str(one.mean("control") or "")] if controlled else [])] for one in alone]
    of_taught = [[*one.describe(), ", ".join(dict.fromkeys(row["teacher"] for row in one.rows))] for one in taught]
    missing = len(games) * len(SEEDS) * 3 - len(rows)
    return (
        "Mean return against random play over the seeds, with the 95 % interval of the matches. *Ratio*: (ours - "
        f"random) / (MaskablePPO - random), where MaskablePPO beats random play by {LEAST_BASIS} or more.\n\n"
        f"## From reward alone\n\n{table([*HEAD, 'control'] if controlled else HEAD, of_alone)}\n"
        "## With a teacher\n\nThe teacher searches with the game's rules, which MaskablePPO does not have. Its CPU "
        f"time counts.\n\n{table([*HEAD, 'teacher'], of_taught)}\n## Verdict\n\n"
        + (f"{missing} runs are still to be done, so this is no verdict yet.\n\n" if missing else "")
        + "".join(f"- {line}\n" for line in judge(alone, taught, controlled=controlled))
    )


def judge(alone: Sequence[Comparison], taught: Sequence[Comparison], *, controlled: bool) -> Iterator[str]:
    """Yield what must be reached and the aims, each with what was found. Fresh games have no control."""
    every = [row for one in (*alone, *taught) for row in one.rows]
    ratios, with_teacher = (sorted(one.ratio for one in some if one.ratio is not None) for some in (alone, taught))
    yield mark(
        not any(map(fell, every)), f"no seed ends below its cold start: {sum(map(fell, every))} of {len(every)} do"
    )
    failed = max(row["players"]["trained"]["failed"] for row in every)
    yield mark(failed <= MOST_FAILED, f"at most {MOST_FAILED:.0%} failed replies on every seed: {failed:.1%}")
    if controlled:
        above = count_above(alone, {one.game: one.mean("control") for one in alone})
        yield mark(above >= LEAST_GAMES, f"above the control in {LEAST_GAMES} games: in {above} of {len(alone)}")
        if ratios:
            yield f"aim: median ratio from reward alone {LEAST_RATIO}: {median(ratios):.2f} over {len(ratios)} games"
        if with_teacher:
            least, middle = with_teacher[0], median(with_teacher)
            wanted = f"with a teacher, least ratio {LEAST_TAUGHT_RATIO} and median {LEAST_TAUGHT_MEDIAN}"
            is_reached = least >= LEAST_TAUGHT_RATIO and middle >= LEAST_TAUGHT_MEDIAN
            yield mark(is_reached, f"{wanted}: {least:.2f} and {middle:.2f} over {len(with_teacher)} games")
        return
    helped = count_above(taught, {one.game: one.mean("trained") for one in alone})
    yield mark(helped >= LEAST_GAMES, f"a teacher helps in {LEAST_GAMES} games: in {helped} of {len(taught)}")
    if with_teacher:
        found = f"{median(with_teacher):.2f} over {len(with_teacher)} games"
        yield f"aim: median ratio with a teacher {FRESH_MEDIAN}: {found}"


def mark(is_reached: bool, text: str) -> str:
    """Return a requirement with whether it is reached."""
    return f"{'reached' if is_reached else 'MISSED'}: {text}"


def count_above(found: Sequence[Comparison], others: Mapping[str, Mean | None]) -> int:
    """Return in how many games the trained model's interval is above the other's."""
    count = 0
    for one in found:
        trained, other = one.mean("trained"), others.get(one.game)
        count += trained is not None and other is not None and trained.low > other.high
    return count


def searched(rows: Sequence[Row]) -> str:
    """Return all that was tried on development games, as Markdown."""
    games = [*dict.fromkeys(row["game"] for row in rows)]
    lines = []
    for settings, budget in dict.fromkeys((tuple(row["settings"]), row["budget"]) for row in rows):
        line = [" ".join(settings) or "the defaults", f"{budget:g}"]
        for game in games:
            find_losses = [
                row for row in rows if (tuple(row["settings"]), row["budget"], row["game"]) == (settings, budget, game)
            ]
            if find_losses:
                cold, trained = Mean.from_rows(find_losses, "cold start"), Mean.from_rows(find_losses, "trained")
                line.append(f"{cold.value:+.2f} to {trained.value:+.2f} ({len(find_losses)})")
            else:
                line.append("")
        lines.append(line)
    cpu = sum(row["cold_start_cpu_seconds"] + row["train_cpu_seconds"] for row in rows) / 3600
    return (
        "Mean return against random play after the cold start and after training; in brackets the number of seeds. "
        f"{cpu:.1f} CPU hours.\n\n{table(['settings', 'budget', *games], lines)}"
    )


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.untuned", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("table", "fresh", "search"))
    parser.add_argument("--games", nargs="+", metavar="GAME", help="only these")
    parser.add_argument("--seeds", type=int, nargs="+", help="only these")
    parser.add_argument("--budget", type=float, default=BUDGET, help="CPU seconds of each run; 240 by default")
    parser.add_argument("--matches", type=int, default=MATCHES, help="matches of each evaluation; 1,000 by default")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side; 2 by default")
    parser.add_argument("--runs", type=Path, default=Path("runs/untuned"), help="where the runs go")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--set", "-s", action="append", default=[], dest="settings", metavar="NAME=VALUE")
    given = parser.parse_args()
    if given.jobs > len(os.sched_getaffinity(0)):
        parser.error(f"--jobs {given.jobs}: each run needs its own core, and this machine has fewer.")
    tables = {"table": GAMES, "fresh": FRESH}
    final = given.what in tables
    if final and given.settings:
        parser.error("--set: the tables are of the shipped defaults. Settings are tried by search.")
    games = given.games or tables.get(given.what, DEVELOPMENT)
    seeds = given.seeds or (SEEDS if final else DEVELOPMENT_SEEDS)
    if unfit := [game for game in games if game in (*GAMES, *FRESH) and not final]:
        parser.error(f"--games {unfit[0]}: games of the tables are not searched on.")
    learners = (OURS, TAUGHT, PPO) if final else (OURS,)
    settings = tuple(given.settings)
    jobs = [
        Job(game, seed, who, given.budget, settings, given.what == "table" and who == OURS)
        for seed in seeds
        for game in games
        for who in learners
    ]
    name = {"table": "untuned", "fresh": "untuned-fresh"}.get(given.what, "untuned-search")
    text = partial(published, games=tables[given.what]) if final else searched
    do_all(jobs, given, name, text)


if __name__ == "__main__":
    main()
