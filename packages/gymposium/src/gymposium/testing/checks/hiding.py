"""Checks of hiding: what a seat may not know is declared and shown nowhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gymposium.envs.aec import TextGameAECEnv
from gymposium.envs.gym import TextGameEnv
from gymposium.envs.parallel import TextGameParallelEnv
from gymposium.envs.views import KINDS
from gymposium.errors import NoSampler
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.protocol import Event, Game, Match
from gymposium.streams import stream
from gymposium.testing.contract import NORMAL, CheckFailed, Effort, NotApplicable, after, events_in_words, short, unlike
from gymposium.testing.leaks import DECLARE, LeakKind, LeakReport, check_leaks
from gymposium.testing.positions import STYLES, difference, position, standing_at
from gymposium.testing.walk import AnyPlayer, play_out, played
from gymposium.testing.worlds import Finder, WorldPosition, go_the_same_way

_PAIRS = 6
"""One in how many budgeted decisions is looked at through environments, which cost more than a match."""
_TRUTHS = 24
"""So many samples, each of them the true world where there are others, are no chance."""


def hiding_is_declared(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """A game that hides something says so: its views are no copy of its own texts, and two worlds can be found
    that they do not tell apart."""
    if game.spec.information == "perfect":
        raise NotApplicable("the game says that nothing is hidden")
    if _views_are_texts(game, seed, effort):
        raise CheckFailed(
            "the spec says information='imperfect', but view(seat) is what observe(seat) shows, so nothing says what "
            "the seat may not know: a text that tells too much would be held against itself.",
            where=game.name,
            do=DECLARE,
        )
    report = _report(game, seed, effort)
    if not report.worlds:
        raise CheckFailed(
            f"the spec says information='imperfect', but no two worlds were found that a seat cannot tell apart, by "
            f"altering events, from scratch, or by resample() ({report.positions} positions).",
            where=game.name,
            do=DECLARE,
        )


def _views_are_texts(game: Game, seed: int, effort: Effort) -> bool:
    """Whether every view holds the lines of the seat's own text and no others. An engine's own view is none of
    ours, whatever the text is made of."""
    views = []
    for match in played(game, seed, effort.decisions // 4):
        for seat in range(game.seats):
            view = match.view(seat)
            if isinstance(match, OpenSpielMatch) and view == OpenSpielGame.view_of(match.game, match.state, seat):
                return False
            texts = [{*_lines(match.observe(seat, style).text)} for style in STYLES]
            if all({*_lines(view)} - {*_lines(game.rules(seat, style))} != text for style, text in zip(STYLES, texts)):
                return False
            views.append(view)
    return len(set(views)) > 1


def _lines(text: str) -> Iterator[str]:
    return filter(None, (line.strip() for line in text.split("\n")))


def nothing_hidden_shows(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """In worlds that a seat cannot tell apart it sees the same: prompts, legal moves, indices, tensor, picture,
    refusals."""
    _raise(_report(game, seed, effort), ("leak", "coarse view"))


def everything_known_is_told(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Where what a seat knows differs, its prompts differ, in both styles."""
    _raise(_report(game, seed, effort), ("blind prompt",))


def _raise(report: LeakReport, faults: tuple[LeakKind, ...]) -> None:
    leaks = [leak for leak in report.leaks if leak.fault in faults]
    if leaks:
        raise CheckFailed("\n".join(map(str, leaks[:3])), where=report.game.name, do="what each of them says.")


@lru_cache(maxsize=2)  # three checks read one report
def _report(game: Game, seed: int, effort: Effort) -> LeakReport:
    # where nothing is hidden, worlds are seldom more than the same moves in another order
    events = effort.events if game.spec.information == "imperfect" else effort.events // 4
    return check_leaks(game, seed, matches=effort.draws * 4, events=events)


def _finder(game: Game, seed: int, effort: Effort) -> Finder:
    return Finder(game, seed, matches=effort.draws * 2, tries=6, events=effort.events // 2)


def environments_show_nothing_hidden(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """In worlds that a seat cannot tell apart, every environment gives it the same: observation of each kind, mask,
    info, rewards, render, and the answer to a reply that fails."""
    if game.spec.information == "perfect":
        raise NotApplicable("the game says that nothing is hidden")
    shown: dict[tuple[int, bytes, tuple[int, ...]], tuple[tuple[Event, ...], dict[str, Any]]] = {}
    looks = max(4, effort.decisions // _PAIRS)
    for seen in _finder(game, seed, effort):
        seat, events = seen.seat, seen.events
        if seen.how == "played" or events == seen.base:
            continue
        key = (seat, seen.history.digest, seen.match.to_move())
        if key not in shown:
            shown[key] = (seen.base, _through_environments(game, seen.base, seat))
            looks -= 1
        first_events, first = shown[key]
        differs = difference(first, now := _through_environments(game, events, seat))
        if differs is not None:
            one, other = unlike(first[differs], now[differs])
            raise CheckFailed(
                f"{differs} tells seat {seat} what it may not know: {one} and {other}.",
                where=f"{game.name}, after {events_in_words(first_events)} and {events_in_words(events)}",
                do="make what the seat sees from what it may know alone.",
            )
        looks -= 1
        if looks <= 0:
            return


def _through_environments(game: Game, events: tuple[Event, ...], seat: int) -> dict[str, Any]:
    """What environments show the seat at a position, and after a reply there that fails."""
    stand = standing_at(game, events)
    shown: dict[str, Any] = {}
    for kind in KINDS if game.tensor_shape is not None else KINDS[:2]:
        env = TextGameEnv(
            stand,
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
    aec = TextGameAECEnv(stand, on_illegal="retry(1)", render_mode="ansi")
    aec.reset(seed=0)
    shown["PettingZoo's observation"], shown["PettingZoo's info"] = _plain(aec.observe(agent)), aec.infos[agent]
    shown["PettingZoo's reward"] = aec.rewards[agent]
    if aec.agent_selection == agent:
        shown["PettingZoo's render"] = aec.render()
    if game.spec.dynamics == "simultaneous":
        parallel = TextGameParallelEnv(stand, on_illegal="retry(1)", render_mode="ansi")
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
    for seen in _finder(game, seed, effort):
        key = (seen.seat, seen.history.digest, seen.match.to_move())
        other = first.setdefault(key, seen.base)
        if other == seen.events:
            continue
        if not go_the_same_way(game.load(other), seen.match, rng):
            raise CheckFailed(
                f"the spec says information='perfect', but seat {seen.seat} cannot tell two positions apart that are "
                f"not the same.",
                where=f"{game.name}, after {events_in_words(other)} and after {events_in_words(seen.events)}",
                do="say information='imperfect', or let view(seat) and observe(seat) tell it.",
            )
        looks -= 1
        if looks <= 0:
            return


def sampled_worlds_are_possible(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """Worlds from `resample` look like the true one to the seat at every step, can be played on, and replay.

    They include worlds other than the true one if any are possible. Sampling does not change the match."""
    finder = _finder(game, seed, effort)
    rng = stream(seed, "sampled")
    looks, sampled = max(4, effort.decisions // 8), 0
    for place in _decisions(finder):
        match, seat = place.match, place.seat
        before = list(match.events), position(match)
        try:
            world = match.resample(seat, random.Random(rng.getrandbits(31)))
        except NoSampler:
            continue
        sampled += 1
        if list(match.events) != before[0] or difference(before[1], position(match)) is not None:
            _bad_world(match, seat, "taking it changed the match", ())
        _judge(game, place, world, rng)
        looks -= 1
        if looks <= 0:
            break
    if not sampled:
        raise NotApplicable("the game has no resample")
    if game.spec.information == "imperfect":
        _others_are_sampled(game, seed, effort, rng)


def sampling_draws_alike(game: Game, seed: int = 0, effort: Effort = NORMAL) -> None:
    """With equal generators, `resample` gives the same world from two worlds that a seat cannot tell apart.

    Otherwise a player that knows the generator could infer what is hidden."""
    if game.spec.information == "perfect":
        raise NotApplicable("the game says that nothing is hidden")
    rng = stream(seed, "draws")
    looks, compared = max(4, effort.decisions // 8), 0
    for seen in _finder(game, seed, effort):
        if seen.how == "played" or seen.events == seen.base:
            continue
        first, second = (random.Random(number) for number in [rng.getrandbits(31)] * 2)
        try:
            one = game.load(seen.base).resample(seen.seat, first)
            other = game.load(seen.events).resample(seen.seat, second)
        except NoSampler:
            continue
        compared += 1
        same = tuple(one.events) == tuple(other.events) or go_the_same_way(one, other, rng)
        if not same or first.random() != second.random():
            raise CheckFailed(
                f"what resample() draws depends on what seat {seen.seat} cannot see: by equal generators it gives "
                f"{events_in_words(one.events)}, and {events_in_words(other.events)} where the truth is "
                f"{events_in_words(seen.events)}.",
                where=after(game.load(seen.base), seen.seat),
                do="draw from what the seat has not seen, in an order that does not follow from what is hidden.",
            )
        looks -= 1
        if looks <= 0:
            break
    if not compared:
        raise NotApplicable("no two worlds were found from which resample() samples")


def _others_are_sampled(game: Game, seed: int, effort: Effort, rng: random.Random) -> None:
    """Raise `CheckFailed` if `resample` returns only the true world, which would reveal what is hidden to search."""
    looks = 0
    for seen in _finder(game, seed, effort):
        if seen.how not in ("altered", "from scratch") or seen.events == seen.base:
            continue
        for _ in range(4):
            match = game.load(seen.base)
            try:
                world = match.resample(seen.seat, random.Random(rng.getrandbits(31)))
            except NoSampler:
                break
            if tuple(world.events) != seen.base:
                return
            looks += 1
            if looks == _TRUTHS:
                raise CheckFailed(
                    f"resample() gives nothing but the true world, though seat {seen.seat} could not tell it from "
                    f"this one: {events_in_words(seen.events)}.",
                    where=after(match, seen.seat),
                    do="draw what the seat does not know anew, from the generator that is given.",
                )


def _decisions(finder: Finder) -> Iterator[WorldPosition]:
    """Yield the decisions of random matches for the seats that decide, without worlds."""
    for seen in finder:
        if seen.how != "played":
            return
        if seen.seat in seen.match.to_move():
            yield WorldPosition(seen.match.game.load(seen.events), seen.seat, seen.history, seen.how, seen.base)


def _judge(game: Game, place: WorldPosition, world: Match, rng: random.Random) -> None:
    seat, events = place.seat, tuple(world.events)
    if world.to_move() != place.match.to_move():
        _bad_world(place.match, seat, f"there {world.to_move()} are to move", events)
    if world.view(seat) != place.match.view(seat):
        _bad_world(place.match, seat, "its view is another", events)
    if world.legal_moves(seat) != place.match.legal_moves(seat):
        _bad_world(place.match, seat, f"its legal moves are {short(world.legal_moves(seat))}", events)
    try:
        again = game.load(events)
        if difference(position(world), position(again)) is not None:
            _bad_world(place.match, seat, "its events load as another position", events)
        if not Finder(game, 0, matches=0, tries=0, events=0).has_history(events, seat, place.history):
            _bad_world(place.match, seat, "the seat would have seen other things on the way there", events)
        play_out(world, rng)
    except CheckFailed:
        raise
    except Exception as error:  # noqa: BLE001 (a game may raise anything)
        _bad_world(place.match, seat, f"it fails: {type(error).__name__}: {short(str(error))}", events)


def _bad_world(match: Match, seat: int, why: str, events: tuple[Event, ...]) -> None:
    raise CheckFailed(
        f"resample() gives a world that seat {seat} could tell from the true one, or that is none: {why}. "
        f"Its events: {events_in_words(events)}.",
        where=after(match, seat),
        do="return a match whose events could have happened and look the same to the seat at every step, and leave "
        "the true match alone.",
    )
