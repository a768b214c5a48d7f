"""The command `gymposium export`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.text import make_stdout_console, print_error, print_text
from gymposium.errors import BadOption, GymposiumError, describe_error
from gymposium.records import (
    Keep,
    Problem,
    Record,
    drop_duplicate_files,
    explain_rejection,
    find_match_files,
    is_record_file,
    read_records,
)
from gymposium.records.conversation import Conversation, list_conversations
from gymposium.runs.exports.atif import RunSamples, make_trajectory
from gymposium.runs.exports.chats import make_chat, read_chat_lines, to_anthropic, to_openai
from gymposium.runs.exports.dataset import write_dataset
from gymposium.util.durable import replace_content
from gymposium.util.visible import quantity
from gymposium.util.writable import check_writable

Format = Literal["atif", "openai", "anthropic", "parquet"]


def command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|DIR",
            exists=True,
            readable=True,
            help="Record files (.jsonl, .jsonl.gz), data.jsonl of gymposium synth, or folders of runs",
        ),
    ],
    form: Annotated[Format, typer.Option("--format", help="Write this format")],
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="Write to this new file, or folder for parquet")],
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="OUTCOME",
            help="Keep seats with these outcomes and no failed reply: win, draw, loss (separated by commas), "
            "return>=X, all",
        ),
    ] = None,
    player: Annotated[str | None, typer.Option(metavar="NAME", help="Keep only this player's seats")] = None,
    as_json: JsonOption = False,
) -> None:
    """Export matches and training data in the formats of other tools.

    atif writes trajectories in Harbor's Agent Trajectory Interchange Format (v1.7), one line per seat and match. From a
    training run, they include the sampled token ids, log-probabilities, rewards and advantages where samples.jsonl has
    them. gymposium audit reads them back.

    openai and anthropic write chats for fine-tuning services, one per line. parquet writes a folder with a dataset card
    for Hugging Face's datasets (pip install "gymposium[hub]"). These three take matches, or data.jsonl of gymposium
    synth, and omit seats with a failed reply.

    The exit code is 1 if a line is invalid or a match cannot be replayed. The other lines are exported.

    Examples:

        gymposium export runs/train-1 --format atif --out trajectories.jsonl
        gymposium export run.jsonl --format openai --keep win --out tuning.jsonl
        gymposium export runs/synth-1 --format parquet --out my-dataset
    """
    check_writable("--out", out)
    if out.exists():
        raise BadOption(f"--out {out}: it exists. Choose another path.")
    export = _Export(form, None if keep is None else Keep.parse(keep), player)
    items = export.list_items(paths)
    if form == "parquet":
        chats = [*items]
        export.check_not_empty()
        write_dataset(out, chats)
    else:
        with replace_content(out) as file:
            for item in items:
                file.write(json.dumps(item, separators=(",", ":")).encode() + b"\n")
            export.check_not_empty()
    left_out = dict(export.left_out.most_common())
    if as_json:
        problems = [asdict(problem) for problem in export.problems]
        print_json({"out": str(out), "lines": export.lines, "left_out": left_out, "problems": problems})
    else:
        for problem in export.problems:
            print_error(str(problem))
        noun = quantity(export.lines, *(("trajectory", "trajectories") if form == "atif" else ("chat",)))
        omitted = "".join(f"; left out: {reason} {count}" for reason, count in left_out.items())
        print_text(make_stdout_console(), f"{out}: {noun}{omitted}")
    if export.problems:
        raise typer.Exit(1)


@dataclass(slots=True)
class _Export:
    """An export under way, with its counts."""

    form: Format
    keep: Keep | None
    player: str | None
    lines: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of seats left out, by reason."""
    problems: list[Problem] = field(default_factory=list)

    def list_items(self, paths: list[Path]) -> Iterator[dict[str, Any]]:
        """Yield the exported lines of these files and folders, in order."""
        for path in paths:
            samples = None
            if self.form == "atif" and path.is_dir():
                samples = RunSamples(path / "samples.jsonl")
                self.problems += samples.problems
            for file in self._find_files(path):
                for item in self._list_chats(file) if self._has_chats(file) else self._list_seats(file, samples):
                    self.lines += 1
                    yield item

    def check_not_empty(self) -> None:
        """Raise `GymposiumError` if nothing was exported."""
        if self.lines == 0:
            reasons = ", ".join(f"{reason} {count}" for reason, count in self.left_out.most_common())
            found = f"left out: {reasons}" if reasons else "the files have no valid match"
            first = f" First problem: {self.problems[0]}" if self.problems else ""
            raise GymposiumError(f"Nothing to export ({found}). Check --keep, --player and the files.{first}")

    def _find_files(self, path: Path) -> list[Path]:
        if self.form != "atif" and (path / "data.jsonl").is_file():
            return [path / "data.jsonl"]
        return drop_duplicate_files(find_match_files(path))

    def _has_chats(self, file: Path) -> bool:
        if is_record_file(file):
            return False
        if self.form == "atif":
            raise BadOption(f"{file} has no match records, which --format atif needs. Name a run's folder.")
        if self.keep is not None or self.player is not None:
            raise BadOption(f"--keep and --player apply to matches, but {file} has chats. Omit them.")
        return True

    def _list_chats(self, file: Path) -> Iterator[dict[str, Any]]:
        return map(self._convert, read_chat_lines(file))

    def _list_seats(self, file: Path, samples: RunSamples | None) -> Iterator[dict[str, Any]]:
        for number, record in read_records(file):
            if isinstance(record, Problem):
                self.problems.append(record)
                continue
            seats = [seat for seat in range(len(record.players)) if self._keeps(record, seat)]
            try:
                conversations = list_conversations(record) if seats else []
                made = [self._make(record, seat, conversations[seat], samples) for seat in seats]
            except Exception as error:  # noqa: BLE001 - an engine may raise anything at an unknown record
                self.problems.append(
                    Problem(f"{file}:{number}", f"match {record.id} cannot be exported: {describe_error(error)}")
                )
                continue
            yield from made

    def _make(
        self, record: Record, seat: int, conversation: Conversation, samples: RunSamples | None
    ) -> dict[str, Any]:
        if self.form == "atif":
            sample = None if samples is None else samples.find(record.id, seat)
            return make_trajectory(record, seat, conversation, sample)
        return self._convert(make_chat(record, seat, conversation))

    def _keeps(self, record: Record, seat: int) -> bool:
        reason: str | None
        if self.player not in (None, record.players[seat]):
            reason = "another player"
        elif self.form == "atif" and self.keep is None:
            moved = any(turn["seat"] == seat for turn in record.turns)
            reason = None if moved else "the seat never moved"
        else:
            reason = explain_rejection(record, seat, self.keep or Keep())
        self.left_out.update([] if reason is None else [reason])
        return reason is None

    def _convert(self, chat: dict[str, Any]) -> dict[str, Any]:
        if self.form == "parquet":
            return chat
        return to_openai(chat) if self.form == "openai" else to_anthropic(chat)
