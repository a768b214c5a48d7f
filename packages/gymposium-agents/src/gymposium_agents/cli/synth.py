"""`gymposium synth`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from hashlib import blake2b, sha256
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Annotated

import typer

from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import (
    ScheduleOption,
    SeedOption,
    match_bar,
    note_remarks,
    open_record,
    read_schedule,
    telling_of,
)
from gymposium.cli.text import note, out
from gymposium.driver import FORFEIT, MatchJob, Played, Schedule, play
from gymposium.durable import replace_text
from gymposium.errors import BadOption, GymposiumError
from gymposium.games.protocol import Game
from gymposium.games.registry import load_game
from gymposium.players.protocol import Player
from gymposium.prompt import PROMPT_VERSION
from gymposium.records import Problem, Record, read_records, recorded
from gymposium.seating import seated_jobs
from gymposium_agents.cli.own_server import ServerOptions, seated_players
from gymposium_agents.settings import PlayerSettings
from gymposium_agents.synth import Gathered, Keep, Wanted, gather, per_of

FORMAT = "gymposium-synth-1"


def command(
    game: Annotated[str, typer.Option(metavar="GAME", help="As in gymposium list; parameters may be given.")],
    players: Annotated[str, typer.Option(metavar="A,B", help="Who plays: one for each seat, as in gymposium list.")],
    file: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The data, a line of JSON each. It must not be there yet.")
    ],
    matches: Annotated[int, typer.Option("-n", "--matches", min=1, help="How many matches are played.")] = 1000,
    keep: Annotated[
        str,
        typer.Option(
            metavar="OUTCOME",
            help="What a seat must have reached: win, draw, loss (several with commas), return>=X, all.",
        ),
    ] = "win",
    seats: Annotated[str, typer.Option(metavar="0,1", help="Whose turns are data: some seats, or all.")] = "all",
    by: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Whose turns are data: those of the Nth of --players alone, in any seat."
        ),
    ] = None,
    context: Annotated[
        str, typer.Option(metavar="CONTEXT", help="What is read of the match so far: state, full, truncated or last-K.")
    ] = "state",
    reply: Annotated[str, typer.Option(metavar="FORM", help="The form of replies: move, tags or json.")] = "move",
    prompt: Annotated[str, typer.Option(metavar="STYLE", help="The prompt style: full or compact.")] = "compact",
    thinking: Annotated[
        bool, typer.Option("--thinking", help="Whether the chat template is told that the model may think first.")
    ] = False,
    per: Annotated[
        str | None,
        typer.Option(
            metavar="match|turn",
            help="What a line holds. A whole match where the context only grows (full), else one turn, unless given.",
        ),
    ] = None,
    dedupe: Annotated[bool, typer.Option("--dedupe", help="Pass over a chat that is in the data already.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, metavar="LINES", help="At most so many lines.")] = None,
    seed: SeedOption = 0,
    swap: Annotated[
        bool, typer.Option("--swap/--no-swap", help="Whether the players change seats from match to match.")
    ] = True,
    schedule: ScheduleOption = "rounds",
    at_once: Annotated[int, typer.Option(min=1, help="How many matches are played at the same time.")] = 512,
    start_server: Annotated[
        bool,
        typer.Option(
            "--start-server", help="Start a vLLM server for the language model among the players, for so long."
        ),
    ] = False,
    server_option: ServerOptions = None,
    as_json: JsonOption = False,
) -> None:
    """Make data to imitate: games of any players, kept by outcome, as chats in JSONL.

    Every kept seat is shown exactly as a language model would be asked in its place: the prompts, and the past
    replies as the context shows them. What a language model wrote in the form asked for stays word for word, its
    thoughts included; any other player's move becomes the shortest reply that offers it. A reply that is no legal
    move forfeits; such a seat is left out, and so are its opponents.

    Whole matches are written as messages, single turns as prompt and completion, the formats of TRL and others. The
    matches are recorded beside the data, so that a run that was stopped goes on where it was.

    Examples:

    \b
    gymposium synth --game tic_tac_toe --players mcts-100,random -n 500 --by 1 --keep win,draw --out moves.jsonl
    gymposium synth --game kuhn_poker --players "lm:MODEL?reply=tags&temperature=0.8,random" --reply tags --out k.jsonl
    gymposium synth --game 2048 --players random -n 400 --keep "return>=1500" --out 2048.jsonl
    """

    loaded, how = load_game(game), read_schedule(schedule)
    texts = [name.strip() for name in players.split(",")]
    settings = PlayerSettings().with_options(
        {"context": context, "reply": reply, "prompt": prompt, "thinking": "true" if thinking else "false"}
    )
    wanted = Wanted(
        settings=settings,
        keep=Keep.parse(keep),
        per=per_of(settings, per),
        seats=read_seats(seats, loaded),
        dedupe=dedupe,
        limit=limit,
    )
    wanted.keep.check(loaded)
    check_players(texts, by, loaded)
    if file.exists():
        raise BadOption(f"--out {file}: is there already. Name another file, or delete it to have it made again.")
    session = _Session(loaded, texts, matches, seed, swap, file.with_suffix(".matches.jsonl"))
    session.resume()
    try:
        with ExitStack() as stack:
            stack.enter_context(telling_of(session.file))
            seated = stack.enter_context(seated_players(texts, server_option, start_server=start_server))
            session.play(seated, how, at_once)
            if by is not None:
                wanted = replace(wanted, by=seated[texts[by - 1]].name)
            note_remarks(seated.values())
    except KeyboardInterrupt:
        note(
            f"Stopped. {len(session.records)} of {matches} matches are recorded in {session.file}; the same command "
            f"goes on from there."
        )
        raise typer.Exit(130) from None
    counts = Gathered()
    data = "".join(json.dumps(line) + "\n" for line in gather(session.in_order(), wanted, counts))
    if not data:
        raise GymposiumError(
            f"No seat of {counts.matches} matches is to be imitated ({_reasons(counts)}). Play more of them (-n; those "
            f"in {session.file} are not played again), keep other outcomes (--keep), or let stronger players play."
        )
    replace_text(file, data)
    manifest = {
        "format": FORMAT,
        "data": file.name,
        "sha256": sha256(data.encode()).hexdigest(),
        "records": session.file.name,
        "game": loaded.name,
        "players": texts,
        "matches": matches,
        "seed": seed,
        "swap": swap,
        "wanted": {**asdict(wanted), "keep": keep},
        "prompt_version": PROMPT_VERSION,
        "versions": {"python": python_version()} | {name: version(name) for name in ("gymposium", "gymposium-agents")},
        "counts": counts.as_dict(),
    }
    replace_text(file.with_suffix(".manifest.json"), json.dumps(manifest, indent=2) + "\n")
    if as_json:
        print_json(manifest)
    else:
        what = "whole matches" if wanted.per == "match" else "single turns"
        out().print(f"{file}: {counts.lines} lines, {what}, context {settings.context}", soft_wrap=True)
        out().print(f"  played    {counts.matches} matches of {loaded.name}, seed {seed}", soft_wrap=True)
        out().print(f"  kept      {counts.kept} seats", soft_wrap=True)
        out().print(f"  left out  {_reasons(counts)}", soft_wrap=True)
        if dedupe:
            out().print(f"  passed over as duplicates  {counts.duplicates} lines", soft_wrap=True)
    note(f"Matches in {session.file}, settings and counts in {file.with_suffix('.manifest.json')}")


class _Session:
    """The matches that data is made from, as far as they were played."""

    def __init__(self, game: Game, texts: Sequence[str], matches: int, seed: int, swap: bool, file: Path) -> None:
        self.game, self.texts, self.matches, self.seed, self.swap, self.file = game, texts, matches, seed, swap, file
        # equal ids, equal matches: the id holds a digest of all that they depend on
        inputs = f"{game.name} {','.join(texts)} {seed} {swap}"
        self.tag = f"synth-{blake2b(inputs.encode(), digest_size=4).hexdigest()}"
        self.records: dict[str, Record] = {}

    def resume(self) -> None:
        """Take over what an earlier run recorded.

        Raises `BadOption` where the file holds matches of another command."""
        if not self.file.exists():
            return
        for number, record in read_records(self.file):
            if isinstance(record, Problem):
                note(f"{record.where} is no whole record; that match is played again.")
            elif not record.id.startswith(f"{self.tag}-"):
                raise BadOption(
                    f"{self.file}:{number} is a match of other settings (game, players, seed or seats). Name another "
                    f"--out, or delete that file."
                )
            elif record.error is None:
                self.records[record.id] = record
        note(f"{len(self.records)} matches are recorded in {self.file} already.")

    def play(self, players: Mapping[str, Player], schedule: Schedule, at_once: int) -> None:
        """Play and record what is missing."""
        seated = [players[text] for text in self.texts]

        def jobs() -> Iterator[MatchJob]:
            for job, _ in seated_jobs(
                self.game, seated, self.matches, seed=self.seed, swap=self.swap, tag=self.tag, on_illegal=FORFEIT
            ):
                if job.id not in self.records:
                    yield job

        with open_record(self.file) as writer, match_bar() as bar:
            task = bar.add_task(self.game.name, total=self.matches, completed=len(self.records))

            def keep(played: Played) -> None:
                record = writer.write(played)
                if record.error is None:
                    self.records[record.id] = record
                    bar.advance(task)

            for _ in recorded(play(jobs(), at_once=at_once, schedule=schedule), keep):
                pass

    def in_order(self) -> Iterator[Record]:
        """The matches by number, whenever they ended."""
        return (self.records[f"{self.tag}-{number}"] for number in range(self.matches))


def read_seats(text: str, game: Game) -> tuple[int, ...] | None:
    """`0,1` as seats, `all` as None. Raises `BadOption` for seats that the game has not."""
    if text == "all":
        return None
    known = [str(seat) for seat in range(game.seats)]
    names = [part.strip() for part in text.split(",")]
    if wrong := [name for name in names if name not in known]:
        raise BadOption(f"--seats {text}: {game.name} has no seat {wrong[0]!r}. Seats: {', '.join(known)}, or all.")
    return tuple(sorted({int(name) for name in names}))


def check_players(texts: Sequence[str], by: int | None, game: Game) -> None:
    """Raises `BadOption` where the seats are not all taken, or by somebody who cannot play many matches."""
    if len(texts) != game.seats:
        seats = "1 player" if game.seats == 1 else f"{game.seats} players"
        raise BadOption(f"--players {','.join(texts)}: {game.name} needs {seats}, not {len(texts)}.")
    if by is not None and by > len(texts):
        raise BadOption(f"--by {by}: --players names {len(texts)}.")
    if "human" in texts:
        raise BadOption(f"--players: a person plays one match at a time:  gymposium play {game.name}")


def _reasons(counts: Gathered) -> str:
    reasons = [f"{reason} {count}" for reason, count in counts.left_out.most_common()]
    return f"{counts.left_out.total()} seats{': ' if reasons else ''}{', '.join(reasons)}"
