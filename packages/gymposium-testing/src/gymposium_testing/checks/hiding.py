"""Checks of hiding: what a seat may not know is declared, and shown nowhere."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from copy import copy
from functools import lru_cache
from itertools import tee
from typing import Any, NoReturn, cast

from gymposium.envs.aec import TextGameAECEnv
from gymposium.envs.gym import TextGameEnv
from gymposium.envs.parallel import TextGameParallelEnv
from gymposium.envs.views import KINDS
from gymposium.errors import NoSampler
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import Event, Game, Match
from gymposium.util.streams import stream
from gymposium.util.visible import quantity
from gymposium_testing.contract import (
    NORMAL,
    CheckFailed,
    Effort,
    NotApplicable,
    after,
    events_in_words,
    raised,
    require,
    short,
    unlike,
)
from gymposium_testing.leaks import DECLARE, Leak, LeakKind, LeakReport, check_leaks
from gymposium_testing.positions import PICTURE, STYLES, GameAtPosition, Snapshot, difference
from gymposium_testing.walk import AnyPlayer, match_seed, play_out, played
from gymposium_testing.worlds import Finder, WorldPosition, go_the_same_way, has_history

_PAIRS = 6
"""Budgeted decisions for each position that environments show, which costs more than a match."""
_TRUTHS = 24
"""Number of samples that cannot all be the true world by chance if there are other worlds."""


def hiding_is_declared(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A game with hidden information declares it: its views are not copies of its texts, and some positions
    have equal views."""
    if game.spec.information == "perfect":
        raise NotApplicable("the game says that nothing is hidden")
    if game.spec.tools:
        raise NotApplicable("its openings tell the tasks apart, and the tools' future results are hidden anyway")
    require(
        not _views_are_texts(game, seed, effort),
        "the spec says information='imperfect', but view(seat) is what observe(seat) shows, so nothing defines what "
        "the seat may not know, and a text that shows too much would be compared with itself",
        DECLARE,
        game.name,
    )
    report = _report(game, seed, effort)
    require(
        report.worlds > 0,
        f"the spec says information='imperfect', but no two worlds were found that a seat cannot tell apart, by "
        f"altering events, from scratch, or by resample() ({quantity(report.positions, 'position')})",
        DECLARE,
        game.name,
    )


def _views_are_texts(game: Game, seed: int, effort: Effort) -> bool:
    """Return whether every view holds exactly the lines of the seat's own text.

    A view made by OpenSpiel's engine is never a copy of the text, however the text is made."""
    views = set()
    for match in played(game, seed, effort.decisions // 4):
        for seat in range(game.seats):
            view = match.view(seat)
            if isinstance(match, OpenSpielMatch) and view == OpenSpielGame.render_view(match.game, match.state, seat):
                return False
            lines = {*_lines(view)}
            if not any(
                lines - {*_lines(game.rules(seat, style))} == {*_lines(match.observe(seat, style).text)}
                for style in STYLES
            ):
                return False
            views.add(view)
    return len(views) > 1


def _lines(text: str) -> Iterator[str]:
    return filter(None, (line.strip() for line in text.split("\n")))


def nothing_hidden_shows(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """In worlds that a seat cannot tell apart it sees the same: prompts, legal moves, indices, tensor, refusals."""
    leaks = [leak for leak in _report(game, seed, effort).leaks if leak.what != PICTURE]
    _raise(game, leaks, ("leak", "coarse view"))


def pictures_show_nothing_hidden(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """In worlds that a seat cannot tell apart it sees the same picture, with the same places."""
    if not hasattr(game.new(match_seed(seed, 0)), "picture"):
        raise NotApplicable("the game draws no pictures")
    _raise(game, [leak for leak in _report(game, seed, effort).leaks if leak.what == PICTURE], ("leak",))


def everything_known_is_told(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Where a seat's knowledge differs, its prompts differ, in both styles."""
    if game.spec.tools:
        raise NotApplicable("a prompt shows what the last tools returned, as a message of a conversation")
    _raise(game, _report(game, seed, effort).leaks, ("blind prompt",))


def _raise(game: Game, found: Sequence[Leak], faults: tuple[LeakKind, ...]) -> None:
    leaks = [leak for leak in found if leak.fault in faults]
    if leaks:
        raise CheckFailed("\n".join(map(str, leaks[:3])), where=game.name, do="follow the advice for each leak.")


@lru_cache(maxsize=2)  # four checks read one report
def _report(game: Game, seed: int, effort: Effort) -> LeakReport:
    # if nothing is hidden, worlds are rarely more than the same moves in another order
    events = _events(game, effort) // (1 if game.spec.information == "imperfect" else 4)
    return check_leaks(game, seed, matches=effort.draws * 4, events=events)


def _finder(game: Game, seed: int, effort: Effort) -> Finder:
    return Finder(game, seed, matches=effort.draws * 2, tries=6, events=_events(game, effort) // 2)


def _events(game: Game, effort: Effort) -> int:
    # two tasks rarely look alike, and each candidate has to be made; tool calls are free text, too
    return effort.events // 16 if game.spec.free_text else effort.events


@lru_cache(maxsize=2)  # three checks use the same worlds
def _shared_worlds(game: Game, seed: int, effort: Effort) -> Iterator[WorldPosition]:
    [worlds] = tee((world for world in _finder(game, seed, effort) if world.hides), 1)
    return worlds


def _worlds(game: Game, seed: int, effort: Effort) -> Iterator[WorldPosition]:
    """Return an iterator over worlds whose events differ from those of the positions they are worlds of.

    Do not play on in these worlds. Raises `NotApplicable` if the game says that nothing is hidden."""
    if game.spec.information == "perfect":
        raise NotApplicable("the game says that nothing is hidden")
    return copy(_shared_worlds(game, seed, effort))


def environments_show_nothing_hidden(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """In worlds that a seat cannot tell apart, every environment shows it the same: observation of each kind, mask,
    info, rewards, render, and the answer to a failed reply."""
    first: dict[tuple[int, bytes, tuple[int, ...]], tuple[tuple[Event, ...], dict[str, Any]]] = {}
    looks = max(4, effort.decisions // _PAIRS)
    for world in _worlds(game, seed, effort):
        seat = world.seat
        key = (seat, world.history.digest, world.match.to_move())
        if key not in first:
            first[key] = (world.base, _through_environments(game, world.base, seat))
            looks -= 1
        events, shown = first[key]
        differs = difference(shown, now := _through_environments(game, world.events, seat))
        if differs is not None:
            one, other = unlike(shown[differs], now[differs])
            raise CheckFailed(
                f"{differs} shows seat {seat} what it may not know: {one} and {other}.",
                where=f"{game.name}, after {events_in_words(events)} and after {events_in_words(world.events)}",
                do="derive what the game shows the seat only from what it may know.",
            )
        looks -= 1
        if looks <= 0:
            return


def _through_environments(game: Game, events: tuple[Event, ...], seat: int) -> dict[str, Any]:
    """Return what environments show the seat at a position, and after a failed reply there."""
    game_there = cast(Game, GameAtPosition(game, events))
    shown: dict[str, Any] = {}
    for kind in KINDS if game.tensor_shape is not None else KINDS[:2]:
        env = TextGameEnv(
            game_there,
            seat=seat,
            observation=kind,
            opponent=[AnyPlayer()] * (game.seats - 1),
            on_illegal="retry(1)",
            render_mode="ansi",
        )
        observation, info = env.reset(seed=0)
        shown[f"Gymnasium's {kind} observation"] = _plain(observation)
        shown["Gymnasium's info"], shown["Gymnasium's render"] = info, env.render()
        if game.num_actions:
            shown["Gymnasium's mask"] = env.action_masks().tolist()
        shown[f"Gymnasium's {kind} answer to a failed reply"] = _plain(env.step("")[:-1]), env.render()
    agent = f"player_{seat}"
    aec = TextGameAECEnv(game_there, on_illegal="retry(1)", render_mode="ansi")
    aec.reset(seed=0)
    shown["PettingZoo's observation"], shown["PettingZoo's info"] = _plain(aec.observe(agent)), aec.infos[agent]
    shown["PettingZoo's reward"] = aec.rewards[agent]
    if aec.agent_selection == agent:
        shown["PettingZoo's render"] = aec.render()
    if game.spec.dynamics == "simultaneous":
        parallel = TextGameParallelEnv(game_there, on_illegal="retry(1)", render_mode="ansi")
        observations, infos = parallel.reset(seed=0)
        shown["the parallel observation"], shown["the parallel info"] = _plain(observations[agent]), infos[agent]
    return shown


def _plain(value: Any) -> Any:
    """Return a value with arrays as lists, so that observations compare."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def open_games_hide_nothing(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A game with information='perfect' has no two different positions that a seat cannot tell apart."""
    if game.spec.information == "imperfect":
        raise NotApplicable("the game says that something is hidden")
    rng = stream(seed, "open")
    first: dict[tuple[int, bytes, tuple[int, ...]], tuple[Event, ...]] = {}
    looks = max(8, effort.decisions // 4)
    for world in _finder(game, seed, effort):
        key = (world.seat, world.history.digest, world.match.to_move())
        other = first.setdefault(key, world.base)
        if other == world.events:
            continue
        if not go_the_same_way(game.load(other), world.match, rng):
            raise CheckFailed(
                f"the spec says information='perfect', but seat {world.seat} cannot tell two different "
                "positions apart.",
                where=f"{game.name}, after {events_in_words(other)} and after {events_in_words(world.events)}",
                do="say information='imperfect', or let view(seat) and observe(seat) show the difference.",
            )
        looks -= 1
        if looks <= 0:
            return


def sampled_worlds_are_possible(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Worlds from `resample` look like the true one to the seat at every step, can be played on, and replay.

    They include worlds other than the true one if any are possible. Sampling leaves the match unchanged."""
    rng = stream(seed, "sampled")
    looks, sampled = max(4, effort.decisions // 8), 0
    for place in _finder(game, seed, effort):
        if place.how != "played" or sampled == looks:
            break
        if place.seat not in place.match.to_move():
            continue
        match = game.load(place.events)
        before = Snapshot.from_match(match)
        try:
            world = match.resample(place.seat, random.Random(rng.getrandbits(31)))
        except NoSampler:
            continue
        sampled += 1
        before.compare(match, "resample() changes the match", do="leave the true match unchanged.")
        _judge(match, place, world, rng)
    if not sampled:
        raise NotApplicable("the game has no resample")
    if game.spec.information == "imperfect":
        _others_are_sampled(game, seed, effort, rng)


def sampling_draws_alike(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """With equal generators, `resample` gives the same world from two worlds that a seat cannot tell apart.

    Otherwise a player that knows the generator could infer what is hidden."""
    rng = stream(seed, "draws")
    looks, compared = max(4, effort.decisions // 8), 0
    for world in _worlds(game, seed, effort):
        if compared == looks:
            break
        first, second = (random.Random(number) for number in [rng.getrandbits(31)] * 2)
        try:
            one = game.load(world.base).resample(world.seat, first)
            other = game.load(world.events).resample(world.seat, second)
        except NoSampler:
            continue
        compared += 1
        same = tuple(one.events) == tuple(other.events) or go_the_same_way(one, other, rng)
        if not same or first.random() != second.random():
            raise CheckFailed(
                f"what resample() draws depends on what seat {world.seat} cannot see: with equal generators it gives "
                f"{events_in_words(one.events)}, and {events_in_words(other.events)} if the truth is "
                f"{events_in_words(world.events)}.",
                where=after(game.load(world.base), world.seat),
                do="draw what the seat has not seen, in an order that does not depend on hidden information.",
            )
    if not compared:
        raise NotApplicable("no two worlds were found that resample() samples from")


def _others_are_sampled(game: Game, seed: int, effort: Effort, rng: random.Random) -> None:
    """Raise `CheckFailed` if `resample` returns only the true world, which would reveal hidden information to
    search."""
    looks = 0
    for world in _worlds(game, seed, effort):
        for _ in range(4 if world.how != "sampled" else 0):
            match = game.load(world.base)
            try:
                sample = match.resample(world.seat, random.Random(rng.getrandbits(31)))
            except NoSampler:
                break
            if tuple(sample.events) != world.base:
                return
            looks += 1
            if looks == _TRUTHS:
                raise CheckFailed(
                    f"resample() returns only the true world, although seat {world.seat} could not tell it from "
                    f"this one: {events_in_words(world.events)}.",
                    where=after(match, world.seat),
                    do="redraw what the seat does not know, using the given generator.",
                )


def _judge(match: Match, place: WorldPosition, world: Match, rng: random.Random) -> None:
    """Raise `CheckFailed` unless a world sampled at a position can be the truth for its seat."""
    seat, events = place.seat, tuple(world.events)
    if world.to_move() != match.to_move():
        _bad_world(match, seat, f"seats {world.to_move()} are to move in it", events)
    if world.view(seat) != match.view(seat):
        _bad_world(match, seat, "its view differs", events)
    if world.legal_moves(seat) != match.legal_moves(seat):
        _bad_world(match, seat, f"its legal moves are {short(world.legal_moves(seat))}", events)
    try:
        again = match.game.load(events)
        change = Snapshot.from_match(world).change(again)
        possible = has_history(match.game.load, events, seat, place.history)
        play_out(world, rng)
    except CheckFailed:
        raise
    except Exception as error:  # noqa: BLE001 (a game may raise anything)
        _bad_world(match, seat, f"it fails: {raised(error)}", events)
    if change is not None:
        _bad_world(match, seat, f"its events load as another position: {change}", events)
    if not possible:
        _bad_world(match, seat, "the seat would have made other observations on the way there", events)


def _bad_world(match: Match, seat: int, why: str, events: tuple[Event, ...]) -> NoReturn:
    raise CheckFailed(
        f"resample() gives a world that seat {seat} can tell from the true one, or that is impossible: {why}. "
        f"Its events: {events_in_words(events)}.",
        where=after(match, seat),
        do="return a match whose events could have happened and look the same to the seat at every step.",
    )
