"""Stores of published adapters: versions appear and disappear atomically, even if the writing process is killed."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.commands import run_python

from gymposium.errors import GymposiumError
from gymposium_agents.chat.tokens import Policy
from gymposium_agents.lora.attach import attach_lora, load_lora
from gymposium_agents.lora.store import AdapterStore, list_stores
from gymposium_agents.models.loading import load_model

TEN, TWELVE = Policy("learner", 10), Policy("learner", 12)


@pytest.fixture(scope="module")
def model(model_directory: Path) -> Any:
    return attach_lora(load_model(model_directory).model, rank=2, alpha=4, seed=0)


def fill_lora(model: Any, value: float) -> Any:
    """The model with `value` in every LoRA weight, so that a mixture of two versions would show."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.fill_(value)
    return model


def values(path: Path) -> set[float]:
    return {
        value for tensor in load_file(path / "adapter_model.safetensors").values() for value in tensor.unique().tolist()
    }


def test_versions_are_published_listed_and_loaded(model: Any, model_directory: Path, tmp_path: Path) -> None:
    store = AdapterStore(tmp_path / "adapters")
    assert (store.list(), store.current()) == ((), None)
    assert store.publish(fill_lora(model, 10.0), 10) == TEN
    assert store.publish(fill_lora(model, 12.0), 12) == TWELVE
    assert (store.list(), store.current()) == ((TEN, TWELVE), TWELVE)
    assert store.path(TWELVE) == tmp_path / "adapters" / "learner-v000012"
    assert values(store.path(TEN)) == {10.0}
    load_lora(load_model(model_directory).model, store.path(TEN))
    again = AdapterStore(tmp_path / "adapters")  # another process sees the same
    assert (again.list(), again.current()) == ((TEN, TWELVE), TWELVE)


def test_rollback_is_reversible(model: Any, tmp_path: Path) -> None:
    store = AdapterStore(tmp_path)
    store.publish(model, 10)
    store.publish(model, 12)
    store.roll_back(TEN)
    assert (store.list(), store.current()) == ((TEN, TWELVE), TEN)
    store.roll_back(TWELVE)
    assert store.current() == TWELVE
    store.roll_back(TEN)
    assert store.publish(model, 13) == store.current()


def test_refuses_to_republish_a_version_with_other_weights(model: Any, tmp_path: Path) -> None:
    store = AdapterStore(tmp_path)
    store.publish(fill_lora(model, 1.0), 10)
    with pytest.raises(GymposiumError, match="already contains learner-v10 with other weights"):
        store.publish(fill_lora(model, 2.0), 10)
    assert values(store.path(TEN)) == {1.0}


def test_republishing_equal_weights_is_allowed(model: Any, tmp_path: Path) -> None:
    """A resumed run publishes its last versions again."""
    store = AdapterStore(tmp_path)
    store.publish(fill_lora(model, 1.0), 10)
    store.publish(fill_lora(model, 2.0), 12)
    assert store.publish(fill_lora(model, 1.0), 10) == TEN == store.current()
    assert store.list() == (TEN, TWELVE)
    (store.path(TEN) / "COMPLETE").unlink()
    with pytest.raises(GymposiumError, match="already contains learner-v10"):  # an incomplete directory is no version
        store.publish(fill_lora(model, 1.0), 10)


def test_refuses_to_remove_the_current_version(model: Any, tmp_path: Path) -> None:
    store = AdapterStore(tmp_path)
    store.publish(model, 10)
    store.publish(model, 12)
    with pytest.raises(GymposiumError, match="Roll back to another version first"):
        store.remove(TWELVE)
    store.remove(TEN)
    assert store.list() == (TWELVE,)
    with pytest.raises(GymposiumError, match=r"learner-v10 is not in .* Its versions of 'learner': 12"):
        store.path(TEN)
    store.publish(model, 10)  # its number can be used again
    assert store.current() == TEN


def test_several_names_share_a_directory(model: Any, tmp_path: Path) -> None:
    AdapterStore(tmp_path, "critic").publish(model, 1)
    AdapterStore(tmp_path).publish(model, 10)
    assert [(store.name, store.current()) for store in list_stores(tmp_path)] == [
        ("critic", Policy("critic", 1)),
        ("learner", TEN),
    ]
    with pytest.raises(GymposiumError, match="is not a version of 'learner'"):
        AdapterStore(tmp_path).path(Policy("critic", 1))


@pytest.mark.parametrize("name", ["", "base", "a/b", "..", "learner-v3", "-x"])
def test_ambiguous_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(GymposiumError, match="Invalid adapter name"):
        AdapterStore(tmp_path, name)


def test_incomplete_versions_are_not_listed(model: Any, tmp_path: Path) -> None:
    store = AdapterStore(tmp_path)
    store.publish(model, 10)
    (tmp_path / "learner-v000011").mkdir()
    (tmp_path / "learner-v000011" / "adapter_config.json").write_text("{}")
    assert (store.list(), store.current()) == ((TEN,), TEN)
    with pytest.raises(GymposiumError, match="learner-v11 is not in"):
        store.roll_back(Policy("learner", 11))


def test_broken_pointer_suggests_rollback(model: Any, tmp_path: Path) -> None:
    store = AdapterStore(tmp_path)
    store.publish(model, 10)
    (tmp_path / "learner.current").write_text("{")
    with pytest.raises(GymposiumError, match="gymposium lora rollback"):
        store.current()
    store.roll_back(TEN)
    assert store.current() == TEN


@pytest.mark.slow
def test_readers_never_see_partial_adapters(model: Any, tmp_path: Path) -> None:
    """A reader that follows the current version always finds a complete version with weights of one version."""
    store, last = AdapterStore(tmp_path), 40
    seen: list[set[float]] = []
    store.publish(fill_lora(model, 0.0), 0)

    def read() -> None:
        mine = AdapterStore(tmp_path)
        while True:
            current = mine.current()
            assert current is not None
            seen.append({float(current.version)} ^ values(mine.path(current)))
            if current.version == last:
                return

    reader = threading.Thread(target=read)
    reader.start()
    for version in range(1, last + 1):
        store.publish(fill_lora(model, float(version)), version)
    reader.join(timeout=60)
    assert not reader.is_alive()
    assert len(seen) > 2
    assert seen == [set()] * len(seen)


KILLED = """
import json, os, signal, sys
from pathlib import Path
from gymposium_agents.models.loading import load_model
from gymposium_agents.lora.attach import attach_lora
from gymposium_agents.lora.files import read_adapter
from gymposium_agents.lora.store import AdapterStore
from gymposium_agents.chat.tokens import Policy

what, root = sys.argv[2], Path(sys.argv[3])
model = attach_lora(load_model(sys.argv[1]).model, rank=2, alpha=4, seed=0)
first, second = Policy("learner", 1), Policy("learner", 2)
act = {
    "publish": lambda store: store.publish(model, 2),
    "roll back": lambda store: store.roll_back(first),
    "remove": lambda store: store.remove(first),
}[what]

def killed_at(point, directory):
    "Dies by kill -9 when it is about to change the directory for the `point`-th time; says whether it did."
    child = os.fork()
    if child == 0:
        count = 0
        def audit(event, arguments):
            nonlocal count
            writes = event == "open" and isinstance(arguments[1], str) and set("wax+") & set(arguments[1])
            if writes or event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir"):
                count += 1
                if count == point:
                    os.kill(os.getpid(), signal.SIGKILL)
        store = AdapterStore(directory)
        sys.addaudithook(audit)
        act(store)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])

for point in range(1, 100):
    directory = root / str(point)
    store = AdapterStore(directory)
    store.publish(model, 1)
    if what != "publish":
        store.publish(model, 2)
    dead = killed_at(point, directory)
    store = AdapterStore(directory)
    for policy in store.list():
        read_adapter(store.path(policy))
    after = [p.version for p in store.list()], store.current().version
    if after != ([1, 2], 2) and what == "publish":
        act(store)
    elif dead and what == "roll back":
        act(store)
    elif what == "remove" and first in store.list():
        act(store)
    final = [p.version for p in store.list()], store.current().version
    store.publish(model, 3)
    left = sorted(p.name for p in directory.iterdir() if p.name.endswith(".partial"))
    print(json.dumps({"dead": dead, "after": after, "final": final, "left": left}))
    if not dead:
        break
"""


@pytest.mark.parametrize(
    ("what", "before", "done", "least"),
    [
        ("publish", [[1], 1], [[1, 2], 2], 5),
        pytest.param("roll back", [[1, 2], 2], [[1, 2], 1], 2, marks=pytest.mark.slow),
        pytest.param("remove", [[1, 2], 2], [[2], 2], 3, marks=pytest.mark.slow),
    ],
)
def test_killed_writer_leaves_the_old_or_new_version(
    model_directory: Path, tmp_path: Path, what: str, before: list[Any], done: list[Any], least: int
) -> None:
    process = run_python(KILLED, model_directory, what, tmp_path, folder=tmp_path, env=os.environ, learns=True)
    assert process.returncode == 0, process.stderr
    points = [json.loads(line) for line in process.stdout.splitlines()]
    assert len(points) > least
    assert [point["dead"] for point in points] == [True] * (len(points) - 1) + [False]
    for point in points:
        assert point["after"] in (before, done)
        assert point["final"] == done
        assert point["left"] == []
    assert points[0]["after"] == before
    assert points[-1]["after"] == done
