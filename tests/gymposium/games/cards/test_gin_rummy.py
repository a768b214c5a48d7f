"""Gin rummy: prompts match the engine, hands end by the rules, and worlds are uniform."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.errors import IllegalMove
from gymposium.games.cards.gin_rummy import GinRummyGame
from gymposium.games.openspiel.adapter import OpenSpielMatch
from gymposium.games.protocol import CHANCE, Event, Game, Match
from gymposium.replies.reading import READERS, read_reply

from ..matches import check_ends_of_ranges, check_readings, engine, parse_lines
from ..worlds import check_hint_is_found, check_nothing_leaks, check_worlds, chi_square

RANKS = "A23456789TJQK"
CARDS = [rank + suit for suit in "scdh" for rank in RANKS]


def value(card: str) -> int:
    """Return the points of a card, by the rules."""
    return min(10, RANKS.index(card[0]) + 1)


def count_deadwood(cards: Sequence[str]) -> int:
    """Return the points of the cards that are left outside the best melds, by the rules."""
    if not cards:
        return 0
    first, *rest = sorted(cards, key=lambda card: (card[1], RANKS.index(card[0])))
    same_rank = [card for card in rest if card[0] == first[0]]
    run = [card for card in RANKS[RANKS.index(first[0]) + 1 :] if card + first[1] in rest]
    runs = [[rank + first[1] for rank in run[:n]] for n in range(2, len(run) + 1)]
    melds = [list(cards) for n in (2, 3) for cards in itertools.combinations(same_rank, n)]
    melds += [others for others in runs if first[0] + "".join(card[0] for card in others) in RANKS]
    left = [value(first) + count_deadwood(rest)]
    return min(left + [count_deadwood([card for card in rest if card not in meld]) for meld in melds])


def seen_by_engine(match: Match) -> dict[str, object]:
    seen: dict[str, object] = json.loads(engine(match).to_json())
    return seen


def choose(match: Match, rng: random.Random) -> str:
    """Draw a random move, with a preference for melding, knocking and laying off."""
    [seat] = match.to_move()
    legal = match.legal_moves(seat) or []
    lively = [move for move in legal if move.startswith(("knock", "meld", "lay off"))]
    if lively and rng.random() < 0.8:
        return rng.choice(lively)
    if len(legal) > 4 and rng.random() < 0.8:  # a discard: the one that leaves the least deadwood

        def left(move: str) -> int:
            fork = match.fork(random.Random(0))
            fork.apply({seat: move})
            return int(engine(fork).deadwood()[seat])

        return min(legal, key=left)
    return rng.choice(legal)


def walk(game: Game, seed: int) -> Iterator[Match]:
    match, rng = game.new(seed), random.Random(seed)
    while True:
        yield match
        if not match.to_move():
            return
        match.apply({match.to_move()[0]: choose(match, rng)})


gin_games = st.fixed_dictionaries(
    {
        "hand_size": st.sampled_from([*range(3, 11), 10, 10]),
        "knock_card": st.sampled_from([0, 5, 10, 10]),
        "oklahoma": st.booleans(),
        "gin_bonus": st.integers(0, 100),
        "undercut_bonus": st.integers(0, 100),
    }
)


@given(gin_games, st.integers(0, 2**31))
@settings(max_examples=50)
def test_prompts_and_results_match_the_rules(params: dict[str, object], seed: int) -> None:
    game = load_game("gin_rummy", **params)
    size = game.params["hand_size"]
    for seat in (0, 1):
        assert f"Each is dealt {size} cards" in game.rules(seat)
        assert f"{game.params['gin_bonus']} more for gin" in game.rules(seat)
        assert f"the difference and {game.params['undercut_bonus']} more" in game.rules(seat)
        assert game.rules(seat).endswith(f"You play {'second' if seat else 'first'}.\n")
    for match in walk(game, seed):
        seen = seen_by_engine(match)
        for seat in (0, 1):
            check(match, seat, seen)
        if match.to_move():
            [seat] = match.to_move()
            legal = match.legal_moves(seat) or []
            assert legal
            assert len(set(legal)) == len(legal)
            for move, action in zip(legal, match.legal_actions(seat), strict=True):
                assert read_reply(move, legal, READERS["move"], game.move_pattern).kind == "move"
                theirs = engine(match).action_to_string(seat, action).rpartition("Action: ")[2]
                ours = move.removeprefix("discard ").removeprefix("lay off ").removeprefix("meld ")
                assert sorted(ours.replace(" ", "").lower()) == sorted(theirs.replace(" ", "").lower())
                assert move.startswith("lay off ") == (action < 52 and seen["phase"] == "Layoff")
    check_result(match)


def check(match: Match, seat: int, seen: dict[str, object]) -> None:
    """Compare the text with the engine's state, and with a plain replay of the events."""
    game, other = match.game, 1 - seat
    full, told = match.observe(seat).text.splitlines(), parse_lines(match.observe(seat, "compact").text)
    hands, deadwood = seen["hands"], seen["deadwood"]
    assert isinstance(hands, list)
    assert isinstance(deadwood, list)
    assert sorted(told["hand"].replace("none", "").split()) == sorted(hands[seat])
    knocked = True in seen["knocked"]  # type: ignore[operator]
    left = sum(map(value, hands[seat])) if knocked else deadwood[seat]
    if not knocked and left == 0 and len(hands[seat]) > game.params["hand_size"]:  # the engine counts no discard here
        left = min(count_deadwood([card for card in hands[seat] if card != discard]) for discard in hands[seat])
    assert told["deadwood"] == f"{left} knock {seen['knock_card']}"
    assert told["upcard"] == f"{seen['upcard'] or 'none'} stock {seen['stock_size']}"
    assert told["pile"] == (" ".join(seen["discard_pile"]) or "none")  # type: ignore[arg-type]
    turns, taken = retold(match, game.params["hand_size"])
    assert told["turns"] == (" ".join(turns) or "none")
    assert sorted(told["theirs"].replace("none", "").split()) == sorted(taken[other])
    if match.to_move() == (seat,):
        assert told["legal"] == ", ".join(match.legal_moves(seat) or [])

    assert sorted(full[0].split(":")[1].split(".")[0].replace(",", "").replace("empty", "").split()) == sorted(
        hands[seat]
    )
    assert f"Upcard: {seen['upcard'] or 'none'}. Stock: {seen['stock_size']} cards. " in "\n".join(full)
    assert f"oldest first: {' '.join(seen['discard_pile']) or 'empty'}." in "\n".join(full)  # type: ignore[arg-type]
    [known] = [line for line in full if line.startswith("Known cards in your opponent's hand")]
    assert sorted(known.partition(": ")[2].rstrip(".").replace("none", "").split()) == sorted(taken[other])
    [mine] = [line for line in full if line.startswith("Of your hand your opponent knows")]
    assert sorted(mine.partition(": ")[2].rstrip(".").replace("nothing", "").split()) == sorted(taken[seat])
    if knocked:
        assert full[0].endswith(f"The cards in it count {left}.")
        who = "You have" if seen["knocked"][seat] else "Your opponent has"  # type: ignore[index]
        assert full[1] == f"{who} knocked; the limit was {seen['knock_card']}."
        for name, short, owner in (("You have laid", "you", seat), ("Your opponent has laid", "they", other)):
            laid = [sorted(meld, key=CARDS.index) for meld in seen["layed_melds"][owner]]  # type: ignore[index]
            shown = ", ".join(" ".join(meld) for meld in laid)
            assert (f"{name}: {shown}." in full) == bool(laid)
            assert told.get(short, "") == (f"laid {shown}" if laid else "")
        off = " ".join(seen["layoffs"])  # type: ignore[arg-type]
        assert (f"Laid off on the knocker's melds: {off}." in full) == bool(off)
        assert told.get("laid", "") == (f"off {off}" if off else "")
    else:
        assert full[1].startswith("Your deadwood")
        assert f": {left}. To knock it must be " in full[1]
        limit = int(str(seen["knock_card"]))
        assert full[1].endswith(f"{limit} or less." if limit else "must be 0.")
        assert ("after discarding" in full[1]) == (len(hands[seat]) > game.params["hand_size"])
        if seen["phase"] == "Discard" and match.to_move() == (seat,):
            assert ("knock" in (match.legal_moves(seat) or [])) == (left <= limit)
    if not match.to_move():
        assert full[-1] == f"The hand is over. Your result: {int(match.returns()[seat]):+d}."
    else:
        assert full[-1].startswith("Now you may" if match.to_move() == (seat,) else "Now your opponent may")


def retold(match: Match, size: int) -> tuple[list[str], list[set[str]]]:
    """Return the turns up to a knock, and the cards from the pile that each seat still holds."""
    turns: list[str] = []
    taken: list[set[str]] = [set(), set()]
    upcard, knocked = match.events[2 * size].move.split()[-1], False
    for seat, move in match.events[2 * size + 1 :]:
        if seat == CHANCE:
            continue
        if move == "pass" and not knocked:
            turns.append("pass")
        elif move == "draw upcard":
            turns.append("u")
            taken[seat].add(upcard)
        elif move == "draw stock":
            turns.append("s")
        elif move == "knock":
            knocked = True
            if turns and turns[-1] in ("u", "s"):
                turns[-1] += " knock"
            else:
                turns.append("knock")
                taken[seat].add(upcard)
        elif move.startswith("discard") and not knocked:
            upcard = move.split()[1]
            turns[-1] += upcard
            taken[seat].discard(upcard)
        elif move != "pass":
            taken[seat] -= set(move.split())
    if engine(match).is_terminal() and turns and turns[-1] == "u":  # the fiftieth is not taken any more
        taken = [cards - {upcard} for cards in taken]
    return turns, taken


def check_result(match: Match) -> str:
    """Check the result by the rules, from the cards left in the hands. Returns the kind of end."""
    seen, params = seen_by_engine(match), match.game.params
    knocked, hands = seen["knocked"], seen["hands"]
    assert isinstance(knocked, list)
    assert isinstance(hands, list)
    low, high = match.game.utility_range
    assert all(low <= one <= high for one in match.returns())
    if True not in knocked:
        assert match.returns() == (0.0, 0.0)
        return "nobody knocked"
    knocker = knocked.index(True)
    own, other = (sum(map(value, hands[seat])) for seat in (knocker, 1 - knocker))
    if own == 0:
        kind, points = "gin", other + params["gin_bonus"]
    elif other < own:
        kind, points = "undercut", other - own - params["undercut_bonus"]
    else:
        kind, points = "equal" if own == other else "knock", other - own
    assert match.returns()[knocker] == points
    assert match.returns()[1 - knocker] == -points
    return kind


def test_results_of_many_hands_match_the_rules() -> None:
    game = load_game("gin_rummy", hand_size=3, gin_bonus=20, undercut_bonus=15)
    ends: Counter[str] = Counter()
    for seed in range(60):
        *_, match = walk(game, seed)
        ends[check_result(match)] += 1
    assert set(ends) >= {"gin", "knock", "nobody knocked"}, ends


MINE, THEIRS = ["2s", "3s", "4s", "9c", "9d", "9h"], ["5s", "6s", "9s", "Qd", "2h", "6c"]


def dealt(mine: list[str], theirs: list[str], upcard: str) -> Match:
    game = load_game("gin_rummy", hand_size=len(mine))
    return game.load([Event(CHANCE, f"Chance outcome: {card}") for card in [*mine, *theirs, upcard]])


def test_cards_are_laid_off_one_by_one() -> None:
    match = dealt([*MINE, "5d"], [*THEIRS, "Kh"], "Kd")
    play(match, "draw upcard", "knock", "discard Kd", "meld 2s 3s 4s", "meld 9c 9d 9h", "pass")
    assert match.legal_moves(1) == ["lay off 5s", "lay off 9s", "pass"]
    play(match, "lay off 5s")
    assert match.legal_moves(1) == ["lay off 6s", "lay off 9s", "pass"]
    play(match, "lay off 9s", "lay off 6s", "pass", "pass")
    assert match.returns() == (28.0 - 5, -28.0 + 5)


def test_gin_allows_no_lay_offs() -> None:
    match = play(
        dealt(MINE, THEIRS, "Kd"), "draw upcard", "knock", "discard Kd", "meld 2s 3s 4s", "meld 9c 9d 9h", "pass"
    )
    assert match.legal_moves(1) == ["pass"]
    play(match, "pass")
    assert match.returns() == (38.0 + 25, -38.0 - 25)


THREES, OTHERS = ["3s", "5s", "3c", "3d", "5d"], ["As", "Ac", "9c", "Qd", "Kh"]


@pytest.mark.parametrize(("limit", "knocks"), [(0, False), (5, False), (6, True)])
def test_knock_needs_a_discard_within_the_limit(limit: int, knocks: bool) -> None:
    """With 5h from the pile all cards are in melds of three, and the best discard leaves 3c and 3d."""
    match = load_game("gin_rummy", hand_size=5, knock_card=limit).load(
        [Event(CHANCE, f"Chance outcome: {card}") for card in [*THREES, *OTHERS, "5h"]]
    )
    play(match, "draw upcard")
    moves = match.legal_moves(0)
    assert moves == [f"discard {card}" for card in ("3s", "5s", "3c", "3d", "5d", "5h")] + ["knock"] * knocks
    assert len(match.legal_actions(0)) == len(moves)
    assert "Your deadwood after discarding your highest unmatched card: 6." in match.observe(0).text
    assert "deadwood 6 knock" in match.observe(0, "compact").text
    assert ("knock" in match.observe(0, "compact").text.splitlines()[-1]) == knocks
    if knocks:
        play(match, "knock")
        assert match.legal_moves(0) == ["discard 3s", "discard 3c", "discard 3d"]
    else:
        with pytest.raises(IllegalMove):
            play(match, "knock")


@pytest.mark.parametrize(("left", "kind", "points"), [("3c", "undercut", -30), ("8c", "equal", 0), ("9d", "knock", 1)])
def test_lower_deadwood_scores(left: str, kind: str, points: int) -> None:
    """The knocker keeps 8h, the other player keeps `left`."""
    mine, theirs = ["2s", "3s", "4s", "4c", "4d", "4h", "8h"], ["5s", "6s", "7s", "Tc", "Jc", "Qc", left]
    match = play(dealt(mine, theirs, "Kd"), "draw upcard", "knock", "discard Kd", "meld 2s 3s 4s", "meld 4c 4d 4h")
    play(match, "pass", "pass", "meld 5s 6s 7s", "meld Tc Jc Qc", "pass")
    assert check_result(match) == kind
    assert match.returns() == (points, -points)


def play(match: Match, *moves: str) -> Match:
    for move in moves:
        match.apply({match.to_move()[0]: move})
    return match


def test_hand_ends_when_an_upcard_returns_twice() -> None:
    match = load_game("gin_rummy").new(1)
    upcard = match.events[20].move.split()[-1]
    play(match, "draw upcard", f"discard {upcard}")
    assert match.to_move() == (1,)
    play(match, "draw upcard", f"discard {upcard}")
    assert match.to_move() == ()
    assert match.returns() == (0.0, 0.0)


def test_hand_ends_with_the_fiftieth_upcard() -> None:
    match, rng = load_game("gin_rummy").new(2), random.Random(0)
    play(match, "draw upcard")  # while it may be passed it is not counted
    count = 0
    while match.to_move():
        [seat] = match.to_move()
        discards = [move for move in match.legal_moves(seat) or [] if move.startswith("discard")]
        taken = match.events[-2].move.split()[-1] if count else ""
        if discards:
            play(match, rng.choice([move for move in discards if move != f"discard {taken}"]))
        else:
            play(match, "draw upcard")
            count += 1
    assert count == 50
    assert match.returns() == (0.0, 0.0)
    assert "when upcards have been taken 50 times" in match.game.rules(0)


@pytest.mark.parametrize("first", [["pass", "pass"], ["draw upcard"]])
def test_hand_ends_when_the_stock_runs_out(first: list[str]) -> None:
    match = play(load_game("gin_rummy").new(3), *first)
    while "draw stock" in (moves := match.legal_moves(match.to_move()[0]) or []) or len(moves) > 2:
        play(match, "draw stock" if "draw stock" in moves else [m for m in moves if m.startswith("discard")][-1])
    [seat] = match.to_move()
    assert "Stock: 2 cards." in match.observe(seat).text
    assert "Now you may pass, which ends the hand, or knock with the upcard if you can." in match.observe(seat).text
    assert "pass" in moves
    assert set(moves) <= {"pass", "knock"}
    play(match, "pass")
    assert match.returns() == (0.0, 0.0)


def test_knock_at_the_end_of_the_stock_takes_the_upcard() -> None:
    """With hands of three, knocking is legal early, so both players only wait."""
    for seed in range(40):
        match = play(load_game("gin_rummy", hand_size=3).new(seed), "pass", "pass")
        while match.to_move():
            moves = match.legal_moves(match.to_move()[0]) or []
            if "Stock: 2 cards." in match.observe(0).text and "knock" in moves and "pass" in moves:
                [seat] = match.to_move()
                upcard = engine(match).upcard()
                play(match, "knock")
                assert upcard in engine(match).hands()[seat]
                assert "you knocked" in match.observe(seat).text
                check(match, seat, seen_by_engine(match))
                world = match.resample(seat, random.Random(0))
                assert world.view(seat) == match.view(seat)
                return
            play(match, "draw stock" if "draw stock" in moves else moves[0])
    raise AssertionError("no knock at the end of the stock in 40 hands")


def test_maximum_result_exceeds_the_engines_bound() -> None:
    """Melds need not be laid: ten kings, queens and jacks are left over against gin."""
    game = load_game("gin_rummy")
    assert isinstance(game, GinRummyGame)
    mine = ["As", "2s", "3s", "Ac", "2c", "3c", "Ad", "2d", "3d", "4d"]
    theirs = ["Ks", "Kc", "Kd", "Kh", "Qs", "Qc", "Qd", "Qh", "Js", "Jc"]
    match = game.load([Event(CHANCE, f"Chance outcome: {card}") for card in [*mine, *theirs, "Td"]])
    play(match, "draw upcard", "knock", "discard Td", "meld As 2s 3s", "meld Ac 2c 3c", "meld Ad 2d 3d 4d")
    play(match, "pass", "pass")
    assert match.returns() == (125.0, -125.0)
    assert game.utility_range == (-125.0, 125.0)
    assert game.engine.max_utility() == 123


def test_oklahoma_takes_the_limit_from_the_upcard() -> None:
    game = load_game("gin_rummy", oklahoma=True, knock_card=3)
    limits = set()
    for seed in range(60):
        match = game.new(seed)
        card = match.events[20].move.split()[-1]
        limit = 0 if card[0] == "A" else value(card)
        assert parse_lines(match.observe(0, "compact").text)["deadwood"].endswith(f" knock {limit}")
        limits.add(limit)
    assert limits >= {0, 2, 10}
    assert "only with gin" in game.rules(0)


def gin(size: int, *cards: str, moves: Sequence[str] = ()) -> Match:
    """Start a hand with this deal."""
    game = load_game("gin_rummy", hand_size=size)
    return more(game.load([Event(CHANCE, f"Chance outcome: {card}") for card in cards]), *moves)


def more(match: Match, *moves: str) -> Match:
    """Play a match on. A move that is a card is drawn from the stock."""
    events = list(match.events)
    for move in moves:
        if move in CARDS:
            events.append(Event(CHANCE, f"Chance outcome: {move}"))
        else:
            [seat] = match.game.load(events).to_move()
            events.append(Event(seat, move))
    return match.game.load(events)


def hidden(world: Match, size: int) -> list[str]:
    """Return the cards that seat 1 was dealt and drew from the stock, in order."""
    cards = [event.move.split()[-1] for event in world.events[size : 2 * size]]
    drew = False
    for event in world.events[2 * size + 1 :]:
        if drew:
            cards.append(event.move.split()[-1])
        drew = event == Event(1, "draw stock")
    return cards


@pytest.mark.slow
def test_opponents_hand_is_sampled_uniformly() -> None:
    match, rng = load_game("gin_rummy").new(11), random.Random(0)
    held = Counter(card for _ in range(3000) for card in hidden(match.resample(0, rng), 10))
    assert len(held) == 52 - 11
    assert chi_square(held, 41) < 4
    true = sum(held[card] for card in hidden(match, 10))
    assert abs(true - 3000 * 100 / 41) < 4 * (3000 * 100 / 41) ** 0.5


@pytest.mark.slow
def test_discard_may_have_come_from_any_hidden_draw() -> None:
    """Seat 1 draws from the stock twice and discards 9c, then 2c. 9c was dealt or drawn first, evenly, and 2c comes
    evenly from the remaining draws. The card taken from the pile stays known."""
    mine, theirs = ["As", "2s", "3s"], ["9c", "5d", "6d"]
    match = gin(3, *mine, *theirs, "Kd", moves=["pass", "pass", "draw stock", "Qh", "discard Qh"])
    for moves in (
        ["draw stock", "2c", "discard 9c"],
        ["draw stock", "7h", "discard 7h"],
        ["draw stock", "8h", "discard 2c"],
    ):
        match = more(match, *moves)
    rng = random.Random(0)
    first: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    rest: Counter[str] = Counter()
    for _ in range(4000):
        cards = hidden(match.resample(0, rng), 3)
        assert len(cards) == 5
        first[str(cards.index("9c"))] += 1
        pairs[f"{cards.index('9c')} {cards.index('2c')}"] += 1
        rest.update(card for card in cards if card not in ("9c", "2c"))
    assert set(first) == {"0", "1", "2", "3"}
    assert abs(chi_square(first, 4)) < 4
    assert len(pairs) == 16
    assert abs(chi_square(pairs, 16)) < 4
    assert chi_square(rest, 52 - 3 - 1 - 2 - 2) < 4
    assert not {"As", "2s", "3s", "Kd", "Qh", "7h"} & set(rest)


def test_card_taken_from_the_pile_stays_known() -> None:
    match = gin(3, "As", "2s", "3s", "9c", "5d", "6d", "Kd", moves=["pass", "draw upcard", "discard 9c"])
    rng = random.Random(0)
    for _ in range(50):
        world = match.resample(0, rng)
        assert "9c" in hidden(world, 3)
        assert "Kd" not in hidden(world, 3)
        assert isinstance(world, OpenSpielMatch)
        assert CARDS.index("Kd") in world.state.hands()[1]


@pytest.mark.slow
def test_knockers_deadwood_is_sampled_within_the_limit() -> None:
    """Seat 1 knocks with the meld 5c 5d 5h and two more cards: all pairs that count ten or less are equally likely."""
    mine, theirs = ["Ks", "Qs", "9s", "8c", "7d"], ["5c", "5d", "5h", "Ac", "3d"]
    moves = ["draw upcard", "knock", "discard Kd", "meld 5c 5d 5h", "pass"]
    match = gin(5, *mine, *theirs, "Kd", moves=["pass", *moves])
    assert match.to_move() == (0,)
    unseen = [card for card in CARDS if card not in [*mine, "5c", "5d", "5h", "Kd"]]
    counts = {card: min(10, RANKS.index(card[0]) + 1) for card in unseen}
    pairs = {" ".join(sorted(p)) for p in itertools.combinations(unseen, 2) if counts[p[0]] + counts[p[1]] <= 10}
    rng = random.Random(0)
    kept: Counter[str] = Counter()
    for _ in range(15 * len(pairs)):
        cards = hidden(match.resample(0, rng), 5)
        kept[" ".join(sorted(card for card in cards if card[0] != "5" or card == "5s"))] += 1
    assert set(kept) <= pairs
    assert abs(chi_square(kept, len(pairs))) < 4


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    check_readings(
        "gin_rummy",
        ["draw stock", "knock", "discard 7h", "lay off As", "meld 7h 8h 9h", "meld As Ac Ad Ah"],
        ["draw", "discard", "7h", "discard 10h", "meld 7h 8h", "meld 2h 3h 4h 5h 6h 7h", "Knock"],
    )


def test_parameter_ranges_are_playable_at_both_ends() -> None:
    bonus = (0, 100)
    check_ends_of_ranges(
        "gin_rummy", {"hand_size": (3, 10), "knock_card": (0, 10), "gin_bonus": bonus, "undercut_bonus": bonus}
    )


@pytest.mark.parametrize("name", ["gin_rummy", "gin_rummy(hand_size=7,oklahoma=True)", "gin_rummy(hand_size=3)"])
def test_worlds_are_consistent_with_the_seats_view(name: str, story: Callable[[Match, int], list[str]]) -> None:
    check_worlds(name, 0.06, 12, story)


@pytest.mark.slow
def test_nothing_leaks() -> None:
    check_nothing_leaks("gin_rummy(hand_size=3)", 2)


@pytest.mark.slow
def test_leak_check_detects_a_hidden_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    check_hint_is_found("gin_rummy(hand_size=3)", 4, lambda state, seat: sum(state.hands()[1 - seat]) % 2, monkeypatch)
