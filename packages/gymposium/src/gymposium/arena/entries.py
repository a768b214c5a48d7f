"""Entries: the players of a board, each with a folder of its own that holds who it is and what it played.

`entry.json` is written before the first match and says all that can be known of a player by then. How well it plays, or
how often its replies could not be read, never stands there: that is computed from its matches.

These classes are the file's JSON schema too (`gymposium leaderboard verify --schema`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gymposium.arena.slugs import slug
from gymposium.arena.suite import Suite
from gymposium.errors import BadOption, BadRecord, GymposiumError
from gymposium.games.protocol import Style
from gymposium.games.registry import load_game
from gymposium.players.grammar import check_named_player, check_player, make_player
from gymposium.players.identity import Fact, Identity, code_of
from gymposium.players.protocol import Identified, Player, Repeats, is_deterministic, repeats_of
from gymposium.prompt import PROMPT_VERSION, prompt_for
from gymposium.records.record import versions

FORMAT: Final = "gymposium-entry-1"

_Plain = partial(ConfigDict, extra="forbid", frozen=True)


class Revision(BaseModel):
    """Which of all players that are written so it is. It never changes."""

    model_config = _Plain()

    code: dict[str, str] = Field(description="Its distribution and version, or its one-file plugin and that's digest.")
    files: dict[str, str] = Field(description="Digests of the weights and other files that decide its moves, by path.")
    facts: dict[str, Fact] = Field(description="What else it is made of: a service's model and address, say.")


class PromptOf(BaseModel):
    """What it reads and how its replies are read."""

    model_config = _Plain()

    style: Style
    reader: str
    version: int = Field(description="Of the wording of all prompts.")
    digests: dict[str, str] = Field(description="Of the fixed parts of the prompt in each game.")


class Entry(BaseModel):
    """One player on a board."""

    model_config = _Plain()

    format: Literal["gymposium-entry-1"] = FORMAT
    number: int = Field(ge=0, description="Its place: it plays with all entries of smaller number.")
    player: str = Field(description="As players are written everywhere: mcts-100.")
    slug: str = Field(description="The name of its folder.")
    label: str = Field(description="What people call it.")
    own: bool = Field(description="Whether it is one of the suite's own players, not a submission.")
    seed: int | None = Field(ge=0, description="What its matches are drawn from; null until they are.")
    suite: str = Field(description="The digest of the suite that it was made for.")
    games: tuple[str, ...] = Field(description="Which of the suite's games it plays, by full name.")
    rules: dict[str, int] = Field(description="The version of the rules of each of them.")
    revision: Revision
    prompt: PromptOf
    decoding: dict[str, Fact] = Field(description="How its replies are made: temperature, length, context.")
    deterministic: bool = Field(description="Whether it says that it draws nothing.")
    repeats: Repeats | None = Field(
        description="Whether it says that its replies follow from its seed, so that they can be asked for again. Null: "
        "they stand on the word of whoever let it play."
    )
    versions: dict[str, str] = Field(description="Of what it was entered with.")
    by: str | None = Field(default=None, description="Who entered it.")
    made: str | None = Field(default=None, description="When, as YYYY-MM-DD.")
    digest: str = Field(default="", description="Of everything here but its number and seed, which come later.")

    def text(self) -> str:
        """As it stands in its file."""
        return json.dumps(self.model_dump(mode="json"), indent=2) + "\n"

    def seeded(self, seed: int) -> Entry:
        """The same with its seed drawn."""
        return self.model_copy(update={"seed": seed})

    def sealed(self) -> Entry:
        """The same with its digest."""
        told = self.model_dump(mode="json", exclude={"number", "seed", "digest"})
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
        return self.model_copy(update={"digest": sha256(text.encode()).hexdigest()[:16]})


def own_entry(suite: Suite, player: str) -> Entry:
    """The entry of one of the suite's own players."""
    games = [game.name for game in suite.games if player in game.players]
    return new_entry(suite, player, suite.players.index(player), suite.seed, own=True, games=games)


def own_entries(suite: Suite) -> list[Entry]:
    """The suite's own players."""
    return [own_entry(suite, player) for player in suite.players]


def new_entry(
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
    """An entry that has played nothing yet. The player is made, to ask it who it is: a model's weights are loaded.

    Raises as `make_player`, and `BadOption` for a player that calls itself something else."""
    return Entry(
        number=number,
        player=player,
        slug=slug(player),
        label=label or player,
        own=own,
        seed=seed,
        suite=suite.digest,
        games=tuple(games),
        rules={name: load_game(name).spec.version for name in games},
        versions=dict(versions()),
        by=by,
        made=made,
        **_described(make_player(player), player, games),
    ).sealed()


def _described(player: Player, text: str, games: Sequence[str]) -> dict[str, Any]:
    """What an entry says of the player that was made from `text`."""
    if player.name != text:
        raise BadOption(f"The player {text!r} calls itself {player.name!r}: write it so.")
    identity = player.identity() if isinstance(player, Identified) else Identity()
    prompts = {name: prompt_for(load_game(name), player.style, player.reader).hash for name in games}
    return {
        "revision": Revision(
            code=code_of(check_player(text)[0]), files=dict(identity.files), facts=dict(identity.facts)
        ),
        "prompt": PromptOf(style=player.style, reader=player.reader.name, version=PROMPT_VERSION, digests=prompts),
        "decoding": dict(identity.decoding),
        "deterministic": is_deterministic(player),
        "repeats": repeats_of(player),
    }


def make_entrant(entry: Entry) -> Player:
    """The player of an entry, to play or to be asked again. Raises as `make_player`, `NotAllowed` for one that only the
    user may name, and `Changed` where what is here under its name is not what was entered."""
    check_named_player(entry.player)
    player = make_player(entry.player)
    now = _described(player, entry.player, entry.games)
    for name, is_now in now.items():
        if (was := getattr(entry, name)) != is_now:
            raise Changed(entry, *_first_difference(name, was, is_now))
    return player


class Changed(GymposiumError):
    """What is here under a player's name is not what was entered."""

    def __init__(self, entry: Entry, what: str, was: Any, is_now: Any) -> None:
        super().__init__(
            f"{entry.player} is not what was entered: {what} was {was!r}, and here it is {is_now!r}. Put back what was "
            f"there, or enter it under another name."
        )
        self.code = what.startswith("revision code")
        """Whether it is code of another version, which may play alike."""


def _first_difference(name: str, was: Any, is_now: Any) -> tuple[str, Any, Any]:
    """What differs, by the words that lead there."""
    if isinstance(was, BaseModel):
        was, is_now = was.model_dump(), is_now.model_dump()
    if not isinstance(was, Mapping):
        return name, was, is_now
    key = next(key for key in (*was, *is_now) if was.get(key) != is_now.get(key))
    return _first_difference(f"{name} {key}", was.get(key), is_now.get(key))


def refusal(entry: Entry, suite: Suite) -> str | None:
    """Why an entry cannot stand on a board of this suite, or None."""
    if entry.suite != suite.digest:
        return (
            f"it was made for the suite of digest {entry.suite}, but the board's is {suite.digest}: a suite that was "
            f"changed needs a board of its own"
        )
    known = [game.name for game in suite.games]
    if strange := [name for name in entry.games if name not in known]:
        return f"it plays {strange[0]}, which the suite does not have"
    for name in entry.games:
        here = load_game(name).spec.version
        if entry.rules.get(name) != here:
            return (
                f"it was made with version {entry.rules.get(name)} of {name}, and here is version {here}: the rules or "
                f"rewards are others. Install the gymposium that it was made with, or play it again on a new board"
            )
    return None


def read_entry(path: Path) -> Entry:
    """The entry in a file. Raises `BadRecord` where there is none that can be read, `BadOption` where it lies in a
    folder that is not its own."""
    if path.exists() and not path.is_file():
        raise BadRecord(f"{path} is no entry: it is no file")
    try:
        entry = Entry.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadRecord(f"{path} is no entry: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise BadRecord(f"{path} is no entry: {f'{where}: ' if where else ''}{first['msg']}") from error
    if entry.slug != path.parent.name or entry.slug != slug(entry.player):
        raise BadOption(f"{path}: the entry of {entry.player!r} belongs into a folder called {slug(entry.player)!r}.")
    if entry.sealed().digest != entry.digest:
        raise BadRecord(
            f"{path} was changed after it was made: its digest is {entry.digest}, that of what it says is "
            f"{entry.sealed().digest}. Enter the player again on a new board."
        )
    return entry
