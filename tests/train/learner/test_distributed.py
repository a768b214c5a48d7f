"""Two processes learn the same as one, with equal gradients, weights and portable checkpoints."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed import DistStoreError, HashStore

from gymposium.errors import BadOption
from gymposium_agents.models.loading import LoadedModel
from gymposium_train.config import Optimizer
from gymposium_train.learner import LocalLearner, tensor_files
from gymposium_train.learner.parallel.world import ALONE, COLLECTIVE_TIMEOUT, Processes
from gymposium_train.learner.rows import Row, Span
from gymposium_train.learner.shares import iterate_shares

from . import child

CLOSE = 1e-5


@pytest.fixture
def alone_and_distributed(
    model_directory: Path,
    moe_directory: Path,
    rows: list[Row],
    tmp_path: Path,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The results of one process, and of each of two."""
    rows = rows[:-1]  # an odd number: they are not shared out evenly
    alone = child.everything(model_directory, moe_directory, rows, ALONE)
    torch.save({"rows": rows, "alone": alone}, tmp_path / "given.pt")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, child.__file__, str(tmp_path), str(model_directory), str(moe_directory)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = [torch.load(tmp_path / f"found-{rank}.pt", weights_only=False) for rank in range(2)]
    # what one process makes of the checkpoints of two
    for name in child.MOVING:
        alone[f"{name}, going on"] = child.moving(model_directory, rows, ALONE, name, found[0][name]["checkpoint"])
    return alone, found


def distance(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    assert found.keys() == expected.keys()
    apart = sum(float((found[name] - expected[name]).double().square().sum()) for name in expected)
    size = sum(float(one.double().square().sum()) for one in expected.values())
    assert size > 1e-6
    return (apart / size) ** 0.5


def weights(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor for name, tensor in tensors.items() if name.startswith("weights|")}


@pytest.mark.slow
def test_two_processes_learn_the_same_as_one(
    alone_and_distributed: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    alone, (first, second) = alone_and_distributed
    check_precision(alone, first, second)
    assert [first["limit"], second["limit"]] == [COLLECTIVE_TIMEOUT] * 2  # of each collective operation
    for name in (*child.CASES, *child.EXPERTS):
        assert distance(first[name]["gradients"], alone[name]["gradients"]) < CLOSE, name
        assert all(torch.equal(g, second[name]["gradients"][n]) for n, g in first[name]["gradients"].items()), name
        sums = first[name]["sums"]
        if name.startswith("LoRA, p"):  # sharded
            assert sums.count(True) == 1 < len(sums), name
        assert first[name]["metrics"] == pytest.approx(alone[name]["metrics"], rel=1e-4, abs=1e-5), name
        assert first[name]["scores"] == [pytest.approx(one, abs=1e-5) for one in alone[name]["scores"]], name
    for name in child.MOVING:
        for step in ("step 0", "imitated", "validated", "step 1", "step 2"):
            assert first[name][step] == pytest.approx(alone[name][step], rel=1e-3, abs=1e-4), (name, step)
        assert distance(weights(first[name]["tensors"]), weights(alone[name]["tensors"])) < 1e-4, name
        assert first[name]["tensors"].keys() == alone[name]["tensors"].keys()
        assert all(torch.equal(t, second[name]["tensors"][n]) for n, t in first[name]["tensors"].items()), name
        moved = [not torch.equal(t, first[name]["checkpoint"][n]) for n, t in weights(first[name]["tensors"]).items()]
        assert all(moved), name
        for n, whole in first[name]["whole"].items():
            assert torch.equal(whole, first[name]["tensors"][f"weights|{n}"]), (name, n)
        # from a checkpoint of one process, two go on as one would, and the other way round
        assert first[f"{name}, going on"]["step 2"] == pytest.approx(alone[name]["step 2"], rel=1e-3, abs=1e-4), name
        assert alone[f"{name}, going on"]["step 2"] == pytest.approx(first[name]["step 2"], rel=1e-3, abs=1e-4), name


def check_precision(alone: dict[str, Any], first: dict[str, Any], second: dict[str, Any]) -> None:
    """With sharded weights too, as many weights change in bf16 as in fp32."""
    for tune, parallel in child.WAYS:
        ways = [(tune, precision, parallel) for precision in child.PRECISIONS]
        shares = [found["moved"][way]["share"] for found in (alone, first, second) for way in ways]
        assert shares[0] > 0.95
        assert shares == pytest.approx([shares[0]] * 6, abs=0.01)
        losses = [found["moved"][way]["loss"] for found in (alone, first) for way in ways]
        assert losses == pytest.approx([losses[0]] * 4, rel=0.02)
        if tune == "lora":
            assert losses[1] == pytest.approx(losses[3], rel=0.002)  # a LoRA computes in parts as it does whole
        for found in (alone, first, second):  # adapters, too
            assert found["moved"][ways[1]]["computed"] == {torch.bfloat16}
    types = {one for found in (alone, first) for moved in found["moved"].values() for one in moved["types"]}
    assert types == {(torch.float32, torch.float32)}


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("layout", ["padded", "packed"])
@pytest.mark.parametrize("lengths", [[3], [5, 9, 2, 2, 7], [4] * 12])
def test_shares_cover_sequences_once_with_equal_steps(size: int, layout: str, lengths: list[int]) -> None:
    sequences = [Row((n,) * length, (Span(1, 2),)) for n, length in enumerate(lengths)]
    each = [[*iterate_shares(sequences, 10, layout, Processes(rank, size))] for rank in range(size)]
    assert len({len(mine) for mine in each}) == 1
    counted = [sequence for mine in each for batch, real in mine if real for sequence in batch]
    assert sorted(one.ids[0] for one in counted) == [*range(len(lengths))]
    assert all(batch for mine in each for batch, _ in mine)


def test_refuses_layouts_with_unequal_steps(loaded: LoadedModel) -> None:
    with pytest.raises(BadOption, match="several processes must run the model equally often"):
        LocalLearner(loaded.model, loaded.pad, Optimizer(), world=Processes(0, 2))


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells how much memory a process had")
@pytest.mark.slow
def test_checkpoints_need_no_memory_in_other_processes(tmp_path: Path) -> None:
    """For a model of more than 200 MB with its optimizer."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    file = str(Path(child.__file__).with_name("large.py"))
    done = subprocess.run([*torchrun, file, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    first, second = (json.loads((tmp_path / f"found-{rank}.json").read_text()) for rank in range(2))
    assert second["whole"] > 200e6
    assert second["shard"] == pytest.approx(1.5 * second["whole"], rel=0.01)  # half, and twice that of AdamW's
    assert second["save"] <= 0.2 * second["shard"]
    assert second["load"] <= 1.2 * second["shard"]
    assert first["save"] <= 4 * tensor_files.PART
    assert first["equal"]
    assert second["equal"]


def test_waiting_for_rollouts_has_no_timeout() -> None:
    """The others wait for its call, while all other requests to the store have a timeout."""
    store = HashStore()
    store.set_timeout(timedelta(milliseconds=50))
    with ThreadPoolExecutor(1) as second:
        heard = second.submit(Processes(1, 2, store).command)
        with pytest.raises(DistStoreError):
            store.get("what nobody sets")  # so long has passed
        Processes(0, 2, store).command("go on")  # type: ignore[arg-type] # what the other hears
        assert heard.result() == "go on"
