"""Match records: append-only JSONL, one finished match a line, enough to play it again on any machine.

A line holds the game's full name, the seeds, the players, every event (chance included), every reply
with its reading, and the returns. `replay` shows them, `verify` plays them again.
"""

from gymposium.records.files import Problem, RecordWriter, ends_line, no_records, read_records, recorded
from gymposium.records.record import FORMAT, Record
from gymposium.records.verify import Verification, first_difference, verify_file
from gymposium.records.walk import Decision, walk

__all__ = [
    "FORMAT",
    "Decision",
    "Problem",
    "Record",
    "RecordWriter",
    "Verification",
    "ends_line",
    "first_difference",
    "no_records",
    "read_records",
    "recorded",
    "verify_file",
    "walk",
]
