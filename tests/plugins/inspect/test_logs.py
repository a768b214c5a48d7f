"""Records read from logs of both formats, and paired differences."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ChatMessage
from inspect_ai.tool import ToolInfo

from gymposium.errors import BadOption, BadRecord
from gymposium.records import Record
from gymposium.records.scores import estimate_mean
from gymposium_inspect import compare_logs, list_records

from .scripted import evaluated, legal_moves, verified

ARGS = {"game": "leduc_poker", "opponent": "random", "matches": 20, "seed": 4}


def last(messages: Sequence[ChatMessage], tools: Sequence[ToolInfo]) -> str:
    return legal_moves(messages[-1].text)[-1]


def test_zip_logs_hold_records_in_sample_stores(tmp_path: Path) -> None:
    """This is what a reader without Inspect relies on."""
    log = evaluated("gymposium/match", args=ARGS)
    with zipfile.ZipFile(log.location) as archive:
        names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
        stored = [json.loads(archive.read(name))["store"]["gymposium_record"] for name in names]
    found = {record.id: record for record in verified(log, tmp_path)}
    assert len(stored) == len(found) == 20
    for one in stored:
        assert Record.parse(json.dumps(one)) == found[one["id"]]


def test_both_log_formats_hold_the_same_records(tmp_path: Path) -> None:
    log = evaluated("gymposium/match", args=ARGS)
    file = tmp_path / "log.json"
    write_eval_log(read_eval_log(log.location), str(file))
    assert [*list_records(file)] == [*list_records(log.location)]


def test_changed_records_are_refused(tmp_path: Path) -> None:
    log = evaluated("gymposium/match", args=ARGS | {"matches": 2})
    whole = read_eval_log(log.location)
    assert whole.samples is not None
    whole.samples[0].store["gymposium_record"]["turns"] = "all"
    write_eval_log(whole, str(tmp_path / "log.json"))
    with pytest.raises(BadRecord):
        [*list_records(tmp_path / "log.json")]


def test_models_are_compared_by_deal() -> None:
    first = evaluated("gymposium/match", args=ARGS)
    second = evaluated("gymposium/match", last, args=ARGS)
    one, other = [*list_records(first.location)], [*list_records(second.location)]
    deals: dict[int, list[float]] = {}
    for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        seat = number % 2
        assert mine.seed == theirs.seed
        deals.setdefault(mine.seed, []).append(mine.returns[seat] - theirs.returns[seat])
    found = compare_logs(first.location, second.location)
    assert (found.deals, found.matches, found.left_out) == (10, 20, 0)
    expected = estimate_mean([sum(differences) / 2 for differences in deals.values()])
    assert found.difference == expected
    assert found.first - found.second == pytest.approx(expected.value)
    assert expected.low < expected.value < expected.high
    back = compare_logs(second.location, first.location).difference
    assert (back.value, back.low, back.high) == pytest.approx((-expected.value, -expected.high, -expected.low))


def test_only_common_matches_are_compared() -> None:
    first = evaluated("gymposium/match", args=ARGS)
    fewer = evaluated("gymposium/match", last, args=ARGS | {"matches": 8})
    found = compare_logs(first.location, fewer.location, "forfeit")
    assert (found.deals, found.matches, found.left_out) == (4, 8, 12)
    assert (found.first, found.second) == (0.0, 0.0)
    for other in ({"seed": 5}, {"opponent": "greedy"}, {"on_illegal": "retry(2)"}):
        with pytest.raises(BadOption, match="no finished match in common"):
            compare_logs(first.location, evaluated("gymposium/match", args=ARGS | other).location)
    with pytest.raises(BadOption, match="use one of return, win"):
        compare_logs(first.location, fewer.location, "elo")


def test_errors_are_clustered_by_deal() -> None:
    log = evaluated("gymposium/match", args=ARGS | {"game": "liars_dice"})
    assert log.samples is not None
    assert log.results is not None
    [score] = [score for score in log.results.scores if score.name == "return"]
    values: dict[int, list[float]] = {}
    for sample, record in zip(log.samples, list_records(log.location), strict=True):
        values.setdefault(record.seed, []).append(record.returns[sample.metadata["seat"]])
    center = score.metrics["mean"].value
    spread = sum(sum(value - center for value in deal) ** 2 for deal in values.values())
    assert score.metrics["stderr"].value == pytest.approx((spread * 10 / 9) ** 0.5 / 20)
    assert spread > 0
