"""Player names. All commands, keywords and records use the same grammar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast, get_args

from gymposium.errors import BadOption, PluginError, UnknownName, WrongType
from gymposium.games.protocol import Style
from gymposium.players.asking import blame, find_source_file
from gymposium.players.protocol import Player
from gymposium.plugins.allowed import check_allowed
from gymposium.plugins.command_line import format_command_line
from gymposium.plugins.first_party import check_first_party, get_written_name, remark_on_missing
from gymposium.plugins.host import host
from gymposium.plugins.specs import OpponentSpec
from gymposium.util.visible import plural, quantity


def make_player(text: str) -> Player:
    """Return a new player from its name: `random`, `mcts-100`, `human`, `lm:MODEL@ADAPTER`, …

    Raises `UnknownName` with the nearest forms, and `MissingExtra` if the player's distribution is not installed.
    Raises `PluginError` if a plugin makes an object that is not a player, and `WrongType` if `text` is not a `str`."""
    spec, groups = check_player(text)
    make = host().implementation(spec)
    try:
        player = make(**groups)
    except Exception as error:
        blame(error, text, make)
        raise
    if fault := _find_fault(player):
        raise PluginError(f"{find_source_file(make) or spec.entry_point}: {text!r} is not a player: {fault}.")
    return cast(Player, player)


def resolve_player(player: str | Player) -> Player:
    """Return the player with this name, or the given player.

    Raises `BadOption` for an object that is not a player, and the errors of `make_player`."""
    if isinstance(player, str):
        return make_player(player)
    if fault := _find_fault(player):
        raise BadOption(
            f"{player!r} is not a player: {fault}. Use a player's name, such as 'random', or a player object."
        )
    return player


def _find_fault(player: object) -> str:
    """Return why an object is not a player, or "" if it is one."""
    parts = {part: getattr(player, part, None) for part in ("name", "reader", "style", "act")}
    missing = next((part for part, value in parts.items() if value is None), None)
    if missing is not None:
        return f"it has no {missing}"
    if not isinstance(parts["name"], str):
        return f"its name is {parts['name']!r}, which is not text"
    if not hasattr(parts["reader"], "extract_move"):
        return f"its reader is {parts['reader']!r}. Use a reader, such as READERS['move']"
    if parts["style"] not in get_args(Style):
        return f"its style is {parts['style']!r}. Use {' or '.join(map(repr, get_args(Style)))}"
    return "" if callable(parts["act"]) else f"its act is {parts['act']!r}, which is not a method"


def reject_person(option: str, players: Iterable[str], game: str = "GAME") -> None:
    """Raise `BadOption` if one of these players is a person, who plays only in `gymposium play`.

    `option` is where the players were named, and `game` a game to suggest."""
    if "human" in players:
        raise BadOption(
            f"{option} human: a person can play only one match at a time. Choose another player, or run:  "
            f"{format_command_line('play', game)}"
        )


def make_opponents(opponents: str | Player | Sequence[str | Player], count: int) -> list[Player]:
    """Return one player for each of `count` seats: the given players in order, or one player for all seats.

    Names are resolved to players. Raises `BadOption` for a wrong number of players and for an object that is not a
    player, and the errors of `make_player`."""
    if isinstance(opponents, Sequence) and not isinstance(opponents, str):
        if len(opponents) != count:
            raise BadOption(
                f"Opponents: got {quantity(len(opponents), 'player')} for {count} other "
                f"{plural(count, 'seat')}. Pass one per seat, or one for all."
            )
        return [resolve_player(opponent) for opponent in opponents]
    if count or not isinstance(opponents, str):
        return [resolve_player(opponents)] * count
    check_player(opponents)  # nothing is loaded for a player without a seat
    return []


def check_player(text: str) -> tuple[OpponentSpec, dict[str, str | None]]:
    """Return the kind of player that `text` names, and the text's named parts.

    Nothing is created or loaded. Raises the errors of `make_player` for an unknown kind."""
    if not isinstance(text, str):
        raise WrongType("A player", "written as text such as 'random' or 'mcts-100'", text)
    known = host().opponents.values()
    for spec in known:
        groups = spec.parse(text)
        if groups is not None:
            return spec, groups
    check_first_party("player", text, map(get_written_name, known), host().plugins)
    meant = (s for s in known if s.fixed_part and (text.startswith(s.fixed_part) or text == s.fixed_part.rstrip("-:")))
    hint = next(map(_describe_form, meant), None)
    remark = remark_on_missing(host().plugins) if hint is None else ""
    raise UnknownName("player", text, (spec.form for spec in known), hint, remark)


def _describe_form(spec: OpponentSpec) -> str:
    example = next(iter((*spec.offered, *spec.examples)), "")
    parts = (spec.form, spec.placeholders, f"for instance {example}" if example else "")
    return f"Write {', '.join(filter(None, parts))}."


def make_core_player(name: str) -> Player | None:
    """Return the player with this name if it is a core player that needs no loading, else None.

    Raises the errors of `check_player`."""
    return make_player(name) if check_player(name)[0].entry_point.startswith("gymposium.") else None


def check_named_player(text: str) -> None:
    """Check a player's name in a file.

    Raises `PermissionRequired` if the player opens something that the user has not allowed, and the errors of
    `check_player` for an unknown kind of player."""
    spec, _ = check_player(text)
    if opened := spec.find_opened(text):
        check_allowed(text, f"it opens {opened}", spec.find_variables(text))
