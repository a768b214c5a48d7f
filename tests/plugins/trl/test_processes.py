"""Two processes train one model (DDP), each with separate rows, and write one records file."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from gymposium.records import Record, read_records, verify_file

from .runs import COPIES

PROGRAM = """
import sys
from pathlib import Path

from gymposium_agents.models.loading import load_model
from gymposium_trl import Rollout
from trl import GRPOConfig, GRPOTrainer

model, folder, copies = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
loaded = load_model(model)
loaded.model.requires_grad_(True)
rollout = Rollout(
    "kuhn_poker", prompt="compact", max_tokens=4, on_illegal="random", records=folder / "matches.jsonl"
)
trainer = GRPOTrainer(
    model=loaded.model,
    processing_class=loaded.chat.tokenizer,
    train_dataset=rollout.dataset(8, seed=1),
    rollout_func=rollout,
    reward_funcs=rollout.reward,
    args=GRPOConfig(
        str(folder / "run"), num_generations=copies, per_device_train_batch_size=copies, max_steps=2, use_cpu=True,
        bf16=False, report_to=[], save_strategy="no", learning_rate=1e-3, ddp_backend="gloo",
    ),
)
trainer.train()
weights = sum(parameter.detach().double().abs().sum() for parameter in trainer.model.parameters())
(folder / f"weights-{trainer.accelerator.process_index}").write_text(repr(float(weights)))
"""


def test_two_processes_train_one_model(model_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [sys.executable, *launcher, tmp_path / "program.py", model_directory, tmp_path, str(COPIES)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    one, other = (float((tmp_path / f"weights-{process}").read_text()) for process in (0, 1))
    assert one == other
    records = [record for _, record in read_records(tmp_path / "matches.jsonl") if isinstance(record, Record)]
    assert len({record.id for record in records}) == len(records) == 2 * 2 * COPIES
    assert {*Counter(record.seed for record in records).values()} == {COPIES}
    assert len({record.player_seed for record in records}) == len(records)
    verified = verify_file(tmp_path / "matches.jsonl")
    assert (verified.matches, verified.problems) == (len(records), [])
