"""The command `gymposium synth`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Annotated, Any

import typer

from gymposium.cli.executors import AddressOption, ExecutorOption, JobsOption, open_optional_executor
from gymposium.cli.json_output import JsonOption, print_json
from gymposium.cli.matches import ScheduleOption, SeedOption, show_match_bar
from gymposium.cli.resume import (
    OutOption,
    check_settings,
    explain_resume,
    is_default,
    list_given_options,
    list_names_to_allow,
    reject_unused,
)
from gymposium.cli.series import open_run, play_series
from gymposium.cli.text import make_stdout_console, print_note
from gymposium.errors import BadOption, GymposiumError
from gymposium.games.protocol import Game
from gymposium.games.registry import explain_access, load_game
from gymposium.match import FORFEIT, read_schedule
from gymposium.match.seating import make_tag, round_up_matches
from gymposium.players.grammar import reject_person
from gymposium.players.protocol import Player
from gymposium.players.teaching import CachedTeacher, check_teacher_name, check_teaches
from gymposium.plugins.allowed import allow_names
from gymposium.plugins.command_line import format_command_line
from gymposium.records import Keep, Record, recommend_in_records
from gymposium.replies.prompt import PROMPT_VERSION
from gymposium.replies.reading import bind_reader
from gymposium.runs.folder import RunFolder, check_run_path
from gymposium.runs.playing import split_names
from gymposium.runs.series import SeatedSeries, seat_series
from gymposium.tasks.tools import list_tools
from gymposium.util.durable import replace_text
from gymposium.util.settings import dump_settings
from gymposium.util.visible import plural, quantity
from gymposium_agents.chat.settings import PlayerSettings, find_reply_form
from gymposium_agents.cli.own_server import ServerOptions, check_server_options, find_powerful_options, open_players
from gymposium_agents.players.synth import SynthData, SynthSelection, choose_per

MATCHES = 1000
"""The default number of matches, before rounding up to a multiple of the number of seats."""
TAUGHT_AT_ONCE = 64
"""Number of matches about which a teacher is asked at once."""
FORMAT = "gymposium-synth-2"


@dataclass(frozen=True, slots=True)
class SynthSettings:
    """The options of a run: the matches to play, and the selection of the data."""

    game: str
    players: str
    matches: int
    keep: str
    seats: str
    by: int | None
    context: str
    reply: str
    prompt: str
    thinking: bool
    per: str | None
    dedupe: bool
    limit: int | None
    seed: int
    swap: bool
    schedule: str
    at_once: int
    start_server: bool
    server_option: tuple[str, ...]
    teacher: str | None = None


_NAMES = frozenset(field.name for field in fields(SynthSettings))
_FIXED = ("game", "players", "seed", "swap", "out_dir")
"""The options that determine the recorded matches. All others may be changed with --resume, to add matches or to make
other data from the same matches."""


def command(
    ctx: typer.Context,
    game: Annotated[
        str | None, typer.Option(metavar="GAME", help="Play this game, with optional parameters (see gymposium list)")
    ] = None,
    players: Annotated[
        str | None, typer.Option(metavar="A,B", help="Seat these players, one per seat (see gymposium list)")
    ] = None,
    matches: Annotated[
        int,
        typer.Option(
            "-n",
            "--matches",
            min=1,
            help=("Play this many matches. The default is rounded up to a multiple of the seats"),
        ),
    ] = MATCHES,
    keep: Annotated[
        str,
        typer.Option(
            metavar="OUTCOME",
            help="Keep seats with these outcomes: win, draw, loss (separated by commas), return>=X, all",
        ),
    ] = "win",
    seats: Annotated[str, typer.Option(metavar="0,1", help="Take turns from these seats, or all")] = "all",
    by: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Take only the turns of the Nth of --players, in any seat"),
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            metavar="PLAYER",
            help="Reply with this player's moves, and list its probabilities of the legal moves, one turn per line",
        ),
    ] = None,
    context: Annotated[
        str,
        typer.Option(
            metavar="CONTEXT",
            help="Show this part of the match so far to the model: state, full, truncated or last-K",
        ),
    ] = "state",
    reply: Annotated[
        str,
        typer.Option(
            metavar="FORM", help=("Write replies in this form: move, tags or json, and tools in a game with tools")
        ),
    ] = "move",
    prompt: Annotated[str, typer.Option(metavar="STYLE", help="Use this prompt style: full or compact")] = "compact",
    thinking: Annotated[
        bool, typer.Option("--thinking", help="Tell the chat template that the model may think first")
    ] = False,
    per: Annotated[
        str | None,
        typer.Option(
            metavar="match|turn",
            help="Write this much per line. Default: a whole match if the context only grows (full), else one turn",
        ),
    ] = None,
    dedupe: Annotated[bool, typer.Option("--dedupe", help="Omit duplicate chats")] = False,
    limit: Annotated[int | None, typer.Option(min=1, metavar="LINES", help="Limit the number of lines")] = None,
    seed: SeedOption = 0,
    swap: Annotated[bool, typer.Option("--swap/--no-swap", help="Change seats from match to match")] = True,
    schedule: ScheduleOption = "rounds",
    at_once: Annotated[int, typer.Option(min=1, help="Play this many matches concurrently")] = 512,
    start_server: Annotated[
        bool,
        typer.Option(
            "--start-server",
            help="Start a vLLM server for the language model among the players, and stop it at the end",
        ),
    ] = False,
    server_option: ServerOptions = None,
    executor: ExecutorOption = None,
    jobs: JobsOption = None,
    address: AddressOption = None,
    out_dir: OutOption = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Continue the run in this folder. Move data.jsonl away to add matches (-n) or change data options",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make training data for imitation: matches of any players, filtered by outcome, as chats in JSONL.

    The chats of a kept seat are exactly what a language model would read in its place: the prompts, and the past
    replies as the context shows them. Replies of a language model in the requested form are kept verbatim, including
    thoughts. A move of any other player becomes the shortest reply with that move. A reply without a legal move
    forfeits the match. Neither that seat nor its opponents are kept.

    With --teacher, the states are those of the matches, and the replies are another player's. At each kept turn, the
    teacher sees what the seat saw, and a move is drawn from its recommendation. Earlier turns in a prompt keep the
    moves that led there, so a line is one turn. Turns without a recommendation are left out and counted.

    Whole matches are written as messages, single turns as prompt and completion. TRL and other trainers use these
    formats. The folder of the run contains data.jsonl, the matches and manifest.json. --resume continues an interrupted
    run, adds matches, or makes other data. Data is never overwritten: move data.jsonl away before you add matches or
    make other data.

    Examples:

    \b
    gymposium synth --game tic_tac_toe --players mcts-100,random -n 500 --by 1 --keep win,draw --out moves
    gymposium synth --game kuhn_poker --players "lm:MODEL?reply=tags&temperature=0.8,random" --reply tags
    gymposium synth --game 2048 --players random -n 400 --keep "return>=1500"
    gymposium synth --game tic_tac_toe --players "lm:MODEL,random" --by 1 --keep all --teacher exact
    mv moves/data.jsonl moves-500.jsonl
    gymposium synth --resume moves -n 1000
    """
    if resume is not None:
        folder, stored = open_run(ctx, resume, "synth", SynthSettings, _NAMES.difference(_FIXED))
        anew = {name: value for name, value in ctx.params.items() if name in list_given_options(ctx) and name in _NAMES}
        teachers = [] if stored.teacher is None or "teacher" in anew else [stored.teacher]
        check_settings([stored.game], [*split_names(stored.players), *teachers])
        if "server_option" not in anew:
            check_server_options(stored.server_option)
        settings = replace(stored, **anew | {"server_option": tuple(anew.get("server_option", stored.server_option))})
        if settings.matches < stored.matches:
            raise BadOption(
                f"-n {settings.matches} is too low: {resume} already has {stored.matches} planned "
                f"{plural(stored.matches, 'match')}. Give at least that number."
            )
        if settings != stored and (resume / "data.jsonl").exists():
            raise BadOption(
                f"{resume / 'data.jsonl'} was made with other settings, and data is never overwritten. Move or delete "
                f"it to make it again."
            )
    elif game is None or players is None:
        raise BadOption(
            "Name a game and its players:  gymposium synth --game tic_tac_toe --players mcts-100,random  (or "
            "--resume DIR)"
        )
    else:
        loaded = load_game(game)
        if loaded.seats == 1:
            reject_unused(ctx, ("swap",), f"in the single-player game {loaded.name}")
        if is_default(ctx, "matches"):
            matches = round_up_matches(MATCHES, loaded)
        how = (keep, seats, by, context, reply, prompt, thinking, per, dedupe, limit, seed, swap, schedule, at_once)
        settings = SynthSettings(game, players, matches, *how, start_server, tuple(server_option or ()), teacher)
        check_run_path(out_dir)
    session = _Session(settings)
    with (
        open_optional_executor(
            executor, jobs, address, schedule=settings.schedule, start_server=settings.start_server
        ) as chosen,
        open_players(session.names, settings.server_option, start_server=settings.start_server) as seated,
    ):
        session.choose_teacher(seated)
        if resume is None:
            folder = RunFolder.create(out_dir, "synth", dump_settings(settings))
        else:
            folder = replace(folder, settings=dump_settings(settings))
            folder.write_settings()
        played = play_series(
            folder,
            [session.seat(seated)],
            chosen,
            session.count,
            schedule=session.schedule,
            allow=session.allow,
            at_once=settings.at_once,
        )
        session.ask_teacher(folder)
    if not played.finished:
        played.check(folder, session.allow)
    manifest = session.write(folder)
    if as_json:
        print_json(manifest)
    else:
        session.print(folder)
    print_note(f"Matches in {folder.matches}, settings and counts in {folder.path / 'manifest.json'}")
    played.check(folder, session.allow)


class _Session:
    """The matches of a run and the selection of their data."""

    def __init__(self, settings: SynthSettings) -> None:
        """Raise `GymposiumError` for invalid settings."""
        self.settings = settings
        self.game = load_game(settings.game)
        if settings.teacher is not None:
            check_teacher_name("--teacher", settings.teacher, self.game.name)
        self.schedule = read_schedule(settings.schedule)
        self.texts = split_names(settings.players)
        self.names = [*self.texts, *([] if settings.teacher is None else [settings.teacher])]
        self.allow = [*list_names_to_allow([settings.game], self.names), *find_powerful_options(settings.server_option)]
        if explain_access(self.game.name):
            allow_names(self.game.name)  # the user typed or allowed it, and the records of the run name it
        thinking = "true" if settings.thinking else "false"
        player_settings = PlayerSettings().with_options(
            {"context": settings.context, "reply": settings.reply, "prompt": settings.prompt, "thinking": thinking}
        )
        if player_settings.pictures != "none":
            raise BadOption(f"--prompt {settings.prompt}: training examples contain only text. Use full or compact.")
        wanted = SynthSelection(
            settings=player_settings,
            keep=Keep.parse(settings.keep),
            per=choose_per(player_settings, settings.per, taught=settings.teacher is not None),
            seats=read_seats(settings.seats, self.game),
            dedupe=settings.dedupe,
            limit=settings.limit,
        )
        wanted.keep.check(self.game)
        bind_reader(find_reply_form(settings.reply), list_tools(self.game), self.game.name)
        check_players(self.texts, settings.by, self.game)
        self.data, self._lines = SynthData(wanted), list[str]()
        self._teacher: CachedTeacher | None = None
        self._records: list[Record] = []

    def seat(self, players: Mapping[str, Player]) -> SeatedSeries:
        """Return the matches to play. `players` maps texts to players."""
        settings = self.settings
        if settings.by is not None:
            self.data.wanted = replace(self.data.wanted, by=players[self.texts[settings.by - 1]].name)
        return seat_series(
            make_tag("synth", self.game.name, ",".join(self.texts), settings.seed, settings.swap),
            self.game,
            self.texts,
            [players[text] for text in self.texts],
            matches=settings.matches,
            seed=settings.seed,
            swap=settings.swap,
            on_illegal=FORFEIT,
        )

    def choose_teacher(self, players: Mapping[str, Player]) -> None:
        """Choose the teacher, if any. `players` maps texts to players. Raises `GymposiumError` if it cannot teach the
        game."""
        if self.settings.teacher is not None:
            player = players[self.settings.teacher]
            check_teaches(player, self.game)
            self._teacher = CachedTeacher(player)
            self.data.wanted = replace(self.data.wanted, teacher=player.name)

    def count(self, number: int, record: Record) -> None:
        """Add the data of a finished match. With a teacher, `ask_teacher` adds it."""
        if self._teacher is None:
            self._add(self.data.add(record))
        else:
            self._records.append(record)

    def ask_teacher(self, folder: RunFolder) -> None:
        """Add the data of all finished matches with the replies of the teacher, if any."""
        if self._teacher is None:
            return
        saved = f"{quantity(len(self._records), 'match')} recorded in {folder.path}."
        again = ("synth", "--resume", str(folder.path))
        with explain_resume(lambda: saved, *again, allow=self.allow), show_match_bar() as bar:
            task = bar.add_task(f"asking {self._teacher.player.name}", total=len(self._records))
            for first in range(0, len(self._records), TAUGHT_AT_ONCE):
                if self.data.lines == self.settings.limit:
                    break
                some = self._records[first : first + TAUGHT_AT_ONCE]
                kept = [seat for record in some for seat in self.data.wanted.list_kept_seats(record)]
                recommended = recommend_in_records(self._teacher, some, kept, partial(bar.advance, task))
                for record in some:
                    self._add(self.data.add(record, recommended))

    def _add(self, lines: Iterable[dict[str, Any]]) -> None:
        self._lines += [json.dumps(line) + "\n" for line in lines]

    def write(self, folder: RunFolder) -> dict[str, Any]:
        """Write the data and the manifest, and return the manifest. Raises `GymposiumError` if no seat is kept."""
        settings, counts, data = self.settings, self.data, "".join(self._lines)
        if not data and counts.kept:
            again = format_command_line("synth", "--resume", str(folder.path), "--teacher", "PLAYER", allow=self.allow)
            raise GymposiumError(
                f"{settings.teacher} recommends no move at {quantity(counts.untaught, 'turn')}. Choose another teacher "
                f"with  {again}"
            )
        if not data:  # the same settings would keep nothing again
            keeps_all, plays_more = (
                format_command_line("synth", "--resume", str(folder.path), *changed, allow=self.allow)
                for changed in (("--keep", "all"), ("-n", str(2 * settings.matches)))
            )
            raise GymposiumError(
                f"No seat of {quantity(counts.matches, 'match')} was kept ({_format_reasons(counts)}). Use "
                f"stronger players, keep other outcomes with  {keeps_all}  or play more matches with  {plays_more}"
            )
        replace_text(folder.path / "data.jsonl", data)
        manifest = {
            "format": FORMAT,
            "data": "data.jsonl",
            "sha256": sha256(data.encode()).hexdigest(),
            "records": folder.matches.name,
            "game": self.game.name,
            "players": self.texts,
            "matches": settings.matches,
            "seed": settings.seed,
            "swap": settings.swap,
            "wanted": {**asdict(counts.wanted), "keep": settings.keep},
            "prompt_version": PROMPT_VERSION,
            "versions": {
                "python": python_version(),
                **{name: version(name) for name in ("gymposium", "gymposium-agents")},
            },
            "counts": counts.counts(),
        }
        replace_text(folder.path / "manifest.json", json.dumps(manifest, indent=2) + "\n")
        return manifest

    def print(self, folder: RunFolder) -> None:
        """Print the counts of matches, seats and lines."""
        counts, wanted = self.data, self.data.wanted
        what = "whole matches" if wanted.per == "match" else "single turns"
        data = folder.path / "data.jsonl"
        for line in (
            f"{data}: {quantity(counts.lines, 'line')}, {what}, context {wanted.settings.context}",
            (f"  played    {quantity(counts.matches, 'match')} of {self.game.name}, seed {self.settings.seed}"),
            f"  kept      {quantity(counts.kept, 'seat')}",
            f"  left out  {_format_reasons(counts)}",
            *([f"  passed over as duplicates  {quantity(counts.duplicates, 'line')}"] if wanted.dedupe else []),
            *([f"  no recommendation  {quantity(counts.untaught, 'turn')}"] if wanted.teacher is not None else []),
        ):
            make_stdout_console().print(line, soft_wrap=True)


def read_seats(text: str, game: Game) -> tuple[int, ...] | None:
    """Parse `0,1` as seats, and `all` as None. Raises `BadOption` for seats that the game does not have."""
    if text == "all":
        return None
    known = [str(seat) for seat in range(game.seats)]
    names = [part.strip() for part in text.split(",")]
    if wrong := [name for name in names if name not in known]:
        raise BadOption(f"--seats {text}: {game.name} has no seat {wrong[0]!r}. Seats: {', '.join(known)}, or all.")
    return tuple(sorted({int(name) for name in names}))


def check_players(texts: Sequence[str], by: int | None, game: Game) -> None:
    """Raise `BadOption` unless there is one player per seat, `by` is one of them, and no player is a person."""
    if len(texts) != game.seats:
        seats = "1 player" if game.seats == 1 else f"{game.seats} players"
        raise BadOption(f"--players {','.join(texts)}: {game.name} needs {seats}, not {len(texts)}. Name one per seat.")
    if by is not None and by > len(texts):
        raise BadOption(f"--by {by} is too high: --players names {len(texts)}. Use 1 to {len(texts)}.")
    reject_person("--players", texts, game.name)


def _format_reasons(counts: SynthData) -> str:
    reasons = [f"{reason} {count}" for reason, count in counts.left_out.most_common()]
    return f"{quantity(counts.left_out.total(), 'seat')}{': ' if reasons else ''}{', '.join(reasons)}"
