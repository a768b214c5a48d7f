"""The driver: order of asks, cost of failed replies, and reproducible runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gymposium import load_game, make_player
from gymposium.games.protocol import Event, Style
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Player, Reply
from gymposium.records import RecordWriter, verify_file
from gymposium.replies.reading import READERS, Reader

DESCENDING = "goofspiel(num_cards=4,points_order=descending)"


@dataclass
class ScriptedPlayer:
    """A player whose replies are computed from the ask. It keeps the asks."""

    answer: Callable[[Ask], Reply | str]
    name: str = "scripted"
    reader: Reader = READERS["move"]
    style: Style = "compact"
    calls: list[list[str]] = field(default_factory=list)
    reasons: list[str | None] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        self.calls.append([ask.key for ask in asks])
        self.reasons += [ask.reason for ask in asks]
        self.turns += [ask.turn for ask in asks]
        answers = [self.answer(ask) for ask in asks]
        return [a if isinstance(a, Reply) else Reply(a) for a in answers]


def first(ask: Ask) -> str:
    return (ask.legal_moves or [])[0]


def last(ask: Ask) -> str:
    return (ask.legal_moves or [])[-1]


def choose_by_stream(ask: Ask) -> str:
    """A random move from the ask's own stream."""
    return (ask.legal_moves or [])[int(ask.rng.random() * len(ask.legal_moves or []))]


def one(
    game: str, *players: Player, seed: int = 0, policy: str = "forfeit", player_seed: int | None = None
) -> MatchResult:
    job = MatchJob("m", load_game(game), players, seed, player_seed, on_illegal=FailurePolicy.parse(policy))
    [played] = play([job])
    return played


def summarize(played: MatchResult) -> object:
    return (played.job.id, played.events, played.turns, played.returns, played.ending.seat, played.penalties)


# -- rounds and desks


def test_shared_player_is_called_once_per_round() -> None:
    shared, other = ScriptedPlayer(first), ScriptedPlayer(last)
    jobs = [MatchJob(str(i), load_game("kuhn_poker"), (shared, other), i) for i in range(10)]
    played = list(play(jobs))
    assert shared.calls[0] == [str(i) for i in range(10)]
    assert len(shared.calls) + len(other.calls) == max(len(p.turns) for p in played)


def test_both_seats_of_a_joint_move_are_asked_in_one_call() -> None:
    shared = ScriptedPlayer(first)
    list(play([MatchJob(str(i), load_game(DESCENDING), (shared, shared), i) for i in range(3)]))
    assert shared.calls == [["0", "0", "1", "1", "2", "2"]] * 3


def test_matches_are_yielded_in_the_order_they_end() -> None:
    player = ScriptedPlayer(choose_by_stream)
    jobs = [MatchJob(str(i), load_game("leduc_poker"), (player, player), i) for i in range(30)]
    played = list(play(jobs))
    ends = [(len(p.turns), int(p.job.id)) for p in played]
    assert ends == sorted(ends)
    assert len({turns for turns, _ in ends}) > 1


@pytest.mark.parametrize("game", ["tic_tac_toe", "leduc_poker", DESCENDING, "goofspiel(num_cards=5)"])
def test_results_do_not_depend_on_concurrency(game: str) -> None:
    def run(at_once: int) -> list[object]:
        players = make_player("random"), ScriptedPlayer(choose_by_stream)
        jobs = (MatchJob(str(i), load_game(game), players, i % 7, player_seed=i) for i in range(40))
        return [summarize(p) for p in sorted(play(jobs, at_once=at_once), key=lambda p: int(p.job.id))]

    assert run(1) == run(3) == run(256)


def test_jobs_are_begun_lazily() -> None:
    begun: list[int] = []

    def jobs() -> Iterator[MatchJob]:
        for i in range(9):
            begun.append(i)
            yield MatchJob(str(i), load_game("tic_tac_toe"), (make_player("random"),) * 2, i)

    matches = play(jobs(), at_once=2)
    next(matches)
    assert len(begun) <= 3
    assert len(list(matches)) == 8


def test_no_jobs_no_matches() -> None:
    assert list(play([])) == []


def test_match_seed_deals_and_player_seed_plays() -> None:
    random = make_player("random")
    same_deal = [one("leduc_poker", random, random, seed=3, player_seed=i) for i in range(12)]
    assert len({tuple(p.events[:2]) for p in same_deal}) == 1
    assert len({tuple(p.events) for p in same_deal}) > 3
    same_play = one("leduc_poker", random, random, seed=3)
    assert summarize(same_play) == summarize(one("leduc_poker", random, random, seed=3, player_seed=3))


def test_random_draws_of_one_seat_do_not_affect_the_other() -> None:
    def greedy(ask: Ask) -> str:
        ask.rng.random()
        return choose_by_stream(ask)

    def bids(player: Player) -> list[Event]:
        return [e for e in one("goofspiel", player, make_player("random")).events if e.seat == 1]

    assert bids(ScriptedPlayer(choose_by_stream)) == bids(ScriptedPlayer(greedy))


def test_wrong_numbers_of_players_or_replies_are_errors() -> None:
    random = make_player("random")
    with pytest.raises(ValueError, match="2 seats, but got 1 player"):
        list(play([MatchJob("m", load_game("tic_tac_toe"), (random,), 0)]))

    class Mute(ScriptedPlayer):
        def act(self, asks: Sequence[Ask]) -> list[Reply]:
            return []

    with pytest.raises(TypeError, match="player scripted was asked for 1 reply but returned a list of 0"):
        one("tic_tac_toe", Mute(first), random)


def test_player_cannot_make_a_move_legal() -> None:
    def cheat(ask: Ask) -> str:
        (ask.legal_moves or []).append("z9")
        (ask.observe().legal_moves or []).append("z9")
        return "z9"

    played = one("tic_tac_toe", ScriptedPlayer(cheat), ScriptedPlayer(first))
    assert (played.ending.seat, played.turns[0].reading) == (0, "unparsable")


# -- failed replies


def fail_at(*turns: int, text: str = "nonsense", then: Callable[[Ask], str] = first) -> ScriptedPlayer:
    """Replies with `text` at these turns of its seat, otherwise with a move."""
    return ScriptedPlayer(lambda ask: text if ask.turn in turns else then(ask))


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(
    ("reply", "reading"),
    [
        (Reply("nonsense"), "unparsable"),
        (Reply("c9"), "unparsable"),
        (Reply(""), "unparsable"),
        (Reply("a3", "length"), "cut off"),
        (Reply("b2\ud800\x00"), "unparsable"),
        (Reply("", action=99), "illegal"),
        (Reply("", action=-1), "illegal"),
    ],
)
def test_failed_reply_forfeits(seat: int, reply: Reply, reading: str) -> None:
    players = [ScriptedPlayer(first), ScriptedPlayer(first)]
    players[seat] = ScriptedPlayer(lambda ask: reply)
    played = one("tic_tac_toe", *players)
    assert played.ending.seat == seat
    assert played.returns == ((-1.0, 1.0), (1.0, -1.0))[seat]
    assert (played.result(seat), played.result(1 - seat)) == ("loss", "win")
    assert played.turns[-1].seat == seat
    assert played.turns[-1].reading == reading
    assert played.turns[-1].text == reply.text
    assert len(played.events) == seat


def test_occupied_square_is_illegal() -> None:
    played = one("tic_tac_toe", ScriptedPlayer(lambda ask: "b2"), ScriptedPlayer(first))
    assert [t.reading for t in played.turns] == ["move", "move", "illegal"]


def test_action_indices_are_moves() -> None:
    by_index = ScriptedPlayer(lambda ask: Reply("", action=8 if ask.turn == 0 else 7))
    played = one("tic_tac_toe", by_index, ScriptedPlayer(first))
    assert [e.move for e in played.events if e.seat == 0][:2] == ["c1", "b1"]
    assert played.turns[0].action == 8


def test_retry_repeats_the_ask_with_the_reason_then_forfeits() -> None:
    stubborn = ScriptedPlayer(lambda ask: "a9")
    played = one("tic_tac_toe", stubborn, ScriptedPlayer(first), policy="retry(2)")
    assert played.ending.seat == 0
    assert len(played.turns) == 3
    assert stubborn.turns == [0, 1, 2]
    assert stubborn.reasons[0] is None
    legal = "Legal moves: a3, b3, c3, a2, b2, c2, a1, b1, c1."
    assert stubborn.reasons[1:] == [f"The reply could not be read. {legal}"] * 2


def test_retries_reset_at_each_decision() -> None:
    slow = fail_at(0, 1, 3, 4, 6)
    played = one("tic_tac_toe", slow, ScriptedPlayer(last), policy="retry(2)")
    assert played.ending.seat is None
    assert [t.reading for t in played.turns if t.seat == 0][:8] == (["unparsable"] * 2 + ["move"]) * 2 + [
        "unparsable",
        "move",
    ]
    assert slow.reasons[2] is not None
    assert slow.reasons[5] is not None
    assert slow.reasons[3] is None
    assert played.returns == one("tic_tac_toe", ScriptedPlayer(first), ScriptedPlayer(last)).returns


def test_penalties_are_charged_up_to_the_match_limit() -> None:
    played = one("tic_tac_toe", fail_at(0, 2), ScriptedPlayer(last), policy="penalty(0.25,2)")
    clean = one("tic_tac_toe", ScriptedPlayer(first), ScriptedPlayer(last))
    assert played.events == clean.events
    assert played.penalties == {0: 0.5}
    assert played.returns == (clean.returns[0] - 0.5, clean.returns[1])
    third = one("tic_tac_toe", fail_at(0, 2, 4), ScriptedPlayer(last), policy="penalty(0.25,2)")
    assert third.ending.seat == 0
    assert third.returns == (-1.5, 1.0)


def test_random_policy_plays_a_legal_move_and_counts_the_reply() -> None:
    noise = ScriptedPlayer(lambda ask: "???")
    played = one("connect_four", noise, noise, policy="random")
    assert played.ending.seat is None
    assert all(t.reading == "unparsable" for t in played.turns)
    assert len(played.turns) == len(played.events)
    assert set(noise.reasons) == {None}
    openings = Counter(one("tic_tac_toe", noise, noise, seed=s, policy="random").events[0].move for s in range(200))
    assert len(openings) == 9


@pytest.mark.parametrize("policy", ["forfeit", "retry(1)", "penalty(1,1)"])
def test_joint_decision_keeps_all_replies(policy: str) -> None:
    bad, good = ScriptedPlayer(lambda ask: "bid 99"), ScriptedPlayer(first)
    for players, seat in (((bad, good), 0), ((good, bad), 1)):
        played = one(DESCENDING, *players, policy=policy)
        assert played.ending.seat == seat
        assert [t.reading for t in played.turns if t.seat == seat] == ["illegal"] * (1 if policy == "forfeit" else 2)
        assert [t.reading for t in played.turns if t.seat != seat] == ["move"]
        assert played.events == []


def test_forfeit_is_drawn_when_both_joint_replies_fail() -> None:
    bad = ScriptedPlayer(lambda ask: "nonsense")
    played = [one(DESCENDING, bad, bad, player_seed=i) for i in range(60)]
    assert all(len(p.turns) == 2 for p in played)
    forfeits = Counter(p.ending.seat for p in played)
    assert set(forfeits) == {0, 1}
    assert min(forfeits.values()) > 15
    assert [p.ending.seat for p in played] == [one(DESCENDING, bad, bad, player_seed=i).ending.seat for i in range(60)]
    for p in played:
        assert p.returns == ((-1.0, 1.0) if p.ending.seat == 0 else (1.0, -1.0))


def test_only_the_failed_seat_is_retried_in_a_joint_decision() -> None:
    slow, quick = fail_at(0), ScriptedPlayer(last)
    played = one(DESCENDING, slow, quick, policy="retry(1)")
    assert played.ending.seat is None
    assert len(quick.turns) == 3
    assert len(slow.turns) == 4


def test_both_failed_seats_are_retried_in_a_joint_decision() -> None:
    players = fail_at(0), fail_at(0)
    played = one(DESCENDING, *players, policy="retry(1)")
    assert played.ending.seat is None
    assert [len(player.turns) for player in players] == [4, 4]
    assert [player.reasons[1] is not None for player in players] == [True, True]


@pytest.mark.parametrize("policy", ["forfeit", "retry(3)", "penalty(0.1,3)", "random"])
@pytest.mark.parametrize("reader", sorted(READERS))
def test_hostile_replies_never_crash(policy: str, reader: str) -> None:
    texts = [
        "",
        "\x00",
        "\ud800",
        "<think>",
        "</move>",
        "[" * 5000,
        "a3" * 999,
        '{"move": "\\ud800"}',
        "<move>\n</move>",
    ]
    hostile = ScriptedPlayer(lambda ask: texts[ask.turn % len(texts)], reader=READERS[reader])
    for game in ("tic_tac_toe", "leduc_poker", DESCENDING):
        played = one(game, hostile, hostile, policy=policy)
        assert "move" not in [t.reading for t in played.turns]
        assert (played.ending.seat is None) == (policy == "random")


def test_penalty_does_not_turn_a_draw_into_a_loss(tmp_path: Path) -> None:
    """A penalty changes the return, not the result."""
    line = iter("b2 a3 c3 a1 a2 c2 b3 b1 c1".split())
    stumbling = fail_at(0, then=lambda ask: next(line))
    played = one("tic_tac_toe", stumbling, ScriptedPlayer(lambda ask: next(line)), policy="penalty(0.25)")
    assert played.utilities == (0.0, 0.0)
    assert played.returns == (-0.25, 0.0)
    assert [played.result(seat) for seat in (0, 1)] == ["draw", "draw"]
    with RecordWriter(tmp_path / "matches.jsonl") as writer:
        writer.write(played)
    assert verify_file(tmp_path / "matches.jsonl").problems == []


@pytest.mark.parametrize("seat", range(4))
def test_forfeit_is_a_loss_even_with_final_payoffs_only(seat: int, tmp_path: Path) -> None:
    """Hearts pays nothing before the end of the hand, and its least return is 0 too."""
    players = [
        ScriptedPlayer(lambda ask: "no" if ask.turn > 5 else first(ask)) if s == seat else ScriptedPlayer(first)
        for s in range(4)
    ]
    played = one("hearts", *players)
    assert played.ending.seat == seat
    assert [played.result(s) for s in range(4)] == ["loss" if s == seat else "draw" for s in range(4)]
    with RecordWriter(tmp_path / "matches.jsonl") as writer:
        assert writer.write(played).results[seat] == "loss"
    assert verify_file(tmp_path / "matches.jsonl").problems == []
