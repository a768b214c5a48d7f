"""Match records: append-only JSONL files with one match per line, replayable on any machine.

A line holds the game's full name, the seeds, the players, every event (including chance), every reply with its reading,
and the returns. `gymposium replay` shows records, and `gymposium verify` replays them.
"""

from gymposium.records.files import (
    OrderedWriter,
    Problem,
    RecordLine,
    RecordWriter,
    compress_records,
    no_records,
    parse_records,
    read_records,
    recorded,
    write_records,
)
from gymposium.records.record import FORMAT, Record
from gymposium.records.replay import Script, ScriptedPlayer, Scripts, difference, recorded_game, silences
from gymposium.records.verify import (
    FileVerification,
    board_files,
    distinct,
    distinct_files,
    first_difference,
    match_files,
    verify_file,
)
from gymposium.records.walk import Decision, RecordedReply, decided, walk

__all__ = [
    "FORMAT",
    "Decision",
    "FileVerification",
    "OrderedWriter",
    "Problem",
    "Record",
    "RecordLine",
    "RecordWriter",
    "RecordedReply",
    "Script",
    "ScriptedPlayer",
    "Scripts",
    "board_files",
    "compress_records",
    "decided",
    "difference",
    "distinct",
    "distinct_files",
    "first_difference",
    "match_files",
    "no_records",
    "parse_records",
    "read_records",
    "recorded",
    "recorded_game",
    "silences",
    "verify_file",
    "walk",
    "write_records",
]
