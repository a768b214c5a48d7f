"""Check hidden information: it is declared, and no seat sees what it may not know."""

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
    cut_to_difference,
    describe_position,
    format_error,
    format_events,
    require,
    shorten,
)
from gymposium_testing.leaks import DECLARE, Leak, LeakKind, LeakReport, check_leaks
from gymposium_testing.positions import PICTURE, STYLES, GameAtPosition, Snapshot, find_difference
from gymposium_testing.walk import AnyPlayer, derive_match_seed, play_matches, play_out
from gymposium_testing.worlds import WorldFinder, WorldPosition, are_equivalent, has_history

_ENVIRONMENT_COST = 6
"""Cost of observing a position through environments, counted in decisions."""
_MAX_TRUE_SAMPLES = 24
"""Number of samples. If other worlds exist, it is practically impossible that all samples are the true world."""


def hidden_information_is_declared(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A game with hidden information declares it: views are not copies of texts, and some positions have equal
    views."""
    if game.spec.information == "perfect":
        raise NotApplicable("the game says that nothing is hidden")
    if game.spec.tools:
        raise NotApplicable("its openings tell the tasks apart, and the tools' future results are hidden anyway")
    require(
        not _are_views_texts(game, seed, effort),
        "the spec says information='imperfect', but view(seat) is what observe(seat) shows. So nothing defines what "
        "the seat may not know, and a text that shows too much would be compared with itself",
        DECLARE,
        game.name,
    )
    report = _find_leaks(game, seed, effort)
    require(
        report.worlds > 0,
        f"the spec says information='imperfect', but no two worlds were found that a seat cannot tell apart, by "
        f"altering events, from scratch, or by resample() ({quantity(report.positions, 'position')})",
        DECLARE,
        game.name,
    )


def _are_views_texts(game: Game, seed: int, effort: Effort) -> bool:
    """Return whether every view has exactly the lines of the seat's text.

    Views from OpenSpiel's engine never count as copies."""
    views = set()
    for match in play_matches(game, seed, effort.decisions // 4):
        for seat in range(game.seats):
            view = match.view(seat)
            if isinstance(match, OpenSpielMatch) and view == OpenSpielGame.render_view(match.game, match.state, seat):
                return False
            lines = {*_split_lines(view)}
            if not any(
                lines - {*_split_lines(game.rules(seat, style))} == {*_split_lines(match.observe(seat, style).text)}
                for style in STYLES
            ):
                return False
            views.add(view)
    return len(views) > 1


def _split_lines(text: str) -> Iterator[str]:
    return filter(None, (line.strip() for line in text.split("\n")))


def hidden_information_stays_hidden(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A seat sees the same in worlds that it cannot tell apart: prompts, legal moves, indices, tensors and errors."""
    leaks = [leak for leak in _find_leaks(game, seed, effort).leaks if leak.what != PICTURE]
    _raise_leaks(game, leaks, ("leak", "coarse view"))


def pictures_leak_nothing(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A seat sees the same picture, with the same places, in worlds that it cannot tell apart."""
    if not hasattr(game.new(derive_match_seed(seed, 0)), "draw_picture"):
        raise NotApplicable("the game draws no pictures")
    _raise_leaks(game, [leak for leak in _find_leaks(game, seed, effort).leaks if leak.what == PICTURE], ("leak",))


def prompts_tell_everything_known(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """If a seat's knowledge differs, its prompts differ, in both styles."""
    if game.spec.tools:
        raise NotApplicable("a prompt shows what the last tools returned, as a message of a conversation")
    _raise_leaks(game, _find_leaks(game, seed, effort).leaks, ("blind prompt",))


def _raise_leaks(game: Game, found: Sequence[Leak], faults: tuple[LeakKind, ...]) -> None:
    leaks = [leak for leak in found if leak.fault in faults]
    if leaks:
        raise CheckFailed("\n".join(map(str, leaks[:3])), where=game.name, fix="follow the advice for each leak.")


@lru_cache(maxsize=2)  # shared by four checks
def _find_leaks(game: Game, seed: int, effort: Effort) -> LeakReport:
    # with nothing hidden, worlds are rarely more than reordered moves
    events = _compute_event_budget(game, effort) // (1 if game.spec.information == "imperfect" else 4)
    return check_leaks(game, seed, matches=effort.draws * 4, events=events)


def _make_finder(game: Game, seed: int, effort: Effort) -> WorldFinder:
    return WorldFinder(game, seed, matches=effort.draws * 2, tries=6, events=_compute_event_budget(game, effort) // 2)


def _compute_event_budget(game: Game, effort: Effort) -> int:
    # two free-text tasks rarely look alike, and each candidate must be made
    return effort.events // 16 if game.spec.free_text else effort.events


@lru_cache(maxsize=2)  # shared by three checks
def _find_shared_worlds(game: Game, seed: int, effort: Effort) -> Iterator[WorldPosition]:
    [worlds] = tee((world for world in _make_finder(game, seed, effort) if world.differs), 1)
    return worlds


def find_worlds(game: Game, seed: int, effort: Effort) -> Iterator[WorldPosition]:
    """Iterate over worlds whose hidden events differ from those of their base positions.

    Worlds are shared, so do not play on in them. Raises `NotApplicable` if the game declares that nothing is hidden."""
    if game.spec.information == "perfect":
        raise NotApplicable("the game says that nothing is hidden")
    return copy(_find_shared_worlds(game, seed, effort))


def environments_leak_nothing(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Environments show a seat the same in worlds that it cannot tell apart: observations, masks, infos, rewards,
    renders, and answers to failed replies."""
    first: dict[tuple[int, bytes, tuple[int, ...]], tuple[tuple[Event, ...], dict[str, Any]]] = {}
    looks = max(4, effort.decisions // _ENVIRONMENT_COST)
    for world in find_worlds(game, seed, effort):
        seat = world.seat
        key = (seat, world.history.digest, world.match.to_move())
        if key not in first:
            first[key] = (world.base, _observe_environments(game, world.base, seat))
            looks -= 1
        events, shown = first[key]
        differs = find_difference(shown, now := _observe_environments(game, world.events, seat))
        if differs is not None:
            one, other = cut_to_difference(shown[differs], now[differs])
            raise CheckFailed(
                f"{differs} shows seat {seat} what it may not know: {one} and {other}.",
                where=f"{game.name}, after {format_events(events)} and after {format_events(world.events)}",
                fix="derive what the game shows the seat only from what it may know.",
            )
        looks -= 1
        if looks <= 0:
            return


def _observe_environments(game: Game, events: tuple[Event, ...], seat: int) -> dict[str, Any]:
    """Return what environments show a seat at a position and after a failed reply."""
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
        shown[f"Gymnasium's {kind} observation"] = _convert_arrays(observation)
        shown["Gymnasium's info"], shown["Gymnasium's render"] = info, env.render()
        if game.num_actions:
            shown["Gymnasium's mask"] = env.action_masks().tolist()
        shown[f"Gymnasium's {kind} answer to a failed reply"] = _convert_arrays(env.step("")[:-1]), env.render()
    agent = f"player_{seat}"
    aec = TextGameAECEnv(game_there, on_illegal="retry(1)", render_mode="ansi")
    aec.reset(seed=0)
    shown["PettingZoo's observation"], shown["PettingZoo's info"] = (
        _convert_arrays(aec.observe(agent)),
        aec.infos[agent],
    )
    shown["PettingZoo's reward"] = aec.rewards[agent]
    if aec.agent_selection == agent:
        shown["PettingZoo's render"] = aec.render()
    if game.spec.dynamics == "simultaneous":
        parallel = TextGameParallelEnv(game_there, on_illegal="retry(1)", render_mode="ansi")
        observations, infos = parallel.reset(seed=0)
        shown["the parallel observation"], shown["the parallel info"] = (
            _convert_arrays(observations[agent]),
            infos[agent],
        )
    return shown


def _convert_arrays(value: Any) -> Any:
    """Convert arrays in a value to lists, to make observations comparable."""
    if isinstance(value, dict):
        return {key: _convert_arrays(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_convert_arrays(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def perfect_information_hides_nothing(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """In a game with information='perfect', every seat can tell different positions apart."""
    if game.spec.information == "imperfect":
        raise NotApplicable("the game says that something is hidden")
    rng = stream(seed, "open")
    first: dict[tuple[int, bytes, tuple[int, ...]], tuple[Event, ...]] = {}
    looks = max(8, effort.decisions // 4)
    for world in _make_finder(game, seed, effort):
        key = (world.seat, world.history.digest, world.match.to_move())
        other = first.setdefault(key, world.base)
        if other == world.events:
            continue
        if not are_equivalent(game.load(other), world.match, rng):
            raise CheckFailed(
                f"the spec says information='perfect', but seat {world.seat} cannot tell two different "
                "positions apart.",
                where=f"{game.name}, after {format_events(other)} and after {format_events(world.events)}",
                fix="say information='imperfect', or let view(seat) and observe(seat) show the difference.",
            )
        looks -= 1
        if looks <= 0:
            return


def sampled_worlds_are_consistent(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Worlds from `resample` look like the true one to the seat at every step, replay, and can be continued.

    They include other worlds than the true one, if any exist. Sampling leaves the match unchanged."""
    rng = stream(seed, "sampled")
    looks, sampled = max(4, effort.decisions // 8), 0
    for place in _make_finder(game, seed, effort):
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
        before.compare(match, "resample() changes the match", fix="leave the true match unchanged.")
        _check_world(match, place, world, rng)
    if not sampled:
        raise NotApplicable("the game has no resample")
    if game.spec.information == "imperfect":
        _check_sample_variety(game, seed, effort, rng)


def sampling_leaks_nothing(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """With equal generators, `resample` returns the same world from two worlds that a seat cannot tell apart.

    Otherwise a player that knows the generator could infer hidden information."""
    rng = stream(seed, "draws")
    looks, compared = max(4, effort.decisions // 8), 0
    for world in find_worlds(game, seed, effort):
        if compared == looks:
            break
        first, second = (random.Random(number) for number in [rng.getrandbits(31)] * 2)
        try:
            one = game.load(world.base).resample(world.seat, first)
            other = game.load(world.events).resample(world.seat, second)
        except NoSampler:
            continue
        compared += 1
        same = tuple(one.events) == tuple(other.events) or are_equivalent(one, other, rng)
        if not same or first.random() != second.random():
            raise CheckFailed(
                f"what resample() draws depends on what seat {world.seat} cannot see: with equal generators it gives "
                f"{format_events(one.events)}, and {format_events(other.events)} if the truth is "
                f"{format_events(world.events)}.",
                where=describe_position(game.load(world.base), world.seat),
                fix="draw what the seat has not seen, in an order that does not depend on hidden information.",
            )
    if not compared:
        raise NotApplicable("no two worlds were found that resample() samples from")


def _check_sample_variety(game: Game, seed: int, effort: Effort, rng: random.Random) -> None:
    """Raise `CheckFailed` if `resample` always returns the true world, because search would then know the hidden
    information."""
    looks = 0
    for world in find_worlds(game, seed, effort):
        for _ in range(4 if world.how != "sampled" else 0):
            match = game.load(world.base)
            try:
                sample = match.resample(world.seat, random.Random(rng.getrandbits(31)))
            except NoSampler:
                break
            if tuple(sample.events) != world.base:
                return
            looks += 1
            if looks == _MAX_TRUE_SAMPLES:
                raise CheckFailed(
                    f"resample() returns only the true world, although seat {world.seat} could not tell it from "
                    f"this one: {format_events(world.events)}.",
                    where=describe_position(match, world.seat),
                    fix="redraw what the seat does not know, using the given generator.",
                )


def _check_world(match: Match, place: WorldPosition, world: Match, rng: random.Random) -> None:
    """Raise `CheckFailed` unless a sampled world is possible and looks the same to the seat."""
    seat, events = place.seat, tuple(world.events)
    if world.to_move() != match.to_move():
        _fail_world(match, seat, f"seats {world.to_move()} are to move in it", events)
    if world.view(seat) != match.view(seat):
        _fail_world(match, seat, "its view differs", events)
    if world.legal_moves(seat) != match.legal_moves(seat):
        _fail_world(match, seat, f"its legal moves are {shorten(world.legal_moves(seat))}", events)
    try:
        again = match.game.load(events)
        change = Snapshot.from_match(world).find_change(again)
        possible = has_history(match.game.load, events, seat, place.history)
        play_out(world, rng)
    except CheckFailed:
        raise
    except Exception as error:  # noqa: BLE001 (a game may raise anything)
        _fail_world(match, seat, f"it fails: {format_error(error)}", events)
    if change is not None:
        _fail_world(match, seat, f"its events load as another position: {change}", events)
    if not possible:
        _fail_world(match, seat, "the seat would have made other observations on the way there", events)


def _fail_world(match: Match, seat: int, why: str, events: tuple[Event, ...]) -> NoReturn:
    raise CheckFailed(
        f"resample() returns a world that is impossible, or that seat {seat} can tell from the true one: {why}. "
        f"Its events: {format_events(events)}.",
        where=describe_position(match, seat),
        fix="return a match whose events could have happened and look the same to the seat at every step.",
    )
