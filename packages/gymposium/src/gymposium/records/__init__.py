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
    is_record_file,
    make_no_records_problem,
    parse_records,
    read_records,
    record_matches,
    write_records,
)
from gymposium.records.record import FORMAT, Record
from gymposium.records.replay import (
    Script,
    ScriptedPlayer,
    Scripts,
    compare_records,
    list_unanswered,
    load_record_game,
)
from gymposium.records.selection import Keep, explain_rejection
from gymposium.records.teaching import MatchSeat, recommend_in_records
from gymposium.records.verify import (
    FileVerification,
    drop_duplicate_files,
    find_board_files,
    find_first_difference,
    find_match_files,
    group_problems,
    verify_file,
)
from gymposium.records.walk import Decision, RecordedReply, replay_choices, replay_decisions

__all__ = [
    "FORMAT",
    "Decision",
    "FileVerification",
    "Keep",
    "MatchSeat",
    "OrderedWriter",
    "Problem",
    "Record",
    "RecordLine",
    "RecordWriter",
    "RecordedReply",
    "Script",
    "ScriptedPlayer",
    "Scripts",
    "compare_records",
    "compress_records",
    "drop_duplicate_files",
    "explain_rejection",
    "find_board_files",
    "find_first_difference",
    "find_match_files",
    "group_problems",
    "is_record_file",
    "list_unanswered",
    "load_record_game",
    "make_no_records_problem",
    "parse_records",
    "read_records",
    "recommend_in_records",
    "record_matches",
    "replay_choices",
    "replay_decisions",
    "verify_file",
    "write_records",
]
