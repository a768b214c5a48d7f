"""What must hold of worlds with tools: proven questions, players at both ends, replays, and calls that wait together.

Questions of the mailbox and of the database are answered by a checker that is not their generator, from the text of
mails and from the database alone. Experts, random calls and a player that always says that it does not know play the
same number of tasks. Matches of every world are replayed from their records, where tools are pure by calling them
again, with a changed result as well, which must be found. Matches whose tools take 20 ms are played at once, and timed
against the longest of them alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from benchmarks.cpu_time import cpu_seconds
from benchmarks.report import RESULTS, about, table, write
from gymposium import GameSpec, load_game
from gymposium.games.protocol import CHANCE, Event, Game, Style
from gymposium.match import SCHEDULES, MatchJob, MatchResult, Schedule, play
from gymposium.players.grammar import make_player
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records import Record
from gymposium.records.replay import find_replay_difference
from gymposium.replies.reading import READERS, Reader
from gymposium.tasks import Result, World, make_tool_game
from gymposium.tasks.tools import Call, Tool
from gymposium.util.streams import Draw, stream
from gymposium_worlds.mail.making.mailbox import make_mailbox
from gymposium_worlds.mail.making.questions import KINDS_OF_QUESTIONS, SPLITS, draw_question as draw_mail_question
from gymposium_worlds.mail.proof import Checker, read_question
from gymposium_worlds.mail.scoring import UNKNOWN_ANSWER, is_right
from gymposium_worlds.mail.store import Store
from gymposium_worlds.tables.answers import UNKNOWN
from gymposium_worlds.tables.checking import prove_answer
from gymposium_worlds.tables.contents import make_database
from gymposium_worlds.tables.questions.kinds import MAKERS, draw_question as draw_tables_question
from gymposium_worlds.tables.sql.queries import open_database

SIZES = {"mail": (20, 60, 200), "tables": (20, 60, 200, 400)}
"""Numbers of mails, and of rows, of the worlds whose questions are proven."""
ASKED_OF_EACH = 20
"""Number of questions about each of these mailboxes and databases."""
LARGE = 2_000
"""Number of mails of the large mailbox."""
SECONDS = 0.02
"""Duration of a call in the matches that wait."""
AT_ONCE = 32

UNKNOWN_MOVES = {
    "mail": Call("return_final_answer", {"answer": UNKNOWN_ANSWER, "sources": []}).json,
    "tables": Call("answer", {"value": UNKNOWN}).json,
}
REPLAYED = {
    "mail": ("random", "mail-expert"),
    "tables": ("random", "tables-expert"),
    "qa": ("arithmetic", None),
    "mcp": ("random", None),
}
"""The worlds whose records are replayed, and who plays; None for a player that always says 4."""


class Says:
    """A player that gives one reply at every turn."""

    name = "says"
    style: Style = "full"
    reader: Reader = READERS["move"]

    def __init__(self, reply: str) -> None:
        self._reply = reply

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._reply) for _ in asks]


@dataclass(frozen=True)
class CheckedFigure:
    """A figure with what it must be."""

    what: str
    found: float
    shown: str
    must: str
    holds: bool


def played(game: Game, player: Player, seeds: Sequence[int], schedule: Schedule = "rounds") -> Iterator[MatchResult]:
    return play([MatchJob(f"m{seed}", game, [player], seed) for seed in seeds], at_once=256, schedule=schedule)


def mean_score(game: Game, player: Player, matches: int) -> float:
    return sum(one.paid[0] for one in played(game, player, range(matches))) / matches


# -- proofs


def mail_questions(number: int) -> tuple[int, int]:
    """Return the number of questions asked, and of those with exactly one answer, which is the generator's."""
    asked = proven = 0
    for world in range(-(-number // ASKED_OF_EACH)):
        box = make_mailbox(world, SIZES["mail"][world % len(SIZES["mail"])])
        checker = Checker(box.mails)
        for place in range(min(ASKED_OF_EACH, number - asked)):
            draw = Draw(stream(world, "question", place))
            question = draw_mail_question(box, tuple(KINDS_OF_QUESTIONS), SPLITS[place % 2], draw)
            read = read_question(question.text)
            findings = [] if read is None else checker.find_answers(read)
            asked += 1
            if question.kind == "absent":
                proven += read is not None and findings == []
            else:
                proven += len(findings) == 1 and is_right(findings[0].answer, question.answer)
    return asked, proven


def tables_questions(number: int) -> tuple[int, int]:
    """Return the same of questions about databases."""
    asked = proven = 0
    for world in range(-(-number // ASKED_OF_EACH)):
        split: Literal["train", "test"] = "test" if world % 2 else "train"
        database = make_database(f"{split}-{world}", SIZES["tables"][world // 2 % len(SIZES["tables"])])
        connection = open_database(database)
        for place in range(min(ASKED_OF_EACH, number - asked)):
            _, question = draw_tables_question(database, tuple(MAKERS), split, Draw(stream(world, "question", place)))
            asked += 1
            proven += question.answer.matches(prove_answer(question.text, connection))
        connection.close()
    return asked, proven


def proofs(number: int) -> Iterator[CheckedFigure]:
    makers: dict[str, Callable[[int], tuple[int, int]]] = {"mail": mail_questions, "tables": tables_questions}
    for name, ask in makers.items():
        asked, proven = ask(number)
        share = proven / asked
        yield CheckedFigure(f"{name}: questions proven", share, f"{proven:,} of {asked:,}", "all", proven == asked)


# -- players


def players(matches: int) -> Iterator[CheckedFigure]:
    """Yield what an expert, random calls and a player that knows nothing score."""
    for name, unknown in UNKNOWN_MOVES.items():
        game = load_game(name)
        expert = mean_score(game, make_player(f"{name}-expert"), matches)
        yield CheckedFigure(f"{name}: {name}-expert", expert, f"{expert:.4f}", "1", expert == 1.0)
        calls = mean_score(game, make_player("random"), matches)
        yield CheckedFigure(f"{name}: random", calls, f"{calls:.4f}", "0.01 at most", calls <= 0.01)
        nothing = mean_score(game, Says(unknown), matches)
        yield CheckedFigure(
            f"{name}: always unknown", nothing, f"{nothing:.4f}", "below half the expert", nothing < expert / 2
        )


def large_mailbox(matches: int) -> Iterator[CheckedFigure]:
    """Measure the CPU time to build a mailbox of 2,000 mails, and of a turn of the expert's matches."""
    began = cpu_seconds()
    Store(make_mailbox.__wrapped__(0, LARGE).mails)
    built = cpu_seconds() - began
    yield CheckedFigure(f"mail: {LARGE:,} mails built", built, f"{built:.2f} CPU s", "1 CPU s at most", built <= 1.0)
    game = load_game("mail", mails=LARGE)
    results = list(played(game, make_player("mail-expert"), range(matches)))
    new = [game.new(one.job.seed) for one in results]  # their mailboxes are made
    began = cpu_seconds()
    for match, one in zip(new, results, strict=True):
        for turn in one.turns:
            match.apply({0: turn.text})
    spent = (cpu_seconds() - began) / sum(len(one.turns) for one in results) * 1000
    yield CheckedFigure(
        f"mail: a turn at {LARGE:,} mails", spent, f"{spent:.2f} CPU ms", "1 CPU ms at most", spent <= 1.0
    )


# -- replays


def replays(matches: int) -> Iterator[CheckedFigure]:
    """Yield the matches that replay to the same record, and the changed results that are found."""
    for name, both in REPLAYED.items():
        game = load_game(name)
        results = [
            one
            for place, player in enumerate(both)
            for one in played(game, make_player(player) if player else Says("4"), range(place, matches, len(both)))
        ]
        records = [Record.from_match(one) for one in results]
        equal = sum(find_replay_difference(load_game(name), record) is None for record in records)
        yield CheckedFigure(
            f"{name}: replayed equal", equal / matches, f"{equal:,} of {matches:,}", "all", equal == matches
        )
        if name in ("mail", "tables"):
            changed = [with_another_result(record) for record in records]
            found = sum(find_replay_difference(game, record) is not None for record in changed)
            yield CheckedFigure(
                f"{name}: changed results found", found / matches, f"{found:,} of {matches:,}", "all", found == matches
            )


def with_another_result(record: Record) -> Record:
    """Return the record with another text as the first result."""
    events = list(record.events)
    outcome = json.loads(events[2].move)
    outcome["results"][0]["text"] += " (changed)"
    events[2] = Event(CHANCE, json.dumps(outcome, ensure_ascii=False, sort_keys=True))
    return replace(record, events=events)


# -- waiting


def wait() -> str:
    """Wait for something."""
    return ""


class Waiting:
    """A task whose calls take `SECONDS` each."""

    def __init__(self, calls: int) -> None:
        self._left = calls

    def opening(self, style: Style) -> str:
        return "Wait."

    async def call(self, call: Call) -> Result:
        await asyncio.sleep(SECONDS)
        self._left -= 1
        return Result("done")

    def over(self) -> bool:
        return self._left <= 0

    def score(self) -> float:
        return float(self.over())

    def report(self) -> Mapping[str, float]:
        return {}

    async def close(self) -> None:
        pass


@dataclass(frozen=True)
class WaitingTasks:
    """Tasks of 10 to 20 calls."""

    tools: ClassVar[tuple[Tool, ...]] = (Tool.from_function(wait),)
    max_calls: ClassVar[int] = 20
    utility_range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def rules(self, style: Style) -> str:
        return "Wait.\n"

    def task(self, seed: int) -> Mapping[str, Any]:
        return {"calls": 10 + seed % 11}

    async def open(self, task: Mapping[str, Any]) -> World:
        return Waiting(task["calls"])


def waiting() -> Iterator[CheckedFigure]:
    """Yield the wall time of matches that are played at once, as a multiple of that of the longest alone."""
    spec = GameSpec(
        name="waiting", title="Waiting", summary="Wait.", entry_point="benchmarks.worlds:game", seats=1,
        information="imperfect", chance=True, utility="score", free_text=True, tools="pure",
        unsearchable="search cannot guess what tools return",
    )  # fmt: skip
    game, player = make_tool_game(spec, {}, WaitingTasks()), Says(Call("wait", {}).json)
    for schedule in SCHEDULES:
        times = []
        for seeds in ([0], [10], range(AT_ONCE)):  # to start the loop of all worlds, one of the longest, all
            began = time.perf_counter()
            assert all(one.paid == (1.0,) for one in played(game, player, seeds, schedule))
            times.append(time.perf_counter() - began)
        ratio = times[2] / times[1]
        what = f"{AT_ONCE} matches at once, {schedule}: wall time : longest match"
        yield CheckedFigure(what, ratio, f"{ratio:.2f}", "1.5 at most", ratio <= 1.5)


PARTS = ("waiting", "large", "players", "replays", "proofs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"all by default: {', '.join(PARTS)}")
    parser.add_argument("--questions", type=int, default=10_000, help="questions to prove in each world")
    parser.add_argument("--matches", type=int, default=2_000, help="matches of each player")
    parser.add_argument("--replays", type=int, default=1_000, help="matches of each world to replay")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args()
    if unknown := [part for part in given.parts if part not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}. There are {', '.join(PARTS)}.")
    parts: dict[str, Callable[[], Iterator[CheckedFigure]]] = {
        "waiting": waiting,
        "large": lambda: large_mailbox(10),
        "players": lambda: players(given.matches),
        "replays": lambda: replays(given.replays),
        "proofs": lambda: proofs(given.questions),
    }
    measured: list[CheckedFigure] = []
    for name in given.parts or PARTS:
        for one in parts[name]():
            print(f"{one.what}: {one.shown} (must be: {one.must})", flush=True)
            measured.append(one)
    missed = [one.what for one in measured if not one.holds]
    data = {
        "about": about("gymposium", "gymposium-worlds", "gymposium-mcp", "mcp"),
        "figures": {one.what: round(one.found, 5) for one in measured},
        "missed": missed,
    }
    rows = [[one.what, one.shown, one.must if one.holds else f"{one.must}: MISSED"] for one in measured]
    write(given.out, "worlds", data, table(["figure", "found", "must be"], rows), quiet=True)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
