"""Negotiation: prompts agree with the rules, and matches agree with OpenSpiel's engine after the same draw."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from typing import Any

import pyspiel
import pytest
from hypothesis import given, settings, strategies as st

from gymposium import load_game
from gymposium.games.protocol import CHANCE, Event, Match
from gymposium.plugins.host import host
from gymposium.replies.reading import READERS, read_reply
from gymposium_testing import assert_no_leaks

params_sets = st.fixed_dictionaries(
    {
        "num_items": st.integers(1, 3),
        "enable_utterances": st.booleans(),
        "num_symbols": st.integers(2, 10),
        "utterance_dim": st.integers(1, 2),
    }
)


def parse_prompt(match: Match, seat: int) -> tuple[list[int], list[int]]:
    """Return the pool and the seat's values."""
    found = re.match(r"The pool: ([\d ]+)\. One of each kind is worth to you: ([\d ]+)\.\n", match.observe(seat).text)
    assert found is not None
    assert match.observe(seat, "compact").text.startswith(f"pool {found[1]}, values {found[2]}\n")
    return list(map(int, found[1].split())), list(map(int, found[2].split()))


@given(params_sets, st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_play_agrees_with_the_rules_model(params: dict[str, Any], rng: random.Random) -> None:
    game = load_game("negotiation", **params)
    talking, letters = params["enable_utterances"], "abcdefghij"[: params["num_symbols"]]
    for seat in (0, 1):
        rules = game.rules(seat)
        assert (
            f"a pool with {params['num_items']} kind{'s' * (params['num_items'] > 1)} of things, up to 5 of each"
            in rules
        )
        assert (f"letter{'s' * (params['utterance_dim'] > 1)} out of {' '.join(letters)}," in rules) == talking
        assert rules.endswith(f"{('You make', 'The other player makes')[seat]} the first proposal.\n")
        assert (f"a word of {params['utterance_dim']} out of" in game.rules(seat, "compact")) == talking
        for example in re.findall(r": ((?:take|say) [a-j\d ]+)\.", rules):
            assert example in game.moves  # type: ignore[attr-defined]
    match = game.new(rng.randrange(2**31))
    turns = int(re.findall(r"Turn 1 of (\d+):", match.observe(0).text)[0])
    assert 4 <= turns <= 10
    pool, values = parse_prompt(match, 0)[0], [parse_prompt(match, seat)[1] for seat in (0, 1)]
    assert max(pool) <= 5
    assert all(0 < sum(v) <= 10 * len(pool) for v in values)
    takes = [f"take {' '.join(map(str, q))}" for q in itertools.product(*[range(number + 1) for number in pool])]
    words = [f"say {''.join(word)}" for word in itertools.product(letters, repeat=params["utterance_dim"])]
    offers: list[list[int]] = []
    said: list[str] = []
    expected = (0.0, 0.0)
    while match.to_move():
        speaking = talking and len(said) < len(offers)
        seat = (len(offers) - speaking) % 2
        assert match.to_move() == (seat,)
        now = len(offers) + (not speaking)
        for who in (0, 1):
            full, compact = match.observe(who).text, match.observe(who, "compact").text
            for number, offer in enumerate(offers):
                whose = "you would" if number % 2 == who else "the other player would"
                word = f", and said {said[number]}" if number < len(said) else ""
                assert f"Turn {number + 1}: {whose} take {' '.join(map(str, offer))}{word}.\n" in full
            what = "say something" if speaking else "propose or agree" if offers else "propose"
            whose = "you are" if who == seat else "the other player is"
            assert full.endswith(f"Turn {now} of {turns}: {whose} to {what}.\n")
            past = [f"{'you' if n % 2 == who else 'they'} {' '.join(map(str, o))}" for n, o in enumerate(offers)]
            past[: len(said)] = [f"{offer} say {word}" for offer, word in zip(past, said, strict=False)]
            assert f"\n{', '.join(past) or 'no proposals'}\nturn {now}/{turns}\n" in compact
        legal = match.legal_moves(seat) or []
        assert legal == (words if speaking else [*takes, *(["agree"] if offers else [])])
        move = "agree" if "agree" in legal and rng.random() < 0.2 else rng.choice(legal)
        match.apply({seat: move})
        if speaking:
            said.append(move.removeprefix("say "))
        elif move == "agree":
            taken = offers[-1]
            paid = sum(v * n for v, n in zip(values[1 - seat], taken, strict=True))
            left = sum(v * (n - t) for v, n, t in zip(values[seat], pool, taken, strict=True))
            expected = (float(left), float(paid)) if seat == 0 else (float(paid), float(left))
            break
        else:
            offers.append(list(map(int, move.split()[1:])))
    agreed = match.events[-1].move == "agree"
    assert match.to_move() == ()
    assert agreed or len(offers) == turns
    assert match.returns() == expected
    for seat in (0, 1):
        who = "You" if len(offers) % 2 == seat else "The other player"
        result = f"You get {expected[seat]:g}.\n"
        end = f"{who} agreed. {result}" if agreed else f"The match is over without agreement. {result}"
        assert match.observe(seat).text.endswith(end)
        outcome = f"{'agreed' if agreed else 'no deal'}, result {expected[seat]:g}\n"
        assert outcome in match.observe(seat, "compact").text


def drawn_as(state: pyspiel.State) -> list[Event]:
    """Return our events for what the engine drew inside its single chance action."""
    lines = str(state).split("\n")
    turns, pool, *values = [line.partition(": ")[2].split() for line in lines[:4]]
    events = [Event(CHANCE, f"turns {turns[0]}")]
    events += [Event(CHANCE, f"item {n} pool {q}") for n, q in enumerate(pool, 1)]
    for seat in (0, 1):
        events += [Event(CHANCE, f"item {n} seat {seat} worth {v}") for n, v in enumerate(values[seat], 1)]
    return events


def our_name(action: str) -> str:
    if "Agreement" in action:
        return "agree"
    numbers = re.findall(r"\d+", action)
    return (
        f"say {''.join('abcdefghij'[int(n)] for n in numbers)}"
        if "Utterance" in action
        else f"take {' '.join(numbers)}"
    )


@pytest.mark.parametrize("talking", [True, False])
def test_play_matches_the_engine_after_the_same_draw(talking: bool) -> None:
    engine = pyspiel.load_game("negotiation", {"rng_seed": 7, "enable_utterances": talking})
    game, rng, ends = load_game("negotiation", enable_utterances=talking), random.Random(0), Counter[bool]()
    for _ in range(25):
        state = engine.new_initial_state()
        state.apply_action(0)
        match = game.load(drawn_as(state))
        while not state.is_terminal():
            seat, actions = state.current_player(), state.legal_actions()
            names = {our_name(state.action_to_string(seat, action)): action for action in actions}
            assert match.to_move() == (seat,)
            assert match.legal_moves(seat) == list(names)
            assert match.legal_actions(seat) == actions
            move = "agree" if "agree" in names and rng.random() < 0.15 else rng.choice(list(names))
            state.apply_action(names[move])
            match.apply({seat: move})
        assert match.to_move() == ()
        assert match.returns() == tuple(state.returns())
        ends[match.events[-1].move == "agree"] += 1
    assert min(ends.values()) > 3
    assert game.num_actions == engine.num_distinct_actions()
    assert game.max_decisions == (20 if talking else 10)


def test_chance_matches_the_engine_without_all_zero_values() -> None:
    engine = pyspiel.load_game("negotiation", {"rng_seed": 1, "num_items": 1})
    game = load_game("negotiation", num_items=1)
    ours: Counter[str] = Counter()
    theirs: Counter[str] = Counter()
    worth: Counter[str] = Counter()
    for seed in range(1500):
        state = engine.new_initial_state()
        state.apply_action(0)
        theirs.update(event.move for event in drawn_as(state)[:2])
        events = game.new(seed).events
        ours.update(event.move for event in events[:2])
        worth.update(event.move.rpartition(" ")[2] for event in events[2:])
    assert set(ours) == set(theirs)
    for move, number in ours.items():
        assert abs(number - theirs[move]) < 5 * (2 * number) ** 0.5
    assert set(worth) == set(map(str, range(1, 11)))
    assert all(abs(number - 300) < 80 for number in worth.values())


@pytest.mark.slow
def test_opponents_values_are_sampled_uniformly() -> None:
    game, rng = load_game("negotiation", num_items=2, enable_utterances=False), random.Random(0)
    match = game.new(2)
    match.apply({0: "take 0 0"})
    for seat in match.to_move():
        drawn = Counter(tuple(parse_prompt(match.resample(seat, rng), 1 - seat)[1]) for _ in range(2400))
        assert set(drawn) == set(itertools.product(range(11), repeat=2)) - {(0, 0)}
        distance = sum((number - 20) ** 2 / 20 for number in drawn.values())
        assert abs(distance - 119) < 4 * (2 * 119) ** 0.5
        world = match.resample(seat, rng)
        assert world.observe(seat) == match.observe(seat)
        assert world.events[0] == match.events[0]


def test_nothing_leaks() -> None:
    report = assert_no_leaks(load_game("negotiation", num_symbols=2, utterance_dim=1), matches=6, events=10_000)
    assert report.worlds >= 10, report


def test_parameter_ranges_are_playable_at_both_ends() -> None:
    bounds = {p.name: (p.low, p.high) for p in host().game("negotiation").parameters if p.low is not None}
    assert bounds == {"num_items": (1, 3), "num_symbols": (2, 10), "utterance_dim": (1, 3)}
    for key, span in bounds.items():
        for value in span:
            match = load_game("negotiation", **{key: value}).new(1)
            while match.to_move():
                [seat] = match.to_move()
                match.apply({seat: (match.legal_moves(seat) or [])[-1]})
            assert match.events[-1].move == "agree"


def test_distinguishes_illegal_from_unparsable_replies() -> None:
    match = load_game("negotiation").new(3)
    replies = ["take 0 0 0", "agree", "say abc", "take 1 1", "take 6 0 0", "say abf", "say ab", "Say abc", "hello"]
    kinds = [
        read_reply(reply, match.legal_moves(0), READERS["move"], match.game.move_pattern).kind for reply in replies
    ]
    assert kinds == ["move", "illegal", "illegal", *["unparsable"] * 6]
