"""Entries: a board's players, each in a folder with its identity and matches.

`entry.json` is written before the first match and describes the player. Results are computed from the matches.

These classes define the file's JSON schema (`gymposium leaderboard verify --schema`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from gymposium.errors import BadOption, BadRecord, GymposiumError
from gymposium.games.protocol import Game, Style
from gymposium.games.registry import load_game
from gymposium.players.grammar import check_named_player, check_player, make_player
from gymposium.players.identity import FITTED_FILES, FITTED_TO, Fact, Identity, digest_files, locate_code
from gymposium.players.protocol import (
    IdentifiedPlayer,
    Player,
    Repeats,
    check_plays,
    check_size,
    get_repeats,
    is_deterministic,
)
from gymposium.records.record import get_versions
from gymposium.replies.prompt import PROMPT_VERSION, get_prompt
from gymposium.util.json_file import FileModel, read_model
from gymposium_arena.slugs import make_slug
from gymposium_arena.suite import Suite


class Revision(FileModel):
    """The exact version of a player: its code, its files and other facts. It never changes."""

    code: dict[str, str]
    """Distribution and version of the player's code, or the name and digest of its one-file plugin."""
    files: dict[str, str]
    """Digests of the weights and other files that decide the player's moves, by path."""
    facts: dict[str, Fact]
    """Other facts that decide the player's moves, such as the model and address of a service."""


class PromptOf(FileModel):
    """The prompts that a player reads, and how its replies are read."""

    style: Style
    reader: str
    """The name of the reader that parses the player's replies."""
    version: int
    """Version of all prompts' wording."""
    digests: dict[str, str]
    """Digest of the prompt's fixed parts, by game."""


class Entry(FileModel):
    """A player on a board."""

    format: Literal["gymposium-entry-1"] = "gymposium-entry-1"
    number: int = Field(ge=0)
    """Position on the board: the player meets all entries with smaller numbers."""
    player: str
    """The player's canonical name, such as mcts-100."""
    slug: str
    """The name of the entry's folder."""
    label: str
    """Display name."""
    own: bool
    """True for the suite's own players, false for submissions."""
    seed: int | None = Field(ge=0)
    """Seed of the entry's matches; null until it is drawn before the first match."""
    suite: str
    """Digest of the suite that the entry was made for."""
    games: tuple[str, ...]
    """Full names of the suite's games that the player plays."""
    rules: dict[str, int]
    """Version of each game's rules."""
    revision: Revision
    prompt: PromptOf
    decoding: dict[str, Fact]
    """How the player's replies are generated: temperature, length, context."""
    deterministic: bool
    """True if the player declares that it draws no random numbers."""
    repeats: Repeats | None
    """How the player can be rerun, if its replies follow from its seed. Null: the person who ran the player attests its
    replies."""
    versions: dict[str, str]
    """Versions of the software at the time of entry."""
    by: str | None = None
    """The person who entered the player."""
    made: str | None = None
    """Date of entry as YYYY-MM-DD."""
    digest: str = ""
    """Digest of all fields except number and seed, which are set later."""

    @property
    def fitted_to(self) -> str | None:
        """The target of an adversary; None for other players."""
        fact = self.revision.facts.get(FITTED_TO)
        return None if fact is None else str(fact)

    def has_changed_since(self, adversary: Entry) -> bool:
        """Return whether this player's files have changed since an adversary was fitted to the player."""
        return adversary.revision.facts.get(FITTED_FILES) != digest_files(self.revision.files)

    def meets(self, other: Entry) -> bool:
        """Return whether this entry's player meets the other's. An adversary meets only its target."""
        return self.fitted_to in (None, other.player) and other.fitted_to in (None, self.player)

    def text(self) -> str:
        """Serialize the entry to JSON."""
        return json.dumps(self.model_dump(mode="json"), indent=2) + "\n"

    def seal(self) -> Entry:
        """Return a copy with its digest recomputed."""
        fields = self.model_dump(mode="json", exclude={"number", "seed", "digest"})
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        return self.model_copy(update={"digest": sha256(text.encode()).hexdigest()[:16]})


def make_own_entry(suite: Suite, player: str) -> Entry:
    """Make the entry of one of the suite's own players."""
    games = [game.name for game in suite.games if player in game.players]
    return make_entry(suite, player, suite.players.index(player), suite.seed, own=True, games=games)


def make_entry(
    suite: Suite,
    player: str,
    number: int,
    seed: int | None,
    *,
    own: bool,
    games: Sequence[str],
    label: str | None = None,
    by: str | None = None,
    made: str | None = None,
) -> Entry:
    """Make an entry. This creates the player to read its identity, which loads a model's weights.

    Raises like `make_player`. Also raises `BadOption` if `player` is not the canonical name, or if the player cannot
    play one of the games."""
    entrant = make_player(player)
    for name in games:
        _check_plays(entrant, load_game(name), sized=not own)
    return Entry(
        number=number,
        player=player,
        slug=make_slug(player),
        label=label or player,
        own=own,
        seed=seed,
        suite=suite.digest,
        games=tuple(games),
        rules={name: load_game(name).spec.version for name in games},
        versions=dict(get_versions()),
        by=by,
        made=made,
        **_describe_player(entrant, player, games),
    ).seal()


def _check_plays(player: Player, game: Game, *, sized: bool) -> None:
    """Raise `BadOption` if the player refuses the game. With `sized`, also raise it if the game is too large."""
    try:
        check_plays(player, game)
        if sized:
            check_size(player, game)
    except GymposiumError as error:
        raise BadOption(f"{player.name} cannot be entered in {game.name}: {error}") from error


def _describe_player(player: Player, text: str, games: Sequence[str]) -> dict[str, Any]:
    """Return the entry fields that describe a player with the name `text`."""
    if player.name != text:
        raise BadOption(f"Player {text!r} is not a canonical name. Use {player.name!r}.")
    identity = player.identity() if isinstance(player, IdentifiedPlayer) else Identity()
    prompts = {name: get_prompt(load_game(name), player.style, player.reader).hash for name in games}
    return {
        "revision": Revision(
            code=locate_code(check_player(text)[0]), files=dict(identity.files), facts=dict(identity.facts)
        ),
        "prompt": PromptOf(style=player.style, reader=player.reader.name, version=PROMPT_VERSION, digests=prompts),
        "decoding": dict(identity.decoding),
        "deterministic": is_deterministic(player),
        "repeats": get_repeats(player),
    }


def make_entered_player(entry: Entry) -> Player:
    """Make an entry's player.

    Raises like `make_player`, `PermissionRequired` for a player that only the user may name, and `PlayerMismatch` if
    the installed player differs from its entry."""
    check_named_player(entry.player)
    player = make_player(entry.player)
    now = _describe_player(player, entry.player, entry.games)
    for name, is_now in now.items():
        if (was := getattr(entry, name)) != is_now:
            raise PlayerMismatch(entry, *_find_first_difference(name, was, is_now))
    return player


class PlayerMismatch(GymposiumError):
    """Error for an installed player that differs from its entry."""

    def __init__(self, entry: Entry, what: str, was: Any, is_now: Any) -> None:
        super().__init__(
            f"{entry.player} differs from its entry: {what} was {was!r}, but is {is_now!r} here. Restore the old "
            f"value, or enter the player under another name."
        )
        self.is_code_only = what.startswith("revision code")
        """Whether the first difference is the version of the player's code. The player may then still play the same."""


def _find_first_difference(name: str, was: Any, is_now: Any) -> tuple[str, Any, Any]:
    """Return the path of the first difference between two values, and both values there."""
    if isinstance(was, BaseModel):
        was, is_now = was.model_dump(), is_now.model_dump()
    if not isinstance(was, Mapping):
        return name, was, is_now
    key = next(key for key in (*was, *is_now) if was.get(key) != is_now.get(key))
    return _find_first_difference(f"{name} {key}", was.get(key), is_now.get(key))


def find_refusal(entry: Entry, suite: Suite) -> str | None:
    """Return the reason why an entry does not belong on a board of this suite, or None."""
    if entry.suite != suite.digest:
        return (
            f"it was made for the suite with digest {entry.suite}, but the board's is {suite.digest}: a changed suite "
            f"needs a new board"
        )
    known = [game.name for game in suite.games]
    if strange := [name for name in entry.games if name not in known]:
        return f"it plays {strange[0]}, which the suite does not have"
    for name in entry.games:
        here = load_game(name).spec.version
        if entry.rules.get(name) != here:
            return (
                f"it was made with version {entry.rules.get(name)} of {name}, but version {here} is installed: "
                f"its rules or rewards differ. Install the gymposium that it was made with, or enter it on a new board"
            )
    return None


def read_entry(path: Path) -> Entry:
    """Read an entry. Raises `BadRecord` if the file is invalid or was changed, and `BadOption` if the entry is in the
    wrong folder."""
    entry = read_model(path, Entry, "entry", "Restore it, or enter the player again.")
    if entry.slug != path.parent.name or entry.slug != make_slug(entry.player):
        raise BadOption(
            f"{path}: the entry of {entry.player!r} belongs in the folder {make_slug(entry.player)!r}. Rename its "
            "folder."
        )
    if entry.seal().digest != entry.digest:
        raise BadRecord(
            f"{path} was changed after it was made: its digest is {entry.digest}, but its content has the digest "
            f"{entry.seal().digest}. Enter the player again on a new board."
        )
    return entry
