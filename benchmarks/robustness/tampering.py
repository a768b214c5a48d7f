"""A board that is changed by hand, one way at a time, and verified.

A small board is played on the spot and rated. Each way to tamper gets a copy of it. A failure is tampering that
verification does not find, or an exception that is no `GymposiumError`.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.robustness.row import Row, Wanted
from gymposium.errors import GymposiumError
from gymposium.match.ending import Ending
from gymposium.runs.executors.local import LocalExecutor
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.suite import parse_suite
from gymposium_arena.tournament import run_tournament
from gymposium_arena.verify import verify_board
from gymposium_arena.yardsticks import write_exact

Way = Callable[[Path], object]

SUITE = """
name = "tampered"
seed = {seed}
groups = 2
players = ["random", "greedy"]
[[games]]
name = "tic_tac_toe"
[[games]]
name = "kuhn_poker"
"""
OWN = Path("entries/greedy/matches")
"""Where the suite's own players met."""
MATCHES = OWN / "tic_tac_toe/random--greedy.jsonl"
CARDS = OWN / "kuhn_poker/random--greedy.jsonl"
SUBMITTED = Path("entries/mcts-2/entry.json")
MEASURED = Path("entries/random/exact.json")


def make_board(path: Path, seed: int) -> None:
    """Make a board of two own players and a submission, with results and measured figures."""
    board = Board.open_or_create(path, parse_suite(SUITE.format(seed=seed)))
    board.add(["mcts-2"], seed, label="A submission", by="Somebody", made="2026-01-02")
    with closing(LocalExecutor(1)) as executor:
        complete = run_tournament(board, executor).complete
    if not complete:
        raise GymposiumError("The board to tamper with could not be played.")
    write_exact(board, board.entries()[0])
    write_results(board, compute_results(board))


def is_found(path: Path) -> bool:
    """Return whether verification says that something is wrong with a board."""
    try:
        return bool(verify_board(Board(path), sample=99, rerun=99, seed=1).findings)
    except GymposiumError:
        return True


# -- how to tamper


def record(change: Callable[[dict[str, Any]], object], file: Path = MATCHES) -> Way:
    """Change the first record of a file."""

    def tamper(board: Path) -> None:
        first, *others = (board / file).read_text().splitlines()
        data = json.loads(first)
        change(data)
        _write(board / file, [json.dumps(data, separators=(",", ":")), *others])

    return tamper


def put(value: Any, *way: Any) -> Callable[[dict[str, Any]], None]:
    """Write the value at this path of keys."""

    def change(data: Any) -> None:
        *inner, last = way
        for key in inner:
            data = data[key]
        data[last] = value

    return change


def lines(change: Callable[[list[str]], object], file: Path = MATCHES) -> Way:
    """Change which lines a file has."""

    def tamper(board: Path) -> None:
        found = (board / file).read_text().splitlines()
        change(found)
        _write(board / file, found)

    return tamper


def text(file: str | Path, old: str, new: str) -> Way:
    """Change the text of a file."""

    def tamper(board: Path) -> None:
        was = (board / file).read_text()
        if old not in was:
            raise ValueError(f"{file} does not hold {old!r}")
        (board / file).write_text(was.replace(old, new, 1))

    return tamper


def content(file: str | Path, change: Callable[[Any], object]) -> Way:
    """Change a file of JSON."""

    def tamper(board: Path) -> None:
        data = json.loads((board / file).read_text())
        change(data)
        (board / file).write_text(json.dumps(data, indent=2) + "\n")

    return tamper


def sealed(change: dict[str, Any], file: Path = SUBMITTED) -> Way:
    """Change an entry and give it the digest that belongs to it."""

    def tamper(board: Path) -> None:
        entry = Entry.model_validate_json((board / file).read_bytes())
        (board / file).write_text(entry.model_copy(update=change).seal().text())

    return tamper


def added(file: str, made: str = "somebody was here\n") -> Way:
    """Add a file."""

    def tamper(board: Path) -> None:
        (board / file).parent.mkdir(parents=True, exist_ok=True)
        (board / file).write_text(made)

    return tamper


def linked(path: str | Path) -> Way:
    """Move something out of the board and link to it."""

    def tamper(board: Path) -> None:
        outside = board.with_name("outside")
        shutil.move(board / path, outside)
        (board / path).symlink_to(outside)

    return tamper


def pipe(path: str | Path) -> Way:
    """Replace a file with a pipe that no process writes to."""

    def tamper(board: Path) -> None:
        (board / path).unlink()
        os.mkfifo(board / path)

    return tamper


def exchange(one: Path, other: Path) -> Way:
    """Exchange two files."""

    def tamper(board: Path) -> None:
        kept = (board / one).read_bytes()
        (board / one).write_bytes((board / other).read_bytes())
        (board / other).write_bytes(kept)

    return tamper


def _write(file: Path, found: list[str]) -> None:
    file.write_text("".join(f"{line}\n" for line in found))


def _exchange_moves(data: dict[str, Any]) -> None:
    """Exchange two moves of one seat, and their replies."""
    first, second = data["turns"][0], data["turns"][2]
    places = {move: number for number, (_, move) in enumerate(data["events"])}
    one, other = places[first["text"]], places[second["text"]]
    data["events"][one][1], data["events"][other][1] = second["text"], first["text"]
    first["text"], second["text"] = second["text"], first["text"]


def _other_card(data: dict[str, Any]) -> None:
    dealt = {move for seat, move in data["events"] if seat < 0}
    data["events"][0][1] = next(card for card in ("Deal:0", "Deal:1", "Deal:2") if card not in dealt)


def _swap(found: list[str]) -> None:
    found[0], found[1] = found[1], found[0]


RECORDS: dict[str, Way] = {
    "returns": record(put([9.0, -9.0], "returns")),
    "results": record(put(["win", "win"], "results")),
    "a move and its reply": record(_exchange_moves),
    "a move alone": record(put("b2", "events", -1, 1)),
    "a reply alone": record(put("nonsense", "turns", 0, "text")),
    "a reading": record(put("illegal", "turns", 0, "reading")),
    "a reply left out": record(lambda data: data["turns"].pop()),
    "an event left out": record(lambda data: data["events"].pop()),
    "a deal": record(_other_card, CARDS),
    "the seed": record(put(3, "seed")),
    "the players' seed": record(put(3, "player_seed")),
    "seats exchanged": record(lambda data: data["players"].reverse()),
    "another player": record(put("exact", "players", 0)),
    "another game": record(put("connect_four", "game")),
    "the game's version": record(put(7, "game_version")),
    "what a failure costs": record(put("random", "on_illegal")),
    "the opening": record(put(2, "opening")),
    "a forfeit": record(put(asdict(Ending("no legal move", 0)), "ending")),
    "a claim of a timeout": record(put(asdict(Ending("timed out", 0)), "ending")),
    "a claim of a crash": record(put(asdict(Ending("crashed", 0, "Boom")), "ending")),
    "a claim of a full context": record(put(asdict(Ending("out of context", 1)), "ending")),
    "a match said to have broken off": record(put(asdict(Ending("broke off", detail="the server is gone")), "ending")),
    "penalties": record(put({"0": 0.5}, "penalties")),
    "reports": record(put([{"score": 1.0}, {"score": 2.0}], "reports")),
    "a prompt's digest": record(put("0" * 12, "prompts", 0, "hash")),
    "a prompt's style": record(put("full", "prompts", 0, "style")),
    "tokens that nobody counted": record(put([5, 5], "turns", 0, "tokens")),
    "time that nobody measured": record(put(9.0, "turns", 0, "seconds")),
    "a cost that nobody told": record(put(9.0, "turns", 0, "cost")),
    "an unknown key": record(put(1, "note")),
    "an unknown key in a reply": record(put(1, "turns", 0, "note")),
    "an unknown key in a prompt": record(put(1, "prompts", 0, "note")),
    "an unknown program among the versions": record(put("1", "versions", "helper")),
    "a seat that there is not": record(put(asdict(Ending("timed out", 7)), "ending")),
    "another format": record(put("gymposium-match-0", "format")),
    "a game that imports a module": record(put("gym:antigravity:Text-v0", "game")),
}
LINES: dict[str, Way] = {
    "a line removed": lines(lambda found: found.pop()),
    "the first line removed": lines(lambda found: found.pop(0)),
    "a line twice": lines(lambda found: found.append(found[0])),
    "two lines exchanged": lines(_swap),
    "a line of another lineup": lambda board: lines(
        lambda found: found.append((board / CARDS).read_text().splitlines()[0])
    )(board),
    "a line that is no record": lines(lambda found: found.insert(1, "# checked by hand")),
    "an empty line": lines(lambda found: found.insert(1, "")),
    "empty lines at the end": lines(lambda found: found.extend(["", ""])),
    "a key twice": lines(lambda found: found.insert(0, found.pop(0).replace('"seed":', '"seed":1,"seed":', 1))),
    "a line written otherwise": lines(lambda found: found.insert(0, json.dumps(json.loads(found.pop(0))))),
    "a torn line": lambda board: (board / MATCHES).write_text((board / MATCHES).read_text()[:-40]),
    "a line nested deeply": lines(lambda found: found.append('{"id":' + "[" * 100_000)),
    "a number of many digits": lines(
        lambda found: found.append(found[0].replace('"opening":', '"opening":' + "9" * 9999))
    ),
    "bytes that are no text": lambda board: (board / MATCHES).write_bytes(b"\xff\xfe" + (board / MATCHES).read_bytes()),
}
FILES: dict[str, Way] = {
    "a file of matches removed": lambda board: (board / MATCHES).unlink(),
    "files of matches exchanged": exchange(MATCHES, CARDS),
    "a file of matches too many": added(str(OWN / "tic_tac_toe/greedy--random.jsonl")),
    "a file beside the matches": added(str(OWN / "notes.txt")),
    "a file beside an entry": added("entries/greedy/run.py"),
    "a file beside the entries": added("entries/notes.txt"),
    "a file beside the suite": added("suite.bak"),
    "a hidden file": added("entries/greedy/.cache"),
    "a folder too many": lambda board: (board / OWN / "chess").mkdir(),
    "a folder beside the entries": lambda board: (board / "more").mkdir(),
    "a link to matches": linked(MATCHES),
    "a link to an entry": linked("entries/greedy/entry.json"),
    "a link to an entry's folder": linked("entries/greedy"),
    "a link to the results": linked("results.json"),
    "a link to the suite": linked("suite.toml"),
    "a link to a file of the machine": lambda board: (board / OWN / "passwd").symlink_to("/etc/passwd"),
    "a link to nothing": lambda board: (board / OWN / "nothing").symlink_to("nowhere"),
    "a pipe instead of matches": pipe(MATCHES),
    "a pipe instead of an entry": pipe("entries/greedy/entry.json"),
    "a pipe instead of the results": pipe("results.json"),
}
ENTRIES: dict[str, Way] = {
    "a label": text(SUBMITTED, "A submission", "The best"),
    "a label, sealed": sealed({"label": "The best"}),
    "an author": text(SUBMITTED, "Somebody", "Nobody"),
    "a seed": content(SUBMITTED, put(12345, "seed")),
    "no seed": content(SUBMITTED, put(None, "seed")),
    "a number": content(SUBMITTED, put(7, "number")),
    "a number that another has": content(SUBMITTED, put(0, "number")),
    "an unknown key": content(SUBMITTED, put(1, "note")),
    "a key twice": text(SUBMITTED, '"label": "A submission"', '"label": "x", "label": "A submission"'),
    "an entry that is no JSON": lambda board: (board / SUBMITTED).write_text("{"),
    "an entry removed": lambda board: (board / SUBMITTED).unlink(),
    "an entry's folder removed": lambda board: shutil.rmtree((board / SUBMITTED).parent),
    "an entry's folder copied": lambda board: shutil.copytree(board / "entries/mcts-2", board / "entries/mcts-3"),
    "a game less, sealed": sealed({"games": ("tic_tac_toe",)}),
    "the rules' version, sealed": sealed({"rules": {"tic_tac_toe": 3, "kuhn_poker": 0}}),
    "another player, sealed": sealed({"player": "exact", "slug": "exact"}),
    "a submission made one of the suite's own, sealed": sealed({"own": True}),
    "one of the suite's own made a submission, sealed": sealed({"own": False}, Path("entries/greedy/entry.json")),
    "a player that cannot be asked again, sealed": sealed({"repeats": None}),
    "a player that draws nothing, sealed": sealed({"deterministic": True}),
    "decoding, sealed": sealed({"decoding": {"temperature": 0.5}}),
}
DERIVED: dict[str, Way] = {
    "the suite's groups": text("suite.toml", "groups = 2", "groups = 1"),
    "the suite's seed": text("suite.toml", "seed = ", "seed = 1"),
    "the suite's title": text("suite.toml", 'title = ""', 'title = "The great one"'),
    "a player of the suite": text("suite.toml", '"greedy"', '"greedy", "exact"'),
    "an unknown key in the suite": text("suite.toml", "groups = 2", "groups = 2\nnote = 1"),
    "a suite that is no TOML": lambda board: (board / "suite.toml").write_text("= ="),
    "a figure of the results": content("results.json", lambda data: _raise_first_rating(data)),
    "the number of matches in the results": content("results.json", put(9, "games", 0, "matches")),
    "an unknown key in the results": content("results.json", put(1, "note")),
    "results that are no JSON": lambda board: (board / "results.json").write_text("{"),
    "a measured figure": content(MEASURED, put(0.9, "games", "tic_tac_toe", "exploitability")),
    "measured figures of another player": content(MEASURED, put("exact", "player")),
    "an unknown key in measured figures": content(MEASURED, put(1, "note")),
}


def _raise_first_rating(data: dict[str, Any]) -> None:
    data["games"][0]["board"]["standings"][0]["rating"] += 50.0


_RATED = frozenset(["a label, sealed", "an entry removed", "an entry's folder removed"])
"""Tampering that nothing but the results tells; so does any with the results themselves. All else must be found
without them, and much sooner."""

BOARDS, UNTOUCHED = 2, 20
"""Boards that are tampered with in every way, and verifications of boards that nobody changed."""
GROUPS = {
    "records of a board changed": RECORDS,
    "lines of a board's files changed": LINES,
    "files of a board removed, added, linked": FILES,
    "entries of a board changed": ENTRIES,
    "suite, results and measured figures of a board changed": DERIVED,
}


def rows(seed: int, wanted: Wanted) -> Iterator[Row]:
    """Yield the table's rows, one for each kind of tampering."""
    with tempfile.TemporaryDirectory() as folder:
        boards = [Path(folder) / f"board-{number}" for number in range(BOARDS)]
        for number, board in enumerate(boards):
            make_board(board, seed + number)
        if wanted(what := "a board that nobody changed"):
            found = [
                str(finding)
                for number in range(UNTOUCHED)
                for finding in verify_board(Board(boards[number % BOARDS]), sample=99, rerun=99, seed=number).findings
            ]
            yield Row("tampering", what, UNTOUCHED, tuple(f"found: {one}" for one in found))
        for what, ways in GROUPS.items():
            if wanted(what):
                failures = [fault for board in boards for name in ways if (fault := _tried(board, name, ways[name]))]
                yield Row("tampering", what, BOARDS * len(ways), tuple(failures))


def _tried(board: Path, name: str, tamper: Way) -> str:
    """Return what is wrong with how the tampering with a copy of the board is found; empty if nothing is."""
    with tempfile.TemporaryDirectory() as own:
        copy = Path(own) / "board"
        shutil.copytree(board, copy)
        if name not in _RATED and "results" not in name:
            (copy / "results.json").unlink()
        if "measured" not in name:
            (copy / MEASURED).unlink()
        tamper(copy)
        try:
            return "" if is_found(copy) else f"{name}: not found"
        except Exception as error:  # noqa: BLE001 - whatever verification raises is a failure
            return f"{name}: {type(error).__name__}: {error}"[:300]
