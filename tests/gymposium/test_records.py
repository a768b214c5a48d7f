"""Records: writing, reading, replaying, and detecting tampering."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import gymposium
from gymposium import load_game, make_player
from gymposium.errors import BadOption, BadRecord
from gymposium.games.protocol import Style
from gymposium.match import MatchJob, MatchResult, play
from gymposium.match.ending import OVER, Ending
from gymposium.match.failures import FailurePolicy
from gymposium.players.protocol import Ask, Reply
from gymposium.plugins.host import host
from gymposium.records import (
    Problem,
    Record,
    RecordWriter,
    find_first_difference,
    read_records,
    replay_decisions,
    verify,
    verify_file,
)
from gymposium.records.files import MOST_EMPTY, MOST_INVALID, parse_records
from gymposium.replies.reading import READERS, Reader

GAMES = ["tic_tac_toe", "connect_four", "kuhn_poker", "leduc_poker", "goofspiel", "goofspiel(num_cards=4)"]
POLICIES = ["forfeit", "random", "retry(2)", "penalty(0.1,3)"]
JUNK = ["", "nonsense", "a9", "bid 99", "fold", "\ud800", "line\nbreak", "\u2028", "<move>b2</move>", "9" * 50]


class ClumsyPlayer:
    """Plays at random and sometimes fails, in every possible way."""

    name = "clumsy"
    style: Style = "compact"

    def __init__(self, share: float = 0.3, reader: Reader = READERS["move"]) -> None:
        self.share, self.reader = share, reader

    def act(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._reply(ask) for ask in asks]

    def _reply(self, ask: Ask) -> Reply:
        legal = ask.legal_moves or ["text"]
        if ask.rng.random() < self.share:
            return Reply(JUNK[ask.rng.randrange(len(JUNK))], ask.rng.choice(["stop", "length"]))  # type: ignore[arg-type]
        index = ask.rng.randrange(len(legal))
        if ask.rng.random() < 0.1:
            return Reply(str(index), action=index)  # often not a legal one
        return Reply(self.reader.answer(legal[index]))


def matches(
    game: str, policy: str = "forfeit", n: int = 5, share: float = 0.3, reader: str = "move"
) -> list[MatchResult]:
    players = [ClumsyPlayer(share, READERS[reader])] * 2
    on_illegal = FailurePolicy.parse(policy)
    return list(play(MatchJob(f"m{i}", load_game(game), players, i, 100 + i, on_illegal) for i in range(n)))


def parsed(played: MatchResult) -> Record:
    return Record.parse(Record.from_match(played).line())


@pytest.mark.parametrize("reader", sorted(READERS))
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("game", GAMES)
def test_every_played_match_verifies(game: str, policy: str, reader: str) -> None:
    for played in matches(game, policy, n=12, reader=reader):
        record = Record.from_match(played)
        assert Record.parse(record.line()) == record
        assert "\n" not in record.line()
        assert find_first_difference(parsed(played)) is None


def test_random_opening_is_recorded_and_verifies() -> None:
    [played] = play([MatchJob("m", load_game("tic_tac_toe"), [ClumsyPlayer(0.0)] * 2, 1, opening=2)])
    record = parsed(played)
    assert (record.opening, len(record.events) - len(record.turns)) == (2, 2)
    assert find_first_difference(record) is None


def test_joint_failures_verify_under_every_policy() -> None:
    """Both seats of a joint decision fail often; some matches end by it."""
    for policy in POLICIES:
        played = matches("goofspiel(num_cards=5)", policy, n=60, share=0.6)
        assert [find_first_difference(parsed(p)) for p in played] == [None] * 60
        forfeits = {p.ending.seat for p in played}
        assert forfeits == ({None} if policy == "random" else forfeits | {0, 1})


# -- tampering


def tampered(played: MatchResult, change: Callable[[dict[str, Any]], None]) -> str | None:
    data = json.loads(Record.from_match(played).line())
    change(data)
    return find_difference(Record.parse(json.dumps(data)))


def find_difference(record: Record) -> str | None:
    """The first difference, which a walk to the end of the match finds without another replay."""
    found = find_first_difference(record)
    try:
        *_, last = replay_decisions(record, lambda match: None)
    except Exception:  # noqa: BLE001 - an engine may raise anything for a record that was changed
        return found
    with pytest.MonkeyPatch.context() as patch:
        if not record.ending.broke_off:
            patch.setattr("gymposium.records.replay.play", None)
        assert find_first_difference(record, last.played) == found
    return found


def clean(game: str, seed: int = 5) -> MatchResult:
    [played] = play([MatchJob("m", load_game(game), [make_player("random")] * 2, seed)])
    return played


def put(*path: Any) -> Callable[[dict[str, Any]], None]:
    """A change that replaces the value at a path by the last argument."""

    def change(data: Any) -> None:
        *way, key, value = path
        for step in way:
            data = data[step]
        assert data[key] != value, "this would change nothing"
        data[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (put("events", 0, 1, "Chance outcome:5"), "is not an outcome of chance|seed 5 gives|gives"),
        (put("events", 2, 1, "fold"), "not legal"),
        (put("events", 2, 0, 1), "it is seat 0's turn"),
        (put("returns", [99.0, -99.0]), r"returns: \[99.0, -99.0\] is recorded, but the replay gives \["),
        (put("returns", [0.5]), "the record has 1 return"),
        (put("results", ["draw", "win"]), "results: .* is recorded, but the replay gives"),
        (
            put("ending", asdict(Ending("no legal move", 0))),
            "ending: .* is recorded, but the replay gives 'The game is over",
        ),
        (put("penalties", {"0": 1.0}), "penalties: .* is recorded, but the replay gives {}"),
        (put("seed", 6), "seed 6 gives"),
        (put("game_version", 7), "version 7 of the game"),
        (put("game", "tic_tac_toe"), "not chance's turn"),
        (put("game", "no_such_game"), "Unknown game"),
        (put("turns", 0, "reading", "illegal"), "is called illegal, but it is move"),
        (put("turns", 0, "reading", "cut off"), "the replies end|is asked|after the end"),
        (put("turns", 0, "seat", 1), "but seat 0 is asked"),
        (put("turns", 0, "text", "nonsense"), "is called move, but it is unparsable"),
        (lambda data: data["turns"][0].update(action=0), "is called move, but it is illegal"),
        (put("turns", []), "the replies end"),
        (lambda data: data["turns"].append(data["turns"][0]), "after the end of the match"),
        (lambda data: data["events"].pop(), "the record stops before (seat [01]'s move|a chance outcome)"),
        (lambda data: data["events"].append([0, "call"]), "after the end of the match"),
        (put("on_illegal", "sometimes"), "Unknown policy"),
        (put("prompts", 0, "reader", "mve"), "Unknown reply form"),
        (put("players", ["random"]), "the record has 1 player$"),
        (put("prompts", 1, "hash", "000000000000"), "prompt differs: seat 1 read one of digest '000000000000'"),
        (put("prompts", 0, "style", "full"), "prompt differs: seat 0"),
        (put("prompts", 0, "style", "terse"), "Use 'full' or 'compact'"),
    ],
)
def test_tampering_with_leduc_is_detected(change: Callable[[dict[str, Any]], None], found: str) -> None:
    played = clean("leduc_poker")
    assert find_first_difference(parsed(played)) is None
    difference = tampered(played, change)
    assert difference is not None
    assert re.search(found, difference), difference


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (put("players", [1, None]), "players"),
        (put("players", "random"), "players"),
        (put("results", [0, 1]), "results"),
        (put("versions", ["1.0"]), "versions"),
        (put("versions", "gymposium", 1), "versions"),
        (put("versions", None), "versions"),
        (put("game_version", -1), "game_version"),
        (put("ending", "seat", -1), "ending"),
        (put("penalties", {"0": -0.5}), "penalties"),
        (put("penalties", {"0": "much"}), "penalties"),
        (put("returns", [True, False]), "returns"),
        (put("turns", 0, "seat", -1), "turns"),
        (lambda data: data["turns"][0].update(seconds=-0.5), "turns"),
        (lambda data: data["turns"][0].update(cost=-1), "turns"),
        (put("prompts", 0, "version", -1), "prompts"),
        (put("prompts", 0, "hash", None), "prompts"),
        (put("prompts", 0, "style", 3), "prompts"),
    ],
)
def test_malformed_field_invalidates_the_record(change: Callable[[dict[str, Any]], None], field: str) -> None:
    data = json.loads(Record.from_match(clean("tic_tac_toe")).line())
    change(data)
    with pytest.raises(BadRecord, match=f"{field} (is malformed|has the wrong form)"):
        Record.parse(json.dumps(data))


def test_substituted_legal_move_is_detected() -> None:
    """Another square: legal, perhaps with the same returns, but not in the replies."""
    played = clean("tic_tac_toe")
    last = played.events[-1]
    free = sorted({f"{c}{r}" for c in "abc" for r in "123"} - {e.move for e in played.events})
    for other in free:
        assert tampered(played, put("events", len(played.events) - 1, 1, other)) is not None
    assert last.move not in free


def test_wrong_seed_is_named_before_illegal_moves() -> None:
    """Hearts: with another seed another seat holds the two of clubs, and leads."""
    players = [make_player("random")] * 4
    [played] = play([MatchJob("m", load_game("hearts(pass_cards=False)"), players, 1, player_seed=1)])
    found = {tampered(played, put("seed", seed)) for seed in range(2, 8)}
    assert all(re.fullmatch(r"event \d is '..', but seed [2-7] gives '..'", one or "") for one in found), found


def test_chance_that_contradicts_the_seed_is_detected() -> None:
    """Kuhn: exchange the hidden third card for a dealt one without changing the result."""
    hits = 0
    for seed in range(40):
        played = clean("kuhn_poker", seed)
        if played.returns in ((1.0, -1.0), (-1.0, 1.0)) and {e.move for e in played.events[:2]} == {"Deal:0", "Deal:2"}:
            other = 1 - int(played.events[1].move == "Deal:2")
            index = [e.move for e in played.events[:2]].index(f"Deal:{0 if other else 2}")
            difference = tampered(played, put("events", index, 1, "Deal:1"))
            assert difference is not None
            hits += "gives" in difference
    assert hits


@pytest.mark.parametrize("policy", ["retry(2)", "penalty(0.1,3)", "forfeit"])
@pytest.mark.parametrize("game", ["tic_tac_toe", "goofspiel(num_cards=4)"])
def test_tampering_with_failures_is_detected(game: str, policy: str) -> None:
    failed = [p for p in matches(game, policy, n=40) if p.ending.seat is not None]
    assert failed
    for played in failed:
        seat = played.ending.seat
        for change in (
            put("ending", asdict(OVER)),
            put("ending", asdict(Ending("no legal move", 1 - seat if seat is not None else 0))),
            put("ending", asdict(replace(played.ending, kind="timed out"))),
            lambda data: data["turns"].pop(),
            put("turns", len(played.turns) - 1, "seat", 5),
            put("penalties", {"1": 0.7}),
            put("returns", [0.25, -0.25]),
            lambda data: data["turns"].append({"seat": 0, "reading": "unparsable", "text": ""}),
        ):
            assert tampered(played, change) is not None
    if policy != "forfeit":
        assert tampered(failed[0], put("on_illegal", "forfeit")) is not None


def test_retry_that_the_policy_forbids_is_detected() -> None:
    played = matches("tic_tac_toe", "retry(2)", n=40)
    retried = [p for p in played if p.ending.seat is None and len(p.turns) > len(p.events)]
    assert retried
    for one in retried:
        assert "after the end of the match" in str(tampered(one, put("on_illegal", "forfeit")))
        assert "is recorded, but the replay gives" in str(tampered(one, put("on_illegal", "penalty(0.5,9)")))


def test_substituted_random_move_is_detected() -> None:
    """Under `random` the drawn move follows from the players' seed: another legal move is found, even with the same
    result."""
    found = 0
    for played in matches("tic_tac_toe", "random", n=20):
        last, event = played.turns[-1], played.events[-1]
        free = {f"{column}{row}" for column in "abc" for row in "123"} - {event.move for event in played.events}
        for other in free if last.reading != "move" else ():
            difference = tampered(played, put("events", len(played.events) - 1, 1, other))
            assert difference is not None
            found += f"is {other!r} of seat {event.seat}, but the replay gives {event.move!r}" in difference
    assert found


@given(st.sampled_from(GAMES), st.sampled_from(POLICIES), st.integers(0, 7), st.data())
@settings(max_examples=150)
def test_no_tampering_crashes_verify(game: str, policy: str, number: int, data: st.DataObject) -> None:
    record = json.loads(Record.from_match(matches(game, policy, n=8)[number]).line())
    junk = st.recursive(
        st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    )
    place: Any = record
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(junk)
    with contextlib.suppress(BadRecord):
        find_difference(Record.parse(json.dumps(record)))


def _with_text(line: str, old: str, new: str) -> str:
    assert old in line
    return line.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"seed":', '"seed":99,"seed":'),
        ('"ending":{', '"ending":{"kind":"crashed",'),
        ('"returns":[', '"returns":[1e400,'),
        ('"seconds":', f'"tokens":[{10**400},1],"seconds":'),
        ('"seconds":', f'"tokens":[{2**60},1],"seconds":'),
        ('"seconds":', '"tokens":[-1,1],"seconds":'),
        ('"seconds":', '"cost":1e300,"seconds":'),
        ('"number":null', f'"number":{2**70}'),
        ('"game_version":', f'"versions":{{}},"x":{"[" * 100_000},"game_version":'),
    ],
)
def test_ambiguous_json_is_not_a_record(old: str, new: str) -> None:
    """A reader that takes the first of two equal keys, or rounds a long number, would see another match."""
    line = (
        Record.from_match(matches("tic_tac_toe", "forfeit", n=1)[0])
        .line()
        .replace('"text":', '"seconds":0.1,"text":', 1)
    )
    Record.parse(line)
    with pytest.raises(BadRecord):
        Record.parse(_with_text(line, old, new))


@pytest.mark.parametrize("seed", [2**63, -(2**63), 2**70])
def test_no_record_gets_an_unreadable_seed(seed: int) -> None:
    with pytest.raises(BadOption, match="64 bits"):
        MatchJob("m", load_game("tic_tac_toe"), [make_player("random")] * 2, seed)
    with pytest.raises(BadOption, match="64 bits"):
        gymposium.play("tic_tac_toe", players=["random", "random"], n=1, seed=seed)


@pytest.mark.parametrize("name", sorted(host().games))
def test_every_game_under_a_policy(name: str) -> None:
    """Unchanged records have no difference; each of these changes is a difference."""
    game, names = load_game(name), sorted(host().games)
    policy = POLICIES[names.index(name) % len(POLICIES)]
    jobs = [
        MatchJob(f"m{seed}", game, [ClumsyPlayer(0.1)] * game.seats, seed, on_illegal=FailurePolicy.parse(policy))
        for seed in range(2)
    ]
    for played in play(jobs):
        assert find_first_difference(parsed(played)) is None
    changes = [
        put("returns", [value + 1.0 for value in played.returns]),
        put("results", ["win"] * (game.seats + 1)),
        put("reports", [{"more": 1.0}] * game.seats),
        put("penalties", {"0": 99.0}),
        put("ending", asdict(Ending("timed out", 0))),
        put("prompts", 0, "hash", "0" * 12),
        put("turns", []),
        put("turns", 0, "reading", "illegal" if played.turns[0].reading == "move" else "move"),
        lambda data: data["turns"].append(data["turns"][-1]),
        put("game_version", game.spec.version + 1),
    ]
    assert [tampered(played, change) is None for change in changes] == [False] * len(changes)


# -- files


def write(path: Path, n: int = 3) -> list[Record]:
    with RecordWriter(path) as writer:
        return [writer.write(played) for played in matches("leduc_poker", n=n)]


def test_files_read_back_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "matches.jsonl"
    written = write(path) + write(path)
    assert [record for _, record in read_records(path)] == written
    assert [number for number, _ in read_records(path)] == [1, 2, 3, 4, 5, 6]
    found = verify_file(path)
    assert (found.matches, found.problems) == (6, [])


def test_verification_retains_no_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compressed file of a megabyte may hold a gigabyte of them."""
    path, numbers, kept = tmp_path / "matches.jsonl", itertools.count(1), []

    def replayed(record: Record) -> object:
        if next(numbers) in (10, 20):
            kept.append(sum(type(one) is Record for one in gc.get_objects()))
        return unpatched(record)

    unpatched = verify._replay
    monkeypatch.setattr(verify, "_replay", replayed)
    before = sum(type(one) is Record for one in gc.get_objects())
    write(path, n=20)
    assert verify_file(path).matches == 20
    assert len(kept) == 2
    assert max(kept) - before <= 3


def test_problem_is_printed_on_one_line(tmp_path: Path) -> None:
    record = json.loads(write(tmp_path / "matches.jsonl", n=1)[0].line())
    (tmp_path / "forged.jsonl").write_text(json.dumps({**record, "id": "x\nforged.jsonl: all agree.\u2028", "seed": 1}))
    [problem] = verify_file(tmp_path / "forged.jsonl").problems
    assert len(str(problem).splitlines()) == 1


@pytest.mark.parametrize("cut", [2, 40, 400])
def test_truncated_last_line_is_reported_then_cut_off(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "matches.jsonl"
    first = write(path)
    path.write_bytes(path.read_bytes()[:-cut])
    problems = [item for _, item in read_records(path) if isinstance(item, Problem)]
    assert len(problems) == 1
    assert str(problems[0]).startswith(f"{path}:3: not JSON")
    after = write(path)
    assert [item for _, item in read_records(path)] == first[:2] + after
    assert verify_file(path).problems == []


def test_complete_last_line_without_newline_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    first = write(path)
    path.write_bytes(path.read_bytes()[:-1])
    after = write(path)
    assert [item for _, item in read_records(path)] == first + after


def test_byte_order_mark_costs_no_record(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    records = write(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert [item for _, item in read_records(path)] == records


def test_invalid_lines_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    good = write(path, 1)[0]
    fewer = {key: value for key, value in asdict(good).items() if key != "seed"}
    lines = ["[1]", "{}", "null", '{"format": "gymposium-match-4"}', "\ufffd\x00", "[" * 100_000, json.dumps(fewer)]
    lines += [json.dumps({**asdict(good), "extra": 1}), json.dumps({**asdict(good), "format": "gymposium-match-9"})]
    path.write_bytes("\n".join(lines).encode() + b"\n\xff\xfe\n\n" + good.line().encode() + b"\n")
    items = list(read_records(path))
    assert [number for number, _ in items] == [*range(1, 11), 12]
    assert all(isinstance(item, Problem) for _, item in items[:-1])
    assert items[-1][1] == good
    assert len(verify_file(path).problems) == 10


def test_tampered_match_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    write(path)
    lines = path.read_text().splitlines()
    record = json.loads(lines[1])
    record["returns"] = [5.0, -5.0]
    path.write_text("\n".join([lines[0], json.dumps(record), lines[2]]) + "\n")
    [problem] = verify_file(path).problems
    assert problem.where == f"{path}:2 (match {record['id']})"
    assert "returns: [5.0, -5.0] is recorded" in problem.what


def test_prompts_of_another_version_are_not_compared() -> None:
    played = clean("leduc_poker")
    assert tampered(played, lambda data: data["prompts"][0].update(hash="000000000000", version=0)) is None


def test_record_names_players_and_prompts() -> None:
    [played] = play([MatchJob("m", load_game("tic_tac_toe"), [make_player("random"), ClumsyPlayer(0)], 1)])
    record = Record.from_match(played)
    assert record.players == ["random", "clumsy"]
    assert [p["style"] for p in record.prompts] == ["compact", "compact"]
    assert len({p["hash"] for p in record.prompts}) == 1  # one prompt set: both seats' heads, style and reader
    assert set(record.versions) == {"gymposium", "open_spiel", "python"}


@pytest.mark.parametrize("line", ["x\n", "\n"], ids=["invalid", "empty"])
def test_invalid_and_empty_lines_are_bounded(line: str) -> None:
    most = {"x\n": MOST_INVALID, "\n": MOST_EMPTY}[line]
    lines = iter([line] * (most + 10))
    found = [*parse_records(lines, "odd.jsonl")]
    assert "the rest of the file is not read" in str(found[-1][1])
    assert len([*lines]) == 10
