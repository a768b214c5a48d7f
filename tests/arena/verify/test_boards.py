"""Verification detects tampering with matches, results, the suite and entries."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gymposium.errors import BadOption, BadRecord, UnknownName
from gymposium.records import compress_records
from gymposium_arena.board import Board
from gymposium_arena.entries import Entry, read_entry
from gymposium_arena.results.file import compute_results, write_results
from gymposium_arena.schedule import Lineup, make_lineups
from gymposium_arena.site.build import write_site
from gymposium_arena.verify import Finding, verify_board
from gymposium_arena.verify.lineup import MAX_FINDINGS
from gymposium_arena.yardsticks import write_exact

from ..playing import play_board
from .copies import Copy, put


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines.pop(1), "1 of 4 matches are missing: small/tic_tac_toe/random--mcts-5/0-1"),
        (lambda lines: lines.clear(), "4 of 4 matches are missing"),
        (lambda lines: lines.append(lines[0]), "duplicate match, first in line 1"),
        (lambda lines: lines.append(lines[0].replace("-5/0-0", "-5/2-0")), "the schedule has no such match"),
    ],
)
def test_matches_must_follow_the_schedule(change: Any, said: str, copy: Copy) -> None:
    copy.lines(copy.file("tic_tac_toe", "random", "mcts-5"), change)
    [finding] = copy.findings(only="mcts-5")
    assert finding.about == "schedule"
    assert said in finding.what


def test_missing_and_extra_files_are_reported(copy: Copy) -> None:
    file = copy.file("tic_tac_toe", "random", "mcts-5")
    file.rename(file.with_name("more.jsonl"))
    findings = copy.findings(only="mcts-5")
    assert [(one.about, one.where.rpartition("/")[2]) for one in findings] == [
        ("schedule", "random--mcts-5.jsonl"),
        ("schedule", "more.jsonl"),
    ]


def test_truncated_file_is_read_and_resumed(copy: Copy, plugin: Path) -> None:
    file = copy.file("tic_tac_toe", "random", "mcts-5")
    whole = file.read_bytes()
    file.write_bytes(whole[:-30])
    torn, missing = copy.findings(only="mcts-5")
    assert (torn.about, missing.about) == ("file", "schedule")
    assert torn.where.endswith("random--mcts-5.jsonl:4")
    assert "the last line is truncated; the 3 before it are complete" in torn.what
    again = play_board(copy.board, 1)
    assert (again.played, again.torn) == (1, ["small/tic_tac_toe/random--mcts-5"])
    assert file.read_bytes() == whole


@pytest.mark.slow
def test_compressed_boards_verify_and_can_be_extended(copy: Copy, plugin: Path, tmp_path: Path) -> None:
    board, plain = copy.board, copy.board.files()
    results = compute_results(board)
    packed = [compress_records(file) for file in plain]
    assert board.files() == packed
    verified = copy.verify()
    assert (verified.findings, verified.results, verified.matches) == ([], "agree", verified.planned)
    assert compute_results(board) == results
    board.add(["mcts-3"], 7, ["tic_tac_toe"])
    again = play_board(board, 1)
    assert (again.played, again.complete) == (sum(lineup.matches for lineup in added(board, "mcts-3")), True)
    assert {*board.files()} == {*packed, *map(board.matches_file, added(board, "mcts-3"))}
    write_results(board, compute_results(board))
    assert copy.findings() == []
    write_site(board, tmp_path / "site", replays=1)
    for file in board.files():
        assert (tmp_path / "site/board" / file.relative_to(board.path)).read_bytes() == file.read_bytes()


def added(board: Board, player: str) -> list[Lineup]:
    return [one for one in make_lineups(board.suite, board.entries()) if one.players[-1] == player]


def test_refuses_to_append_to_compressed_files(copy: Copy, plugin: Path) -> None:
    file = copy.file("tic_tac_toe", "random", "mcts-5")
    copy.lines(file, lambda lines: lines.pop())
    packed = compress_records(file)
    [finding] = copy.findings(only="mcts-5")
    assert (finding.where.rpartition("/")[2], "1 of 4 matches are missing" in finding.what) == (packed.name, True)
    with pytest.raises(BadOption, match=r"lacks 1 of 4 matches.*gunzip .*random--mcts-5\.jsonl\.gz"):
        play_board(copy.board, 1)
    packed.write_bytes(b"junk")
    findings = copy.findings(only="mcts-5")
    assert [(one.about, one.where.rpartition("/")[2]) for one in findings] == [
        ("file", packed.name),
        ("schedule", packed.name),
    ]
    with pytest.raises(BadRecord, match="is not a gzip file"):
        play_board(copy.board, 1)
    file.touch()
    with pytest.raises(BadOption, match="both exist"):
        copy.findings(only="mcts-5")


def test_invalid_lines_are_reported(copy: Copy) -> None:
    copy.lines(copy.file("tic_tac_toe", "random", "mcts-5"), lambda lines: lines.insert(1, '{"half'))
    [finding] = copy.findings(only="mcts-5")
    assert (finding.about, finding.where.rpartition(":")[2]) == ("file", "2")
    assert "not JSON" in finding.what


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("joint", "standings", 0, "rating", 9999.0), "joint.standings.0.rating is 9999.0, but the records give"),
        (put("games", 0, "board", "standings", 0, "matches", 1), "games.0.board.standings.0.matches is 1"),
        (lambda data: data["games"][1]["board"]["standings"].reverse(), "games.1.board.standings"),
        (put("players", 0, "conduct", "forfeits", 3), "players.0.conduct.forfeits is 3, but the records give 0"),
        (put("method", "samples", 5), "method.samples is 5"),
        (put("joint", None), "joint is null"),
        (lambda data: data.pop("joint"), "holds no results"),
    ],
)
def test_changed_results_are_detected(change: Any, said: str, copy: Copy) -> None:
    copy.edit(copy.path / "results.json", change)
    verification = copy.verify(sample=0)
    assert verification.results == "differ"
    assert {one.about for one in verification.findings} == {"results"}
    assert said in verification.findings[0].what


@pytest.mark.slow
def test_exact_figures_are_recomputed(copy: Copy) -> None:
    board = copy.board
    file = write_exact(board, next(entry for entry in board.entries() if entry.player == "random"))
    assert copy.findings(sample=0, only="random") == []
    copy.edit(file, put("games", "kuhn_poker", "exploitability", 0.0))
    [finding] = copy.findings(sample=0, only="random")
    assert (finding.about, finding.where) == ("results", "entries/random/exact.json")
    assert finding.what == "in kuhn_poker, exploitability is 0.0, but a new measurement gives 0.458333"


def list_entries(findings: Sequence[Finding]) -> list[str]:
    return [str(one) for one in findings if one.about == "entry"]


@pytest.mark.parametrize(("was", "is_now"), [("groups = 2", "groups = 1"), ("seed = 5", "seed = 6"), ("60.0", "70.0")])
def test_changed_suite_is_reported_for_every_entry(was: str, is_now: str, copy: Copy) -> None:
    suite = copy.path / "suite.toml"
    suite.write_text(suite.read_text().replace(was, is_now))
    messages = list_entries(copy.findings())
    assert len(messages) == 5
    assert all("refused: it was made for the suite with digest" in one for one in messages)
    with pytest.raises(BadOption, match=r"Invalid entry .*: it was made for the suite with digest"):
        copy.board.entries()


@pytest.mark.parametrize(
    "change",
    [
        put("label", "Best"),
        put("games", ["kuhn_poker"]),
        put("own", False),
        put("revision", "facts", {"model": "other"}),
        put("prompt", "style", "full"),
        put("decoding", {"temperature": 1.0}),
        put("repeats", None),
        put("deterministic", True),
        put("versions", "gymposium", "9.9"),
        put("by", "Me"),
    ],
)
def test_changed_entry_fails_its_digest(change: Any, copy: Copy) -> None:
    copy.edit(copy.board.entry_file("greedy"), change)
    assert any("was changed after it was made" in one for one in list_entries(copy.findings(only="greedy")))
    with pytest.raises(BadRecord, match="was changed after it was made"):
        copy.board.entries()


def seal(copy: Copy, slug: str, **change: Any) -> None:
    """Change an entry and give it the right digest."""
    file = copy.board.entry_file(slug)
    file.write_text(read_entry(file).model_copy(update=change).seal().text())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 4}, "seed is 4, but the suite's own player has 5"),
        ({"number": 2}, "they are numbered"),
        ({"own": False}, "own is False, but the suite has this player"),
        ({"games": ("tic_tac_toe",)}, "it plays tic_tac_toe, but the suite has it play tic_tac_toe, kuhn_poker"),
        (
            {"rules": {"tic_tac_toe": 0, "kuhn_poker": 3}},
            "refused: it was made with version 3 of kuhn_poker, but version",
        ),
        ({"deterministic": True}, "deterministic was True, but is False here"),
        ({"decoding": {"temperature": 0.5}}, "decoding temperature was 0.5, but is None here"),
    ],
)
def test_resealed_entry_is_checked_against_suite_and_player(change: dict[str, Any], said: str, copy: Copy) -> None:
    seal(copy, "greedy", **change)
    assert any(said in one for one in list_entries(copy.findings()))


def test_submission_seed_is_checked_against_matches(copy: Copy) -> None:
    seal(copy, "secret", seed=4)
    findings = copy.findings(only="secret")
    assert len(findings) == 16
    assert all(one.what.startswith("seed is ") for one in findings)


def test_entry_prompts_are_recomputed(copy: Copy) -> None:
    prompt = read_entry(copy.board.entry_file("greedy")).prompt
    digests = {**prompt.digests, "kuhn_poker": "0" * 12}
    seal(copy, "greedy", prompt=prompt.model_copy(update={"digests": digests}))
    assert any("its prompt in kuhn_poker has the digest '000000000000'" in one for one in list_entries(copy.findings()))


def test_other_code_versions_are_noted_and_not_rerun(copy: Copy) -> None:
    revision = read_entry(copy.board.entry_file("greedy")).revision
    seal(copy, "greedy", revision=revision.model_copy(update={"code": {**revision.code, "version": "0.0.1"}}))
    verification = copy.verify(only="greedy")
    assert verification.findings == []
    [player] = [one for one in verification.players if one.player == "greedy"]
    assert player.asked == 0
    assert "code version was '0.0.1'" in player.describe_evidence()


@contextmanager
def weights(copy: Copy) -> Iterator[tuple[Entry, Path]]:
    """The entry with weights, and the weights' file, which is restored afterwards."""
    [entry] = [one for one in copy.board.entries() if one.player.startswith("weighted:")]
    file = Path(entry.player.removeprefix("weighted:"))
    before = file.read_text()
    try:
        yield entry, file
    finally:
        file.write_text(before)


def test_swapped_weights_are_detected_and_never_run(copy: Copy, plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYMPOSIUM_ALLOW", "weighted:*")
    with weights(copy) as (entry, file):
        file.write_text("4")
        messages = list_entries(copy.findings(only=entry.slug))
        assert f"{file} has changed since it was entered: its digest is sha256:" in messages[0]
        copy.lines(copy.file("kuhn_poker", "random", "weighted"), lambda lines: lines.pop())
        again = play_board(copy.board, 1)
        assert not again.complete
        assert all("differs from its entry: revision files" in why for why in again.unplayed.values())
        assert again.played == 0


def test_unavailable_players_are_skipped_and_the_rest_checked(copy: Copy) -> None:
    with weights(copy) as (entry, file):
        file.unlink()
        verification = copy.verify(only=entry.slug)
        assert (verification.findings, verification.matches) == ([], 24)
        [player] = [one for one in verification.players if one.slug == entry.slug]
        assert player.asked == 0
        assert "FileNotFoundError" in player.describe_evidence()
        copy.edit(copy.file("kuhn_poker", "random", "weighted"), lambda data: data["returns"].reverse())
        assert [one.about for one in copy.findings(only=entry.slug)] == ["record"]


def test_missing_or_renamed_entries_are_detected(copy: Copy) -> None:
    shutil.rmtree(copy.path / "entries/greedy")
    (copy.path / "entries/mcts-5").rename(copy.path / "entries/mcts-6")
    messages = "\n".join(list_entries(copy.findings()))
    assert "entries/greedy/entry.json: the suite's own player greedy has no entry" in messages
    assert "belongs in the folder 'mcts-5'" in messages


def test_unknown_entry_suggests_the_nearest(copy: Copy) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'greedy'"):
        copy.verify(only="gredy")


def test_entry_records_its_metadata(copy: Copy) -> None:
    with weights(copy) as (entry, file):
        assert (entry.label, entry.by, entry.made, entry.seed) == ("By weights", "Somebody", "2026-01-02", 11)
        assert [*entry.revision.files] == [str(file)]
        assert entry.revision.code["file"] == "checked_players.py"
        assert entry.decoding == {"temperature": 0.0}
    secret = read_entry(copy.board.entry_file("secret"))
    assert isinstance(secret.seed, int), "drawn when it was played"
    assert Entry.model_validate_json(secret.text()) == secret


def _duplicate(text: str) -> str:
    return text.replace('"seed":', '"seed":1,"seed":', 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines.reverse(), "comes after small/tic_tac_toe/random--mcts-5/1-1, but is planned before it"),
        (lambda lines: lines.insert(1, ""), "the line is empty"),
        (lambda lines: lines.append(""), "the line is empty"),
        (lambda lines: lines.append(_duplicate(lines.pop())), "the key 'seed' is repeated"),
        (lambda lines: lines.insert(0, lines.pop(0).replace(",", ", ", 1)), "not in gymposium's format"),
        (
            lambda lines: lines.insert(0, lines.pop(0).replace('"text":', '"note":1,"text":', 1)),
            "missing or invalid",
        ),
        (
            lambda lines: lines.insert(0, lines.pop(0).replace('"style":', '"note":1,"style":', 1)),
            "missing or invalid",
        ),
        (
            lambda lines: lines.insert(0, lines.pop(0).replace('"versions":{', '"versions":{"a":"1",')),
            "the record has versions of",
        ),
        (lambda lines: lines.insert(0, lines.pop(0).replace('"text":', '"seconds":9.0,"text":')), "its time recorded"),
    ],
)
def test_changed_lines_are_detected(change: Any, said: str, copy: Copy) -> None:
    copy.lines(copy.file("tic_tac_toe", "random", "mcts-5"), change)
    assert any(said in finding.what for finding in copy.findings(only="mcts-5"))


@pytest.mark.parametrize("line", ["", "{}"])
def test_problems_per_file_are_limited(line: str, copy: Copy) -> None:
    copy.lines(copy.file("tic_tac_toe", "random", "mcts-5"), lambda lines: lines.extend([line] * 20_000))
    findings = copy.findings(only="mcts-5")
    assert any("the rest is unchecked" in finding.what for finding in findings)
    assert len(findings) < 2 * MAX_FINDINGS


def _to_a_link(path: Path) -> None:
    outside = path.parents[4] / "outside"
    path.rename(outside)
    path.symlink_to(outside)


def _to_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_to_a_link, "it is a link"),
        (_to_a_pipe, "it is not a regular file"),
        (lambda path: _to_a_link(path.parent), "it is a link"),
        (lambda path: _to_a_pipe(path.parents[2] / "entry.json"), "it is not a regular file"),
        (lambda path: (path.parent / "passwd").symlink_to("/etc/passwd"), "it is a link"),
        (lambda path: (path.parent / "nothing").symlink_to("nowhere"), "it is a link"),
        (lambda path: (path.parent / "notes.txt").touch(), "the schedule plans no matches for this file"),
        (lambda path: (path.parent.parent / "chess").mkdir(), "the schedule plans no matches for this file"),
        (lambda path: (path.parents[2] / "run.py").touch(), "does not belong"),
        (lambda path: (path.parents[2] / ".cache").mkdir(), "does not belong"),
    ],
)
def test_links_and_foreign_files_are_detected(change: Any, said: str, copy: Copy) -> None:
    change(copy.file("tic_tac_toe", "random", "mcts-5"))
    assert any(said in finding.what for finding in copy.findings(only="mcts-5"))


def test_extra_files_are_reported(copy: Copy) -> None:
    (copy.path / "results.json").unlink()
    for name in ("suite.bak", "entries/notes.txt", "more/file"):
        (copy.path / name).parent.mkdir(exist_ok=True)
        (copy.path / name).touch()
    (copy.path / "README.md").touch()
    places = {finding.where for finding in copy.findings(sample=0) if "does not belong" in finding.what}
    assert places == {"suite.bak", "entries/notes.txt", "more", "more/file"}


def test_built_site_is_not_a_mismatch(copy: Copy) -> None:
    write_site(copy.board, copy.path / "site", replays=1)
    verification = verify_board(copy.board, sample=0, seed=1)
    assert not [finding for finding in verification.findings if "site" in finding.where]
    assert any("The pages in site/ are not checked" in note for note in verification.notes)


def test_duplicate_keys_are_detected(copy: Copy) -> None:
    entry = copy.board.entry_file("mcts-5")
    entry.write_text(entry.read_text().replace('"label":', '"label": "x", "label":', 1))
    assert any("the key 'label' is repeated" in finding.what for finding in copy.findings(only="mcts-5"))


def test_entry_files_are_read_only_with_permission(copy: Copy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry of random play names a file of this machine."""
    (tmp_path / "mine").write_text("secret")
    revision = read_entry(copy.board.entry_file("random")).revision
    seal(copy, "random", revision=revision.model_copy(update={"files": {str(tmp_path / "mine"): "sha256:0"}}))
    assert not any("its digest is" in finding.what for finding in copy.findings(only="random"))
    monkeypatch.setenv("GYMPOSIUM_ALLOW", "random")
    assert any("its digest is" in finding.what for finding in copy.findings(only="random"))


def test_repeatable_players_must_be_declared_so(copy: Copy) -> None:
    seal(copy, "greedy", repeats=None)
    assert any("repeats was None, but is 'quickly' here" in finding.what for finding in copy.findings(only="greedy"))
