"""Check entries without making their players."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gymposium.errors import GymposiumError
from gymposium.games.registry import load_game
from gymposium.players.identity import digest_file
from gymposium.plugins.allowed import is_allowed
from gymposium.replies.prompt import PROMPT_VERSION, get_prompt
from gymposium.replies.reading import GENERAL
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry, find_refusal, read_entry
from gymposium_arena.slugs import make_slug
from gymposium_arena.verify.files import check_plain
from gymposium_arena.verify.findings import Finding


def check_entries(board: Board) -> tuple[list[Entry], list[Finding]]:
    """Return the valid entries, sorted by number, and the findings about all entries."""
    entries: list[Entry] = []
    findings: list[Finding] = []
    for folder in sorted(path for path in board.path.glob("entries/*") if path.is_dir()):
        where = f"entries/{folder.name}/entry.json"
        try:
            if (folder / "entry.json").exists():
                check_plain(folder / "entry.json")
            entry = read_entry(folder / "entry.json")
            why = find_refusal(entry, board.suite)
        except GymposiumError as error:
            findings.append(Finding("entry", where, str(error)))
            continue
        if why is not None:
            findings.append(Finding("entry", where, f"refused: {why}"))
            continue
        entries.append(entry)
        findings += (Finding("entry", where, what) for what in _find_problems(board, entry))
    entries.sort(key=lambda entry: entry.number)
    if [entry.number for entry in entries] != list(range(len(entries))):
        numbers = ", ".join(str(entry.number) for entry in entries)
        findings.append(Finding("entry", "entries", f"they are numbered {numbers}; they must count up from 0"))
    for player in board.suite.players:
        if not board.entry_file(make_slug(player)).exists():
            where = f"entries/{make_slug(player)}/entry.json"
            findings.append(Finding("entry", where, f"the suite's own player {player} has no entry"))
    return entries, findings


def _find_problems(board: Board, entry: Entry) -> Iterator[str]:
    """Yield the problems with a readable entry."""
    suite, prompt = board.suite, entry.prompt
    if entry.own != (entry.player in suite.players):
        yield f"own is {entry.own}, but the suite {'has' if not entry.own else 'does not have'} this player"
    elif entry.own:
        games = tuple(game.name for game in suite.games if entry.player in game.players)
        place = suite.players.index(entry.player)
        for name, is_now, wanted in (("seed", entry.seed, suite.seed), ("number", entry.number, place)):
            if is_now != wanted:
                yield f"{name} is {is_now}, but the suite's own player has {wanted}"
        if entry.games != games:
            yield f"it plays {', '.join(entry.games)}, but the suite has it play {', '.join(games)}"
    # recompute the prompts only if the installed wording has the same version
    comparable = prompt.version == PROMPT_VERSION and prompt.reader in GENERAL
    for name in entry.games if comparable else ():
        digest = get_prompt(load_game(name), prompt.style, GENERAL[prompt.reader]).hash
        if prompt.digests.get(name) != digest:
            yield f"its prompt in {name} has the digest {prompt.digests.get(name)!r}, but the game's is {digest!r}"
    # read paths from a board file only if the user allows the player
    for path, was in entry.revision.files.items() if is_allowed(entry.player) else ():
        if Path(path).is_file() and (here := digest_file(path)) != was:
            yield f"{path} has changed since it was entered: its digest is {here}, not {was}"
