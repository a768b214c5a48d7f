"""For every check, a game with one planted defect fails exactly that check.

A defect is bent into a real game: `BentGame` and `BentMatch` pass everything on to it but what is bent."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymposium import GameSpec, load_game
from gymposium.errors import BadRecord, IllegalMove
from gymposium.games.openspiel.adapter import OpenSpielGame, OpenSpielMatch
from gymposium.games.pictures import Picture, PicturePlace
from gymposium.games.protocol import CHANCE, Event, Observation
from gymposium.match import BrokenPromise
from gymposium.plugins.host import Host, host
from gymposium.util.streams import stream
from gymposium_testing import CHECKS, QUICK, CheckFailed, NotApplicable, checks

HERE = Path(__file__).parent


class BentMatch:
    """A match that passes everything on to another."""

    def __init__(self, game: BentGame, inner: Any, origin: str) -> None:
        self.game, self.inner, self.origin = game, inner, origin

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def again(self, inner: Any, origin: str) -> BentMatch:
        return type(self)(self.game, inner, f"{self.origin} {origin}")

    def fork(self, rng: random.Random) -> BentMatch:
        return self.again(self.inner.fork(rng), "forked")

    def resample(self, seat: int, rng: random.Random) -> BentMatch:
        return self.again(self.inner.resample(seat, rng), "sampled")


class BentGame:
    """A game that passes everything on to another, its matches too."""

    match: type[BentMatch] = BentMatch

    def __init__(self, game: str, **changed: Any) -> None:
        self.inner: Any = load_game(game)
        for name, value in changed.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> BentGame:
        return self

    def new(self, seed: int) -> BentMatch:
        return self.match(self, self.inner.new(seed), "new")

    def load(self, events: Sequence[Event], seed: int | None = None) -> BentMatch:
        return self.match(self, self.inner.load(events, seed), "loaded")


def bent(game: str, **methods: Any) -> Callable[[], BentGame]:
    """The game whose matches have these methods instead of their own."""
    return lambda: type("Bent", (BentGame,), {"match": type("Match", (BentMatch,), methods)})(game)


def with_new(game: str, new: Callable[[BentGame, int], BentMatch]) -> Callable[[], BentGame]:
    return lambda: type("Bent", (BentGame,), {"new": new})(game)


def with_load(game: str, load: Callable[[BentGame, Sequence[Event], int | None], BentMatch]) -> Callable[[], BentGame]:
    return lambda: type("Bent", (BentGame,), {"load": load})(game)


@dataclass(frozen=True)
class Defect:
    check: str
    what: str
    make: Callable[[], Any]
    says: str
    """What the message must tell."""
    also: frozenset[str] = field(default_factory=frozenset)
    """Other checks that cannot but see it too."""


DEFECTS: list[Defect] = []


def plant(check: str, what: str, make: Callable[[], Any], says: str, *also: str) -> None:
    DEFECTS.append(Defect(check, what, make, says, frozenset(also)))


def changed_spec(game: str, **changes: Any) -> Callable[[], BentGame]:
    return lambda: BentGame(game, spec=replace(load_game(game).spec, **changes))


# -- spec

plant("game_follows_its_spec", "another name", lambda: BentGame("tic_tac_toe", name="noughts"), "full_name")
plant(
    "matches_follow_the_spec",
    "chance that the spec denies",
    changed_spec("kuhn_poker", chance=False),
    "chance=True",
)
plant(
    "matches_follow_the_spec",
    "joint moves that the spec denies",
    changed_spec("goofspiel(num_cards=4)", dynamics="sequential"),
    "dynamics='simultaneous'",
)

# -- seeds


def counting_new(self: BentGame, seed: int) -> BentMatch:
    self.count = getattr(self, "count", 0) + 1
    return self.match(self, self.inner.new(seed + self.count), "new")


plant(
    "equal_seeds_give_equal_matches",
    "seeds that are counted up",
    with_new("kuhn_poker", counting_new),
    "equal seeds",
    "matches_are_independent",
    "illegal_moves_change_nothing",
    "pettingzoo_seed_test_passes",
    "gymnasium_check_env_passes",
    "records_verify",
    "text_and_index_are_equivalent",
)


def last_mover_draws(self: Any, moves: Mapping[int, str]) -> None:
    """Chance comes from the stream of whichever match was begun last."""
    if self.origin == "new":
        self.inner._rng = stream(self.game.last, "chance", len(self.events))
    self.inner.apply(moves)


def remembering_new(self: BentGame, seed: int) -> BentMatch:
    self.last = seed
    return self.match(self, self.inner.new(seed), "new")


plant(
    "matches_are_independent",
    "a stream that matches share",
    lambda: type(
        "Bent", (BentGame,), {"new": remembering_new, "match": type("M", (BentMatch,), {"apply": last_mover_draws})}
    )("pig"),
    "diverges if another one is played in between",
    "prefixes_load_and_continue",
    "records_verify",
)


def draws_globally(self: Any, moves: Mapping[int, str]) -> None:
    random.random()
    self.inner.apply(moves)


def seeds_numpy(self: Any, moves: Mapping[int, str]) -> None:
    np.random.seed(0)  # noqa: NPY002
    self.inner.apply(moves)


plant("games_leave_global_generators_alone", "a draw", bent("tic_tac_toe", apply=draws_globally), "Python's random")
plant("games_leave_global_generators_alone", "a seed", bent("tic_tac_toe", apply=seeds_numpy), "NumPy's random")
plant(
    "seeds_determine_chance",
    "one seed for all",
    with_new("leduc_poker", lambda self, seed: self.match(self, self.inner.new(0), "new")),
    "the same for all seeds",
    "records_verify",
)

# -- moves


class ShortMatch(OpenSpielMatch):
    """Leaves out the last of many moves."""

    __slots__ = ()

    def legal_actions(self, seat: int) -> list[int]:
        actions = super().legal_actions(seat)
        return actions[:-1] if len(actions) > 7 else actions

    def legal_moves(self, seat: int) -> list[str]:
        return [self.game.names[action] for action in self.legal_actions(seat)]  # type: ignore[index]

    def fork(self, rng: random.Random) -> OpenSpielMatch:
        return type(self)(self.game, self.state.clone(), list(self.events), None, rng)


class TwistedMatch(ShortMatch):
    """Lists moves from the last to the first, and their indices from the first to the last."""

    __slots__ = ()

    def legal_actions(self, seat: int) -> list[int]:
        return OpenSpielMatch.legal_actions(self, seat)

    def legal_moves(self, seat: int) -> list[str]:
        return OpenSpielMatch.legal_moves(self, seat)[::-1]


def engine_game(match: type[OpenSpielMatch]) -> OpenSpielGame:
    """Tic-tac-toe with matches of this class."""

    class Game(OpenSpielGame):
        def begin(self, seed: int | None) -> OpenSpielMatch:
            return match(self, self.engine.new_initial_state(), [], seed, None)

    real: Any = load_game("tic_tac_toe")
    return Game(real.spec, real.params, real.engine, real.wording)


plant("legal_moves_match_indices", "a move that the engine has", lambda: engine_game(ShortMatch), "the engine's")
plant(
    "legal_moves_match_indices",
    "moves of a seat that waits",
    bent(
        "tic_tac_toe",
        legal_moves=lambda self, seat: self.inner.legal_moves(self.to_move()[0]) if self.to_move() else [],
    ),
    "observe() lists []",
)
plant(
    "moves_parse_as_themselves",
    "a shape that leaves a move out",
    lambda: BentGame("tic_tac_toe", move_pattern=re.compile("[ab][1-3]")),
    "move_pattern",
)
plant(
    "text_and_index_are_equivalent",
    "names in another order",
    lambda: engine_game(TwistedMatch),
    "the engine takes it as",
)
plant(
    "wrong_seats_are_rejected",
    "moves that are passed over",
    bent(
        "tic_tac_toe",
        apply=lambda self, moves: self.inner.apply({s: m for s, m in moves.items() if s in self.to_move()} or moves),
    ),
    "is accepted",
)

# -- replies

plant(
    "hostile_replies_are_classified",
    "a shape that takes anything",
    lambda: BentGame("tic_tac_toe", move_pattern=re.compile("(?s).*")),
    "matches ''",
)


def draws_and_refuses(self: Any, moves: Mapping[int, str]) -> None:
    try:
        self.inner.apply(moves)
    except IllegalMove:
        self.inner._rng = self.inner._rng or stream(self.seed or 0, "chance")
        self.inner._rng.random()
        raise


plant(
    "illegal_moves_change_nothing",
    "a draw before a refusal",
    bent("pig", apply=draws_and_refuses),
    "the match diverges",
)


def forgives(self: Any, moves: Mapping[int, str]) -> None:
    self.inner.apply(
        {seat: (self.legal_moves(seat) or [move])[0] if "<|" in move else move for seat, move in moves.items()}
    )


plant("illegal_moves_change_nothing", "silent correction", bent("tic_tac_toe", apply=forgives), "is accepted")

# -- hiding


def view_is_text(self: Any, seat: int) -> str:
    return str(self.inner.observe(seat).text)


plant(
    "hidden_information_is_declared",
    "a view made from the text",
    bent("kuhn_poker", view=view_is_text),
    "is what observe",
)
plant(
    "hidden_information_is_declared",
    "a view of everything",
    bent("leduc_poker", view=lambda self, seat: f"{self.events}", resample=lambda self, seat, rng: self.fork(rng)),
    "no two worlds",
    "prompts_tell_everything_known",
)
plant(
    "perfect_information_hides_nothing",
    "cards in a game that says it has none",
    changed_spec("kuhn_poker", information="perfect"),
    "information='imperfect'",
)


def telling(self: Any, seat: int, style: str = "full") -> Observation:
    observation: Observation = self.inner.observe(seat, style)
    observation.text += (
        f"Good luck{'!' if 'K' in str(self.events[1 - seat]) or '2' in str(self.events[1 - seat]) else '.'}\n"
    )
    return observation


plant(
    "hidden_information_stays_hidden",
    "a wink",
    bent("kuhn_poker", observe=telling),
    "leak in the full prompt",
    "environments_leak_nothing",
)


plant(
    "pictures_leak_nothing",
    "a picture of the other's card",
    bent("kuhn_poker", draw_picture=lambda self, seat: Picture(f"<b>{self.events[1 - seat].move}</b>", 1, 1)),
    "leak in the picture",
)


def naming(self: Any, seat: int) -> Picture:
    """A picture whose places tell the other's card."""
    picture: Picture = self.inner.draw_picture(seat)
    return replace(picture, places=(PicturePlace(self.events[1 - seat].move, 0, 0, 9, 9),))


plant(
    "pictures_leak_nothing",
    "a place that is called as the other's card",
    bent("kuhn_poker", draw_picture=naming),
    "leak in the picture",
)


for what, picture, told in (
    ("text as a picture", "<b>?</b>", "it is '<b>"),
    ("a picture without a height", Picture("<b>?</b>", 10, 0), "its size is 10 by 0"),
    (
        "an unknown color",
        Picture('<b style="color: var(--gren)">?</b>', 10, 10),
        "unknown color 'gren'",
    ),
    ("a picture with a script", Picture("<script>1</script>", 10, 10), "it has '<script'"),
    ("a picture that loads", Picture("<img src='http://a.example/b'>", 10, 10), "it has \"src='http:"),
    ("a picture that is cut off", Picture("<svg aria-label='a'><g></svg>", 10, 10), "not well-formed"),
    ("a picture without words", Picture("<svg></svg>", 10, 10), "no aria-label"),
    ("a place beside the picture", Picture("", 10, 10, (PicturePlace("a1", 9, 9, 2, 2),)), "lies outside it"),
):
    plant("pictures_are_valid", what, bent("tic_tac_toe", draw_picture=lambda self, seat, shown=picture: shown), told)


def forgetting(self: Any, seat: int, style: str = "full") -> Observation:
    observation: Observation = self.inner.observe(seat, style)
    observation.text = re.sub(r"card . *\n|Your card: .\. ", "", observation.text)
    return observation


plant(
    "prompts_tell_everything_known", "a card that is not told", bent("kuhn_poker", observe=forgetting), "blind prompt"
)


def tells_by_returns(self: Any) -> tuple[float, ...]:
    returns: tuple[float, ...] = self.inner.returns()
    if not self.to_move():
        return returns
    return tuple(float("2" in str(self.events[1 - seat])) for seat in range(2))


plant(
    "environments_leak_nothing",
    "returns that tell before the end",
    bent("kuhn_poker", returns=tells_by_returns),
    "answer to a failed reply",
)
plant(
    "sampled_worlds_are_consistent",
    "worlds with other cards in one's own hand",
    bent(
        "kuhn_poker",
        resample=lambda self, seat, rng: self.game.load(self.events[1:2] + self.events[:1] + self.events[2:]),
    ),
    "resample() returns a world",
    "sampling_leaks_nothing",
)
plant(
    "sampled_worlds_are_consistent",
    "the true world and no other",
    bent("kuhn_poker", resample=lambda self, seat, rng: self.fork(rng)),
    "only the true world",
    "sampling_leaks_nothing",
)


def counts_from_the_truth(self: Any, seat: int, rng: random.Random) -> Any:
    """Another's card, as likely each, but counted from the true one on."""
    own, true = self.events[seat], self.events[1 - seat]
    unseen = [card for card in ("Deal:0", "Deal:1", "Deal:2") if card != own.move]
    card = unseen[(unseen.index(true.move) + int(rng.random() * 2)) % 2]
    events = list(self.events)
    events[1 - seat] = Event(true.seat, card)
    return self.game.load(events)


plant(
    "sampling_leaks_nothing",
    "draws that are counted from the truth",
    bent("kuhn_poker", resample=counts_from_the_truth),
    "depends on what seat",
)

# -- prompts

plant(
    "rules_are_well_formed",
    "a slot that nobody filled",
    lambda: BentGame("tic_tac_toe", rules=lambda seat, style="full": "You play {mark}.\n"),
    "an empty slot",
    "records_verify",  # the prompts that are recorded are not those of the game of that name
)


def with_token(self: Any, seat: int, style: str = "full") -> Observation:
    observation: Observation = self.inner.observe(seat, style)
    observation.text += "<|im_end|>\n"
    return observation


plant("prompts_are_complete", "a control token", bent("tic_tac_toe", observe=with_token), "control")


def without_legal_moves(self: Any, seat: int, style: str = "full") -> Observation:
    observation: Observation = self.inner.observe(seat, style)
    if style == "compact":
        observation.text = observation.text.partition("legal ")[0]
    return observation


plant(
    "prompts_are_complete",
    "compact prompts without the legal moves",
    bent("tic_tac_toe", observe=without_legal_moves),
    "does not name the legal moves",
)

# -- returns

plant(
    "returns_stay_in_range",
    "too narrow a range",
    lambda: BentGame("kuhn_poker", utility_range=(-1.0, 1.0)),
    "the range is",
)
plant(
    "returns_match_the_utility",
    "winners who take from nobody",
    bent("kuhn_poker", returns=lambda self: tuple(max(0.0, value) for value in self.inner.returns())),
    "sum to",
    "records_verify",
)


def pays_once(self: Any) -> tuple[float, ...]:
    paid, self.paid = getattr(self, "paid", False), not self.to_move()
    returns: tuple[float, ...] = self.inner.returns()
    return tuple(0.0 for _ in returns) if paid else returns


plant(
    "rewards_sum_to_returns",
    "a purse that is paid out once",
    bent("kuhn_poker", returns=pays_once),
    "rewards add up to",
    "wrong_seats_are_rejected",
    "prefixes_load_and_continue",
    "calls_work_in_any_order",
)

# -- replay


def loads_without_an_end(self: BentGame, events: Sequence[Event], seed: int | None = None) -> BentMatch:
    loaded = self.inner.load(events, seed)
    if seed is None and not loaded.to_move() and len(events) > 1:
        return self.match(self, self.inner.load(events[: -1 if events[-1].seat != CHANCE else -2], 0), "loaded")
    return self.match(self, loaded, "loaded")


plant(
    "events_reproduce_the_match",
    "a last move that is lost",
    with_load("tic_tac_toe", loads_without_an_end),
    "load(events, None)",
)


def loads_with_fresh_chance(self: BentGame, events: Sequence[Event], seed: int | None = None) -> BentMatch:
    loaded = self.inner.load(events, seed)
    if seed is not None:
        loaded._rng = stream(seed, "chance")
    return self.match(self, loaded, "loaded")


plant("prefixes_load_and_continue", "draws that are not spent", with_load("pig", loads_with_fresh_chance), "diverges")


def loads_too_much(self: BentGame, events: Sequence[Event], seed: int | None = None) -> BentMatch:
    try:
        return self.match(self, self.inner.load(events, seed), "loaded")
    except BadRecord as error:
        if "after the end" not in str(error):
            raise
        return self.load(events[:-1], seed)


plant(
    "invalid_records_are_rejected",
    "events after the end",
    with_load("tic_tac_toe", loads_too_much),
    "after the end is loaded",
)
plant(
    "records_verify",
    "another seed than the one given",
    with_new("pig", lambda self, seed: self.match(self, self.inner.new(seed + 1), "new")),
    "do not verify",
)

# -- forking


def shares_events(self: Any, rng: random.Random) -> BentMatch:
    fork = self.inner.fork(rng)
    fork.events = self.inner.events
    return BentMatch.again(self, fork, "forked")


plant(
    "forks_are_independent",
    "one list of events for two matches",
    bent("tic_tac_toe", fork=shares_events),
    "a match changes if its fork is played on: events",
    "calls_work_in_any_order",
    "pictures_leak_nothing",
)
plant(
    "forks_draw_fresh_chance",
    "dice that do not listen",
    bent("pig", fork=lambda self, rng: self.again(self.inner.fork(random.Random(0)), "forked")),
    "always draw the same chance",
)
plant(
    "forks_draw_fresh_chance",
    "dice that were thrown already",
    bent("pig", fork=lambda self, rng: self.again(self.inner.game.load(self.events, self.seed or 0), "forked")),
    "always draw the same chance",
    "perfect_information_hides_nothing",
)


def shouts_later(self: Any, moves: Mapping[int, str]) -> None:
    self.inner.apply(moves)
    if self.origin.startswith("loaded forked"):
        self.inner.events[-1] = Event(self.inner.events[-1].seat, self.inner.events[-1].move.upper())


plant(
    "calls_work_in_any_order",
    "forks of loaded matches",
    bent("tic_tac_toe", apply=shouts_later),
    "are recorded in the events as",
)

# -- environments


def infinite(self: Any, seat: int) -> np.ndarray:
    tensor: np.ndarray = self.inner.tensor(seat)
    return tensor + np.float32(np.inf)


plant(
    "gymnasium_check_env_passes",
    "an infinite tensor",
    bent("tic_tac_toe", tensor=infinite),
    "check_env",
    "pettingzoo_api_test_passes",
)
plant(
    "pettingzoo_api_test_passes",
    "an infinite tensor",
    bent("kuhn_poker", tensor=infinite),
    "api_test",
    "gymnasium_check_env_passes",
)
plant(
    "pettingzoo_parallel_api_test_passes",
    "an infinite tensor",
    bent("goofspiel(num_cards=4)", tensor=infinite),
    "outside its space",
    "pettingzoo_api_test_passes",
    "gymnasium_check_env_passes",
)
plant(
    "pettingzoo_seed_test_passes",
    "seeds that are counted up",
    DEFECTS[3].make,
    "seed_test",
    *DEFECTS[3].also,
    DEFECTS[3].check,
)

# -- length

plant(
    "random_matches_end", "too short a length", lambda: BentGame("tic_tac_toe", max_decisions=3), "max_decisions is 3"
)


def list_failures(game: Any, names: Collection[str] | None = None) -> dict[str, CheckFailed]:
    """The checks that fail on a game, of those with these names, by default of all."""
    found = {}
    for check in CHECKS:
        if check.kind == "game" and (names is None or check.name in names):
            try:
                check.run(game, 0, QUICK)
            except NotApplicable:
                continue
            except CheckFailed as error:
                found[check.name] = error
    return found


def _from_promise(error: BaseException | None) -> bool:
    return error is not None and (isinstance(error, BrokenPromise) or _from_promise(error.__cause__))


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: f"{defect.check}-{defect.what.replace(' ', '_')}")
def test_defect_fails_its_check(defect: Defect) -> None:
    expected = {defect.check} | defect.also
    failed = list_failures(defect.make(), expected)
    assert expected == set(failed)
    assert defect.says in str(failed[defect.check])


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: f"{defect.check}-{defect.what.replace(' ', '_')}")
def test_defect_fails_no_other_check(defect: Defect) -> None:
    failed = list_failures(defect.make())
    # a broken promise ends every match that is played, so that the checks that play matches report it as well
    expected = {defect.check} | defect.also
    others = {name: str(error) for name, error in failed.items() if name not in expected and not _from_promise(error)}
    assert not others


@pytest.mark.parametrize("name", ["tic_tac_toe", "kuhn_poker", "leduc_poker", "goofspiel(num_cards=4)", "pig"])
def test_unmodified_bent_game_passes(name: str) -> None:
    assert not list_failures(BentGame(name))


# -- defects in what a spec says: games of a plugin that is one file

SPEC_DEFECTS = {
    "spec_is_complete": ("two_lines", "title is 'A game"),
    "bad_parameters_are_rejected": ("obliging", "is not refused"),
    "parameter_bounds_are_playable": ("fragile", "allows num_cards=9"),
    "prompts_state_the_parameters": ("quiet", "with num_cards="),
    "random_parameters_are_playable": ("overdue", "(at most 1)"),
}
OF_SPECS = [check for check in CHECKS if check.kind == "spec"]


@pytest.fixture
def faulty() -> Iterator[Mapping[str, GameSpec]]:
    plugins = Host(autoload=False)
    plugins.load_file(HERE / "faulty_games.py")
    yield plugins.games
    del sys.modules["faulty_games"]


def list_spec_failures(spec: GameSpec) -> dict[str, str]:
    found = {}
    for check in OF_SPECS:
        try:
            check.run(spec, 0, QUICK)
        except NotApplicable:
            continue
        except CheckFailed as error:
            found[check.name] = str(error)
    return found


@pytest.mark.parametrize("check", SPEC_DEFECTS)
def test_spec_defect_fails_only_its_check(check: str, faulty: Mapping[str, GameSpec]) -> None:
    name, says = SPEC_DEFECTS[check]
    failed = list_spec_failures(faulty[name])
    also = {"parameter_bounds_are_playable": {"random_parameters_are_playable", "prompts_state_the_parameters"}}.get(
        check, set()
    )
    assert check in failed
    assert set(failed) <= {check} | also
    assert says in failed[check]


def test_game_without_a_defect_passes(faulty: Mapping[str, GameSpec]) -> None:
    assert not list_spec_failures(faulty["sound"])


def test_different_cards_do_not_count_as_stating_a_parameter(tmp_path: Path) -> None:
    """Rules that always speak of five cards: with more cards others are dealt, but they say nothing of how many."""
    source = (HERE.parents[1] / "docs" / "examples" / "one_card_poker.py").read_text(encoding="utf-8")
    assert source.count("{len(self.deck)}") == 2
    wrong = source.replace("{len(self.deck)}", "5").replace('"one_card_poker:', '"of_five_cards:')
    (tmp_path / "of_five_cards.py").write_text(wrong, encoding="utf-8")
    plugins = Host(autoload=False)
    plugins.load_file(tmp_path / "of_five_cards.py")
    failed = list_spec_failures(plugins.games["one_card_poker"])
    assert set(failed) == {"prompts_state_the_parameters"}
    assert "reads the same as with 5" in failed["prompts_state_the_parameters"]


# -- weight, in a process of its own

HEAVY_GAME = """
from gymposium import GameSpec, hookimpl
from gymposium.games.lines.tic_tac_toe import game as tic_tac_toe

def heavy(spec, params):
    import jax
    return tic_tac_toe(spec, params)

@hookimpl
def gymposium_games():
    for name in ("light", "heavy"):
        entry_point = f"weighty_games:{name}"
        yield GameSpec(name=name, title="A game", summary="A game.", entry_point=entry_point, namespace="w")

light = tic_tac_toe
"""


@pytest.fixture
def weighted_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mapping[str, GameSpec]]:
    """A game that loads a large library, which is a small one here: it is called jax."""
    (tmp_path / "jax.py").touch()
    (tmp_path / "weighty_games.py").write_text(HEAVY_GAME)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    host.cache_clear()
    host().load_file(tmp_path / "weighty_games.py")
    yield host().games
    host.cache_clear()
    del sys.modules["weighty_games"]


def test_heavy_imports_fail_and_light_ones_pass(weighted_games: Mapping[str, GameSpec]) -> None:
    [check] = [check for check in CHECKS if check.family == "weight"]
    check.run(weighted_games["light"])
    with pytest.raises(CheckFailed, match="playing it imports jax"):
        check.run(weighted_games["heavy"])


# -- none is forgotten


def test_every_check_has_a_planted_defect() -> None:
    planted = {defect.check for defect in DEFECTS} | set(SPEC_DEFECTS) | {"heavy_imports_are_absent"}
    planted |= {"null_agents_earn_nothing"}  # its defects are in test_null_agents
    assert {check.name for check in CHECKS if check.kind in ("spec", "game")} == planted


def test_every_check_function_is_registered() -> None:
    written = set()
    for info in pkgutil.iter_modules(checks.__path__):
        module = importlib.import_module(f"{checks.__name__}.{info.name}")
        for name, value in vars(module).items():
            if (
                inspect.isfunction(value)
                and value.__module__ == module.__name__
                and "effort" in inspect.signature(value).parameters
                and inspect.signature(value).return_annotation == "None"
                and not name.startswith("_")
            ):
                written.add(name)
    assert {check.name for check in CHECKS} == written
    assert len(CHECKS) == len(written)


def test_every_check_has_a_summary() -> None:
    for check in CHECKS:
        assert check.summary.endswith("."), check.name


def test_exception_in_a_check_fails_and_is_named() -> None:
    def stumbles(self: Any, seat: int) -> str:
        raise KeyError("hand")

    [check] = [check for check in CHECKS if check.name == "events_reproduce_the_match"]
    with pytest.raises(CheckFailed, match="KeyError: \"'hand'\""):
        check.run(bent("kuhn_poker", view=stumbles)(), 0, QUICK)
